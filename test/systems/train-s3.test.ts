/** A training run whose storage is S3, on a server that others have written: ranks of both languages, a failure, and what is read afterwards. */
import { init, python, shutdown } from "shoal";
import { Checkpoint, collective, CSVLoggerCallback, DataParallelTrainer, getCheckpoint, getContext, report, Result } from "shoal/train";
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readWhole } from "../../src/storage/read-file.ts";
import { REPOSITORY } from "../house/source-files.ts";
import { isAlive, shoalProcesses, until } from "../integration/session.ts";
import { S3Server } from "./s3-servers.ts";

/** A request to S3 is given up after 12.7 seconds at most, and after half of that in the mean. */
const OUTAGE_MS = 14_000;
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

/** Stands at its step 2, and at its end, until the test lets it go on. */
async function countWithOutages({ root }: { root: string }): Promise<void> {
  const { worldRank } = getContext();
  const standAt = async (point: string): Promise<void> => {
    writeFileSync(join(root, `${point}-${worldRank}`), "");
    while (!existsSync(join(root, `go-${point}`))) await new Promise((resolve) => setTimeout(resolve, 20));
  };
  for (let step = 0; step < 4; step += 1) {
    if (step === 2) await standAt("middle");
    await report({ step, part: "metrics" });
    const own = mkdtempSync(join(root, "own-"));
    writeFileSync(join(own, worldRank === 0 ? "step" : "other"), String(step));
    console.log(`step ${step}`);
    await report({ step, part: "checkpoint" }, { checkpoint: Checkpoint.fromDirectory(own), deleteLocalCheckpointAfterUpload: true });
  }
  await standAt("end");
}

test("an S3 that is away for a while, in the middle of a run and at its end, holds it up and loses nothing", {
  timeout: 120_000,
}, async () => {
  const root = mkdtempSync(join(tmpdir(), "test-shoal-outages-"));
  const fitted = new DataParallelTrainer({
    trainLoopPerWorker: countWithOutages,
    trainLoopConfig: { root },
    scalingConfig: { numWorkers: 2 },
    runConfig: { name: "outages", storagePath: "s3://bucket/runs", callbacks: [new CSVLoggerCallback()] },
  }).fit();
  for (const point of ["middle", "end"]) {
    await until(() => [0, 1].every((rank) => existsSync(join(root, `${point}-${rank}`))), `both ranks to come to the ${point}`);
    await server.stop();
    writeFileSync(join(root, `go-${point}`), "");
    // Longer than a request is repeated.
    await new Promise((resolve) => setTimeout(resolve, OUTAGE_MS));
    server.goOn();
  }
  const { metrics, bestCheckpoints } = await fitted;
  expect(metrics).toEqual({ step: 3, part: "checkpoint" });
  expect(bestCheckpoints).toHaveLength(4);
  const run = "s3://bucket/runs/outages";
  const read = await Result.fromPath(run);
  expect((await read.metricsColumns())["step"]).toEqual([0, 0, 1, 1, 2, 2, 3, 3]);
  const text = async (name: string): Promise<string> => Buffer.from(await readWhole(`${run}/${name}`)).toString("utf8");
  expect((await text("progress.csv")).trim().split("\n")).toHaveLength(9);
  expect(JSON.parse(await text("run.json"))).toMatchObject({ state: "finished" });
  for (const rank of [0, 1]) expect(await text(`rank-${rank}.log`)).toBe("step 0\nstep 1\nstep 2\nstep 3\n");
  for (const [at, { checkpoint }] of read.bestCheckpoints.entries())
    expect(await checkpoint.asDirectory((path) => ["step", "other"].map((name) => readFileSync(join(path, name), "utf8")))).toEqual([
      `${at}`,
      `${at}`,
    ]);
  rmSync(root, { recursive: true });
});

test("a driver that is killed loses no row that has come to S3, and the next one goes on in its files", {
  timeout: 60_000,
}, async () => {
  const root = mkdtempSync(join(tmpdir(), "test-shoal-killed-"));
  const program = () =>
    spawn(
      process.execPath,
      [join(REPOSITORY, "test", "integration", "train-program.ts"), "killed", root, "s3://bucket/runs", "TypeScript"],
      { stdio: "ignore" },
    );
  const run = "s3://bucket/runs/killed";
  const text = async (name: string): Promise<string> => Buffer.from(await readWhole(`${run}/${name}`).catch(() => "")).toString("utf8");
  const steps = async (): Promise<unknown[]> =>
    (await text("result.json"))
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => (JSON.parse(line) as { step: number }).step);
  const first = program();
  let second: ChildProcess | undefined;
  try {
    await until(() => [0, 1].every((rank) => existsSync(join(root, `waits-${rank}`))), "both ranks to wait");
    // A slow machine sends them after the time for which a checkpoint waits; followed-run.test.ts holds that they are there before it is told as stored.
    await until(async () => (await steps()).length === 2 && (await text("rank-0.log")) !== "", "rows and lines to be in S3");
    const pids = shoalProcesses({ under: first.pid as number });
    first.kill("SIGKILL");
    await until(() => !pids.some(isAlive), "its processes to end");
    expect(await steps()).toEqual([0, 1]);
    second = program();
    expect(await new Promise((resolve) => second?.once("exit", resolve))).toBe(0);
    expect(await steps()).toEqual([0, 1, 2, 3]);
    expect(await text("rank-0.log")).toBe("counts\ncounts\n");
  } finally {
    for (const each of [first, second]) each?.kill("SIGKILL");
  }
  rmSync(root, { recursive: true });
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
