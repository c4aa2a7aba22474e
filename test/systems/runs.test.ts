/** Runs in S3, on servers that others have written: checkpoints in parts, logs, trackers, results, and Python that reads them. */
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { init, python, shutdown } from "shoal";
import { Checkpoint } from "shoal/runs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  checkpointName,
  completeCheckpoint,
  listCheckpoints,
  persistCheckpoint,
  removeCheckpoint,
  removeUnfinishedCheckpoints,
} from "../../src/runs/checkpoints/stored-checkpoints.ts";
import { CSVLoggerCallback } from "../../src/runs/trackers/files/csv-tracker.ts";
import { JsonLoggerCallback } from "../../src/runs/trackers/files/json-lines-tracker.ts";
import { readRunConfig } from "../../src/runs/run-config.ts";
import { RunFolder } from "../../src/runs/folder/run-folder.ts";
import { RunLog } from "../../src/runs/folder/run-log.ts";
import { Result } from "../../src/runs/result.ts";
import { TBXLoggerCallback } from "../../src/runs/trackers/files/tensorboard-tracker.ts";
import { Tracking } from "../../src/runs/trackers/tracking.ts";
import { UPLOAD_PART_BYTES } from "../../src/storage/limits.ts";
import { folderFiles, writeWhole } from "../../src/storage/listing/folders.ts";
import { removeFiles } from "../../src/storage/places.ts";
import { PYTHON_FOLDER } from "../integration/python-places.ts";
import { S3Server, type ServerName } from "./s3-servers.ts";

/** As users have it: the checkpoint class that the tests import from the sources is another copy. */
const asUsersHave = ({ path }: { path: string }): Checkpoint => new Checkpoint(path);

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

describe.each<ServerName>(["s3rver", "moto"])("%s", (name) => {
  let server: S3Server;
  let local: string;
  beforeAll(async () => {
    local = mkdtempSync(join(tmpdir(), "test-shoal-s3-runs-"));
    server = await S3Server.start(name, "bucket");
    await init({ numCpus: 2, logToDriver: false });
  });
  afterAll(async () => {
    await shutdown();
    await server[Symbol.asyncDispose]();
    rmSync(local, { recursive: true, force: true });
  });

  test("a run: its folder, its log, its files, its result", async () => {
    const { storagePath } = await readRunConfig({ storagePath: "s3://bucket/runs/" }, "tune");
    expect(storagePath).toBe("s3://bucket/runs");
    const run = await RunFolder.open({ storagePath, name: "mine" });
    await run.write({ library: "tune", state: "running", details: {}, startedAt: 1 });
    await expect(RunFolder.open({ storagePath, name: "mine" })).rejects.toThrow(/is running it in s3:\/\/bucket\/runs\/mine/);
    for (const base of [0, 100]) {
      const { log, records } = await RunLog.open({ folder: run.path, name: "experiment_state" });
      expect(records).toHaveLength(base === 0 ? 0 : 2);
      await log.append({ n: base });
      await log.append({ n: base + 1 });
      await log.close();
    }
    const { log } = await RunLog.open({ folder: run.path, name: "experiment_state" });
    await log.snapshot({ count: 4 });
    await log.append({ n: 200 });
    await log.close();
    const reopened = await RunLog.open({ folder: run.path, name: "experiment_state" });
    expect([reopened.snapshot, reopened.records]).toEqual([{ count: 4 }, [{ n: 200 }]]);

    const folder = `${run.path}/trial_1`;
    const problems: unknown[] = [];
    for (const isResumed of [false, true]) {
      const trackers = [new JsonLoggerCallback(), new CSVLoggerCallback(), new TBXLoggerCallback()];
      const info = { id: "1", name: "trial_1", experimentName: "mine", folder, config: { lr: 0.1 }, isResumed };
      const tracking = new Tracking({ trackers, run: info, onProblem: (problem) => problems.push(problem) });
      tracking.log(isResumed ? { loss: 0.5, acc: 1, trainingIteration: 2 } : { loss: 1, trainingIteration: 1 });
      await tracking.close("finished");
    }
    expect(problems).toEqual([]);
    const result = await Result.fromPath(folder);
    expect([result.metrics, result.config]).toEqual([{ loss: 0.5, acc: 1, trainingIteration: 2 }, { lr: 0.1 }]);
    expect(await result.metricsColumns()).toEqual({ loss: [1, 0.5], acc: [null, 1], trainingIteration: [1, 2] });
    expect((await folderFiles(folder)).map((file) => file.name.replace(/tfevents\..*/, "tfevents"))).toEqual([
      "events.out.tfevents",
      "events.out.tfevents",
      "params.json",
      "progress.csv",
      "result.json",
    ]);
    await run.close();
    await using again = await RunFolder.open({ storagePath, name: "mine" });
    expect(again.record?.library).toBe("tune");
    await again.clear();
    expect((await folderFiles(again.path)).map((file) => file.name)).toEqual([".owner.json"]);
  });

  test("a checkpoint of two ranks, in parts, is whole or not listed, and Python reads it", async () => {
    const run = "s3://bucket/checkpoints/mine";
    const to = `${run}/${checkpointName(0)}`;
    const large = Buffer.alloc(2 * UPLOAD_PART_BYTES + 5, "weights of many bytes ");
    const parts = await Promise.all(
      [0, 1].map(async (rank) => {
        const from = join(local, `rank-${rank}`);
        mkdirSync(join(from, "_deep"), { recursive: true });
        writeFileSync(join(from, `shard-${rank}.bin`), rank === 0 ? large : "small");
        writeFileSync(join(from, "weights.txt"), "of S3");
        writeFileSync(join(from, "_deep", ".hidden"), "");
        return persistCheckpoint({ from, to, rank, hasOthers: true });
      }),
    );
    await persistCheckpoint({ from: join(local, "rank-1"), to: `${run}/${checkpointName(1)}` });
    expect(await listCheckpoints(run)).toEqual([]);
    const checkpoint = await completeCheckpoint({ to, parts, metrics: { loss: 1 } });
    await removeUnfinishedCheckpoints(run);
    expect((await listCheckpoints(run)).map((one) => [one.name, one.metrics])).toEqual([["checkpoint_000000", { loss: 1 }]]);
    expect((await folderFiles(run)).every((file) => file.name.startsWith("checkpoint_000000/"))).toBe(true);

    await checkpoint.setMetadata({ epoch: 3 });
    const copied = await checkpoint.asDirectory((path) => ({ path, hash: sha256(readFileSync(join(path, "shard-0.bin"))) }));
    expect(copied.hash).toBe(sha256(large));
    expect(() => readFileSync(join(copied.path, "shard-0.bin"))).toThrow(/ENOENT/);

    const task = <F extends (...args: never[]) => unknown>(method: string) => python.task<F>(join(PYTHON_FOLDER, "checkpoints.py"), method);
    const read = await task<(given: Checkpoint) => [string, string, object, string[]]>("read").remote(asUsersHave(checkpoint));
    expect(read).toEqual([
      "shoal._checkpoint",
      "of S3",
      { epoch: 3 },
      [".metadata.json", "_deep", "shard-0.bin", "shard-1.bin", "weights.txt"],
    ]);
    await task<(given: Checkpoint, to: string) => string[]>("copied").remote(asUsersHave(checkpoint), join(local, "copy"));
    expect(await checkpoint.getMetadata()).toEqual({ epoch: 3, copied: true });
    await expect(task<(path: string) => void>("failing").remote(`${run}/checkpoint_000009`)).rejects.toThrow(/there is no such folder/);

    // A removal that broke off: the rest is no checkpoint to read, and the next removal removes it.
    await removeFiles([".checkpoint.json", "weights.txt"].map((file) => `${to}/${file}`));
    await writeWhole(`${to}/.checkpoint.removed`, Buffer.from("removed"));
    const said = /it was removed meanwhile, as numToKeep of its run keeps others/;
    await expect(checkpoint.toDirectory(join(local, "part"))).rejects.toThrow(said);
    await expect(checkpoint.asDirectory(() => {})).rejects.toThrow(said);
    await expect(task<(path: string) => void>("failing").remote(to)).rejects.toThrow(said);
    await removeCheckpoint(checkpoint);
    expect(await folderFiles(run)).toEqual([]);
  });
});
