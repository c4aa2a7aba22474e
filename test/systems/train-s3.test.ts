/** A training run whose storage is S3, on a server that others have written: ranks of both languages, a failure, and what is read afterwards. */
import { init, python, shutdown } from "shoal";
import { Checkpoint, collective, DataParallelTrainer, getCheckpoint, getContext, report, Result } from "shoal/train";
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { REPOSITORY } from "../house/source-files.ts";
import { S3Server } from "./s3-servers.ts";

let server: S3Server;

beforeAll(async () => {
  server = await S3Server.start("s3rver", "bucket");
  await init({ numCpus: 2, logToDriver: false });
});
afterAll(async () => {
  await shutdown();
  await server[Symbol.asyncDispose]();
});

async function count(): Promise<void> {
  const { worldRank } = getContext();
  const before = getCheckpoint();
  const read = (path: string): number => Number(readFileSync(join(path, "step"), "utf8"));
  for (let step = before === undefined ? 0 : (await before.asDirectory(read)) + 1; step < 3; step += 1) {
    if (step === 2 && before === undefined && worldRank === 1) throw new Error("no more");
    const own = mkdtempSync(join(tmpdir(), "own-"));
    writeFileSync(join(own, worldRank === 0 ? "step" : "other"), String(step));
    // More than one part of an upload.
    if (worldRank === 1) writeFileSync(join(own, "large"), new Uint8Array(12 << 20).fill(step));
    await report({ step }, { checkpoint: Checkpoint.fromDirectory(own), deleteLocalCheckpointAfterUpload: true });
  }
}

test("checkpoints of two ranks go to S3 in parts, and a run goes on from them", { timeout: 60_000 }, async () => {
  const result = await new DataParallelTrainer({
    trainLoopPerWorker: count,
    scalingConfig: { numWorkers: 2 },
    runConfig: { name: "counting", storagePath: "s3://bucket/runs", failureConfig: { maxFailures: 1 }, checkpointConfig: { numToKeep: 2 } },
  }).fit();
  expect(result.metrics).toEqual({ step: 2 });
  const read = await Result.fromPath("s3://bucket/runs/counting");
  expect(read.checkpoint?.path).toBe("s3://bucket/runs/counting/checkpoint_000002");
  const large = await read.checkpoint?.asDirectory((path) => readFileSync(join(path, "large")));
  expect([large?.length, large?.at(-1)]).toEqual([12 << 20, 2]);
  expect((await read.metricsColumns())["step"]).toEqual([0, 1, 2]);
});

test("ranks of a node that open the same checkpoint together fetch it once", { timeout: 60_000 }, async () => {
  const paths: unknown[] = [];
  await new DataParallelTrainer({
    trainLoopPerWorker: async () => {
      const checkpoint = new Checkpoint("s3://bucket/runs/counting/checkpoint_000002");
      const path = await checkpoint.asDirectory(async (folder) => {
        await collective.barrier();
        return folder;
      });
      await report({ path });
    },
    scalingConfig: { numWorkers: 2 },
    runConfig: {
      name: "shared",
      storagePath: "s3://bucket/runs",
      callbacks: [{ afterReport: ({ metrics }) => void paths.push(...metrics.map((one) => one["path"])) }],
    },
  }).fit();
  expect(paths).toHaveLength(2);
  expect(new Set(paths).size).toBe(1);
  expect(existsSync(paths[0] as string)).toBe(false);
});
test("ranks of Python read their checkpoints from there", { timeout: 60_000 }, async () => {
  const result = await new DataParallelTrainer({
    trainLoopPerWorker: python.task(join(REPOSITORY, "test", "integration", "python", "train_loops.py"), "count"),
    trainLoopConfig: { end: "throws" },
    scalingConfig: { numWorkers: 2 },
    runConfig: { name: "python", storagePath: "s3://bucket/runs", failureConfig: { maxFailures: 1 } },
  }).fit();
  expect(result.metrics).toEqual({ step: 2, start: 1 });
});
