/** The files that a column names, fetched from a folder: order, nulls, what cannot be read, and more bytes than a block has. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, expect, test } from "vitest";
import { type Block, blockOfRows, concatBlocks, rowsOf } from "../../blocks/block.ts";
import { noteFile } from "../../blocks/memory/origin.ts";
import { col, type Download } from "../../expressions/expression.ts";
import { columnTransform, selectTransform } from "../../expressions/column-transforms.ts";
import { READ_BLOCK_BYTES } from "../../limits.ts";
import { given } from "./task.ts";
import { runChain } from "./transform.ts";

const folder = mkdtempSync(join(tmpdir(), "test-shoal-download "));
afterAll(() => rmSync(folder, { recursive: true }));

const fileOf = (name: string, bytes: Uint8Array | string): string => {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  return path;
};

async function downloaded(rows: readonly object[], download: Download = col("path").download()): Promise<Block[]> {
  const block = blockOfRows(rows, "the test");
  noteFile(block, "links.csv", 0);
  const made: Block[] = [];
  for await (const one of runChain(given([block]), [columnTransform("bytes", download)])) made.push(one);
  return made;
}

const textsOf = (blocks: readonly Block[]): unknown[] =>
  rowsOf(concatBlocks(blocks)).map(({ bytes }) => (bytes === null ? null : Buffer.from(bytes as Uint8Array).toString()));

test("come in the order of the rows, decompressed, with the other columns", async () => {
  const paths = Array.from({ length: 50 }, (_, i) => (i === 7 ? fileOf("7.gz", gzipSync("seven")) : fileOf(`${i}`, `of ${i}`)));
  const blocks = await downloaded(paths.map((path, id) => ({ id, path: id % 10 === 3 ? null : path })));
  expect(textsOf(blocks)).toEqual(paths.map((_, i) => (i % 10 === 3 ? null : i === 7 ? "seven" : `of ${i}`)));
  expect(rowsOf(concatBlocks(blocks)).map(({ id }) => id)).toEqual(paths.map((_, i) => i));
});

test("one that cannot be read is an error with its row, or null", async () => {
  const rows = [{ path: fileOf("here", "x") }, { path: join(folder, "gone") }, { path: "" }];
  await expect(downloaded(rows)).rejects.toMatchObject({
    name: "StorageError",
    message: `withColumn(bytes: download(path)) at row 2 of links.csv: Cannot read ${folder}/gone: there is no such file`,
    details: { file: "links.csv", firstRow: 2, lastRow: 2 },
  });
  expect(textsOf(await downloaded(rows, col("path").download({ onError: "null" })))).toEqual(["x", null, null]);
  await expect(downloaded([{ path: 5 }])).rejects.toThrow("a path or a URL is a text: path is float64");
  expect(() => selectTransform([col("path").download()])).toThrow("give it to withColumn before");
  // @ts-expect-error there is no such way
  expect(() => col("path").download({ onError: "skip" })).toThrow("onError of download");
});

test("go on as soon as they have the bytes of a block", async () => {
  const path = fileOf("large", new Uint8Array(READ_BLOCK_BYTES / 2));
  const blocks = await downloaded(Array.from({ length: 5 }, () => ({ path })));
  expect(blocks.map(({ rowCount }) => rowCount)).toEqual([2, 2, 1]);
  expect(await downloaded([])).toHaveLength(1);
});
