/** Sides of a split by hash: each value on one side, whatever its type and its block, and about the part that is asked for. */
import { expect, test } from "vitest";
import { blockOfRows, rowsOf, takeBlock } from "../../blocks/block.ts";
import { hashSide } from "./hash-split.ts";

const TEST = { kind: "hashSplit", name: "test", column: "key", testSize: 0.2, isTest: true } as const;

function sides(keys: readonly unknown[]): { train: unknown[]; test: unknown[] } {
  const block = blockOfRows(
    keys.map((key) => ({ key })),
    "the test",
  );
  const side = (isTest: boolean): unknown[] => rowsOf(takeBlock(block, hashSide(block, { ...TEST, isTest }))).map(({ key }) => key);
  return { train: side(false), test: side(true) };
}

test("each value is on one side, and about a fifth on that of the test", () => {
  const keys = Array.from({ length: 10_000 }, (_, i) => i);
  const { train, test: held } = sides(keys);
  expect([...train, ...held].toSorted((a, b) => (a as number) - (b as number))).toEqual(keys);
  expect(Math.abs(held.length - 2000)).toBeLessThan(150);
  // Hashes that exchanges part rows by say nothing of the side.
  const texts = sides(keys.map((i) => `user ${i}`));
  expect(Math.abs(texts.test.length - 2000)).toBeLessThan(150);
});

test("a value's side depends on nothing but the value", () => {
  const { test: held } = sides([7, 1, 2, 3, 4, 5, 6, 8, 9, null]);
  for (const key of [7, 1, 2, 3, 4, 5, 6, 8, 9]) {
    expect(sides([key]).test).toEqual(held.includes(key) ? [key] : []);
    expect(sides([BigInt(key), 2n ** 60n]).test.includes(BigInt(key))).toBe(held.includes(key));
  }
});

test("a column that is not there, or has no equality, is an error", () => {
  const block = blockOfRows([{ key: [1] }], "the test");
  expect(() => hashSide(block, TEST)).toThrow('Cannot split by "key": it is of the type list');
  expect(() => hashSide(block, { ...TEST, column: "no" })).toThrow('Cannot split by "no": there is no such column');
});
