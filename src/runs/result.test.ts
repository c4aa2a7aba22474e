import { appendFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { checkpointName, completeCheckpoint } from "./checkpoints/stored-checkpoints.ts";
import { CSVLoggerCallback } from "./trackers/files/csv-tracker.ts";
import { JsonLoggerCallback } from "./trackers/files/json-lines-tracker.ts";
import type { Metrics } from "./metrics/metrics.ts";
import { Result } from "./result.ts";
import { removeRunError, writeRunError } from "./folder/run-error-file.ts";
import type { Tracker } from "./trackers/tracker.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "shoal-result-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function log(tracker: Tracker, ...batches: Metrics[][]): Promise<void> {
  const run = await tracker.open({
    id: "1",
    name: "one",
    experimentName: "mine",
    folder,
    config: { lr: 0.1, deep: { on: true } },
    isResumed: (await readdir(folder)).length > 0,
  });
  for (const batch of batches) await run.log(batch);
  await run.close("finished");
}

test("a result is read from its files: last metrics, columns, configuration, checkpoints", async () => {
  await log(
    new JsonLoggerCallback(),
    [{ loss: 2, trainingIteration: 1, timeTotalMs: 1500, pid: 7, nodeIp: "10.0.0.7" }],
    [{ loss: Number.NaN, eval: { acc: 0.5 }, trainingIteration: 2, timeTotalMs: 2750.5 }],
  );
  expect(await readFile(join(folder, "result.json"), "utf8")).toBe(
    '{"loss":2,"training_iteration":1,"time_total_s":1.5,"pid":7,"node_ip":"10.0.0.7"}\n{"loss":NaN,"eval":{"acc":0.5},"training_iteration":2,"time_total_s":2.7505}\n',
  );
  for (const [index, loss] of [3, 1, 2, Number.NaN].entries())
    await completeCheckpoint({ to: join(folder, checkpointName(index)), parts: [], metrics: { eval: { loss } } });
  const result = await Result.fromPath(folder);
  expect(result).toBeInstanceOf(Result);
  expect(result.metrics).toEqual({ loss: Number.NaN, eval: { acc: 0.5 }, trainingIteration: 2, timeTotalMs: 2750.5 });
  expect(result.config).toEqual({ lr: 0.1, deep: { on: true } });
  expect(result.error).toBeUndefined();
  expect(result.checkpoint?.path).toBe(join(folder, "checkpoint_000003"));
  expect(result.getBestCheckpoint("eval/loss", "min")?.path).toBe(join(folder, "checkpoint_000001"));
  expect(result.getBestCheckpoint("eval.loss", "max")?.path).toBe(join(folder, "checkpoint_000000"));
  expect(result.getBestCheckpoint("accuracy", "max")).toBeUndefined();
  expect(() => result.getBestCheckpoint("loss", "best" as never)).toThrow(RangeError);
  expect(await result.metricsColumns()).toEqual({
    loss: [2, Number.NaN],
    "eval/acc": [null, 0.5],
    trainingIteration: [1, 2],
    timeTotalMs: [1500, 2750.5],
    pid: [7, null],
    nodeIp: ["10.0.0.7", null],
  });
});

test("a torn last line is no report; a run that goes on writes behind it", async () => {
  await log(new JsonLoggerCallback(), [{ n: 1 }]);
  await appendFile(join(folder, "result.json"), '{"n": 2, "lo');
  expect((await Result.fromPath(folder)).metrics).toEqual({ n: 1 });
  await log(new JsonLoggerCallback(), [{ n: 3 }]);
  expect(await (await Result.fromPath(folder)).metricsColumns()).toEqual({ n: [1, 3] });
});

test("an error is told with its text, until the run goes on", async () => {
  await writeRunError(folder, new TypeError("rank 1: no such column"));
  const { error, metrics } = await Result.fromPath(folder);
  expect(error?.message).toBe("TypeError: rank 1: no such column");
  expect(metrics).toBeUndefined();
  await log(new JsonLoggerCallback(), [{ n: 1 }]);
  await removeRunError(folder);
  expect((await Result.fromPath(folder)).error).toBeUndefined();
});

test("what is no result is refused by its path", async () => {
  await expect(Result.fromPath(5 as never)).rejects.toThrow(TypeError);
  await expect(Result.fromPath(join(folder, "gone"))).rejects.toThrow(
    /Cannot read a result: .*gone holds neither result.json nor checkpoints/,
  );
  await writeFile(join(folder, "result.json"), '{"n":1}\nhello\n{"n":2}\n');
  await expect(Result.fromPath(folder)).rejects.toThrow(/line 2 of .*result.json is damaged/);
  await writeFile(join(folder, "result.json"), "");
  expect((await Result.fromPath(folder)).metrics).toBeUndefined();
  expect(await (await Result.fromPath(folder)).metricsColumns()).toEqual({});
});

test("progress.csv has Python's spelling, and columns that appear later", async () => {
  const tracker = new CSVLoggerCallback();
  await log(
    tracker,
    [{ loss: 1, note: 'a "b",\nc', trainingIteration: 1, config: { lr: 1 } }],
    [{ loss: Number.NaN, ok: true, eval: { acc: 0.5, list: [1] } }],
  );
  await appendFile(join(folder, "progress.csv"), '5,"torn');
  await log(tracker, [{ loss: Number.NEGATIVE_INFINITY, ok: false }]);
  expect(await readFile(join(folder, "progress.csv"), "utf8")).toBe(
    ["loss,note,training_iteration,ok,eval/acc,eval/list", '1,"a ""b"",\nc",1,,,', "nan,,,True,0.5,[1]", "-inf,,,False,,", ""].join("\r\n"),
  );
});

test("a folder that went away fails the tracker with its path", async () => {
  await mkdir(join(folder, "trial"));
  const run = await new CSVLoggerCallback().open({
    id: "1",
    name: "one",
    experimentName: "mine",
    folder: join(folder, "trial"),
    config: {},
    isResumed: false,
  });
  await rm(join(folder, "trial"), { recursive: true });
  await expect(run.log([{ a: 1 }])).rejects.toThrow(/Cannot write .*progress.csv: there is no folder/);
});
