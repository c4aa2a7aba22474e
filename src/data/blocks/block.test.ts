/** Blocks against arrays of rows: built and read back, and sliced, taken, put together and packed at random. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { withDictionaries } from "../../../test/oracles/dictionary-blocks.ts";
import {
  type Block,
  blockBytes,
  blockOfRows,
  concatBlocks,
  decodeBlock,
  packBlock,
  rowsOf,
  schemaOf,
  sliceBlock,
  takeBlock,
} from "./block.ts";
import { Column } from "./column.ts";
import { buildVector } from "./vector-builder.ts";

const whole = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const time = fc.date({ min: new Date("-001000-01-01T00:00:00Z"), max: new Date("9999-12-31T00:00:00Z"), noInvalidDate: true });
const text = fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom("", "👩‍👩‍👧", "\u0000", "\uFEFFx", "ä".repeat(40)));
const nullable = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(value, { freq: 4 });

const row = fc.record({
  number: nullable(fc.double()),
  wide: nullable(whole),
  flag: nullable(fc.boolean()),
  text: nullable(text),
  bytes: nullable(fc.uint8Array({ maxLength: 5 })),
  time: nullable(time),
  list: nullable(fc.array(nullable(text), { maxLength: 3 })),
  deep: nullable(fc.array(nullable(fc.array(nullable(fc.boolean()), { maxLength: 9 })), { maxLength: 3 })),
  floats: nullable(fc.float32Array({ maxLength: 3 })),
  struct: nullable(fc.record({ x: nullable(fc.double()), constructor: nullable(text), flags: nullable(fc.array(fc.boolean())) })),
  nothing: fc.constant(null),
  plain: fc.double(),
});
type TestRow = ReturnType<typeof plain>;
const plain = (value: unknown): Record<string, unknown> => ({ ...(value as Record<string, unknown>) });
const rows = fc.array(row.map(plain), { maxLength: 20 });

interface Step {
  readonly kind: "slice" | "take" | "concat" | "pack";
  readonly a: number;
  readonly b: number;
}
const steps = fc.array(fc.record({ kind: fc.constantFrom<Step["kind"]>("slice", "take", "concat", "pack"), a: fc.nat(), b: fc.nat() }), {
  maxLength: 6,
});

function apply({ kind, a, b }: Step, block: Block, oracle: TestRow[], [otherBlock, other]: [Block, TestRow[]]): [Block, TestRow[]] {
  const size = oracle.length;
  switch (kind) {
    case "slice": {
      const start = a % (size + 1);
      const end = start + (b % (size - start + 1));
      return [sliceBlock(block, start, end), oracle.slice(start, end)];
    }
    case "take": {
      const indices = size === 0 ? [] : Array.from({ length: a % 30 }, (_, i) => (b + i * 7) % size);
      return [takeBlock(block, Uint32Array.from(indices)), indices.map((i) => oracle[i] as TestRow)];
    }
    case "concat":
      return [concatBlocks([block, otherBlock]), [...oracle, ...other]];
    case "pack":
      return [packBlock(block), oracle];
  }
}

test("rows are read back as they were, whatever was cut, taken, put together and packed", () => {
  fc.assert(
    fc.property(rows, rows, steps, (given, other, chosen) => {
      let state: [Block, TestRow[]] = [blockOfRows(given, "test"), given];
      for (const step of chosen) {
        state = apply(step, ...state, [blockOfRows(other, "test"), other]);
        expect(rowsOf(state[0])).toEqual(state[1]);
      }
    }),
    { numRuns: 300 },
  );
});

test("columns with dictionaries have the same rows, and are plain texts where they meet such", () => {
  fc.assert(
    fc.property(rows, rows, steps, fc.nat(5), fc.option(fc.nat(5)), (given, other, chosen, choice, otherChoice) => {
      let state: [Block, TestRow[]] = [withDictionaries(blockOfRows(given, "test"), choice), given];
      const plainOther = blockOfRows(other, "test");
      const beside = otherChoice === null ? plainOther : withDictionaries(plainOther, otherChoice);
      for (const step of chosen) {
        state = apply(step, ...state, [beside, other]);
        expect(rowsOf(state[0])).toEqual(state[1]);
        expect(rowsOf(decodeBlock(state[0]))).toEqual(state[1]);
      }
      const isPlain = chosen.some(({ kind }) => kind === "concat") && otherChoice === null;
      const types = schemaOf(state[0]).flatMap(({ name, type }) => (name === "text" || name === "bytes" ? [type.kind] : []));
      if (!isPlain) expect(types.filter((kind) => kind !== "null" && kind !== "dictionary")).toEqual([]);
    }),
    { numRuns: 300 },
  );
});

test("a few rows of a large dictionary travel without its other values", () => {
  const block = withDictionaries(
    blockOfRows(
      Array.from({ length: 2000 }, (_, i) => ({ t: `text ${i}` })),
      "test",
    ),
    2,
  );
  const few = sliceBlock(block, 500, 503);
  expect(blockBytes(few)).toBeLessThan(200);
  const packed = packBlock(few);
  expect(packed.vectors[0]?.children?.[0]?.length).toBe(3);
  expect(rowsOf(packed)).toEqual([{ t: "text 500" }, { t: "text 501" }, { t: "text 502" }]);
});

test("nulls among a few rows of a large dictionary stay null, whatever their codes", () => {
  const given = Array.from({ length: 2000 }, (_, i) => ({ t: i % 3 === 0 ? null : `text ${i}` }));
  for (const choice of [1, 2, 4, 5]) {
    const few = sliceBlock(withDictionaries(blockOfRows(given, "test"), choice), 500, 510);
    expect(rowsOf(packBlock(few))).toEqual(given.slice(500, 510));
    const beside = blockOfRows([{ t: "beside" }], "test");
    expect(rowsOf(concatBlocks([few, withDictionaries(beside, choice)]))).toEqual([...given.slice(500, 510), { t: "beside" }]);
  }
});

test("values of a dictionary that are more than a column holds are an error where they are written out", () => {
  const rowCount = 2_200_000;
  const children = [buildVector(["x".repeat(1000)])];
  const codes = { length: rowCount, nullCount: 0, bitOffset: 0, values: new Int8Array(rowCount), children };
  const block: Block = { rowCount, names: ["t"], vectors: [{ ...codes, type: { kind: "dictionary", of: { kind: "string" } } }] };
  expect(() => decodeBlock(block)).toThrow("at most 2 GiB of texts");
});

test("a dictionary that outgrows its codes gets wider ones", () => {
  const texts = (from: number): Block =>
    withDictionaries(
      blockOfRows(
        Array.from({ length: 100 }, (_, i) => ({ t: `${from + i}` })),
        "test",
      ),
      3,
    );
  const both = concatBlocks([texts(0), texts(100)]);
  expect(both.vectors[0]?.values).toBeInstanceOf(Int16Array);
  expect(rowsOf(both)).toEqual(Array.from({ length: 200 }, (_, i) => ({ t: `${i}` })));
});

test("a part of some structs that is named as what objects inherit is null in the others", () => {
  const block = blockOfRows([{ s: { constructor: "a", toString: 1 } }, { s: {} }, { s: null }], "test");
  expect(rowsOf(block)).toEqual([{ s: { constructor: "a", toString: 1 } }, { s: { constructor: null, toString: null } }, { s: null }]);
});

test("a column and a part of a struct named __proto__ are like any other", () => {
  const given = [JSON.parse('{"__proto__": 1, "s": {"__proto__": "x"}}') as object];
  expect(JSON.stringify(rowsOf(blockOfRows(given, "test")))).toBe('[{"__proto__":1,"s":{"__proto__":"x"}}]');
});

test("a value of another type names column, row and both types", () => {
  expect(() => blockOfRows([{ a: 1 }, { a: null }, { a: "x" }], "test")).toThrow(
    'Column "a" of test: row 2 is string, and the rows before are float64',
  );
});

test("a column reads by place from both ends, and whether there is a value", () => {
  fc.assert(
    fc.property(fc.array(nullable(text)), (values) => {
      const column = new Column<string | null>(buildVector(values), "v");
      expect([...column]).toEqual(values);
      expect(column.map((value, i) => [value, i])).toEqual(values.map((value, i) => [value, i]));
      for (let i = -values.length - 1; i <= values.length; i += 1) expect(column.at(i)).toBe(values.at(i));
      values.forEach((value, i) => {
        expect(column[i]).toBe(value);
        expect(column.isNull(i)).toBe(value === null);
      });
    }),
  );
});

test("a text that UTF-8 cannot hold is an error with its row, also within other values", () => {
  const half = "half of a character";
  expect(() => blockOfRows([{ a: "whole" }, { a: "\u{1F469}".slice(0, 1) }], "map(cut)")).toThrow(half);
  expect(() => blockOfRows([{ a: ["x", "\udc69"] }], "map(cut)")).toThrow(half);
  expect(() => blockOfRows([{ a: { b: `${"long ".repeat(20)}\ud83d` } }], "map(cut)")).toThrow(half);
  expect(rowsOf(blockOfRows([{ a: "\ud83d".toWellFormed() }], "map(cut)"))).toEqual([{ a: "\ufffd" }]);
});
