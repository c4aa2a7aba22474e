/** Tasks that read free the memory of a decoder when its rows are sent, or aggregated, unless code of users has seen them. */
import { expect, test } from "vitest";
import { count, sum } from "../../aggregates/aggregate.ts";
import { type Block, rowsOf } from "../../blocks/block.ts";
import { noteDecoded } from "../../blocks/memory/memory.ts";
import { FLOAT64 } from "../../blocks/data-type.ts";
import { type BlockCut, readBlocks } from "./task.ts";
import type { Transform } from "./transform.ts";

/** Runs a task on blocks of 150,000 numbers each. @returns its output, and the blocks whose memory is free at the end */
async function reading(chain: readonly Transform[]) {
  const buffers: ArrayBuffer[] = [];
  async function* read(): AsyncGenerator<Block> {
    for (let first = 0; first < 450_000; first += 150_000) {
      const values = Float64Array.from({ length: 150_000 }, (_, i) => first + i);
      buffers.push(noteDecoded(values.buffer));
      yield {
        rowCount: values.length,
        names: ["n"],
        vectors: [{ type: FLOAT64, length: values.length, nullCount: 0, bitOffset: 0, values }],
      };
    }
  }
  const blocks: Block[] = [];
  let sumOfRows = 0;
  for await (const item of readBlocks(read, chain)) {
    if (!("vectors" in item)) continue;
    blocks.push(item);
    // Sent, that is: read before the task goes on.
    for (const row of rowsOf(item)) sumOfRows += (row["n"] ?? row["\u00000.0"]) as number;
  }
  return { sumOfRows, free: buffers.map(({ detached }) => detached) };
}

const TOTAL = (450_000 * 449_999) / 2;
const aggregates = [["n", sum("n")] as const];
const ALL = [true, true, true];
const NONE = [false, false, false];

test.each<[string, readonly Transform[], readonly boolean[]]>([
  ["rows as they are read", [], ALL],
  ["columns that are picked", [{ kind: "select", name: "select", columns: ["n"] }], ALL],
  ["few groups", [{ kind: "partialAggregate", name: "aggregate", keys: [], aggregates }], ALL],
  ["very many groups", [{ kind: "partialAggregate", name: "aggregate", keys: ["n"], aggregates }], ALL],
  ["rows that wait for others", [{ kind: "rebatch", name: "rebatch", rows: 100_000 }], NONE],
  [
    "batches of a function",
    [{ kind: "mapBatches", name: "map", fn: (batch: unknown) => batch, batchFormat: "columns", batchSize: undefined }],
    NONE,
  ],
])("%s", async (_, chain, free) => {
  expect(await reading(chain)).toEqual({ sumOfRows: TOTAL, free });
});

test("an aggregate of the user's may keep what it sees", async () => {
  const functions = {
    init: () => 0,
    accumulateRow: (state: number, { n }: { n: number }) => state + n,
    merge: (a: number, b: number) => a + b,
  };
  const custom = [["n", { ...count(), kind: "custom", functions }]] as never;
  expect(await reading([{ kind: "partialAggregate", name: "aggregate", keys: [], aggregates: custom }])).toEqual({
    sumOfRows: TOTAL,
    free: NONE,
  });
});

test("what is read is cut in pieces of whole batches, in order, where few parts are to keep many workers busy", async () => {
  async function* read(rows: number): AsyncGenerator<Block> {
    const values = Float64Array.from({ length: rows }, (_, i) => i);
    yield { rowCount: rows, names: ["n"], vectors: [{ type: FLOAT64, length: rows, nullCount: 0, bitOffset: 0, values }] };
  }
  const pieces = async (rows: number, cut: BlockCut | undefined): Promise<number[]> => {
    const blocks: Block[] = [];
    for await (const item of readBlocks(read as never, [], cut, rows)) if ("vectors" in item) blocks.push(structuredClone(item));
    expect(blocks.flatMap(rowsOf)).toEqual(Array.from({ length: rows }, (_, n) => ({ n })));
    return blocks.map(({ rowCount }) => rowCount);
  };
  expect(await pieces(1000, undefined)).toEqual([1000]);
  expect(await pieces(1000, { pieces: 4, rows: 1 })).toEqual([250, 250, 250, 250]);
  expect(await pieces(1000, { pieces: 4, rows: 100 })).toEqual([300, 300, 300, 100]);
  expect(await pieces(10, { pieces: 4, rows: 256 })).toEqual([10]);
  expect(await pieces(3, { pieces: 8, rows: 1 })).toEqual([1, 1, 1]);
  expect(await pieces(0, { pieces: 8, rows: 1 })).toEqual([0]);
});
