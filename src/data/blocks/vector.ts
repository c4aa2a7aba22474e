/**
 * A vector: the values of one column in one block, in Arrow's memory layout. A vector is plain data over typed arrays. So it travels unchanged, and other
 * processes read a stored one without a copy.
 *
 * | kind | `values` | `offsets` | `children` |
 * |---|---|---|---|
 * | numbers, days, times, `int64` | one element a row | | |
 * | `decimal` | two or four words of 64 bits a row | | |
 * | `bool` | a bitmap | | |
 * | `string` (UTF-8), `binary` | all bytes | where each row begins, and the end | |
 * | `list` | | where each row begins, and the end | the elements |
 * | `struct` | | | one a field |
 * | `tensor` | all elements, row after row | | |
 * | `struct` as `tensor` | | | lists of elements, and shapes |
 * | `dictionary` | one code a row: the place of its value | | the values, each once |
 * | `null` | | | |
 *
 * Rows are cut out without a copy. Bits cannot begin amid a byte, so bitmaps keep the bits before the first row, and `bitOffset` counts them. Offsets need not
 * begin at 0.
 */
import { type DataType, elementsOf, type Field, type NumberKind, sameType, type TimeUnit, typeName, unitsIn } from "./data-type.ts";
import { rescaled } from "./values/decimals.ts";
import { type Codes, codesFor, compactCodes, distinctRanges, newCodes, type Ranges } from "./values/dictionary-codes.ts";
import { gatherElements, gatherRanges } from "./gather.ts";
import { bitmapBytes, countZeros, getBit, orBits, setBit } from "./values/bitmap.ts";
import { DataError } from "../errors.ts";
import { OFFSET_MAX } from "../limits.ts";

export type NumberArray = Int8Array | Int16Array | Int32Array | Uint8Array | Uint16Array | Uint32Array | Float32Array | Float64Array;
export type ValueArray = NumberArray | BigInt64Array | BigUint64Array;

export interface Vector {
  readonly type: DataType;
  readonly length: number;
  readonly nullCount: number;
  /** Bitmap of the rows with values; absent if no row is null. */
  readonly validity?: Uint8Array;
  /** Bits before the first row, in `validity` and in the values of booleans. */
  readonly bitOffset: number;
  readonly values?: ValueArray;
  readonly offsets?: Int32Array;
  readonly children?: readonly Vector[];
}

type ArrayMaker = (length: number) => ValueArray;

const MAKERS: Readonly<Record<NumberKind | "int64" | "uint64" | "date" | "timestamp" | "time32" | "time64" | "duration", ArrayMaker>> = {
  int8: (length) => new Int8Array(length),
  int16: (length) => new Int16Array(length),
  int32: (length) => new Int32Array(length),
  uint8: (length) => new Uint8Array(length),
  uint16: (length) => new Uint16Array(length),
  uint32: (length) => new Uint32Array(length),
  float32: (length) => new Float32Array(length),
  float64: (length) => new Float64Array(length),
  int64: (length) => new BigInt64Array(length),
  uint64: (length) => new BigUint64Array(length),
  date: (length) => new Int32Array(length),
  timestamp: (length) => new BigInt64Array(length),
  time32: (length) => new Int32Array(length),
  time64: (length) => new BigInt64Array(length),
  duration: (length) => new BigInt64Array(length),
};

/** An array for `length` values of a kind that has one element a row; undefined for other kinds. */
export function newValueArray(kind: string, length: number): ValueArray | undefined {
  return Object.hasOwn(MAKERS, kind) ? MAKERS[kind as keyof typeof MAKERS](length) : undefined;
}

/** Returns the kind of number in a typed array; undefined for any other value. */
export function kindOfArray(value: unknown): NumberKind | "int64" | "uint64" | undefined {
  if (!ArrayBuffer.isView(value)) return undefined;
  const name = Object.prototype.toString.call(value).slice(8, -1);
  if (name === "BigInt64Array") return "int64";
  if (name === "BigUint64Array") return "uint64";
  const kind = name.replace("Array", "").toLowerCase();
  return Object.hasOwn(MAKERS, kind) ? (kind as NumberKind) : undefined;
}

export function isNull(vector: Vector, index: number): boolean {
  if (vector.type.kind === "null") return true;
  return vector.validity !== undefined && !getBit(vector.validity, vector.bitOffset + index);
}

/** How many elements of `values` a row has: 1, or for tensors as many as the shape says. */
function rowElements(type: DataType): number {
  if (type.kind === "decimal") return type.bits / 64;
  return type.kind === "tensor" ? elementsOf(type.shape) : 1;
}

/** The kind of the elements of `values`. */
function elementKind(type: DataType): string {
  if (type.kind === "decimal") return "uint64";
  return type.kind === "tensor" ? type.of.kind : type.kind;
}

/** A vector of nulls. */
export function nullVector(type: DataType, length: number): Vector {
  const rows = { type, length, nullCount: length, bitOffset: 0 };
  if (type.kind === "null") return rows;
  const validity = new Uint8Array(bitmapBytes(length));
  switch (type.kind) {
    case "bool":
      return { ...rows, validity, values: new Uint8Array(bitmapBytes(length)) };
    case "string":
    case "binary":
      return { ...rows, validity, offsets: new Int32Array(length + 1), values: new Uint8Array(0) };
    case "list":
      return { ...rows, validity, offsets: new Int32Array(length + 1), children: [nullVector(type.of, 0)] };
    case "struct":
      return { ...rows, validity, children: type.fields.map((field) => nullVector(field.type, length)) };
    case "dictionary":
      return { ...rows, validity, values: new Int8Array(length), children: [nullVector(type.of, 0)] };
    default:
      return { ...rows, validity, values: newValueArray(elementKind(type), length * rowElements(type)) as ValueArray };
  }
}

/** Rows from `start` to before `end`, in the same memory. */
export function sliceVector(vector: Vector, start: number, end: number): Vector {
  if (start === 0 && end === vector.length) return vector;
  const { type, validity, values, offsets, children } = vector;
  const length = end - start;
  const bits = vector.bitOffset + start;
  // Whole bytes before the first row are cut off, so that a slice does not carry the bitmap of the vector that it comes from.
  const firstByte = bits >> 3;
  const cut = (bitmap: Uint8Array): Uint8Array => bitmap.subarray(firstByte, (bits + length + 7) >> 3);
  const nullCount =
    type.kind === "null" ? length : validity === undefined || vector.nullCount === 0 ? 0 : countZeros(validity, bits, length);
  const perRow = rowElements(type);
  const slice = (): ValueArray | undefined => {
    if (values === undefined) return undefined;
    if (type.kind === "bool") return cut(values as Uint8Array);
    return offsets === undefined ? values.subarray(start * perRow, end * perRow) : values;
  };
  const ownValues = slice();
  return {
    type,
    length,
    nullCount,
    bitOffset: bits & 7,
    ...(nullCount > 0 && validity !== undefined ? { validity: cut(validity) } : {}),
    ...(ownValues === undefined ? {} : { values: ownValues }),
    ...(offsets === undefined ? {} : { offsets: offsets.subarray(start, end + 1) }),
    ...(children === undefined
      ? {}
      : { children: type.kind === "struct" ? children.map((child) => sliceVector(child, start, end)) : children }),
  };
}

/** The rows of `indices`, in their order; a row may come several times. */
export function takeVector(vector: Vector, indices: Uint32Array): Vector {
  const { type, validity, values, offsets, children, bitOffset } = vector;
  const length = indices.length;
  const rows = { type, length, nullCount: 0, bitOffset: 0 };
  const taken = validity === undefined ? undefined : takeBits(validity, bitOffset, indices);
  const nullCount = type.kind === "null" ? length : taken === undefined ? 0 : countZeros(taken, 0, length);
  const base = { ...rows, nullCount, ...(nullCount > 0 && taken !== undefined ? { validity: taken } : {}) };
  if (type.kind === "null") return base;
  if (type.kind === "bool") return { ...base, values: takeBits(values as Uint8Array, bitOffset, indices) };
  if (type.kind === "struct") return { ...base, children: (children as Vector[]).map((child) => takeVector(child, indices)) };
  if (type.kind === "dictionary") return takeCodes(vector, base, indices);
  if (offsets !== undefined) return { ...base, ...takeRanges(vector, offsets, indices) };
  const perRow = rowElements(type);
  const target = newValueArray(elementKind(type), length * perRow) as Float64Array;
  const source = values as Float64Array;
  if (perRow === 1) gatherElements(target, source, indices);
  else
    for (let i = 0; i < length; i += 1) {
      const from = (indices[i] as number) * perRow;
      target.set(source.subarray(from, from + perRow), i * perRow);
    }
  return { ...base, values: target };
}

/** For messages: what to do where a column of a block is too large. */
export const FEWER_ROWS = "repartition({ rowsPerBlock }) makes blocks of fewer rows";

/** In place of the number of a row: a null. */
export const NO_ROW = 0xffffffff;

/** As {@link takeVector}; where an index is `NO_ROW` there is a null. */
export function takeVectorOrNull(vector: Vector, indices: Uint32Array): Vector {
  if (!indices.includes(NO_ROW)) return takeVector(vector, indices);
  if (vector.length === 0) return nullVector(vector.type, indices.length);
  const taken = takeVector(
    vector,
    indices.map((index) => (index === NO_ROW ? 0 : index)),
  );
  if (vector.type.kind === "null") return taken;
  const validity = new Uint8Array(bitmapBytes(indices.length));
  for (let i = 0; i < indices.length; i += 1) if (indices[i] !== NO_ROW && !isNull(taken, i)) setBit(validity, i);
  const nullCount = countZeros(validity, 0, indices.length);
  return nullCount === 0 ? taken : { ...taken, nullCount, validity };
}

function takeBits(bits: Uint8Array, offset: number, indices: Uint32Array): Uint8Array {
  const taken = new Uint8Array(bitmapBytes(indices.length));
  for (let i = 0; i < indices.length; i += 1) if (getBit(bits, offset + (indices[i] as number))) setBit(taken, i);
  return taken;
}

/** Copies the codes and the dictionary of rows, so that the original memory can be freed. */
function takeCodes({ values, children }: Vector, rows: Omit<Vector, "values" | "children">, indices: Uint32Array): Vector {
  const codes = newCodes(values as Codes, indices.length);
  gatherElements(codes, values as Codes, indices);
  return withOwnDictionary({ ...rows, values: codes, children: children as Vector[] });
}

/** Whether it is a column whose dictionary has more values than there are rows, as that of a slice may have. */
export function hasMoreWordsThanRows(vector: Vector): boolean {
  return vector.type.kind === "dictionary" && dictionaryOf(vector).length > vector.length;
}

/** The same rows with a copy of their dictionary, of which only the values that they have where it has more of them than there are rows. */
function withOwnDictionary(vector: Vector): Vector {
  const words = dictionaryOf(vector);
  if (!hasMoreWordsThanRows(vector)) {
    const every = Uint32Array.from({ length: words.length }, (_, word) => word);
    return { ...vector, children: [takeVector(words, every)] };
  }
  const isNullAt = vector.nullCount === 0 ? undefined : (row: number) => isNull(vector, row);
  const { codes, used } = compactCodes(vector.values as Codes, words.length, isNullAt);
  return { ...vector, values: codes, children: [takeVector(words, used)] };
}

/** The values of a dictionary column, which are no nulls. */
export function dictionaryOf({ children }: Vector): Vector {
  return (children as Vector[])[0] as Vector;
}

/** Returns for each row of a dictionary column the place of its value; 0 for null rows. */
export function codesOf(vector: Vector): Uint32Array {
  const codes = new Uint32Array(vector.values as Codes);
  if (vector.nullCount > 0) for (let row = 0; row < codes.length; row += 1) if (isNull(vector, row)) codes[row] = 0;
  return codes;
}

/** The values of a dictionary column, written out for each row; other vectors as they are. */
export function decodeVector(vector: Vector): Vector {
  const { type, length, nullCount, validity, bitOffset } = vector;
  if (type.kind !== "dictionary") return vector;
  const words = dictionaryOf(vector);
  if (words.length === 0) return nullVector(type.of, length);
  const values = takeVector(words, codesOf(vector));
  return nullCount === 0 || validity === undefined ? values : { ...values, nullCount, validity, bitOffset };
}

/** The bytes, or elements, of rows that lie between offsets. */
function takeRanges({ type, values, children }: Vector, offsets: Int32Array, indices: Uint32Array): Partial<Vector> {
  const ends = new Int32Array(indices.length + 1);
  let total = 0;
  for (let i = 0; i < indices.length; i += 1) {
    const row = indices[i] as number;
    total += (offsets[row + 1] as number) - (offsets[row] as number);
    ends[i + 1] = total;
  }
  // A row may be taken many times, as the values of a dictionary are where they are written out.
  if (total > OFFSET_MAX)
    throw new DataError(
      `A column of a block has at most 2 GiB of texts or bytes, or 2^31 elements of lists: ${indices.length} rows have ${total}`,
      { hint: FEWER_ROWS },
    );
  if (type.kind === "list") {
    const elements = new Uint32Array(total);
    for (let i = 0, at = 0; i < indices.length; i += 1) {
      const row = indices[i] as number;
      for (let j = offsets[row] as number; j < (offsets[row + 1] as number); j += 1) elements[at++] = j;
    }
    return { offsets: ends, children: [takeVector((children as Vector[])[0] as Vector, elements)] };
  }
  return { offsets: ends, values: gatherRanges(values as Uint8Array, offsets, indices, total) };
}

/** Joins vectors of one type. */
export function concatVectors(vectors: readonly Vector[]): Vector {
  const first = vectors[0] as Vector;
  if (vectors.length === 1) return first;
  const { type } = first;
  const length = vectors.reduce((sum, vector) => sum + vector.length, 0);
  const nullCount = vectors.reduce((sum, vector) => sum + vector.nullCount, 0);
  const base = {
    type,
    length,
    nullCount,
    bitOffset: 0,
    ...(nullCount > 0 && type.kind !== "null" ? { validity: concatBits(vectors, length, (v) => v.validity) } : {}),
  };
  switch (type.kind) {
    case "null":
      return base;
    case "bool":
      return { ...base, values: concatBits(vectors, length, (vector) => vector.values as Uint8Array) };
    case "struct":
      return {
        ...base,
        children: type.fields.map((_, i) => concatVectors(vectors.map((vector) => (vector.children as Vector[])[i] as Vector))),
      };
    case "dictionary":
      return { ...base, ...concatCodes(vectors, length) };
    case "string":
    case "binary":
    case "list":
      return { ...base, ...concatRanges(vectors, length) };
    default: {
      const perRow = rowElements(type);
      const values = newValueArray(elementKind(type), length * perRow) as Float64Array;
      let at = 0;
      for (const vector of vectors) {
        values.set(vector.values as Float64Array, at);
        at += vector.length * perRow;
      }
      return { ...base, values };
    }
  }
}

function concatBits(vectors: readonly Vector[], length: number, bitsOf: (vector: Vector) => Uint8Array | undefined): Uint8Array {
  const bits = new Uint8Array(bitmapBytes(length));
  let at = 0;
  for (const vector of vectors) {
    orBits(bits, at, bitsOf(vector), vector.bitOffset, vector.length);
    at += vector.length;
  }
  return bits;
}

function concatRanges(vectors: readonly Vector[], length: number): Partial<Vector> {
  const ends = new Int32Array(length + 1);
  const parts: (Uint8Array | Vector)[] = [];
  let row = 0;
  let total = 0;
  for (const vector of vectors) {
    const offsets = vector.offsets as Int32Array;
    const begin = offsets[0] as number;
    const end = offsets[vector.length] as number;
    for (let i = 1; i <= vector.length; i += 1) ends[++row] = (offsets[i] as number) - begin + total;
    total += end - begin;
    parts.push(
      vector.type.kind === "list"
        ? sliceVector((vector.children as Vector[])[0] as Vector, begin, end)
        : (vector.values as Uint8Array).subarray(begin, end),
    );
  }
  if ((vectors[0] as Vector).type.kind === "list") return { offsets: ends, children: [concatVectors(parts as Vector[])] };
  const values = new Uint8Array(total);
  let at = 0;
  for (const part of parts as Uint8Array[]) {
    values.set(part, at);
    at += part.length;
  }
  return { offsets: ends, values };
}

/** Codes of one dictionary for the rows of all: that of the first vector where all have the same one, else the values of all, each once. */
function concatCodes(given: readonly Vector[], length: number): Partial<Vector> {
  const first = dictionaryOf(given[0] as Vector);
  const isOne = given.every((vector) => haveSameBytes(dictionaryOf(vector) as Ranges, first as Ranges));
  const vectors = isOne ? given : given.map((vector) => (hasMoreWordsThanRows(vector) ? withOwnDictionary(vector) : vector));
  const own = vectors.map((vector) => vector.values as Codes);
  const dictionaries = vectors.map(dictionaryOf);
  const all = isOne ? packVector(first) : concatVectors(dictionaries);
  const { ids, firstRows } = distinctRanges(all as Ranges);
  const codes = codesFor(own, firstRows.length, length);
  let [row, base] = [0, 0];
  for (const [i, words] of dictionaries.entries()) {
    // The code of a null is any number.
    for (const code of own[i] as Codes) codes[row++] = ids[base + code] ?? 0;
    if (!isOne) base += words.length;
  }
  return { values: codes, children: [takeVector(all, firstRows)] };
}

function haveSameBytes(a: Ranges, b: Ranges): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  const [from, other] = [a.offsets[0] as number, b.offsets[0] as number];
  for (let i = 1; i <= a.length; i += 1) if ((a.offsets[i] as number) - from !== (b.offsets[i] as number) - other) return false;
  const bytes = (ranges: Ranges, begin: number): Uint8Array => ranges.values.subarray(begin, ranges.offsets[ranges.length]);
  return Buffer.compare(bytes(a, from), bytes(b, other)) === 0;
}

/** The same rows with offsets from 0, without the bytes or elements beside them, and without the values of a large dictionary that none has. The vector itself where it is so already. */
export function packVector(vector: Vector): Vector {
  const { offsets, values, children, length } = vector;
  if (vector.type.kind === "dictionary")
    return hasMoreWordsThanRows(vector) ? withOwnDictionary(vector) : { ...vector, children: [packVector(dictionaryOf(vector))] };
  if (vector.type.kind === "struct") return { ...vector, children: (children as Vector[]).map(packVector) };
  if (offsets === undefined) return vector;
  const begin = offsets[0] as number;
  const end = offsets[length] as number;
  const rebased = begin === 0 ? offsets : offsets.map((offset) => offset - begin);
  if (values !== undefined) return { ...vector, offsets: rebased, values: values.subarray(begin, end) };
  return { ...vector, offsets: rebased, children: [packVector(sliceVector((children as Vector[])[0] as Vector, begin, end))] };
}

/** Returns the memory of the rows in bytes, without other rows of the same shared memory. */
export function vectorBytes(vector: Vector): number {
  const { type, length, validity, values, offsets, children } = vector;
  let bytes = validity === undefined ? 0 : bitmapBytes(length);
  if (offsets !== undefined) {
    const [begin, end] = [offsets[0] as number, offsets[length] as number];
    bytes += offsets.byteLength;
    if (type.kind === "list") return bytes + vectorBytes(sliceVector((children as Vector[])[0] as Vector, begin, end));
    return bytes + end - begin;
  }
  // A dictionary with more values than there are rows sends those that the rows have.
  if (type.kind === "dictionary") {
    const words = dictionaryOf(vector);
    return bytes + (values as Codes).byteLength + Math.ceil(vectorBytes(words) * Math.min(1, length / Math.max(1, words.length)));
  }
  for (const child of children ?? []) bytes += vectorBytes(child);
  return bytes + (values?.byteLength ?? 0);
}

/**
 * The same values as `type`, which {@link unifyTypes} gave for the vector's type and another one.
 *
 * @throws RangeError for a whole number beyond 2^53 that would become a float64
 * @throws DataError for a time that the finer unit does not hold
 */
export function widenVector(vector: Vector, type: DataType): Vector {
  if (sameType(vector.type, type)) return vector;
  if (vector.type.kind === "null") return nullVector(type, vector.length);
  if (vector.type.kind === "dictionary") return widenVector(decodeVector(vector), type);
  if (vector.type.kind === type.kind && (type.kind === "int64" || type.kind === "uint64")) return { ...vector, type };
  if (type.kind === "decimal" && vector.type.kind === "decimal")
    return { ...vector, type, values: rescaled(vector.values as ValueArray, vector.length, vector.type, type) };
  if (type.kind === "list") {
    const child = (vector.children as Vector[])[0] as Vector;
    return { ...vector, type, children: [widenVector(child, type.of)] };
  }
  if (type.kind === "struct" && type.as === "tensor") return withoutShape(vector, type);
  if (type.kind === "struct") return { ...vector, type, children: widenStruct(vector, type.fields) };
  if ("unit" in type) return { ...vector, type, values: inUnit(vector, type) };
  if (type.kind === "float64") return { ...vector, type, values: toFloat64(vector) };
  return { ...vector, type, values: toWhole(vector, type.kind) };
}

/** Whole numbers in a type that holds them all. */
function toWhole({ length, values }: Vector, kind: string): ValueArray {
  const target = newValueArray(kind, length) as ValueArray;
  const own = (values as Int32Array).subarray(0, length);
  if (!(target instanceof BigInt64Array || target instanceof BigUint64Array)) {
    target.set(own);
    return target;
  }
  const halves = new Int32Array(target.buffer);
  for (let i = 0; i < length; i += 1) {
    const value = own[i] as number;
    halves[2 * i] = value;
    halves[2 * i + 1] = value < 0 ? -1 : 0;
  }
  return target;
}

/** Times in a finer unit, moments of another zone, or days as their midnights. @throws DataError for a time that 64 bits do not hold then */
function inUnit(vector: Vector, type: DataType & { readonly unit: TimeUnit }): ValueArray {
  const { length, values } = vector;
  const isDay = vector.type.kind === "date";
  const from = isDay ? "s" : (vector.type as typeof type).unit;
  if (from === type.unit && !isDay) return values as ValueArray;
  const factor = unitsIn(from, type.unit) * (isDay ? SECONDS_PER_DAY : 1);
  if (type.kind === "time32") return (values as Int32Array).subarray(0, length).map((value) => value * factor);
  const target = new BigInt64Array(length);
  const wide = BigInt(factor);
  for (let row = 0; row < length; row += 1) {
    if (isNull(vector, row)) continue;
    const value = BigInt((values as BigInt64Array | Int32Array)[row] as bigint | number) * wide;
    if (BigInt.asIntN(64, value) !== value)
      throw new DataError(
        `Cannot bring a time to ${typeName(type)}: 64 bits do not hold it: received ${(values as BigInt64Array)[row]} ${isDay ? "days" : from} in row ${row}`,
        {
          hint: `cast the columns of both to ${typeName(vector.type)} before they meet`,
        },
      );
    target[row] = value;
  }
  return target;
}

const SECONDS_PER_DAY = 86_400;

/** Arrays of one shape as ones of any shape: the same elements, and the shape once a row. */
function withoutShape({ type, values, ...rows }: Vector, target: DataType & { kind: "struct" }): Vector {
  const { shape } = type as DataType & { kind: "tensor" };
  const { length } = rows;
  const [data, shapes] = target.fields.map((field) => field.type) as [DataType & { kind: "list" }, DataType];
  const perRow = elementsOf(shape);
  const all = { nullCount: 0, bitOffset: 0 };
  const elements = { ...all, type: data.of, length: length * perRow, values: values as ValueArray };
  const offsets = Int32Array.from({ length: length + 1 }, (_, row) => row * perRow);
  const lengths = Int32Array.from({ length: length * shape.length }, (_, i) => shape[i % shape.length] as number);
  return {
    ...rows,
    type: target,
    children: [
      { ...all, type: data, length, offsets, children: [elements] },
      { ...all, type: shapes, length, values: lengths },
    ],
  };
}

function widenStruct(vector: Vector, fields: readonly Field[]): Vector[] {
  const own = vector.type.kind === "struct" ? vector.type.fields : [];
  return fields.map((field) => {
    const index = own.findIndex(({ name }) => name === field.name);
    const child = index < 0 ? undefined : vector.children?.[index];
    return child === undefined ? nullVector(field.type, vector.length) : widenVector(child, field.type);
  });
}

/**
 * The numbers of a vector of numbers as float64, in place where they are that already; whatever for nulls.
 *
 * @throws RangeError for a whole number beyond 2^53, which a float64 does not hold
 */
export function toFloat64({ type, length, values, validity, bitOffset }: Vector): Float64Array {
  if (values instanceof Float64Array) return values;
  const target = new Float64Array(length);
  if (type.kind !== "int64" && type.kind !== "uint64") {
    target.set(values as Exclude<NumberArray, Float64Array>);
    return target;
  }
  // 64-bit numbers as pairs of halves: no bigint is made for each.
  const wide = values as BigInt64Array;
  const halves = new Uint32Array(wide.buffer, wide.byteOffset, length * 2);
  const signed = type.kind === "int64";
  for (let i = 0; i < length; i += 1) {
    const high = signed ? (halves[2 * i + 1] as number) | 0 : (halves[2 * i + 1] as number);
    const value = high * 4294967296 + (halves[2 * i] as number);
    // Beyond 2^53 the sum above may have been rounded, but not to below it.
    if ((value > Number.MAX_SAFE_INTEGER || value < Number.MIN_SAFE_INTEGER) && (validity === undefined || getBit(validity, bitOffset + i)))
      throw new UnsafeInteger(i, wide[i] as bigint);
    target[i] = value;
  }
  return target;
}

/** A whole number that a JavaScript number does not hold, in a column that is read as numbers. */
export class UnsafeInteger extends RangeError {
  readonly row: number;
  readonly value: bigint;
  /** Whether the value is inside a list or a struct of the row. */
  readonly isNested: boolean;

  constructor(row: number, value: bigint, isNested = false) {
    super(`${value} is beyond 2^53 and cannot be a number`);
    this.row = row;
    this.value = value;
    this.isNested = isNested;
  }
}
