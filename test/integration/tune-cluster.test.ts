/** Experiments on several nodes and with trainers: where trials and what they start run, nodes that die, and trainers as trials and inside of trials. */
import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { getRuntimeContext, init, remote, shutdown } from "shoal";
import { TestCluster } from "shoal/testing";
import * as train from "shoal/train";
import { ASHAScheduler, Checkpoint, getCheckpoint, gridSearch, PlacementGroupFactory, report, Tuner, withResources } from "shoal/tune";
import { expect, test } from "vitest";
import { until, useFolder } from "./session.ts";

const folder = useFolder();
let runs = 0;
const runConfig = (more: object = {}) => ({ storagePath: folder, name: `run-${(runs += 1)}`, ...more });

async function connected(cluster: TestCluster): Promise<AsyncDisposable> {
  await init({ address: cluster.address, logToDriver: false });
  return { [Symbol.asyncDispose]: shutdown };
}

test("bundles spread a trial over nodes; trials of a node that dies go on elsewhere from their checkpoints", {
  timeout: 60_000,
}, async () => {
  await using cluster = await TestCluster.start({ head: { numCpus: 1 }, onLine: () => {} });
  const second = await cluster.addNode({ numCpus: 1 });
  await using _program = await connected(cluster);
  const spread = withResources(
    async (_config: object) => {
      const place = remote(() => getRuntimeContext().nodeId, { numCpus: 1 });
      return { own: getRuntimeContext().nodeId, child: await place.remote() };
    },
    new PlacementGroupFactory([{ CPU: 1 }, { CPU: 1 }], "STRICT_SPREAD"),
  );
  const placed = await new Tuner(spread, { tuneConfig: { numSamples: 2 }, runConfig: runConfig() }).fit();
  expect(placed.errors.map(({ message }) => message)).toEqual([]);
  for (const { metrics } of placed) expect(metrics?.child).not.toBe(metrics?.own);
  for (const { metrics } of placed) expect(metrics).toMatchObject({ pid: expect.any(Number), nodeIp: "127.0.0.1" });

  const root = mkdtempSync(join(folder, "marks-"));
  const failures: string[] = [];
  const recoveries = { onTrialRecover: ({ error }: { error: Error }) => void failures.push(error.message) };
  const fitted = new Tuner(
    async ({ x, root: marks }: { x: number; root: string }) => {
      const fs = process.getBuiltinModule("node:fs");
      const read = (path: string): number => Number(fs.readFileSync(`${path}/at`, "utf8"));
      const start = (await getCheckpoint()?.asDirectory(read)) ?? 0;
      for (let at = start + 1; at <= 3; at += 1) {
        const own = fs.mkdtempSync(`${marks}/own-`);
        fs.writeFileSync(`${own}/at`, String(at));
        await report({ at, start, node: getRuntimeContext().nodeId }, { checkpoint: Checkpoint.fromDirectory(own) });
        if (at > 1) continue;
        fs.writeFileSync(`${marks}/waits-${x}`, "");
        while (!fs.existsSync(`${marks}/go`)) await new Promise((resolve) => setTimeout(resolve, 5));
      }
    },
    { paramSpace: { x: gridSearch([0, 1]), root }, runConfig: runConfig({ failureConfig: { maxFailures: 1 }, callbacks: [recoveries] }) },
  ).fit();
  await until(() => existsSync(join(root, "waits-0")) && existsSync(join(root, "waits-1")), "both trials to wait");
  await second.kill();
  writeFileSync(join(root, "go"), "");
  const results = await fitted;
  expect(results.errors.map(({ message }) => message)).toEqual([]);
  expect(Array.from(results, ({ metrics }) => metrics?.["at"])).toEqual([3, 3]);
  expect(failures).toEqual([expect.stringMatching(/^Trial \S+ failed: its process ended: its node died: .* \(it ran on node \w+\)$/)]);
  // The trial of the lost node went on, on the remaining node; the other was not disturbed.
  expect(Array.from(results, ({ metrics }) => Number(metrics?.["start"])).sort((a, b) => a - b)).toEqual([0, 1]);
  expect(new Set(Array.from(results, ({ metrics }) => metrics?.["node"])).size).toBe(1);
});

/** Ranks that report a loss four times, with checkpoints; with the rate 2 the first attempt fails after two. */
const trainer = () =>
  new train.DataParallelTrainer({
    trainLoopPerWorker: async ({ lr, temporary }: { lr: number; temporary: string }) => {
      const fs = process.getBuiltinModule("node:fs");
      const { worldRank, worldSize } = train.getContext();
      const before = train.getCheckpoint();
      const start = before === undefined ? 0 : await before.asDirectory((path) => Number(fs.readFileSync(`${path}/at`, "utf8")));
      for (let at = start + 1; at <= 4; at += 1) {
        const own = fs.mkdtempSync(temporary);
        fs.writeFileSync(`${own}/at`, String(at));
        const checkpoint = worldRank === 0 ? train.Checkpoint.fromDirectory(own) : undefined;
        const checkpointUploadMode = lr === 4 ? "async" : "sync";
        await train.report({ loss: lr + 1 / at, at, start, worldSize }, { checkpoint, checkpointUploadMode });
        if (lr === 2 && start === 0 && at === 2) throw new Error("once");
      }
    },
    trainLoopConfig: { lr: 0, temporary: join(folder, "rank-") },
    scalingConfig: { numWorkers: 2, resourcesPerWorker: { CPU: 0.5 } },
  });

test("a trainer is a trainable: its trials fail, go on from checkpoints and are stopped as any others", { timeout: 60_000 }, async () => {
  await init({ numCpus: 2, logToDriver: false });
  await using _program = { [Symbol.asyncDispose]: shutdown };
  const results = await new Tuner(trainer(), {
    paramSpace: { trainLoopConfig: { lr: gridSearch([0, 2, 3, 4]) } },
    tuneConfig: { metric: "loss", mode: "min", scheduler: new ASHAScheduler({ maxT: 4, gracePeriod: 3, reductionFactor: 2 }) },
    runConfig: runConfig({ failureConfig: { maxFailures: 1 }, checkpointConfig: { numToKeep: 1 } }),
  }).fit();
  expect(results.errors.map(({ message }) => message)).toEqual([]);
  const best = results.getBestResult();
  expect(best).toMatchObject({ config: { trainLoopConfig: { lr: 0 } }, iterations: 4 });
  expect(best.metrics).toMatchObject({ loss: 0.25, worldSize: 2 });
  expect(await best.checkpoint?.asDirectory((path) => existsSync(join(path, "at")))).toBe(true);
  // The trial that failed counts on from its checkpoint; a late loser ends when it is behind.
  expect(results.at(1)?.metrics).toMatchObject({ start: 2 });
  expect(results.at(3)?.iterations).toBe(3);

  const inner = withResources(
    async ({ lr, temporary, storagePath }: { lr: number; temporary: string; storagePath: string }) => {
      const result = await new train.DataParallelTrainer({
        trainLoopPerWorker: async (config: { lr: number }) => await train.report({ loss: config.lr }),
        trainLoopConfig: { lr, temporary },
        scalingConfig: { numWorkers: 1, resourcesPerWorker: { CPU: 0.5 } },
        runConfig: { storagePath, name: `inner-${lr}` },
      }).fit();
      return { loss: (result.metrics as { loss: number }).loss };
    },
    { numCpus: 0.1 },
  );
  const nested = await new Tuner(inner, {
    paramSpace: { lr: gridSearch([1, 2]), temporary: join(folder, "inner-"), storagePath: folder },
    tuneConfig: { metric: "loss", mode: "min" },
    runConfig: runConfig(),
  }).fit();
  expect(nested.errors.map(({ message }) => message)).toEqual([]);
  expect(Array.from(nested, ({ metrics }) => metrics?.loss)).toEqual([1, 2]);
});
