/**
 * Parses fields of text into columns.
 *
 * Each kind of column reads the fields straight into the memory of its vector. An empty field is null; in a column of strings an empty field in quotes is an
 * empty text. A field that does not parse as the column's type is a `FieldMisfit`, or null if the caller collects misfits.
 */
import { bitmapBytes, setBit } from "../../blocks/values/bitmap.ts";
import { type DataType, type DecimalType, isNumberKind, NULL, type TimeUnit, timeType, typeName } from "../../blocks/data-type.ts";
import { parseDecimal, setUnscaled } from "../../blocks/values/decimals.ts";
import { newValueArray, nullVector, type ValueArray, type Vector } from "../../blocks/vector.ts";
import { encodeVector } from "../../blocks/vector-builder.ts";
import { ESCAPED, type Fields, fieldText, PLAIN, unescapeInto } from "../csv/csv-fields.ts";
import { holdsWhole, numberWord, parseFloat64, TOO_LARGE, writeInt64, WRITTEN, WRITTEN_UNSAFE } from "./number-text.ts";
import { booleanWord, hasLeadingZero, trimmed } from "./text-inference.ts";
import { DIGITS_OF_UNIT, parseDay, parseTimeOfDay, TOO_FINE, writeMoment } from "./time-text.ts";

/** Remedy for a whole number that a float64 would round. */
export const ROUNDED = "rounded";

/** A field that does not parse as its column's type. */
export class FieldMisfit extends Error {
  /** The field in its table. */
  readonly field: number;
  /** The type that would hold it, or {@link ROUNDED}. */
  readonly remedy: string;

  constructor(field: number, remedy = "string") {
    super(`Field ${field} does not fit`);
    this.field = field;
    this.remedy = remedy;
  }
}

const FIRST_CAPACITY = 1024;

export abstract class TextColumn {
  readonly type: DataType;
  /** Fields that do not fit are null. Default: they are errors. */
  misfitsAreNull = false;
  /** Told of each field that does not fit and is null. */
  onMisfit: ((row: number, misfit: FieldMisfit) => void) | undefined;
  protected length = 0;
  protected capacity = 0;
  /** Rows for which there is room at first: as many as the last vector had. */
  #expected = FIRST_CAPACITY;
  #nullCount = 0;
  #validity: Uint8Array | undefined;

  constructor(type: DataType) {
    this.type = type;
  }

  /** Reads one column of the table. The rows with a misfit among them are not taken. */
  append(table: Fields, bytes: Uint8Array, column: number): void {
    const needed = this.length + table.rows;
    if (needed > this.capacity) {
      this.capacity = Math.max(needed, this.capacity === 0 ? this.#expected : this.capacity * 2);
      this.grow(this.capacity);
      if (this.#validity !== undefined) this.#validity = grownValidity(this.#validity, this.capacity);
    }
    this.fill(table, bytes, column);
    this.length = needed;
  }

  /** The vector of all rows since the last one. */
  take(): Vector {
    const { length, type } = this;
    const nullCount = this.#nullCount;
    const validity = this.#validity?.subarray(0, bitmapBytes(length));
    const vector: Vector = {
      type,
      length,
      nullCount,
      bitOffset: 0,
      ...(validity === undefined ? {} : { validity }),
      ...this.takeValues(length),
    };
    this.#expected = Math.max(FIRST_CAPACITY, length);
    this.length = 0;
    this.capacity = 0;
    this.#nullCount = 0;
    this.#validity = undefined;
    return vector;
  }

  protected markNull(row: number): void {
    this.#validity ??= grownValidity(new Uint8Array(0), this.capacity);
    const byte = row >> 3;
    this.#validity[byte] = (this.#validity[byte] as number) & ~(1 << (row & 7));
    this.#nullCount += 1;
  }

  /** @throws FieldMisfit unless misfits are null, as the row is then */
  protected misfit(row: number, field: number, remedy?: string): void {
    if (!this.misfitsAreNull) throw new FieldMisfit(field, remedy);
    this.markNull(row);
    this.onMisfit?.(row, new FieldMisfit(field, remedy));
  }

  /** The bytes of the values of all rows so far. */
  abstract get valueBytes(): number;
  protected abstract grow(capacity: number): void;
  protected abstract fill(table: Fields, bytes: Uint8Array, column: number): void;
  protected abstract takeValues(length: number): Pick<Vector, "values" | "offsets">;
}

/** Rows are values until one is marked as null. */
function grownValidity(old: Uint8Array, capacity: number): Uint8Array {
  const grown = new Uint8Array(bitmapBytes(capacity)).fill(0xff, old.length);
  grown.set(old);
  return grown;
}

/** Empty fields alone. */
class NullColumn extends TextColumn {
  constructor() {
    super(NULL);
  }

  get valueBytes(): number {
    return 0;
  }

  protected grow(): void {}

  protected fill(): void {}

  protected takeValues(): Pick<Vector, "values"> {
    return {};
  }

  override take(): Vector {
    return nullVector(NULL, super.take().length);
  }
}

/** The first `length` values; those of little use of a large memory in memory of their own. */
function fitted<T extends ValueArray>(values: T, length: number): T {
  return (length * 2 < values.length ? values.slice(0, length) : values.subarray(0, length)) as T;
}

/** A column with one element of a typed array a row. */
abstract class ArrayColumn<T extends ValueArray> extends TextColumn {
  protected values: T;

  constructor(type: DataType) {
    super(type);
    this.values = newValueArray(type.kind, 0) as T;
  }

  get valueBytes(): number {
    return this.length * this.values.BYTES_PER_ELEMENT;
  }

  protected grow(capacity: number): void {
    const grown = newValueArray(this.type.kind, capacity) as T;
    grown.set(this.values as never);
    this.values = grown;
  }

  protected takeValues(length: number): Pick<Vector, "values"> {
    const values = fitted(this.values, length);
    this.values = newValueArray(this.type.kind, 0) as T;
    return { values };
  }
}

/** Numbers of up to 32 bits and floating ones. */
class NumberColumn extends ArrayColumn<Float64Array> {
  readonly #isInferred: boolean;
  readonly #isWhole: boolean;

  constructor(type: DataType, isInferred: boolean) {
    super(type);
    this.#isInferred = isInferred;
    this.#isWhole = type.kind !== "float64" && type.kind !== "float32";
  }

  protected fill({ starts, ends, columns, rows }: Fields, bytes: Uint8Array, column: number): void {
    const { values, length } = this;
    const [isInferred, isWhole] = [this.#isInferred, this.#isWhole];
    for (let row = 0, field = column; row < rows; row += 1, field += columns) {
      const start = starts[field] as number;
      const end = ends[field] as number;
      if (start === end) {
        this.markNull(length + row);
        continue;
      }
      let value = parseFloat64(bytes, start, end);
      if (Number.isNaN(value)) {
        const odd = oddNumber(bytes, start, end);
        if (odd === undefined) {
          this.misfit(length + row, field);
          continue;
        }
        value = odd;
      }
      const hasZero = isInferred && hasLeadingZero(bytes, start, end);
      if (hasZero || (isInferred && isRounded(value, bytes, start, end))) {
        this.misfit(length + row, field, hasZero ? undefined : ROUNDED);
        continue;
      }
      values[length + row] = value;
      if (isWhole && values[length + row] !== value) this.misfit(length + row, field, Number.isInteger(value) ? "int64" : "float64");
    }
  }
}

/** Whether a field is a whole number that is another one as a float64. */
function isRounded(value: number, bytes: Uint8Array, start: number, end: number): boolean {
  if (Math.abs(value) <= Number.MAX_SAFE_INTEGER || !Number.isFinite(value)) return false;
  const [first, last] = trimmed(bytes, start, end);
  const text = fieldText(bytes, first, last);
  return /^[+-]?[0-9]+$/.test(text) && !holdsWhole(text.replace("+", ""));
}

/** A number with spaces around it, or a word for one; undefined for anything else. */
function oddNumber(bytes: Uint8Array, start: number, end: number): number | undefined {
  const [first, last] = trimmed(bytes, start, end);
  const value = parseFloat64(bytes, first, last);
  if (!Number.isNaN(value)) return value;
  return last - first > 9 ? undefined : numberWord(fieldText(bytes, first, last));
}

/** int64, timestamps and durations: two halves of 32 bits each. */
abstract class HalvesColumn extends ArrayColumn<BigInt64Array> {
  protected halves: Int32Array = new Int32Array(0);

  protected override grow(capacity: number): void {
    super.grow(capacity);
    this.halves = new Int32Array(this.values.buffer);
  }
}

class Int64Column extends HalvesColumn {
  readonly #isInferred: boolean;
  readonly #isBigint: boolean;

  constructor(type: DataType, isInferred: boolean) {
    super(type);
    this.#isInferred = isInferred;
    this.#isBigint = type.kind !== "int64" || type.as === "bigint";
  }

  protected fill({ starts, ends, columns, rows }: Fields, bytes: Uint8Array, column: number): void {
    const { halves, length } = this;
    const allowZeros = !this.#isInferred;
    for (let row = 0, field = column; row < rows; row += 1, field += columns) {
      const start = starts[field] as number;
      const end = ends[field] as number;
      if (start === end) {
        this.markNull(length + row);
        continue;
      }
      const written = writeInt64(bytes, start, end, halves, length + row, allowZeros);
      if (written !== WRITTEN) this.#odd(bytes, start, end, field, length + row, written);
    }
  }

  /** Parses a field that is beyond 2^53, has spaces around it, or is not a whole number. */
  #odd(bytes: Uint8Array, start: number, end: number, field: number, row: number, seen: number): void {
    const [first, last] = trimmed(bytes, start, end);
    const written = first === start && last === end ? seen : writeInt64(bytes, first, last, this.halves, row, !this.#isInferred);
    if (written === WRITTEN || (written === WRITTEN_UNSAFE && this.#isBigint)) return;
    if (written === WRITTEN_UNSAFE) this.misfit(row, field, "int64 as bigint");
    else if (written === TOO_LARGE || hasLeadingZero(bytes, first, last)) this.misfit(row, field);
    else this.misfit(row, field, Number.isNaN(parseFloat64(bytes, first, last)) ? "string" : "float64");
  }
}

/** Whole numbers up to 2^64. They are rare, so a bigint is made for each. */
class Uint64Column extends ArrayColumn<BigUint64Array> {
  protected fill({ starts, ends, columns, rows }: Fields, bytes: Uint8Array, column: number): void {
    for (let row = 0, field = column; row < rows; row += 1, field += columns) {
      const [start, end] = trimmed(bytes, starts[field] as number, ends[field] as number);
      if (start === end) {
        this.markNull(this.length + row);
        continue;
      }
      const text = fieldText(bytes, start, end);
      const value = /^\d{1,20}$/.test(text) ? BigInt(text) : -1n;
      const isUnsafe = this.type.kind === "uint64" && this.type.as === "number" && value > BigInt(Number.MAX_SAFE_INTEGER);
      if (value < 0n || BigInt.asUintN(64, value) !== value) this.misfit(this.length + row, field);
      else if (isUnsafe) this.misfit(this.length + row, field, "uint64 as bigint");
      else this.values[this.length + row] = value;
    }
  }
}

const FINER: readonly TimeUnit[] = ["ms", "us", "ns"];

class TimestampColumn extends HalvesColumn {
  readonly #unitDigits: number;

  constructor(type: DataType & { kind: "timestamp" }) {
    super(type);
    this.#unitDigits = DIGITS_OF_UNIT[type.unit];
  }

  protected fill({ starts, ends, columns, rows }: Fields, bytes: Uint8Array, column: number): void {
    const { halves, length } = this;
    const unitDigits = this.#unitDigits;
    for (let row = 0, field = column; row < rows; row += 1, field += columns) {
      const start = starts[field] as number;
      const end = ends[field] as number;
      if (start === end) {
        this.markNull(length + row);
        continue;
      }
      let written = writeMoment(bytes, start, end, unitDigits, halves, length + row);
      if (written === WRITTEN) continue;
      const [first, last] = trimmed(bytes, start, end);
      written = writeMoment(bytes, first, last, unitDigits, halves, length + row);
      if (written === WRITTEN) continue;
      const finer = FINER.find((unit) => writeMoment(bytes, first, last, DIGITS_OF_UNIT[unit], halves, length + row) === WRITTEN);
      this.misfit(length + row, field, written === TOO_FINE && finer !== undefined ? `timestamp[${finer}]` : "string");
    }
  }
}

class DateColumn extends ArrayColumn<Int32Array> {
  protected fill({ starts, ends, columns, rows }: Fields, bytes: Uint8Array, column: number): void {
    const { values, length } = this;
    for (let row = 0, field = column; row < rows; row += 1, field += columns) {
      let start = starts[field] as number;
      let end = ends[field] as number;
      if (start === end) {
        this.markNull(length + row);
        continue;
      }
      if (end - start !== 10) [start, end] = trimmed(bytes, start, end);
      const day = end - start === 10 ? parseDay(bytes, start, end) : Number.NaN;
      if (Number.isNaN(day)) this.misfit(length + row, field, isMoment(bytes, start, end) ? "timestamp[ms]" : "string");
      else values[length + row] = day;
    }
  }
}

/** Times of day. They are rare, so a text is made for each. */
class TimeOfDayColumn extends ArrayColumn<Int32Array | BigInt64Array> {
  readonly #type: DataType & { kind: "time32" | "time64" };

  constructor(type: DataType & { kind: "time32" | "time64" }) {
    super(type);
    this.#type = type;
  }

  protected fill({ starts, ends, columns, rows }: Fields, bytes: Uint8Array, column: number): void {
    const { kind, unit } = this.#type;
    for (let row = 0, field = column; row < rows; row += 1, field += columns) {
      const [start, end] = trimmed(bytes, starts[field] as number, ends[field] as number);
      if (start === end) {
        this.markNull(this.length + row);
        continue;
      }
      const text = fieldText(bytes, start, end);
      const count = parseTimeOfDay(text, unit);
      if (count === undefined) {
        const finer = FINER.find((other) => parseTimeOfDay(text, other) !== undefined);
        this.misfit(this.length + row, field, finer === undefined ? "string" : typeName(timeType(finer)));
        continue;
      }
      this.values[this.length + row] = kind === "time32" ? count : BigInt(count);
    }
  }
}

const scratch = new Int32Array(2);

function isMoment(bytes: Uint8Array, start: number, end: number): boolean {
  return writeMoment(bytes, start, end, 3, scratch, 0) === WRITTEN;
}

/** Exact: digits that the type does not hold are a misfit. */
class DecimalColumn extends TextColumn {
  readonly #type: DecimalType;
  #values = new BigUint64Array(0);

  constructor(type: DecimalType) {
    super(type);
    this.#type = type;
  }

  get valueBytes(): number {
    return (this.length * this.#type.bits) / 8;
  }

  protected grow(capacity: number): void {
    const grown = new BigUint64Array((capacity * this.#type.bits) / 64);
    grown.set(this.#values);
    this.#values = grown;
  }

  protected fill({ starts, ends, columns, rows }: Fields, bytes: Uint8Array, column: number): void {
    for (let row = 0, field = column; row < rows; row += 1, field += columns) {
      const [start, end] = trimmed(bytes, starts[field] as number, ends[field] as number);
      if (start === end) {
        this.markNull(this.length + row);
        continue;
      }
      const unscaled = parseDecimal(fieldText(bytes, start, end), this.#type);
      if (unscaled === undefined) this.misfit(this.length + row, field);
      else setUnscaled(this.#values, this.length + row, this.#type, unscaled);
    }
  }

  protected takeValues(length: number): Pick<Vector, "values"> {
    const values = fitted(this.#values, (length * this.#type.bits) / 64);
    this.#values = new BigUint64Array(0);
    return { values };
  }
}

class BooleanColumn extends TextColumn {
  #bits = new Uint8Array(0);

  get valueBytes(): number {
    return bitmapBytes(this.length);
  }

  protected grow(capacity: number): void {
    const grown = new Uint8Array(bitmapBytes(capacity));
    grown.set(this.#bits);
    this.#bits = grown;
  }

  protected fill({ starts, ends, columns, rows }: Fields, bytes: Uint8Array, column: number): void {
    for (let row = 0, field = column; row < rows; row += 1, field += columns) {
      const start = starts[field] as number;
      const end = ends[field] as number;
      if (start === end) {
        this.markNull(this.length + row);
        continue;
      }
      const value = parseBoolean(bytes, start, end);
      if (value === undefined) this.misfit(this.length + row, field);
      else if (value) setBit(this.#bits, this.length + row);
    }
  }

  protected takeValues(length: number): Pick<Vector, "values"> {
    const values = fitted(this.#bits, bitmapBytes(length));
    this.#bits = new Uint8Array(0);
    return { values };
  }
}

function parseBoolean(bytes: Uint8Array, start: number, end: number): boolean | undefined {
  if (end - start === 4 && bytes[start] === 116 && bytes[start + 1] === 114 && bytes[start + 2] === 117 && bytes[start + 3] === 101)
    return true;
  const [first, last] = trimmed(bytes, start, end);
  return last - first > 5 ? undefined : booleanWord(fieldText(bytes, first, last));
}

/** Longer texts are copied by a call of the runtime; for shorter ones that costs more than a loop. */
const LOOP_BYTES = 48;

class StringColumn extends TextColumn {
  #offsets = new Int32Array(1);
  #text = new Uint8Array(0);
  #textLength = 0;

  get valueBytes(): number {
    return this.length * 4 + this.#textLength;
  }

  protected grow(capacity: number): void {
    const grown = new Int32Array(capacity + 1);
    grown.set(this.#offsets);
    this.#offsets = grown;
  }

  protected fill(table: Fields, bytes: Uint8Array, column: number): void {
    const { starts, ends, kinds, columns, rows, escape } = table;
    if (rows === 0) return;
    this.#reserve(sumOfLengths(table, column));
    const [offsets, text, length] = [this.#offsets, this.#text, this.length];
    let at = this.#textLength;
    for (let row = 0, field = column; row < rows; row += 1, field += columns) {
      const start = starts[field] as number;
      const end = ends[field] as number;
      const kind = kinds[field] as number;
      if (start === end && kind === PLAIN) this.markNull(length + row);
      else if (kind === ESCAPED) at = unescapeInto(text, at, bytes, { start, end, escape });
      else if (end - start > LOOP_BYTES) {
        text.set(bytes.subarray(start, end), at);
        at += end - start;
      } else for (let i = start; i < end; i += 1) text[at++] = bytes[i] as number;
      offsets[length + row + 1] = at;
    }
    this.#textLength = at;
  }

  protected takeValues(length: number): Pick<Vector, "values" | "offsets"> {
    const taken = { offsets: fitted(this.#offsets, length + 1), values: fitted(this.#text, this.#textLength) };
    this.#offsets = new Int32Array(1);
    this.#text = new Uint8Array(0);
    this.#textLength = 0;
    return taken;
  }

  #reserve(more: number): void {
    const needed = this.#textLength + more;
    if (needed <= this.#text.length) return;
    const grown = new Uint8Array(Math.max(needed, this.#text.length * 2));
    grown.set(this.#text.subarray(0, this.#textLength));
    this.#text = grown;
  }
}

/** Texts, each once and a number a row. */
class DictionaryColumn extends StringColumn {
  override take(): Vector {
    return encodeVector(super.take());
  }
}

function sumOfLengths({ starts, ends, columns, rows }: Fields, column: number): number {
  let sum = 0;
  for (let row = 0, field = column; row < rows; row += 1, field += columns) sum += (ends[field] as number) - (starts[field] as number);
  return sum;
}

/**
 * A column of a type.
 *
 * @param isInferred - the type comes from other fields, so a text that is more than its number (`007`) is a misfit
 * @returns undefined for types that no text stands for
 */
export function textColumn(type: DataType, isInferred: boolean): TextColumn | undefined {
  if (isNumberKind(type.kind)) return new NumberColumn(type, isInferred);
  switch (type.kind) {
    case "int64":
    case "duration":
      return new Int64Column(type, isInferred);
    case "time32":
    case "time64":
      return new TimeOfDayColumn(type);
    case "uint64":
      return new Uint64Column(type);
    case "bool":
      return new BooleanColumn(type);
    case "date":
      return new DateColumn(type);
    case "timestamp":
      return new TimestampColumn(type);
    case "decimal":
      return new DecimalColumn(type);
    case "string":
      return new StringColumn(type);
    case "dictionary":
      return type.of.kind === "string" ? new DictionaryColumn(type.of) : undefined;
    case "null":
      return isInferred ? new NullColumn() : undefined;
    default:
      return undefined;
  }
}
