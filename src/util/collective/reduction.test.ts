import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isFloatArray, isNumericArray, kindOf, partOf, reduceInto, type ReduceOperation } from "./reduction.ts";

describe("reduceInto", () => {
  test.each<[ReduceOperation, number[]]>([
    ["sum", [5, 3, 1]],
    ["product", [6, 2, -2]],
    ["min", [2, 1, -1]],
    ["max", [3, 2, 2]],
    ["average", [5, 3, 1]],
  ])("%s, element by element", (op, expected) => {
    const target = new Float32Array([2, 1, -1]);
    reduceInto(target, new Float32Array([3, 2, 2]), { op });
    expect(Array.from(target)).toEqual(expected);
  });

  test("average divides with the last array", () => {
    const target = new Float64Array([1, 2]);
    reduceInto(target, new Float64Array([2, 3]), { op: "average" });
    reduceInto(target, new Float64Array([3, 4]), { op: "average", last: { count: 3 } });
    expect(Array.from(target)).toEqual([2, 3]);
  });

  test("NaN wins over every number, whichever array has it", () => {
    for (const op of ["min", "max"] as const) {
      const target = new Float64Array([Number.NaN, 1]);
      reduceInto(target, new Float64Array([1, Number.NaN]), { op });
      expect(Array.from(target)).toEqual([Number.NaN, Number.NaN]);
    }
  });

  test("integers wrap or clamp as their arrays do, and bigints take the same operations", () => {
    const bytes = new Uint8Array([200]);
    reduceInto(bytes, new Uint8Array([100]), { op: "sum" });
    expect(bytes[0]).toBe(44);
    const clamped = new Uint8ClampedArray([200]);
    reduceInto(clamped, new Uint8ClampedArray([100]), { op: "sum" });
    expect(clamped[0]).toBe(255);
    for (const [op, expected] of [
      ["sum", 12n],
      ["product", 35n],
      ["min", 5n],
      ["max", 7n],
    ] as const) {
      const target = new BigInt64Array([5n]);
      reduceInto(target, new BigInt64Array([7n]), { op });
      expect(target[0]).toBe(expected);
    }
  });
});

test("parts cover an array without gap or overlap, and differ by one element at most", () => {
  fc.assert(
    fc.property(fc.nat(1000), fc.integer({ min: 1, max: 20 }), (length, worldSize) => {
      let end = 0;
      const lengths = new Set<number>();
      for (let rank = 0; rank < worldSize; rank += 1) {
        const part = partOf(length, rank, worldSize);
        expect(part[0]).toBe(end);
        lengths.add(part[1] - part[0]);
        end = part[1];
      }
      expect(end).toBe(length);
      expect(Math.max(...lengths) - Math.min(...lengths)).toBeLessThanOrEqual(1);
    }),
  );
});

test("knows the kinds of arrays", () => {
  expect([new Float32Array(1), new Int8Array(1), new BigInt64Array(1)].map(isFloatArray)).toEqual([true, false, false]);
  expect(kindOf(new Uint8ClampedArray(1))).toBe("Uint8ClampedArray");
  expect([new Uint8Array(1), new DataView(new ArrayBuffer(1)), [1], new ArrayBuffer(1)].map(isNumericArray)).toEqual([
    true,
    false,
    false,
    false,
  ]);
});
