/** Methods of datasets that look at them, in in-process mode: the results are compared with plain arrays. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import * as data from "shoal/data";
import { afterAll, describe, expect, test } from "vitest";
import { useSession } from "./session.ts";

useSession({ mode: "inProcess", numCpus: 2 });

const folder = mkdtempSync(join(tmpdir(), "shoal data methods "));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
const rides = data
  .range(100)
  .map(({ id }) => ({ id, city: id % 4 === 3 ? null : `c${id % 4 === 0 ? 0 : 1}`, km: id % 5 === 0 ? null : id }));

describe("a summary", () => {
  test("has the statistics of each column over all blocks", async () => {
    const km = upTo(100).filter((id) => id % 5 !== 0);
    const mean = km.reduce((a, b) => a + b, 0) / km.length;
    const summary = await rides.repartition(7).summary();
    expect(summary.columns).toEqual(["id", "city", "km"]);
    expect(summary.column("km")).toMatchObject({
      count: 100,
      missingPct: 20,
      mean: expect.closeTo(mean, 9),
      std: expect.closeTo(Math.sqrt(km.reduce((a, b) => a + (b - mean) ** 2, 0) / km.length), 9),
      min: 1,
      max: 99,
      zeroPct: 0,
    });
    expect(summary.column("city")).toEqual({
      count: 100,
      missingPct: 25,
      "approxTopK[0]": { value: "c1", count: 50 },
      "approxTopK[1]": { value: "c0", count: 25 },
    });
    expect(
      (
        await data
          .range(3)
          .map(({ id }) => ({ odd: id % 2 === 1 }))
          .summary()
      ).column("odd"),
    ).toMatchObject({ mean: expect.closeTo(1 / 3, 9), max: true });
  });

  test("finds the type of a column that begins with nulls", async () => {
    const late = data.fromItems<{ id: number | null }>([{ id: null }, { id: null }]).union(data.range(4));
    expect((await late.summary()).column("id")).toMatchObject({ count: 6, mean: 1.5, max: 3 });
    expect((await late.limit(2).summary()).column("id")).toEqual({ count: 2, missingPct: 100 });
  });

  test("is refused for what can be read once, before it is read", async () => {
    const once = data.fromAsyncIterable([{ n: 1 }, { n: 2 }]);
    await expect(once.summary()).rejects.toThrow("an iterable can be read once");
    expect(await once.count()).toBe(2);
    await expect(rides.summary({ columns: ["no" as never] })).rejects.toThrow('Cannot summarize "no"');
    await expect(rides.summary({ column: ["km"] } as never)).rejects.toThrow("columns");
  });

  test("and its aggregates heed nulls as they are told to", async () => {
    expect(await rides.sum("km", { ignoreNulls: false })).toBeNull();
    expect(await rides.std("id", { ddof: 0 })).toBeCloseTo(Math.sqrt((100 ** 2 - 1) / 12), 9);
    const perCity = await rides.groupBy("city").max("km", { ignoreNulls: false }).sort("city").takeAll();
    expect(perCity.map((row) => row["max(km)"])).toEqual([null, null, null]);
  });
});

test("takeAll with a limit gives all rows up to it, and refuses more", async () => {
  expect(await rides.takeAll({ limit: 100 })).toEqual(await rides.takeAll());
  await expect(data.range(1_000_000_000).takeAll({ limit: 5 })).rejects.toThrow("takeAll has a limit of 5 rows, and there are more");
  await expect(rides.takeAll({ limit: 0 })).rejects.toThrow("limit of takeAll");
  await expect(rides.takeAll({ rows: 3 } as never)).rejects.toThrow("limit");
});

const sizesOf = async (dataset: data.Dataset<any>): Promise<string[]> => {
  const blocks = await dataset.mapBatches((rows) => [{ ids: rows.map(({ id }) => id).join(" ") }], { batchFormat: "rows" }).takeAll();
  return blocks.map(({ ids }) => ids);
};

describe("a sort with boundaries", () => {
  const rows = data.range(12).map(({ id }) => ({ id: id % 6, place: id }));

  test("gives a block a range, in order and stable", async () => {
    const sorted = rows.repartition(5).sort("id", { boundaries: [4, 2] });
    expect(await sizesOf(sorted)).toEqual(["0 0 1 1", "2 2 3 3", "4 4 5 5"]);
    expect((await sorted.takeAll()).map(({ place }) => place)).toEqual([0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11]);
    expect(await sizesOf(rows.sort("id", { boundaries: [4, 2], descending: true }))).toEqual(["5 5", "4 4 3 3", "2 2 1 1 0 0"]);
    expect(await sizesOf(rows.sort(["id", "place"], { boundaries: [1, 99], descending: [false, true] }))).toEqual([
      "0 0",
      "1 1 2 2 3 3 4 4 5 5",
    ]);
    expect(sorted.explain()).toContain("sort(id in 3 ranges)");
  });

  test("is refused for what are no boundaries of the column", async () => {
    for (const wrong of [[], 3, [Number.NaN], [1, "a"], [{}]])
      expect(() => rows.sort("id", { boundaries: wrong as never })).toThrow("boundaries");
    await expect(rows.sort("id", { boundaries: ["a"] }).takeAll()).rejects.toThrow('Cannot sort by "id" with boundaries "a"');
    expect(
      await rows
        .limit(0)
        .sort("id", { boundaries: [1] })
        .takeAll(),
    ).toEqual([]);
  });
});

describe("groups", () => {
  test("with a column more keep their rows, in order, group by group", async () => {
    const grouped = rides.repartition(3).groupBy("city", { numPartitions: 4 }).withColumn("twice", data.col("id").mul(2));
    const rows = await grouped.takeAll();
    expect(rows.toSorted((a, b) => a.id - b.id)).toEqual((await rides.takeAll()).map((row) => ({ ...row, twice: 2 * row.id })));
    const runs = rows.filter(({ city }, i) => i === 0 || city !== rows[i - 1]?.city);
    expect(new Set(runs.map(({ city }) => city))).toEqual(new Set(["c0", "c1", null]));
    expect(runs).toHaveLength(3);
    for (const city of ["c0", "c1", null]) {
      const ids = rows.filter((row) => row.city === city).map(({ id }) => id);
      expect(ids).toEqual(ids.toSorted((a, b) => a - b));
    }
    expect(grouped.explain()).toContain("Exchange groupBy(city)->withColumn(twice:");
  });

  test("come in as many parts as are asked for, each whole", async () => {
    const counts = rides.groupBy("id", { numPartitions: 5 }).count();
    expect((await counts.materialize().then((made) => made.takeAll())).length).toBe(100);
    expect(await sizesOf(counts)).toHaveLength(5);
    expect(() => rides.groupBy("id", { numPartitions: 0 })).toThrow("numPartitions");
    expect(() => rides.groupBy("id", { partitions: 2 } as never)).toThrow("numPartitions");
    const urls = data.fromItems([{ url: "x" }]);
    expect(() => urls.groupBy("url").withColumn("x", data.col("url").download() as never)).toThrow(
      "Cannot call withColumn of groups: it takes no download",
    );
  });
});

describe("a streaming split into train and test", () => {
  const ids = async (dataset: data.Dataset<{ id: number }>): Promise<number[]> => (await dataset.takeAll()).map(({ id }) => id);

  test("at random gives each row to one side, the same by the seed whatever blocks there are", async () => {
    const rows = data.range(5000);
    const [train, held] = rows.streamingTrainTestSplit({ testSize: 0.2, seed: 3 });
    const [a, b] = [await ids(train), await ids(held)];
    expect([...a, ...b].toSorted((x, y) => x - y)).toEqual(upTo(5000));
    expect(Math.abs(b.length - 1000)).toBeLessThan(120);
    expect(await ids(rows.repartition(7).streamingTrainTestSplit({ testSize: 0.2, seed: 3 })[1])).toEqual(b);
    const [other, otherHeld] = rows.withSettings({ preserveOrder: false }).streamingTrainTestSplit({ testSize: 0.5 });
    expect([...(await ids(other)), ...(await ids(otherHeld))].toSorted((x, y) => x - y)).toEqual(upTo(5000));
  });

  test("by hash keeps equal values together, and is fused with the read", async () => {
    const rows = data.range(2000).map(({ id }) => ({ id, user: `u${id % 50}` }));
    const [train, held] = rows.streamingTrainTestSplit({ testSize: 0.3, type: "hash", hashColumn: "user" });
    const users = async (side: typeof train): Promise<Set<string>> => new Set(await side.unique("user"));
    const [a, b] = [await users(train), await users(held)];
    expect(a.size + b.size).toBe(50);
    expect([...a].some((user) => b.has(user))).toBe(false);
    expect(b.size).toBeGreaterThan(3);
    expect((await train.count()) + (await held.count())).toBe(2000);
    expect(train.explain()).toContain("ReadTasks range(2000)->map->streamingTrainTestSplit(train)");
  });

  test("is refused with options that do not go together", () => {
    const rows = data.range(10);
    expect(() => rows.streamingTrainTestSplit({ testSize: 1 })).toThrow("between 0 and 1: received 1");
    expect(() => rows.streamingTrainTestSplit({ testSize: 0.5, type: "hash" })).toThrow("takes hashColumn");
    expect(() => rows.streamingTrainTestSplit({ testSize: 0.5, hashColumn: "id" })).toThrow("hashColumn with type");
    expect(() => rows.streamingTrainTestSplit({ testSize: 0.5, type: "hash", hashColumn: "id", seed: 1 })).toThrow("a seed with type");
    expect(() => data.fromAsyncIterable([{ n: 1 }]).streamingTrainTestSplit({ testSize: 0.5 })).toThrow("read once");
  });
});

test("a split with nodes has every row once, in parts of equal sizes", async () => {
  const rows = data.range(103).repartition(5);
  const parts = await rows.split(3, { localityHints: ["nowhere", "nowhere", "elsewhere"] });
  const ids = await Promise.all(parts.map(async (part) => (await part.takeAll()).map(({ id }) => id)));
  expect(ids.map((own) => own.length)).toEqual([34, 34, 35]);
  expect(ids.flat().toSorted((a, b) => a - b)).toEqual(upTo(103));
  await expect(rows.split(3, { localityHints: ["one"] })).rejects.toThrow("localityHints");
});

describe("a name", () => {
  test("is that of what is made of the dataset, and shown in its plan and statistics", async () => {
    const rows = data.range(10).setName("numbers");
    const squares = rows.map(({ id }) => ({ id: id * id }));
    expect([rows.name, squares.name, squares.limit(2).name, data.range(1).name]).toEqual(["numbers", "numbers", "numbers", undefined]);
    await squares.takeAll();
    const stats = await squares.stats();
    expect([stats?.name, String(stats).split("\n")[0]]).toEqual(["numbers", "Dataset numbers"]);
    expect(squares.explain()).toMatch(/^Logical plan of numbers\n/);
    expect((await squares.materialize()).name).toBe("numbers");
    expect(squares.setName(undefined).name).toBeUndefined();
    expect(squares.explain()).toMatch(/^Logical plan\n/);
    for (const wrong of ["", "two\nlines", 3])
      expect(() => rows.setName(wrong as never)).toThrow("Cannot call setName: it takes a text of one line");
  });
});

describe("blocks and bytes", () => {
  test("are known of blocks that are kept, and counted of others", async () => {
    const rows = data.range(1000).repartition(4);
    const kept = await rows.materialize();
    expect([await rows.numBlocks(), await kept.numBlocks()]).toEqual([4, 4]);
    expect([await rows.sizeBytes(), await kept.sizeBytes()]).toEqual([8000, 8000]);
    expect(await data.fromColumns({ x: new Float64Array(100) }).sizeBytes()).toBe(800);
    const before = await kept.stats();
    await kept.numBlocks();
    expect((await kept.stats())?.durationMs).toBe(before?.durationMs);
    expect(await data.range(0).sizeBytes()).toBe(0);
  });
});

describe("written files", () => {
  const rows = data.range(100).map(({ id }) => ({ id, odd: id % 2 === 1 }));

  test("have the names of the user's function, in the order of the rows", async () => {
    const to = join(folder, "named");
    const filenameProvider = ({ index }: data.NamedFile): string => `rides-${index}`;
    const { files } = await rows.repartition(3).writeCsv(to, { filenameProvider, compression: "gzip" });
    expect(files.map((file) => basename(file))).toEqual(["rides-0.csv.gz", "rides-1.csv.gz", "rides-2.csv.gz"]);
    expect((await data.readCsv<{ id: number }>(to).takeAll()).map(({ id }) => id)).toEqual(upTo(100));
    await expect(rows.writeCsv(to, { filenameProvider, compression: "gzip" })).rejects.toThrow("rides-0.csv.gz: it is there already");
    await expect(rows.repartition(2).writeCsv(join(folder, "twice"), { filenameProvider: () => "one" })).rejects.toThrow("twice");
    expect(readdirSync(to).toSorted((a, b) => (a < b ? -1 : 1))).toEqual(["rides-0.csv.gz", "rides-1.csv.gz", "rides-2.csv.gz"]);
  });

  test("of an overwrite take the places of old ones of their names, and the others go", async () => {
    const to = join(folder, "over");
    const filenameProvider = ({ index }: data.NamedFile): string => `part ${index}`;
    await rows.repartition(3).writeParquet(to, { filenameProvider });
    await data
      .readParquet<{ id: number }>(to)
      .map(({ id }) => ({ id: -id }))
      .repartition(2)
      .writeParquet(to, { filenameProvider, mode: "overwrite" });
    expect(readdirSync(to)).toHaveLength(2);
    expect((await data.readParquet<{ id: number }>(to).takeAll()).map(({ id }) => -id)).toEqual(upTo(100));
  });

  test("of an overwrite take the place of files of such a write alone: a folder with any other file is refused", async () => {
    const to = join(folder, "own files");
    await rows.writeCsv(to, { partitionBy: ["odd"], compression: "gzip" });
    await rows.writeCsv(to, { mode: "overwrite" });
    expect(readdirSync(to)).toHaveLength((await rows.writeJson(to, { mode: "overwrite" })).files.length);
    for (const foreign of ["notes.txt", "src/program.ts", "part-00000.csv", "odd=true/notes.csv", "deep/part-00000-0a1b2c3d.csv"]) {
      const file = join(to, foreign);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, "mine");
      const before = readdirSync(to, { recursive: true });
      await expect(rows.writeCsv(to, { mode: "overwrite" })).rejects.toThrow(
        `it has files that no write of a dataset made: received ${file}`,
      );
      expect([readFileSync(file, "utf8"), readdirSync(to, { recursive: true })]).toEqual(["mine", before]);
      rmSync(file);
    }
    const filenameProvider = ({ index }: data.NamedFile): string => `mine ${index}`;
    writeFileSync(join(to, "old.csv"), "id\n1\n");
    await rows.repartition(1).writeCsv(to, { mode: "overwrite", filenameProvider });
    expect(readdirSync(to).filter((name) => name.includes("."))).toEqual(["mine 0.csv"]);
  });

  test("have as many rows at least as they are to have, but for the last one", async () => {
    const to = join(folder, "large");
    const small = rows.repartition(20);
    const { files } = await small.writeParquet(to, { minRowsPerFile: 30 });
    const counts = await Promise.all(files.map((file) => data.readParquet(file).count()));
    expect(counts.reduce((a, b) => a + b, 0)).toBe(100);
    expect(Math.min(...counts.slice(0, -1))).toBeGreaterThanOrEqual(30);
    expect((await data.readParquet<{ id: number }>(to).takeAll()).map(({ id }) => id)).toEqual(upTo(100));
    const all = await small.withSettings({ memoryBytes: 1 }).writeCsv(join(folder, "one"), { minRowsPerFile: 1000 });
    expect([all.files.length, all.rowCount]).toEqual([1, 100]);
    // A row has 8 bytes, and the last task takes the rest.
    const heavy = await small.writeParquet(join(folder, "heavy"), { minBytesPerFile: 240 });
    const heavyCounts = await Promise.all(heavy.files.map((file) => data.readParquet(file).count()));
    expect(heavyCounts.reduce((a, b) => a + b, 0)).toBe(100);
    expect(Math.min(...heavyCounts.slice(0, -1))).toBeGreaterThanOrEqual(30);
    const cut = await small.writeCsv(join(folder, "cut"), { minRowsPerFile: 20, maxRowsPerFile: 25 });
    const sizes = await Promise.all(cut.files.map((file) => data.readCsv(file).count()));
    expect(Math.max(...sizes)).toBeLessThanOrEqual(25);
    expect(() => rows.writeCsv(to, { minRowsPerFile: 5, maxRowsPerFile: 4 })).toThrow("received 5 and 4");
    expect(() => rows.writeCsv(to, { filenameProvider: "x" as never })).toThrow("filenameProvider");
  });

  test("are written by tasks of their own, so many at a time, where the options say so", async () => {
    const parts = rows.repartition(4);
    const { files, rowCount } = await parts.writeCsv(join(folder, "few"), { concurrency: 1, numCpus: 0.5 });
    expect([files.length, rowCount]).toEqual([4, 100]);
    expect((await parts.stats())?.operators.map(({ name, tasks }) => [name, tasks]).at(-1)).toEqual(["writeCsv", 4]);
    const sink = {
      async write(batches: AsyncIterable<data.Batch<{ id: number }>>) {
        const from = Date.now();
        for await (const _ of batches) await new Promise((resolve) => setTimeout(resolve, 20));
        return { from, to: Date.now() };
      },
    };
    const times = (await parts.writeDatasink(sink, { concurrency: 1 })).toSorted((a, b) => a.from - b.from);
    for (const [i, { from }] of times.slice(1).entries()) expect(from).toBeGreaterThanOrEqual(times[i]?.to ?? Infinity);
  });
});

test("files are read in a random order, in each run and in each epoch another one, and with a seed in its own", async () => {
  const to = join(folder, "many");
  await data.range(40).repartition(20).writeParquet(to);
  const ids = async (shuffle?: "files" | { seed: number }): Promise<number[]> =>
    (await data.readParquet<{ id: number }>(to, { shuffle }).takeAll()).map(({ id }) => id);
  const [first, second, seeded] = [await ids("files"), await ids("files"), await ids({ seed: 5 })];
  expect(first).not.toEqual(second);
  for (const order of [first, second, seeded]) {
    expect(order.toSorted((a, b) => a - b)).toEqual(upTo(40));
    expect(order).not.toEqual(upTo(40));
    // A file's rows stay together.
    for (let at = 0; at < 40; at += 2) expect(order[at + 1]).toBe((order[at] as number) + 1);
  }
  expect(await ids({ seed: 5 })).toEqual(seeded);
  const [part] = await data.readParquet<{ id: number }>(to, { shuffle: "files" }).streamingSplit(1);
  const epochs: number[][] = [[], []];
  for (const epoch of epochs) for await (const { id } of (part as data.DataIterator<{ id: number }>).iterRows()) epoch.push(id);
  expect(epochs[0]?.toSorted((a, b) => a - b)).toEqual(upTo(40));
  expect(epochs[0]).not.toEqual(epochs[1]);
  for (const wrong of ["rows", {}, { seed: 0.5 }, { seed: 1, more: 2 }, true])
    expect(() => data.readCsv(to, { shuffle: wrong as never })).toThrow("shuffle");
  expect(() => data.readCsv(to, { fileExtensions: ["."] })).toThrow("fileExtensions");
  expect(() => data.readCsv(to, { partitioning: "none", partitionFilter: () => true })).toThrow("no partitionFilter");
  expect(await data.readParquet(to, { fileExtensions: ["parquet"] }).count()).toBe(40);
});

test("stats() of a write count the rows and bytes in its files", async () => {
  const { rowCount, sizeBytes, files } = await rides.writeCsv(join(folder, "counted"), { maxRowsPerFile: 30 });
  const write = (await rides.stats())?.operators.at(-1);
  expect([write?.rows, write?.bytes, rowCount]).toEqual([100, sizeBytes, 100]);
  expect(files.length).toBeGreaterThan(3);
});

test("a write into a file is refused with the way to one file, and leaves the file", async () => {
  const file = join(folder, "one.csv");
  writeFileSync(file, "kept");
  await expect(rides.writeCsv(file)).rejects.toMatchObject({
    message: `Cannot write to ${file}: it is a file, and a write makes a folder, with a file a task`,
    hint: expect.stringContaining("toReadableStream"),
  });
  expect(readFileSync(file, "utf8")).toBe("kept");
});

test("mistakes in functions and expressions name the step, the file, the row and the remedy", async () => {
  const file = join(folder, "places.csv");
  writeFileSync(file, "id,km\n1,5\n2,x\n3,7\n");
  const read = data.readCsv<{ id: number; km: string }>(file);
  await expect(read.map(({ id, km }) => ({ v: id > 1 ? km : id })).takeAll()).rejects.toMatchObject({
    message: `Column "v" of map: row 2 of ${file} is string, and the rows before are float64`,
  });
  const cast = read.filter(data.col("id").gt(1)).withColumn("km", data.col("km").cast("float64"));
  await expect(cast.takeAll()).rejects.toMatchObject({
    message: expect.stringContaining(`cast(km, "float64"): row 2 of ${file} is "x", which float64 does not hold`),
    hint: expect.stringContaining('onError: "null"'),
  });
  await expect(
    read
      .withColumn("at", data.col("km").cast("date", { onError: "null" }))
      .filter(data.col("at").ge("2026-01-01"))
      .count(),
  ).rejects.toMatchObject({ hint: expect.stringContaining("new Date(") });
});

describe("without duplicates", () => {
  const versions = data.range(600_000).withColumn("key", data.col("id").mod(150_000));

  test("there is one row for each key, the first or the last, over all partitions", async () => {
    for (const [keep, first] of [
      ["first", 0],
      ["last", 450_000],
    ] as const) {
      const kept = versions.dropDuplicates("key", { keep });
      expect(
        await kept.aggregate({ rows: data.count(), least: data.min("id"), most: data.max("id"), keys: data.countDistinct("key") }),
      ).toEqual({
        rows: 150_000,
        least: first,
        most: first + 149_999,
        keys: 150_000,
      });
      expect(await kept.count()).toBe(150_000);
    }
    // Most rows of a block have the same few keys.
    const few = versions.withColumn("key", data.col("id").mod(3)).dropDuplicates(["key"], { keep: "last" });
    expect(await few.sort("key").takeAll()).toEqual([599_997, 599_998, 599_999].map((id) => ({ id, key: id % 3 })));
  });

  test("without columns rows are compared as a whole, whatever columns and types their blocks have, over all partitions", async () => {
    const twice = versions.selectColumns(["key"]).dropDuplicates();
    expect(await twice.count()).toBe(150_000);
    const [numbers, texts] = [
      data.range(200_000),
      data.range(200_000).map(({ id }) => ({ note: id % 2 === 0 ? null : "odd", id: BigInt(id) })),
    ];
    // The same rows: whole numbers as another type, columns in another order, and a column that is null or not there.
    const same = numbers.union(
      texts.withColumn("id", data.col("id").cast("float64")) as never,
      numbers.withColumn("id", data.col("id").cast("int64")),
    );
    const distinct = same.dropDuplicates();
    expect(await distinct.aggregate({ rows: data.count(), ids: data.countDistinct("id"), sum: data.sum("id") })).toEqual({
      rows: 300_000,
      ids: 200_000,
      sum: (199_999 * 200_000) / 2 + 100_000 ** 2,
    });
    expect(await distinct.count()).toBe(300_000);
    await expect(
      data
        .fromItems([{ a: 1, b: [1] }])
        .dropDuplicates()
        .takeAll(),
    ).rejects.toThrow('Cannot drop duplicates by "b"');
  });

  test("mistakes are named where they are made, or where the column is missing", async () => {
    expect(() => versions.dropDuplicates([])).toThrow("Cannot call dropDuplicates: it takes a column, or several: received none");
    expect(() => versions.dropDuplicates("key", { keep: "none" as "last" })).toThrow("keep");
    await expect(versions.dropDuplicates("other" as "key").takeAll()).rejects.toThrow(
      'Cannot drop duplicates by "other": there is no such column',
    );
    await expect(
      data
        .fromItems([{ a: [1] }])
        .dropDuplicates("a")
        .takeAll(),
    ).rejects.toThrow('Cannot drop duplicates by "a": it is of the type list');
  });
});
