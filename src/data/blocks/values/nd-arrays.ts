/**
 * Arrays of several dimensions and columns: the first dimension are the rows.
 *
 * An array of one dimension is a column of plain values, one of more a column of tensors, in the same memory. Elements that no column has lie otherwise: booleans within tensors
 * are 0 and 1 of uint8, and complex numbers have one dimension more, of the real and the imaginary part.
 */
import { NdArray } from "../../../core/index.ts";
import { DataError } from "../../errors.ts";
import type { Block } from "../block.ts";
import { bitmapBytes, getBit, setBit } from "./bitmap.ts";
import { BOOL, type DataType, DATE, elementsOf, isNumberKind, type TimeUnit, typeName } from "../data-type.ts";
import { kindOfArray, type ValueArray, type Vector } from "../vector.ts";
import { vectorOfArray } from "../vector-builder.ts";

/** @throws DataError for an array without dimensions, and for elements that no column has */
export function vectorOfNdArray({ data, shape, dtype }: NdArray): Vector {
  if (shape.length === 0) throw new DataError("An array without dimensions has no rows", { hint: "give it the shape [1]" });
  if (dtype.startsWith("complex")) return tensorsOf(data, [...shape, 2]);
  if (dtype === "bool" && shape.length === 1) return booleansOf(data);
  const [, time, unit] = /^(datetime64|timedelta64)\[(s|ms|us|ns|D)\]$/.exec(dtype) ?? [];
  if (shape.length === 1 && time === "datetime64") return timesOf(data as BigInt64Array, unit as TimeUnit | "D");
  if (shape.length === 1 && time === "timedelta64" && unit !== "D") return durationsOf(data as BigInt64Array, unit as TimeUnit);
  const kind = kindOfArray(data);
  if (kind === undefined || (kind !== dtype && dtype !== "bool"))
    throw new DataError(`An array of ${dtype}${shape.length > 1 ? ` with ${shape.length} dimensions` : ""} cannot be a column`, {
      hint: "convert it to numbers first, such as by array.astype('float64') in NumPy",
    });
  return tensorsOf(data, shape);
}

function tensorsOf(data: ValueArray, shape: readonly number[]): Vector {
  if (shape.length === 1) return vectorOfArray(data);
  const kind = kindOfArray(data) as NonNullable<ReturnType<typeof kindOfArray>>;
  const type: DataType = { kind: "tensor", of: { kind }, shape: shape.slice(1) };
  return { type, length: shape[0] as number, nullCount: 0, bitOffset: 0, values: data };
}

function booleansOf(data: ArrayLike<unknown>): Vector {
  const values = new Uint8Array(bitmapBytes(data.length));
  for (let i = 0; i < data.length; i += 1) if (data[i] !== 0) setBit(values, i);
  return { type: BOOL, length: data.length, nullCount: 0, bitOffset: 0, values };
}

/** NumPy's mark of no time: the smallest number. */
const NOT_A_TIME = -(2n ** 63n);

function timesOf(data: BigInt64Array, unit: TimeUnit | "D"): Vector {
  const base = timeRows(data);
  if (unit === "D") return { ...base, type: DATE, values: Int32Array.from(data, (day) => (day === NOT_A_TIME ? 0 : Number(day))) };
  return { ...base, type: { kind: "timestamp", unit }, values: data };
}

function durationsOf(data: BigInt64Array, unit: TimeUnit): Vector {
  return { ...timeRows(data), type: { kind: "duration", unit }, values: data };
}

function timeRows(data: BigInt64Array): Omit<Vector, "type"> {
  const { length } = data;
  const validity = new Uint8Array(bitmapBytes(length));
  let nullCount = length;
  for (let i = 0; i < length; i += 1) {
    if (data[i] === NOT_A_TIME) continue;
    setBit(validity, i);
    nullCount -= 1;
  }
  return { length, nullCount, bitOffset: 0, ...(nullCount > 0 ? { validity } : {}) };
}

/** Each column of the block as one array. */
export function tensorsOfBlock(block: Block): Readonly<Record<string, NdArray>> {
  return Object.fromEntries(block.names.map((name, i) => [name, ndArrayOf(block.vectors[i] as Vector, name)]));
}

/**
 * The rows of a column as one array, in the same memory where they lie so: numbers, booleans and tensors that have one shape.
 *
 * @param name - the column, for errors
 * @throws DataError for nulls, and for values that are no numbers
 */
export function ndArrayOf(vector: Vector, name: string): NdArray {
  const { type, length, nullCount, values, bitOffset } = vector;
  const refuse = (problem: string, hint: string): never => {
    throw new DataError(`Column ${JSON.stringify(name)} ${problem} and cannot be one array`, { hint });
  };
  if (nullCount > 0) return refuse(`has ${nullCount} nulls`, "replace them in a map, such as by NaN");
  if (type.kind === "bool") {
    const bytes = Uint8Array.from({ length }, (_, row) => (getBit(values as Uint8Array, bitOffset + row) ? 1 : 0));
    return new NdArray(bytes, [length], "bool");
  }
  if (type.kind === "tensor") {
    const count = length * elementsOf(type.shape);
    return new NdArray((values as Float64Array).subarray(0, count), [length, ...type.shape]);
  }
  if (isNumberKind(type.kind) || type.kind === "int64" || type.kind === "uint64")
    return new NdArray((values as Float64Array).subarray(0, length), [length]);
  if (type.kind === "struct" && type.as === "tensor")
    return stacked(vector) ?? refuse("has tensors of different shapes", "bring them to one shape in a map, or take rows");
  return refuse(`is of the type ${typeName(type)}`, "leave it out by selectColumns or dropColumns, or make numbers of it");
}

/** Arrays that may have any shape as one array, where all of them have the same. */
function stacked({ length, children }: Vector): NdArray | undefined {
  const [data, shapes] = children as [Vector, Vector];
  const lengths = shapes.values as Int32Array;
  const dimensions = length === 0 ? 0 : lengths.length / length;
  const shape = [...lengths.subarray(0, dimensions)];
  for (let i = dimensions; i < lengths.length; i += 1) if (lengths[i] !== shape[i % dimensions]) return undefined;
  const offsets = data.offsets as Int32Array;
  const elements = ((data.children as [Vector])[0].values as Float64Array).subarray(offsets[0], offsets[length]);
  return new NdArray(elements, [length, ...shape]);
}
