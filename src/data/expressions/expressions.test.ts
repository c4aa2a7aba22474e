/** Expressions on blocks against the same expressions on single rows: random trees, random rows with nulls, NaN and whole numbers beyond 2^53, cut out of larger blocks. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Block, sliceBlock, vectorOf } from "../blocks/block.ts";
import { BIG_INT64, BOOL, type DataType, FLOAT64, INT64, STRING } from "../blocks/data-type.ts";
import type { Vector } from "../blocks/vector.ts";
import { buildVector } from "../blocks/vector-builder.ts";
import { valueReader } from "../blocks/value-reader.ts";
import { filteredRows, withColumns } from "./evaluate.ts";
import { col, type Expression, lit, nodeOf } from "./expression.ts";
import type { ExpressionNode } from "./nodes.ts";

const COLUMNS: Readonly<Record<string, DataType>> = {
  x: FLOAT64,
  y: FLOAT64,
  n: { kind: "int32" },
  i: INT64,
  j: INT64,
  w: BIG_INT64,
  t: STRING,
  u: STRING,
  b: BOOL,
  c: BOOL,
};
type Row = Readonly<Record<string, unknown>>;

function blockOf(rows: readonly Row[], columns: Readonly<Record<string, DataType>> = COLUMNS): Block {
  const names = Object.keys(columns);
  const vectors = names.map((name) =>
    buildVector(
      rows.map((row) => row[name]),
      columns[name] as DataType,
    ),
  );
  return { rowCount: rows.length, names, vectors };
}

function computed(block: Block, expression: Expression): Vector {
  return vectorOf(withColumns(block, [{ name: "result", node: nodeOf(expression) }], "test"), "result") as Vector;
}

/** Reads the values; 64-bit numbers always as bigint. */
function valuesOf(vector: Vector): unknown[] {
  const { type } = vector;
  const read = valueReader(type.kind === "int64" || type.kind === "uint64" ? { ...vector, type: { ...type, as: "bigint" } } : vector);
  return Array.from({ length: vector.length }, (_, row) => read(row));
}

// ---------------------------------------------------------------------------------------------------------------------
// The oracle: one row at a time, with the values as JavaScript has them and 64 bits as bigint.

type Kind = "float" | "small" | "wide" | "big" | "text" | "bool" | "null";
interface Typed {
  readonly kind: Kind;
  readonly value: unknown;
  /** No column is in it. Default: false. */
  readonly isConstant?: boolean;
}

const KIND_OF: Readonly<Record<string, Kind>> = {
  x: "float",
  y: "float",
  n: "small",
  i: "wide",
  j: "wide",
  w: "big",
  t: "text",
  u: "text",
  b: "bool",
  c: "bool",
};
const ARITHMETIC = ["add", "sub", "mul", "div", "mod", "floorDiv", "pow"];
const OF_NUMBERS: Readonly<Record<string, (a: number, b: number) => number>> = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  div: (a, b) => a / b,
  mod: (a, b) => a % b,
  floorDiv: (a, b) => Math.floor(a / b),
  pow: (a, b) => a ** b,
};

function literalKind(value: unknown): Kind {
  if (value === null) return "null";
  if (typeof value === "bigint") return "big";
  if (typeof value === "string") return "text";
  return typeof value === "boolean" ? "bool" : Number.isSafeInteger(value) ? "small" : "float";
}

/** An exact number of 64 bits, or an error. */
function held(value: bigint): bigint {
  if (BigInt.asIntN(64, value) !== value) throw new RangeError("too large");
  return value;
}

function ofBigints(fn: string, a: bigint, b: bigint): bigint {
  if (fn === "floorDiv") {
    const quotient = a / b;
    return held(quotient * b !== a && a < 0n !== b < 0n ? quotient - 1n : quotient);
  }
  if (fn === "pow" && b > 100n) return a === 0n || a === 1n ? a : a === -1n ? (b % 2n === 0n ? 1n : -1n) : held(2n ** 70n);
  return held(
    { add: () => a + b, sub: () => a - b, mul: () => a * b, div: () => a / b, mod: () => a % b, pow: () => a ** b }[
      fn as "add" | "sub" | "mul" | "div" | "mod" | "pow"
    ](),
  );
}

function toNumber({ value }: Typed): number {
  if (typeof value === "bigint" && !Number.isSafeInteger(Number(value))) throw new RangeError("would be rounded");
  return Number(value);
}

/** A whole number that is the same for all rows mixes with any other, however it was computed. */
function wholeKind({ kind, value, isConstant }: Typed): Kind {
  return kind === "float" && isConstant === true && Number.isSafeInteger(value) ? "small" : kind;
}

function arithmeticOf(fn: string, a: Typed, b: Typed): Typed {
  const kinds = [wholeKind(a), wholeKind(b)];
  if (kinds.includes("null")) return { kind: "null", value: null };
  const isBig = kinds.includes("big");
  const isWhole = kinds.every((kind) => kind !== "float");
  if (isBig && !isWhole) throw new TypeError("mixed");
  const isExact = isBig || (isWhole && kinds.includes("wide") && fn !== "div" && fn !== "pow");
  const kind = isBig ? "big" : isExact ? "wide" : "float";
  if (a.value === null || b.value === null) return { kind, value: null };
  if (isExact) return { kind, value: ofBigints(fn, BigInt(a.value as number), BigInt(b.value as number)) };
  return { kind, value: (OF_NUMBERS[fn] as (a: number, b: number) => number)(toNumber(a), toNumber(b)) };
}

function byteOrder(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

function comparisonOf(fn: string, { value: a }: Typed, { value: b }: Typed): boolean | null {
  if (a === null || b === null) return null;
  const [x, y] = typeof a === "string" ? [byteOrder(a, b as string), 0] : [a as number, b as number];
  switch (fn) {
    case "eq":
      return x <= y && !(x < y);
    case "ne":
      return !(x <= y && !(x < y));
    case "gt":
      return x > y;
    case "ge":
      return x >= y;
    case "lt":
      return x < y;
    default:
      return x <= y;
  }
}

function oracle(node: ExpressionNode, row: Row): Typed {
  if (node.kind === "column") return { kind: KIND_OF[node.name] as Kind, value: row[node.name] };
  if (node.kind === "literal") return { kind: literalKind(node.value), value: node.value, isConstant: true };
  if (node.kind !== "call") throw new Error("no expression here asks for numbers of rows");
  const { fn, args } = node;
  const [a, b] = node.inputs.map((input) => oracle(input, row)) as [Typed, Typed];
  if (ARITHMETIC.includes(fn)) return { ...arithmeticOf(fn, a, b), isConstant: a.isConstant === true && b.isConstant === true };
  switch (fn) {
    case "and": {
      const value = a.value === false || b.value === false ? false : a.value === null || b.value === null ? null : true;
      return { kind: "bool", value };
    }
    case "or": {
      const value = a.value === true || b.value === true ? true : a.value === null || b.value === null ? null : false;
      return { kind: "bool", value };
    }
    case "not":
      return { kind: "bool", value: a.value === null ? null : a.value !== true };
    case "isNull":
      return { kind: "bool", value: a.value === null };
    case "isNotNull":
      return { kind: "bool", value: a.value !== null };
    case "isIn": {
      const found = (args[0] as unknown[]).some((value) => comparisonOf("eq", a, { kind: "float", value }));
      return { kind: "bool", value: a.value === null ? null : found };
    }
    default:
      return { kind: "bool", value: comparisonOf(fn, a, b) };
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Random rows and trees

const nullable = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(value, { freq: 5 });
const float = fc.oneof(
  fc.double(),
  fc.integer({ min: -5, max: 5 }),
  fc.constantFrom(Number.NaN, -0, Number.POSITIVE_INFINITY, 2 ** 53, 2 ** 63),
);
const wide = fc.oneof(
  fc.bigInt({ min: -10n, max: 10n }),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.constantFrom(2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, -(2n ** 53n), -(2n ** 63n), 2n ** 31n, 2n ** 32n, -(2n ** 32n)),
);
const text = fc.oneof(fc.string({ maxLength: 3 }), fc.constantFrom("", "a", "ab", "é", "\u{1F469}", "￿"));
const row: fc.Arbitrary<Row> = fc.record({
  x: nullable(float),
  y: nullable(float),
  n: nullable(fc.oneof(fc.integer(), fc.integer({ min: -3, max: 3 }))),
  i: nullable(wide),
  j: nullable(fc.bigInt({ min: -100n, max: 100n })),
  w: nullable(wide),
  t: nullable(text),
  u: nullable(text),
  b: nullable(fc.boolean()),
  c: nullable(fc.boolean()),
});
/** Rows of which some at both ends are cut off. */
const rows = fc.record({
  before: fc.array(row, { maxLength: 9 }),
  rows: fc.array(row, { maxLength: 20 }),
  after: fc.array(row, { maxLength: 3 }),
});

const literalNumber = fc.oneof(float, fc.integer({ min: -100, max: 100 })).map((value): Expression => lit(value));
const column = (...names: string[]): fc.Arbitrary<Expression> => fc.constantFrom(...names).map((name): Expression => col(name));
type Binary = "add" | "sub" | "mul" | "div" | "mod" | "floorDiv" | "pow" | "eq" | "ne" | "gt" | "ge" | "lt" | "le" | "and" | "or";
const binary = (names: readonly Binary[], a: fc.Arbitrary<Expression>, b: fc.Arbitrary<Expression>): fc.Arbitrary<Expression> =>
  fc.tuple(fc.constantFrom(...names), a, b).map(([name, x, y]): Expression => x[name](y));
const COMPARED: readonly Binary[] = ["eq", "ne", "gt", "ge", "lt", "le"];

const trees = fc.letrec<{ number: Expression; bool: Expression; text: Expression }>((tie) => ({
  number: fc.oneof(
    { maxDepth: 3 },
    column("x", "y", "n", "i", "j", "w"),
    literalNumber,
    wide.map((value): Expression => lit(value)),
    fc.constant<Expression>(lit(null)),
    binary(["add", "sub", "mul", "div", "mod", "floorDiv", "pow"], tie("number"), tie("number")),
  ),
  text: fc.oneof(
    column("t", "u"),
    text.map((value): Expression => lit(value)),
    fc.constant<Expression>(lit(null)),
  ),
  bool: fc.oneof(
    { maxDepth: 4 },
    column("b", "c"),
    binary(COMPARED, tie("number"), tie("number")),
    binary(COMPARED, tie("text"), tie("text")),
    binary(COMPARED, tie("bool"), tie("bool")),
    binary(["and", "or"], tie("bool"), tie("bool")),
    tie("bool").map((one): Expression => one.not()),
    fc.oneof(tie("number"), tie("text"), tie("bool")).map((one): Expression => one.isNull()),
    fc.oneof(tie("number"), tie("text"), tie("bool")).map((one): Expression => one.isNotNull()),
    fc
      .tuple(
        tie("number"),
        fc.array(
          fc.oneof(
            float.filter((value) => !Number.isNaN(value)),
            wide,
          ),
          { maxLength: 12 },
        ),
      )
      .map(([one, values]): Expression => one.isIn(values)),
    fc.tuple(tie("text"), fc.array(text, { maxLength: 12 })).map(([one, values]): Expression => one.isIn(values)),
  ),
}));

function outcome(run: () => unknown[]): { values: unknown[] } | "an error" {
  try {
    return { values: run() };
  } catch {
    return "an error";
  }
}

/** The rows that the oracle has a value for; it says an error for each row apart, so that rows without nulls in the way count alone. */
function check(expression: Expression, given: { before: Row[]; rows: Row[]; after: Row[] }): void {
  const all = [...given.before, ...given.rows, ...given.after];
  const block = sliceBlock(blockOf(all), given.before.length, given.before.length + given.rows.length);
  const node = nodeOf(expression);
  const expected = outcome(() => given.rows.map((one) => oracle(node, one).value));
  const found = outcome(() => valuesOf(computed(block, expression)));
  // Without rows constants are computed all the same, and types are asked for.
  if (given.rows.length === 0) return;
  expect(found).toEqual(expected);
}

describe("random trees give what single rows give", () => {
  test("of numbers", () => {
    fc.assert(fc.property(trees.number, rows, check), { numRuns: 2000 });
  });

  test("of booleans", () => {
    fc.assert(fc.property(trees.bool, rows, check), { numRuns: 2000 });
  });

  test("and a filter keeps the rows that are true", () => {
    fc.assert(
      fc.property(
        column("b").chain(() =>
          binary(
            ["and", "or"],
            column("b", "c"),
            column("c").map((one): Expression => one.not()),
          ),
        ),
        rows,
        (tree, given) => {
          const block = blockOf(given.rows);
          const kept = given.rows.flatMap((one, index) => (oracle(nodeOf(tree), one).value === true ? [index] : []));
          expect([...filteredRows(block, nodeOf(tree), "test")]).toEqual(kept);
        },
      ),
    );
  });
});
