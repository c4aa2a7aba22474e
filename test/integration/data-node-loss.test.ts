/**
 * Pipelines whose node dies, in each operator: the rows are those of a run without deaths, each exactly once.
 *
 * Blocks stay on the node that made them, so a dead node takes along a part of the read, partitioned or kept rows. The tasks of that part
 * run again on the other nodes. At the end, while the cluster is there: pipelines that keep to nodes by their labels.
 */
import { appendFileSync, mkdtempSync, statSync } from "node:fs";
import { join } from "node:path";
import { getRuntimeContext, init, nodes, shutdown } from "shoal";
import * as data from "shoal/data";
import { TestCluster } from "shoal/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { until, useFolder } from "./session.ts";

const folder = useFolder();
const BLOCKS = 40;
const ROWS_OF_BLOCK = 500;
/** Makes a block large enough that it stays one. */
const PADDING = "x".repeat(2500);

interface Numbered {
  id: number;
  key: number;
  padding: string;
}

/** Appends a byte for each block that passes by, so that the test sees how far a pipeline has come. */
async function logged<T>(log: string, value: T): Promise<T> {
  appendFileSync(log, "x");
  await new Promise((resolve) => setTimeout(resolve, 20));
  return value;
}

/** Blocks in an order of their own, and slowly, so that a node dies amid them. */
function source(log: string, options: data.TransformOptions = {}): data.Dataset<Numbered> {
  const getReadTasks = () =>
    Array.from({ length: BLOCKS }, (_, block) => ({
      async *read() {
        const ids = Array.from({ length: ROWS_OF_BLOCK }, (_row, i) => (block * ROWS_OF_BLOCK + i) * 7919);
        yield await logged(log, {
          id: Float64Array.from(ids, (id) => id % (BLOCKS * ROWS_OF_BLOCK)),
          key: Float64Array.from(ids, (id) => id % 13),
          padding: ids.map(() => PADDING),
        });
      },
    }));
  return data.readDatasource<Numbered>({ name: "numbers", getReadTasks }, options);
}

class Passing {
  readonly #log: string;
  constructor(log: string) {
    this.#log = log;
  }
  call(batch: data.Batch<Numbered>) {
    return logged(this.#log, { id: batch.id });
  }
}

/** @param log - of the blocks before the operator; @param after - of those behind it */
type Pipeline = (log: string, after: string) => data.Dataset<{ id: number }>;

const behind =
  (after: string) =>
  (batch: data.Batch<{ id: number }>): Promise<{ id: Float64Array }> =>
    logged(after, { id: Float64Array.from(batch.id) });

const PIPELINES: Readonly<Record<string, Pipeline>> = {
  map: (log, after) => source(log).mapBatches(behind(after), { numCpus: 1 }),
  "a pool of actors": (log, after) =>
    source(log)
      .mapBatches(Passing, { constructorArgs: [after], concurrency: 2 })
      .map(({ id }) => ({ id })),
  sort: (log, after) => source(log).sort("id").mapBatches(behind(after)),
  "random shuffle": (log, after) => source(log).randomShuffle({ seed: 1 }).mapBatches(behind(after)),
  repartition: (log, after) => source(log).repartition(16).mapBatches(behind(after)),
  groupBy: (log, after) =>
    source(log)
      .groupBy("id")
      .aggregate({ rows: data.count(), longest: data.max("padding") })
      .mapBatches(behind(after)),
  join: (log, after) =>
    source(log)
      .join(
        data.range(BLOCKS * ROWS_OF_BLOCK).map(({ id }) => ({ id, half: id / 2 })),
        { on: "id" },
      )
      .mapBatches(behind(after)),
  union: (log, after) => source(log).union(source(log)).mapBatches(behind(after)),
};

let cluster: TestCluster;
beforeAll(async () => {
  // The driver is on the first node, which does no work.
  cluster = await TestCluster.start({ head: { numCpus: 0 } });
  await cluster.addNode({ numCpus: 2 });
  await init({ address: cluster.address, logToDriver: false });
});
afterAll(async () => {
  await shutdown();
  await cluster.shutdown();
});

const bytesIn = (log: string): number => statSync(log, { throwIfNoEntry: false })?.size ?? 0;

/** The numbers of the pipeline; a node more is there from the beginning, and is killed when the log has so many bytes. */
async function idsWithDeath(pipeline: Pipeline, { where, bytes }: { where: "log" | "after"; bytes: number }): Promise<number[]> {
  const own = mkdtempSync(join(folder, "run"));
  const logs = { log: join(own, "log"), after: join(own, "after") };
  const node = await cluster.addNode({ numCpus: 2 });
  const ids = pipeline(logs.log, logs.after)
    .takeAll()
    .then((rows) => rows.map(({ id }) => id));
  ids.catch(() => {});
  await until(() => bytesIn(logs[where]) >= bytes, `${bytes} blocks in ${where}`);
  await node.kill();
  return await ids;
}

test.each(Object.keys(PIPELINES))(
  "%s",
  async (name) => {
    const pipeline = PIPELINES[name] as Pipeline;
    const logs = mkdtempSync(join(folder, "first"));
    const expected = (await pipeline(join(logs, "log"), join(logs, "after")).takeAll()).map(({ id }) => id);
    expect(new Set(expected).size).toBe(BLOCKS * ROWS_OF_BLOCK);
    // Groups and pairs come in an order that depends on the number of CPUs.
    const ordered = (ids: number[]): number[] => (name === "groupBy" || name === "join" ? ids.toSorted((a, b) => a - b) : ids);
    // Side by side, since both mostly wait until the cluster knows that a node is dead. What one run has on the other's node is lost, too.
    const [early, late] = await Promise.all([
      idsWithDeath(pipeline, { where: "log", bytes: BLOCKS / 2 }),
      idsWithDeath(pipeline, { where: "after", bytes: 3 }),
    ]);
    expect(ordered(early)).toEqual(ordered(expected));
    expect(ordered(late)).toEqual(ordered(expected));
  },
  120_000,
);

test("a dataset that was kept is made again where its blocks are gone", async () => {
  const node = await cluster.addNode({ numCpus: 2 });
  // A node that starts slowly would come too late for any of the tasks, if they were not its own.
  const kept = await source(join(folder, "kept"), { schedulingStrategy: { nodeId: node.nodeId, soft: true } }).materialize();
  const expected = Array.from({ length: BLOCKS * ROWS_OF_BLOCK }, (_, i) => (i * 7919) % (BLOCKS * ROWS_OF_BLOCK));
  await node.kill();
  expect((await kept.takeAll()).map(({ id }) => id)).toEqual(expected);
  expect(bytesIn(join(folder, "kept"))).toBeGreaterThan(BLOCKS);
}, 120_000);

test("a pipeline with a labelSelector runs on the nodes that meet it, in all of its tasks and actors", async () => {
  const labelled = await cluster.addNode({ numCpus: 2, labels: { pool: "data" } });
  const isData = (node: { alive: boolean; labels: Readonly<Record<string, string>> }): boolean =>
    node.alive && node.labels["pool"] === "data";
  const nodeId = (await nodes()).find(isData)?.nodeId;
  class Placed {
    call(row: { read: string; grouped: string }) {
      return { ...row, pooled: getRuntimeContext().nodeId };
    }
  }
  const placed = data
    .range(2000)
    .withSettings({ labelSelector: { pool: "data" } })
    .mapBatches(({ id }) => ({ key: Float64Array.from(id, (one) => one % 7), read: Array.from(id, () => getRuntimeContext().nodeId) }))
    .groupBy("key", { numPartitions: 3 })
    .mapGroups((rows) => rows.slice(0, 1).map(({ read }) => ({ read, grouped: getRuntimeContext().nodeId as string })), {
      batchFormat: "rows",
    })
    .map(Placed, { concurrency: { min: 1, max: 8 } });
  const expected = Array.from({ length: 7 }, () => ({ read: nodeId, grouped: nodeId, pooled: nodeId }));
  expect(await placed.takeAll()).toEqual(expected);
  const [part] = await placed.streamingSplit(1);
  const split: unknown[] = [];
  for await (const row of (part as data.DataIterator).iterRows()) split.push(row);
  expect(split).toEqual(expected);
  // A step's own conditions go before those of the pipeline.
  const elsewhere = placed.mapBatches((rows) => rows.map(() => ({ on: getRuntimeContext().nodeId })), {
    batchFormat: "rows",
    labelSelector: { pool: "!data" },
  });
  for (const { on } of await elsewhere.takeAll()) expect(on).not.toBe(nodeId);
  await labelled.kill();
}, 120_000);
