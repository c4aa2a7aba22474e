/**
 * Comparisons, and membership of a value in a list.
 *
 * Numbers of all types compare by value, exactly beyond 2^53, too; NaN equals nothing. Texts and bytes compare byte by byte, which for UTF-8 is the order of
 * code points. Days and moments compare as moments, times of day and durations as counts. False is before true. Decimals are exact (`decimal-comparison.ts`). A
 * null in a comparison gives null.
 */
import { bitmapBytes, setBit } from "../../blocks/values/bitmap.ts";
import { BOOL, type DataType, isNumberKind, sameType, type TimeUnit, typeName } from "../../blocks/data-type.ts";
import { nullVector, toFloat64, type Vector } from "../../blocks/vector.ts";
import { wideValues } from "./arithmetic.ts";
import { compareDecimals, isDecimalComparison } from "../decimals/decimal-comparison.ts";
import type { ComparisonName, LiteralValue } from "../nodes.ts";
import {
  alignedBits,
  booleans,
  countsOf,
  isNullOperand,
  isNumeric,
  isReadAsCount,
  isWide,
  type Kernel,
  nullsOf,
  type Operand,
  stepOf,
  TypeProblem,
  literalVector,
} from "./operand.ts";

/** The basic comparisons. Others follow from them: `gt` swaps the operands of `lt`, and `ne` negates `eq`. */
type Base = "eq" | "lt" | "le";
type Family = "number" | "decimal" | "text" | "bytes" | "bool" | "time";

export function comparison(name: ComparisonName): Kernel {
  const base: Base = name === "eq" || name === "ne" ? "eq" : name === "lt" || name === "gt" ? "lt" : "le";
  return (inputs, length) => {
    if (inputs.some(isNullOperand)) return nullVector(BOOL, length);
    const counted = withCounts(inputs);
    const [a, b] = (name === "gt" || name === "ge" ? counted.toReversed() : counted) as [Operand, Operand];
    const family = isDecimalComparison(a, b) ? "decimal" : familyOf(a.vector.type);
    if (family === undefined || (family !== "decimal" && family !== familyOf(b.vector.type)))
      throw new TypeProblem(
        `compares values of one kind: received ${inputs.map(({ vector }) => typeName(vector.type)).join(" and ")}`,
        inputs.some(({ vector: { type } }) => type.kind === "time32" || type.kind === "time64")
          ? 'a time of day is compared with its count or with another one: lit("10:00").cast("time32[ms]")'
          : inputs.some(({ vector: { type } }) => type.kind === "date" || type.kind === "timestamp")
            ? 'compare days and moments with a Date, such as new Date("2026-01-31"), or with texts that are cast'
            : "cast one of them, or compare with a value of the column's type",
      );
    const bits = compareInto(base, family, a, b, length);
    if (name === "ne") for (let i = 0; i < bits.length; i += 1) bits[i] = ~(bits[i] as number);
    return booleans(bits, length, nullsOf(inputs, length));
  };
}

/** Two times of day, or two durations, have counts that can be compared where they have one unit. */
function withCounts(inputs: readonly Operand[]): readonly Operand[] {
  const [type, other] = inputs.map(({ vector }) => vector.type).filter(isReadAsCount);
  if (type === undefined || (other !== undefined && !sameType(type, other))) return inputs;
  return inputs.map((input) => (isReadAsCount(input.vector.type) ? { ...input, vector: countsOf(input.vector) } : input));
}

function familyOf(type: DataType): Family | undefined {
  if (isNumeric(type)) return "number";
  switch (type.kind) {
    case "string":
      return "text";
    case "binary":
      return "bytes";
    case "bool":
      return "bool";
    case "date":
    case "timestamp":
      return "time";
    default:
      return undefined;
  }
}

/** The rows for which the comparison holds, as bits; whatever for nulls. */
function compareInto(base: Base, family: Family, a: Operand, b: Operand, length: number): Uint8Array {
  switch (family) {
    case "number":
      return compareNumbers(base, a, b, length);
    case "decimal":
      return compareDecimals(base, a, b, length);
    case "text":
    case "bytes":
      return compareBytes(base, a, b, length);
    case "bool":
      return compareFloats(base, bitNumbers(a), stepOf(a), bitNumbers(b), stepOf(b), length);
    case "time":
      return compareTimes(base, a, b, length);
  }
}

function bitNumbers({ vector }: Operand): Float64Array {
  const bits = alignedBits({ vector, isConstant: false }, vector.values as Uint8Array, vector.length);
  return Float64Array.from({ length: vector.length }, (_, i) => ((bits[i >> 3] as number) >> (i & 7)) & 1);
}

// ---------------------------------------------------------------------------------------------------------------------
// Numbers

function compareFloats(base: Base, a: Float64Array, aStep: number, b: Float64Array, bStep: number, length: number): Uint8Array {
  const bits = new Uint8Array(bitmapBytes(length));
  if (base === "eq") {
    for (let i = 0; i < length; i += 1) if (a[i * aStep] === b[i * bStep]) setBit(bits, i);
  } else if (base === "lt") {
    for (let i = 0; i < length; i += 1) if ((a[i * aStep] as number) < (b[i * bStep] as number)) setBit(bits, i);
  } else {
    for (let i = 0; i < length; i += 1) if ((a[i * aStep] as number) <= (b[i * bStep] as number)) setBit(bits, i);
  }
  return bits;
}

/** Halves of 64 bits: the high ones decide, or the low ones where those are the same. */
function compareHalves(base: Base, a: BigInt64Array, aStep: number, b: BigInt64Array, bStep: number, length: number): Uint8Array {
  const bits = new Uint8Array(bitmapBytes(length));
  const [x, y] = [new Int32Array(a.buffer, a.byteOffset, a.length * 2), new Int32Array(b.buffer, b.byteOffset, b.length * 2)];
  for (let i = 0; i < length; i += 1) {
    const [j, k] = [2 * i * aStep, 2 * i * bStep];
    const high = (x[j + 1] as number) - (y[k + 1] as number);
    const order = high === 0 ? ((x[j] as number) >>> 0) - ((y[k] as number) >>> 0) : high;
    if (base === "eq" ? order === 0 : base === "lt" ? order < 0 : order <= 0) setBit(bits, i);
  }
  return bits;
}

type AnyNumber = number | bigint;

/** By numbers of either kind, which JavaScript compares by their exact values. */
function compareAny(base: Base, a: (row: number) => AnyNumber, b: (row: number) => AnyNumber, length: number): Uint8Array {
  const bits = new Uint8Array(bitmapBytes(length));
  for (let i = 0; i < length; i += 1) {
    const [x, y] = [a(i), b(i)];
    if (base === "eq" ? x <= y && !(x < y) : base === "lt" ? x < y : x <= y) setBit(bits, i);
  }
  return bits;
}

function compareNumbers(base: Base, a: Operand, b: Operand, length: number): Uint8Array {
  const [aWide, bWide] = [isWide(a.vector.type), isWide(b.vector.type)];
  if (!aWide && !bWide) return compareFloats(base, toFloat64(a.vector), stepOf(a), toFloat64(b.vector), stepOf(b), length);
  if (isSigned64(a) && isSigned64(b))
    return compareHalves(base, wideValues(a.vector) as BigInt64Array, stepOf(a), wideValues(b.vector) as BigInt64Array, stepOf(b), length);
  return compareAny(base, numberReader(a), numberReader(b), length);
}

/** Tells whether an operand has signed whole numbers of up to 64 bits, or is one such number. */
function isSigned64({ vector: { type, values }, isConstant }: Operand): boolean {
  if (type.kind === "float64" || type.kind === "float32") return isConstant && Number.isSafeInteger(values?.[0]);
  return type.kind === "int64" || isNumberKind(type.kind);
}

function numberReader({ vector, isConstant }: Operand): (row: number) => AnyNumber {
  const values = vector.values as BigInt64Array | Float64Array;
  return isConstant ? () => values[0] as AnyNumber : (row) => values[row] as AnyNumber;
}

// ---------------------------------------------------------------------------------------------------------------------
// Texts and bytes

function compareBytes(base: Base, a: Operand, b: Operand, length: number): Uint8Array {
  const bits = new Uint8Array(bitmapBytes(length));
  const [x, y] = [a.vector.values as Uint8Array, b.vector.values as Uint8Array];
  const [xEnds, yEnds] = [a.vector.offsets as Int32Array, b.vector.offsets as Int32Array];
  const [aStep, bStep] = [stepOf(a), stepOf(b)];
  for (let row = 0; row < length; row += 1) {
    let i = xEnds[row * aStep] as number;
    let j = yEnds[row * bStep] as number;
    const iEnd = xEnds[row * aStep + 1] as number;
    const jEnd = yEnds[row * bStep + 1] as number;
    const longer = iEnd - i - (jEnd - j);
    if (base === "eq" && longer !== 0) continue;
    while (i < iEnd && j < jEnd && x[i] === y[j]) {
      i += 1;
      j += 1;
    }
    const order = i < iEnd && j < jEnd ? (x[i] as number) - (y[j] as number) : longer;
    if (base === "eq" ? order === 0 : base === "lt" ? order < 0 : order <= 0) setBit(bits, row);
  }
  return bits;
}

// ---------------------------------------------------------------------------------------------------------------------
// Times

const NS_PER_DAY = 86_400_000_000_000n;
const NS_PER_UNIT: Readonly<Record<TimeUnit, bigint>> = { s: 1_000_000_000n, ms: 1_000_000n, us: 1000n, ns: 1n };
const MS_PER_DAY = 86_400_000;

function compareTimes(base: Base, a: Operand, b: Operand, length: number): Uint8Array {
  const [aType, bType] = [a.vector.type, b.vector.type];
  if (aType.kind === "timestamp" && bType.kind === "timestamp") {
    const [x, y] = [inUnit(a, bType.unit) ?? a, inUnit(b, aType.unit) ?? b];
    if ((x.vector.type as typeof aType).unit === (y.vector.type as typeof aType).unit)
      return compareHalves(base, x.vector.values as BigInt64Array, stepOf(x), y.vector.values as BigInt64Array, stepOf(y), length);
  }
  const [x, y] = [wholeMs(a), wholeMs(b)];
  if (x !== undefined && y !== undefined) return compareFloats(base, x, stepOf(a), y, stepOf(b), length);
  return compareAny(base, nsReader(a), nsReader(b), length);
}

/** Returns a constant moment as a count of a unit; undefined where the unit does not hold it, and for operands that are not constant. */
function inUnit({ vector, isConstant }: Operand, unit: TimeUnit): Operand | undefined {
  if (!isConstant || vector.type.kind !== "timestamp") return undefined;
  const ns = ((vector.values as BigInt64Array)[0] as bigint) * NS_PER_UNIT[vector.type.unit];
  const value = ns / NS_PER_UNIT[unit];
  if (value * NS_PER_UNIT[unit] !== ns || BigInt.asIntN(64, value) !== value) return undefined;
  return { isConstant, vector: { ...vector, type: { kind: "timestamp", unit }, values: BigInt64Array.of(value) } };
}

/** Milliseconds, where those are exact for all values of the type. */
function wholeMs({ vector: { type, values, length } }: Operand): Float64Array | undefined {
  if (type.kind === "date") return Float64Array.from(values as Int32Array, (day) => day * MS_PER_DAY);
  if (type.kind !== "timestamp" || type.unit !== "ms") return undefined;
  const ms = new Float64Array(length);
  for (let i = 0; i < length; i += 1) {
    ms[i] = Number((values as BigInt64Array)[i]);
    if (!Number.isSafeInteger(ms[i])) return undefined;
  }
  return ms;
}

function nsReader({ vector: { type, values }, isConstant }: Operand): (row: number) => bigint {
  const perUnit = type.kind === "timestamp" ? NS_PER_UNIT[type.unit] : NS_PER_DAY;
  return (row) => BigInt((values as BigInt64Array | Int32Array)[isConstant ? 0 : row] as bigint | number) * perUnit;
}

// ---------------------------------------------------------------------------------------------------------------------
// One of several

/** More values than these are looked up, fewer are compared one by one. */
const COMPARED_MAX = 8;

export const isIn: Kernel = (inputs, length, args) => {
  const values = args[0] as readonly Exclude<LiteralValue, null>[];
  const input = inputs[0] as Operand;
  if (isNullOperand(input)) return nullVector(BOOL, length);
  const nulls = nullsOf(inputs, length);
  if (values.length > COMPARED_MAX && input.vector.type.kind === "string")
    return booleans(textsAmong(input, values, length), length, nulls);
  if (values.length > COMPARED_MAX && isNumeric(input.vector.type)) return booleans(numbersAmong(input, values, length), length, nulls);
  const bits = new Uint8Array(bitmapBytes(length));
  const equals = comparison("eq");
  for (const value of values) {
    const found = equals([input, { vector: literalVector(value), isConstant: true }], length, []).values as Uint8Array;
    for (let i = 0; i < bits.length; i += 1) bits[i] = (bits[i] as number) | (found[i] as number);
  }
  return booleans(bits, length, nulls);
};

function requireFamily(input: Operand, values: readonly unknown[], types: readonly string[]): void {
  const odd = values.find((value) => !types.includes(typeof value));
  if (odd !== undefined)
    throw new TypeProblem(`looks for values of the column's type, ${typeName(input.vector.type)}: received a ${typeof odd}`);
}

function textsAmong(input: Operand, values: readonly unknown[], length: number): Uint8Array {
  requireFamily(input, values, ["string"]);
  // Texts of a byte a character have the same bytes where the texts are the same, and are made faster.
  const wanted = new Set(values.map((value) => Buffer.from(value as string).toString("latin1")));
  const { values: bytes, offsets } = input.vector as Vector & { values: Uint8Array; offsets: Int32Array };
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const bits = new Uint8Array(bitmapBytes(length));
  for (let i = 0; i < length; i += 1) if (wanted.has(buffer.toString("latin1", offsets[i], offsets[i + 1]))) setBit(bits, i);
  return bits;
}

function numbersAmong(input: Operand, values: readonly unknown[], length: number): Uint8Array {
  requireFamily(input, values, ["number", "bigint"]);
  const wanted = new Set(values.map((value) => plainNumber(value as AnyNumber)));
  const read = numberReader(input);
  const bits = new Uint8Array(bitmapBytes(length));
  for (let i = 0; i < length; i += 1) if (wanted.has(plainNumber(read(i)))) setBit(bits, i);
  return bits;
}

/** The same for equal numbers of both kinds. */
function plainNumber(value: AnyNumber): AnyNumber {
  if (typeof value === "number") return Number.isInteger(value) && !Number.isSafeInteger(value) ? BigInt(value) : value;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}
