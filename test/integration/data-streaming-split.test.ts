/** `streamingSplit` on worker processes: rows of all parts, equal parts, epochs, and consumers that leave, stall or die. */
import { get, kill, ready, remote } from "shoal";
import * as data from "shoal/data";
import { describe, expect, test } from "vitest";
import { useSession } from "./session.ts";

useSession({ numCpus: 4 });

const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
const ascending = (numbers: readonly number[]): number[] => numbers.toSorted((a, b) => a - b);

class Consumer {
  readonly #part: data.DataIterator<{ id: number }>;
  #open: AsyncGenerator<{ id: number }> | undefined;
  constructor(part: data.DataIterator<{ id: number }>) {
    this.#part = part;
  }

  /** The numbers of one epoch. */
  async epoch(): Promise<number[]> {
    const ids: number[] = [];
    for await (const { id } of this.#part.iterBatches({ batchSize: 100 })) ids.push(...id);
    return ids;
  }

  /** The first numbers of one epoch. */
  async first(count: number): Promise<number[]> {
    const ids: number[] = [];
    for await (const { id } of this.#part) if (ids.push(id) === count) break;
    return ids;
  }

  /** Takes one row, and nothing more: its iteration stays open. */
  async stall(): Promise<void> {
    this.#open = this.#part.iterRows();
    await this.#open.next();
  }
}

async function consumersOf(dataset: data.Dataset<{ id: number }>, n: number, options: data.StreamingSplitOptions = {}) {
  const actorClass = remote(Consumer, { numCpus: 0 });
  const consumers = (await dataset.streamingSplit(n, options)).map((part) => actorClass.remote(part));
  // A process that starts late would be one that does not begin its epoch in time.
  await Promise.all(consumers.map((consumer) => ready(consumer)));
  return consumers;
}

/** More blocks than wait for one consumer. */
const manyBlocks = (n: number): data.Dataset<{ id: number }> =>
  data.readDatasource<{ id: number }>({
    name: "many",
    getReadTasks: () => upTo(n).map((i) => ({ read: () => [{ id: Float64Array.from({ length: 50 }, (_, k) => i * 50 + k) }] })),
  });

describe("parts", () => {
  test("have all rows once, in each of several epochs", async () => {
    const consumers = await consumersOf(
      manyBlocks(20).map(({ id }) => ({ id: id + 1 })),
      3,
    );
    for (let epoch = 0; epoch < 3; epoch += 1) {
      const found = await get(consumers.map((consumer) => consumer.epoch.remote()));
      expect(ascending(found.flat())).toEqual(upTo(1000).map((id) => id + 1));
    }
    consumers.forEach((consumer) => kill(consumer));
  });

  test("are equal, and their rows are distinct, whatever lies in how many blocks", async () => {
    for (const [blocks, n] of [
      [20, 3],
      [1, 4],
      [7, 2],
    ] as const) {
      const consumers = await consumersOf(manyBlocks(blocks), n, { equal: true });
      const found = await get(consumers.map((consumer) => consumer.epoch.remote()));
      const size = Math.floor((blocks * 50) / n);
      expect(found.map((ids) => ids.length)).toEqual(upTo(n).map(() => size));
      const all = found.flat();
      expect(new Set(all).size).toBe(size * n);
      expect(all.every((id) => id >= 0 && id < blocks * 50)).toBe(true);
      consumers.forEach((consumer) => kill(consumer));
    }
  });

  test("of a materialized dataset read what is stored, and no rows are an empty epoch", async () => {
    const stored = await data.range(1000).materialize();
    const consumers = await consumersOf(stored, 2, { equal: true });
    const found = await get(consumers.map((consumer) => consumer.epoch.remote()));
    expect(ascending(found.flat())).toEqual(upTo(1000));
    const none = await consumersOf(data.range(0), 2);
    expect(await get(none.map((consumer) => consumer.epoch.remote()))).toEqual([[], []]);
    [...consumers, ...none].forEach((consumer) => kill(consumer));
  });

  test("can be iterated in the driver, with batches in rows and a signal", async () => {
    const [only] = (await data.range(10).streamingSplit(1)) as [data.DataIterator<{ id: number }>];
    const batches: { id: number }[][] = [];
    for await (const batch of only.iterBatches({ batchSize: 4, batchFormat: "rows" })) batches.push(batch);
    expect(batches.flat().map(({ id }) => id)).toEqual(upTo(10));
    await expect(only.iterRows({ signal: AbortSignal.abort(new Error("no more")) }).next()).rejects.toThrow("no more");
    const [first] = (await data.range(10).streamingSplit(2)) as [data.DataIterator<{ id: number }>];
    await expect(first.iterRows({ signal: AbortSignal.timeout(200) }).next()).rejects.toThrow("timeout");
  });
});

describe("consumers that do not go on", () => {
  test("who leaves early does not hold the others up, and all begin the next epoch", async () => {
    const [early, late] = await consumersOf(manyBlocks(60), 2, { equal: true, timeoutMs: 20_000 });
    if (early === undefined || late === undefined) throw new Error("there are two");
    const [few, rest] = await get([early.first.remote(10), late.epoch.remote()]);
    expect(few).toHaveLength(10);
    expect(rest).toHaveLength(1500);
    expect((await get([early.epoch.remote(), late.epoch.remote()])).map((ids) => ids.length)).toEqual([1500, 1500]);
    [early, late].forEach((consumer) => kill(consumer));
  });

  test("who does not begin an epoch is named to those that wait", async () => {
    const [here] = await consumersOf(data.range(10), 3, { timeoutMs: 500 });
    await expect(here?.epoch.remote()).rejects.toThrow("split 0 waited 500 ms for splits 1, 2, which did not begin epoch 1");
  });

  test("who dies or stalls with equal parts is named to the others, and without them the others take its rows", async () => {
    const [stalled, waiting] = await consumersOf(manyBlocks(60), 2, { equal: true, timeoutMs: 1000 });
    if (stalled === undefined || waiting === undefined) throw new Error("there are two");
    const found = Promise.resolve(waiting.epoch.remote());
    found.catch(() => {});
    await stalled.stall.remote();
    await kill(stalled);
    await expect(found).rejects.toThrow("split 1 waited 1000 ms for split 0, which takes nothing of its rows");
    const [dead, other] = await consumersOf(manyBlocks(60), 2);
    if (dead === undefined || other === undefined) throw new Error("there are two");
    const rest = other.epoch.remote();
    await dead.stall.remote();
    await kill(dead);
    expect((await rest).length).toBeGreaterThanOrEqual(2500);
  });

  test("an error of the pipeline is thrown to all, as it is", async () => {
    const failing = data.range(100).map((row) => {
      if (row.id === 50) throw new RangeError("not fifty");
      return row;
    });
    const consumers = await consumersOf(failing, 2);
    const settled = await Promise.allSettled(consumers.map((consumer) => consumer.epoch.remote()));
    for (const one of settled)
      expect(one).toMatchObject({ status: "rejected", reason: { message: expect.stringContaining("not fifty") as string } });
  });

  test("wrong options are refused", async () => {
    await expect(data.range(1).streamingSplit(0)).rejects.toThrow(
      "Cannot call streamingSplit: it takes a whole number of parts from 1: received 0",
    );
    await expect(data.range(1).streamingSplit(1.5)).rejects.toThrow("Cannot call streamingSplit: it takes a whole number");
    await expect(data.range(1).streamingSplit(1, { timeoutMs: 0 })).rejects.toThrow("timeoutMs");
    await expect(data.range(1).streamingSplit(2, { localityHints: ["a"] })).rejects.toThrow("an array of 2 ids of nodes is needed");
  });
});
