/**
 * Nodes that die amid a pipeline's output: a write to files, and `streamingSplit` to consumers on other nodes.
 *
 * Nodes are daemons of their own that are killed with their workers. Blocks that a dead node had are made again, so files and consumers have each row exactly once;
 * rows that a dead consumer had are gone. The tests run side by side, since they mostly wait until the cluster knows that a node is dead.
 */
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { get, getRuntimeContext, init, nodes, ready, remote, shutdown } from "shoal";
import * as data from "shoal/data";
import { TestCluster } from "shoal/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { failureOf, until, useFolder } from "./session.ts";

const folder = useFolder();
const BLOCKS = 32;
const TASKS = 4;
const ROWS_OF_BLOCK = 200;
const ROWS = BLOCKS * ROWS_OF_BLOCK;
/** Makes a block large enough that it stays one. */
const PADDING = "x".repeat(6000);

const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

interface Origin {
  readonly log: string;
  /** The node that the blocks are made on. There the last task stops after a block, until the node is killed and it runs elsewhere. */
  readonly dying: string;
}

/** Numbers in blocks of four tasks, a batch a block. Each block adds a byte to the log. */
function source({ log, dying }: Origin): data.Dataset<{ id: number; padding: string }> {
  const perTask = BLOCKS / TASKS;
  const tasks = data.readDatasource<{ task: number }>({
    name: "tasks",
    getReadTasks: () => upTo(TASKS).map((task) => ({ read: () => [{ task }] })),
  });
  return tasks.mapBatches(
    async function* numbers(batch) {
      const [task = 0] = batch.task as Float64Array;
      for (let block = task * perTask; block < (task + 1) * perTask; block += 1) {
        await new Promise((resolve) => setTimeout(resolve, 10));
        const ids = upTo(ROWS_OF_BLOCK).map((i) => block * ROWS_OF_BLOCK + i);
        yield { id: Float64Array.from(ids), padding: ids.map(() => PADDING) };
        appendFileSync(log, "x");
        if (task !== TASKS - 1 || getRuntimeContext().nodeId !== dying) continue;
        appendFileSync(`${log} (last task)`, "x");
        await new Promise(() => {});
      }
    },
    { schedulingStrategy: { nodeId: dying, soft: true } },
  );
}

/** The same numbers in a block a task. */
function manyBlocks(blocks: number): data.Dataset<{ id: number }> {
  return data.readDatasource<{ id: number }>({
    name: "many",
    getReadTasks: () =>
      upTo(blocks).map((block) => ({
        read: () => [{ id: Float64Array.from({ length: ROWS_OF_BLOCK }, (_, i) => block * ROWS_OF_BLOCK + i) }],
      })),
  });
}

/** Bytes of the log of a pipeline whose node is to be killed: one block of the last task, and most of the others. */
const BYTES_AT_DEATH = BLOCKS / 2;

let cluster: TestCluster;
beforeAll(async () => {
  // The driver is on the first node, which does no work.
  cluster = await TestCluster.start({ head: { numCpus: 0 } });
  await cluster.addNode({ numCpus: 2, resources: { lasting: 10 } });
  await init({ address: cluster.address, logToDriver: false });
});
afterAll(async () => {
  await shutdown();
  await cluster.shutdown();
});

async function lastingNodeId(): Promise<string> {
  const found = (await nodes()).find(({ alive, resources }) => alive && resources["lasting"] !== undefined);
  return found?.nodeId as string;
}

const bytesIn = (log: string): number => statSync(log, { throwIfNoEntry: false })?.size ?? 0;

/** A pipeline whose blocks are made on the node that dies. */
interface UnderWay {
  /** Whether it has come so far that the node may die. */
  isAtDeath(): boolean;
  /** Waits for the end, and checks the output. */
  check(): Promise<void>;
}

/** A write to a folder of files with an empty folder in it, which is left as it is. */
function write(name: string, dying: string): UnderWay {
  const to = mkdtempSync(join(folder, name));
  mkdirSync(join(to, "year=2026"));
  const log = join(folder, `log of ${name}`);
  const rows = source({ log, dying });
  const written = name === "csv" ? rows.writeCsv(to) : rows.writeParquet(to, { mode: "overwrite" });
  written.catch(() => {});
  return {
    // Whole tasks are not made again: one that is amid its blocks has to be among those that die.
    isAtDeath: () => bytesIn(log) >= BYTES_AT_DEATH && bytesIn(`${log} (last task)`) > 0,
    check: async () => {
      const { files, rowCount } = await written;
      expect(rowCount).toBe(ROWS);
      // A part was made again.
      expect(bytesIn(log)).toBeGreaterThan(BLOCKS);
      const read = name === "csv" ? data.readCsv<{ id: number }>(to) : data.readParquet<{ id: number }>(to);
      expect((await read.takeAll()).map(({ id }) => id).toSorted((a, b) => a - b)).toEqual(upTo(ROWS));
      const found = readdirSync(to).map((file) => join(to, file));
      expect(found.toSorted()).toEqual([...files, join(to, "year=2026")].toSorted());
    },
  };
}

class Consumer {
  readonly #part: data.DataIterator<{ id: number }>;
  readonly #log: string;
  constructor(part: data.DataIterator<{ id: number }>, log: string) {
    this.#part = part;
    this.#log = log;
  }

  /** The numbers of one epoch, or no end after so many batches; each batch adds its first number to the log. */
  async epoch(ms: number, batches = Number.POSITIVE_INFINITY): Promise<number[]> {
    const ids: number[] = [];
    for await (const { id } of this.#part.iterBatches({ batchSize: ROWS_OF_BLOCK })) {
      ids.push(...id);
      appendFileSync(this.#log, `${id[0]}\n`);
      if (ids.length >= batches * ROWS_OF_BLOCK) await new Promise(() => {});
      await new Promise((resolve) => setTimeout(resolve, ms));
    }
    return ids;
  }
}

const batchesIn = (log: string): number[] => (existsSync(log) ? readFileSync(log, "utf8").split("\n").filter(Boolean).map(Number) : []);

/** A consumer of the rows on each of these nodes, and the log of each. */
async function consumersOn(nodeIds: readonly string[], rows: data.Dataset<{ id: number }>, options: data.StreamingSplitOptions = {}) {
  const own = mkdtempSync(join(folder, "split"));
  const parts = await rows.streamingSplit(nodeIds.length, options);
  const consumers = parts.map((part, i) => {
    const log = join(own, `consumer ${i}`);
    const placed = remote(Consumer, { numCpus: 0, schedulingStrategy: { nodeId: nodeIds[i] as string } });
    return { log, consumer: placed.remote(part, log) };
  });
  await Promise.all(consumers.map(({ consumer }) => ready(consumer)));
  return consumers;
}

/** A split for consumers on these nodes, which live. */
async function split(nodeIds: readonly string[], equal: boolean, dying: string): Promise<UnderWay> {
  const log = join(folder, equal ? "log of equal parts" : "log of parts");
  const consumers = await consumersOn(nodeIds, source({ log, dying }), { equal });
  const epoch = (ms: number): Promise<number[][]> => get(consumers.map(({ consumer }) => consumer.epoch.remote(ms)));
  const found = epoch(20);
  found.catch(() => {});
  return {
    isAtDeath: () => bytesIn(log) >= BYTES_AT_DEATH && consumers.every((one) => batchesIn(one.log).length >= 2),
    check: async () => {
      // The next epoch is whole, too.
      for (const parts of [await found, await epoch(0)]) {
        expect(parts.flat().toSorted((a, b) => a - b)).toEqual(upTo(ROWS));
        if (equal) expect(parts.map((ids) => ids.length)).toEqual(nodeIds.map(() => ROWS / nodeIds.length));
      }
    },
  };
}

test.concurrent("a node that makes the blocks of writes and of splits dies: files and consumers have each row once, and files are whole", async () => {
  const other = await cluster.addNode({ numCpus: 0 });
  const { nodeId: dying, kill } = await cluster.addNode({ numCpus: 4 });
  const consumers = [await lastingNodeId(), other.nodeId];
  const pipelines = [
    write("csv", dying),
    write("parquet", dying),
    await split(consumers, false, dying),
    await split(consumers, true, dying),
  ];
  await until(() => pipelines.every((pipeline) => pipeline.isAtDeath()), "pipelines that are under way");
  await kill();
  for (const pipeline of pipelines) await pipeline.check();
}, 120_000);

test.concurrent("a consumer that dies with its node has its rows alone, and is named to the others with equal parts and in the next epoch", async () => {
  const dying = await cluster.addNode({ numCpus: 0 });
  const lasting = await lastingNodeId();
  const options = { timeoutMs: 1500 };
  const free = await consumersOn([lasting, dying.nodeId], manyBlocks(BLOCKS), options);
  const equal = await consumersOn([lasting, dying.nodeId], manyBlocks(2 * BLOCKS), { ...options, equal: true });
  const found = [free, equal].map((both) => both.map(({ consumer }, i) => Promise.resolve(consumer.epoch.remote(20, [undefined, 2][i]))));
  for (const one of found.flat()) one.catch(() => {});
  await until(() => [...free, ...equal].every(({ log }) => batchesIn(log).length >= 2), "consumers that have begun");
  await dying.kill();
  const [[living, dead], [waiting]] = found as [[Promise<number[]>, Promise<number[]>], [Promise<number[]>]];
  const rest = await living;
  expect(new Set(rest).size).toBe(rest.length);
  // The other consumers get neither the dead one's batches nor the few that it had fetched ahead.
  const had = batchesIn(free[1]?.log as string);
  expect(rest.filter((id) => had.includes(id))).toEqual([]);
  const fetchedAhead = (ROWS - rest.length) / ROWS_OF_BLOCK - had.length;
  expect(fetchedAhead).toBeGreaterThanOrEqual(0);
  expect(fetchedAhead).toBeLessThanOrEqual(4);
  await expect(dead).rejects.toThrow(/its node died/);
  await expect(waiting).rejects.toThrow("split 0 waited 1500 ms for split 1, which takes nothing of its rows");
  const next = failureOf(free[0]?.consumer.epoch.remote(0) as PromiseLike<unknown>);
  expect((await next).message).toContain("split 0 waited 1500 ms for split 1, which did not begin epoch 2");
}, 120_000);
