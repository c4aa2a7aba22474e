/**
 * The types of columns of text, from the fields in the beginning of a file.
 *
 * The column takes the narrowest type that fits all fields that are not empty:
 *
 * | fields | type |
 * |---|---|
 * | whole numbers | int64; as bigint where one is beyond 2^53 |
 * | numbers; also `NaN` and `inf` beside numbers | float64 |
 * | `true`, `false`, also as Python and Excel write them | bool |
 * | days; moments, also beside days | date; timestamp in the coarsest unit that holds all, string where none does |
 * | anything else, numbers with leading zeros | string |
 * | nothing at all | null where this is the whole file, which fits the types of other files; else string |
 * | `""` alone, in the only column | the same: many programs write nulls so, as they skip empty lines |
 */
import { BIG_INT64, BOOL, DATE, type DataType, FLOAT64, INT64, NULL, STRING } from "../../blocks/data-type.ts";
import { type FieldTable, PLAIN } from "../csv/csv-fields.ts";
import { asciiText, NO_INTEGER, numberWord, parseFloat64, TOO_LARGE, writeInt64, WRITTEN_UNSAFE } from "./number-text.ts";
import { fractionDigits, parseDay } from "./time-text.ts";

const INTEGER = 1;
const UNSAFE_INTEGER = 2;
const HUGE_INTEGER = 4;
const FLOAT = 8;
const WORD = 16;
const BOOLEAN = 32;
const DAY = 64;
const MILLISECONDS = 128;
const MICROSECONDS = 256;
const NANOSECONDS = 512;
/** A day or a moment that 64 bits of nanoseconds do not hold. */
const FAR = 1024;
const TEXT = 2048;

/** The possible types of one column. */
export class ColumnInference {
  #seen = 0;
  #hasEmptyTexts = false;
  #hasEmptyFields = false;

  /** Looks at the fields of one column of a table. */
  add({ starts, ends, kinds, columns, rows }: FieldTable, bytes: Uint8Array, column: number): void {
    for (let row = 0, field = column; row < rows && this.#seen < TEXT; row += 1, field += columns) {
      const start = starts[field] as number;
      const end = ends[field] as number;
      if (start < end) this.#seen |= formOf(bytes, start, end);
      else if (kinds[field] === PLAIN) this.#hasEmptyFields = true;
      else this.#hasEmptyTexts = true;
    }
  }

  /**
   * @param isWhole - there are no more fields than those
   * @param isOnlyColumn - the file has no other column
   */
  type(isWhole: boolean, isOnlyColumn: boolean): DataType {
    const seen = this.#seen;
    if (seen === 0) return isWhole && (!this.#hasEmptyTexts || (isOnlyColumn && !this.#hasEmptyFields)) ? NULL : STRING;
    const isOnly = (forms: number): boolean => (seen & ~forms) === 0;
    if (isOnly(INTEGER)) return INT64;
    if (isOnly(INTEGER | UNSAFE_INTEGER)) return BIG_INT64;
    if (isOnly(INTEGER | UNSAFE_INTEGER | HUGE_INTEGER | FLOAT | WORD) && (seen & (FLOAT | WORD)) !== 0 && seen !== WORD) return FLOAT64;
    if (isOnly(BOOLEAN)) return BOOL;
    if (isOnly(DAY | FAR)) return DATE;
    if ((seen & NANOSECONDS) !== 0 && (seen & FAR) !== 0) return STRING;
    if (isOnly(DAY | MILLISECONDS | MICROSECONDS | NANOSECONDS | FAR))
      return { kind: "timestamp", unit: (seen & NANOSECONDS) !== 0 ? "ns" : (seen & MICROSECONDS) !== 0 ? "us" : "ms" };
    return STRING;
  }
}

const scratch = new Int32Array(2);

function formOf(bytes: Uint8Array, start: number, end: number): number {
  const form = formOfExact(bytes, start, end);
  if (form !== TEXT) return form;
  const [first, last] = trimmed(bytes, start, end);
  if (first === last || (first === start && last === end)) return TEXT;
  return formOfExact(bytes, first, last);
}

/** The range without spaces and tabs at its ends, which fields other than texts may have. */
export function trimmed(bytes: Uint8Array, start: number, end: number): [start: number, end: number] {
  let [first, last] = [start, end];
  while (first < last && isBlank(bytes[first])) first += 1;
  while (last > first && isBlank(bytes[last - 1])) last -= 1;
  return [first, last];
}

function isBlank(byte: number | undefined): boolean {
  return byte === 32 || byte === 9;
}

function formOfExact(bytes: Uint8Array, start: number, end: number): number {
  const first = bytes[start] as number;
  if (isDigit(first) || first === 45 || first === 46) return formOfNumber(bytes, start, end);
  // The longest word is "-Infinity", and those for booleans are shorter.
  if (end - start > 9 || first > 122) return TEXT;
  const text = asciiText(bytes, start, end);
  if (booleanWord(text) !== undefined) return BOOLEAN;
  return numberWord(text) === undefined ? TEXT : WORD;
}

function formOfNumber(bytes: Uint8Array, start: number, end: number): number {
  if (end - start >= 10 && bytes[start + 4] === 45) {
    const far = isFar(bytes, start) ? FAR : 0;
    if (end - start === 10 && !Number.isNaN(parseDay(bytes, start, end))) return DAY | far;
    const digits = fractionDigits(bytes, start, end);
    if (digits >= 0 && digits <= 9) return far | (digits > 6 ? NANOSECONDS : digits > 3 ? MICROSECONDS : MILLISECONDS);
  }
  const whole = writeInt64(bytes, start, end, scratch, 0, false);
  if (whole !== NO_INTEGER) {
    if (whole === TOO_LARGE) return HUGE_INTEGER;
    // "-0" is a number that int64 does not have.
    if (bytes[start] === 45 && bytes[start + 1] === 48) return FLOAT;
    return whole === WRITTEN_UNSAFE ? UNSAFE_INTEGER : INTEGER;
  }
  if (hasLeadingZero(bytes, start, end)) return TEXT;
  if (!Number.isNaN(parseFloat64(bytes, start, end))) return FLOAT;
  return numberWord(asciiText(bytes, start, Math.min(end, start + 10))) === undefined ? TEXT : WORD;
}

/** Years of which nanoseconds hold no moment, or not each. */
function isFar(bytes: Uint8Array, start: number): boolean {
  let year = 0;
  for (let at = start; at < start + 4; at += 1) year = year * 10 + (bytes[at] as number) - 48;
  return year < 1678 || year > 2261;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 48 && byte <= 57;
}

/** `007`, `-01.5`: a number that its text is more than. */
export function hasLeadingZero(bytes: Uint8Array, start: number, end: number): boolean {
  const at = bytes[start] === 45 ? start + 1 : start;
  return bytes[at] === 48 && at + 1 < end && isDigit(bytes[at + 1]);
}

/** `true` and `false` in lower case, as `True` and as `TRUE`. Undefined for other texts. */
export function booleanWord(text: string): boolean | undefined {
  if (text === "true" || text === "True" || text === "TRUE") return true;
  return text === "false" || text === "False" || text === "FALSE" ? false : undefined;
}
