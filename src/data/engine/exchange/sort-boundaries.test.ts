/** Borders of sorts whose boundaries are the user's: in the order of the sort, of the column's type, and which rows fall between them. */
import { describe, expect, test } from "vitest";
import { blockOfRows, rowsOf, schemaOf } from "../../blocks/block.ts";
import { buildVector } from "../../blocks/vector-builder.ts";
import { rangeOfRows } from "../../kernels/sort.ts";
import { bordersOf } from "./sort-boundaries.ts";

type Boundaries = Parameters<typeof bordersOf>[0];

function rangesOf(values: readonly unknown[], boundaries: Boundaries, descending = false): number[] {
  const block = blockOfRows(
    values.map((x) => ({ x })),
    "the test",
  );
  const key = { column: "x", descending };
  return Array.from(rangeOfRows(block, bordersOf(boundaries, key, schemaOf(block)), [key]));
}

describe("boundaries", () => {
  test("part numbers, between whole ones too; nulls and NaN come last", () => {
    expect(rangesOf([4, 5, 9, 10, null, -1], [10, 5])).toEqual([0, 1, 1, 2, 2, 0]);
    expect(rangesOf([2, 3], [2.5])).toEqual([0, 1]);
    expect(rangesOf([0.5, Number.NaN, 7], [1, 7])).toEqual([0, 2, 2]);
  });

  test("go from the largest on where the sort does", () => {
    expect(rangesOf([11, 10, 6, 5, 0, null], [5, 10], true)).toEqual([0, 1, 1, 2, 2, 2]);
  });

  test("may be texts, big numbers and times", () => {
    expect(rangesOf(["a", "m", "z"], ["m"])).toEqual([0, 1, 1]);
    expect(rangesOf([2n ** 60n, 1n], [2n ** 60n])).toEqual([1, 0]);
    expect(rangesOf([7n, 1n], [5])).toEqual([1, 0]);
    expect(() => rangesOf([7n, 1n], [5.5])).toThrow("boundaries 5.5: the column is int64 as bigint");
    expect(() => rangesOf([7n, 1n], [new Date(5)])).toThrow("the column is int64 as bigint");
    expect(() => rangesOf([7n, 1n], ["5"])).toThrow("the column is int64 as bigint");
    expect(rangesOf([new Date(0), new Date(5)], [new Date(3)])).toEqual([0, 1]);
  });

  test("keep 64-bit integers that are read as numbers exact", () => {
    const type = { kind: "int64", as: "number" } as const;
    const values = [2n ** 53n + 1n, 3n, 2n, -5n];
    const block = { rowCount: values.length, names: ["x"], vectors: [buildVector(values, type)] };
    const ranges = (boundaries: Boundaries, descending: boolean): number[] => {
      const key = { column: "x", descending };
      return Array.from(rangeOfRows(block, bordersOf(boundaries, key, schemaOf(block)), [key]));
    };
    expect(ranges([10], false)).toEqual([1, 0, 0, 0]);
    expect(ranges([2.5], false)).toEqual([1, 1, 0, 0]);
    expect(ranges([2.5], true)).toEqual([0, 0, 1, 1]);
    expect(ranges([2, -4.5], true)).toEqual([0, 0, 1, 2]);
  });

  test("of another type than the column are an error that names both", () => {
    expect(() => rangesOf([1, 2], ["m"])).toThrow('Cannot sort by "x" with boundaries "m": the column is float64');
    expect(() => rangesOf(["a"], [1])).toThrow("the column is string");
    const decimal = [{ name: "x", type: { kind: "decimal", precision: 5, scale: 1, bits: 128, as: "text" } as const }];
    expect(rowsOf(bordersOf([2.5, 1], { column: "x", descending: false }, decimal))).toEqual([{ x: "1.0" }, { x: "2.5" }]);
    expect(() => bordersOf([2.55], { column: "x", descending: false }, decimal)).toThrow("the column is decimal<5, 1>");
  });
});
