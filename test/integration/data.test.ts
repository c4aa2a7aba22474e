/**
 * Datasets on worker processes: rows exactly once whatever dies, consumers that pause, leave or abort, errors of users, exchanges against plain arrays, and files.
 */
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { get, objectStoreStatistics, remote, TaskError } from "shoal";
import * as data from "shoal/data";
import { describe, expect, test } from "vitest";
import { failureOf, shoalProcesses, until, useFolder, useSession } from "./session.ts";

const folder = useFolder();
useSession({ numCpus: 2, objectStoreMemoryBytes: 256 * 2 ** 20 });

const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

/** Processor time of all workers. */
function workedMs(): number {
  const ticks = shoalProcesses({ kind: "worker" }).map((pid) => {
    const status = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = status.slice(status.lastIndexOf(")") + 2).split(" ");
    return Number(fields[11]) + Number(fields[12]);
  });
  return ticks.reduce((sum, own) => sum + own, 0) * 10;
}

/** A function that ends its process once, at one row. */
function dyingOnce(file: string, at: number): <R extends { id: number }>(row: R) => R {
  return (row) => {
    if (row.id === at && !existsSync(file)) {
      writeFileSync(file, "");
      process.kill(process.pid, "SIGKILL");
    }
    return row;
  };
}

describe("a worker that dies", () => {
  test("in a chain behind a read changes nothing", async () => {
    const ids = data.range(200_000).map(dyingOnce(join(folder, "read"), 150_000));
    expect((await ids.takeAll()).map(({ id }) => id)).toEqual(upTo(200_000));
  });

  test("in an exchange changes nothing", async () => {
    const rows = data.range(50_000).map(({ id }) => ({ id, key: (id * 7919) % 1000 }));
    const sorted = rows.sort("key").map(dyingOnce(join(folder, "sort"), 25_000));
    const found = await sorted.takeAll();
    expect(found.map(({ id }) => id)).toEqual(
      upTo(50_000)
        .map((id) => ({ id, key: (id * 7919) % 1000 }))
        .toSorted((a, b) => a.key - b.key)
        .map(({ id }) => id),
    );
  });

  test("in a join changes nothing, and each row meets its partners once", async () => {
    const rides = data.range(60_000).map(({ id }) => ({ id, city: id % 7 === 0 ? null : id % 5000 }));
    const cities = data.range(4000).map(({ id }) => ({ city: id, name: `city ${id}` }));
    const joined = rides.join(cities, { on: "city", type: "left", partitions: 5 }).map(dyingOnce(join(folder, "join"), 30_001));
    const found = (await joined.takeAll()).toSorted((a, b) => a.id - b.id);
    expect(found).toEqual(
      upTo(60_000).map((id) => {
        const city = id % 7 === 0 ? null : id % 5000;
        return { id, city, name: city === null || city >= 4000 ? null : `city ${city}` };
      }),
    );
  });

  test("in a zip, in groups of mapGroups, and in a mix changes nothing", async () => {
    const rows = data.range(40_000);
    const marks = ["zip", "groups", "before mix", "behind mix"].map((name) => join(folder, name));
    const [zip, groups, before, behind] = marks as [string, string, string, string];
    const ids = (found: { id: number }[]): number[] => found.map(({ id }) => id).toSorted((a, b) => a - b);
    // Map and zip are one task, whose pairs must be those of before.
    const zipped = rows.zip(rows.repartition(3).map(({ id }) => ({ twin: id }))).map(dyingOnce(zip, 25_000));
    expect(await zipped.takeAll()).toEqual(upTo(40_000).map((id) => ({ id, twin: id })));
    const dying = dyingOnce(groups, 25_000);
    const grouped = rows.map(({ id }) => ({ id, key: id % 10 })).groupBy("key");
    expect(ids(await grouped.mapGroups((group) => group.map(dying), { batchFormat: "rows" }).takeAll())).toEqual(upTo(40_000));
    const upper = data.range(40_000).map(({ id }) => ({ id: id + 40_000 }));
    const mixed = rows
      .map(dyingOnce(before, 25_000))
      .mix(upper, { weights: [1, 2] })
      .map(dyingOnce(behind, 65_000));
    expect(ids(await mixed.takeAll())).toEqual(upTo(80_000));
    expect(marks.map(existsSync)).toEqual([true, true, true, true]);
  });

  type Write = (rows: data.Dataset<{ id: number }>, to: string) => Promise<data.WriteResult>;
  const ofCsv: Write = (rows, to) => rows.writeCsv(to, { maxRowsPerFile: 500 });
  const ofParts: Write = (rows, to) =>
    rows.map(({ id }) => ({ id, half: id % 2 })).writeParquet(to, { partitionBy: ["half"], maxRowsPerFile: 300 });

  test.each([
    ["CSV", ofCsv, (from: string) => data.readCsv<{ id: number }>(from)],
    ["partitions of Parquet", ofParts, (from: string) => data.readParquet<{ id: number }>(from)],
  ])("in a write of %s, after some of its files, leaves each row in one file and no other file", async (name, write, read) => {
    const [to, mark] = [join(folder, `written ${name}`), join(folder, `staged ${name}`)];
    const blocks = data.readDatasource<{ id: number }>({
      name: "blocks",
      getReadTasks: () => [
        {
          read: function* () {
            for (let block = 0; block < 10; block += 1) yield { id: Float64Array.from({ length: 1000 }, (_, i) => block * 1000 + i) };
          },
        },
      ],
    });
    // A single task reads and writes all blocks.
    const dying = blocks.map((row) => {
      if (row.id === 6500 && !existsSync(mark)) {
        writeFileSync(mark, readdirSync(to, { recursive: true }).join("\n"));
        process.kill(process.pid, "SIGKILL");
      }
      return row;
    });
    const { rowCount, files } = await write(dying, to);
    expect(rowCount).toBe(10_000);
    expect(readFileSync(mark, "utf8").match(/\.(csv|parquet)$/gm)?.length).toBeGreaterThan(5);
    const ids = (await read(to).takeAll()).map(({ id }) => id).toSorted((a, b) => a - b);
    expect(ids).toEqual(upTo(10_000));
    const names = readdirSync(to, { recursive: true }).map(String);
    expect(names.filter((path) => /\.(csv|parquet)$/.test(path))).toHaveLength(files.length);
    expect(readdirSync(to).filter((path) => path.startsWith("."))).toEqual([]);
  });

  test("changes no random number, no UUID and no number of a row", async () => {
    const ids = data.range(20_000).repartition(10);
    const made = { n: data.monotonicallyIncreasingId(), r: data.random(), u: data.uuid() };
    const whole = await ids.withColumns(made).takeAll();
    const before = ids.map(dyingOnce(join(folder, "before numbers"), 7000));
    const found = await before
      .withColumns(made)
      .map(dyingOnce(join(folder, "behind numbers"), 15_000))
      .takeAll();
    expect(found).toEqual(whole);
    // Without their order, rows that were given out keep their numbers: no number comes twice.
    const unordered = before.withSettings({ preserveOrder: false }).withColumns(made);
    const given = await unordered.map(dyingOnce(join(folder, "behind numbers, in any order"), 15_000)).takeAll();
    const values = ({ n, r, u }: { n: number; r: number; u: string }): unknown[] => [n, r, u];
    expect(given.toSorted((a, b) => a.n - b.n).map(values)).toEqual(whole.map(values));
  });
});

test("a small side of a join goes to each task as a whole, on either side, and a worker that dies changes nothing", async () => {
  // Beyond the bytes from which rows are cut for an exchange.
  const rides = data.range(400_000).map(({ id }) => ({ id, city: id % 500, km: id / 2 }));
  const cities = data.range(600).map(({ id }) => ({ city: id, name: `city ${id}` }));
  const left = rides.join(cities, { on: "city" });
  const found = await left.map(dyingOnce(join(folder, "small side"), 200_001)).takeAll();
  // The rows have stayed in their order, so no block was cut.
  expect(found.every((row, id) => row.id === id && row.name === `city ${id % 500}`)).toBe(true);
  expect(found.length).toBe(400_000);
  const ids = (joined: data.Dataset<any>): Promise<number | null> => joined.sum("id");
  const total = (400_000 * 399_999) / 2;
  expect(await ids(left)).toBe(total);
  expect(await ids(cities.join(rides, { on: "city" }))).toBe(total);
  expect(await ids(cities.join(rides, { on: "city", type: "right" }))).toBe(total);
  expect(await rides.join(cities, { on: "city", type: "leftAnti" }).count()).toBe(0);
  expect(await cities.join(rides, { on: "city", type: "leftAnti" }).count()).toBe(100);
  expect(await cities.join(rides, { on: "city", type: "full" }).count()).toBe(400_100);
});

describe("a consumer", () => {
  test("that leaves ends an endless source, and its blocks are freed", async () => {
    const { objects } = await objectStoreStatistics();
    const endless = data.readDatasource<{ n: number }>({
      name: "endless",
      getReadTasks: () => [
        {
          read: function* () {
            for (let n = 0; ; n += 1) yield { n: new Float64Array(100_000).fill(n) };
          },
        },
      ],
    });
    for await (const { n } of endless.map((row) => row)) if (n === 1) break;
    await until(async () => (await objectStoreStatistics()).objects <= objects, "all blocks to be freed");
  });

  test("that pauses stops the producers within the budget", async () => {
    const log = join(folder, "produced");
    const source = data.readDatasource<{ n: number }>({
      name: "numbers",
      getReadTasks: () => [
        {
          read: function* () {
            for (let n = 0; n < 200; n += 1) {
              appendFileSync(log, "x");
              yield { n: new Float64Array(262_144) };
            }
          },
        },
      ],
    });
    const blocks = source.withSettings({ memoryBytes: 8 * 2 ** 20 }).iterBatches({ batchSize: 262_144 });
    await blocks.next();
    const produced = (): number => readFileSync(log, "utf8").length;
    let last = -1;
    await until(() => {
      const [now, before] = [produced(), last];
      last = now;
      return now === before;
    }, "the producer to stand still");
    // Four blocks of 2 MiB in the budget, the one that was taken, and what a task makes ahead of the executor.
    expect(produced()).toBeLessThan(20);
    await blocks.return();
  });

  test("with a budget of one byte gets all rows, through every kind of operator", async () => {
    const rows = data.range(30_000).map(({ id }) => ({ id, key: id % 10 }));
    const sums = rows
      .union(rows)
      .groupBy("key")
      .aggregate({ n: data.count(), s: data.sum("id") })
      .sort("key");
    expect(await sums.withSettings({ memoryBytes: 1 }).takeAll()).toEqual(
      upTo(10).map((key) => ({ key, n: 6000, s: 2 * upTo(3000).reduce((sum, i) => sum + 10 * i + key, 0) })),
    );
  });

  test("that aborts ends the work with the signal's reason", async () => {
    const controller = new AbortController();
    const slow = data.range(100).map(async (row) => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      return row;
    });
    const counted = slow.count({ signal: controller.signal });
    const reason = new Error("enough");
    setTimeout(() => controller.abort(reason), 200);
    await expect(counted).rejects.toBe(reason);
  });
});

describe("what is wrong in a function", () => {
  test("arrives with the operator's name, the user's line and the user's error", async () => {
    const failing = data.range(10).map(function parse({ id }) {
      if (id === 7) throw new RangeError("bad row");
      return { id };
    });
    const error = await failureOf(failing.takeAll());
    expect(error).toBeInstanceOf(TaskError);
    expect((error as TaskError).cause).toMatchObject({ name: "RangeError", message: "bad row" });
    expect((error as Error).message).toContain("map(parse)");
    expect((error as Error).stack).toContain("data.test.ts");
  });

  test("that two blocks of a column are of two types is an error that names both", async () => {
    const mixed = data.range(1000).map(({ id }) => ({ x: id < 500 ? 1 : "a" }));
    await expect(mixed.takeAll()).rejects.toThrow('Column "x" is float64 in some rows and string in others');
    const csv = join(folder, "two types");
    mkdirSync(csv);
    writeFileSync(join(csv, "a.csv"), "x,y\n1,2\n");
    writeFileSync(join(csv, "b.csv"), "x,y\n1,no\n");
    const both = `Column "y" is int64 in ${csv}/a.csv and string in ${csv}/b.csv`;
    const rows = data.readCsv<{ x: number; y: number }>(csv);
    await expect(rows.takeAll()).rejects.toThrow(both);
    await expect(rows.sort("x").takeAll()).rejects.toThrow(both);
    await expect(rows.groupBy("y").count().takeAll()).rejects.toThrow(both);
    await expect(data.range(3).join(rows, { on: "id", rightOn: "x" }).takeAll()).rejects.toThrow(both);
    await expect(rows.map(({ y }) => ({ y: String(y) })).takeAll()).rejects.toThrow(both);
    expect(await data.readCsv(csv, { columns: ["y"], schema: { y: "string" } }).takeAll()).toEqual([{ y: "2" }, { y: "no" }]);
  });
});

test("ten times the budget flows through with little in the store", async () => {
  const budget = 32 * 2 ** 20;
  // Processes keep blocks that they have dropped until they collect: 128 MB of arrays are no reason to (`HeapGrowth`).
  const garbage = 128 * 2 ** 20;
  let most = 0;
  let rows = 0;
  const source = data.range(20_000_000).mapBatches(({ id }) => ({ id, half: Float64Array.from(id, (x) => x / 2) }));
  for await (const batch of source.withSettings({ memoryBytes: budget }).iterBatches({ batchSize: 500_000 })) {
    rows += data.rowCount(batch);
    most = Math.max(most, (await objectStoreStatistics()).usedBytes);
  }
  expect(rows).toBe(20_000_000);
  expect(most).toBeLessThan(budget + garbage);
}, 60_000);

describe("files", () => {
  const rides = data.range(5000).map(({ id }) => ({
    id,
    city: id % 2 === 0 ? "Rome" : 'Os"lo, ü',
    km: id % 3 === 0 ? null : id / 7,
    at: new Date(Date.UTC(2026, 0, 1) + id * 1000),
  }));

  test.each([
    ["CSV", (to: string) => rides.writeCsv(to, { compression: "gzip" }), (from: string) => data.readCsv(from)],
    ["CSV by brotli", (to: string) => rides.writeCsv(to, { compression: "brotli" }), (from: string) => data.readCsv(from)],
    [
      "JSON",
      (to: string) => rides.writeJson(to, { compression: "zstd" }),
      (from: string) => data.readJson(from, { schema: { at: "timestamp[ms]" } }),
    ],
    ["Parquet", (to: string) => rides.writeParquet(to, { compression: "zstd" }), (from: string) => data.readParquet(from)],
  ])("%s come back as they were", async (name, write, read) => {
    const to = join(folder, `back ${name}`);
    const { files, rowCount } = await write(to);
    expect([rowCount, readdirSync(to).length]).toEqual([5000, files.length]);
    expect(await read(to).takeAll()).toEqual(await rides.takeAll());
  });

  test("may be overwritten by what is read from them", async () => {
    const to = join(folder, "own source");
    await rides.writeParquet(to, { partitionBy: ["city"] });
    const all = data.readParquet<{ id: number; city: string }>(to, { columns: ["id", "city"] });
    await all.sort("id").writeParquet(to, { mode: "overwrite" });
    expect((await data.readParquet<{ id: number }>(to).takeAll()).map(({ id }) => id)).toEqual(upTo(5000));
    expect(readdirSync(to).filter((name) => name.startsWith("city") || name.startsWith("."))).toEqual([]);
  });

  test("have no more rows than they may, in the order of the rows", async () => {
    const to = join(folder, "small files");
    const { files } = await data.range(1000).repartition(3).writeParquet(to, { maxRowsPerFile: 150 });
    const counts = await Promise.all(files.map((file) => data.readParquet(file).count()));
    expect([Math.max(...counts), counts.reduce((a, b) => a + b), counts.length]).toEqual([150, 1000, 9]);
    expect((await data.readParquet<{ id: number }>(to).takeAll()).map(({ id }) => id)).toEqual(upTo(1000));
    const parts = await rides.limit(1000).writeCsv(join(folder, "small parts"), { maxRowsPerFile: 40, partitionBy: ["city"] });
    expect(parts.rowCount).toBe(1000);
    for (const file of parts.files) expect(await data.readCsv(file).count()).toBeLessThanOrEqual(40);
    expect(() => rides.writeJson(to, { maxRowsPerFile: 0 })).toThrow("maxRowsPerFile");
  });

  test("that could not be written whole leave nothing behind, and those that were there stay", async () => {
    const to = join(folder, "failed");
    await data.fromItems([{ id: 1 }]).writeJson(to);
    const failing = rides.map((row) => {
      if (row.id === 4000) throw new Error("no");
      return row;
    });
    await expect(failing.writeJson(to, { mode: "overwrite" })).rejects.toThrow("no");
    expect(readdirSync(to)).toHaveLength(1);
    expect(await data.readJson(to).takeAll()).toEqual([{ id: 1 }]);
    for (const mode of ["error", "create"] as const) await expect(rides.writeJson(to, { mode })).rejects.toThrow("it has 1 files already");
  });
});

// The last one: its rows stay in the store until they are collected.
test("a consumer that aborts while an exchange cuts its blocks frees the workers at once, and the store", async () => {
  const rows = await data
    .range(6_000_000)
    .mapBatches(({ id }) => ({ same: new Float64Array(id.length), id }))
    .materialize();
  const { objects } = await objectStoreStatistics();
  const controller = new AbortController();
  const workedBefore = workedMs();
  const sorted = rows.sort(["same", "id"]).takeAll({ signal: controller.signal });
  await until(() => workedMs() - workedBefore > 150, "tasks to compute");
  const worked = workedMs();
  controller.abort(new Error("enough"));
  await expect(sorted).rejects.toThrow("enough");
  const free = remote(() => 1);
  await get([free.remote(), free.remote()]);
  // The tasks under way would use twice as much until their end.
  expect(workedMs() - worked).toBeLessThan(350);
  await until(async () => (await objectStoreStatistics()).objects <= objects, "all blocks to be freed");
});
