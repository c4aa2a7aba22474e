/** Files of one dataset with different columns and types, in in-process mode: their dataset has one schema, in every operator and in all files of a write. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
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
import * as data from "shoal/data";
import { describe, expect, test } from "vitest";
import { useFolder, useSession } from "./session.ts";

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
