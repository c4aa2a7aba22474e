/** Parts of a split with nodes: every row is in one part, sizes are as asked for, and blocks stay on their nodes where there is room. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { localParts } from "./local-parts.ts";

const block = fc.record({ rowCount: fc.integer({ min: 1, max: 20 }), nodeIds: fc.subarray(["a", "b", "c"]) });

describe("parts with nodes", () => {
  test("have the rows that they are to have, each once and in order", () => {
    fc.assert(
      fc.property(
        fc.array(block, { maxLength: 12 }),
        fc.array(fc.constantFrom("a", "b", "elsewhere"), { minLength: 1, maxLength: 4 }),
        fc.boolean(),
        (blocks, nodeIds, equal) => {
          const total = blocks.reduce((sum, { rowCount }) => sum + rowCount, 0);
          const n = nodeIds.length;
          const size = (i: number): number =>
            equal ? Math.floor(total / n) : Math.floor(((i + 1) * total) / n) - Math.floor((i * total) / n);
          const sizes = nodeIds.map((_, i) => size(i));
          const parts = localParts(blocks, sizes, nodeIds);
          expect(parts.map((pieces) => pieces.reduce((sum, { from, to }) => sum + to - from, 0))).toEqual(sizes);
          const rowsOf = (pieces: (typeof parts)[number]): string[] =>
            pieces.flatMap(({ block: own, from, to }) => Array.from({ length: to - from }, (_, i) => `${own}:${from + i}`));
          const all = parts.flatMap(rowsOf);
          expect(new Set(all).size).toBe(all.length);
          for (const pieces of parts)
            for (const [i, piece] of pieces.entries()) {
              expect(piece.to).toBeLessThanOrEqual(blocks[piece.block]?.rowCount ?? 0);
              const before = pieces[i - 1];
              if (before !== undefined) expect(before.block < piece.block || before.to <= piece.from).toBe(true);
            }
        },
      ),
      { numRuns: 500 },
    );
  });

  test("get the blocks of their node whole, and of others what is left", () => {
    const blocks = ["a", "b", "a", "b", "c"].map((nodeId) => ({ rowCount: 10, nodeIds: [nodeId] }));
    expect(localParts(blocks, [25, 25], ["b", "a"])).toEqual([
      [
        { block: 1, from: 0, to: 10 },
        { block: 3, from: 0, to: 10 },
        { block: 4, from: 0, to: 5 },
      ],
      [
        { block: 0, from: 0, to: 10 },
        { block: 2, from: 0, to: 10 },
        { block: 4, from: 5, to: 10 },
      ],
    ]);
  });

  test("that are too small for a block of their node get the beginning of it", () => {
    expect(localParts([{ rowCount: 10, nodeIds: ["b"] }], [5, 5], ["a", "b"])).toEqual([
      [{ block: 0, from: 5, to: 10 }],
      [{ block: 0, from: 0, to: 5 }],
    ]);
  });
});
