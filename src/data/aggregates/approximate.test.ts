/** Counts of values against maps, and the approximate aggregates against exact ones, within the errors that they promise; in one block and in many that are merged. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { blockOfRows, concatBlocks, type Row, rowsOf, sliceBlock } from "../blocks/block.ts";
import { Random } from "../kernels/random.ts";
import { type Aggregate, approxQuantile, approxTopK, valueCounter } from "./aggregate.ts";
import { floats } from "./kernel.ts";
import { estimatedQuantiles } from "./quantile-sketch.ts";
import { combineStates, mergeAggregates, partialAggregate } from "./group-aggregate.ts";

/** The result of each group, by key: the rows lie in so many blocks, whose states are merged in two steps. */
function aggregated(rows: readonly Row[], aggregate: Aggregate, blocks = 1): Map<unknown, unknown> {
  const block = blockOfRows(rows, "the test");
  const named = [["result", aggregate]] as const;
  const states = Array.from({ length: blocks }, (_, i) =>
    partialAggregate(
      sliceBlock(block, Math.floor((i * rows.length) / blocks), Math.floor(((i + 1) * rows.length) / blocks)),
      ["key"],
      named,
    ),
  );
  const half = Math.ceil(blocks / 2);
  const parts = [states.slice(0, half), states.slice(half)].filter((own) => own.length > 0);
  const merged = mergeAggregates(concatBlocks(parts.map((own) => combineStates(concatBlocks(own), ["key"], named))), ["key"], named);
  return new Map(rowsOf(merged).map((row) => [row["key"], row["result"]]));
}

function countsByKey(rows: readonly Row[]): Map<unknown, Map<unknown, number>> {
  const counts = new Map<unknown, Map<unknown, number>>();
  for (const { key, value } of rows) {
    const own = counts.get(key) ?? new Map<unknown, number>();
    counts.set(key, own);
    if (value !== null) own.set(value, (own.get(value) ?? 0) + 1);
  }
  return counts;
}

const values = fc.oneof(
  fc.array(fc.record({ key: fc.integer({ min: 0, max: 3 }), value: fc.option(fc.string({ unit: "grapheme-ascii", maxLength: 1 })) }), {
    minLength: 1,
  }),
  fc.array(fc.record({ key: fc.integer({ min: 0, max: 3 }), value: fc.option(fc.integer({ min: 0, max: 5 })) }), { minLength: 1 }),
);

test("the numbers that a sketch of quantiles keeps stand for all that were added", () => {
  const { accumulate } = estimatedQuantiles([0.5], 8);
  for (const rows of [1, 9, 100, 1001, 5003]) {
    const [states] = accumulate(floats(Float64Array.from({ length: rows }, (_, row) => row)), { ids: new Uint32Array(rows), count: 1 });
    const [levelCount = 0, ...rest] = (states?.children?.[0]?.values ?? []) as Float64Array;
    const sizes = rest.slice(0, levelCount);
    expect(sizes.reduce((sum, size, level) => sum + size * 2 ** level, 0)).toBe(rows);
  }
});

describe("valueCounter and approxTopK with room for all", () => {
  test("count as a map does, the most frequent first", () => {
    fc.assert(
      fc.property(values, fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 4 }), (rows, blocks, k) => {
        const expected = countsByKey(rows);
        const counted = aggregated(rows, valueCounter("value"), blocks) as Map<unknown, { values: unknown[]; counts: number[] }>;
        const top = aggregated(rows, approxTopK("value", k), blocks) as Map<unknown, { value: unknown; count: number }[]>;
        expect(counted.size).toBe(expected.size);
        for (const [key, own] of expected) {
          const { values: found, counts } = counted.get(key) as { values: unknown[]; counts: number[] };
          expect(new Map(found.map((value, i) => [value, counts[i]]))).toEqual(own);
          expect(counts).toEqual(counts.toSorted((a, b) => b - a));
          expect(top.get(key)).toEqual(found.slice(0, k).map((value, i) => ({ value, count: counts[i] })));
        }
      }),
      { numRuns: 300 },
    );
  });
});

test("approxTopK with little room finds what is frequent, with counts that are never too large", () => {
  const random = new Random(1);
  // Every third row is one of ten values; the others are nearly all distinct.
  const rows = Array.from({ length: 30_000 }, (_, i) => ({
    key: 0,
    value: i % 3 === 0 ? random.below(10) : 100 + random.below(1_000_000),
  }));
  const exact = countsByKey(rows).get(0) as Map<unknown, number>;
  const capacity = 200;
  for (const blocks of [1, 7]) {
    const top = aggregated(rows, approxTopK("value", 10, { capacity }), blocks).get(0) as { value: number; count: number }[];
    expect(top.map(({ value }) => value).toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    for (const { value, count } of top) {
      expect(count).toBeLessThanOrEqual(exact.get(value) as number);
      expect(count).toBeGreaterThanOrEqual((exact.get(value) as number) - (2 * rows.length) / capacity);
    }
  }
});

describe("approxQuantile", () => {
  const parts = [0, 0.01, 0.25, 0.5, 0.9, 0.999, 1];

  test.each(["uniform", "sorted", "few values"])("knows ranks of %s numbers to half a percent, in one block and in many", (kind) => {
    const random = new Random(7);
    const numbers = Float64Array.from({ length: 60_000 }, () => random.uint32() % (kind === "few values" ? 5 : 2 ** 32));
    if (kind === "sorted") numbers.sort();
    const rows = Array.from(numbers, (value, i) => ({ key: i % 2, value: i % 10 === 0 ? null : value }));
    for (const blocks of [1, 9]) {
      const found = aggregated(rows, approxQuantile("value", parts), blocks) as Map<unknown, number[]>;
      for (const key of [0, 1]) {
        const sorted = Float64Array.from(
          rows.filter((row) => row.key === key && row.value !== null).map(({ value }) => value as number),
        ).sort();
        parts.forEach((part, i) => {
          const value = (found.get(key) as number[])[i] as number;
          expect(sorted.includes(value)).toBe(true);
          const lowest = sorted.indexOf(value) / sorted.length;
          const highest = (sorted.lastIndexOf(value) + 1) / sorted.length;
          expect(part).toBeGreaterThanOrEqual(lowest - 0.005);
          expect(part).toBeLessThanOrEqual(highest + 0.005);
        });
      }
    }
  });

  test("is exact for few numbers, leaves out NaN and null, and is null where there is no number", () => {
    const rows = [5, 1, Number.NaN, 3, null].map((value) => ({ key: "a", value })).concat([{ key: "b", value: null }]);
    expect(aggregated(rows, approxQuantile("value", [0, 0.5, 1]), 3)).toEqual(
      new Map<unknown, unknown>([
        ["a", [1, 3, 5]],
        ["b", null],
      ]),
    );
    // Where a border lies between two values, the one above it, as in DataSketches.
    const four = [7, 0, 7, 5].map((value) => ({ key: "a", value }));
    expect(aggregated(four, approxQuantile("value", [0.25, 0.5, 0.6])).get("a")).toEqual([5, 7, 7]);
  });

  test("wrong arguments are refused", () => {
    expect(() => approxQuantile("x", [])).toThrow("Cannot call approxQuantile: it takes an array of numbers from 0 to 1");
    expect(() => approxQuantile("x", [1.5])).toThrow("received 1.5");
    expect(() => approxQuantile("x", [0.5], { precision: 1 })).toThrow("precision");
    expect(() => approxTopK("x", 0)).toThrow("Cannot call approxTopK: it takes a whole number of values from 1: received 0");
    expect(() => approxTopK("x", 1, { capacity: 0 })).toThrow("capacity");
  });
});
