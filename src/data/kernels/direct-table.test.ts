/** Direct tables against maps: whole numbers of every type, near and far, and numbers that are not whole. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { type DataType, FLOAT64 } from "../blocks/data-type.ts";
import { newValueArray, type Vector } from "../blocks/vector.ts";
import { DirectTable } from "./direct-table.ts";

const KINDS = ["int8", "int16", "int32", "uint8", "uint16", "uint32", "float32", "float64", "int64", "uint64"] as const;

function vectorOf(kind: (typeof KINDS)[number], numbers: readonly number[]): Vector {
  const isWide = kind === "int64" || kind === "uint64";
  const values = newValueArray(kind, numbers.length) as BigInt64Array;
  values.set((isWide ? numbers.map((number) => BigInt(Math.trunc(number))) : numbers) as bigint[]);
  const type: DataType = isWide ? { kind, as: "number" } : { kind };
  return { type, length: numbers.length, nullCount: 0, bitOffset: 0, values };
}

const near = fc.integer({ min: 0, max: 20 });

test.each(KINDS)("%s: groups in the order in which they first come, and the group of each number of other rows", (kind) => {
  fc.assert(
    fc.property(fc.array(near), fc.array(fc.integer({ min: -3, max: 25 })), fc.integer({ min: 0, max: 100 }), (given, asked, first) => {
      const numbers = given.map((number) => number + first);
      const known = new Map<number, number>();
      const ids = numbers.map((number) => known.set(number, known.get(number) ?? known.size).get(number));
      const table = DirectTable.of(vectorOf(kind, numbers)) as DirectTable;
      expect([...table.ids]).toEqual(ids);
      expect([...table.firstRows]).toEqual(Array.from(known.keys(), (number) => numbers.indexOf(number)));
      const others = asked.map((number) => Math.max(0, number + first));
      expect([...(table.find(vectorOf(kind, others)) as Uint32Array)]).toEqual(others.map((number) => known.get(number) ?? 0xffffffff));
    }),
  );
});

test("numbers that are not whole, far apart, beyond 32 bits, or null have no places", () => {
  const rejected = [[0.5], [Number.NaN], [Infinity], [0, 1e6], [2 ** 31], [-(2 ** 40)]];
  for (const numbers of rejected) expect(DirectTable.of(vectorOf("float64", numbers))).toBeUndefined();
  for (const numbers of [[2 ** 31], [-(2 ** 40)], [2 ** 53]]) expect(DirectTable.of(vectorOf("int64", numbers))).toBeUndefined();
  for (const kind of ["uint32", "uint64"] as const) expect(DirectTable.of(vectorOf(kind, [2 ** 32 - 1]))).toBeUndefined();
  expect(DirectTable.of({ ...vectorOf("int32", [1]), nullCount: 1, validity: Uint8Array.of(0) })).toBeUndefined();
  expect(DirectTable.of({ type: { kind: "string" }, length: 0, nullCount: 0, bitOffset: 0 })).toBeUndefined();
  const table = DirectTable.of(vectorOf("float64", [-(2 ** 31), 1 - 2 ** 31])) as DirectTable;
  expect([...(table.find(vectorOf("float64", [2 ** 31 - 1, -(2 ** 31)])) as Uint32Array)]).toEqual([0xffffffff, 0]);
  expect(table.find(vectorOf("float64", [0.5]))).toBeUndefined();
  const zeros = { type: FLOAT64, length: 2, nullCount: 0, bitOffset: 0, values: Float64Array.of(0, -0) };
  expect([...(DirectTable.of(zeros) as DirectTable).ids]).toEqual([0, 0]);
});
