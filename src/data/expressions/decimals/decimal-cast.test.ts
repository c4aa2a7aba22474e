/** Casts of decimals, and values in place of their nulls, against the same in whole numbers without a point. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Block, rowsOf, sliceBlock } from "../../blocks/block.ts";
import { type DecimalType, decimalType, typeName } from "../../blocks/data-type.ts";
import { decimalText } from "../../blocks/values/decimals.ts";
import type { Vector } from "../../blocks/vector.ts";
import { buildVector } from "../../blocks/vector-builder.ts";
import { withColumns } from "../evaluate.ts";
import { col, type Expression, nodeOf } from "../expression.ts";

const type = (scale: number, precision = 20, as: "text" | "number" = "text"): DecimalType =>
  decimalType(precision, scale, as) as DecimalType;

/** A column `d`, of which a row before and one behind are cut off. */
const blockOf = (values: readonly (string | null)[], own: DecimalType): Block =>
  sliceBlock({ rowCount: values.length + 2, names: ["d"], vectors: [buildVector([null, ...values, "1"], own)] }, 1, values.length + 1);
const computed = (block: Block, expression: Expression): Block => withColumns(block, [{ name: "v", node: nodeOf(expression) }], "test");
const valuesOf = (block: Block, expression: Expression): unknown[] => rowsOf(computed(block, expression)).map((row) => row["v"]);

const numbers = fc.array(fc.option(fc.bigInt({ min: -(10n ** 19n), max: 10n ** 19n }), { freq: 4 }), { minLength: 1, maxLength: 9 });

describe("casts", () => {
  test("to float64 and float32 are the numbers that the texts are, to string the texts", () => {
    fc.assert(
      fc.property(numbers, fc.nat(18), fc.constantFrom(20, 60), (values, scale, precision) => {
        const texts = values.map((value) => (value === null ? null : decimalText(value, scale)));
        const block = blockOf(texts, type(scale, precision));
        const as = (round: (value: number) => number): unknown[] => texts.map((text) => (text === null ? null : round(Number(text))));
        expect(valuesOf(block, col("d").cast("float64"))).toEqual(as((value) => value));
        expect(valuesOf(block, col("d").cast("float32"))).toEqual(as(Math.fround));
        expect(valuesOf(block, col("d").cast("string"))).toEqual(texts);
      }),
    );
  });

  test.each([
    ["int8", -128n, 127n],
    ["uint32", 0n, 4_294_967_295n],
    ["int64 as bigint", -(2n ** 63n), 2n ** 63n - 1n],
    ["uint64 as bigint", 0n, 2n ** 64n - 1n],
  ] as const)("to %s are exact, or name what it does not hold", (kind, least, most) => {
    const whole = (value: bigint): unknown => (kind.endsWith("bigint") ? value : Number(value));
    const name = kind.split(" ")[0] as string;
    const held = blockOf([`${least}.00`, null, `${most}.00`], type(2, 30));
    expect(valuesOf(held, col("d").cast(kind))).toEqual([whole(least), null, whole(most)]);
    for (const text of [`${least - 1n}.00`, `${most + 1n}.00`, "1.50", "0.01"])
      expect(() => valuesOf(blockOf([null, text], type(2, 30)), col("d").cast(kind))).toThrow(
        new RegExp(`row 2 of the 2 in its block is ${text.replace(".", "\\.")}, which ${name}.* does not hold`),
      );
  });

  test("without digits behind the point, or with zeros before it", () => {
    const thousands: Vector = { ...buildVector(["5", "-7"], type(0)), type: { ...type(0), scale: -3 } };
    const block: Block = { rowCount: 2, names: ["d"], vectors: [thousands] };
    expect(valuesOf(block, col("d").cast("int32"))).toEqual([5000, -7000]);
    expect(valuesOf(block, col("d").cast("float64"))).toEqual([5000, -7000]);
  });

  test("to what is no number are an error, and division names the cast that makes numbers", () => {
    const block = blockOf(["1.50"], type(2));
    expect(() => valuesOf(block, col("d").cast("date"))).toThrow("makes no date of decimal<20, 2>");
    expect(() => valuesOf(block, col("d").div(3))).toThrow(
      expect.objectContaining({ hint: 'cast("float64") makes the nearest numbers of decimals' }),
    );
    expect(valuesOf(block, col("d").cast("float64").add(1))).toEqual([2.5]);
  });
});

describe("values in place of nulls", () => {
  const block = blockOf(["0.10", null, "-2.50"], type(2, 7));

  test("keep the column's type, exact, be they texts or numbers", () => {
    for (const value of ["9.99", 9.99, "9.990"]) {
      expect(valuesOf(block, col("d").fillNull(value))).toEqual(["0.10", "9.99", "-2.50"]);
      expect(typeName((computed(block, col("d").fillNull(value)).vectors[1] as Vector).type)).toBe("decimal<7, 2>");
    }
    expect(valuesOf(block, col("d").fillNull(-3n))).toEqual(["0.10", "-3.00", "-2.50"]);
    expect(valuesOf(blockOf([null], type(8)), col("d").fillNull(1e-7))).toEqual(["0.00000010"]);
    expect(valuesOf(blockOf([null, "2"], type(1, 9, "number")), col("d").fillNull("0.5"))).toEqual([0.5, 2]);
  });

  test("may be those of another column of decimals", () => {
    const both: Block = { ...block, names: ["d", "e"], vectors: [...block.vectors, buildVector(["1.001", "2.002", null], type(3))] };
    expect(valuesOf(both, col("d").fillNull(col("e")))).toEqual(["0.100", "2.002", "-2.500"]);
  });

  test("that the type does not hold are an error", () => {
    for (const [value, shown] of [
      ["0.001", '"0.001"'],
      [123456, "123456"],
      ["x", '"x"'],
      [Number.NaN, "NaN"],
    ] as const)
      expect(() => valuesOf(block, col("d").fillNull(value))).toThrow(`decimal<7, 2> does not hold ${shown}`);
    expect(() => valuesOf(block, col("d").fillNull(true))).toThrow("takes values of one type");
  });
});
