/** Arithmetic of decimals against the same in whole numbers without a point. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Block, rowsOf, sliceBlock } from "../../blocks/block.ts";
import { type DataType, parseType, typeName } from "../../blocks/data-type.ts";
import { decimalText } from "../../blocks/values/decimals.ts";
import type { Vector } from "../../blocks/vector.ts";
import { buildVector } from "../../blocks/vector-builder.ts";
import { withColumns } from "../evaluate.ts";
import { col, type Expression, lit, nodeOf } from "../expression.ts";

type Columns = Readonly<Record<string, readonly [type: string, values: readonly unknown[]]>>;

/** A row before and one behind are cut off. */
function blockOf(columns: Columns): Block {
  const vectors = Object.values(columns).map(([type, values]) => buildVector([null, ...values, null], parseType(type) as DataType));
  const rowCount = (vectors[0] as Vector).length;
  return sliceBlock({ rowCount, names: Object.keys(columns), vectors }, 1, rowCount - 1);
}

function computed(block: Block, expression: Expression): { type: string; values: unknown[] } {
  const result = withColumns(block, [{ name: "v", node: nodeOf(expression) }], "test");
  return { type: typeName((result.vectors.at(-1) as Vector).type), values: rowsOf(result).map((row) => row["v"]) };
}

const unscaled = fc.array(fc.option(fc.bigInt({ min: -(10n ** 12n), max: 10n ** 12n }), { freq: 4 }), { minLength: 5, maxLength: 5 });

test("sums, differences and products are exact, with nulls where one is null", () => {
  fc.assert(
    fc.property(unscaled, unscaled, fc.nat(6), fc.nat(6), (left, right, scaleA, scaleB) => {
      const texts = (values: readonly (bigint | null)[], scale: number): unknown[] =>
        values.map((value) => (value === null ? null : decimalText(value, scale)));
      const block = blockOf({ a: [`decimal<20, ${scaleA}>`, texts(left, scaleA)], b: [`decimal<20, ${scaleB}>`, texts(right, scaleB)] });
      const scale = Math.max(scaleA, scaleB);
      const at = (value: bigint, own: number): bigint => value * 10n ** BigInt(scale - own);
      const both = (of: (a: bigint, b: bigint) => string): unknown[] =>
        left.map((a, i) => (a === null || right[i] === null ? null : of(a, right[i] as bigint)));
      const [a, b] = [col("a"), col("b")];
      expect(computed(block, a.add(b)).values).toEqual(both((x, y) => decimalText(at(x, scaleA) + at(y, scaleB), scale)));
      expect(computed(block, a.sub(b)).values).toEqual(both((x, y) => decimalText(at(x, scaleA) - at(y, scaleB), scale)));
      expect(computed(block, a.mul(b)).values).toEqual(both((x, y) => decimalText(x * y, scaleA + scaleB)));
    }),
  );
});

describe("the type", () => {
  const block = blockOf({
    price: ["decimal<12, 2>", ["10.00", "-0.05", null]],
    n: ["int32", [3, -4, 5]],
    big: ["int64 as bigint", [2n ** 60n, 1n, 1n]],
    x: ["float64", [1, 2, 3]],
  });
  const price = col("price");

  test.each([
    [price.add(price), "decimal<13, 2>", ["20.00", "-0.10", null]],
    [price.sub(1), "decimal<13, 2>", ["9.00", "-1.05", null]],
    [price.mul(1.19), "decimal<15, 4>", ["11.9000", "-0.0595", null]],
    [lit(0.1).mul(price), "decimal<13, 3>", ["1.000", "-0.005", null]],
    [price.mul("2.5"), "decimal<14, 3>", ["25.000", "-0.125", null]],
    [price.mul(col("n")), "decimal<22, 2>", ["30.00", "0.20", null]],
    [price.add(col("big")), "decimal<23, 2>", ["1152921504606846986.00", "0.95", null]],
    [price.neg(), "decimal<12, 2>", ["-10.00", "0.05", null]],
    [price.abs(), "decimal<12, 2>", ["10.00", "0.05", null]],
    [price.round(1), "decimal<12, 1>", ["10.0", "0.0", null]],
    [price.round(2), "decimal<12, 2>", ["10.00", "-0.05", null]],
    [price.mul(1.19).round(2), "decimal<14, 2>", ["11.90", "-0.06", null]],
    [price.sub(0.45).round(), "decimal<12, 0>", ["10", "0", null]],
    [price.sub("0.46").round(), "decimal<12, 0>", ["10", "-1", null]],
    [price.add(lit(null)), "null", [null, null, null]],
    [lit(5).cast("decimal<3, 1>").mul(2), "decimal<4, 1>", ["10.0", "10.0", "10.0"]],
  ])("of %s is that of what its inputs may give", (expression, type, values) => {
    expect(computed(block, expression as Expression)).toEqual({ type, values });
  });

  test("is none for what has no exact result", () => {
    for (const expression of [price.div(3), price.pow(2), price.mod(1), price.floorDiv(2), price.ceil(), price.sqrt()])
      expect(() => computed(block, expression as Expression)).toThrow("has no exact result for decimals");
    expect(() => computed(block, price.mul(col("x")))).toThrow("received a column of float64");
    expect(() => computed(block, price.mul("cheap"))).toThrow('is no decimal: "cheap"');
    expect(() => computed(block, price.mul(Number.NaN))).toThrow("is no decimal: NaN");
  });

  test("has up to 76 digits, and a value with more is an error", () => {
    const nines = "9".repeat(70);
    const large = blockOf({ d: ["decimal<70, 0>", [nines]], fine: ["decimal<70, 70>", [`0.${nines}`]] });
    expect(computed(large, col("d").mul(1_000_000))).toEqual({ type: "decimal<76, 0>", values: [`${nines}000000`] });
    expect(() => computed(large, col("d").mul(10_000_000))).toThrow("row 1 of the 1 in its block is mul of");
    expect(() => computed(large, col("fine").mul(col("fine")))).toThrow("gives 140 digits behind the point");
  });
});

describe("casts to decimals", () => {
  const block = blockOf({
    text: ["string", [" 1.50", "-2", "1e2"]],
    x: ["float64", [0.1, -2.5, 1e-3]],
    n: ["int64", [7, -8, 9]],
    d: ["decimal<9, 3>", ["1.100", "2.000", null]],
    bad: ["string", ["1.005", "x", null]],
  });

  test("are exact", () => {
    expect(computed(block, col("text").cast("decimal<6, 2>"))).toEqual({ type: "decimal<6, 2>", values: ["1.50", "-2.00", "100.00"] });
    expect(computed(block, col("x").cast("decimal<40, 3>")).values).toEqual(["0.100", "-2.500", "0.001"]);
    expect(computed(block, col("n").cast("decimal<3, 1>")).values).toEqual(["7.0", "-8.0", "9.0"]);
    expect(computed(block, col("d").cast("decimal<5, 1>")).values).toEqual(["1.1", "2.0", null]);
  });

  test("name what the type does not hold", () => {
    expect(() => computed(block, col("bad").cast("decimal<6, 2>"))).toThrow(
      'row 1 of the 3 in its block is "1.005", which decimal<6, 2> does not hold',
    );
    expect(() => computed(block, col("x").cast("decimal<6, 2>"))).toThrow(
      "row 3 of the 3 in its block is 0.001, which decimal<6, 2> does not hold",
    );
    expect(() => computed(block, col("text").cast("decimal<2, 2>"))).toThrow("does not hold");
    for (const name of ["decimal", "decimal<0, 0>", "decimal<5, 6>", "decimal<77, 2>", "decimal<5>"])
      expect(() => col("x").cast(name as "int8")).toThrow("Cannot call cast: it takes the name of a type");
  });
});
