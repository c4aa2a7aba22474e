/**
 * The inputs and results of expressions' functions: a vector, or a vector of one row for a value that is the same for all rows.
 *
 * The loops step through a constant by 0 rows, so a literal is never written out.
 * This file has the parts that all functions share: the rows with values, and errors of a row.
 */
import { bitmapBytes, countZeros, orBits } from "../../blocks/values/bitmap.ts";
import { BIG_INT64, BOOL, type DataType, isNumberKind, NULL, typeName } from "../../blocks/data-type.ts";
import { isNull, nullVector, takeVector, toFloat64, UnsafeInteger, type Vector } from "../../blocks/vector.ts";
import { buildVector } from "../../blocks/vector-builder.ts";
import type { LiteralValue } from "../nodes.ts";

export interface Operand {
  readonly vector: Vector;
  /** The vector has one row, which stands for all. */
  readonly isConstant: boolean;
}

/** Computes a function of an expression for `length` rows; for 1 where all inputs are constant. */
export type Kernel = (inputs: readonly Operand[], length: number, args: readonly unknown[]) => Vector;

/** A value for which a function has no result. `problem` follows the name of the row: `divides by zero`. */
export class RowProblem extends Error {
  readonly row: number;
  readonly problem: string;

  constructor(row: number, problem: string) {
    super(`row ${row} ${problem}`);
    this.row = row;
    this.problem = problem;
  }
}

/** Rows whose values a cast does not hold, where that is no error: they become null. */
export class Misfits {
  readonly #rows: number[] = [];

  add(row: number): void {
    this.#rows.push(row);
  }

  without(vector: Vector): Vector {
    const { length } = vector;
    if (this.#rows.length === 0) return vector;
    const validity = alignedBits({ vector, isConstant: false }, vector.validity, length);
    for (const row of this.#rows) validity[row >> 3] = (validity[row >> 3] as number) & ~(1 << (row & 7));
    return { ...vector, validity, bitOffset: 0, nullCount: countZeros(validity, 0, length) };
  }
}

/** A row without a result: one of the misfits, or an error. */
export function reject(misfits: Misfits | undefined, row: number, problem: string): void {
  if (misfits === undefined) throw new RowProblem(row, problem);
  misfits.add(row);
}

/** A value that the type of a cast does not hold. */
export function misfit(misfits: Misfits | undefined, row: number, value: number | bigint | string | undefined, type: DataType): void {
  reject(misfits, row, `is ${value}, which ${typeName(type)} does not hold`);
}

/** Columns of types that a function does not take. */
export class TypeProblem extends Error {
  readonly hint: string | undefined;

  constructor(problem: string, hint?: string) {
    super(problem);
    this.hint = hint;
  }
}

/** A value of the expression itself, as a vector of one row. */
export function literalVector(value: LiteralValue): Vector {
  if (value === null) return nullVector(NULL, 1);
  const isBeyondInt64 = typeof value === "bigint" && value > INT64_MAX;
  return buildVector([value], isBeyondInt64 ? { kind: "uint64", as: "bigint" } : undefined);
}

const INT64_MAX = 2n ** 63n - 1n;

/** How far a loop steps in the operand for each row. */
export function stepOf({ isConstant }: Operand): 0 | 1 {
  return isConstant ? 0 : 1;
}

export function isNullOperand({ vector }: Operand): boolean {
  return vector.type.kind === "null";
}

/** Whether a row is a value in all operands. */
export function isPresent(inputs: readonly Operand[], row: number): boolean {
  return inputs.every(({ vector, isConstant }) => !isNull(vector, isConstant ? 0 : row));
}

/** The rows as a vector that has each of them. */
export function expanded({ vector, isConstant }: Operand, length: number): Vector {
  return isConstant ? takeVector(vector, new Uint32Array(length)) : vector;
}

/** Aligns an operand's bitmap to bit 0, with `length` bits. A constant operand repeats its one bit. */
export function alignedBits({ vector, isConstant }: Operand, bits: Uint8Array | undefined, length: number): Uint8Array {
  const aligned = new Uint8Array(bitmapBytes(length));
  const { bitOffset } = vector;
  if (!isConstant) orBits(aligned, 0, bits, bitOffset, length);
  else if (bits === undefined || ((bits[bitOffset >> 3] as number) & (1 << (bitOffset & 7))) !== 0) aligned.fill(0xff);
  return aligned;
}

type Nulls = Pick<Vector, "validity" | "nullCount" | "bitOffset">;

/** Null is each row that is null in one of the inputs. */
export function nullsOf(inputs: readonly Operand[], length: number): Nulls {
  let validity: Uint8Array | undefined;
  for (const input of inputs) {
    if (input.vector.nullCount === 0) continue;
    const own = alignedBits(input, input.vector.validity, length);
    if (validity === undefined) validity = own;
    else for (let i = 0; i < own.length; i += 1) validity[i] = (validity[i] as number) & (own[i] as number);
  }
  if (validity === undefined) return { nullCount: 0, bitOffset: 0 };
  const nullCount = countZeros(validity, 0, length);
  return nullCount === 0 ? { nullCount, bitOffset: 0 } : { validity, nullCount, bitOffset: 0 };
}

/** A vector of booleans of a bitmap that begins at bit 0. */
export function booleans(values: Uint8Array, length: number, nulls: Nulls): Vector {
  return { type: BOOL, length, ...nulls, values };
}

/** A vector of float64. */
export function floats(values: Float64Array, nulls: Nulls): Vector {
  return { type: { kind: "float64" }, length: values.length, ...nulls, values };
}

export function isWide(type: DataType): type is DataType & { kind: "int64" | "uint64" } {
  return type.kind === "int64" || type.kind === "uint64";
}

export function isNumeric(type: DataType): boolean {
  return isNumberKind(type.kind) || isWide(type);
}

/** Days, moments, times of day and durations: each row is one count of their unit. */
export type TimeType = DataType & { readonly kind: "date" | "timestamp" | "time32" | "time64" | "duration" };

/** Times of day and durations, which are read as their counts. */
export function isReadAsCount(type: DataType): boolean {
  return type.kind === "time32" || type.kind === "time64" || type.kind === "duration";
}

/** The counts of a vector of times as whole numbers, in the same memory. */
export function countsOf(vector: Vector): Vector {
  const isNarrow = vector.type.kind === "date" || vector.type.kind === "time32";
  return { ...vector, type: isNarrow ? { kind: "int32" } : BIG_INT64 };
}

/**
 * The numbers of an operand as float64. A whole number beyond 2^53 is an error, unless its row is null in another input.
 *
 * @throws UnsafeInteger
 */
export function floatsOf({ vector, isConstant }: Operand, inputs: readonly Operand[], length: number): Float64Array {
  try {
    return toFloat64(vector);
  } catch (error) {
    if (!(error instanceof UnsafeInteger)) throw error;
  }
  const numbers = Float64Array.from(vector.values as BigInt64Array, Number);
  for (let row = 0; row < length; row += 1) {
    const own = isConstant ? 0 : row;
    if (!Number.isSafeInteger(numbers[own]) && isPresent(inputs, row))
      throw new UnsafeInteger(row, (vector.values as BigInt64Array)[own] as bigint);
  }
  return numbers;
}

/** @throws TypeProblem unless all inputs are of types that `fits` takes; columns of nulls alone fit everywhere */
export function requireTypes(inputs: readonly Operand[], what: string, fits: (type: DataType) => boolean, hint?: string): void {
  if (inputs.every(({ vector }) => vector.type.kind === "null" || fits(vector.type))) return;
  throw new TypeProblem(`takes ${what}: received ${inputs.map(({ vector }) => typeName(vector.type)).join(" and ")}`, hint);
}
