/**
 * From Arrow's interchange format to blocks. flechette parses the stream; the vectors are views of its bytes wherever Arrow's layout is ours.
 *
 * Other forms become ours: 64-bit offsets 32-bit ones, dictionaries their values, views of texts plain texts, half floats float32, maps lists of `{ key, value }`. What has no
 * column type here is an error that names the column and its Arrow type.
 */
import { type Batch, type DataType as ArrowType, type Field as ArrowField, tableFromIPC, TimeUnit, Type } from "@uwdata/flechette";
import type { Block } from "../blocks/block.ts";
import type { DataType, Field, NumberKind, TimeUnit as Unit } from "../blocks/data-type.ts";
import { buildVector } from "../blocks/vector-builder.ts";
import { nullVector, takeVector, type Vector } from "../blocks/vector.ts";
import { DataError } from "../errors.ts";

/** What is read otherwise than by the stream's own types. */
interface ArrowOptions {
  /** The columns whose 64-bit whole numbers are read as `bigint`. Default: none, they are numbers. */
  readonly bigintColumns?: ReadonlySet<string>;
}

/** The blocks of a stream, one a record batch. A stream without batches gives one block without rows. */
export function blocksOfArrow(stream: Uint8Array, options: ArrowOptions = {}): Block[] {
  const table = tableFromIPC(stream, { useBigInt: true, useBigIntTimestamp: true, useDecimalInt: true });
  const { fields } = table.schema;
  const names = fields.map(({ name }) => name);
  const batchCount = table.children[0]?.data.length ?? 0;
  if (batchCount === 0) {
    const vectors = fields.map((field) => nullVector(typeOf(field, options), 0));
    return [{ rowCount: 0, names, vectors }];
  }
  return Array.from({ length: batchCount }, (_, i) => {
    const vectors = fields.map((field, column) =>
      vectorOf(field, (table.children[column] as { data: readonly Batch<unknown>[] }).data[i] as Batch<unknown>, options),
    );
    return { rowCount: vectors[0]?.length ?? 0, names, vectors };
  });
}

/** What is needed of Arrow's types, whose parts differ. */
interface AnyArrowType {
  readonly typeId: number;
  readonly bitWidth: number;
  readonly signed: boolean;
  readonly precision: number;
  readonly unit: number;
  readonly timezone: string | null;
  readonly stride: number;
  readonly children: readonly ArrowField[];
  readonly dictionary: ArrowType;
}

const UNITS: ReadonlyMap<number, Unit> = new Map([
  [TimeUnit.SECOND, "s"],
  [TimeUnit.MILLISECOND, "ms"],
  [TimeUnit.MICROSECOND, "us"],
  [TimeUnit.NANOSECOND, "ns"],
]);

function typeOf(field: ArrowField, options: ArrowOptions): DataType {
  const type = field.type as unknown as AnyArrowType;
  const child = (index: number): ArrowField => type.children[index] as ArrowField;
  switch (type.typeId) {
    case Type.Null:
      return { kind: "null" };
    case Type.Bool:
      return { kind: "bool" };
    case Type.Int:
      if (type.bitWidth === 64)
        return { kind: type.signed ? "int64" : "uint64", as: options.bigintColumns?.has(field.name) === true ? "bigint" : "number" };
      return { kind: `${type.signed ? "int" : "uint"}${type.bitWidth}` as NumberKind };
    case Type.Float:
      return { kind: type.precision === 2 ? "float64" : "float32" };
    case Type.Utf8:
    case Type.LargeUtf8:
    case Type.Utf8View:
      return { kind: "string" };
    case Type.Binary:
    case Type.LargeBinary:
    case Type.BinaryView:
    case Type.FixedSizeBinary:
      return { kind: "binary" };
    case Type.Date:
      return { kind: "date" };
    case Type.Timestamp:
      return {
        kind: "timestamp",
        unit: UNITS.get(type.unit) as Unit,
        ...(type.timezone === null || type.timezone === "" ? {} : { timeZone: type.timezone }),
      };
    case Type.List:
    case Type.LargeList:
    case Type.Map:
      return { kind: "list", of: typeOf(child(0), options), as: "array" };
    case Type.FixedSizeList:
      return { kind: "list", of: typeOf(child(0), options), as: "array" };
    case Type.Struct:
      return { kind: "struct", fields: type.children.map((own): Field => ({ name: own.name, type: typeOf(own, options) })) };
    case Type.Dictionary:
      return typeOf({ ...field, type: type.dictionary }, options);
    default:
      throw new DataError(`Column ${JSON.stringify(field.name)} is of Arrow's type ${typeText(type.typeId)}, which no column can be`, {
        hint: "leave the column out (columns: [...]), or cast it in the program that writes it",
      });
  }
}

function typeText(id: number): string {
  return Object.entries(Type).find(([, value]) => value === id)?.[0] ?? `number ${id}`;
}

function vectorOf(field: ArrowField, batch: Batch<unknown>, options: ArrowOptions): Vector {
  const type = typeOf(field, options);
  const arrow = field.type as unknown as AnyArrowType;
  const { length, nullCount, validity } = batch;
  const base = {
    type,
    length,
    nullCount,
    bitOffset: 0,
    ...(nullCount > 0 && validity !== undefined && type.kind !== "null" ? { validity: validity } : {}),
  };
  switch (arrow.typeId) {
    case Type.Null:
      return nullVector(type, length);
    case Type.Utf8:
    case Type.Binary:
      return { ...base, offsets: ownOffsets(batch), values: bytesOf(batch) };
    case Type.LargeUtf8:
    case Type.LargeBinary:
      return { ...base, offsets: narrowOffsets(field.name, batch), values: bytesOf(batch) };
    case Type.Utf8View:
    case Type.BinaryView:
      return buildVector([...batch], type);
    case Type.FixedSizeBinary:
      return { ...base, offsets: strides(length, arrow.stride), values: bytesOf(batch) };
    case Type.Float:
      return arrow.precision === 0
        ? { ...base, values: Float32Array.from(batch, (value) => Number(value)) }
        : { ...base, values: batch.values };
    case Type.Date:
      return { ...base, values: daysOf(batch) };
    case Type.List:
    case Type.Map:
      return { ...base, offsets: ownOffsets(batch), children: childrenOf(arrow, batch, options) };
    case Type.LargeList:
      return { ...base, offsets: narrowOffsets(field.name, batch), children: childrenOf(arrow, batch, options) };
    case Type.FixedSizeList:
      return { ...base, offsets: strides(length, arrow.stride), children: childrenOf(arrow, batch, options) };
    case Type.Struct:
      return { ...base, children: childrenOf(arrow, batch, options) };
    case Type.Dictionary:
      return dictionaryValues(field, batch, options);
    default:
      return { ...base, values: batch.values };
  }
}

function childrenOf({ children }: AnyArrowType, batch: Batch<unknown>, options: ArrowOptions): Vector[] {
  return children.map((child, i) => vectorOf(child, batch.children[i] as Batch<unknown>, options));
}

function bytesOf({ values }: Batch<unknown>): Uint8Array {
  return (values as Uint8Array | undefined) ?? new Uint8Array(0);
}

function ownOffsets({ offsets, length }: Batch<unknown>): Int32Array {
  // Writers may leave the offsets of no rows out.
  return offsets !== undefined && offsets.length > length ? (offsets as Int32Array).subarray(0, length + 1) : new Int32Array(length + 1);
}

function narrowOffsets(column: string, { offsets, length }: Batch<unknown>): Int32Array {
  if (offsets === undefined || offsets.length <= length) return new Int32Array(length + 1);
  if (Number(offsets[length]) > 0x7fffffff)
    throw new DataError(`Column ${JSON.stringify(column)} has more than 2 GiB in one part`, {
      hint: "write the file with smaller row groups",
    });
  return Int32Array.from({ length: length + 1 }, (_, i) => Number(offsets[i]));
}

function strides(length: number, stride: number): Int32Array {
  return Int32Array.from({ length: length + 1 }, (_, i) => i * stride);
}

const MS_PER_DAY = 86_400_000;

function daysOf({ values, length }: Batch<unknown>): Int32Array {
  if (values instanceof Int32Array) return values;
  return Int32Array.from({ length }, (_, i) => Number((values as BigInt64Array)[i]) / MS_PER_DAY);
}

/** The values that the indices of a dictionary stand for. */
function dictionaryValues(field: ArrowField, batch: Batch<unknown>, options: ArrowOptions): Vector {
  const { dictionary } = field.type as unknown as AnyArrowType;
  const column = (batch as unknown as { readonly dictionary: { readonly data: readonly Batch<unknown>[] } }).dictionary;
  const words = vectorOf({ ...field, type: dictionary }, column.data[0] as Batch<unknown>, options);
  const indices = batch.values as ArrayLike<number | bigint>;
  const hasNulls = batch.nullCount > 0;
  const rows = Uint32Array.from({ length: batch.length }, (_, i) => (hasNulls && !batch.isValid(i) ? 0 : Number(indices[i])));
  if (words.length === 0) return nullVector(words.type, batch.length);
  const taken = takeVector(words, rows);
  return hasNulls ? { ...taken, nullCount: batch.nullCount, validity: batch.validity, bitOffset: 0 } : taken;
}
