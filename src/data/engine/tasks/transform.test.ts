/** Rows that steps made and that make no block: errors name the step, and where the rows came from. */
import { expect, test } from "vitest";
import { type Block, blockOfRows, rowsOf } from "../../blocks/block.ts";
import { noteFile, rowPlace } from "../../blocks/memory/origin.ts";
import { readUserTask } from "../../reading/sources.ts";
import { given } from "./task.ts";
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

/** Rows of 1 MiB, and how many of them are made. */
function largeRows() {
  const own = { made: 0, large: (n: number) => ({ n, bytes: new Uint8Array(2 ** 20 * Math.sign((own.made += 1))) }) };
  return own;
}

test.each(["map", "flatMap", "a source"] as const)("rows of many bytes leave %s long before all rows of a block are made", async (kind) => {
  const block = blockOfRows(
    Array.from({ length: 100 }, (_, n) => ({ n })),
    "test",
  );
  noteFile(block, "a.csv", 0);
  const own = largeRows();
  const steps = {
    map: ({ n }: { n: number }) => own.large(n),
    flatMap: ({ n }: { n: number }) => [own.large(n)],
  };
  const read = function* rows(): Generator<{ n: number; bytes: Uint8Array }> {
    for (let n = 0; n < 100; n += 1) yield own.large(n);
  };
  const blocks =
    kind === "a source"
      ? readUserTask("source", { read }, 0)
      : runChain(given([block]), [{ kind, name: `${kind}(large)`, fn: steps[kind] }]);
  let rows = 0;
  for await (const part of blocks) {
    expect(own.made - rows).toBeLessThanOrEqual(33);
    if (kind === "map") expect(rowPlace(part, 0)).toBe(`row ${rows + 1} of a.csv`);
    for (const row of rowsOf(part)) expect(row["n"]).toBe(rows++);
  }
  expect(rows).toBe(100);
});
