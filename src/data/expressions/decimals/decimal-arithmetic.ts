/**
 * Arithmetic of decimals: exact, as whole numbers without their points.
 *
 * Sums and differences have as many digits behind the point as the finer operand, products as many as both together. Before the point the result's type has room
 * for all results of the operands' types, up to 76 digits in all; a larger value is an error. Whole numbers are decimals without a point. One number for all
 * rows is read as written: 0.1 is a tenth.
 */
import { type DataType, type DecimalType, decimalType, DIGITS_OF_256_BITS, isNumberKind, typeName } from "../../blocks/data-type.ts";
import { decimalText, setUnscaled } from "../../blocks/values/decimals.ts";
import { valueReader } from "../../blocks/value-reader.ts";
import type { Vector } from "../../blocks/vector.ts";
import { type Scaled, scaledReader, scaledOf } from "./decimal-operand.ts";
import type { ArithmeticName, NumberFunctionName } from "../nodes.ts";
import { isPresent, isWide, nullsOf, type Operand, RowProblem, TypeProblem } from "../operations/operand.ts";

const NUMBERS_HINT = 'cast("float64") makes the nearest numbers of decimals';

type Exact = (a: bigint, b: bigint) => bigint;

const SUMS: Readonly<Partial<Record<ArithmeticName, Exact>>> = { add: (a, b) => a + b, sub: (a, b) => a - b };

export function isDecimal({ vector }: Operand): boolean {
  return vector.type.kind === "decimal";
}

/** At least one is a decimal, and the other no null. */
export function decimalArithmetic(name: ArithmeticName, [a, b]: readonly [Operand, Operand], length: number): Vector {
  const [left, right] = [digitsOf(a), digitsOf(b)];
  const sum = SUMS[name];
  if (sum === undefined && name !== "mul") throw new TypeProblem("has no exact result for decimals", NUMBERS_HINT);
  const isSum = sum !== undefined;
  const scale = isSum ? Math.max(left.scale, right.scale) : left.scale + right.scale;
  const before = isSum
    ? Math.max(left.precision - left.scale, right.precision - right.scale) + 1
    : left.precision - left.scale + right.precision - right.scale;
  if (scale > DIGITS_OF_256_BITS)
    throw new TypeProblem(`gives ${scale} digits behind the point, and decimals have up to ${DIGITS_OF_256_BITS}`, NUMBERS_HINT);
  const type = decimalType(Math.min(DIGITS_OF_256_BITS, before + scale), scale, left.as ?? right.as ?? "text") as DecimalType;
  const [readA, readB] = [scaledReader(a), scaledReader(b)];
  const limit = 10n ** BigInt(type.precision);
  const values = new BigUint64Array((length * type.bits) / 64);
  for (let row = 0; row < length; row += 1) {
    if (!isPresent([a, b], row)) continue;
    const [x, y] = [readA(row), readB(row)];
    const result = isSum ? sum(atScale(x, scale), atScale(y, scale)) : atScale(x, left.scale) * atScale(y, right.scale);
    if (result >= limit || result <= -limit)
      throw new RowProblem(row, `is ${name} of ${textOf(x)} and ${textOf(y)}, which ${typeName(type)} does not hold`);
    setUnscaled(values, row, type, result);
  }
  return { type, length, ...nullsOf([a, b], length), values };
}

/** `neg` and `abs`, which keep the type. */
export function decimalFunction(name: NumberFunctionName, input: Operand, length: number): Vector {
  if (name !== "neg" && name !== "abs") throw new TypeProblem("has no exact result for decimals", NUMBERS_HINT);
  const type = input.vector.type as DecimalType;
  const read = scaledReader(input);
  const values = new BigUint64Array((length * type.bits) / 64);
  for (let row = 0; row < length; row += 1) {
    if (!isPresent([input], row)) continue;
    const { unscaled } = read(row);
    setUnscaled(values, row, type, name === "neg" || unscaled < 0n ? -unscaled : unscaled);
  }
  return { type, length, ...nullsOf([input], length), values };
}

/** Exactly, of two the larger one. Of fewer digits than they are asked for decimals stay as they are. */
export function roundedDecimals(input: Operand, length: number, digits: number): Vector {
  const own = input.vector.type as DecimalType;
  if (own.scale <= digits) return input.vector;
  const type = decimalType(Math.max(1, own.precision - own.scale + digits + 1), digits, own.as) as DecimalType;
  const read = scaledReader(input);
  const factor = 10n ** BigInt(own.scale - digits);
  const values = new BigUint64Array((length * type.bits) / 64);
  for (let row = 0; row < length; row += 1) {
    if (!isPresent([input], row)) continue;
    const doubled = 2n * read(row).unscaled + factor;
    const quotient = doubled / (2n * factor);
    setUnscaled(values, row, type, doubled < 0n && doubled % (2n * factor) !== 0n ? quotient - 1n : quotient);
  }
  return { type, length, ...nullsOf([input], length), values };
}

function atScale({ unscaled, scale }: Scaled, to: number): bigint {
  return unscaled * 10n ** BigInt(to - scale);
}

function textOf({ unscaled, scale }: Scaled): string {
  return decimalText(unscaled, scale);
}

interface Digits {
  readonly precision: number;
  readonly scale: number;
  /** The form of decimals in JavaScript; absent for other types. */
  readonly as?: DecimalType["as"];
}

const DIGITS_OF_64_BITS = 20;
const DIGITS_OF_32_BITS = 10;

/** How many digits the values have at most. */
function digitsOf({ vector, isConstant }: Operand): Digits {
  const { type } = vector;
  // A negative scale stands for zeros before the point.
  if (type.kind === "decimal") return type.scale < 0 ? { ...type, precision: type.precision - type.scale, scale: 0 } : type;
  if (isWide(type)) return { precision: DIGITS_OF_64_BITS, scale: 0 };
  if (isConstant && (type.kind === "string" || isNumberKind(type.kind))) {
    const { unscaled, scale } = scaledOf(String(valueReader(vector)(0))) ?? { unscaled: 0n, scale: 0 };
    return { precision: Math.max(scale, String(unscaled).replace("-", "").length), scale };
  }
  if (isWholeKind(type)) return { precision: DIGITS_OF_32_BITS, scale: 0 };
  throw new TypeProblem(`takes decimals with whole numbers or decimals: received a column of ${typeName(type)}`, NUMBERS_HINT);
}

function isWholeKind({ kind }: DataType): boolean {
  return isNumberKind(kind) && kind !== "float64" && kind !== "float32";
}
