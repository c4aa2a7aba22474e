/**
 * Vectors of the values that a function gave for a column: the type of the input's column is kept where every value fits.
 *
 * A value fits where the vector would give back the same JavaScript value. So 2 fits `int32`, 2.5 and -0 do not. A Date at midnight UTC fits
 * `date`. "1.50" fits `decimal<9, 2>`, and "1.5" does not; a number never fits a decimal that is read as text. Values that do not fit have
 * the type that is inferred from them. A column of nulls alone keeps its type. Each type is filled in one pass, which ends at the first
 * value that does not fit.
 */
import { type DataType, type DecimalType, type Field, sameType, tensorParts, type TimeUnit } from "../data-type.ts";
import { parseDecimal, setUnscaled } from "../values/decimals.ts";
import { restOf } from "../values/fine-dates.ts";
import { codesFor } from "../values/dictionary-codes.ts";
import { kindOfArray, newValueArray, nullVector, type ValueArray, type Vector, widenVector } from "../vector.ts";
import {
  buildVector,
  fillTimestamps,
  type Filled,
  holdsNanoseconds,
  isNullish,
  isPlainRow,
  MisfitError,
  rowsWithNulls,
  setWide,
} from "../vector-builder.ts";

type Values = ArrayLike<unknown>;
type TypeOf<K extends string> = DataType & { kind: K };
type Kept = Filled & { readonly type?: DataType };
type Keep<T extends DataType> = (values: Values, type: T) => Kept | undefined;

/**
 * Returns the vector of values of a column whose type in the input was `offered`.
 *
 * @throws MisfitError where neither the offered nor any other type holds all values
 */
export function keptVector(values: Values, offered: DataType | undefined): Vector {
  if (offered === undefined || offered.kind === "null") return buildVector(values);
  const keep = KEEPERS[offered.kind as keyof typeof KEEPERS] as Keep<DataType> | undefined;
  const kept = keep?.(values, offered);
  if (kept !== undefined) return { type: offered, ...rowsWithNulls(values), ...kept };
  const inferred = buildVector(values);
  if (inferred.type.kind === "null") return nullVector(offered, values.length);
  const parts = tensorParts(offered);
  const own = parts === undefined || offered.kind === "tensor" ? undefined : tensorParts(inferred.type);
  return own !== undefined && own.kind === parts?.kind && own.dimensions === parts.dimensions ? widenVector(inferred, offered) : inferred;
}

/** Returns the numbers of a column that was `offered` as 64-bit whole numbers and shown as float64, in 64 bits where all are whole. */
export function keptNumbers(values: Float64Array, offered: TypeOf<"int64" | "uint64">): Vector | undefined {
  const filled = keepWide(values, offered);
  return filled === undefined ? undefined : { type: offered, length: values.length, nullCount: 0, bitOffset: 0, ...filled };
}

/** Types that are inferred as they are have no entry. */
const KEEPERS: { readonly [K in DataType["kind"]]?: Keep<TypeOf<K>> } = {
  int8: keepIntegers,
  int16: keepIntegers,
  int32: keepIntegers,
  uint8: keepIntegers,
  uint16: keepIntegers,
  uint32: keepIntegers,
  time32: keepIntegers,
  float32: keepFloats,
  int64: keepWide,
  uint64: keepWide,
  time64: keepBigints,
  duration: keepBigints,
  decimal: keepDecimals,
  date: keepDates,
  timestamp: keepTimestamps,
  dictionary: keepDictionary,
  list: keepLists,
  struct: keepStructs,
};

function keepIntegers(values: Values, type: DataType): Kept | undefined {
  const target = newValueArray(type.kind, values.length) as Int32Array;
  for (let row = 0; row < values.length; row += 1) {
    const value = values[row];
    if (isNullish(value)) continue;
    if (typeof value !== "number") return undefined;
    target[row] = value;
    // A value beyond the range is cut by the array.
    if (target[row] !== value || isMinusZero(value)) return undefined;
  }
  return { values: target };
}

/** Whole numbers have no -0, and a value is never changed. */
function isMinusZero(value: number): boolean {
  return value === 0 && 1 / value < 0;
}

function keepFloats(values: Values): Kept | undefined {
  const target = new Float32Array(values.length);
  for (let row = 0; row < values.length; row += 1) {
    const value = values[row];
    if (isNullish(value)) continue;
    if (typeof value !== "number") return undefined;
    target[row] = value;
    if (target[row] !== value && !Number.isNaN(value)) return undefined;
  }
  return { values: target };
}

function keepWide(values: Values, type: TypeOf<"int64" | "uint64">): Kept | undefined {
  if (type.as === "bigint") return keepBigints(values, type);
  const target = new BigInt64Array(values.length);
  const halves = new Int32Array(target.buffer);
  const least = type.kind === "int64" ? Number.MIN_SAFE_INTEGER : 0;
  for (let row = 0; row < values.length; row += 1) {
    const value = values[row];
    if (isNullish(value)) continue;
    if (typeof value !== "number" || !Number.isSafeInteger(value) || value < least || isMinusZero(value)) return undefined;
    setWide(halves, row, value);
  }
  return { values: type.kind === "int64" ? target : new BigUint64Array(target.buffer) };
}

function keepBigints(values: Values, type: DataType): Kept | undefined {
  const target = type.kind === "uint64" ? new BigUint64Array(values.length) : new BigInt64Array(values.length);
  for (let row = 0; row < values.length; row += 1) {
    const value = values[row];
    if (isNullish(value)) continue;
    if (typeof value !== "bigint") return undefined;
    target[row] = value;
    if (target[row] !== value) return undefined;
  }
  return { values: target };
}

/** So many digits a JavaScript number holds for sure. */
const SAFE_DIGITS = 15;

function keepDecimals(values: Values, type: DecimalType): Kept | undefined {
  const target = new BigUint64Array((values.length * type.bits) / 64);
  const halves = new Int32Array(target.buffer);
  const words = type.bits / 64;
  for (let row = 0; row < values.length; row += 1) {
    const value = values[row];
    if (isNullish(value)) continue;
    if ((typeof value !== "string" && typeof value !== "number") || (typeof value === "string") !== (type.as === "text")) return undefined;
    const text = String(value);
    const short = type.as === "text" && type.scale >= 0 ? unscaledOf(text, type.scale, Math.min(SAFE_DIGITS, type.precision)) : undefined;
    if (short === undefined) {
      const unscaled = parseDecimal(text, type);
      if (unscaled === undefined || (type.as === "text" && !isCanonical(text, type.scale))) return undefined;
      setUnscaled(target, row, type, unscaled);
    } else {
      setWide(halves, row * words, short);
      if (short < 0) halves.fill(-1, 2 * row * words + 2, 2 * (row + 1) * words);
    }
  }
  return { values: target };
}

/** Whether a decimal of this scale is written in this way. */
function isCanonical(text: string, scale: number): boolean {
  const [, sign, whole, behind = ""] = /^(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?$/.exec(text) ?? [];
  if (whole === undefined || (sign === "-" && !/[1-9]/.test(text))) return false;
  return scale > 0 ? behind.length === scale : behind === "" && (scale === 0 || whole === "0" || whole.endsWith("0".repeat(-scale)));
}

const [ZERO, NINE, MINUS, POINT] = [48, 57, 45, 46] as const;

/** Returns the number without its point of a text of few digits as a decimal of this scale is written; undefined for others. */
function unscaledOf(text: string, scale: number, digitsMax: number): number | undefined {
  const { length } = text;
  const start = text.charCodeAt(0) === MINUS ? 1 : 0;
  const point = scale === 0 ? length : length - scale - 1;
  const digits = length - start - (scale === 0 ? 0 : 1);
  if (digits > digitsMax || point <= start || (text.charCodeAt(start) === ZERO && point > start + 1)) return undefined;
  let number = 0;
  for (let i = start; i < length; i += 1) {
    const code = text.charCodeAt(i);
    if (i === point ? code !== POINT : code < ZERO || code > NINE) return undefined;
    if (i !== point) number = number * 10 + code - ZERO;
  }
  if (start === 0) return number;
  return number === 0 ? undefined : -number;
}

const MS_PER_DAY = 86_400_000;

function keepDates(values: Values): Kept | undefined {
  const target = new Int32Array(values.length);
  for (let row = 0; row < values.length; row += 1) {
    const value = values[row];
    if (isNullish(value)) continue;
    if (!(value instanceof Date)) return undefined;
    const day = value.getTime() / MS_PER_DAY;
    if (!Number.isInteger(day)) return undefined;
    target[row] = day;
  }
  return { values: target };
}

/** Keeps the zone also where another unit is needed: moments with and without a zone do not meet. */
function keepTimestamps(values: Values, type: TypeOf<"timestamp">): Kept | undefined {
  let needed = 0;
  let isNear = true;
  for (let row = 0; row < values.length; row += 1) {
    const value = values[row];
    if (isNullish(value)) continue;
    const ms = value instanceof Date ? value.getTime() : Number.NaN;
    if (Number.isNaN(ms)) return undefined;
    const rest = restOf(value as Date);
    if (rest !== 0) needed = Math.max(needed, rest % 1000 === 0 ? US : NS);
    else if (needed === 0 && ms % 1000 !== 0) needed = MS;
    isNear &&= holdsNanoseconds(ms);
  }
  const isHeld = UNITS.indexOf(type.unit) >= needed && (type.unit !== "ns" || isNear);
  const kept = isHeld ? type : { ...type, unit: UNITS[Math.max(needed, MS)] as TimeUnit };
  return { type: kept, ...fillTimestamps(values, kept) };
}

const UNITS = ["s", "ms", "us", "ns"] as const;
const [MS, US, NS] = [1, 2, 3] as const;

function keepDictionary(values: Values, { of }: TypeOf<"dictionary">): Kept | undefined {
  if (of.kind !== "string") return keepBytes(values, of);
  const places = new Map<string, number>();
  const ids = new Uint32Array(values.length);
  for (let row = 0; row < values.length; row += 1) {
    const value = values[row];
    if (isNullish(value)) continue;
    if (typeof value !== "string") return undefined;
    let place = places.get(value);
    if (place === undefined) places.set(value, (place = places.size));
    ids[row] = place;
  }
  const codes = codesFor([], places.size, values.length);
  codes.set(ids);
  return { values: codes, children: [buildVector([...places.keys()], of)] };
}

function keepBytes(values: Values, of: TypeOf<"binary"> | TypeOf<"string">): Kept | undefined {
  for (let row = 0; row < values.length; row += 1) if (!isNullish(values[row]) && !(values[row] instanceof Uint8Array)) return undefined;
  const { values: codes, children } = buildVector(values, { kind: "dictionary", of });
  return { values: codes as ValueArray, children: children as Vector[] };
}

function keepLists(values: Values, type: TypeOf<"list">): Kept | undefined {
  const offsets = new Int32Array(values.length + 1);
  const elements: unknown[] = [];
  const isTyped = type.as === "typed array";
  for (let row = 0; row < values.length; row += 1) {
    const value = values[row];
    if (!isNullish(value)) {
      if (isTyped ? kindOfArray(value) !== type.of.kind : !Array.isArray(value)) return undefined;
      for (const element of value as unknown[]) elements.push(element);
    }
    offsets[row + 1] = elements.length;
  }
  const child = isTyped ? buildVector(elements, type.of) : within(() => keptVector(elements, type.of));
  return child && { type: { ...type, of: child.type }, offsets, children: [child] };
}

function keepStructs(values: Values, type: TypeOf<"struct">): Kept | undefined {
  if (type.as === "tensor") return undefined;
  const parts = new Map<string, unknown[]>();
  for (let row = 0; row < values.length; row += 1) {
    const value = values[row];
    if (isNullish(value)) continue;
    if (!isPlainRow(value)) return undefined;
    for (const name of Object.keys(value)) {
      let own = parts.get(name);
      if (own === undefined) parts.set(name, (own = new Array<unknown>(values.length).fill(undefined)));
      own[row] = value[name];
    }
  }
  if (parts.size === 0) return undefined;
  const offered = new Map(type.fields.map((field) => [field.name, field.type]));
  const fields: Field[] = [];
  const children: Vector[] = [];
  for (const [name, own] of parts) {
    const child = within(() => keptVector(own, offered.get(name)));
    if (child === undefined) return undefined;
    fields.push({ name, type: child.type });
    children.push(child);
  }
  const isSame =
    fields.length === type.fields.length &&
    fields.every((field, i) => field.name === type.fields[i]?.name && sameType(field.type, type.fields[i].type));
  return { type: isSame ? type : { kind: "struct", fields }, children };
}

/** Makes the vector of a part of lists or structs. Undefined where the values have no common type: inferring the whole names the place then. */
function within(run: () => Vector): Vector | undefined {
  try {
    return run();
  } catch (error) {
    if (error instanceof MisfitError) return undefined;
    throw error;
  }
}
