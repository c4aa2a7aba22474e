/** Decimals against whole numbers without a point: text, order, hashes, sums, and what becomes of them in blocks that are cut and put together. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { arrowOfBlocks } from "../../arrow/to-arrow.ts";
import { blocksOfArrow } from "../../arrow/from-arrow.ts";
import { kernelOf } from "../../aggregates/kernels.ts";
import { csvChunks } from "../../formats/csv/csv-writer.ts";
import { jsonLines } from "../../formats/json/json-writer.ts";
import { groupRows, hashRows } from "../../kernels/hash.ts";
import { sortedIndices } from "../../kernels/sort.ts";
import { type Block, concatBlocks, rowsOf, sliceBlock, takeBlock } from "../block.ts";
import { type DecimalType, decimalType, typeName, unifyTypes } from "../data-type.ts";
import { decimalText, parseDecimal } from "./decimals.ts";
import { valueReader } from "../value-reader.ts";
import type { Vector } from "../vector.ts";
import { buildVector } from "../vector-builder.ts";

const type = (precision: number, scale: number): DecimalType => decimalType(precision, scale) as DecimalType;
const block = (values: readonly (string | null)[], own: DecimalType): Block => ({
  rowCount: values.length,
  names: ["d"],
  vectors: [buildVector(values, own)],
});
const read = (one: Block): unknown[] => rowsOf(one).map(({ d }) => d);

const column = fc.tuple(fc.constantFrom(5, 18, 19, 38, 39, 57, 76), fc.nat(5)).chain(([precision, scale]) =>
  fc
    .array(fc.option(fc.bigInt({ min: 1n - 10n ** BigInt(precision), max: 10n ** BigInt(precision) - 1n }), { freq: 4 }), {
      maxLength: 15,
    })
    .map((values) => ({ own: type(precision, scale), values })),
);

test("are read back, cut, taken, sorted, grouped, added and sent as Arrow without the loss of a digit", () => {
  fc.assert(
    fc.property(column, ({ own, values }) => {
      const texts = values.map((value) => (value === null ? null : decimalText(value, own.scale)));
      const made = block(texts, own);
      expect(read(made)).toEqual(texts);
      const half = values.length >> 1;
      expect(read(concatBlocks([sliceBlock(made, half, values.length), sliceBlock(made, 0, half)]))).toEqual([
        ...texts.slice(half),
        ...texts.slice(0, half),
      ]);
      const [back] = blocksOfArrow(arrowOfBlocks([sliceBlock(made, half, values.length)])) as [Block];
      expect(read(back)).toEqual(texts.slice(half));
      for (const descending of [false, true]) {
        const order = [...values.keys()].toSorted((i, j) => {
          const [a, b] = [values[i] as bigint | null, values[j] as bigint | null];
          if (a === null || b === null) return Number(a === null) - Number(b === null) || i - j;
          return (a === b ? 0 : (a < b ? -1 : 1) * (descending ? -1 : 1)) || i - j;
        });
        expect([...sortedIndices(made, [{ column: "d", descending }])]).toEqual(order);
        expect(read(takeBlock(made, Uint32Array.from(order)))).toEqual(order.map((i) => texts[i]));
      }
      const { ids, firstRows } = groupRows(made.vectors, values.length);
      expect(firstRows.length).toBe(new Set(values).size);
      values.forEach((value, row) => expect(values[firstRows[ids[row] as number] as number]).toBe(value));
    }),
  );
});

test("sums are exact beyond what numbers hold, in one step and in several", () => {
  const small = fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n });
  fc.assert(
    fc.property(fc.array(fc.option(small), { minLength: 1, maxLength: 12 }), (values) => {
      const sum = kernelOf({ kind: "sum", column: "d" });
      const [vector] = block(
        values.map((value) => (value === null ? null : decimalText(value, 3))),
        type(38, 3),
      ).vectors as [Vector];
      const ids = Uint32Array.from(values, (_, i) => i % 2);
      const whole = sum.accumulate(vector, { ids, count: 2 });
      const merged = sum.finalize(sum.merge(whole, { ids: Uint32Array.of(0, 1), count: 2 }));
      const expected = [0, 1].map((group) => {
        const own = values.filter((value, i) => i % 2 === group && value !== null) as bigint[];
        return own.length === 0
          ? null
          : decimalText(
              own.reduce((a, b) => a + b, 0n),
              3,
            );
      });
      const reader = valueReader(merged);
      expect([reader(0), reader(1)]).toEqual(expected);
      expect(typeName(merged.type)).toBe("decimal<57, 3>");
    }),
  );
});

test("of two scales go together, and equal values have one hash", () => {
  const together = concatBlocks([block(["1.5", null], type(3, 1)), block(["1.50", "-0.25"], type(9, 2))]);
  expect(read(together)).toEqual(["1.50", null, "1.50", "-0.25"]);
  expect(typeName((together.vectors[0] as Vector).type)).toBe("decimal<9, 2>");
  const hash = (text: string, own: DecimalType): number => hashRows(block([text], own).vectors, 1)[0] as number;
  expect(hash("1.5", type(3, 1))).toBe(hash("1.50", type(9, 2)));
  expect(hash("100", type(3, 0))).toBe(hash("100.00", type(50, 2)));
  expect(unifyTypes(type(76, 0), type(76, 10))).toBeUndefined();
  expect(unifyTypes(type(5, 1), { kind: "float64" })).toBeUndefined();
});

test("texts that do not fit are refused", () => {
  const own = type(4, 2);
  for (const [text, expected] of [
    ["12.34", 1234n],
    ["+1", 100n],
    ["-0.50", -50n],
    ["1.230", 123n],
    ["1.234", undefined],
    ["100", undefined],
    ["1e2", undefined],
    [".5", undefined],
    ["NaN", undefined],
  ] as const)
    expect(parseDecimal(text, own)).toBe(expected);
  expect(() => buildVector(["1.00", "x"], own)).toThrow(`Row 1 is "x", and the column has the type decimal<4, 2>`);
  expect(decimalText(12n, -2)).toBe("1200");
});

test("have all their digits in CSV and JSON, and are numbers where that is asked for", () => {
  const made = block(["0.10", null, "-12.00"], type(6, 2));
  expect(Buffer.from(csvChunks(made, { header: true })).toString()).toBe('d\n0.10\n""\n-12.00\n');
  expect(Buffer.from(jsonLines(made)).toString()).toBe('{"d":0.10}\n{"d":null}\n{"d":-12.00}\n');
  expect(read(block(["0.10", null], { ...type(6, 2), as: "number" }))).toEqual([0.1, null]);
});
