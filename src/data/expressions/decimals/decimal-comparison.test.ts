import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Block, rowsOf, takeBlock } from "../../blocks/block.ts";
import { type DecimalType, decimalType } from "../../blocks/data-type.ts";
import { decimalText } from "../../blocks/values/decimals.ts";
import { buildVector } from "../../blocks/vector-builder.ts";
import { filteredRows } from "../evaluate.ts";
import { col, type Expression, lit, nodeOf } from "../expression.ts";

const type = (scale: number): DecimalType => decimalType(20, scale) as DecimalType;
const block = (columns: Record<string, readonly unknown[]>, types: Record<string, DecimalType> = {}): Block => {
  const names = Object.keys(columns);
  const vectors = names.map((name) => buildVector(columns[name] as unknown[], types[name]));
  return { rowCount: vectors[0]?.length ?? 0, names, vectors };
};
const kept = (given: Block, expression: Expression): unknown[] =>
  rowsOf(takeBlock(given, filteredRows(given, nodeOf(expression), "the test"))).map((row) => row["d"]);

const prices = block({ d: ["0.10", "1.00", "1.01", "-2.50", null, "123456789012345678.99"] }, { d: type(2) });

describe("decimals compare exactly", () => {
  test("with decimals of any scale, by their value", () => {
    const cents = fc.bigInt({ min: -100000n, max: 100000n });
    fc.assert(
      fc.property(fc.array(fc.tuple(cents, cents)), fc.nat(4), fc.nat(4), (pairs, s, t) => {
        const texts = pairs.map(([a, b]) => [decimalText(a, s), decimalText(b, t)] as const);
        const given = block({ d: texts.map(([a]) => a), e: texts.map(([, b]) => b) }, { d: type(s), e: type(t) });
        if (pairs.length === 0) return;
        const less = pairs.filter(([a, b]) => a * 10n ** BigInt(t) < b * 10n ** BigInt(s)).map(([a]) => decimalText(a, s));
        const same = pairs.filter(([a, b]) => a * 10n ** BigInt(t) === b * 10n ** BigInt(s)).map(([a]) => decimalText(a, s));
        expect(kept(given, col("d").lt(col("e")))).toEqual(less);
        expect(kept(given, col("e").gt(col("d")))).toEqual(less);
        expect(kept(given, col("d").eq(col("e")))).toEqual(same);
      }),
    );
  });

  test("with texts, whole numbers and numbers as they are written", () => {
    expect(kept(prices, col("d").gt("1"))).toEqual(["1.01", "123456789012345678.99"]);
    expect(kept(prices, col("d").ge(lit(1)))).toEqual(["1.00", "1.01", "123456789012345678.99"]);
    expect(kept(prices, col("d").eq(lit(0.1)))).toEqual(["0.10"]);
    expect(kept(prices, col("d").le(lit(-2n)))).toEqual(["-2.50"]);
    expect(kept(prices, col("d").eq("123456789012345678.990"))).toEqual(["123456789012345678.99"]);
    expect(kept(prices, col("d").lt(lit(1e-7)))).toEqual(["-2.50"]);
    expect(kept(prices, col("d").isIn(["1.0", "-2.5"]))).toEqual(["1.00", "-2.50"]);
    expect(kept(prices, col("d").ne("1"))).toEqual(["0.10", "1.01", "-2.50", "123456789012345678.99"]);
    const beside = block({ d: ["1.50", "2.00", null], n: [2n, 2n, 2n], t: ["1.5", "x", "x"] }, { d: type(2) });
    expect(kept(beside, col("d").eq(col("n")))).toEqual(["2.00"]);
    expect(() => kept(beside, col("d").eq(col("t")))).toThrow(/is no decimal: "x"/);
  });

  test("with nothing else", () => {
    const beside = block({ d: ["1.50"], f: [1.5], b: [true] }, { d: type(2) });
    expect(() => kept(beside, col("d").eq(col("f")))).toThrow("received a column of float64");
    expect(() => kept(beside, col("d").eq(col("b")))).toThrow("compares values of one kind");
    expect(() => kept(prices, col("d").gt(lit(Number.NaN)))).toThrow("gt in d > NaN has a value that is no decimal: NaN");
    expect(() => kept(prices, col("d").gt("cheap"))).toThrow('has a value that is no decimal: "cheap"');
  });
});
