/** Rows that steps made and that make no block: errors name the step, and where the rows came from. */
import { expect, test } from "vitest";
import { type Block, blockOfRows } from "../blocks/block.ts";
import { noteFile } from "../blocks/origin.ts";
import { runChain, type Transform } from "./transform.ts";

/** Rows 11 to 13 of a file, with the numbers 1 to 3, through these steps. */
async function run(chain: readonly Transform[], isRead = true): Promise<void> {
  const block = blockOfRows([{ n: 1 }, { n: 2 }, { n: 3 }], "test");
  if (isRead) noteFile(block, "a.csv", 10);
  async function* blocks(): AsyncGenerator<Block> {
    yield block;
  }
  for await (const _ of runChain(blocks(), chain));
}

const mixed = ({ n }: { n: number }) => ({ v: n > 2 ? "x" : n });
const map: Transform = { kind: "map", name: "map(mixed)", fn: mixed };
const twice: Transform = { kind: "flatMap", name: "flatMap(twice)", fn: (row: { n: number }) => [row, row] };
const repeated: Transform = {
  kind: "flatMap",
  name: "flatMap(repeated)",
  fn: (row: { n: number }) => [mixed(row), mixed(row), mixed(row)],
};
const numbers: Transform = { kind: "flatMap", name: "flatMap(numbers)", fn: ({ n }: { n: number }) => (n < 3 ? [{ n }] : [n]) };
const batches = (fn: (rows: { n: number }[]) => unknown): Transform => ({
  kind: "mapBatches",
  name: "mapBatches(own)",
  fn,
  batchFormat: "rows",
  batchSize: undefined,
});
const MIXED = "is string, and the rows before are float64";

test.each<[string, readonly Transform[], string]>([
  ["map", [map], `Column "v" of map(mixed): row 13 of a.csv ${MIXED}`],
  ["map of rows of which the file alone is known", [twice, map], `Column "v" of map(mixed): one of rows 11 to 13 of a.csv ${MIXED}`],
  ["flatMap", [repeated], `Column "v" of flatMap(repeated): row 13 of a.csv ${MIXED}`],
  ["flatMap of what is no row", [numbers], "row 13 of a.csv from flatMap(numbers) is 3"],
  [
    "mapBatches with rows",
    [batches((rows) => rows.map(mixed))],
    `Column "v" of mapBatches(own): row 3 of a batch made of rows 11 to 13 of a.csv ${MIXED}`,
  ],
  [
    "mapBatches with columns",
    [batches((rows) => ({ v: rows.map((row) => mixed(row).v) }))],
    `Column "v" of mapBatches(own): row 3 of a batch made of rows 11 to 13 of a.csv ${MIXED}`,
  ],
  [
    "mapBatches with a generator",
    [
      batches(function* own(rows) {
        yield rows.map(mixed).slice(1);
      }),
    ],
    `Column "v" of mapBatches(own): row 2 of a batch made of rows 11 to 13 of a.csv ${MIXED}`,
  ],
])("%s names the row of a column of two types", async (_, chain, message) => {
  await expect(run(chain)).rejects.toMatchObject({ name: "DataError", message: expect.stringContaining(message) });
});

test("rows of no file are named by their number in the block, from 1", async () => {
  await expect(run([repeated], false)).rejects.toThrow(`row 3 of the 3 in its block ${MIXED}`);
  await expect(run([batches((rows) => rows.map(mixed))], false)).rejects.toThrow(
    `row 3 of a batch made of rows 1 to 3 of the 3 in its block ${MIXED}`,
  );
});
