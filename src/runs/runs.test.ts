import { mkdtemp, rm, writeFile, mkdir, readFile, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { completeCheckpoint, listCheckpoints, persistCheckpoint } from "./checkpoint-upload.ts";
import { JsonLoggerCallback } from "./json-lines-tracker.ts";
import { Result } from "./result.ts";
import { RunFolder } from "./run-folder.ts";
import { RunLog } from "./run-log.ts";
import { Tracking } from "./tracking.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "shoal-runs-"));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

test("a run leaves what Result.fromPath reads", async () => {
  await using run = await RunFolder.open({ storagePath: folder, name: "mine" });
  await run.write({ library: "train", state: "running", details: {}, startedAt: 1 });
  await expect(RunFolder.open({ storagePath: folder, name: "mine" })).rejects.toThrow(/is running it/);
  const problems: unknown[] = [];
  const tracking = new Tracking({
    trackers: [new JsonLoggerCallback()],
    run: { id: "a", name: "mine", experimentName: "mine", folder: run.path, config: { lr: 0.1 }, isResumed: false },
    onProblem: (problem) => problems.push(problem),
  });
  tracking.log({ loss: 1, trainingIteration: 1, timeTotalMs: 1500 });
  tracking.log({ loss: Number.NaN, eval: { loss: 2 }, trainingIteration: 2, timeTotalMs: 2500 });
  await tracking.close("finished");
  expect(problems).toEqual([]);
  await mkdir(join(folder, "local"));
  await writeFile(join(folder, "local", "w.bin"), "weights");
  const to = join(run.path, "checkpoint_000000");
  const part = await persistCheckpoint({ from: join(folder, "local"), to });
  expect(await listCheckpoints(run.path)).toEqual([]);
  await completeCheckpoint({ to, parts: [part], metrics: { loss: 1 } });
  const result = await Result.fromPath(run.path);
  expect(result.metrics).toMatchObject({ loss: Number.NaN, trainingIteration: 2, timeTotalMs: 2500 });
  expect(await result.metricsColumns()).toMatchObject({ loss: [1, Number.NaN], "eval/loss": [null, 2] });
  expect(await result.checkpoint?.asDirectory((path) => readFile(join(path, "w.bin"), "utf8"))).toBe("weights");
});

test("a log", async () => {
  const first = await RunLog.open({ folder, name: "state" });
  await Promise.all([first.log.append({ a: 1 }), first.log.append({ a: 2 })]);
  const snap = first.log.snapshot({ sum: 3 });
  await first.log.append({ a: 3 });
  await snap;
  await first.log.close();
  const second = await RunLog.open({ folder, name: "state" });
  expect([second.snapshot, second.records]).toEqual([{ sum: 3 }, [{ a: 3 }]]);
  expect(await readdir(folder)).toEqual(["state-000001-000000.log", "state-000001.json"]);
});
