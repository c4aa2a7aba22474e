/** Files that Spark has written (`test/vectors/data/spark`), with all that lies beside them in its folders. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as data from "shoal/data";
import { describe, expect, test, vi } from "vitest";
import { useFolder, useSession } from "./session.ts";
import { AT_TEXTS, CITIES, CSV_NAMES, csvRows, JSON_SCHEMA, jsonRows, OLD_DAYS, rowsOfForm } from "./spark-rows.ts";

const VECTORS = fileURLToPath(new URL("../vectors/data/spark", import.meta.url));
const folder = useFolder();
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

test("folders of Delta Lake and Hudi are refused, and files that are named are read", async () => {
  for (const [log, format] of [
    ["_delta_log", "Delta Lake"],
    [".hoodie", "Hudi"],
  ] as const) {
    const table = join(folder, log.slice(1));
    const { files } = await data.range(3).writeParquet(table);
    mkdirSync(join(table, log));
    await expect(data.readParquet(`${table}/`).count()).rejects.toMatchObject({
      message: `Cannot call readParquet: ${table} is a table of ${format}, whose log ${log} tells which of its files have its rows`,
      hint: expect.stringContaining("paths of these files"),
    });
    expect(await data.readParquet(files).count()).toBe(3);
    expect(await data.readParquet(`${table}/*.parquet`).count()).toBe(3);
    // The folder of the table itself is looked at, and none above or below it.
    const part = join(table, "day=2026-01-31");
    await data.range(2).writeParquet(part);
    expect(await data.readParquet(part).count()).toBe(2);
    const above = join(folder, `above-${log.slice(1)}`);
    await data.range(4).writeParquet(join(above, "table"));
    mkdirSync(join(above, "table", log));
    expect(await data.readParquet(above).count()).toBe(4);
  }
});

test("files and globs of S3 cost no request for logs of tables, and a folder one for each log", async () => {
  const { files } = await data.range(3).repartition(1).writeParquet(join(folder, "bucket"));
  const bytes = readFileSync(files[0] as string);
  let lists: (string | null)[] = [];
  const server = createServer(({ method, url = "", headers }, response) => {
    const prefix = new URL(url, "http://localhost").searchParams.get("prefix");
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? "") ?? [];
    if (prefix === null && !url.startsWith("/bucket/t/part-0.parquet")) return response.writeHead(404).end();
    if (prefix === null) {
      const part = from === undefined ? bytes : bytes.subarray(Number(from), Number(to) + 1);
      const range = { "content-length": part.length, etag: '"v"', "content-range": `bytes ${from}-${to}/${bytes.length}` };
      return response.writeHead(from === undefined ? 200 : 206, range).end(method === "HEAD" ? undefined : part);
    }
    lists.push(prefix);
    const keys = ["t/part-0.parquet"].filter((key) => key.startsWith(prefix));
    const contents = keys.map((key) => `<Contents><Key>${key}</Key><Size>${bytes.length}</Size><ETag>"v"</ETag></Contents>`);
    return response.end(`<ListBucketResult><IsTruncated>false</IsTruncated>${contents.join("")}</ListBucketResult>`);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    vi.stubEnv("AWS_ENDPOINT_URL_S3", `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    vi.stubEnv("AWS_REGION", "eu-north-1");
    for (const [path, logs] of [
      ["t/part-0.parquet", 0],
      ["t/*.parquet", 0],
      ["t", 2],
      ["t/", 2],
    ] as const) {
      lists = [];
      expect(await data.readParquet(`s3://anonymous@bucket/${path}`).count()).toBe(3);
      expect(lists.filter((prefix) => prefix?.match(/_delta_log|\.hoodie/))).toHaveLength(logs);
    }
  } finally {
    vi.unstubAllEnvs();
    server.closeAllConnections();
    server.close();
  }
});

test("an encrypted column is refused where it is read, and counts and other columns are not", async () => {
  const read = data.readParquet(fileURLToPath(new URL("../vectors/data/encrypted-column.parquet", import.meta.url)), {
    partitioning: "none",
  });
  expect(await read.count()).toBe(2);
  expect(await read.selectColumns(["id"]).takeAll()).toEqual([{ id: 1 }, { id: 2 }]);
  await expect(read.takeAll()).rejects.toThrow('its column "secret" is encrypted');
});

test("INT96 of Spark and of other programs, as of a table of Hive, is united by a cast", async () => {
  const [name] = readdirSync(vector("parquet-snappy")).filter((file) => file.endsWith(".parquet"));
  const ofSpark = join(vector("parquet-snappy"), name as string);
  const table = join(folder, "hive");
  mkdirSync(table);
  writeFileSync(join(table, "000000_0"), readFileSync(ofSpark, "latin1").replaceAll("org.apache.spark.", "org.apache.hive0."), "latin1");
  writeFileSync(join(table, "part-0.parquet"), readFileSync(ofSpark));
  const at = (path: string) => data.readParquet<{ id: number; at: Date | null }>(path).selectColumns(["id", "at"]);
  await expect(at(table).repartition(1).takeAll()).rejects.toThrow(/timestamp\[ns\]/);
  const inMicroseconds = (path: string) => at(path).withColumns({ at: data.col("at").cast("timestamp[us]") });
  const [ofHive, spark] = [inMicroseconds(join(table, "000000_0")), inMicroseconds(ofSpark)];
  const rows = await ofHive.union(spark).repartition(1).takeAll();
  expect(rows).toEqual([...(await ofHive.takeAll()), ...(await spark.takeAll())]);
  expect(String(await ofHive.schema())).toBe(String(await spark.schema()));
});

test("a CSV file of a header alone fits to the files beside it", async () => {
  const parts = join(folder, "parts");
  mkdirSync(parts);
  writeFileSync(join(parts, "part-00000.csv"), "id,km,city\n");
  writeFileSync(join(parts, "part-00001.csv"), "id,km,city\n2,1.5,Rome\n1,,Oslo\n");
  const read = data.readCsv(parts);
  expect(String(await read.schema())).toBe("column  type\nid      int64\nkm      float64\ncity    string");
  expect(await read.sort("id").takeAll()).toEqual([
    { id: 1, km: null, city: "Oslo" },
    { id: 2, km: 1.5, city: "Rome" },
  ]);
});

test("text in a compression of Hadoop is an error with the remedy", async () => {
  for (const extension of ["bz2", "snappy", "lz4"]) {
    const file = join(folder, `part-00000.csv.${extension}`);
    writeFileSync(file, "packed");
    for (const read of [data.readCsv(file), data.readJson(file), data.readText(file)])
      await expect(read.takeAll()).rejects.toMatchObject({
        message: `Cannot decompress ${file}: files that end in .${extension} are not read here`,
        hint: expect.stringContaining("gzip"),
      });
    expect(Buffer.from((await data.readBinaryFiles(file).take(1))[0]?.bytes ?? []).toString()).toBe("packed");
  }
});

test("folders of partitions have the names that Spark gives them", async () => {
  const to = join(folder, "named");
  const at = new Date("2026-01-31T10:00:00.25Z");
  const rows = ["Rome", "é=ü", "a/b c", "100%", ".x", 'x:y*?"{}[]^#\\', "東京 😀", null].map((city, id) => ({ id, city, at }));
  const dated = data.fromItems(rows).withColumns({ day: data.col("at").cast("date"), at: data.col("at").cast("timestamp[us]") });
  await dated.writeParquet(to, { partitionBy: ["city", "day", "at"] });
  const names = [
    "Rome",
    "é%3Dü",
    "a%2Fb%20c",
    "100%25",
    "%2Ex",
    "x%3Ay*%3F%22%7B%7D%5B%5D%5E%23%5C",
    "東京%20😀",
    "__HIVE_DEFAULT_PARTITION__",
  ];
  expect(readdirSync(to).sort()).toEqual(names.map((name) => `city=${name}`).sort());
  expect(readdirSync(join(to, "city=Rome"))).toEqual(["day=2026-01-31"]);
  expect(readdirSync(join(to, "city=Rome", "day=2026-01-31"))).toEqual(["at=2026-01-31T10%3A00%3A00.250000Z"]);
  expect(await data.readParquet<{ id: number }>(to).sort("id").takeAll()).toEqual(
    rows.map(({ id, city }) => ({ id, city, day: "2026-01-31", at: "2026-01-31T10:00:00.250000Z" })),
  );
});
