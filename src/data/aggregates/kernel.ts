/**
 * The interface of an aggregate's kernel, and the helpers that kernels share: vectors of states with a row for each group.
 *
 * A kernel takes the group of every row, by number, and how many groups there are. Its states travel as columns, so a kernel may have several vectors.
 * Results that are fractions by nature, such as means, are computed with the nearest numbers; sums and extremes are exact.
 */
import { bitmapBytes, getBit, setBit } from "../blocks/values/bitmap.ts";
import { type DataType, type DecimalType, FLOAT64, INT64, isNumberKind, typeName } from "../blocks/data-type.ts";
import { decimalText, unscaledReader } from "../blocks/values/decimals.ts";
import { toFloat64, type Vector } from "../blocks/vector.ts";

/** The groups of rows. */
export interface Grouping {
  readonly ids: Uint32Array;
  readonly count: number;
  /** How many rows each group has, once that was asked for. */
  rowCounts?: Vector;
  /** States that were added up before, and what came of them: aggregates may have some in common. */
  added?: Map<Vector, Vector>;
}

export interface Kernel {
  /** The states of the rows of one block. */
  accumulate(values: Vector, groups: Grouping): Vector[];
  /** The states of groups, of several states of each. */
  merge(states: readonly Vector[], groups: Grouping): Vector[];
  finalize(states: readonly Vector[]): Vector;
}

export function floats(values: Float64Array, isValue?: (group: number) => boolean): Vector {
  const base = { type: FLOAT64, length: values.length, bitOffset: 0, values };
  if (isValue === undefined) return { ...base, nullCount: 0 };
  let nullCount = 0;
  for (let group = 0; group < values.length; group += 1) if (!isValue(group)) nullCount += 1;
  if (nullCount === 0) return { ...base, nullCount };
  const validity = new Uint8Array(bitmapBytes(values.length));
  for (let group = 0; group < values.length; group += 1) if (isValue(group)) setBit(validity, group);
  return { ...base, nullCount, validity };
}

export function integers(counts: Float64Array): Vector {
  const values = new BigInt64Array(counts.length);
  // As halves: no bigint is made for each.
  const halves = new Uint32Array(values.buffer);
  for (let i = 0; i < counts.length; i += 1) {
    const count = counts[i] as number;
    halves[2 * i] = count % 4294967296;
    halves[2 * i + 1] = count / 4294967296;
  }
  return { type: INT64, length: counts.length, nullCount: 0, bitOffset: 0, values };
}

export function isFloat({ type }: Vector): boolean {
  return type.kind === "float64" || type.kind === "float32";
}

export function numbersOf(vector: Vector): Float64Array {
  const { type, length, bitOffset } = vector;
  if (type.kind === "null") return new Float64Array(length);
  if (type.kind === "bool")
    return Float64Array.from({ length }, (_, row) => (getBit(vector.values as Uint8Array, bitOffset + row) ? 1 : 0));
  if (isBigints(type)) return Float64Array.from(vector.values as BigInt64Array, Number);
  if (isNumberKind(type.kind) || type.kind === "int64" || type.kind === "uint64") return toFloat64(vector);
  if (type.kind === "decimal") return decimalNumbers(vector, type);
  throw new NoNumbers(type);
}

/** Whole numbers that users have as `bigint`. */
export function isBigints(type: DataType): type is DataType & { kind: "int64" | "uint64" } {
  return (type.kind === "int64" || type.kind === "uint64") && type.as === "bigint";
}

/** Reports a column of another type where numbers are needed. The caller, which knows the column's name, turns it into an error. */
export class NoNumbers extends Error {
  readonly type: DataType;

  constructor(type: DataType) {
    super(`numbers are needed, and the column is ${typeName(type)}`);
    this.type = type;
  }
}

/** Reads decimals as the nearest numbers, for results without an exact decimal, such as means and deviations. */
function decimalNumbers({ length, values }: Vector, type: DecimalType): Float64Array {
  const read = unscaledReader(values as BigUint64Array, type);
  return Float64Array.from({ length }, (_, row) => Number(decimalText(read(row), type.scale)));
}
