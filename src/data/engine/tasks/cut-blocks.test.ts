/** Blocks that are cut for tasks: in any order of events tasks get whole batches, each row comes once and in order, and each block is released once. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { ObjectRef } from "../../../core/index.ts";
import { blockOfRows, rowsOf } from "../../blocks/block.ts";
import { cutBlock, cutIntoPieces, rangeOf, rowsText } from "./cut-blocks.ts";
import { InputQueue } from "../input-queue.ts";
import type { BlockRef } from "../operators/operator.ts";
import { mapRanges } from "./task.ts";

/** Makes a block whose reference is the number of its first row. */
function blockFrom(firstRow: number, rowCount: number, released: number[] = []): BlockRef {
  const ref = firstRow as unknown as ObjectRef<never>;
  return { ref, rowCount, sizeBytes: 8 * rowCount, schema: [], release: () => void released.push(firstRow) };
}

/** The numbers of the rows that a task takes. */
const rowsTaken = (inputs: readonly BlockRef[]): number[] =>
  inputs.flatMap((block) => {
    const [from, to] = rangeOf(block);
    return Array.from({ length: to - from }, (_, i) => (block.ref as unknown as number) + from + i);
  });

test("tasks take whole batches, whatever the blocks are and whenever they come", () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat({ max: 40 }), { minLength: 1, maxLength: 30 }),
      fc.integer({ min: 1, max: 25 }),
      fc.nat(),
      (sizes, batch, seed) => {
        const queue = new InputQueue({ rowsPerTaskMin: batch, cutsBlocks: true });
        const released: number[] = [];
        const tasks: BlockRef[][] = [];
        const begin = (): void => void tasks.push(queue.next(2));
        let total = 0;
        const firstRows: number[] = [];
        for (const [i, size] of sizes.entries()) {
          // Blocks without rows have numbers of their own, so that their release is counted, too.
          const firstRow = size === 0 ? -i - 1 : total;
          firstRows.push(firstRow);
          queue.add(blockFrom(firstRow, size, released));
          total += size;
          if ((seed >> (i % 31)) % 2 === 1) while (queue.hasTask) begin();
        }
        queue.end();
        while (queue.hasTask) begin();
        expect(tasks.flatMap(rowsTaken)).toEqual(Array.from({ length: total }, (_, i) => i));
        for (const task of tasks.slice(0, -1)) expect(rowsTaken(task).length % batch).toBe(0);
        expect([queue.heldBytes, queue.count, queue.isEnded]).toEqual([0, 0, true]);
        expect(tasks.flat().reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)).toBe(8 * total);
        expect(released).toEqual([]);
        // Tasks end in any order.
        for (const task of tasks.toReversed()) for (const block of task) block.release();
        expect(released.toSorted((a, b) => a - b)).toEqual(firstRows.toSorted((a, b) => a - b));
      },
    ),
  );
});

test("a queue that is stopped releases the rest of a block, and the block goes with its other part", () => {
  const released: number[] = [];
  const queue = new InputQueue({ rowsPerTaskMin: 10, cutsBlocks: true });
  queue.add(blockFrom(0, 15, released));
  const inputs = queue.next(1);
  expect(inputs.map(rangeOf)).toEqual([[0, 10]]);
  queue.stop();
  expect(released).toEqual([]);
  inputs[0]?.release();
  expect(released).toEqual([0]);
});

test("a part is cut like a block", () => {
  const released: number[] = [];
  const [head, rest] = cutBlock(blockFrom(0, 10, released), 3);
  const [middle, tail] = cutBlock(rest, 4);
  expect([head, middle, tail].map(rangeOf)).toEqual([
    [0, 3],
    [3, 7],
    [7, 10],
  ]);
  for (const part of [tail, head]) part.release();
  expect(released).toEqual([]);
  middle.release();
  expect(released).toEqual([0]);
});

test("a task reads its rows of each block", async () => {
  const blocks = [0, 10].map((first) =>
    blockOfRows(
      Array.from({ length: 10 }, (_, i) => ({ id: first + i })),
      "the test",
    ),
  );
  const ranges = [
    [6, 10],
    [0, 2],
  ];
  const made: number[][] = [];
  for await (const item of mapRanges([{ kind: "rebatch", name: "repartition", rows: 4, isStrict: true }], ranges, ...blocks))
    if ("vectors" in item) made.push(rowsOf(item).map(({ id }) => id as number));
  expect(made).toEqual([
    [6, 7, 8, 9],
    [10, 11],
  ]);
});

test("pieces have whole units, each row once, and the place of their rows", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 500 }),
      fc.integer({ min: 1, max: 40 }),
      fc.integer({ min: 2, max: 16 }),
      (rows, unitRows, pieces) => {
        const released: number[] = [];
        const block = { ...blockFrom(0, rows, released), origin: { file: "a.csv", firstRow: 11, lastRow: 10 + rows, isExact: true } };
        const parts = cutIntoPieces(block, { unitRows, pieces });
        if (parts === undefined) {
          expect(rows).toBeLessThanOrEqual(unitRows);
          return;
        }
        expect(parts.length).toBeLessThanOrEqual(pieces);
        expect(parts.length).toBeGreaterThan(1);
        expect(rowsTaken(parts)).toEqual(Array.from({ length: rows }, (_, i) => i));
        for (const part of parts.slice(0, -1)) expect(part.rowCount % unitRows).toBe(0);
        expect(parts.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)).toBe(block.sizeBytes);
        for (const part of parts) {
          const [from, to] = rangeOf(part);
          expect(part.origin).toMatchObject({ firstRow: 11 + from, lastRow: 10 + to });
          expect(rowsText([part])).toBe(to - from === 1 ? `row ${11 + from} of a.csv` : `rows ${11 + from} to ${10 + to} of a.csv`);
        }
        for (const part of parts) part.release();
        expect(released).toEqual([0]);
      },
    ),
  );
});
