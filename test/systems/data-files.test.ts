/**
 * Files between Shoal and DuckDB, Polars and pyarrow: each side reads the other's files, with the same values to the last digit. The
 * versions are pinned, and installed below `.test-cache/` by the first run.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { NdArray } from "shoal";
import * as data from "shoal/data";
import { beforeAll, describe, expect, test } from "vitest";
import { useFolder, useSession } from "../integration/session.ts";
import { pythonOfTables } from "./table-libraries.ts";

const PROGRAM = fileURLToPath(new URL("python/exchange_files.py", import.meta.url));
const folder = useFolder();
useSession({ numCpus: 2, objectStoreMemoryBytes: 256 * 2 ** 20 });

/** Columns by their names, as a program has read a file. */
type Columns = Readonly<Record<string, readonly unknown[]>>;

function python(name: string, ...args: string[]): string {
  return execFileSync(pythonOfTables(), [PROGRAM, name, ...args], { encoding: "utf8", maxBuffer: 2 ** 30 });
}

/** The columns that each program has read. Whole numbers are bigints, with all their digits. */
function readBy(name: string, path: string): Readonly<Record<string, Columns>> {
  const exact = (_: string, value: unknown, { source }: { source: string }): unknown =>
    typeof value === "number" && /^-?\d+$/.test(source) ? BigInt(source) : value;
  return JSON.parse(python(name, path), exact as (key: string, value: unknown) => unknown) as Record<string, Columns>;
}

function newFolder(name: string): string {
  const path = join(folder, name);
  mkdirSync(path, { recursive: true });
  return path;
}

/** A value: as the field of a CSV file, and as `exchange_files.py` shows it. */
type Sample = readonly [field: string, shown: unknown];

const NOTHING: Sample = ["", null];
const integers = (...values: readonly bigint[]): Sample[] => values.map((value) => [String(value), value]);
const floats = (...values: readonly number[]): Sample[] => values.map((value) => [Object.is(value, -0) ? "-0.0" : String(value), value]);
const texts = (...values: readonly string[]): Sample[] => values.map((value) => [`"${value.replaceAll('"', '""')}"`, value]);
const decimals = (...values: readonly string[]): Sample[] => values.map((value) => [value, { decimal: value }]);
const days = (...values: readonly string[]): Sample[] => values.map((value) => [value, { day: value }]);
const moments = (...values: readonly string[]): Sample[] => values.map((value) => [value, { at: nanosecondsOf(value) }]);

/** Nanoseconds since 1970 of a text such as `2026-01-31T10:00:00.123456Z`. */
function nanosecondsOf(text: string): bigint {
  const [seconds, digits = ""] = text.replace("Z", "").split(".");
  return BigInt(Date.parse(`${seconds}Z`)) * 1_000_000n + BigInt(digits.padEnd(9, "0"));
}

const TEXTS = texts(
  "",
  "plain",
  'say "hi"',
  "a,b;c",
  "two\nlines\r\nthree",
  "Zürich 東京 😀",
  " spaces ",
  "NULL",
  "\\N",
  "nan",
  "#hash",
  "'",
);

/** Columns of values of which each has its type's limits: the type's name, and values. Every column has nulls beside them. */
const PLAIN: Readonly<Record<string, readonly [type: string, values: readonly Sample[]]>> = {
  wide: ["int64 as bigint", integers(2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n + 1n, 0n)],
  small: ["int8", integers(-128n, 127n)],
  middle: ["int16", integers(-32_768n, 32_767n)],
  unsigned: ["uint64 as bigint", integers(2n ** 64n - 1n, 1n)],
  finite: ["float64", floats(0.1, -0, 5e-324, Number.MAX_VALUE, 123_456_789.125, 1e21)],
  infinite: [
    "float64",
    [
      ["1.5", 1.5],
      ["NaN", { float: "nan" }],
      ["inf", { float: "inf" }],
      ["-inf", { float: "-inf" }],
    ],
  ],
  single: ["float32", floats(1.5, Math.fround(0.1), Math.fround(3.4028234663852886e38))],
  flag: [
    "bool",
    [
      ["true", true],
      ["false", false],
    ],
  ],
  text: ["string", TEXTS],
  city: ["string", texts("Rome", "Oslo")],
  day: ["date", days("0001-01-01", "1969-12-31", "2024-02-29", "9999-12-31")],
  ms: ["timestamp[ms]", moments("0001-01-01T00:00:00.001Z", "1969-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z")],
  us: ["timestamp[us]", moments("1900-01-01T00:00:00.000001Z", "1969-12-31T23:59:59.999999Z", "2026-01-31T10:00:00.123456Z")],
  ns: ["timestamp[ns]", moments("1700-01-01T00:00:00.000000001Z", "2026-01-31T10:00:00.123456789Z")],
  price: ["decimal<20, 4>", decimals("1234567890123456.7891", "-0.0001", "0.0000")],
  digits: ["decimal<38, 10>", decimals("1234567890123456789012345678.0123456789", "-1.0000000000")],
  opens: [
    "time64[us]",
    [
      ["23:59:59.999999", { time: 86_399_999_999_000n }],
      ["00:00:00", { time: 0n }],
    ],
  ],
  took: [
    "duration[us]",
    [
      ["-5", { duration: -5000n }],
      ["4611686018427387", { duration: 4_611_686_018_427_387_000n }],
    ],
  ],
};

/** Columns of values that CSV has not: what JavaScript has, and how it is shown. */
const NESTED: Readonly<Record<string, readonly (readonly [value: unknown, shown: unknown])[]>> = {
  bytes: [
    [Uint8Array.of(0, 255, 10), { hex: "00ff0a" }],
    [new Uint8Array(0), { hex: "" }],
    [null, null],
  ],
  ids: [
    [
      [1n, null, 2n ** 60n],
      [1n, null, 2n ** 60n],
    ],
    [[], []],
    [null, null],
  ],
  tags: [
    [
      ["a", "", null],
      ["a", "", null],
    ],
    [[], []],
    [null, null],
    [["é\n"], ["é\n"]],
  ],
  place: [
    [
      { city: "Rome", at: { x: 0.5, y: null } },
      { city: "Rome", at: { x: 0.5, y: null } },
    ],
    [
      { city: null, at: null },
      { city: null, at: null },
    ],
    [
      { city: "", at: { x: -1.5, y: true } },
      { city: "", at: { x: -1.5, y: true } },
    ],
    [null, null],
  ],
  legs: [
    [
      [
        { km: 1.5, to: "Bern" },
        { km: null, to: null },
      ],
      [
        { km: 1.5, to: "Bern" },
        { km: null, to: null },
      ],
    ],
    [[], []],
    [null, null],
  ],
  deep: [
    [{ lists: [[1n, 2n ** 60n], [], null] }, { lists: [[1n, 2n ** 60n], [], null] }],
    [{ lists: null }, { lists: null }],
  ],
  vector: [
    [Float32Array.of(1.5, 2), [1.5, 2]],
    [Float32Array.of(), []],
    [null, null],
  ],
  nothing: [[null, null]],
  tensor: [
    [new NdArray(Float64Array.of(1, 2, 3, 4.5), [2, 2]), [1, 2, 3, 4.5]],
    [null, null],
  ],
};

/** Enough rows for both encodings of Parquet: dictionaries for columns of few values, plain for many. */
const ROWS = 1500;
const IDS = Array.from({ length: ROWS }, (_, row) => row);

/** The value of a row: all of them come, and beside ever other ones of other columns. */
function pick<T>(values: readonly T[], row: number): T {
  return values[(row + Math.floor(row / values.length)) % values.length] as T;
}

const shown: Record<string, readonly unknown[]> = { row: IDS.map(BigInt) };
for (const [name, [, values]] of Object.entries(PLAIN)) shown[name] = IDS.map((row) => pick([...values, NOTHING], row)[1]);
for (const [name, values] of Object.entries(NESTED)) shown[name] = IDS.map((row) => pick(values, row)[1]);

function shownOf(names: readonly string[]): Columns {
  return Object.fromEntries(names.map((name) => [name, shown[name] as readonly unknown[]]));
}

/** The dataset of all columns. */
let everything: data.Dataset<any>;
/** Rows of the file, as Shoal reads them. */
let rows: Record<string, unknown>[];

beforeAll(async () => {
  pythonOfTables();
  const names = Object.keys(PLAIN);
  const lines = IDS.map((row) => [row, ...names.map((name) => pick([...(PLAIN[name] as (typeof PLAIN)[string])[1], NOTHING], row)[0])]);
  const file = join(newFolder("source"), "plain.csv");
  writeFileSync(file, [["row", ...names], ...lines].map((line) => `${line.join(",")}\n`).join(""));
  const schema = { row: "int32", ...Object.fromEntries(names.map((name) => [name, (PLAIN[name] as (typeof PLAIN)[string])[0]])) };
  const nested = IDS.map((row) => Object.fromEntries(Object.entries(NESTED).map(([name, values]) => [name, pick(values, row)[0]])));
  everything = await data.readCsv(file, { schema }).zip(data.fromItems(nested)).repartition(1).materialize();
  rows = (await everything.takeAll()) as typeof rows;
}, 300_000);

/** Compares columns one by one: of thousands of values a difference is to be seen. */
function expectColumns(found: Readonly<Record<string, Columns>>, expected: (reader: string) => Columns): void {
  for (const [reader, columns] of Object.entries(found)) {
    const wanted = expected(reader);
    expect([reader, ...Object.keys(columns)]).toEqual([reader, ...Object.keys(wanted)]);
    for (const [name, values] of Object.entries(columns)) expect([reader, name, values]).toEqual([reader, name, wanted[name]]);
  }
}

describe("DuckDB, Polars and pyarrow read", () => {
  test("Parquet of all types and codecs", async () => {
    const path = newFolder("parquet");
    const codecs = ["snappy", "zstd", "gzip", "brotli", "lz4", "none"] as const;
    for (const compression of codecs) await everything.writeParquet(join(path, compression), { compression });
    const found = readBy("read_parquet", path);
    expect(Object.keys(found).length).toBe(3 * codecs.length);
    // Parquet has no durations: Polars and pyarrow know of them from the schema of Arrow that stands beside.
    const counts = (shown["took"] as ({ duration: bigint } | null)[]).map((one) => (one === null ? null : one.duration / 1000n));
    expectColumns(found, (reader) => (reader.startsWith("duckdb") ? { ...shown, took: counts } : shown));
  });

  test("Parquet without a value in any column", async () => {
    const path = newFolder("nulls");
    await data
      .fromItems([
        { a: null, b: null },
        { a: null, b: null },
      ])
      .writeParquet(join(path, "snappy"));
    const found = readBy("read_parquet", path);
    expect(Object.keys(found).length).toBe(3);
    expectColumns(found, () => ({ a: [null, null], b: [null, null] }));
  });

  test("partitions, whose folders are named after texts of any characters", async () => {
    const cities = ["Rome", "a/b c", "é=ü", "100%", "..", null];
    const parted = data.fromItems(IDS.map((row) => ({ row: BigInt(row), city: cities[row % 6] ?? null, size: row % 2 })));
    const path = newFolder("partitions");
    await parted.writeParquet(path, { partitionBy: ["city", "size"] });
    const expected = { row: IDS.map(BigInt), city: IDS.map((row) => cities[row % 6]), size: IDS.map((row) => BigInt(row % 2)) };
    expectColumns(readBy("read_partitions", path), () => expected);
  });

  test("CSV", async () => {
    const names = ["row", "wide", "finite", "infinite", "flag", "text", "city", "day", "us", "price"];
    const path = newFolder("csv");
    await everything.selectColumns(names).writeCsv(path);
    // Without a type that is asked for, decimals are the nearest floats.
    const prices = (shown["price"] as ({ decimal: string } | null)[]).map((one) => (one === null ? null : Number(one.decimal)));
    expectColumns(readBy("read_csv", path), () => ({ ...shownOf(names), price: prices }));
  });

  test("JSON lines, compressed", async () => {
    const names = ["row", "wide", "finite", "flag", "text", "ids", "tags", "place", "legs", "deep", "vector"];
    const path = newFolder("json");
    await everything.selectColumns(names).writeJson(path, { compression: "gzip" });
    expectColumns(readBy("read_json", path), () => shownOf(names));
  });
});

/** The value with arrays instead of typed arrays and tensors, which are told apart by the schema of Arrow alone. */
function withArrays(value: unknown): unknown {
  if (value instanceof NdArray) return Array.from(value.data as Float64Array);
  return value instanceof Float32Array ? Array.from(value) : value;
}

function expectRows(name: string, found: readonly object[], expected: readonly object[]): void {
  expect([name, found.length]).toEqual([name, expected.length]);
  for (const [row, wanted] of expected.entries()) expect([name, found[row]]).toEqual([name, wanted]);
}

describe("Shoal reads", () => {
  let ours = "";
  beforeAll(async () => {
    ours = newFolder("ours");
    await everything.writeParquet(ours);
  });

  test("Parquet of all types and codecs that DuckDB and Polars write", async () => {
    const path = newFolder("parquet-of-others");
    python("write_parquet", ours, path);
    const plainRows = rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, withArrays(value)])));
    const exact = async (dataset: data.Dataset<any>): Promise<string> =>
      new Response(dataset.selectColumns(["us", "ns", "price", "digits"]).toReadableStream({ format: "csv" })).text();
    const expected = {
      duckdb: plainRows.map((row) => ({ ...row, took: row["took"] === null ? null : Number(row["took"]) })),
      // Polars writes times of day in nanoseconds.
      polars: plainRows.map((row) => ({ ...row, opens: row["opens"] === null ? null : (row["opens"] as bigint) * 1000n })),
    };
    const files = readdirSync(path);
    expect(files.length).toBe(13);
    for (const file of files) {
      const read = data.readParquet(join(path, file));
      const found = await read.takeAll();
      const flat = found.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, withArrays(value)])));
      expectRows(file, flat, expected[file.startsWith("duckdb") ? "duckdb" : "polars"]);
      expect(await exact(read)).toBe(await exact(everything));
    }
  });

  test("Parquet in each encoding that can be asked for by name", async () => {
    const path = newFolder("encodings");
    const encodings = JSON.parse(python("write_encodings", path, "3000")) as string[];
    const named = ["BYTE_STREAM_SPLIT", "DELTA_BINARY_PACKED", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", "PLAIN", "RLE"];
    expect(encodings).toEqual(expect.arrayContaining(named));
    const expected = Array.from({ length: 3000 }, (_, i) => ({
      i,
      small: i % 97,
      double: i % 7 === 0 ? null : i / 7,
      single: i / 4,
      text: i % 5 === 0 ? null : `text ${i}`,
      flag: i % 3 === 0,
    }));
    const files = readdirSync(path);
    expect(files).toHaveLength(4);
    for (const file of files) {
      const read = data.readParquet<{ i: number }>(join(path, file));
      expectRows(file, await read.takeAll(), expected);
      // Rows of the third row group alone.
      expect(await read.filter(data.col("i").ge(2500)).count()).toBe(500);
    }
  });

  test("partitions that they write", async () => {
    const cities = ["Rome", "a/b c", "é=ü", "100%", null];
    const parted = data.fromItems(IDS.map((row) => ({ row, city: cities[row % 5] ?? null, size: row % 2 })));
    const [source, target] = [newFolder("partitions-of-ours"), newFolder("partitions-of-others")];
    await parted.writeParquet(source, { partitionBy: ["city", "size"] });
    python("write_partitions", source, target);
    for (const library of ["duckdb", "polars", "pyarrow"]) {
      const read = data.readParquet<{ row: number; city: string; size: number }>(join(target, library));
      expectRows(library, await read.sort("row").takeAll(), await parted.takeAll());
    }
  });

  test("CSV and JSON as they write them", async () => {
    const csv = ["row", "wide", "finite", "infinite", "flag", "text", "city", "day", "us"];
    const json = ["row", "wide", "finite", "flag", "text", "ids", "tags", "place", "legs", "deep"];
    const path = newFolder("text-of-others");
    python("write_text", ours, path, csv.join(","), json.join(","));
    const rowsOf = (names: readonly string[]): object[] => rows.map((row) => Object.fromEntries(names.map((name) => [name, row[name]])));
    for (const library of ["duckdb", "polars", "pyarrow"])
      expectRows(`${library}.csv`, await data.readCsv(join(path, `${library}.csv`)).takeAll(), rowsOf(csv));
    for (const library of ["duckdb", "polars"])
      for (const extension of ["jsonl", "json"])
        expectRows(`${library}.${extension}`, await data.readJson(join(path, `${library}.${extension}`)).takeAll(), rowsOf(json));
  });

  test("Parquet in the forms of Spark", async () => {
    const path = newFolder("spark");
    const names = ["row", "wide", "text", "ns", "day", "price", "digits", "ids", "place", "legs"];
    const source = newFolder("for-spark");
    await everything.selectColumns(names).writeParquet(source);
    python("write_as_spark", source, path);
    const read = data.readParquet(path);
    expectRows("spark", await read.takeAll(), await everything.selectColumns(names).takeAll());
    expect(String(await read.schema())).toMatch(/^ns +timestamp\[ns\]/m);
  });
});
