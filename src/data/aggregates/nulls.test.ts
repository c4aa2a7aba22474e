/** `ignoreNulls` and `ddof` of aggregates against plain arrays with nulls, in one block and in many that are merged. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { blockOfRows, concatBlocks, type Row, rowsOf, sliceBlock } from "../blocks/block.ts";
import {
  absMax,
  approxTopK,
  asList,
  count,
  countDistinct,
  max,
  mean,
  min,
  quantile,
  std,
  sum,
  unique,
  valueCounter,
  zeroPercentage,
} from "./aggregate.ts";
import { combineStates, mergeAggregates, partialAggregate } from "./group-aggregate.ts";

const keep = { ignoreNulls: false };
const AGGREGATES = Object.entries({
  rows: count("n"),
  values: count("n", { ignoreNulls: true }),
  sum: sum("n", keep),
  min: min("t", keep),
  max: max("n", keep),
  flag: max("b", keep),
  mean: mean("n", keep),
  std: std("n", { ...keep, ddof: 0 }),
  population: std("n", { ddof: 0 }),
  third: std("n", { ddof: 2 }),
  absMax: absMax("n", keep),
  median: quantile("n", 0.5, keep),
  list: asList("n", keep),
  texts: unique("t", keep),
  distinct: countDistinct("t", keep),
  zeros: zeroPercentage("n", keep),
  trues: sum("b"),
});

/** The rows in blocks of the given ends, whose states are merged in two steps. */
function aggregated(rows: readonly Row[], ends: readonly number[]): Row[] {
  const block = blockOfRows(rows, "the test");
  const borders = [...new Set([0, ...ends.map((end) => Math.min(end, rows.length)), rows.length])].sort((a, b) => a - b);
  const states = borders.slice(1).map((end, i) => partialAggregate(sliceBlock(block, borders[i] as number, end), ["k"], AGGREGATES));
  const half = Math.ceil(states.length / 2);
  const parts = [states.slice(0, half), states.slice(half)].filter((own) => own.length > 0);
  const merged = parts.map((own) => combineStates(concatBlocks(own), ["k"], AGGREGATES));
  return rowsOf(mergeAggregates(concatBlocks(merged), ["k"], AGGREGATES));
}

function deviation(values: readonly number[], ddof: number): number | null {
  if (values.length <= ddof) return null;
  const average = values.reduce((a, b) => a + b, 0) / values.length;
  return Math.sqrt(values.reduce((a, value) => a + (value - average) ** 2, 0) / (values.length - ddof));
}

const close = (value: number | null): unknown => (value === null ? null : expect.closeTo(value, 9));

function expected(rows: readonly Row[]): Row {
  const all = rows.map((row) => row["n"] as number | null);
  const numbers = all.filter((n) => n !== null);
  const texts = rows.map((row) => row["t"] as string | null);
  const flags = rows.map((row) => row["b"] as boolean | null);
  const isWhole = numbers.length === all.length;
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  const total = numbers.reduce((a, b) => a + b, 0);
  return {
    k: rows[0]?.["k"],
    rows: rows.length,
    values: numbers.length,
    sum: isWhole ? total : null,
    min: texts.includes(null) ? null : texts.toSorted((a, b) => ((a as string) < (b as string) ? -1 : 1))[0],
    max: isWhole ? sorted.at(-1) : null,
    flag: flags.includes(null) ? null : flags.includes(true),
    mean: isWhole ? close(total / numbers.length) : null,
    std: isWhole ? close(deviation(numbers, 0)) : null,
    population: close(deviation(numbers, 0)),
    third: close(deviation(numbers, 2)),
    absMax: isWhole ? Math.max(...numbers.map(Math.abs)) : null,
    median: isWhole ? ((sorted[Math.floor(middle)] as number) + (sorted[Math.ceil(middle)] as number)) / 2 : null,
    list: all,
    texts: [...new Set(texts)],
    distinct: new Set(texts).size,
    zeros: close((100 * numbers.filter((n) => n === 0).length) / rows.length),
    trues: flags.every((flag) => flag === null) ? null : flags.filter((flag) => flag === true).length,
  };
}

const row = fc.record({
  k: fc.constantFrom("a", "b", null),
  n: fc.option(fc.integer({ min: -5, max: 5 }), { freq: 6 }),
  t: fc.option(fc.constantFrom("x", "y", "z"), { freq: 6 }),
  b: fc.option(fc.boolean(), { freq: 6 }),
});

describe("aggregates of columns with nulls", () => {
  test("are those of arrays, with nulls where they are not left out", () => {
    fc.assert(
      fc.property(fc.array(row, { maxLength: 40 }), fc.array(fc.nat(40), { maxLength: 5 }), (given, ends) => {
        // The first row has a value in each column, so that each column has a type.
        const rows = [{ k: "a", n: 1, t: "x", b: true }, ...given];
        const results = aggregated(rows, ends);
        expect(results).toHaveLength(new Set(rows.map(({ k }) => k)).size);
        for (const result of results) expect(result).toEqual(expected(rows.filter(({ k }) => k === result["k"])));
      }),
      { numRuns: 300 },
    );
  });

  test("and whose blocks have nulls alone are null, or lists of nulls", () => {
    const [result] = aggregated([{ k: "a", n: null, t: null, b: null }], []);
    expect(result).toMatchObject({
      rows: 1,
      values: 0,
      sum: null,
      max: null,
      std: null,
      list: [null],
      texts: [null],
      distinct: 1,
      trues: null,
    });
    const states = [null, 3].map((n) => partialAggregate(blockOfRows([{ k: "a", n, t: "x", b: true }], "the test"), ["k"], AGGREGATES));
    expect(rowsOf(mergeAggregates(concatBlocks(states), ["k"], AGGREGATES))[0]).toMatchObject({ sum: null, list: [null, 3], values: 1 });
  });

  test("are refused with wrong options, by name", () => {
    expect(() => sum("n", { ignoreNulls: 1 as never })).toThrow("ignoreNulls");
    expect(() => std("n", { ddof: -1 })).toThrow("ddof");
    expect(() => std("n", { ignoreNull: true } as never)).toThrow("ignoreNulls");
    for (const wrong of [0, null]) expect(() => std("n", wrong as never)).toThrow("std");
    expect(() => count(undefined, { ignoreNulls: true })).toThrow(
      "Cannot call count: it takes ignoreNulls with the name of a column: received none",
    );
    expect(() => count(3 as never)).toThrow("Cannot call count: it takes the name of a column");
    const named = [["rows", count("none")]] as const;
    expect(() => partialAggregate(blockOfRows([{ k: 1 }], "the test"), ["k"], named)).toThrow('there is no column "none"');
  });
});

test.each([
  ["unique", unique("l")],
  ["countDistinct", countDistinct("l")],
  ["valueCounter", valueCounter("l")],
  ["approxTopK", approxTopK("l", 2)],
] as const)("%s of a column of lists is an error that names the column", (kind, aggregate) => {
  for (const value of [["a"], [1, 2], { a: 1 }, Float64Array.of(1)])
    expect(() => partialAggregate(blockOfRows([{ l: value }], "the test"), [], [["own", aggregate]])).toThrow(
      `Cannot aggregate ${kind}("l"): the column is of the type `,
    );
});
