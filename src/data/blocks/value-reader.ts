/**
 * Reads vectors as JavaScript values.
 *
 * | type | value |
 * |---|---|
 * | numbers, `int64` and `uint64` as number | number |
 * | `int64`, `uint64` as bigint | bigint |
 * | `date`, `timestamp` | Date; digits finer than a millisecond are kept beside it (`fine-dates.ts`) |
 * | `time32` | number of its unit |
 * | `time64`, `duration` | bigint of its unit |
 * | `string` | string |
 * | `decimal` | its text, with all digits; or number |
 * | `binary` | Uint8Array, in the block's memory |
 * | `list` | array, or typed array in the block's memory |
 * | `struct` | object |
 * | `dictionary` | the type of its values; equal texts share one string |
 * | `tensor`, `struct` as tensor | NdArray, in the block's memory |
 * | null | null |
 */
import { NdArray } from "../../core/index.ts";
import { getBit } from "./values/bitmap.ts";
import { type DataType, type DecimalType, elementsOf, type TimeUnit } from "./data-type.ts";
import { decimalText, shortUnscaledReader, unscaledReader } from "./values/decimals.ts";
import { fineDate } from "./values/fine-dates.ts";
import { hasParts } from "./values/safe-integers.ts";
import type { Codes } from "./values/dictionary-codes.ts";
import { dictionaryOf, isNull, sliceVector, UnsafeInteger, type ValueArray, type Vector } from "./vector.ts";

/** Gives the value of a row. */
export type ValueReader = (row: number) => unknown;

const MS_PER_DAY = 86_400_000;

/** A reader of the vector's values, for many rows. */
export function valueReader(vector: Vector): ValueReader {
  const read = hasParts(vector.type) ? namingRow(presentReader(vector)) : presentReader(vector);
  return vector.nullCount === 0 ? read : (row) => (isNull(vector, row) ? null : read(row));
}

/** The row is that of the list or struct, whose parts have rows of their own. */
function namingRow(read: ValueReader): ValueReader {
  return (row) => {
    try {
      return read(row);
    } catch (error) {
      throw error instanceof UnsafeInteger ? new UnsafeInteger(row, error.value, true) : error;
    }
  };
}

function presentReader(vector: Vector): ValueReader {
  const { type, values, offsets, bitOffset, children } = vector;
  switch (type.kind) {
    case "null":
      return () => null;
    case "bool":
      return (row) => getBit(values as Uint8Array, bitOffset + row);
    case "int64":
    case "uint64":
      return type.as === "bigint" ? (row) => (values as BigInt64Array)[row] : safeIntegerReader(values as BigInt64Array);
    case "decimal":
      return decimalReader(values as ValueArray, type);
    case "date":
      return (row) => new Date(((values as Int32Array)[row] as number) * MS_PER_DAY);
    case "timestamp":
      return timestampReader(values as BigInt64Array, type.unit);
    case "string":
      return stringReader(values as Uint8Array, offsets as Int32Array);
    case "binary":
      return (row) => (values as Uint8Array).subarray((offsets as Int32Array)[row], (offsets as Int32Array)[row + 1]);
    case "list":
      return listReader(type.as, (children as Vector[])[0] as Vector, offsets as Int32Array);
    case "struct":
      if (type.as === "tensor") return variableTensorReader(children as [Vector, Vector]);
      return structReader(type.fields, children as Vector[]);
    case "tensor":
      return tensorReader(type, values as ValueArray);
    case "dictionary":
      return dictionaryReader(dictionaryOf(vector), values as Codes);
    default:
      return (row) => (values as Float64Array)[row];
  }
}

function safeIntegerReader(values: BigInt64Array): ValueReader {
  return (row) => {
    const value = values[row] as bigint;
    const number = Number(value);
    if (!Number.isSafeInteger(number)) throw new UnsafeInteger(row, value);
    return number;
  };
}

function decimalReader(values: ValueArray, type: DecimalType): ValueReader {
  const unscaled = unscaledReader(values, type);
  const short = shortUnscaledReader(values, type);
  const read = (row: number): string => decimalText(short(row) ?? unscaled(row), type.scale);
  return type.as === "number" ? (row) => Number(read(row)) : read;
}

function timestampReader(values: BigInt64Array, unit: TimeUnit): ValueReader {
  if (unit === "s" || unit === "ms") return (row) => new Date(timestampToMs(values[row] as bigint, unit));
  return (row) => {
    const value = values[row] as bigint;
    const count = Number(value);
    if (unit === "us" && Number.isSafeInteger(count)) {
      const ms = Math.floor(count / 1000);
      return fineDate(ms, (count - ms * 1000) * 1000);
    }
    const ms = timestampToMs(value, unit);
    return fineDate(ms, unit === "ns" ? Number(value - BigInt(ms) * 1_000_000n) : Number(value - BigInt(ms) * 1000n) * 1000);
  };
}

/** Milliseconds since 1970, rounded down. */
export function timestampToMs(value: bigint, unit: TimeUnit): number {
  switch (unit) {
    case "s":
      return Number(value) * 1000;
    case "ms":
      return Number(value);
    case "us":
      return Number((value - (((value % 1000n) + 1000n) % 1000n)) / 1000n);
    case "ns":
      return Number((value - (((value % 1_000_000n) + 1_000_000n) % 1_000_000n)) / 1_000_000n);
  }
}

function stringReader(values: Uint8Array, offsets: Int32Array): ValueReader {
  const bytes = Buffer.from(values.buffer, values.byteOffset, values.byteLength);
  return (row) => bytes.toString("utf8", offsets[row], offsets[row + 1]);
}

/** Makes each value once, when the first row asks for it. */
function dictionaryReader(words: Vector, codes: Codes): ValueReader {
  const read = presentReader(words);
  const known: unknown[] = [];
  return (row) => {
    const code = codes[row] as number;
    return (known[code] ??= read(code));
  };
}

function listReader(as: "array" | "typed array", child: Vector, offsets: Int32Array): ValueReader {
  if (as === "typed array") return (row) => (child.values as Float64Array).subarray(offsets[row], offsets[row + 1]);
  return (row) => {
    const elements = sliceVector(child, offsets[row] as number, offsets[row + 1] as number);
    const read = valueReader(elements);
    return Array.from({ length: elements.length }, (_, i) => read(i));
  };
}

function structReader(fields: readonly { readonly name: string }[], children: readonly Vector[]): ValueReader {
  const readers = children.map((child) => valueReader(child));
  return rowReader(
    fields.map(({ name }) => name),
    readers,
  );
}

/** A reader of rows: objects with an entry a column. A column named `__proto__` is an entry like any other. */
export function rowReader(names: readonly string[], readers: readonly ValueReader[]): (row: number) => Record<string, unknown> {
  const count = names.length;
  if (names.includes("__proto__")) return (row) => Object.fromEntries(names.map((name, i) => [name, (readers[i] as ValueReader)(row)]));
  return (row) => {
    const object: Record<string, unknown> = {};
    for (let i = 0; i < count; i += 1) object[names[i] as string] = (readers[i] as ValueReader)(row);
    return object;
  };
}

function tensorReader({ shape }: Extract<DataType, { kind: "tensor" }>, values: ValueArray): ValueReader {
  const elements = elementsOf(shape);
  return (row) => new NdArray((values as Float64Array).subarray(row * elements, (row + 1) * elements), shape);
}

function variableTensorReader([data, shapes]: readonly [Vector, Vector]): ValueReader {
  const [elements] = data.children as [Vector];
  const offsets = data.offsets as Int32Array;
  const lengths = shapes.values as Int32Array;
  const dimensions = (shapes.type as DataType & { kind: "tensor" }).shape[0] as number;
  return (row) =>
    new NdArray((elements.values as Float64Array).subarray(offsets[row], offsets[row + 1]), [
      ...lengths.subarray(row * dimensions, (row + 1) * dimensions),
    ]);
}
