/** Training on several nodes: the places of ranks, checkpoints of other nodes' ranks, nodes that die and nodes that are drained. */
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { getRuntimeContext, init, nodes, python, shutdown } from "shoal";
import * as data from "shoal/data";
import { TestCluster } from "shoal/testing";
import { allReduce, DataParallelTrainer, getContext, getDatasetShard, type PreemptionInfo, report } from "shoal/train";
import { expect, test } from "vitest";
import { connectToCluster } from "../../src/ops/connection/cluster-connection.ts";
import { MESSAGE } from "../../src/runtime/wire/messages.ts";
import { count, type CountConfig } from "./counting-loop.ts";
import { PYTHON_FOLDER, unless, WITHOUT_PYTHON } from "./python-places.ts";
import { until, useFolder } from "./session.ts";

const folder = useFolder();
const onLine = (): void => {};

async function connected(cluster: TestCluster): Promise<AsyncDisposable> {
  await init({ address: cluster.address, logToDriver: false });
  return { [Symbol.asyncDispose]: shutdown };
}

test("ranks of two nodes compute together; a node that dies shrinks an elastic group, which goes on", { timeout: 60_000 }, async () => {
  await using cluster = await TestCluster.start({ head: { numCpus: 1 }, onLine });
  const second = await cluster.addNode({ numCpus: 1 });
  await using _program = await connected(cluster);
  const placed = await new DataParallelTrainer({
    trainLoopPerWorker: async () => {
      const { worldRank, localRank, localWorldSize, nodeRank } = getContext();
      const ofRanks = new Float64Array(4);
      ofRanks[worldRank] = nodeRank + 1;
      await allReduce(ofRanks);
      const large = new Float32Array(50_000).fill(worldRank + 1);
      await allReduce(large, { op: "average" });
      await report({ nodes: [...ofRanks], local: [localRank, localWorldSize], large: large[49_999] as number });
    },
    scalingConfig: { numWorkers: 4, resourcesPerWorker: { CPU: 0.5 } },
    runConfig: { name: "two nodes", storagePath: folder },
  }).fit();
  expect(placed.metrics).toEqual({ nodes: [1, 1, 2, 2], local: [0, 2], large: 2.5 });

  // The free CPUs are enough for a third rank in sum, and on neither node.
  const grown = await new DataParallelTrainer<CountConfig>({
    trainLoopPerWorker: count,
    trainLoopConfig: { root: mkdtempSync(join(folder, "run-")), steps: 40 },
    scalingConfig: {
      numWorkers: { min: 2, max: 3 },
      resourcesPerWorker: { CPU: 0.6 },
      elasticResizeMonitorIntervalMs: 50,
    },
    runConfig: { name: "no third", storagePath: folder },
  }).fit();
  expect(grown.metrics).toMatchObject({ step: 39, attempt: 1, worldSize: 2 });

  const root = mkdtempSync(join(folder, "run-"));
  const fitted = new DataParallelTrainer<CountConfig>({
    trainLoopPerWorker: count,
    trainLoopConfig: { root, steps: 4, waitsAt: 2 },
    scalingConfig: { numWorkers: { min: 1, max: 2 } },
    runConfig: { name: "node dies", storagePath: folder, failureConfig: { maxFailures: 1 } },
  }).fit();
  await until(() => existsSync(join(root, "waits-0")) && existsSync(join(root, "waits-1")), "both ranks to wait");
  await second.kill();
  expect((await fitted).metrics).toEqual({ step: 3, start: 2, attempt: 2, worldSize: 1 });
});

test.skipIf(WITHOUT_PYTHON !== undefined)(
  `an elastic group of ranks of Python shrinks when a node dies, and grows when another comes${unless(WITHOUT_PYTHON)}`,
  { timeout: 60_000 },
  async () => {
    await using cluster = await TestCluster.start({ head: { numCpus: 1 }, onLine });
    const dies = await cluster.addNode({ numCpus: 1 });
    await using _program = await connected(cluster);
    const root = mkdtempSync(join(folder, "run-"));
    const sizes: number[] = [];
    const fitted = new DataParallelTrainer({
      trainLoopPerWorker: python.task(join(PYTHON_FOLDER, "train_loops.py"), "count_steps"),
      trainLoopConfig: { root, steps: 4, waitsAt: 2, untilRanks: 2 },
      scalingConfig: { numWorkers: { min: 1, max: 2 }, elasticResizeMonitorIntervalMs: 100 },
      runConfig: {
        name: "python elastic",
        storagePath: folder,
        failureConfig: { maxFailures: 1 },
        checkpointConfig: { numToKeep: 2 },
        callbacks: [{ afterReport: ({ metrics }) => void sizes.push(metrics.length) }],
      },
    }).fit();
    await until(() => existsSync(join(root, "waits-0")) && existsSync(join(root, "waits-1")), "both ranks to wait");
    await dies.kill();
    await until(() => sizes.includes(1), "the rank that is left to report");
    await cluster.addNode({ numCpus: 1 });
    const { metrics } = await fitted;
    const { step, start } = metrics as { step: number; start: number };
    expect(metrics).toEqual({ step: expect.any(Number), start: expect.any(Number), attempt: 3, worldSize: 2 });
    // Every step was reported once, by two ranks, by one, and by two again.
    expect(sizes).toHaveLength(step + 1);
    expect(sizes).toEqual(sizes.map((_, at) => (at < 2 || at >= start ? 2 : 1)));
  },
);

/** The number of the node where a row was made, in large enough blocks. */
const madeOn = (nodeIds: readonly string[]) => (batch: data.Batch<{ id: number }>) => ({
  id: batch.id,
  node: new Float64Array(batch.id.length).fill(nodeIds.indexOf(getRuntimeContext().nodeId)),
});

test("ranks get the blocks of their own node first, and as many rows as the others", { timeout: 60_000 }, async () => {
  await using cluster = await TestCluster.start({ head: { numCpus: 2 }, onLine });
  await cluster.addNode({ numCpus: 2 });
  await using _program = await connected(cluster);
  const nodeIds = (await nodes()).map(({ nodeId }) => nodeId);
  const blockRows = 10_000;
  // Two blocks of the one node, then two of the other: where tasks would run by themselves depends on what else the machine does.
  const ofNode = (nodeId: string) => {
    const options = { batchSize: blockRows, schedulingStrategy: { nodeId, soft: false } } as const;
    return data.range(10 * blockRows).mapBatches(madeOn(nodeIds), options);
  };
  const [first = "", second = ""]: readonly string[] = nodeIds;
  const rows = ofNode(first).mix(ofNode(first), ofNode(second), ofNode(second));
  const { metrics } = await new DataParallelTrainer<object, { rows: number[]; near: number[] }>({
    trainLoopPerWorker: async () => {
      const { worldRank } = getContext();
      const own = nodeIds.indexOf(getRuntimeContext().nodeId);
      const counts = new Float64Array(4);
      for await (const { node } of getDatasetShard<{ node: number }>().iterBatches({ batchSize: blockRows })) {
        counts[worldRank]! += node.length;
        for (const each of node) if (each === own) counts[2 + worldRank]! += 1;
      }
      await allReduce(counts);
      await report({ rows: [...counts.subarray(0, 2)], near: [...counts.subarray(2)] });
    },
    scalingConfig: { numWorkers: 2, placementStrategy: "STRICT_SPREAD" },
    runConfig: { name: "near", storagePath: folder },
    datasets: { train: rows },
  }).fit();
  expect(metrics?.rows).toEqual([20 * blockRows, 20 * blockRows]);
  // Half of the rows would be near where blocks went anywhere.
  for (const near of metrics?.near ?? []) expect(near).toBeGreaterThanOrEqual(18 * blockRows);
});

test("ranks of a node that is drained are told, again when it is drained with another deadline, stop at a checkpoint and go on elsewhere, without a failure", {
  timeout: 60_000,
}, async () => {
  await using cluster = await TestCluster.start({ head: { numCpus: 0 }, onLine });
  const leaves = await cluster.addNode({ numCpus: 1 });
  await using _program = await connected(cluster);
  const root = mkdtempSync(join(folder, "run-"));
  const fitted = new DataParallelTrainer<{ root: string }>({
    trainLoopPerWorker: async (config: { root: string }) => {
      const { attempt } = getContext();
      if (attempt === 1) {
        writeFileSync(join(config.root, "begun"), "");
        let deadline: number | undefined;
        for (const name of ["told", "told-again"]) {
          while (getContext().preemption?.deadlineMs === deadline) await new Promise((resolve) => setTimeout(resolve, 10));
          deadline = getContext().preemption?.deadlineMs;
          writeFileSync(join(config.root, name), JSON.stringify(getContext().preemption));
        }
      }
      await count({ root: config.root, steps: 3 });
    },
    trainLoopConfig: { root },
    runConfig: { name: "drained", storagePath: folder },
  }).fit();
  await until(() => existsSync(join(root, "begun")), "the rank to begin");
  const stays = await cluster.addNode({ numCpus: 1 });
  using connection = await connectToCluster(cluster.address);
  const [drainedAt, deadlineMs] = [Date.now(), 30_000];
  await connection.ask(MESSAGE.NODE_DRAIN, { node: leaves.nodeId, deadlineMs });
  await until(() => existsSync(join(root, "told")), "the rank to hear of it");
  await connection.ask(MESSAGE.NODE_DRAIN, { node: leaves.nodeId, deadlineMs: 2 * deadlineMs });
  expect((await fitted).metrics).toEqual({ step: 2, start: 1, attempt: 2, worldSize: 1 });
  const [told, again] = ["told", "told-again"].map((name) => JSON.parse(readFileSync(join(root, name), "utf8")) as PreemptionInfo) as [
    PreemptionInfo & { deadlineMs: number },
    PreemptionInfo,
  ];
  expect(told).toEqual({
    reason: "preemption",
    deadlineMs: expect.any(Number),
    preemptedNodeToRanks: { [leaves.nodeId]: [0] },
    preemptedRanks: [0],
  });
  // A moment that the drain's, counted from when it was asked for, is not before.
  expect(told.deadlineMs).toBeGreaterThanOrEqual(drainedAt + deadlineMs - 1000);
  expect(told.deadlineMs).toBeLessThan(drainedAt + deadlineMs + 10_000);
  expect(again).toEqual({ ...told, deadlineMs: expect.any(Number) });
  expect(again.deadlineMs).toBeGreaterThan(told.deadlineMs + deadlineMs - 1000);
  expect(stays.nodeId).not.toBe(leaves.nodeId);
});

test.skipIf(WITHOUT_PYTHON !== undefined)(
  `ranks of Python hear at one step whose node is drained, and until when, also where that changes${unless(WITHOUT_PYTHON)}`,
  {
    timeout: 60_000,
  },
  async () => {
    await using cluster = await TestCluster.start({ head: { numCpus: 1 }, onLine });
    const leaves = await cluster.addNode({ numCpus: 1 });
    await using _program = await connected(cluster);
    const root = mkdtempSync(join(folder, "run-"));
    const fitted = new DataParallelTrainer({
      trainLoopPerWorker: python.task(join(PYTHON_FOLDER, "train_loops.py"), "move_on"),
      trainLoopConfig: { root },
      scalingConfig: { numWorkers: 2 },
      runConfig: { name: "python drained", storagePath: folder },
    }).fit();
    await until(() => existsSync(join(root, "begun-0")) && existsSync(join(root, "begun-1")), "both ranks to begin");
    await cluster.addNode({ numCpus: 1 });
    using connection = await connectToCluster(cluster.address);
    const [drainedAt, deadlineMs] = [Date.now(), 30_000];
    await connection.ask(MESSAGE.NODE_DRAIN, { node: leaves.nodeId, deadlineMs });
    await until(() => existsSync(join(root, "told-0")) && existsSync(join(root, "told-1")), "both ranks to hear of it");
    await connection.ask(MESSAGE.NODE_DRAIN, { node: leaves.nodeId, deadlineMs: deadlineMs / 2 });
    expect((await fitted).metrics).toEqual({ step: 1, start: 1 });
    const told = [0, 1].map((rank) => JSON.parse(readFileSync(join(root, `told-${rank}`), "utf8")));
    const gone = told.findIndex(({ node }) => node === leaves.nodeId);
    for (const { step, info } of told) {
      expect([step, info.nodes, info.ranks]).toEqual([told[0].step, { [leaves.nodeId]: [gone] }, [gone]]);
      expect(info.deadline_ms).toBe(told[0].info.deadline_ms);
      expect(Math.abs(info.deadline_ms - drainedAt - deadlineMs)).toBeLessThan(10_000);
    }
    const sooner = [0, 1].map((rank) => JSON.parse(readFileSync(join(root, `told-again-${rank}`), "utf8")));
    for (const { step, info } of sooner) {
      expect([step, info]).toEqual([sooner[0].step, { ...told[0].info, deadline_ms: sooner[0].info.deadline_ms }]);
      expect(info.deadline_ms).toBeLessThan(told[0].info.deadline_ms);
    }
  },
);
