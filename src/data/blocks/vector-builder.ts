/**
 * Turns JavaScript values into vectors: infers the type of a list of values and builds its vector.
 *
 * `null` and `undefined` are nulls. Every JavaScript number is a float64, so the blocks of a dataset agree. Values of two types in one column are an error that
 * names both. `value-reader.ts` does the reverse.
 */
import { NdArray } from "../../core/index.ts";
import { describeValue } from "../../core/internal.ts";
import { bitmapBytes, setBit } from "./values/bitmap.ts";
import {
  BIG_INT64,
  BINARY,
  BOOL,
  type DataType,
  FLOAT64,
  elementsOf,
  NULL,
  numberType,
  STRING,
  TIMESTAMP_MS,
  tensorParts,
  typeName,
  unifyTypes,
} from "./data-type.ts";
import { restOf } from "./values/fine-dates.ts";
import { parseDecimal, setUnscaled } from "./values/decimals.ts";
import { codesFor, distinctRanges, type Ranges } from "./values/dictionary-codes.ts";
import { OFFSET_MAX } from "../limits.ts";
import { FEWER_ROWS, isNull, kindOfArray, newValueArray, takeVector, type ValueArray, type Vector } from "./vector.ts";

/** A value that its column cannot hold: of another type than the rows before it, or out of range. */
export class MisfitError extends TypeError {
  /** The row in the list of values. */
  readonly row: number;
  /** The problem, worded to follow the names of column and row: `is a string, and the rows before are float64`. */
  readonly problem: string;

  constructor(row: number, problem: string) {
    super(`Row ${row} ${problem}`);
    this.row = row;
    this.problem = problem;
  }
}

type Values = ArrayLike<unknown>;

/**
 * Builds the vector of a list of values.
 *
 * @param type - the vector's type. Default: the type that all values have.
 * @throws MisfitError
 */
export function buildVector(values: Values, type: DataType = inferType(values)): Vector {
  const rows = rowsWithNulls(values);
  if (type.kind === "null") {
    const row = Array.prototype.findIndex.call(values, (value) => !isNullish(value));
    if (row >= 0) throw new MisfitError(row, `is ${describeValue(values[row])}, and the column has the type null`);
    return { type, length: rows.length, nullCount: rows.nullCount, bitOffset: 0 };
  }
  const fill = FILLERS[type.kind] as (values: Values, type: DataType) => Filled;
  return { type, ...rows, ...fill(values, type) };
}

/** Counts and marks the nulls of a list of values. */
export function rowsWithNulls(values: Values): Pick<Vector, "length" | "nullCount" | "bitOffset" | "validity"> {
  const length = values.length;
  const validity = new Uint8Array(bitmapBytes(length));
  let nullCount = 0;
  for (let row = 0; row < length; row += 1) {
    if (isNullish(values[row])) nullCount += 1;
    else setBit(validity, row);
  }
  return { length, nullCount, bitOffset: 0, ...(nullCount > 0 ? { validity } : {}) };
}

export function isNullish(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}

// ---------------------------------------------------------------------------------------------------------------------
// Inference

/**
 * The type that all values have; `null` where all are null.
 *
 * @throws MisfitError for the first value of another type than those before it, or of none
 */
function inferType(values: Values): DataType {
  let type: DataType = NULL;
  let last: DataType | undefined;
  for (let row = 0; row < values.length; row += 1) {
    const value = values[row];
    if (isNullish(value)) continue;
    // Most columns are of one primitive type: those compare by identity.
    const own = simpleType(value) ?? composedType(value, row);
    if (own === last) continue;
    const unified = unifyTypes(type, own);
    if (unified === undefined) throw new MisfitError(row, `is ${typeName(own)}, and the rows before are ${typeName(type)}`);
    type = unified;
    last = own;
  }
  return type;
}

function simpleType(value: unknown): DataType | undefined {
  switch (typeof value) {
    case "number":
      return FLOAT64;
    case "string":
      return STRING;
    case "boolean":
      return BOOL;
    case "bigint":
      return BIG_INT64;
    default:
      if (value instanceof Date) return typeOfDate(value);
      return value instanceof Uint8Array ? BINARY : undefined;
  }
}

const TIMESTAMP_US: DataType = { kind: "timestamp", unit: "us" };
const TIMESTAMP_NS: DataType = { kind: "timestamp", unit: "ns" };

function typeOfDate(date: Date): DataType {
  const rest = restOf(date);
  if (rest === 0) return TIMESTAMP_MS;
  return rest % NS_PER_US === 0 ? TIMESTAMP_US : TIMESTAMP_NS;
}

function composedType(value: unknown, row: number): DataType {
  if (Array.isArray(value)) return { kind: "list", of: withPlace(row, "an element", () => inferType(value)), as: "array" };
  if (value instanceof NdArray) {
    const kind = kindOfArray(value.data);
    if (kind === undefined || value.dtype !== kind)
      throw new MisfitError(row, `is an NdArray of ${value.dtype}, of which no column can be`);
    return { kind: "tensor", of: { kind }, shape: value.shape };
  }
  const kind = kindOfArray(value);
  if (kind !== undefined) {
    return { kind: "list", of: numberType(kind), as: "typed array" };
  }
  if (isPlainRow(value)) {
    const fields = Object.entries(value).map(([name, part]) => ({
      name,
      type: withPlace(row, `its part ${JSON.stringify(name)}`, () => inferType([part])),
    }));
    return { kind: "struct", fields };
  }
  throw new MisfitError(row, `is ${describeValue(value)}, which no column can hold`);
}

/** An object that is a row or a part of one, and no instance of a class. */
export function isPlainRow(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Runs what may find a misfit inside of the value of a row, and names the row then. */
function withPlace<T>(row: number, part: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (error instanceof MisfitError) throw new MisfitError(row, `does not fit: ${part} ${error.problem}`);
    throw error;
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Filling

export type Filled = Pick<Vector, "values" | "offsets" | "children">;
type TypeOf<K extends string> = DataType & { kind: K };

/** Functions that fill the arrays of a vector, by kind. They skip nulls, whose elements stay zero. */
const FILLERS: { readonly [K in Exclude<DataType["kind"], "null">]: (values: Values, type: TypeOf<K>) => Filled } = {
  bool: fillBooleans,
  int8: fillIntegers,
  int16: fillIntegers,
  int32: fillIntegers,
  uint8: fillIntegers,
  uint16: fillIntegers,
  uint32: fillIntegers,
  float32: fillFloats,
  float64: fillFloats,
  int64: fillWide,
  uint64: fillWide,
  decimal: fillDecimals,
  date: fillDates,
  timestamp: fillTimestamps,
  time32: fillIntegers,
  time64: fillWide,
  duration: fillWide,
  string: fillStrings,
  binary: fillBinary,
  list: fillLists,
  struct: fillStructs,
  tensor: fillTensors,
  dictionary: fillDictionary,
};

function misfit(row: number, value: unknown, type: DataType): MisfitError {
  return new MisfitError(row, `is ${describeValue(value)}, and the column has the type ${typeName(type)}`);
}

function fillBooleans(values: Values, type: DataType): Filled {
  const bits = new Uint8Array(bitmapBytes(values.length));
  for (let row = 0; row < values.length; row += 1) {
    const value = values[row];
    if (value === true) setBit(bits, row);
    else if (value !== false && !isNullish(value)) throw misfit(row, value, type);
  }
  return { values: bits };
}

function fillFloats(values: Values, type: DataType): Filled {
  const target = newValueArray(type.kind, values.length) as Float64Array;
  for (let row = 0; row < values.length; row += 1) {
    const value = values[row];
    if (typeof value === "number") target[row] = value;
    else if (!isNullish(value)) throw misfit(row, value, type);
  }
  return { values: target };
}

function fillIntegers(values: Values, type: DataType): Filled {
  const target = newValueArray(type.kind, values.length) as Int32Array;
  for (let row = 0; row < values.length; row += 1) {
    const value = values[row];
    if (isNullish(value)) continue;
    if (typeof value !== "number") throw misfit(row, value, type);
    target[row] = value;
    // A value that does not fit is cut by the array, so it reads back as another one.
    if (target[row] !== value) throw misfit(row, value, type);
  }
  return { values: target };
}

function fillWide(values: Values, type: DataType): Filled {
  const target = newValueArray(type.kind, values.length) as BigInt64Array;
  const halves = new Int32Array(target.buffer);
  const least = type.kind === "uint64" ? 0 : Number.MIN_SAFE_INTEGER;
  for (let row = 0; row < values.length; row += 1) {
    const value = values[row];
    if (isNullish(value)) continue;
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= least) setWide(halves, row, value);
    else if (typeof value !== "bigint") throw misfit(row, value, type);
    else {
      target[row] = value;
      if (target[row] !== value) throw misfit(row, value, type);
    }
  }
  return { values: target };
}

function fillDecimals(values: Values, type: TypeOf<"decimal">): Filled {
  const target = new BigUint64Array((values.length * type.bits) / 64);
  for (let row = 0; row < values.length; row += 1) {
    const value = values[row];
    if (isNullish(value)) continue;
    const isNumber = typeof value === "string" || typeof value === "number" || typeof value === "bigint";
    const unscaled = isNumber ? parseDecimal(String(value), type) : undefined;
    if (unscaled === undefined) throw misfit(row, value, type);
    setUnscaled(target, row, type, unscaled);
  }
  return { values: target };
}

const MS_PER_DAY = 86_400_000;
const NS_PER_US = 1000;
/** Milliseconds that 64 bits of nanoseconds hold: from 1677-09-21 to 2262-04-11. */
const NS_RANGE_MS = 9_223_372_036_854;

function fillDates(values: Values, type: DataType): Filled {
  const target = new Int32Array(values.length);
  eachTime(values, type, (row, ms) => {
    target[row] = Math.floor(ms / MS_PER_DAY);
  });
  return { values: target };
}

export function fillTimestamps(values: Values, type: TypeOf<"timestamp">): Filled {
  const target = new BigInt64Array(values.length);
  const halves = new Int32Array(target.buffer);
  eachTime(values, type, (row, ms) => {
    const count = type.unit === "ns" ? undefined : countOf(values[row] as Date, ms, type.unit);
    if (count !== undefined && Number.isSafeInteger(count)) setWide(halves, row, count);
    else target[row] = wideCount(values[row] as Date, ms, type, row);
  });
  return { values: target };
}

/** The count of a unit, rounded down. */
function countOf(date: Date, ms: number, unit: "s" | "ms" | "us"): number {
  if (unit === "us") return ms * 1000 + Math.floor(restOf(date) / NS_PER_US);
  return unit === "s" ? Math.floor(ms / 1000) : ms;
}

/** The count of a unit where JavaScript's numbers may not hold it. */
function wideCount(date: Date, ms: number, type: TypeOf<"timestamp">, row: number): bigint {
  if (type.unit === "us") return BigInt(ms) * 1000n + BigInt(Math.floor(restOf(date) / NS_PER_US));
  if (!holdsNanoseconds(ms))
    throw new MisfitError(row, `is ${date.toISOString()}, and ${typeName(type)} has the moments from 1677-09-21 to 2262-04-11 alone`);
  return BigInt(ms) * 1_000_000n + BigInt(restOf(date));
}

/** Whether 64 bits of nanoseconds hold the moment. */
export function holdsNanoseconds(ms: number): boolean {
  return ms < NS_RANGE_MS && ms > -NS_RANGE_MS;
}

/** Writes a safe integer as the two halves of a row of 64 bits: no bigint is made. */
export function setWide(halves: Int32Array, row: number, value: number): void {
  const high = Math.floor(value / 4_294_967_296);
  halves[2 * row] = value - high * 4_294_967_296;
  halves[2 * row + 1] = high;
}

function eachTime(values: Values, type: DataType, set: (row: number, ms: number) => void): void {
  for (let row = 0; row < values.length; row += 1) {
    const value = values[row];
    if (isNullish(value)) continue;
    const ms = value instanceof Date ? value.getTime() : Number.NaN;
    if (Number.isNaN(ms)) throw misfit(row, value, type);
    set(row, ms);
  }
}

/** Longer texts are encoded by the runtime; for shorter ones that call costs more than a loop. */
const LOOP_LENGTH_MAX = 24;
const encoder = new TextEncoder();

/** Bytes of texts, one after the other, in memory that grows. */
class TextBytes {
  #bytes: Uint8Array;
  length = 0;

  constructor(expectedBytes: number) {
    this.#bytes = new Uint8Array(Math.max(64, expectedBytes));
  }

  /** @returns whether UTF-8 can hold the text */
  append(text: string): boolean {
    const most = text.length * 3;
    if (this.length + most > this.#bytes.length) this.#grow(this.length + most);
    if (text.length <= LOOP_LENGTH_MAX && this.#appendAscii(text)) return true;
    if (!text.isWellFormed()) return false;
    this.length += encoder.encodeInto(text, this.#bytes.subarray(this.length)).written;
    return true;
  }

  bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.length);
  }

  #appendAscii(text: string): boolean {
    const bytes = this.#bytes;
    const at = this.length;
    for (let i = 0; i < text.length; i += 1) {
      const code = text.charCodeAt(i);
      if (code > 127) return false;
      bytes[at + i] = code;
    }
    this.length = at + text.length;
    return true;
  }

  #grow(least: number): void {
    const larger = new Uint8Array(Math.max(least, this.#bytes.length * 2));
    larger.set(this.#bytes.subarray(0, this.length));
    this.#bytes = larger;
  }
}

function fillStrings(values: Values, type: DataType): Filled {
  const offsets = new Int32Array(values.length + 1);
  const texts = new TextBytes(values.length * 16);
  for (let row = 0; row < values.length; row += 1) {
    const value = values[row];
    if (typeof value === "string") {
      if (!texts.append(value))
        throw new MisfitError(
          row,
          `is ${describeValue(value)}, which has half of a character that takes two units of UTF-16; value.toWellFormed() replaces such halves`,
        );
    } else if (!isNullish(value)) throw misfit(row, value, type);
    if (texts.length > OFFSET_MAX)
      throw new MisfitError(row, `is too much: the texts of a block's column have at most 2 GiB, and ${FEWER_ROWS}`);
    offsets[row + 1] = texts.length;
  }
  return { offsets, values: texts.bytes() };
}

function fillBinary(values: Values, type: DataType): Filled {
  const offsets = new Int32Array(values.length + 1);
  let total = 0;
  for (let row = 0; row < values.length; row += 1) {
    const value = values[row];
    if (value instanceof Uint8Array) total += value.length;
    else if (!isNullish(value)) throw misfit(row, value, type);
    if (total > OFFSET_MAX) throw new MisfitError(row, `is too much: the bytes of a block's column are at most 2 GiB, and ${FEWER_ROWS}`);
    offsets[row + 1] = total;
  }
  const bytes = new Uint8Array(total);
  for (let row = 0; row < values.length; row += 1) {
    const value = values[row];
    if (value instanceof Uint8Array) bytes.set(value, offsets[row]);
  }
  return { offsets, values: bytes };
}

function fillLists(values: Values, type: TypeOf<"list">): Filled {
  const offsets = new Int32Array(values.length + 1);
  const elements: unknown[] = [];
  for (let row = 0; row < values.length; row += 1) {
    const value = values[row];
    if (Array.isArray(value) || kindOfArray(value) !== undefined) for (const element of value as unknown[]) elements.push(element);
    else if (!isNullish(value)) throw misfit(row, value, type);
    offsets[row + 1] = elements.length;
  }
  try {
    return { offsets, children: [buildVector(elements, type.of)] };
  } catch (error) {
    if (!(error instanceof MisfitError)) throw error;
    const row = offsets.findIndex((end, i) => i > 0 && end > error.row) - 1;
    throw new MisfitError(row, `does not fit: element ${error.row - (offsets[row] as number)} ${error.problem}`);
  }
}

function fillStructs(values: Values, type: TypeOf<"struct">): Filled {
  if (type.as === "tensor") return fillVariableTensors(values, type);
  for (let row = 0; row < values.length; row += 1)
    if (!isNullish(values[row]) && !isPlainRow(values[row])) throw misfit(row, values[row], type);
  const children = type.fields.map((field) => {
    const parts = Array.from(values as ArrayLike<Record<string, unknown> | null | undefined>, (value) =>
      // Inherited members, such as `constructor`, are not parts of a struct.
      !isNullish(value) && Object.hasOwn(value, field.name) ? value[field.name] : undefined,
    );
    try {
      return buildVector(parts, field.type);
    } catch (error) {
      if (!(error instanceof MisfitError)) throw error;
      throw new MisfitError(error.row, `does not fit: its part ${JSON.stringify(field.name)} ${error.problem}`);
    }
  });
  return { children };
}

function fillTensors(values: Values, type: TypeOf<"tensor">): Filled {
  const perRow = elementsOf(type.shape);
  const target = newValueArray(type.of.kind, values.length * perRow) as Float64Array;
  for (let row = 0; row < values.length; row += 1) {
    const value = values[row];
    if (isNullish(value)) continue;
    if (!(value instanceof NdArray) || value.dtype !== type.of.kind || value.shape.join() !== type.shape.join())
      throw misfit(row, value, type);
    target.set(value.data as Float64Array, row * perRow);
  }
  return { values: target };
}

function fillDictionary(values: Values, type: TypeOf<"dictionary">): Filled {
  return encoded(buildVector(values, type.of));
}

/** Texts or bytes as a column with a dictionary. */
export function encodeVector(vector: Vector): Vector {
  const { length, nullCount, validity, bitOffset, type } = vector;
  const rows = { length, nullCount, bitOffset, ...(validity === undefined ? {} : { validity }) };
  return { ...rows, type: { kind: "dictionary", of: { kind: type.kind as "string" | "binary" } }, ...encoded(vector) };
}

/** Gives each text of a vector once, in the order in which they first come, and the place of that of each row. Nulls are no value. */
function encoded(texts: Vector): Filled {
  const { nullCount, length } = texts;
  const present = new Uint32Array(length - nullCount);
  for (let row = 0, at = 0; row < length; row += 1) if (!isNull(texts, row)) present[at++] = row;
  const own = nullCount === 0 ? texts : takeVector(texts, present);
  const { ids, firstRows } = distinctRanges(own as Ranges);
  const codes = codesFor([], firstRows.length, length);
  for (let i = 0; i < ids.length; i += 1) codes[present[i] as number] = ids[i] as number;
  return { values: codes, children: [takeVector(own, firstRows)] };
}

/** Arrays of one kind of elements and one number of dimensions, of any shape. */
function fillVariableTensors(values: Values, type: TypeOf<"struct">): Filled {
  const { kind, dimensions } = tensorParts(type) as NonNullable<ReturnType<typeof tensorParts>>;
  const offsets = new Int32Array(values.length + 1);
  const shapes = new Int32Array(values.length * dimensions);
  for (let row = 0, total = 0; row < values.length; row += 1) {
    const value = values[row];
    if (!isNullish(value)) {
      if (!(value instanceof NdArray) || value.dtype !== kind || value.shape.length !== dimensions) throw misfit(row, value, type);
      shapes.set(value.shape, row * dimensions);
      total += value.data.length;
      if (total > OFFSET_MAX) throw new MisfitError(row, "is too much: the tensors of a block's column have at most 2^31 elements");
    }
    offsets[row + 1] = total;
  }
  const elements = newValueArray(kind, offsets[values.length] as number) as Float64Array;
  for (let row = 0; row < values.length; row += 1)
    if (!isNullish(values[row])) elements.set((values[row] as NdArray<Float64Array>).data, offsets[row]);
  const [data, shape] = type.fields.map((field) => field.type) as [DataType, DataType];
  const base = { length: values.length, nullCount: 0, bitOffset: 0 };
  return {
    children: [
      { ...base, type: data, offsets, children: [vectorOfArray(elements)] },
      { ...base, type: shape, values: shapes },
    ],
  };
}

/** The vector of a typed array, in its memory. */
export function vectorOfArray(values: ValueArray): Vector {
  const type = numberType(kindOfArray(values) as NonNullable<ReturnType<typeof kindOfArray>>);
  return { type, length: values.length, nullCount: 0, bitOffset: 0, values };
}
