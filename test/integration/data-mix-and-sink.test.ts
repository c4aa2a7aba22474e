/** Mixes, other blocks and sinks of users, on worker processes: orders, limits, wrong options, failures and deaths. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as data from "shoal/data";
import { afterAll, describe, expect, test } from "vitest";
import { useSession } from "./session.ts";

useSession({ numCpus: 2 });

const folder = mkdtempSync(join(tmpdir(), "shoal data rest "));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
const ascending = (numbers: readonly number[]): number[] => numbers.toSorted((a, b) => a - b);
const idsOf = async (dataset: data.Dataset<{ id: number }>): Promise<number[]> => (await dataset.takeAll()).map(({ id }) => id);

/** Blocks of so many rows each, numbered from `first`. */
const blocksOf = (sizes: readonly number[], first = 0): data.Dataset<{ id: number }> =>
  data.readDatasource<{ id: number }>({
    name: "blocks",
    getReadTasks: () => {
      let next = first;
      return sizes.map((size) => {
        const begin = next;
        next += size;
        return { read: () => [{ id: Float64Array.from({ length: size }, (_, i) => begin + i) }] };
      });
    },
  });

/** How many rows each block has, in order. */
const sizesOf = async (dataset: data.Dataset<{ id: number }>): Promise<number[]> =>
  idsOf(dataset.mapBatches(({ id }) => ({ id: [id.length] })));

describe("a mix", () => {
  test("has each dataset's rows by its weight, in the same order each time", async () => {
    const mixed = blocksOf([10, 10, 10, 10, 10, 10]).mix(blocksOf([10, 10, 10], 1000), { weights: [2, 1] });
    const ids = await idsOf(mixed);
    expect(ascending(ids)).toEqual([...upTo(60), ...upTo(30).map((id) => id + 1000)]);
    const owners = upTo(9).map((block) => ((ids[10 * block] as number) < 1000 ? "a" : "b"));
    expect(owners.join("")).toBe("abaabaaba");
    expect(await idsOf(mixed)).toEqual(ids);
    expect(ids.filter((id) => id < 1000)).toEqual(upTo(60));
  });

  test("goes on with those that are left, or ends with the first that has no more", async () => {
    const [long, short] = [blocksOf(upTo(20).map(() => 5)), blocksOf([5, 5], 1000)];
    expect(await long.mix(short).count()).toBe(110);
    const ids = await idsOf(long.mix(short, { stop: "first" }));
    expect(ids.filter((id) => id >= 1000)).toHaveLength(10);
    expect(ids.filter((id) => id < 1000)).toEqual(upTo(15));
    expect(await data.range(0).mix(data.range(3)).count()).toBe(3);
    expect(await long.mix(short).limit(7).count()).toBe(7);
  });

  test("of an endless dataset ends with the other", async () => {
    const endless = data.fromAsyncIterable(
      (function* () {
        for (let id = 0; ; id += 1) yield { id };
      })(),
    );
    const ids = await idsOf(blocksOf([50, 50], 1e9).mix(endless, { stop: "first", weights: [1, 1] }));
    expect(ids.filter((id) => id >= 1e9)).toHaveLength(100);
  });

  test("is not reordered by a filter behind it", async () => {
    const mixed = blocksOf([10, 10]).mix(blocksOf([10, 10], 1000));
    expect(await idsOf(mixed.filter(data.col("id").mod(2).eq(0)))).toEqual((await idsOf(mixed)).filter((id) => id % 2 === 0));
  });

  test("of wrong arguments is refused", () => {
    const one = data.range(1);
    expect(() => one.mix()).toThrow("Cannot call mix: it takes Datasets, one or more");
    expect(() => one.mix({ stop: "first" })).toThrow("Cannot call mix: it takes Datasets, one or more");
    expect(() => one.mix(one, { weights: [1] })).toThrow("a weight for each of its 2 datasets: received 1");
    expect(() => one.mix(one, { weights: [1, 0] })).toThrow("weights above 0: received 0");
    expect(() => one.mix(one, { stop: "last" as "all" })).toThrow("stop");
  });
});

describe("repartition", () => {
  test("by rows cuts and joins blocks, in order, and each task ends with what is left", async () => {
    const rows = blocksOf([130, 7, 1, 62, 300]).repartition({ rowsPerBlock: 50 });
    const sizes = await sizesOf(rows);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(500);
    expect(Math.max(...sizes)).toBe(50);
    expect(sizes.filter((size) => size < 50).length).toBeLessThanOrEqual(3);
    expect(await idsOf(rows)).toEqual(upTo(500));
    expect(await sizesOf(blocksOf([2, 2, 2]).repartition({ rowsPerBlock: 100 }))).toEqual([6]);
  });

  test("that is strict gives blocks of exactly so many rows, and the last one what is left", async () => {
    const rows = blocksOf([130, 7, 1, 62, 305]).repartition({ rowsPerBlock: 50, strict: true });
    expect(await sizesOf(rows)).toEqual([...Array.from({ length: 10 }, () => 50), 5]);
    expect(await idsOf(rows.withSettings({ memoryBytes: 1 }))).toEqual(upTo(505));
    const sums = await rows.mapBatches(({ id }) => ({ rows: [id.length] })).takeAll();
    expect(sums.map((row) => row.rows)).toEqual([...Array.from({ length: 10 }, () => 50), 5]);
    expect(await sizesOf(blocksOf([2, 2, 2]).repartition({ rowsPerBlock: 100, strict: true }))).toEqual([6]);
    expect(await rows.limit(70).count()).toBe(70);
  });

  test("by keys sorts the rows of each block by them, if it is to", async () => {
    const rows = data.range(3000).map(({ id }) => ({ id, key: `k${id % 40}` }));
    const blocks = await rows
      .repartition({ blocks: 4, keys: ["key", "id"], sort: true })
      .mapBatches(({ key, id }) => ({ all: [Array.from(id, (one, i) => `${key.at(i)} ${String(one).padStart(4, "0")}`).join()] }))
      .takeAll();
    const listed = blocks.map(({ all }) => all.split(","));
    for (const own of listed) expect(own).toEqual(own.toSorted());
    expect(listed.length).toBeGreaterThan(1);
    expect(listed.flat()).toHaveLength(3000);
  });

  test("by keys brings equal ones into one block", async () => {
    const rows = data.range(3000).map(({ id }) => ({ id, key: `k${id % 40}` }));
    const found = await rows
      .repartition({ blocks: 6, keys: ["key"] })
      .mapBatches(({ key }) => ({ keys: [[...new Set(key)].join()] }))
      .takeAll();
    const keys = found.flatMap(({ keys: own }) => own.split(","));
    expect(found.length).toBeGreaterThan(1);
    expect(found.length).toBeLessThanOrEqual(6);
    expect(keys.toSorted()).toEqual(
      upTo(40)
        .map((i) => `k${i}`)
        .toSorted(),
    );
  });

  test("with shuffle brings rows into a random order by the seed", async () => {
    const shuffled = data.range(1000).repartition({ blocks: 4, shuffle: true, seed: 5 });
    const ids = await idsOf(shuffled);
    expect(ids).not.toEqual(upTo(1000));
    expect(ascending(ids)).toEqual(upTo(1000));
    expect(await idsOf(shuffled)).toEqual(ids);
    expect(await sizesOf(shuffled)).toHaveLength(4);
  });

  test("of wrong options is refused", () => {
    const rows = data.range(10);
    expect(() => rows.repartition(0)).toThrow("blocks");
    expect(() => rows.repartition({})).toThrow("Cannot call repartition: it takes a number of blocks, or");
    expect(() => rows.repartition({ rowsPerBlock: 5, blocks: 2 })).toThrow("rowsPerBlock alone");
    expect(() => rows.repartition({ keys: ["id"], shuffle: true })).toThrow("keys or shuffle");
    expect(() => rows.repartition({ blocks: 1, seed: 1 })).toThrow("seed with shuffle");
    expect(() => rows.repartition({ keys: [] })).toThrow("keys");
  });
});

describe("a sink", () => {
  test("is given all rows, a call a task, and its results come in order", async () => {
    const events: string[] = [];
    const results = await blocksOf([3, 4, 0, 5]).writeDatasink({
      name: "the archive",
      onWriteStart: () => void events.push("start"),
      async write(batches, { taskId }) {
        const ids: number[] = [];
        for await (const { id } of batches) ids.push(...id);
        return { taskId, ids, at: new Date(0) };
      },
      onWriteComplete: (all) => void events.push(`complete ${all.length}`),
      onWriteFailed: () => void events.push("failed"),
    });
    expect(results.flatMap(({ ids }) => ids)).toEqual(upTo(12));
    expect(new Set(results.map(({ taskId }) => taskId)).size).toBe(results.length);
    expect(results[0]?.at).toEqual(new Date(0));
    expect(events).toEqual(["start", `complete ${results.length}`]);
  });

  test("may be an instance of a class, and take rows", async () => {
    class Lines {
      readonly batchFormat = "rows";
      readonly folder: string;
      constructor(to: string) {
        this.folder = to;
      }
      async write(batches: AsyncIterable<{ id: number }[]>, { taskId }: data.SinkTask): Promise<number> {
        let text = "";
        for await (const rows of batches) text += rows.map(({ id }) => `${id}\n`).join("");
        writeFileSync(`${this.folder}/${taskId}.txt`, text);
        return text.length;
      }
    }
    const to = mkdtempSync(join(folder, "lines"));
    const lengths = await data.range(100).writeDatasink(new Lines(to));
    const written = readdirSync(to).map((name) => readFileSync(join(to, name), "utf8"));
    expect(ascending(written.join("").trim().split("\n").map(Number))).toEqual(upTo(100));
    expect(lengths.reduce((sum, length) => sum + length, 0)).toBe(written.join("").length);
  });

  test("whose worker dies is called again for the same task", async () => {
    const marker = join(folder, "died");
    const results = await data.range(10).writeDatasink({
      async write(batches, { taskId }) {
        let rows = 0;
        for await (const { id } of batches) rows += id.length;
        if (!existsSync(`${marker}-${taskId}`)) {
          writeFileSync(`${marker}-${taskId}`, "");
          process.kill(process.pid, "SIGKILL");
        }
        return rows;
      },
    });
    expect(results.reduce((sum, rows) => sum + rows, 0)).toBe(10);
    expect(readdirSync(folder).filter((name) => name.startsWith("died"))).toHaveLength(results.length);
  });

  test("that fails is told of it, and the first error is thrown", async () => {
    const told: unknown[] = [];
    const onWriteFailed = (error: unknown): never => {
      told.push(error);
      throw new Error("cannot clean up");
    };
    const failing = data.range(10).writeDatasink({
      write: () => {
        throw new RangeError("no room");
      },
      onWriteFailed,
    });
    await expect(failing).rejects.toThrow("no room");
    await expect(data.range(10).writeDatasink({ write: () => 1, onWriteFailed })).rejects.toThrow("before it had read all batches");
    const incomplete = data.range(10).writeDatasink({
      async write(batches) {
        for await (const _ of batches);
      },
      onWriteComplete: () => {
        throw new Error("not committed");
      },
      onWriteFailed,
    });
    await expect(incomplete).rejects.toThrow("not committed");
    expect(told).toHaveLength(3);
    await expect(data.range(1).writeDatasink({} as data.Datasink<{ id: number }>)).rejects.toThrow(
      "Cannot call writeDatasink: it takes { write(batches, task)",
    );
  });
});
