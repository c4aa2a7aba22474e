/**
 * Adds, multiplies and compares typed arrays of equal length, in place: the arithmetic of collective operations. Pure.
 *
 * Uses one plain loop for each operation, as V8 compiles it for the kind of array that a program uses. 64-bit integers wrap and small ones
 * wrap or clamp, as stores into these arrays do.
 */
import type { NumericData } from "../../core/index.ts";

/** Any kind of typed array. */
export type NumericArray = NumericData | Uint8ClampedArray;

/** Operation that makes one element of several; `average` is for floating-point arrays. */
export type ReduceOperation = "sum" | "product" | "min" | "max" | "average";

export const REDUCE_OPERATIONS: readonly ReduceOperation[] = ["sum", "product", "min", "max", "average"];

/** The arithmetic is the same for numbers and bigints; both arrays of a call are of one kind. */
type Numbers = Float64Array;

/** Applies the operation to the last of several arrays. */
interface LastOfSeveral {
  /** Count of the arrays, with the target. */
  readonly count: number;
}

/** `target[i] = target[i] op source[i]`; `average` sums, and with the last array divides, as one more pass over the memory would cost as much as a sum. */
export function reduceInto(
  target: NumericArray,
  source: NumericArray,
  { op, last }: { op: ReduceOperation; last?: LastOfSeveral | undefined },
): void {
  const [to, from] = [target as Numbers, source as Numbers];
  switch (op) {
    case "average":
      if (last === undefined) addInto(to, from);
      else averageInto(to, from, last.count);
      return;
    case "sum":
      addInto(to, from);
      return;
    case "product":
      multiplyInto(to, from);
      return;
    case "min":
      minInto(to, from);
      return;
    case "max":
      maxInto(to, from);
      return;
  }
}

function addInto(target: Numbers, source: Numbers): void {
  const { length } = target;
  for (let index = 0; index < length; index += 1) (target[index] as number) += source[index] as number;
}

function averageInto(target: Numbers, source: Numbers, count: number): void {
  const { length } = target;
  for (let index = 0; index < length; index += 1) target[index] = ((target[index] as number) + (source[index] as number)) / count;
}

function multiplyInto(target: Numbers, source: Numbers): void {
  const { length } = target;
  for (let index = 0; index < length; index += 1) (target[index] as number) *= source[index] as number;
}

function minInto(target: Numbers, source: Numbers): void {
  const { length } = target;
  // NaN wins, wherever it is: a comparison with it is false, and it differs from itself.
  for (let index = 0; index < length; index += 1) {
    const value = source[index] as number;
    // biome-ignore lint/suspicious/noSelfCompare: the test for NaN that also takes bigints
    if (value < (target[index] as number) || value !== value) target[index] = value;
  }
}

function maxInto(target: Numbers, source: Numbers): void {
  const { length } = target;
  for (let index = 0; index < length; index += 1) {
    const value = source[index] as number;
    // biome-ignore lint/suspicious/noSelfCompare: the test for NaN that also takes bigints
    if (value > (target[index] as number) || value !== value) target[index] = value;
  }
}

/** Bounds of the part of each rank: parts differ by at most one element, the longer ones first. */
export function partOf(length: number, rank: number, worldSize: number): readonly [start: number, end: number] {
  const size = Math.floor(length / worldSize);
  const longer = length % worldSize;
  const start = rank * size + Math.min(rank, longer);
  return [start, start + size + (rank < longer ? 1 : 0)];
}

/** Whether values of the kind have fractions; includes `Float16Array`, if the engine has it. */
export function isFloatArray(array: NumericArray): boolean {
  return kindOf(array).startsWith("Float");
}

/** `Float32Array` and so on. */
export function kindOf(array: NumericArray): string {
  return (array as { [Symbol.toStringTag]: string })[Symbol.toStringTag];
}

export function isNumericArray(value: unknown): value is NumericArray {
  return ArrayBuffer.isView(value) && !(value instanceof DataView);
}
