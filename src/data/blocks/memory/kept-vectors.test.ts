/** Columns that a function hands on keep their types: every type, through every step that calls a function; and values that do not fit. */
import { expect, test } from "vitest";
import { NdArray } from "../../../core/index.ts";
import { runChain, type Transform } from "../../engine/tasks/transform.ts";
import { type Block, blockOfRows, concatBlocks, type Row, rowsOf, schemaOf, sliceBlock } from "../block.ts";
import {
  BIG_INT64,
  DATE,
  type DataType,
  decimalType,
  INT64,
  parseType,
  STRING,
  timeType,
  typeName,
  variableTensorType,
} from "../data-type.ts";
import type { Vector } from "../vector.ts";
import { buildVector, encodeVector } from "../vector-builder.ts";

const day = new Date("2024-02-29");
const moment = new Date("1999-12-31T23:59:59.123Z");

/** 64-bit counts as a column, also those that no Date has. */
function counts(type: DataType, ...values: bigint[]): Vector {
  return { type, length: values.length, nullCount: 0, bitOffset: 0, values: BigInt64Array.from(values) };
}

const of = (name: string): DataType => parseType(name) as DataType;
const us = 951_827_696_123_456n;
const struct: DataType = {
  kind: "struct",
  fields: [
    { name: "n", type: { kind: "int16" } },
    { name: "price", type: decimalType(9, 2) as DataType },
    { name: "days", type: { kind: "list", of: DATE, as: "array" } },
  ],
};
const square = (...values: number[]): NdArray => new NdArray(Float32Array.from(values), [values.length]);

/** A column of each type with its extremes. */
const columns: Readonly<Record<string, Vector>> = {
  ...Object.fromEntries(
    (["int8", "int16", "int32", "uint8", "uint16", "uint32"] as const).map((name) => {
      const bits = Number(/[0-9]+/.exec(name)?.[0]);
      const [least, most] = name.startsWith("u") ? [0, 2 ** bits - 1] : [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1];
      return [name, buildVector([least, 1, most], { kind: name })];
    }),
  ),
  float32: buildVector([0.5, Number.NaN, -0], of("float32")),
  float64: buildVector([0.1, Number.POSITIVE_INFINITY, -0]),
  int64: buildVector([-(2 ** 53) + 1, -1, 2 ** 53 - 1], INT64),
  uint64: buildVector([0, 1, 2 ** 53 - 1], of("uint64")),
  "int64 as bigint": buildVector([-(2n ** 63n), 0n, 2n ** 63n - 1n], BIG_INT64),
  "uint64 as bigint": buildVector([0n, 1n, 2n ** 64n - 1n], of("uint64 as bigint")),
  bool: buildVector([true, false, true]),
  text: buildVector(["", "é", "a"]),
  binary: buildVector([Uint8Array.of(), Uint8Array.of(1), Uint8Array.of(255, 0)]),
  date: buildVector([day, new Date("0001-01-01"), new Date("9999-12-31")], DATE),
  "timestamp[s]": buildVector([day, day, day], of("timestamp[s]")),
  "timestamp[ms]": buildVector([moment, day, moment], of("timestamp[ms]")),
  "timestamp[us]": counts(of("timestamp[us]"), us, -1n, -62_135_596_800_000_000n),
  "timestamp[us, Europe/Oslo]": counts({ kind: "timestamp", unit: "us", timeZone: "Europe/Oslo" }, us, -us, 0n),
  "timestamp[ns]": counts(of("timestamp[ns]"), us * 1000n + 789n, -1n, 2n ** 62n),
  "time32[s]": buildVector([0, 1, 86_399], timeType("s")),
  "time64[ns]": buildVector([0n, 1n, 86_399_999_999_999n], timeType("ns")),
  "duration[us]": buildVector([-1n, 0n, 1n], of("duration[us]")),
  "decimal<9, 2>": buildVector(["-1.50", "0.00", "9999999.99"], decimalType(9, 2)),
  "decimal<38, 0>": buildVector(["-12345678901234567890123456789012345678", "0", "-7"], decimalType(38, 0)),
  "decimal<76, 10>": buildVector([`${"9".repeat(66)}.0123456789`, "-0.0000000001", "5.0000000000"], decimalType(76, 10)),
  "decimal<9, 2> as number": buildVector([-1.5, 0, 9_999_999.99], decimalType(9, 2, "number")),
  "dictionary<string>": encodeVector(buildVector(["a", "b", "a"])),
  "dictionary<binary>": encodeVector(buildVector([Uint8Array.of(1), Uint8Array.of(2), Uint8Array.of(1)])),
  "list<int64>": buildVector([[1, 2], [], [3]], { kind: "list", of: INT64, as: "array" }),
  "list<list<date>>": buildVector([[[day]], [], [[], [day, null]]], {
    kind: "list",
    of: { kind: "list", of: DATE, as: "array" },
    as: "array",
  }),
  "list<uint8> as typed array": buildVector([Uint8Array.of(1), Uint8Array.of(), Uint8Array.of(2, 3)], {
    kind: "list",
    of: { kind: "uint8" },
    as: "typed array",
  }),
  struct: buildVector(
    [
      { n: 1, price: "1.00", days: [day] },
      { n: null, price: "0.50", days: null },
      { n: -3, price: null, days: [] },
    ],
    struct,
  ),
  "list<struct>": buildVector([[{ n: 1, price: "1.00", days: [day] }], [], [null]], { kind: "list", of: struct, as: "array" }),
  tensor: buildVector([square(1, 2), square(3, 4), square(5, 6)]),
  "tensor of any shape": buildVector([square(1), square(1), square(1)], variableTensorType("float32", 1)),
};

/** The rows, nulls among them, and nulls alone. */
const shapes: Readonly<Record<string, (vector: Vector) => Vector>> = {
  values: (vector) => vector,
  "values and nulls": (vector) => ({ ...vector, nullCount: 1, validity: Uint8Array.of(0b101) }),
  "nulls alone": (vector) => ({ ...vector, nullCount: 3, validity: Uint8Array.of(0) }),
};

type Rows = readonly Row[];
const batches = (name: string, batchFormat: "rows" | "columns", fn: (batch: any) => unknown): Transform => ({
  kind: "mapBatches",
  name,
  fn: fn as (batch: never) => unknown,
  batchFormat,
  batchSize: undefined,
});

const steps: readonly Transform[] = [
  { kind: "map", name: "map", fn: (row: Row) => ({ ...row }) },
  { kind: "map", name: "map with await", fn: async (row: Row) => ({ ...row }) },
  { kind: "flatMap", name: "flatMap", fn: (row: Row) => [{ ...row }] },
  batches("mapBatches of rows", "rows", (rows: Rows) => rows.map((row) => ({ ...row }))),
  batches("mapBatches of columns", "columns", (batch: object) => ({ ...batch })),
  batches("mapBatches of columns as arrays", "columns", (batch: Record<string, Iterable<unknown>>) =>
    Object.fromEntries(Object.entries(batch).map(([name, values]) => [name, [...values]])),
  ),
  batches("mapBatches with a generator", "rows", function* (rows: Rows) {
    yield rows.map((row) => ({ ...row }));
  }),
];

async function after(block: Block, ...chain: readonly Transform[]): Promise<Block> {
  const made: Block[] = [];
  async function* blocks(): AsyncGenerator<Block> {
    yield block;
  }
  for await (const one of runChain(blocks(), chain)) made.push(one);
  return concatBlocks(made);
}

const types = (block: Block): string[] => schemaOf(block).map(({ type }) => typeName(type));
/** The counts of a column, which Dates do not show. */
const stored = ({ values, length }: Vector): unknown => (values instanceof BigInt64Array ? values.subarray(0, length) : undefined);

test.each(steps.map((step) => [step.name, step] as const))("%s hands on every type with all of its values", async (_, step) => {
  for (const shaped of Object.values(shapes)) {
    const names = Object.keys(columns);
    const input: Block = { rowCount: 3, names, vectors: Object.values(columns).map(shaped) };
    const output = await after(input, step);
    const typesOf = (block: Block): object => Object.fromEntries(names.map((name, i) => [name, types(block)[i]]));
    expect(typesOf(output)).toEqual(typesOf(input));
    expect(rowsOf(output)).toEqual(rowsOf(input));
    if (input.vectors[0]?.nullCount === 0) expect(output.vectors.map(stored)).toEqual(input.vectors.map(stored));
  }
});

/** A column, values that a function gives for the column, and the type of these values. */
const changed: readonly (readonly [string, string, readonly unknown[], string])[] = [
  ["int8", "numbers within the range", [5, -128, 127], "int8"],
  ["int8", "a number beyond the range", [5, 6, 128], "float64"],
  ["int16", "minus nothing", [1, 2, -0], "float64"],
  ["int64", "minus nothing", [1, 2, -0], "float64"],
  ["int64", "a fraction", [1, 2, 0.5], "float64"],
  ["int64", "texts", ["1", "2", "3"], "string"],
  ["int64", "bigints", [1n, 2n, 3n], "int64 as bigint"],
  ["uint64", "a negative number", [1, 2, -3], "float64"],
  ["float32", "numbers that it holds", [0.25, 2, 3], "float32"],
  ["float32", "a number that it would round", [0.25, 2, 0.1], "float64"],
  ["date", "midnights", [day, null, day], "date"],
  ["date", "a time of day", [day, moment, day], "timestamp[ms]"],
  ["timestamp[s]", "milliseconds", [day, moment, day], "timestamp[ms]"],
  ["timestamp[us, Europe/Oslo]", "new Dates", [moment, day, day], "timestamp[us, Europe/Oslo]"],
  ["timestamp[ns]", "days that 64 bits of nanoseconds do not hold", [new Date("0001-01-01"), day, new Date("9999-12-31")], "timestamp[ms]"],
  ["decimal<9, 2>", "texts that are written so", ["1.25", "-0.01", null], "decimal<9, 2>"],
  ["decimal<9, 2>", "a text with fewer digits", ["1.25", "1.5", "0.00"], "string"],
  ["decimal<9, 2>", "a text with zeros before it", ["1.25", "01.50", "0.00"], "string"],
  ["decimal<9, 2>", "a text of minus nothing", ["1.25", "-0.00", "0.00"], "string"],
  ["decimal<9, 2>", "a text with more digits than it has", ["1.25", "12345678.00", "0.00"], "string"],
  ["decimal<38, 0>", "a text with an exponent", ["1e3", "1", "2"], "string"],
  ["decimal<9, 2>", "numbers", [1.25, 2, 3], "float64"],
  ["list<int64>", "other lists", [[9], [], null], "list<int64>"],
  ["list<int64>", "fractions", [[0.5], [], null], "list<float64>"],
  ["dictionary<string>", "new words", ["x", "y", "z"], "dictionary<string>"],
  ["struct", "a part more and one less", [{ n: 1, more: true }, null, { n: 2 }], "struct<n: int16, more: bool>"],
];

test.each(changed)("a column of %s given %s is %s", async (column, _, values, type) => {
  const input: Block = { rowCount: 3, names: ["v"], vectors: [columns[column] as Vector] };
  let row = 0;
  const output = await after(input, { kind: "map", name: "map", fn: () => ({ v: values[row++] }) });
  expect(types(output)).toEqual([type]);
  expect(rowsOf(output)).toEqual(values.map((v) => ({ v: v === null ? null : expectOf(v) })));
});

/** Structs are read with all of their parts. */
function expectOf(value: unknown): unknown {
  return Object.prototype.toString.call(value) === "[object Object]" ? { n: null, more: null, ...(value as object) } : value;
}

test("whole float64 in place of int64 are int64 again, and other typed arrays are what they say", async () => {
  const input: Block = { rowCount: 3, names: ["id", "n"], vectors: [columns["int64"] as Vector, columns["int32"] as Vector] };
  const batch = (id: Float64Array, n: ArrayLike<number>) => batches("own", "columns", () => ({ id, n }));
  expect(types(await after(input, batch(Float64Array.of(1, -5, 2 ** 40), Float64Array.of(1, 2, 3))))).toEqual(["int64", "float64"]);
  expect(types(await after(input, batch(Float64Array.of(1, -5, 0.5), [1, 2, 3])))).toEqual(["float64", "int32"]);
});

test("microseconds are kept under another name, and lost by a Date that was set anew", async () => {
  const input: Block = { rowCount: 1, names: ["at"], vectors: [counts(of("timestamp[us]"), us)] };
  const renamed = await after(input, { kind: "map", name: "map", fn: ({ at }: Row) => ({ when: at }) });
  expect([types(renamed), stored(renamed.vectors[0] as Vector)]).toEqual([["timestamp[us]"], BigInt64Array.of(us)]);
  const fn = ({ at }: { at: Date }) => ({ at: new Date(at.setUTCMilliseconds(0)) });
  const cut = await after(input, { kind: "map", name: "map", fn });
  expect([types(cut), stored(cut.vectors[0] as Vector)]).toEqual([["timestamp[us]"], BigInt64Array.of(us - (us % 1_000_000n))]);
  expect(rowsOf(input)[0]?.["at"]).toStrictEqual(new Date(Number(us / 1000n)));
});

test("blocks of days and of moments meet as moments, and rows that did not fit widen those that did", async () => {
  const input: Block = { rowCount: 3, names: ["day", "n"], vectors: [columns["date"] as Vector, columns["int8"] as Vector] };
  const fn = ({ n, ...row }: { day: Date; n: number }) => ({ day: n > 1 ? moment : row.day, n: n > 1 ? 1000 : n });
  const step: Transform = { kind: "map", name: "map", fn };
  const blocks = [await after(sliceBlock(input, 0, 2), step), await after(sliceBlock(input, 2, 3), step)];
  expect(blocks.map(types)).toEqual([
    ["date", "int8"],
    ["timestamp[ms]", "float64"],
  ]);
  const all = concatBlocks(blocks);
  expect(types(all)).toEqual(["timestamp[ms]", "float64"]);
  expect(rowsOf(all).map(({ n }) => n)).toEqual([-128, 1, 1000]);
  expect(rowsOf(all)[0]).toEqual({ day, n: -128 });
});

test("rows that nothing offers a type have the types of their values", () => {
  expect(types(blockOfRows([{ a: 1, b: day, c: "1.50" }], "test"))).toEqual(["float64", "timestamp[ms]", typeName(STRING)]);
});
