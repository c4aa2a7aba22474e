/** Files that Spark has written (`test/vectors/data/spark`), with all that lies beside them in its folders. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as data from "shoal/data";
import { describe, expect, test } from "vitest";
import { useSession } from "./session.ts";
import { AT_TEXTS, CITIES, CSV_NAMES, csvRows, JSON_SCHEMA, jsonRows, OLD_DAYS, rowsOfForm } from "./spark-rows.ts";

const VECTORS = fileURLToPath(new URL("../vectors/data/spark", import.meta.url));
useSession({ numCpus: 2, objectStoreMemoryBytes: 64 * 2 ** 20 });

const vector = (name: string): string => join(VECTORS, name);

describe("Parquet of Spark", () => {
  test.each(["snappy", "lz4", "legacy", "v2-micros"])("in the form %s", async (form) => {
    const read = data.readParquet(vector(`parquet-${form}`));
    expect(await read.takeAll()).toEqual(rowsOfForm(form));
    const types = String(await read.schema());
    for (const line of [/^at +timestamp\[us, UTC\]$/m, /^wall +timestamp\[us\]$/m, /^tiny +int8$/m, /^digits +decimal<38, 10>$/m])
      expect(types).toMatch(line);
    const csv = await new Response(read.selectColumns(["at"]).toReadableStream({ format: "csv" })).text();
    expect(csv.trimEnd().split("\n")).toEqual(["at", ...AT_TEXTS, '""']);
    expect(await read.filter(data.col("at").gt(new Date("2027-01-01"))).count()).toBe(1);
  });

  test("lies among files that are not read", () => {
    const names = readdirSync(vector("parquet-snappy"));
    expect(names).toEqual(expect.arrayContaining(["_SUCCESS", "._SUCCESS.crc"]));
    expect(names.filter((name) => name.startsWith("part-00000-") && name.endsWith("-c000.snappy.parquet"))).toHaveLength(1);
  });

  test("without rows says its columns", async () => {
    const read = data.readParquet(vector("odd-no-rows"));
    expect(await read.takeAll()).toEqual([]);
    expect(String(await read.schema())).toBe("column  type\nid      int64\ncity    string\ntags    list<string>");
    await expect(read.selectColumns(["town"]).takeAll()).rejects.toThrow("town");
  });

  test("in folders of escaped values", async () => {
    const read = data.readParquet<{ id: number }>(vector("partitions"));
    const rows = CITIES.map((city, id) => ({ id, city, half: id % 2, day: "2026-01-31" }));
    expect(await read.sort("id").takeAll()).toEqual(rows);
    expect(await data.readParquet(vector("partitions"), { partitionFilter: ({ city }) => city === "a/b c" }).takeAll()).toEqual([rows[1]]);
  });

  test("of days before 1582, in both calendars", async () => {
    const days = async (name: string): Promise<unknown[]> =>
      (await data.readParquet<{ day: Date }>(vector(name)).takeAll()).map(({ day }) => day.toISOString().slice(0, 10));
    expect(await days("odd-old-corrected")).toEqual(OLD_DAYS.map(({ written }) => written));
    expect(await days("odd-old-legacy")).toEqual(OLD_DAYS.map(({ legacy }) => legacy));
  });
});

test("CSV of Spark, with and without a header", async () => {
  const header = ["id", ...CSV_NAMES];
  expect(await data.readCsv(vector("text-csv"), { header, escape: "\\" }).takeAll()).toEqual(csvRows());
  expect(await data.readCsv(vector("text-csv-header"), { escape: "\\" }).takeAll()).toEqual(csvRows());
  await expect(data.readCsv(vector("text-csv"), { header }).takeAll()).rejects.toMatchObject({ hint: expect.stringContaining("escape") });
});

test("JSON lines of Spark", async () => {
  const read = data.readJson(vector("text-json"), { schema: JSON_SCHEMA });
  expect(await read.takeAll()).toEqual(jsonRows());
});
