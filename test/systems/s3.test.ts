/**
 * Datasets in S3, on servers that others have written: written datasets are read again, in all formats and modes, with any keys, and
 * nothing is left behind.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { init, shutdown } from "shoal";
import * as data from "shoal/data";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildVector } from "../../src/data/blocks/vector-builder.ts";
import { writeFiles } from "../../src/data/engine/writes/write-transform.ts";
import { makeStagingFolder, removeStagingFolder } from "../../src/data/writing/staging-folder.ts";
import { FileWriter } from "../../src/storage/file-writer.ts";
import { UPLOAD_PART_BYTES } from "../../src/storage/limits.ts";
import { listFiles } from "../../src/storage/listing/list-files.ts";
import { openBytes, publishFile, removeFiles, removeFolder } from "../../src/storage/places.ts";
import { readWhole } from "../../src/storage/read-file.ts";
import { REPOSITORY } from "../house/source-files.ts";
import { failureOf, until } from "../integration/session.ts";
import { S3Server, type ServerName } from "./s3-servers.ts";

const rides = data.range(10_000).map(({ id }) => ({ id, city: id % 2 === 0 ? "Rome" : "Oslo", km: id / 10 }));

describe.each<ServerName>(["s3rver", "moto"])("%s", (name) => {
  let server: S3Server;
  let folders = 0;
  const newFolder = (): string => `s3://bucket/folder-${(folders += 1)}`;

  beforeAll(async () => {
    server = await S3Server.start(name, "bucket");
    await init({ numCpus: 2, logToDriver: false });
  });
  afterAll(async () => {
    await shutdown();
    await server[Symbol.asyncDispose]();
  });

  async function put(path: string, text: string): Promise<void> {
    await using writer = await FileWriter.open(path);
    await writer.write(Buffer.from(text));
    await writer.commit();
  }

  /** All keys below a path, hidden ones too. */
  async function keysOf(path: string): Promise<string[]> {
    const answer = await fetch(`${server.endpoint}/bucket?list-type=2&prefix=${path.slice("s3://bucket/".length)}/`);
    return Array.from((await answer.text()).matchAll(/<Key>([^<]*)<\/Key>/g), ([, key]) => key as string);
  }

  test("keys of all characters are written, listed, matched and read", async () => {
    const folder = newFolder();
    const names = ["a.csv", "b c+d.csv", "x=1/ü%25&'()*!~.csv", "a?b#c.csv", "x/y/z.csv.gz", "€/😀.csv"];
    for (const one of [...names, "_h/x.csv", ".x"]) await put(`${folder}/${one}`, `of ${one}`);
    const listed = await listFiles(folder);
    expect(listed.map(({ path }) => path.slice(folder.length + 1))).toEqual(
      names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
    );
    for (const { path } of listed) expect(Buffer.from(await readWhole(path)).toString()).toBe(`of ${path.slice(folder.length + 1)}`);
    expect((await listFiles(`${folder}/**/*.csv`)).length).toBe(5);
    expect((await listFiles(`${folder}/{x*,€}/*.csv`)).length).toBe(2);
    expect(await listFiles(`${folder}/.x`)).toHaveLength(1);
    await removeFiles(listed.map(({ path }) => path));
    expect(await listFiles(folder, { ignoreMissingPaths: true })).toEqual([]);
  });

  test("10,000 keys are listed and removed", async () => {
    const folder = newFolder();
    for (let i = 0; i < 10_000; i += 50)
      await Promise.all(
        Array.from({ length: 50 }, (_, j) =>
          fetch(`${server.endpoint}/bucket/${folder.slice(12)}/part-${i + j}`, { method: "PUT", body: "x" }),
        ),
      );
    const listed = await listFiles(folder);
    expect(new Set(listed.map(({ path }) => path)).size).toBe(10_000);
    expect(await listFiles(`${folder}/part-99?`)).toHaveLength(10);
    await removeFolder(folder);
    expect(await listFiles(folder, { ignoreMissingPaths: true })).toEqual([]);
    // s3rver walks through all its files for each page.
  }, 400_000);

  test("an object of more than two parts appears at its commit, and is read by ranges and copied", async () => {
    const folder = newFolder();
    const whole = Buffer.alloc(3 * UPLOAD_PART_BYTES + 12_345);
    for (let i = 0; i + 32 <= whole.length; i += 4096) createHash("sha256").update(`${i}`).digest().copy(whole, i);
    const writer = await FileWriter.open(`${folder}/large`);
    for (let at = 0; at < whole.length; at += 1_000_000) await writer.write(whole.subarray(at, at + 1_000_000));
    expect(await listFiles(`${folder}/large`, { ignoreMissingPaths: true })).toEqual([]);
    await writer.commit();
    await publishFile({ from: `${folder}/large`, to: `${folder}/copy`, sizeBytes: whole.length });
    expect(await listFiles(folder)).toEqual([
      { path: `${folder}/copy`, sizeBytes: whole.length },
      { path: `${folder}/large`, sizeBytes: whole.length },
    ]);
    expect(Buffer.compare(await readWhole(`${folder}/copy`), whole)).toBe(0);
    const part = await (await openBytes(`${folder}/large`)).read(7_000_000, 9_000_000);
    expect(Buffer.compare(Buffer.from(part), whole.subarray(7_000_000, 9_000_000))).toBe(0);

    const aborted = await FileWriter.open(`${folder}/aborted`);
    await aborted.write(whole);
    await aborted.abort();
    expect(await listFiles(`${folder}/aborted`, { ignoreMissingPaths: true })).toEqual([]);
  });

  test("what is not there is an error in words", async () => {
    await expect(readWhole("s3://bucket/none")).rejects.toThrow("Cannot read s3://bucket/none: there is no such object (NoSuchKey)");
    await expect(readWhole("s3://no-such-bucket/x")).rejects.toThrow("there is no such bucket (NoSuchBucket)");
    await expect(listFiles("s3://no-such-bucket/x/*.csv")).rejects.toThrow("there is no such bucket (NoSuchBucket)");
    await expect(listFiles("s3://bucket/none")).rejects.toThrow("No file matches s3://bucket/none");
  });

  test("CSV, JSON and Parquet are written and read, in order and in partitions", async () => {
    const folder = newFolder();
    const rows = await rides.takeAll();
    await rides.writeParquet(`${folder}/parquet`);
    await rides.writeCsv(`${folder}/csv`, { compression: "gzip" });
    await rides.writeJson(`${folder}/json`, { partitionBy: ["city"] });
    expect(await data.readParquet(`${folder}/parquet`).takeAll()).toEqual(rows);
    expect(await data.readCsv(`${folder}/csv`).takeAll()).toEqual(rows);
    const oslo = await data.readJson<(typeof rows)[number]>(`${folder}/json/city=Oslo`).sort("id").takeAll();
    expect(oslo).toEqual(rows.filter(({ city }) => city === "Oslo"));
    expect(await data.readParquet(`${folder}/parquet/*.parquet`, { columns: ["id"] }).count()).toBe(10_000);
    expect(await data.readBinaryFiles(`${folder}/csv/*.gz`).count()).toBeGreaterThan(0);
    expect((await keysOf(folder)).filter((key) => key.includes("/."))).toEqual([]);
  });

  test("all modes of writing, over the dataset's own source too", async () => {
    const folder = newFolder();
    const ids = async (): Promise<number[]> => (await data.readParquet<{ id: number }>(folder).takeAll()).map(({ id }) => id);
    const written = await rides.limit(5).writeParquet(folder);
    expect(await ids()).toEqual([0, 1, 2, 3, 4]);
    const own = data.readParquet<{ id: number }>(folder);
    await own.map(({ id }) => ({ id: id * 2 })).writeParquet(folder, { mode: "overwrite" });
    expect(await ids()).toEqual([0, 2, 4, 6, 8]);
    expect(await listFiles(written.files, { ignoreMissingPaths: true })).toEqual([]);
    await own.writeParquet(folder, { mode: "append" });
    expect((await ids()).toSorted((a, b) => a - b)).toEqual([0, 0, 2, 2, 4, 4, 6, 6, 8, 8]);
    expect(await own.writeParquet(folder, { mode: "ignore" })).toMatchObject({ files: [], rowCount: 0 });
    expect(String(await failureOf(own.writeParquet(folder, { mode: "error" })))).toContain(
      `Cannot write to ${folder}: it has 2 files already`,
    );
  });

  test("a write that fails leaves what was there, and nothing else", async () => {
    const folder = newFolder();
    await rides.limit(5).writeParquet(folder);
    const before = await keysOf(folder);
    const failing = rides.map((row) => {
      if (row.id === 9000) throw new Error("no");
      return row;
    });
    await failureOf(failing.writeParquet(folder, { mode: "overwrite" }));
    // A task that was writing removes its object when it has written it.
    const found = async (): Promise<string> => (await keysOf(folder)).join();
    await until(async () => (await found()) === before.join(), "the other tasks to leave nothing");
  });

  test("a task that ends after its write has failed leaves nothing", async () => {
    const folder = newFolder();
    const stagingFolder = `${folder}/.staging-1`;
    await makeStagingFolder(stagingFolder);
    const block = { rowCount: 1, names: ["id"], vectors: [buildVector([1])] };
    const blocks = async function* () {
      yield block;
      await removeStagingFolder(stagingFolder);
    };
    const format = { kind: "csv", header: true } as const;
    const write = { kind: "write", name: "writeCsv", stagingFolder, extension: ".csv", format, partitionBy: [] } as const;
    await expect(writeFiles(blocks(), write).next()).rejects.toThrow("writeCsv has ended meanwhile");
    expect(await keysOf(folder)).toEqual([]);
  });

  test("a driver that is killed while it writes leaves the old files, and hidden ones alone beside them", async () => {
    const folder = newFolder();
    await rides.limit(5).writeParquet(folder);
    const before = await listFiles(folder);
    const program = `
      import * as data from "shoal/data";
      const slow = data.range(40).repartition(40).map(async ({ id }) => {
        await new Promise((resolve) => setTimeout(resolve, 100));
        return { id };
      });
      await slow.writeParquet(${JSON.stringify(folder)}, { mode: "overwrite" });
    `;
    const driver = spawn(process.execPath, ["--input-type=module", "-e", program], { cwd: REPOSITORY, stdio: "ignore" });
    const ended = new Promise((resolve) => driver.once("exit", resolve));
    await until(async () => (await keysOf(folder)).some((key) => /\/\.staging-.*\.parquet$/.test(key)), "staged objects");
    driver.kill("SIGKILL");
    await ended;
    expect(await listFiles(folder)).toEqual(before);
    expect(await data.readParquet(folder).count()).toBe(5);
  });
});
