/** Formats that packages of Python read and write: they read files of Shoal, and write the recorded files again. */
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { NdArray } from "shoal";
import * as data from "shoal/data";
import { beforeAll, describe, expect, test } from "vitest";
import { useFolder, useSession } from "../integration/session.ts";
import { pythonOfFormats } from "./format-libraries.ts";

const READ = fileURLToPath(new URL("python/read_formats.py", import.meta.url));
const VECTORS = fileURLToPath(new URL("../vectors/data/formats/", import.meta.url));
const folder = useFolder();
useSession({ numCpus: 2, objectStoreMemoryBytes: 128 * 2 ** 20 });

let python = "";
beforeAll(() => {
  python = pythonOfFormats();
}, 300_000);

function readBy(format: string, files: readonly string[]): unknown {
  return JSON.parse(execFileSync(python, [READ, format, ...files], { encoding: "utf8", maxBuffer: 2 ** 28 }));
}

const ROWS = Array.from({ length: 1000 }, (_, i) => ({ id: i * 2 ** 40 - 5, name: `name ${i} é`, score: i / 8, tags: [i, i + 7] }));
const whole = data.col("id").cast("int64");

describe("TFRecord", () => {
  test("the package tfrecord reads the files of Shoal", async () => {
    const rows = data.fromItems(ROWS.map(({ tags, ...row }) => ({ ...row, tags: tags.map(BigInt) }))).withColumn("id", whole);
    const { files } = await rows.writeTfrecords(join(folder, "tfrecords"), { maxRowsPerFile: 400 });
    expect(files.length).toBeGreaterThan(2);
    const read = readBy("tfrecords", files) as Record<string, unknown>[];
    const bytes = (text: string) => ({ bytes: Buffer.from(text).toString("base64") });
    expect(read).toEqual(ROWS.map(({ id, name, score, tags }) => ({ id: [id], name: bytes(name), score: [score], tags })));
    expect(await data.readTfrecords(files, { schema: { name: "string" } }).takeAll()).toEqual(ROWS);
  });

  test("the recorded files have the rows of new ones", async () => {
    mkdirSync(join(folder, "now"));
    execFileSync(python, [join(VECTORS, "record.py"), join(folder, "now")]);
    const both = (name: string) => [join(folder, "now", name), join(VECTORS, name)] as const;
    const [examples, recorded] = await Promise.all(both("examples.tfrecord").map((path) => data.readTfrecords(path).takeAll()));
    expect(examples).toEqual(recorded);
    const [samples, old] = await Promise.all(both("samples.tar").map((path) => data.readWebdataset(path).takeAll()));
    expect(samples).toEqual(old);
    const avro = ["null", "deflate", "snappy", "zstandard"].map((codec) => both(`${codec}.avro`));
    const [now, before] = await Promise.all([0, 1].map((i) => data.readAvro(avro.map((paths) => paths[i] as string)).takeAll()));
    expect(now).toHaveLength(20);
    expect(now).toEqual(before);
  });
});

describe("WebDataset", () => {
  test("the package webdataset reads the files of Shoal, compressed too", async () => {
    const given = ROWS.slice(0, 50).map(({ name }, i) => ({
      __key__: `train/${String(i).padStart(6, "0")}`,
      txt: name,
      cls: i,
      json: { i, name },
      npy: new NdArray(Float32Array.of(i, 0.5), [2]),
    }));
    const { files } = await data.fromItems(given).writeWebdataset(join(folder, "shards"), { maxRowsPerFile: 20, compression: "gzip" });
    expect(files.length).toBeGreaterThan(2);
    expect(readBy("webdataset", files)).toEqual(given.map(({ npy, ...row }) => ({ ...row, npy: [...npy.data] })));
    expect(await data.readWebdataset(files).takeAll()).toEqual(given);
  });
});
