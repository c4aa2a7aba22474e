/** CSV files of blocks that were made apart: a value is written under its own column. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Block, blockOfRows, type Row, rowsOf } from "../../blocks/block.ts";
import { makeStagingFolder } from "../../writing/staging-folder.ts";
import { runChain } from "../tasks/transform.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "shoal-test-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** The texts of the files that a task writes of these blocks. */
async function written(header: boolean, ...blocks: readonly (readonly Row[])[]): Promise<string[]> {
  const stagingFolder = join(folder, crypto.randomUUID());
  await makeStagingFolder(stagingFolder);
  async function* all(): AsyncGenerator<Block> {
    for (const rows of blocks) yield blockOfRows(rows, "test");
  }
  const files: string[] = [];
  const format = { kind: "csv", header } as const;
  for await (const block of runChain(all(), [
    { kind: "write", name: "writeCsv", stagingFolder, extension: ".csv", format, partitionBy: [] },
  ]))
    files.push(...rowsOf(block).map(({ staged }) => readFileSync(staged as string, "utf8")));
  return files;
}

test("CSV has the columns of the header in every row, whatever the order of a block's columns", async () => {
  const blocks = [[{ a: 1, b: "x" }], [{ b: "y", a: 2 }], [{ b: "z" }]];
  expect(await written(true, ...blocks)).toEqual(["a,b\n1,x\n2,y\n,z\n"]);
  expect(await written(false, ...blocks)).toEqual(["1,x\n2,y\n,z\n"]);
});

test("a column that first comes behind the header of a CSV file begins the next file", async () => {
  expect(await written(true, [{ a: 1 }], [{ a: 2, b: "x" }], [{ b: "y" }])).toEqual(["a\n1\n", "a,b\n2,x\n,y\n"]);
});
