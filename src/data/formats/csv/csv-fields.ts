/**
 * Finds the fields of CSV records (RFC 4180): the beginning and end of each, without a look at its content.
 *
 * The delimiter separates fields, and LF or CRLF separates records. A field that begins with a quote ends with one, may contain delimiters and newlines, and
 * doubles its inner quotes. Spark and MySQL write an escape before a quote instead, such as `\"`, for which there is an option. A quote amid an unquoted field
 * is an ordinary character. Empty lines are skipped if records have several fields.
 */
const LF = 10;
const CR = 13;
export const QUOTE = 34;

export const PLAIN = 0;
const QUOTED = 1;
/** Quoted, with quotes inside that are doubled or escaped. */
export const ESCAPED = 2;

/** The problem of the record after the last good one. */
type RecordProblem =
  | { readonly kind: "ragged"; readonly at: number; readonly fields: number }
  | { readonly kind: "after quote"; readonly at: number };

/** Where fields of text lie in their bytes: what columns read them by. */
export type Fields = Pick<FieldTable, "starts" | "ends" | "kinds" | "columns" | "rows" | "escape">;

/** The form of records. */
export interface CsvForm {
  /** The byte between two fields. */
  readonly delimiter: number;
  /** The byte before a quote, or before itself, in a field in quotes. Default: none, quotes are doubled. */
  readonly escape?: number | undefined;
  /** Default: error. */
  readonly raggedRows?: RaggedRows | undefined;
}

/** A record with another number of fields than the header becomes an error; is given nulls in place of those that are missing, while one too many is an error; or is left out. */
export type RaggedRows = "error" | "fill" | "skip";

/** The fields of some records, row after row. The indices are those of the bytes that were scanned; quotes around a field do not belong to it. */
export class FieldTable {
  readonly columns: number;
  /** The byte that stands before a quote in quotes: a quote, unless the file has another one for it. */
  readonly escape: number;
  readonly starts: Int32Array;
  readonly ends: Int32Array;
  /** {@link PLAIN}, {@link QUOTED} or {@link ESCAPED}. */
  readonly kinds: Uint8Array;
  rows = 0;
  /** Lines that the rows take, with empty ones between them. */
  lines = 0;
  /** Records between the rows that were left out, as they have another number of fields. */
  skipped = 0;
  /** The place where the first of those begins. */
  skippedAt = 0;
  /** Where the first record begins that is not in the table: cut off, bad, or one too many. */
  end = 0;
  problem: RecordProblem | undefined;
  readonly #delimiter: number;
  readonly #raggedRows: RaggedRows;
  /** Whether the last quoted field has escapes. */
  #isEscaped = false;
  #newlines = 0;

  /**
   * @param columns - fields of a record; 0 to have them counted, as `problem`
   * @param capacity - fields that the table has room for, at least
   */
  constructor(columns: number, { delimiter, escape = QUOTE, raggedRows = "error" }: CsvForm, capacity: number) {
    const fields = Math.max(capacity, columns);
    this.columns = columns;
    this.escape = escape;
    this.#delimiter = delimiter;
    this.#raggedRows = raggedRows;
    this.starts = new Int32Array(fields);
    this.ends = new Int32Array(fields);
    this.kinds = new Uint8Array(fields);
  }

  /**
   * Finds the fields of records until the table is full, a record is cut off or bad, or there are `rowsMax`. Forgets the fields of the last scan.
   *
   * @param bytes - read from `start` to before `end`; the byte at `end` is overwritten
   */
  scan(bytes: Uint8Array, start: number, end: number, rowsMax: number): void {
    const { columns, starts, ends, kinds } = this;
    const delimiter = this.#delimiter;
    const rowLimit = columns === 0 ? 1 : Math.min(rowsMax, Math.floor(starts.length / columns));
    bytes[end] = LF;
    this.problem = undefined;
    this.rows = 0;
    this.lines = 0;
    this.skipped = 0;
    this.end = start;
    let rows = 0;
    let at = start;
    while (rows < rowLimit && at < end) {
      const blank = columns === 1 ? 0 : blankLine(bytes, at);
      if (blank > 0 && at + blank <= end) {
        at += blank;
        this.lines += 1;
        this.end = at;
        continue;
      }
      const first = rows * columns;
      let count = 0;
      this.#newlines = 0;
      for (;;) {
        const kind = bytes[at] === QUOTE ? QUOTED : PLAIN;
        const begin = at + kind;
        if (kind === PLAIN) {
          for (let byte = bytes[at] as number; byte !== delimiter && byte !== LF; byte = bytes[at] as number) at += 1;
        } else {
          at = this.#closingQuote(bytes, begin, end);
        }
        // Behind a closing quote there must be a byte to see that it is no doubled one.
        if (at + kind >= end) return;
        if (count < columns) {
          starts[first + count] = begin;
          ends[first + count] = at;
          kinds[first + count] = kind === QUOTED && this.#isEscaped ? ESCAPED : kind;
        }
        count += 1;
        at += kind;
        if (bytes[at] === delimiter) {
          at += 1;
          continue;
        }
        if (kind === QUOTED && bytes[at] === CR) {
          if (at + 1 >= end) return;
          if (bytes[at + 1] === LF) at += 1;
        }
        if (bytes[at] !== LF) {
          this.problem = { kind: "after quote", at };
          return;
        }
        break;
      }
      const isFilled = count < columns && this.#raggedRows === "fill";
      if (isFilled) this.#addEmpty(first + count, first + columns, at);
      if (isFilled || count === columns) {
        const last = first + count - 1;
        // The CR of CRLF does not belong to the last field.
        if (kinds[last] === PLAIN && ends[last] === at && at > (starts[last] as number) && bytes[at - 1] === CR) ends[last] = at - 1;
        rows += 1;
      } else {
        this.#leaveOut(count);
        if (this.problem !== undefined) return;
      }
      at += 1;
      this.rows = rows;
      this.lines += 1 + this.#newlines;
      this.end = at;
    }
  }

  /** Leaves out the record that begins at `end`, with another number of fields than the columns; where that may not be, the record is the problem. */
  #leaveOut(fields: number): void {
    if (this.columns > 0 && this.#raggedRows === "skip") {
      if (this.skipped === 0) this.skippedAt = this.end;
      this.skipped += 1;
    } else {
      this.problem = { kind: "ragged", at: this.end, fields };
    }
  }

  /** Empty fields, from one to before another. */
  #addEmpty(from: number, to: number, at: number): void {
    this.starts.fill(at, from, to);
    this.ends.fill(at, from, to);
    this.kinds.fill(PLAIN, from, to);
  }

  /** Where the closing quote stands; at or behind `end` where it is not among the bytes. */
  #closingQuote(bytes: Uint8Array, from: number, end: number): number {
    const { escape } = this;
    const highest = Math.max(QUOTE, escape);
    this.#isEscaped = false;
    for (let at = from; at < end; at += 1) {
      const byte = bytes[at] as number;
      // Letters are most of a text, and need no other look.
      if (byte > highest) continue;
      if (byte === LF) this.#newlines += 1;
      if (byte !== QUOTE && byte !== escape) continue;
      const next = at + 1 < end ? bytes[at + 1] : undefined;
      if (next === QUOTE || (byte !== QUOTE && next === escape)) {
        this.#isEscaped = true;
        at += 1;
      } else if (byte === QUOTE) return at;
    }
    return end;
  }
}

/** How many bytes an empty line takes, with its end; 0 for any other. */
function blankLine(bytes: Uint8Array, at: number): number {
  if (bytes[at] === LF) return 1;
  return bytes[at] === CR && bytes[at + 1] === LF ? 2 : 0;
}

/** Copies the bytes of an {@link ESCAPED} field without the escapes before its quotes. Returns the end of the copy. */
export function unescapeInto(target: Uint8Array, to: number, bytes: Uint8Array, { start, end, escape }: EscapedField): number {
  let at = to;
  for (let i = start; i < end; i += 1) {
    const byte = bytes[i] as number;
    if ((byte === QUOTE || byte === escape) && i + 1 < end) {
      const next = bytes[i + 1];
      if (next === QUOTE || (byte !== QUOTE && next === escape)) i += 1;
    }
    target[at++] = bytes[i] as number;
  }
  return at;
}

interface EscapedField {
  readonly start: number;
  readonly end: number;
  readonly escape: number;
}

/** The text of a field of a table. */
export function tableText({ starts, ends, kinds, escape }: Fields, bytes: Uint8Array, field: number): string {
  const [start, end] = [starts[field] as number, ends[field] as number];
  if (kinds[field] !== ESCAPED) return fieldText(bytes, start, end);
  const text = new Uint8Array(end - start);
  return fieldText(text, 0, unescapeInto(text, 0, bytes, { start, end, escape }));
}

/** The text of bytes that have no escapes. */
export function fieldText(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString("utf8");
}
