/** Shards that the package `webdataset` wrote, archives made by hand, and damaged ones. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { NdArray } from "../../../core/index.ts";
import { expect, test } from "vitest";
import type { DataError } from "../../errors.ts";
import { type Block, blockOfRows, rowsOf } from "../../blocks/block.ts";
import { tarEnd, tarHeader, tarPadding } from "./tar-writer.ts";
import { webdatasetBlocks, type WebdatasetOptions } from "./webdataset-reader.ts";
import { WebdatasetShard } from "./webdataset-writer.ts";

const FILE = readFileSync(fileURLToPath(new URL("../../../../test/vectors/data/formats/samples.tar", import.meta.url)));

async function rows(bytes: Uint8Array, options: WebdatasetOptions = {}): Promise<Record<string, unknown>[]> {
  const chunks = async function* (): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += 700) yield bytes.slice(at, at + 700);
  };
  const blocks: Block[] = [];
  for await (const block of webdatasetBlocks(chunks(), "a.tar", options)) blocks.push(block);
  return blocks.flatMap(rowsOf);
}

const failure = (bytes: Uint8Array, options?: WebdatasetOptions) =>
  rows(bytes, options).then(
    () => undefined,
    (error: DataError) => `${error.message}; ${error.hint}`,
  );

function archive(...files: readonly (readonly [name: string, text: string])[]): Buffer {
  const parts = files.flatMap(([name, text]) => [
    tarHeader(name, Buffer.byteLength(text)),
    Buffer.from(text),
    tarPadding(Buffer.byteLength(text)),
  ]);
  return Buffer.concat([...parts, tarEnd()]);
}

async function written(given: readonly Record<string, unknown>[]): Promise<Buffer> {
  const shard = new WebdatasetShard("shard");
  const parts: Uint8Array[] = [];
  for await (const part of shard.add(blockOfRows(given, "test"))) parts.push(part);
  return Buffer.concat([...parts, shard.end()]);
}

test("a shard of the package webdataset has its samples, and null where a file is missing", async () => {
  const expected = Array.from({ length: 4 }, (_, i) => ({
    __key__: `train/000${i}`,
    cls: i === 2 ? null : i,
    json: { a: i, b: [i] },
    npy: new NdArray(
      Float32Array.from({ length: 6 }, (_one, j) => j + i),
      [2, 3],
    ),
    "seg.bin": Uint8Array.of(i, 255),
    txt: `text ${i} é`,
  }));
  expect(await rows(FILE)).toEqual(expected);
  expect(await rows(FILE, { only: ["cls"] })).toEqual(expected.map(({ __key__, cls }) => ({ __key__, cls })));
  expect((await rows(FILE, { only: ["json"], expandJson: true }))[1]).toEqual({ __key__: "train/0001", a: 1, b: [1] });
  expect((await rows(FILE, { only: ["txt"], decode: false }))[0]).toEqual({
    __key__: "train/0000",
    txt: new Uint8Array(Buffer.from("text 0 é")),
  });
  const decoders = { "seg.bin": (bytes: Uint8Array, key: string) => `${key}: ${bytes.join(" ")}` };
  expect((await rows(FILE, { only: ["seg.bin"], decoders }))[3]).toEqual({ __key__: "train/0003", "seg.bin": "train/0003: 3 255" });
});

test("names have keys and columns, whatever their folders and length", async () => {
  const long = `${"folder/".repeat(30)}${"é".repeat(60)}`;
  const files = archive(["./a.b/x.seg.TXT", "1"], [`${long}.txt`, "2"], ["no-extension", "3"], ["__meta__/x.txt", "4"], [".hidden", "5"]);
  expect(await rows(files)).toEqual([
    { __key__: "a.b/x", "seg.txt": "1", txt: null },
    { __key__: long, "seg.txt": null, txt: "2" },
  ]);
});

test("what is written is read again", async () => {
  const given = [
    { __key__: "a/1", txt: "one", cls: 3, json: { x: [1, null] }, npy: new NdArray(Int16Array.of(1, 2), [2]), bin: Uint8Array.of(7) },
    { __key__: "a/2", txt: null, cls: 4, json: { x: [2, null] }, npy: new NdArray(Int16Array.of(3, 4), [2]), bin: new Uint8Array(0) },
  ];
  expect(await rows(await written(given))).toEqual(given);
  expect((await rows(await written([{ txt: "a" }, { txt: "b" }]))).map((row) => row.__key__)).toEqual(["shard-00000000", "shard-00000001"]);
});

test("keys and columns that name no file, or one outside of the folder, are refused", async () => {
  for (const key of ["../a", "/a", "a/../b", "a//b", "", "a.b", "a\\b", "a\0", "a/", "é".repeat(200)])
    await expect(written([{ __key__: key, txt: "x" }])).rejects.toThrow("writeWebdataset: row 0 has a __key__ that names no sample");
  await expect(written([{ __key__: 1, txt: "x" }])).rejects.toThrow("received 1");
  for (const column of ["../txt", "a/b", ".txt", "txt.", "TXT", "a..b"])
    await expect(written([{ [column]: "x" }])).rejects.toThrow("is no extension of a file");
  const twice = [
    { __key__: "a", txt: "1" },
    { __key__: "a", txt: "2" },
  ];
  await expect(written(twice)).rejects.toThrow("row 1 has the same __key__ as the row before");
  await expect(written([{ txt: { a: 1 } }])).rejects.toThrow("which has no form as .txt");
});

test("damage names the archive and the byte", async () => {
  const bad = Buffer.from(FILE);
  bad[0] = 0x41;
  expect(await failure(bad)).toContain("a.tar: byte 0 begins no file of a tar archive: the checksum of its header differs");
  expect(await failure(FILE.subarray(0, 512))).toContain(
    "Cannot read a.tar: it is cut off in the file at byte 0: the archive ends at byte 512",
  );
  expect(await failure(Buffer.concat([Buffer.of(0x1f, 0x8b), Buffer.alloc(600, 1)]))).toContain("give it a name that ends in .tar.gz");
  expect(await failure(archive(["a.cls", "x"]))).toContain(
    'a.tar: "a.cls" cannot be decoded as integer: "x" is no whole number; decode it otherwise',
  );
  expect(await failure(archive(["a.json", "{"]))).toContain('a.tar: "a.json" cannot be decoded as json');
  expect(await failure(archive(["a.txt", "1"], ["a.txt", "2"]))).toContain('"a.txt" gives the sample the column "txt" a second time');
  expect(await rows(new Uint8Array(0))).toEqual([]);
});
