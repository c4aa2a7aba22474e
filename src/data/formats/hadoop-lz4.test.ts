/** Parquet whose pages are LZ4 in the frames of Hadoop, as older programs on Hadoop wrote it: `test/vectors/data/hadoop_lz4.py` writes such a file. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parquetMetadata } from "hyparquet";
import { afterAll, expect, test } from "vitest";
import { rowsOf } from "../blocks/block.ts";
import { readParquetFooter, readParquetPart } from "./parquet/parquet-reader.ts";

const folder = mkdtempSync(join(tmpdir(), "test-shoal-hadoop-"));
afterAll(() => rmSync(folder, { recursive: true }));

const VECTOR = fileURLToPath(new URL("../../../test/vectors/data/hadoop-lz4.parquet", import.meta.url));
const ROWS = 300;

async function read(path: string): Promise<unknown[]> {
  await readParquetFooter(path, []);
  const rows: unknown[] = [];
  const part = { path, rowGroups: [0], firstRows: [0], rowCount: ROWS };
  for await (const block of readParquetPart(part, undefined, [])) rows.push(...rowsOf(block));
  return rows;
}

test("pages of one frame and of several are read", async () => {
  const { row_groups: groups } = parquetMetadata(Uint8Array.from(readFileSync(VECTOR)).buffer);
  expect(groups[0]?.columns.map(({ meta_data: facts }) => facts?.codec)).toEqual(["LZ4", "LZ4"]);
  expect(await read(VECTOR)).toEqual(Array.from({ length: ROWS }, (_, id) => ({ id, text: `row ${id % 7}` })));
});

test("a frame with wrong sizes is an error with the file and the row group", async () => {
  const bytes = readFileSync(VECTOR);
  // The first frame has all 2400 bytes of the column.
  const frame = bytes.indexOf(Uint8Array.of(0, 0, 0x09, 0x60));
  const path = join(folder, "wrong.parquet");
  writeFileSync(path, Uint8Array.from(bytes).fill(0xff, frame + 4, frame + 12));
  await expect(read(path)).rejects.toThrow(`Cannot read ${path} as Parquet`);
  await expect(read(path)).rejects.toThrow("in row group 0 (bytes 4 to ");
});
