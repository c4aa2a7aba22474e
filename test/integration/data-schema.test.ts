/** Files of one dataset with different columns and types, in in-process mode: their dataset has one schema, in every operator and in all files of a write. */
import { appendFileSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { gunzipSync } from "node:zlib";
import {
  type DataType,
  dateDay,
  dictionary,
  float32,
  int16,
  int32,
  int64,
  tableFromArrays,
  tableToIPC,
  timestamp,
  TimeUnit,
  uint16,
  uint32,
  utf8,
} from "@uwdata/flechette";
import { NdArray } from "shoal";
import * as data from "shoal/data";
import { describe, expect, test } from "vitest";
import { failureOf, useFolder, useSession } from "./session.ts";

const folder = useFolder();
useSession({ mode: "inProcess", numCpus: 2 });

let folders = 0;

interface Column {
  readonly type: DataType;
  readonly values: readonly unknown[];
}

/** A folder with a Parquet file for each table. */
async function filesOf(...tables: readonly Readonly<Record<string, Column>>[]): Promise<string> {
  const path = join(folder, `files-${(folders += 1)}`);
  for (const [i, columns] of tables.entries()) {
    const arrays = Object.fromEntries(Object.entries(columns).map(([name, { values }]) => [name, [...values]]));
    const types = Object.fromEntries(Object.entries(columns).map(([name, { type }]) => [name, type]));
    const table = tableToIPC(tableFromArrays(arrays, { types, useBigInt: true }), { format: "stream" }) as Uint8Array;
    await data
      .fromArrow(table)
      .repartition(1)
      .writeParquet(path, { filenameProvider: () => `${i}` });
  }
  return path;
}

const column = (type: DataType, ...values: readonly unknown[]): Column => ({ type, values });

describe("Parquet files with different columns", () => {
  const older = { id: column(int32(), 1, 2), km: column(float32(), 5.5, 6.5) };
  const newer = { id: column(int64(), 3n, 2n ** 60n), city: column(utf8(), "Rome", null) };
  const rows = [
    { id: 1n, km: 5.5, city: null },
    { id: 2n, km: 6.5, city: null },
    { id: 3n, km: null, city: "Rome" },
    { id: 2n ** 60n, km: null, city: null },
  ];
  const names = ["id", "km", "city"];

  test("are one dataset with the columns of all, and null where a file lacks one", async () => {
    const read = data.readParquet<any>(await filesOf(older, newer));
    expect(await read.columns()).toEqual(names);
    expect(String(await read.schema())).toBe("column  type\nid      int64 as bigint\nkm      float32\ncity    string");
    expect(await read.takeAll()).toEqual(rows);
    for (const one of await read.takeAll()) expect(Object.keys(one)).toEqual(names);
  });

  test("have all columns in every operator", async () => {
    const read = data.readParquet<any>(await filesOf(older, newer));
    const narrowed = rows.map(({ id, city }) => ({ city, id }));
    expect(await read.selectColumns(["city", "id"]).takeAll()).toEqual(narrowed);
    expect(await read.renameColumns({ city: "town" }).selectColumns(["town"]).takeAll()).toEqual(rows.map(({ city }) => ({ town: city })));
    expect(await read.filter(data.col("city").eq("Rome")).takeAll()).toEqual([rows[2]]);
    expect(await read.withColumn("far", data.col("km").gt(6)).takeAll()).toEqual(
      rows.map((one) => ({ ...one, far: one.km === null ? null : one.km > 6 })),
    );
    const counts = await read.groupBy("city").aggregate({ n: data.count() }).takeAll();
    expect(counts.toSorted((a: any, b: any) => a.n - b.n)).toEqual([
      { city: "Rome", n: 1 },
      { city: null, n: 3 },
    ]);
    expect(await read.map((one: any) => ({ names: Object.keys(one).join() })).takeAll()).toEqual(rows.map(() => ({ names: names.join() })));
    const path = await filesOf(newer, older);
    expect(await data.readParquet<any>(path, { columns: ["km"] }).takeAll()).toEqual([
      { km: null },
      { km: null },
      { km: 5.5 },
      { km: 6.5 },
    ]);
    await expect(data.readParquet<any>(path, { columns: ["miles"] }).takeAll()).rejects.toThrow('has no column "miles"');
    expect(await data.readParquet(path).count()).toBe(4);
  });

  test("are written as files of one schema", async () => {
    const to = join(folder, `written-${(folders += 1)}`);
    await data.readParquet<any>(await filesOf(older, newer)).writeParquet(to);
    const files = readdirSync(to);
    expect(files).toHaveLength(2);
    const schemas = await Promise.all(
      files.map(async (file) => String(await data.readParquet(join(to, file)).schema()).replace(" as bigint", "")),
    );
    expect(new Set(schemas).size).toBe(1);
    expect(await data.readParquet<any>(to).takeAll()).toEqual(rows);
  });

  test("whose types do not meet are an error that names the column and both files", async () => {
    const path = await filesOf({ id: column(int32(), 1) }, { id: column(utf8(), "a") });
    const message = `Column "id" is int32 in ${path}/0.parquet and string in ${path}/1.parquet`;
    await expect(data.readParquet(path).takeAll()).rejects.toThrow(message);
    await expect(data.readParquet(path).schema()).rejects.toThrow(message);
  });
});

test("schema gives columns of Parquet files one type, where theirs do not meet", async () => {
  const path = await filesOf({ id: column(int32(), 1, 2), n: column(int32(), 5, 10) }, { id: column(utf8(), "a"), n: column(int32(), 7) });
  const read = data.readParquet<any>(path, { schema: { id: "string", n: "float64" } });
  expect((await read.schema()).types).toEqual(["string", "float64"]);
  expect(await read.takeAll()).toEqual([
    { id: "1", n: 5 },
    { id: "2", n: 10 },
    { id: "a", n: 7 },
  ]);
  // As texts, 10 is before 5: statistics of numbers would leave it out.
  const texts = data.readParquet<any>(path, { columns: ["n"], schema: { n: "string" } });
  expect(await texts.filter(data.col("n").lt("5")).takeAll()).toEqual([{ n: "10" }]);
  await expect(data.readParquet(path, { schema: { miles: "int64" } }).takeAll()).rejects.toThrow('has no column "miles"');
  await expect(data.readParquet(path, { schema: { id: "int64" } }).takeAll()).rejects.toThrow('"a"');
});

describe("two types of one column", () => {
  const day = Date.UTC(2026, 0, 31);
  test.each<[string, Column, Column, string]>([
    ["whole numbers", column(int16(), -5), column(int32(), 2 ** 31 - 1), "int32"],
    ["signs", column(uint16(), 65_535), column(int16(), -1), "int32"],
    ["signs of 32 bits", column(uint32(), 2 ** 32 - 1), column(int32(), -1), "int64"],
    ["floating numbers", column(int32(), 7), column(float32(), 0.5), "float64"],
    ["units of time", column(timestamp(TimeUnit.SECOND), day), column(timestamp(TimeUnit.MICROSECOND), day + 1), "timestamp[us]"],
    ["words", column(utf8(), "a"), column(dictionary(utf8()), "b"), "string"],
  ])("%s meet in the one that holds both", async (_, one, other, type) => {
    const read = data.readParquet<any>(await filesOf({ v: one }, { v: other }));
    expect((await read.schema()).types).toEqual([type]);
    const values = (await read.takeAll()).map(({ v }: any) => (v instanceof Date ? v.getTime() : v));
    expect(values).toEqual([...one.values, ...other.values]);
  });

  test("of times are one group where they are one moment, and a day is its midnight", async () => {
    const moments = [day, day + 1000, day + 86_400_000];
    const units = [TimeUnit.SECOND, TimeUnit.MILLISECOND, TimeUnit.MICROSECOND, TimeUnit.NANOSECOND];
    const parts = units.map(
      (unit) => tableToIPC(tableFromArrays({ at: moments }, { types: { at: timestamp(unit) } }), { format: "stream" }) as Uint8Array,
    );
    const [first, ...others] = parts.map((part) => data.fromArrow<any>(part));
    const all = (first as data.Dataset<any>).union(...others);
    const counts = await all.groupBy("at", { numPartitions: 4 }).aggregate({ n: data.count() }).takeAll();
    expect(counts.map(({ n }: any) => n)).toEqual([4, 4, 4]);
    expect(await all.dropDuplicates().count()).toBe(3);
    const joined = (first as data.Dataset<any>).join(others[1] as data.Dataset<any>, { on: "at", partitions: 4 });
    expect(await joined.count()).toBe(3);
    const path = await filesOf({ at: column(timestamp(TimeUnit.SECOND), day) }, { at: column(dateDay(), day) });
    expect((await data.readParquet(path).schema()).types).toEqual(["timestamp[s]"]);
    expect((await data.readParquet<any>(path).takeAll()).map(({ at }) => at.getTime())).toEqual([day, day]);
    const days = data.readParquet(await filesOf({ at: column(dateDay(), day) }));
    expect(
      await days
        .union(first as data.Dataset<any>)
        .groupBy("at")
        .aggregate({ n: data.count() })
        .count(),
    ).toBe(3);
  });

  test("of times that the finer unit does not hold are an error", async () => {
    const path = await filesOf(
      { at: column(timestamp(TimeUnit.SECOND), Date.UTC(9999, 11, 31)) },
      { at: column(timestamp(TimeUnit.NANOSECOND), day) },
    );
    await expect(data.readParquet(path).takeAll()).rejects.toThrow("Cannot bring a time to timestamp[ns]: 64 bits do not hold it");
  });
});

test("a folder of Hive's null has the type of the other folders", async () => {
  const path = join(folder, "hive");
  const rows = data.fromItems([
    { id: 1, n: 5 },
    { id: 2, n: null },
  ]);
  await rows.writeParquet(path, { partitionBy: ["n"] });
  const read = data.readParquet<any>(path).sort("id");
  expect(await read.takeAll()).toEqual([
    { id: 1, n: 5 },
    { id: 2, n: null },
  ]);
  expect((await data.readParquet(path).schema()).types).toEqual(["float64", "int64"]);
});

/** A folder of text files. */
function textsOf(extension: string, ...texts: readonly string[]): string {
  const path = join(folder, `texts-${(folders += 1)}`);
  mkdirSync(path);
  for (const [i, text] of texts.entries()) writeFileSync(join(path, `${i}.${extension}`), text);
  return path;
}

/** Files of the same rows, of which each lacks a column and has another type of one. */
const UNEVEN: Readonly<Record<string, () => data.Dataset<any>>> = {
  CSV: () => data.readCsv(textsOf("csv", "id,km\n1,5\n2,6\n", "id,city\n3.5,Rome\n4,\n")),
  JSON: () => data.readJson(textsOf("jsonl", '{"id":1,"km":5}\n{"id":2,"km":6}\n', '{"id":3.5,"city":"Rome"}\n{"id":4,"city":null}\n')),
  "a union": () =>
    data
      .fromItems<any>([
        { id: 1, km: 5 },
        { id: 2, km: 6 },
      ])
      .union(
        data.fromItems<any>([
          { id: 3.5, city: "Rome" },
          { id: 4, city: null },
        ]),
      ),
  "a mix": () =>
    data
      .readCsv<any>(textsOf("csv", "id,km\n1,5\n2,6\n"))
      .mix(data.readJson<any>(textsOf("jsonl", '{"id":3.5,"city":"Rome"}\n{"id":4,"city":null}\n')))
      .sort("id"),
};

describe.each(Object.entries(UNEVEN))("%s with different columns", (_, read) => {
  const rows = [
    { id: 1, km: 5, city: null },
    { id: 2, km: 6, city: null },
    { id: 3.5, km: null, city: "Rome" },
    { id: 4, km: null, city: null },
  ];

  test("has the columns of all in the types that hold all values, in every operator", async () => {
    const all = read();
    expect(await all.takeAll()).toEqual(rows);
    for (const row of await all.takeAll()) expect(Object.keys(row)).toEqual(["id", "km", "city"]);
    expect((await all.schema()).names).toEqual(["id", "km", "city"]);
    expect((await all.schema()).types[0]).toBe("float64");
    expect(await all.selectColumns(["city", "km"]).takeAll()).toEqual(rows.map(({ city, km }) => ({ city, km })));
    expect(await all.renameColumns({ km: "far" }).filter(data.col("far").isNull()).count()).toBe(2);
    expect(await all.withColumn("town", data.col("city").fillNull("none")).takeAll()).toEqual(
      rows.map((row) => ({ ...row, town: row.city ?? "none" })),
    );
    expect(await all.groupBy("city").aggregate({ n: data.count() }).sort("n").takeAll()).toEqual([
      { city: "Rome", n: 1 },
      { city: null, n: 3 },
    ]);
    expect(await all.map((row) => ({ keys: Object.keys(row).join() })).takeAll()).toEqual(rows.map(() => ({ keys: "id,km,city" })));
  });

  test("is written as files of one schema", async () => {
    const [csv, parquet] = [1, 2].map(() => join(folder, `uneven-${(folders += 1)}`)) as [string, string];
    await read().repartition(2).writeParquet(parquet);
    await read().writeParquet(parquet, { mode: "append" });
    const schemas = readdirSync(parquet).map(async (file) => String(await data.readParquet(join(parquet, file)).schema()));
    expect(new Set(await Promise.all(schemas)).size).toBe(1);
    await read().writeCsv(csv);
    for (const file of readdirSync(csv)) expect(readFileSync(join(csv, file), "latin1")).toMatch(/^id,km,city\n/);
  });
});

describe("files of text whose beginnings were looked at", () => {
  test("name the column and both files where types do not meet", async () => {
    const csv = textsOf("csv", "id\n1\n", "id\nx\n");
    await expect(data.readCsv(csv).takeAll()).rejects.toThrow(`Column "id" is int64 in ${csv}/0.csv and string in ${csv}/1.csv`);
    const json = textsOf("jsonl", '{"id":1}\n', '{"id":"x"}\n');
    await expect(data.readJson(json).schema()).rejects.toThrow(`Column "id" is int64 in ${json}/0.jsonl and string in ${json}/1.jsonl`);
    expect(await data.readCsv(csv, { schema: { id: "string" } }).takeAll()).toEqual([{ id: "1" }, { id: "x" }]);
  });

  test("give the columns that are asked for, and null where a file lacks one", async () => {
    const path = textsOf("csv", "a,b\n1,2\n", "b,c\n3,4\n", "d\n5\n");
    expect(await data.readCsv(path, { columns: ["c", "a"] }).takeAll()).toEqual([
      { c: null, a: 1 },
      { c: 4, a: null },
      { c: null, a: null },
    ]);
    expect(await data.readCsv(path, { columns: ["c"], schema: { a: "string", c: "string" } }).takeAll()).toEqual([
      { c: null },
      { c: "4" },
      { c: null },
    ]);
    await expect(data.readCsv(path, { columns: ["e"] }).takeAll()).rejects.toThrow('there is no column "e"');
  });

  test("have further columns and wider types of JSON behind the beginning", async () => {
    const lines = Array.from({ length: 30_000 }, (_, n) => `{"n":${n},"text":"${"x".repeat(100)}"}\n`).join("");
    const path = textsOf("jsonl", `${lines}{"n":0.5,"late":true}\n`, '{"n":1,"text":null}\n');
    const last = (await data.readJson<any>(path).takeAll()).slice(-2);
    expect(last).toEqual([
      { n: 0.5, text: null, late: true },
      { n: 1, text: null, late: null },
    ]);
  });
});

describe("a dataset without rows keeps its columns", () => {
  const none = (): data.Dataset<any> => data.fromItems<any>([{ id: 1, city: "Rome" }]).filter(data.col("id").gt(1));

  test.each<[string, (rows: data.Dataset<any>) => data.Dataset<any>, readonly string[]]>([
    ["as they are", (rows) => rows, ["id", "city"]],
    ["in groups", (rows) => rows.groupBy("city").aggregate({ n: data.count(), most: data.max("id") }), ["city", "n", "most"]],
    ["sorted", (rows) => rows.sort("id"), ["id", "city"]],
    ["joined", (rows) => rows.join(data.fromItems([{ id: 1, far: 2 }]), { on: "id" }), ["id", "city", "far"]],
  ])("%s: in files, streams, schemas", async (_, change, names) => {
    const rows = change(none());
    expect((await rows.schema()).names).toEqual(names);
    expect(await new Response(rows.toReadableStream({ format: "csv" })).text()).toBe(`${names.join()}\n`);
    const arrow = new Uint8Array(await new Response(rows.toReadableStream({ format: "arrow" })).arrayBuffer());
    expect((await data.fromArrow(arrow).schema()).names).toEqual(names);
    const [csv, parquet] = [1, 2].map(() => join(folder, `none-${(folders += 1)}`)) as [string, string];
    expect(await rows.writeCsv(csv)).toMatchObject({ files: [expect.any(String)], rowCount: 0 });
    expect(readdirSync(csv).map((file) => readFileSync(join(csv, file), "latin1"))).toEqual([`${names.join()}\n`]);
    await rows.writeParquet(parquet);
    expect(readdirSync(parquet)).toHaveLength(1);
    expect((await data.readParquet(parquet).schema()).names).toEqual(names);
    expect(await data.readParquet(parquet).count()).toBe(0);
  });
});

describe("a function that gives other columns in other blocks", () => {
  /** Three blocks: whole numbers, fractions beside a text, and an instant that comes first. */
  const results = (): data.Dataset<any> =>
    data
      .range(6)
      .repartition(3)
      .map(({ id }): any => {
        if (id < 2) return { n: id, note: `a "note", ${id}` };
        return id < 4 ? { city: id === 2 ? null : "Rome, Italy\nEU", n: id + 0.5, at: new Date(id) } : { n: id };
      });
  const expected = [
    { n: 0, note: 'a "note", 0', city: null, at: null },
    { n: 1, note: 'a "note", 1', city: null, at: null },
    { n: 2.5, note: null, city: null, at: new Date(2) },
    { n: 3.5, note: null, city: "Rome, Italy\nEU", at: new Date(3) },
    { n: 4, note: null, city: null, at: null },
    { n: 5, note: null, city: null, at: null },
  ];
  const written = (): string => join(folder, `one-schema-${(folders += 1)}`);

  test("has the columns of all blocks in schema and columns, and one row decides where the user says so", async () => {
    expect(await results().columns()).toEqual(["n", "note", "city", "at"]);
    expect((await results().schema()).types).toEqual(["float64", "string", "string", "timestamp[ms]"]);
    expect(await results().limit(1).columns()).toEqual(["n", "note"]);
    const calls = join(folder, "calls of a schema");
    const counted = results().map((row) => {
      appendFileSync(calls, ".");
      return row;
    });
    expect(await counted.columns()).toEqual(["n", "note", "city", "at"]);
    expect((await counted.schema()).types[0]).toBe("float64");
    expect(readFileSync(calls, "utf8")).toBe("......");
    const kept = await results().materialize();
    const city = [null, null, null, "Rome, Italy\nEU", null, null];
    expect(await kept.selectColumns(["city"]).takeAll()).toEqual(city.map((one) => ({ city: one })));
    expect(await kept.filter(data.col("city").isNotNull()).takeAll()).toEqual([expected[3]]);
    expect(await kept.renameColumns({ city: "town" }).columns()).toEqual(["n", "note", "town", "at"]);
    const counts = await kept.groupBy("city").count().takeAll();
    expect(counts.toSorted((a, b) => a["count()"] - b["count()"])).toEqual([
      { city: city[3], "count()": 1 },
      { city: null, "count()": 5 },
    ]);
    const apart = await failureOf(results().selectColumns(["city"]).takeAll());
    expect(apart).toMatchObject({ hint: expect.stringContaining("materialize() before this step") });
    const rows = await results().takeAll();
    expect(rows).toEqual(expected);
    for (const row of rows) expect(Object.keys(row).toSorted()).toEqual(["at", "city", "n", "note"]);
    const source = data.readDatasource({
      name: "several",
      getReadTasks: () =>
        ["a", "b"].map((name) => ({
          read: async function* read(): AsyncGenerator<any> {
            yield { [name]: 1 };
          },
        })),
    });
    expect(await source.columns()).toEqual(["a", "b"]);
    const clash = data
      .range(4)
      .repartition(2)
      .map(({ id }): any => ({ v: id < 2 ? id : `${id}` }));
    await expect(clash.schema()).rejects.toThrow('Column "v" is float64 in some rows and string in others');
  });

  test("keeps every type when a file is made anew", async () => {
    const to = written();
    const tensor = new NdArray(new Float32Array([1, 2, 3, 4]), [2, 2]);
    const values = {
      big: 2n ** 62n,
      bytes: new Uint8Array([1, 2]),
      tensor,
      list: [[1], []],
      nested: { a: "x", b: [null, 2.5] },
      flag: true,
    };
    const mixed = data
      .range(2)
      .repartition(2)
      .map(({ id }): any => (id === 0 ? values : { extra: 1 }));
    await mixed.writeParquet(to);
    const rows = await data.readParquet<any>(to).takeAll();
    expect(rows[0]).toEqual({ ...values, extra: null });
    expect(rows[1]).toEqual({ ...Object.fromEntries(Object.keys(values).map((name) => [name, null])), extra: 1 });
    expect(rows[0]?.tensor.shape).toEqual([2, 2]);
  });

  test("is written as Parquet of one schema, and each value is kept", async () => {
    const to = written();
    const { files, sizeBytes, rowCount } = await results().writeParquet(to);
    expect(files).toHaveLength(3);
    expect(rowCount).toBe(6);
    expect(sizeBytes).toBe(files.reduce((sum, file) => sum + statSync(file).size, 0));
    const schemas = await Promise.all(files.map(async (file) => String(await data.readParquet(file).schema())));
    expect(new Set(schemas).size).toBe(1);
    expect(await data.readParquet<any>(to).takeAll()).toEqual(expected);
    expect(readdirSync(to).toSorted()).toEqual(files.map((file) => basename(file)).toSorted());
  });

  test.each([{}, { compression: "gzip" }] as const)("is written as CSV of one header with %j", async (options) => {
    const to = written();
    const { files, sizeBytes } = await results().writeCsv(to, options);
    const texts = files.map((file) => String(options.compression === "gzip" ? gunzipSync(readFileSync(file)) : readFileSync(file)));
    expect(texts).toEqual([
      'n,note,city,at\n0,"a ""note"", 0",,\n1,"a ""note"", 1",,\n',
      'n,note,city,at\n2.5,,,1970-01-01T00:00:00.002Z\n3.5,,"Rome, Italy\nEU",1970-01-01T00:00:00.003Z\n',
      "n,note,city,at\n4,,,\n5,,,\n",
    ]);
    expect(sizeBytes).toBe(files.reduce((sum, file) => sum + statSync(file).size, 0));
  });

  test("is written as JSON lines with all keys", async () => {
    const to = written();
    const { files } = await results().writeJson(to);
    const lines = files.flatMap((file) => readFileSync(file, "utf8").trimEnd().split("\n"));
    for (const line of lines) expect(Object.keys(JSON.parse(line)).toSorted()).toEqual(["at", "city", "n", "note"]);
    expect(await data.readJson<any>(to).takeAll()).toMatchObject(expected.map(({ n, note }) => ({ n, note })));
  });

  test("keeps the folders of partitions, and replaces the files that are overwritten", async () => {
    const to = written();
    for (const mode of ["append", "overwrite"] as const)
      await results()
        .map((row: any) => ({ ...row, part: row.n < 2 ? "low" : "high" }))
        .writeParquet(to, { partitionBy: ["part"], mode });
    const files = readdirSync(to, { recursive: true })
      .map(String)
      .filter((file) => file.endsWith(".parquet"));
    expect(files).toHaveLength(3);
    expect(new Set(await Promise.all(files.map(async (file) => String(await data.readParquet(join(to, file)).schema())))).size).toBe(1);
    const rows = await data.readParquet<any>(to).sort("n").takeAll();
    expect(rows).toEqual(expected.map((row) => ({ ...row, part: row.n < 2 ? "low" : "high" })));
  });

  test("writes late columns of one task, too", async () => {
    const to = written();
    const batches = data
      .range(3)
      .repartition(1)
      .mapBatches(function* (): Generator<any> {
        yield { a: [1] };
        yield { a: [null, 2], b: ["x", "y"] };
      });
    await batches.writeCsv(to);
    const texts = readdirSync(to)
      .toSorted()
      .map((file) => readFileSync(join(to, file), "utf8"));
    expect(texts).toEqual(["a,b\n1,\n", "a,b\n,x\n2,y\n"]);
  });

  test("is an error where types do not meet, in each format", async () => {
    const clash = data
      .range(4)
      .repartition(2)
      .map(({ id }): any => ({ v: id < 2 ? id : `${id}` }));
    for (const write of ["writeParquet", "writeCsv", "writeJson"] as const)
      await expect(clash[write](written())).rejects.toThrow(
        /Column "v" is (u?int\d+|float64) in .*part-00000.* and string in .*part-00001/,
      );
  });
});
