/**
 * Parses the records of a JSON file: its lines, the elements of its array, or a sequence of objects.
 *
 * The file's beginning decides the form: a first line with a whole object means lines. Whole numbers beyond 2^53 become bigint, so that none is rounded. Long
 * files are never held whole.
 */
import { describeValue, messageOf } from "../../../core/internal.ts";
import { isPlainRow } from "../../blocks/vector-builder.ts";
import { DataError } from "../../errors.ts";
import { JSON_LEVELS_MAX } from "../../limits.ts";
import type { ByteWindow } from "../byte-window.ts";

const LF = 10;
const CR = 13;
const QUOTE = 34;
const COMMA = 44;
const BACKSLASH = 92;
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [91, 93, 123, 125] as const;

export type JsonRow = Readonly<Record<string, unknown>>;

/** Takes a row, the line in which it begins, and how many bytes it has. */
type TakeRow = (row: JsonRow, line: number, bytes: number) => void;

/** Told of a record that cannot be read, where that record alone is to fail. */
export type OnBadRecord = (error: DataError, line: number, bytes: number) => void;

/** Gives the records that are whole in the window to `take` and moves the window behind them. */
export interface RecordReader {
  read(take: TakeRow): void;
  /** @throws DataError where the end of the file is amid a record or an array */
  end(): void;
}

/**
 * The reader for the form that the window's beginning has.
 *
 * @param decimals - columns whose numbers of many digits are given as the texts that they are written as
 * @param onBad - default: a bad record is thrown
 */
export function recordReader(window: ByteWindow, decimals: readonly string[], onBad?: OnBadRecord): RecordReader {
  let start = window.start;
  while (start < window.end && isSpace(window.bytes[start] as number)) start += 1;
  // Where bad lines may be left out, one of the next lines says that the file has lines. An array has its elements on lines, too.
  const looks = onBad === undefined || window.bytes[start] === OPEN_ARRAY ? 1 : LINES_LOOKED_AT;
  for (let look = 0; look < looks && start < window.end; look += 1) {
    const newline = window.bytes.indexOf(LF, start);
    const end = newline < 0 || newline > window.end ? window.end : newline;
    try {
      if (isPlainRow(JSON.parse(textOf(window, start, end)))) return new LineReader(window, decimals, onBad);
    } catch {
      // The line begins a longer record or is malformed, which the other reader finds out.
    }
    start = end + 1;
  }
  return new ValueReader(window, decimals, onBad);
}

const LINES_LOOKED_AT = 100;

function textOf(window: ByteWindow, start: number, end: number): string {
  const { bytes } = window;
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString("utf8");
}

/** JSON lines. */
class LineReader implements RecordReader {
  readonly #window: ByteWindow;
  readonly #decimals: readonly string[];
  readonly #onBad: OnBadRecord | undefined;
  #line = 1;

  constructor(window: ByteWindow, decimals: readonly string[], onBad: OnBadRecord | undefined) {
    this.#window = window;
    this.#decimals = decimals;
    this.#onBad = onBad;
  }

  read(take: TakeRow): void {
    const window = this.#window;
    const { bytes } = window;
    const after = bytes.subarray(0, window.end).lastIndexOf(LF) + 1;
    if (after <= window.start) return;
    window.checkUtf8(after);
    for (let at = window.start; at < after; this.#line += 1) {
      const end = bytes.indexOf(LF, at);
      if (!isBlank(bytes, at, end)) takeRow(window, at, end, { line: this.#line, decimals: this.#decimals, take, onBad: this.#onBad });
      at = end + 1;
    }
    window.start = after;
  }

  end(): void {
    // Each line stands for itself.
  }
}

function isBlank(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) if (!isSpace(bytes[at] as number)) return false;
  return true;
}

function isSpace(byte: number): boolean {
  return byte === 32 || byte === LF || byte === CR || byte === 9;
}

/** The elements of one array, or objects that follow each other. */
class ValueReader implements RecordReader {
  readonly #window: ByteWindow;
  readonly #decimals: readonly string[];
  readonly #onBad: OnBadRecord | undefined;
  #line = 1;
  /** Undefined before the first byte that is no space. */
  #isArray: boolean | undefined;
  #isClosed = false;
  /** A comma, or the end of the array, must come before the next element. */
  #needsComma = false;

  constructor(window: ByteWindow, decimals: readonly string[], onBad: OnBadRecord | undefined) {
    this.#window = window;
    this.#decimals = decimals;
    this.#onBad = onBad;
  }

  read(take: TakeRow): void {
    const window = this.#window;
    for (;;) {
      this.#skipBetween();
      if (window.length === 0) return;
      const { bytes, start } = window;
      const first = bytes[start] as number;
      if (first !== OPEN_OBJECT || this.#isClosed || (this.#needsComma && this.#isArray === true)) throw this.#unexpected(first);
      const end = objectEnd(bytes, start, window.end);
      if (end < 0) return;
      window.checkUtf8(end);
      takeRow(window, start, end, { line: this.#line, decimals: this.#decimals, take, onBad: this.#onBad });
      this.#line += window.countLines(end);
      window.start = end;
      this.#needsComma = true;
    }
  }

  end(): void {
    const { file } = this.#window;
    if (this.#window.length > 0) throw new DataError(`Cannot read ${file}: the object that begins in line ${this.#line} is cut off`);
    if (this.#isArray === true && !this.#isClosed)
      throw new DataError(`Cannot read ${file}: the array is cut off: line ${this.#line} is the last`);
  }

  /** Moves the window over spaces, commas between elements, and the brackets of the array. */
  #skipBetween(): void {
    const window = this.#window;
    for (; window.length > 0; window.start += 1) {
      const byte = window.bytes[window.start] as number;
      if (byte === LF) this.#line += 1;
      if (isSpace(byte)) continue;
      if (this.#isArray === undefined) {
        this.#isArray = byte === OPEN_ARRAY;
        if (this.#isArray) continue;
      }
      if (this.#isArray && byte === COMMA && this.#needsComma) this.#needsComma = false;
      else if (this.#isArray && byte === CLOSE_ARRAY && !this.#isClosed) this.#isClosed = true;
      else return;
    }
  }

  #unexpected(byte: number): DataError {
    const window = this.#window;
    const found = `${window.file}: line ${this.#line} (byte ${window.offsetOf(window.start)}) has ${JSON.stringify(String.fromCharCode(byte))}`;
    return new DataError(`${found} where an object or the end should be`, { hint: "rows are objects: [{ … }, …], or one { … } a line" });
  }
}

/** Where the object that begins at `start` has ended; -1 where it is cut off. */
function objectEnd(bytes: Uint8Array, start: number, end: number): number {
  let depth = 0;
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] as number;
    if (byte === QUOTE) {
      for (at += 1; at < end && bytes[at] !== QUOTE; at += 1) if (bytes[at] === BACKSLASH) at += 1;
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) depth += 1;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return -1;
}

/** A whole number of so many digits that a JavaScript number may not hold it; in a text it does no harm. */
const LONG_INTEGER = /[:[,\s]-?[0-9]{16,}\s*[,\]}]/;

/** A number with a fraction and more digits than a JavaScript number is sure to hold; in a text it does no harm. */
const LONG_FRACTION = /[:[,\s]-?(?=[0-9.]{17})[0-9]+\.[0-9]/;

interface RowPlace {
  readonly line: number;
  readonly decimals: readonly string[];
}

interface RowTaker extends RowPlace {
  readonly take: TakeRow;
  readonly onBad: OnBadRecord | undefined;
}

function takeRow(window: ByteWindow, start: number, end: number, { take, onBad, ...place }: RowTaker): void {
  let row: JsonRow;
  try {
    row = parseRow(window, start, end, place);
  } catch (error) {
    if (onBad === undefined || !(error instanceof DataError)) throw error;
    onBad(error, place.line, end - start);
    return;
  }
  take(row, place.line, end - start);
}

function parseRow(window: ByteWindow, start: number, end: number, { line, decimals }: RowPlace): JsonRow {
  const text = textOf(window, start, end);
  let row: unknown;
  try {
    row = LONG_INTEGER.test(text) ? JSON.parse(text, keepLongIntegers) : JSON.parse(text);
  } catch (error) {
    // With a function for its values the parser calls itself, and ends the stack.
    if (error instanceof RangeError) throw tooDeep(window, line);
    throw new DataError(`Cannot read ${window.file}: line ${line} is no JSON: ${messageOf(error)}`, { cause: error });
  }
  if (text.length > 2 * JSON_LEVELS_MAX && isDeeper(row, JSON_LEVELS_MAX)) throw tooDeep(window, line);
  if (isPlainRow(row)) return decimals.length > 0 && LONG_FRACTION.test(text) ? withTexts(row, text, decimals) : row;
  throw new DataError(`Cannot read ${window.file}: line ${line} is ${describeValue(row)}, and rows are objects`);
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  for (const part of Array.isArray(value) ? value : Object.values(value)) if (isDeeper(part, levels - 1)) return true;
  return false;
}

function tooDeep({ file }: ByteWindow, line: number): DataError {
  return new DataError(`Cannot read ${file}: line ${line} is nested more than ${JSON_LEVELS_MAX} levels deep`, {
    hint: "read the file with readText, and take what is needed from its lines",
  });
}

/** The row with the texts of numbers that have a fraction, in these columns. */
function withTexts(row: JsonRow, text: string, decimals: readonly string[]): JsonRow {
  const texts = JSON.parse(text, (_key, value: unknown, context?: { readonly source?: string }) =>
    typeof value === "number" && context?.source?.includes(".") === true ? context.source : value,
  ) as JsonRow;
  const changed = decimals.filter((name) => typeof row[name] === "number").map((name) => [name, texts[name]] as const);
  return { ...row, ...Object.fromEntries(changed) };
}

function keepLongIntegers(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
  const source = context?.source ?? "";
  return /^-?[0-9]+$/.test(source) ? BigInt(source) : value;
}
