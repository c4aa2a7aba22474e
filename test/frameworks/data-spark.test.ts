/**
 * Files between Shoal and the real Spark: each reads the other's files, in all forms, with the same rows and types. Some minutes, most of
 * them Spark's.
 */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as data from "shoal/data";
import { beforeAll, describe, expect, test } from "vitest";
import { useFolder, useSession } from "../integration/session.ts";
import { CITIES, csvRows, CSV_NAMES, JSON_SCHEMA, jsonRows, OLD_DAYS, rowsOfForm } from "../integration/spark-rows.ts";
import { environment } from "./environments.ts";

const PROGRAM = fileURLToPath(new URL("../vectors/data/spark/spark_files.py", import.meta.url));
const built = environment("spark");
const title = "problem" in built ? `Spark (skipped: ${built.problem})` : "Spark";

const folder = useFolder();
useSession({ numCpus: 2, objectStoreMemoryBytes: 128 * 2 ** 20 });

function spark(...args: string[]): string {
  const { venv } = built as { venv: string };
  return execFileSync(join(venv, "bin", "python3"), [PROGRAM, ...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
    env: { ...process.env, JAVA_HOME: join(venv, "java-home"), PYTHONDONTWRITEBYTECODE: "1" },
  });
}

interface Found {
  readonly types: readonly (readonly [name: string, type: string])[];
  readonly rows: readonly unknown[];
  readonly error?: string;
}

interface Job {
  readonly form: "parquet" | "csv" | "json";
  readonly path: string;
  readonly columns?: readonly string[];
  readonly schema?: string;
  readonly options?: Readonly<Record<string, unknown>>;
}

/** The rows that Spark reads. */
function readBySpark(...jobs: readonly Job[]): Found[] {
  const lines = spark("read_all", JSON.stringify(jobs)).trim().split("\n");
  return lines.map((line) => JSON.parse(line) as Found);
}

const place = (name: string): string => join(folder, name);

describe.skipIf("problem" in built)(title, () => {
  beforeAll(() => {
    spark("write_everything", folder);
  });

  test.each([
    "snappy",
    "gzip",
    "zstd",
    "lz4",
    "lz4-raw",
    "uncompressed",
    "micros",
    "millis",
    "legacy",
    "v2",
    "v2-micros",
    "bloom",
    "summary",
  ])("writes Parquet in the form %s, which Shoal reads", async (form) => {
    const read = data.readParquet(place(`parquet/${form}`));
    expect(await read.takeAll()).toEqual(rowsOfForm(form));
    expect(String(await read.schema())).toMatch(/^at +timestamp\[us, UTC\]$|^at +timestamp\[ms, UTC\]$/m);
  });

  test("writes folders with files without rows, odd names and old days, which Shoal reads", async () => {
    expect(await data.readParquet(place("odd/no-rows")).takeAll()).toEqual([]);
    expect(await data.readParquet(place("odd/empty-parts")).takeAll()).toEqual([{ id: 0, city: "Rome", tags: ["a"] }]);
    expect(await data.readParquet(place("odd/names")).takeAll()).toEqual([{ id: 0, "a.b": 1, "a b": 2, "ä,;{}()=": 3, A: 4 }]);
    expect(await data.readParquet(place("odd/names"), { columns: ["a.b"] }).takeAll()).toEqual([{ "a.b": 1 }]);
    for (const [mode, days] of [
      ["corrected", OLD_DAYS.map(({ written }) => written)],
      ["legacy", OLD_DAYS.map(({ legacy }) => legacy)],
    ] as const)
      for (const form of [mode, `${mode}-micros`]) {
        const rows = await data.readParquet<{ day: Date; at: Date }>(place(`odd/old-${form}`)).takeAll();
        expect(rows.map(({ day }) => day.toISOString().slice(0, 10))).toEqual(days);
        expect(rows.map(({ at }) => at.toISOString())).toEqual(days.map((day) => `${day}T12:00:00.000Z`));
      }
    await expect(data.readParquet(place("odd/legacy-maps")).takeAll()).rejects.toThrow('column "maps" has lists of maps in the old form');
  });

  test("writes partitions, CSV, JSON lines and texts, which Shoal reads", async () => {
    const parted = CITIES.map((city, id) => ({ id, city, half: id % 2, day: "2026-01-31" }));
    expect(await data.readParquet(place("partitions")).sort("id").takeAll()).toEqual(parted);
    const header = ["id", ...CSV_NAMES];
    expect(await data.readCsv(place("text/csv"), { header, escape: "\\" }).takeAll()).toEqual(csvRows());
    expect(await data.readCsv(place("text/csv-header"), { escape: "\\" }).takeAll()).toEqual(csvRows());
    expect(await data.readCsv(place("text/csv-quotes"), { delimiter: ";" }).takeAll()).toEqual(csvRows());
    expect((await data.readCsv(place("text/csv-no-rows")).schema())?.names).toEqual(header);
    for (const compression of ["bzip2", "snappy", "lz4"])
      await expect(data.readCsv(place(`text/csv-${compression}`)).takeAll()).rejects.toMatchObject({
        hint: expect.stringContaining("gzip"),
      });
    expect(await data.readJson(place("text/json"), { schema: JSON_SCHEMA }).takeAll()).toEqual(jsonRows());
    const [first, , , last] = jsonRows() as [object, object, object, object];
    expect(await data.readJson(place("text/json-parts"), { schema: JSON_SCHEMA }).takeAll()).toEqual([last, first]);
    expect(await data.readText(place("text/text")).takeAll()).toEqual([{ text: "first" }, { text: "second" }]);
  });

  test("reads what Shoal writes: the same rows and types as of its own files", async () => {
    const plain = [
      "id",
      "tiny",
      "short",
      "whole",
      "wide",
      "single",
      "double",
      "flag",
      "text",
      "city",
      "bytes",
      "cents",
      "price",
      "digits",
      "day",
      "at",
      "wall",
    ];
    const columns = [...plain, "tags", "sure", "grid", "pairs", "place", "legs"];
    const own = place("parquet/snappy");
    const rows = data.readParquet<any>(own).selectColumns(columns);
    const codecs = ["snappy", "gzip", "zstd", "lz4", "none"] as const;
    for (const compression of codecs) await rows.writeParquet(place(`ours/${compression}`), { compression });
    const inCsv = plain.filter((name) => name !== "bytes" && name !== "wall");
    await rows.selectColumns(inCsv).writeCsv(place("ours/csv"), { compression: "gzip" });
    const inJson = ["id", "tiny", "wide", "flag", "text", "digits", "day", "at", "tags", "grid", "place", "legs"];
    await rows.selectColumns(inJson).writeJson(place("ours/json"), { compression: "gzip" });
    const cities = CITIES.filter((city) => city !== null);
    const days = data
      .fromItems([...cities, null].map((city, id) => ({ id, city, day: "2026-01-31" })))
      .withColumn("day", data.col("day").cast("date"));
    await days.writeParquet(place("ours/partitions"), { partitionBy: ["city", "day"] });

    const [wanted] = readBySpark({ form: "parquet", path: own, columns }) as [Found];
    const schemaOf = (names: readonly string[]): string =>
      names.map((name) => `\`${name}\` ${wanted.types.find(([known]) => known === name)?.[1]}`).join(", ");
    // Without a text for null Spark takes an empty text for it, too.
    const csv = { header: true, multiLine: true, escape: '"', nullValue: "\0", positiveInf: "inf", negativeInf: "-inf" };
    const found = readBySpark(
      ...codecs.map((codec): Job => ({ form: "parquet", path: place(`ours/${codec}`) })),
      { form: "csv", path: place("ours/csv"), schema: schemaOf(inCsv), options: csv },
      { form: "json", path: place("ours/json"), schema: schemaOf(inJson) },
      { form: "parquet", path: place("ours/partitions") },
    );
    for (const [i, codec] of codecs.entries()) expect([codec, found[i]]).toEqual([codec, wanted]);
    const only = (names: readonly string[]): Found => ({
      types: names.map((name) => wanted.types.find(([known]) => known === name) as [string, string]),
      rows: wanted.rows.map((row) => Object.fromEntries(names.map((name) => [name, (row as Record<string, unknown>)[name]]))),
    });
    expect(found[codecs.length]).toEqual(only(inCsv));
    expect(found[codecs.length + 1]).toEqual(only(inJson));
    expect(found[codecs.length + 2]).toEqual({
      types: [
        ["id", "double"],
        ["city", "string"],
        ["day", "date"],
      ],
      rows: [...cities, null].map((city, id) => ({ id, city, day: "2026-01-31" })),
    });
  });
});
