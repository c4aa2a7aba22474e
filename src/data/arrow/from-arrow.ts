/**
 * Turns Arrow's interchange format into blocks. flechette parses the stream, and the vectors are views of its bytes wherever Arrow's layout is ours.
 *
 * Other forms are converted: 64-bit offsets to 32-bit ones, views of texts to plain texts, half floats to float32, maps to lists of `{ key, value }`.
 * Dictionaries become their values, unless they are whole columns of texts or bytes. Arrow's extension types for tensors are tensors. A type without a
 * counterpart here is an error that names the column and its Arrow type.
 */
import { type Batch, type DataType as ArrowType, type Field as ArrowField, tableFromIPC, TimeUnit, Type } from "@uwdata/flechette";
import { bitmapBytes, countZeros, setBit } from "../blocks/values/bitmap.ts";
import type { Block } from "../blocks/block.ts";
import {
  type DataType,
  type DecimalType,
  elementsOf,
  type Field,
  type NumberKind,
  type TimeUnit as Unit,
  timeType,
  variableTensorType,
} from "../blocks/data-type.ts";
import { setUnscaled } from "../blocks/values/decimals.ts";
import { asBigint } from "../blocks/values/safe-integers.ts";
import { buildVector } from "../blocks/vector-builder.ts";
import { type Codes, newCodes } from "../blocks/values/dictionary-codes.ts";
import { valueReader } from "../blocks/value-reader.ts";
import { concatVectors, isNull, nullVector, takeVector, type ValueArray, type Vector } from "../blocks/vector.ts";
import { DataError } from "../errors.ts";
import { EXTENSION, READ_AS } from "./to-arrow.ts";

/** Options that override the stream's own types. */
export interface ArrowOptions {
  /** The columns whose 64-bit whole numbers, in lists and structs too, are read as `bigint`. Default: those that say so in their metadata; others are numbers. */
  readonly bigintColumns?: ReadonlySet<string>;
  /** How decimals are read. Default: as their metadata say, else as text. */
  readonly decimal?: "text" | "number" | undefined;
}

/** The blocks of a stream, one a record batch. A stream without batches gives one block without rows. */
export function blocksOfArrow(stream: Uint8Array, options: ArrowOptions = {}): Block[] {
  const table = tableFromIPC(stream, EXTRACTION);
  const columns = table.children.map(({ data }) => data as readonly Batch<unknown>[]);
  return blocksOfBatches(table.schema.fields, columns, options);
}

/** How batches give values: each exactly. */
export const EXTRACTION = { useBigInt: true, useBigIntTimestamp: true, useDecimalInt: true };

/**
 * @param columns - the batches of each field; all have as many
 */
export function blocksOfBatches(
  fields: readonly ArrowField[],
  columns: readonly (readonly Batch<unknown>[])[],
  options: ArrowOptions,
): Block[] {
  const names = fields.map(({ name }) => name);
  const readAs = (field: ArrowField, vector: Vector): Vector =>
    options.bigintColumns?.has(field.name) === true ? asBigint(vector) : vector;
  const batchCount = columns[0]?.length ?? 0;
  if (batchCount === 0) {
    const vectors = fields.map((field) => readAs(field, nullVector(columnType(field, options), 0)));
    return [{ rowCount: 0, names, vectors }];
  }
  return Array.from({ length: batchCount }, (_, i) => {
    const vectors = fields.map((field, column) => readAs(field, columnOf(field, columns[column]?.[i] as Batch<unknown>, options)));
    return { rowCount: vectors[0]?.length ?? 0, names, vectors };
  });
}

/** The used members of Arrow's types, which differ from type to type. */
interface AnyArrowType {
  readonly typeId: number;
  readonly bitWidth: number;
  readonly signed: boolean;
  readonly precision: number;
  readonly scale: number;
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

/** The type of a whole column, which alone may have a dictionary. */
function columnType(field: ArrowField, options: ArrowOptions): DataType {
  const type = typeOf(field, options);
  const isDictionary = field.type.typeId === Type.Dictionary && (type.kind === "string" || type.kind === "binary");
  return isDictionary ? { kind: "dictionary", of: { kind: type.kind } } : type;
}

function columnOf(field: ArrowField, batch: Batch<unknown>, options: ArrowOptions): Vector {
  const type = columnType(field, options);
  return type.kind === "dictionary" ? dictionaryColumn(type, field, batch) : vectorOf(field, batch, options);
}

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
        return { kind: type.signed ? "int64" : "uint64", as: field.metadata?.get(READ_AS) === "bigint" ? "bigint" : "number" };
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
    case Type.Decimal: {
      const as = options.decimal ?? (field.metadata?.get(READ_AS) === "number" ? "number" : "text");
      return { kind: "decimal", precision: type.precision, scale: type.scale, bits: type.bitWidth === 256 ? 256 : 128, as };
    }
    case Type.Date:
      return { kind: "date" };
    case Type.Timestamp:
      return {
        kind: "timestamp",
        unit: UNITS.get(type.unit) as Unit,
        ...(type.timezone === null || type.timezone === "" ? {} : { timeZone: type.timezone }),
      };
    case Type.Time:
      return timeType(UNITS.get(type.unit) as Unit);
    case Type.Duration:
      return { kind: "duration", unit: UNITS.get(type.unit) as Unit };
    case Type.List:
    case Type.LargeList:
    case Type.Map:
      return { kind: "list", of: typeOf(child(0), options), as: isTypedArray(field, child(0)) ? "typed array" : "array" };
    case Type.FixedSizeList:
      return fixedTensorType(field) ?? { kind: "list", of: typeOf(child(0), options), as: "array" };
    case Type.Struct:
      return (
        variableTensorOf(field) ?? {
          kind: "struct",
          fields: type.children.map((own): Field => ({ name: own.name, type: typeOf(own, options) })),
        }
      );
    case Type.Dictionary:
      return typeOf({ ...field, type: type.dictionary }, options);
    default:
      throw new DataError(`Column ${JSON.stringify(field.name)} is of Arrow's type ${typeText(type.typeId)}, which no column can be`, {
        hint: "leave the column out (columns: [...]), or cast it in the program that writes it",
      });
  }
}

/** Tells whether a list becomes typed arrays. The writer's metadata asks for it, but only a list of numbers can. */
function isTypedArray({ metadata }: ArrowField, child: ArrowField): boolean {
  return metadata?.get(READ_AS) === "typed array" && numberKindOf(child) !== undefined;
}

/** The kind of number that lies in memory as ours does; undefined for other types. */
function numberKindOf(field: ArrowField): NumberKind | "int64" | "uint64" | undefined {
  const { typeId, precision } = field.type as unknown as AnyArrowType;
  if (typeId !== Type.Int && (typeId !== Type.Float || precision === 0)) return undefined;
  return typeOf(field, {}).kind as NumberKind | "int64" | "uint64";
}

/** The type of a list of fixed size that is Arrow's tensor; undefined for others, and where the elements lie in another order than that of the dimensions. */
function fixedTensorType({ type, metadata }: ArrowField): (DataType & { kind: "tensor" }) | undefined {
  if (metadata?.get(EXTENSION.name) !== EXTENSION.fixedTensor) return undefined;
  const { children, stride } = type as unknown as AnyArrowType;
  const kind = numberKindOf(children[0] as ArrowField);
  const { shape, permutation } = jsonOf(metadata.get(EXTENSION.metadata)) as { shape?: unknown; permutation?: unknown };
  if (kind === undefined || !isShape(shape) || elementsOf(shape) !== stride) return undefined;
  if (Array.isArray(permutation) && permutation.some((from, to) => from !== to)) return undefined;
  return { kind: "tensor", of: { kind }, shape };
}

/** The type of a struct that is Arrow's tensor of any shape. */
function variableTensorOf({ type, metadata }: ArrowField): (DataType & { kind: "struct" }) | undefined {
  if (metadata?.get(EXTENSION.name) !== EXTENSION.variableTensor) return undefined;
  const [data, shape] = (type as unknown as AnyArrowType).children.map((child) => child.type as unknown as AnyArrowType);
  const elements = data?.typeId === Type.List ? numberKindOf(data.children[0] as ArrowField) : undefined;
  const lengths = shape?.typeId === Type.FixedSizeList ? numberKindOf(shape.children[0] as ArrowField) : undefined;
  return elements === undefined || lengths !== "int32" ? undefined : variableTensorType(elements, (shape as AnyArrowType).stride);
}

function jsonOf(text: string | undefined): object {
  try {
    const value: unknown = JSON.parse(text ?? "{}");
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}

function isShape(shape: unknown): shape is number[] {
  return Array.isArray(shape) && shape.every((length) => Number.isSafeInteger(length) && length >= 0);
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
    case Type.Decimal:
      return { ...base, values: arrow.bitWidth < 128 ? wideDecimals(batch, arrow.bitWidth, type as DecimalType) : batch.values };
    case Type.Date:
      return { ...base, values: daysOf(batch) };
    case Type.List:
    case Type.Map:
      if (type.kind === "list" && type.as === "typed array")
        checkElements(field.name, batch, ownOffsets(batch), batch.children[0] as Batch<unknown>);
      return { ...base, offsets: ownOffsets(batch), children: childrenOf(arrow, batch, options) };
    case Type.LargeList:
      return { ...base, offsets: narrowOffsets(field.name, batch), children: childrenOf(arrow, batch, options) };
    case Type.FixedSizeList:
      if (type.kind === "tensor")
        return { ...base, values: elementsIn(field.name, batch, strides(length, arrow.stride), batch.children[0] as Batch<unknown>) };
      return { ...base, offsets: strides(length, arrow.stride), children: childrenOf(arrow, batch, options) };
    case Type.Struct:
      if (type.kind === "struct" && type.as === "tensor") return { ...base, children: partsOfTensors(field.name, type, batch) };
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

/** A null has no place among the elements of an array. Those of a row that is null itself may be anything. */
function checkElements(column: string, rows: Batch<unknown>, offsets: Int32Array, { nullCount, validity }: Batch<unknown>): void {
  if (nullCount === 0) return;
  const hasNull = (_: number, row: number): boolean => {
    const [from, to] = [offsets[row] as number, offsets[row + 1] as number];
    return (rows.nullCount === 0 || rows.isValid(row)) && countZeros(validity, from, to - from) > 0;
  };
  if (!offsets.subarray(0, rows.length).some(hasNull)) return;
  throw new DataError(`Column ${JSON.stringify(column)} has tensors with nulls among their elements`, {
    hint: "fill them in the program that writes it, such as by NaN",
  });
}

function elementsIn(column: string, rows: Batch<unknown>, offsets: Int32Array, elements: Batch<unknown>): ValueArray {
  checkElements(column, rows, offsets, elements);
  return elements.values.subarray(0, offsets[rows.length]);
}

/** Elements and shapes of arrays of any shape, which have to agree. */
function partsOfTensors(column: string, type: DataType & { kind: "struct" }, batch: Batch<unknown>): Vector[] {
  const [data, shape] = batch.children as [Batch<unknown>, Batch<unknown>];
  const [list, lengths] = type.fields.map((field) => field.type) as [DataType & { kind: "list" }, DataType & { kind: "tensor" }];
  const { length } = batch;
  const dimensions = lengths.shape[0] as number;
  const offsets = ownOffsets(data);
  const count = offsets[length] as number;
  const values = elementsIn(column, batch, offsets, data.children[0] as Batch<unknown>);
  const shapes = elementsIn(column, batch, strides(length, dimensions), shape.children[0] as Batch<unknown>) as Int32Array;
  for (let row = 0; row < length; row += 1) {
    const own = shapes.subarray(row * dimensions, (row + 1) * dimensions);
    const elements = (offsets[row + 1] as number) - (offsets[row] as number);
    if ((batch.nullCount === 0 || batch.isValid(row)) && (own.some((extent) => extent < 0) || elementsOf([...own]) !== elements))
      throw new DataError(`Column ${JSON.stringify(column)}: row ${row} has ${elements} elements and the shape [${own.join(", ")}]`);
  }
  const base = { length, nullCount: 0, bitOffset: 0 };
  const elements = { ...base, type: list.of, length: count, values };
  return [
    { ...base, type: list, offsets, children: [elements] },
    { ...base, type: lengths, values: shapes },
  ];
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

/** Decimals of 32 and 64 bits with the bits that ours have. */
function wideDecimals({ values, length }: Batch<unknown>, bitWidth: number, type: DecimalType): BigUint64Array {
  const narrow = bitWidth === 32 ? (values as Int32Array) : new BigInt64Array(values.buffer as ArrayBuffer, values.byteOffset, length);
  const wide = new BigUint64Array((length * type.bits) / 64);
  for (let row = 0; row < length; row += 1) setUnscaled(wide, row, type, BigInt(narrow[row] as number | bigint));
  return wide;
}

/** The values of a batch's dictionary. Writers may send it in parts. */
function wordsOf(field: ArrowField, batch: Batch<unknown>, options: ArrowOptions): Vector {
  const { dictionary } = field.type as unknown as AnyArrowType;
  const own = { ...field, type: dictionary };
  const column = (batch as unknown as { readonly dictionary?: { readonly data: readonly Batch<unknown>[] } }).dictionary;
  const parts = (column?.data ?? []).map((part) => vectorOf(own, part, options));
  return parts.length === 0 ? nullVector(typeOf(own, options), 0) : concatVectors(parts);
}

/** The values that the indices of a dictionary stand for. */
function dictionaryValues(field: ArrowField, batch: Batch<unknown>, options: ArrowOptions): Vector {
  const words = wordsOf(field, batch, options);
  const places = placesOf(field.name, batch, words.length);
  if (words.length === 0) return nullVector(words.type, batch.length);
  const hasNulls = batch.nullCount > 0;
  const rows = Uint32Array.from(places, (place, row) => (hasNulls && !batch.isValid(row) ? 0 : place));
  const taken = takeVector(words, rows);
  if (!hasNulls || taken.type.kind === "null") return taken;
  const validity = new Uint8Array(bitmapBytes(batch.length));
  let nullCount = batch.length;
  for (let row = 0; row < batch.length; row += 1) {
    if (!batch.isValid(row) || isNull(taken, row)) continue;
    setBit(validity, row);
    nullCount -= 1;
  }
  return { ...taken, nullCount, validity, bitOffset: 0 };
}

/** A column with its dictionary. A row whose value is a null of the dictionary is null. */
function dictionaryColumn(type: DataType & { kind: "dictionary" }, field: ArrowField, batch: Batch<unknown>): Vector {
  const words = wordsOf(field, batch, {});
  if (words.nullCount > 0) {
    const read = valueReader(dictionaryValues(field, batch, {}));
    return buildVector(
      Array.from({ length: batch.length }, (_, row) => read(row)),
      type,
    );
  }
  const { length, nullCount, validity } = batch;
  const base = { type, length, nullCount, bitOffset: 0, ...(nullCount > 0 ? { validity } : {}) };
  return { ...base, values: placesOf(field.name, batch, words.length), children: [words] };
}

/** The index of each row into its dictionary, whatever where the row is null. In the memory of the batch where the indices are signed and of 32 bits at most. */
function placesOf(column: string, batch: Batch<unknown>, wordCount: number): Codes {
  const { length, nullCount } = batch;
  const indices = batch.values as unknown as Codes | ArrayLike<number | bigint>;
  const isOurs = indices instanceof Int8Array || indices instanceof Int16Array || indices instanceof Int32Array;
  const places = isOurs ? indices.subarray(0, length) : newCodes({ BYTES_PER_ELEMENT: 4 }, length);
  for (let row = 0; row < length; row += 1) {
    if (nullCount > 0 && !batch.isValid(row)) continue;
    const index = Number(indices[row]);
    if (!isOurs) places[row] = index;
    if (index < 0 || index >= wordCount)
      throw new DataError(`Column ${JSON.stringify(column)}: row ${row} has the index ${index} into a dictionary of ${wordCount} values`);
  }
  return places;
}
