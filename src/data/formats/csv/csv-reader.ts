/**
 * Reads CSV files into blocks: bytes go straight into typed vectors, without a string for each field.
 *
 * The first record names the columns, and the beginning of the file decides their types, unless options do. Errors name the file and the place: a later field
 * that does not fit its column, a record with too few or too many fields, and bytes outside the file's encoding. Lines and rows count from 1; rows do not count
 * the header.
 */
import { shownPath } from "../../../storage/paths.ts";
import { readTextChunks } from "../../../storage/read-file.ts";
import { type Block, takeBlock } from "../../blocks/block.ts";
import { type DataType, type Field, parseType, STRING, TYPE_NAMES, typeName, valueType } from "../../blocks/data-type.ts";
import { LossSum, type OnError } from "../../blocks/memory/losses.ts";
import { DataError } from "../../errors.ts";
import { INFERENCE_BYTES, READ_BLOCK_BYTES, RECORD_BYTES_MAX } from "../../limits.ts";
import { ByteWindow } from "../byte-window.ts";
import { type CsvForm, FieldTable, PLAIN, type RaggedRows, tableText } from "./csv-fields.ts";
import { FieldMisfit, ROUNDED, textColumn, type TextColumn } from "../texts/text-columns.ts";
import { UTF8, utf8Text } from "../texts/text-encoding.ts";
import { ColumnInference } from "../texts/text-inference.ts";

export interface CsvOptions {
  /** The delimiter: a single ASCII character. Default: a comma. */
  readonly delimiter?: string;
  /** The character before a quote in a field in quotes, and before itself. Default: quotes are doubled. */
  readonly escape?: string;
  /** The character before the digits of a fraction. Default: `"."`. */
  readonly decimalSeparator?: "." | ",";
  /** True: the first record has the names of the columns. False: they are `column1`, `column2` and so on. A list: these are the names, and the first record is data. Default: true. */
  readonly header?: boolean | readonly string[];
  /** Types of columns by name, in place of those that would be inferred: `{ zip: "string", id: "int64 as bigint" }`. */
  readonly schema?: Readonly<Record<string, string>>;
  /** Only these columns are read, in this order. Default: all. */
  readonly columns?: readonly string[] | undefined;
  /** Texts without quotes that are null beside the empty one: `["NA", "NULL"]`. Default: none. */
  readonly nullValues?: readonly string[];
  /** A name or label of the Encoding Standard. A byte order mark in the file goes before it. Default: `utf-8`. */
  readonly encoding?: string;
  /** Lines before the first record. Default: 0. */
  readonly skipLines?: number;
  /** Default: `"error"`. */
  readonly raggedRows?: RaggedRows;
  /** The cost of a record that cannot be read: the run, the record, or, where a field does not fit, that field. Default: the run. */
  readonly onError?: OnError;
  /** Whether bytes outside the encoding are errors or U+FFFD. Default: errors. */
  readonly encodingErrors?: "raise" | "replace";
  /** Types of columns that were inferred before, of the same file. Default: they are inferred. */
  readonly inferred?: readonly Field[];
  /** About the size of a block in memory. Default: 8 MiB. */
  readonly blockBytes?: number;
}

const LF = 10;
const CR = 13;
const COMMA = 44;
const DOT = 46;

/** Fields that are found before their columns are read: they and their bytes stay in the processor's cache. */
const FIELDS_AT_ONCE = 16_384;

/**
 * Reads the rows of a CSV file. A file without rows gives one empty block, for its columns; an empty file gives none.
 *
 * @throws DataError for malformed CSV, and for values that do not fit
 */
export function readCsvFile(path: string, options: CsvOptions = {}): AsyncGenerator<Block, void, undefined> {
  return csvBlocks(readTextChunks(path), shownPath(path), options);
}

/** The columns of a file and the types that its beginning says: all columns, of a file without a byte none. */
export async function csvFields(path: string, options: CsvOptions): Promise<readonly Field[]> {
  const { schema = {} } = options;
  for await (const { fields } of openCsv(readTextChunks(path), shownPath(path), { ...options, columns: undefined, schema: {} }))
    return fields.map(({ name, type }) => ({ name, type: (Object.hasOwn(schema, name) && parseType(schema[name] as string)) || type }));
  return [];
}

/** {@link readCsvFile} for bytes from elsewhere. `file` names them in errors. */
export async function* csvBlocks(
  chunks: AsyncIterable<Uint8Array>,
  file: string,
  options: CsvOptions,
): AsyncGenerator<Block, void, undefined> {
  const losses = new LossSum();
  for await (const opened of openCsv(chunks, file, options, losses)) for await (const block of opened.blocks()) yield losses.beside(block);
  yield* losses.rest();
}

/** Opens a file, reads its beginning, and closes it at the end. A file without a byte gives nothing. */
async function* openCsv(
  chunks: AsyncIterable<Uint8Array>,
  file: string,
  options: CsvOptions,
  losses = new LossSum(),
): AsyncGenerator<CsvBlocks, void, undefined> {
  const text = await utf8Text(chunks, file, options.encoding ?? UTF8, losses.replacing(options.encodingErrors));
  const window = new ByteWindow(text.chunks, file, text.encoding);
  try {
    await window.fill(INFERENCE_BYTES);
    window.endLastLine();
    window.skipByteOrderMark();
    const { skipLines = 0 } = options;
    await skip(window, skipLines);
    const form = formOf(window, options);
    const header = await readHeader(window, options, form);
    if (header !== undefined) yield new CsvBlocks(window, header, { options, form, losses });
  } finally {
    await window.close();
  }
}

/** Moves the window behind so many lines. @throws DataError where a file that is not empty has fewer, or ends its lines with CR alone */
async function skip(window: ByteWindow, lines: number): Promise<void> {
  if (lines === 0 || (window.isLast && window.length === 0)) return;
  let left = lines;
  while (left > 0) {
    const end = window.bytes.indexOf(LF, window.start);
    if (end >= 0 && end < window.end) {
      // A file of such lines is one line, and would be left out as a whole.
      if (window.isLast && end + 1 === window.end && window.bytes.subarray(window.start, Math.max(window.start, end - 1)).includes(CR))
        throw linesEndWithCr(window);
      window.start = end + 1;
      left -= 1;
    } else if (window.isLast) {
      const has = lines - left === 1 ? "one line" : `${lines - left} lines`;
      throw new DataError(`Cannot read ${window.file}: it has ${has}, and skipLines leaves out ${lines}`);
    } else {
      await window.grow();
      window.endLastLine();
    }
  }
}

interface Header {
  readonly names: readonly string[];
  /** The first line of the data. */
  readonly line: number;
}

interface FileForm extends CsvForm {
  /** Lines before the header. */
  readonly linesBefore: number;
}

/** A first line such as `sep=;`, by which Excel is told the delimiter, goes before the option, as a mark goes before the encoding. It is no record, and the window is moved behind it. */
function formOf(window: ByteWindow, options: CsvOptions): FileForm {
  const { skipLines: linesBefore = 0 } = options;
  const form = {
    delimiter: delimiterByte(options),
    escape: options.escape === undefined ? undefined : escapeByte(options.escape),
    raggedRows: isRaggedAnError(options) && forgives(options) ? "skip" : options.raggedRows,
  } as const;
  const head = Buffer.from(window.bytes.buffer, window.bytes.byteOffset + window.start, Math.min(window.length, SEP_LINE_BYTES));
  const [line, , delimiter] = SEP_LINE.exec(head.toString("latin1")) ?? [];
  if (line === undefined) return { ...form, linesBefore };
  window.start += line.length;
  return { ...form, delimiter: delimiterByte({ delimiter: delimiter as string }), linesBefore: linesBefore + 1 };
}

const SEP_LINE = /^("?)sep=([!#-/:-@[-`{-~\t ])\1[;,\t]*\r?\n/i;
/** Excel ends the line with empty fields where it saves it again. */
const SEP_LINE_BYTES = 4096;

/** Finds the columns and moves the window behind the header. Undefined where there is not one record. */
async function readHeader(window: ByteWindow, options: CsvOptions, form: FileForm): Promise<Header | undefined> {
  const counting = new FieldTable(0, form, 0);
  const firstLine = 1 + form.linesBefore;
  for (;;) {
    counting.scan(window.bytes, window.start, window.end, 1);
    if (counting.problem !== undefined || window.isLast) break;
    await window.grow();
    window.endLastLine();
  }
  const { problem } = counting;
  if (problem?.kind !== "ragged") {
    if (problem === undefined && counting.end >= window.end) return undefined;
    throw badRecord(window, counting, { rows: 0, line: firstLine });
  }
  const { header = true } = options;
  const table = new FieldTable(problem.fields, form, 0);
  table.scan(window.bytes, window.start, window.end, 1);
  if (endsLinesWithCr(window.bytes, table)) throw linesEndWithCr(window);
  if (header !== true) return { names: givenNames(window.file, header, problem.fields), line: firstLine };
  window.checkUtf8(table.end);
  const names = Array.from(table.starts, (_, i) => tableText(table, window.bytes, i));
  window.start = table.end;
  return { names: uniqueNames(names), line: firstLine + table.lines };
}

function linesEndWithCr(window: ByteWindow): DataError {
  return new DataError(`Cannot read ${window.file}: its lines end with CR alone, and records end with LF or CRLF`, {
    hint: "convert it, such as by: tr '\\r' '\\n'; a CR within a field stands in quotes",
  });
}

/** Old programs of the Macintosh write so: the whole file would be one record, and taken for the header. */
function endsLinesWithCr(bytes: Uint8Array, { starts, ends, kinds }: FieldTable): boolean {
  return starts.some((start, i) => kinds[i] === PLAIN && bytes.subarray(start, ends[i]).includes(CR));
}

function delimiterByte({ delimiter = "," }: CsvOptions): number {
  return asciiByte("delimiter", delimiter, '"\r\n');
}

function escapeByte(escape: string): number {
  return asciiByte("escape", escape, "\r\n");
}

function asciiByte(of: string, text: string, excluded: string): number {
  const code = text.charCodeAt(0);
  if (text.length === 1 && code <= 127 && !excluded.includes(text)) return code;
  const not = excluded.startsWith('"') ? "quote or newline" : "newline";
  throw new DataError(`The ${of} of CSV is one ASCII character, and no ${not}: got ${JSON.stringify(text)}`);
}

function givenNames(file: string, header: false | readonly string[], fields: number): readonly string[] {
  if (header === false) return Array.from({ length: fields }, (_, i) => `column${i + 1}`);
  if (header.length === fields) return uniqueNames(header);
  throw new DataError(`Cannot read ${file}: the option header has ${header.length} names, and the first record has ${fields} fields`);
}

/** As pandas does it: a name that comes again gets a number. One that is empty is `columnN`. */
function uniqueNames(names: readonly string[]): string[] {
  const taken = new Set(names);
  const seen = new Set<string>();
  return names.map((given, i) => {
    let name = given === "" ? `column${i + 1}` : given;
    for (let again = 1; seen.has(name) || (name !== given && taken.has(name)); again += 1) name = `${given || `column${i + 1}`}.${again}`;
    seen.add(name);
    return name;
  });
}

/** Where in the file a table begins. */
interface Place {
  /** Rows before it. */
  readonly rows: number;
  readonly line: number;
}

/** A column that is read, and its field in the records. */
interface ReadColumn {
  readonly name: string;
  readonly field: number;
  readonly column: TextColumn;
  readonly isInferred: boolean;
  /** Whether its fields are numbers with a comma before the fraction. */
  readonly hasCommas: boolean;
}

/** Reads records behind the header. */
class CsvBlocks {
  readonly #window: ByteWindow;
  readonly #columns: readonly ReadColumn[];
  readonly #table: FieldTable;
  readonly #blockBytes: number;
  readonly #nullValues: readonly Uint8Array[];
  /** Undefined where the types were inferred before. */
  readonly #inferredRows: number | undefined;
  readonly #losses: LossSum;
  readonly #onError: OnError | undefined;
  /** Whether a record with another number of fields is an item that failed. */
  readonly #countsRagged: boolean;
  /** Rows of the block that are left out. */
  readonly #badRows = new Set<number>();
  #place: Place;
  #blockRows = 0;
  /** Records that were left out, and the line of the first. */
  #skipped = { records: 0, line: 0 };
  /** From the last block. */
  #bytesPerRow = 0;

  constructor(
    window: ByteWindow,
    { names, line }: Header,
    { options, form, losses }: { options: CsvOptions; form: CsvForm; losses: LossSum },
  ) {
    this.#window = window;
    this.#losses = losses;
    this.#onError = forgives(options) ? options.onError : undefined;
    this.#countsRagged = forgives(options) && isRaggedAnError(options);
    this.#place = { rows: 0, line };
    this.#blockBytes = options.blockBytes ?? READ_BLOCK_BYTES;
    this.#nullValues = (options.nullValues ?? []).map((text) => Buffer.from(text));
    this.#table = new FieldTable(names.length, form, FIELDS_AT_ONCE);
    const fixed = fixedTypes(window.file, names, options);
    const hasCommas = options.decimalSeparator === ",";
    const known = new Map(options.inferred?.map((one) => [one.name, one.type]));
    const inference = names.map((name) => (fixed.has(name) || known.has(name) ? undefined : new ColumnInference()));
    this.#inferredRows = options.inferred === undefined ? this.#infer(inference, hasCommas) : undefined;
    const fields = new Map(names.map((name, field) => [name, field]));
    this.#columns = selectedColumns(window.file, names, options).map((name) => {
      const field = fields.get(name) as number;
      const type = fixed.get(name) ?? known.get(name) ?? inference[field]?.type(window.isLast, names.length === 1) ?? STRING;
      const column = textColumn(type, !fixed.has(name));
      if (column === undefined)
        throw new DataError(`Cannot read ${window.file}: column ${JSON.stringify(name)} cannot be ${typeName(type)} in CSV`);
      const isText = valueType(type).kind === "string" || type.kind === "null";
      const read = { name, field, column, isInferred: !fixed.has(name), hasCommas: hasCommas && !isText };
      if (this.#onError !== undefined) this.#forgive(read);
      return read;
    });
  }

  get fields(): readonly Field[] {
    return this.#columns.map(({ name, column }) => ({ name, type: column.type }));
  }

  async *blocks(): AsyncGenerator<Block, void, undefined> {
    const window = this.#window;
    let hasGiven = false;
    for (;;) {
      const isStuck = this.#readTable();
      if (this.#isFull()) {
        yield this.#take();
        hasGiven = true;
      }
      if (!isStuck) continue;
      if (window.isLast && window.length === 0) break;
      const endless = await this.#more();
      if (endless === undefined) continue;
      if (this.#onError === undefined) throw endless;
      // A quote that is never closed costs its line: the others may be whole.
      this.#losses.addError(endless);
      this.#skipLine();
    }
    this.#tellSkipped();
    if (this.#blockRows > 0 || !hasGiven) yield this.#take();
  }

  /** Says what was left out. @throws DataError where nothing else was there: then the header or the delimiter is wrong, and not the rows */
  #tellSkipped(): void {
    const { records, line } = this.#skipped;
    if (records === 0) return;
    if (this.#countsRagged && this.#place.rows > 0) return;
    const { columns } = this.#table;
    if (this.#place.rows === 0)
      throw new DataError(
        `Cannot read ${this.#window.file}: all its rows (the first in line ${line}) have another number of fields than the header, which has ${columns}`,
        {
          hint: raggedHint(0, columns),
        },
      );
    const rows = records === 1 ? `the row in line ${line}` : `${records} rows, the first in line ${line},`;
    process.stderr.write(`shoal: warning: ${this.#window.file}: left out ${rows} with another number of fields than the header\n`);
  }

  /** Looks at the records that are in the window. Gives how many those were. */
  #infer(inference: readonly (ColumnInference | undefined)[], hasCommas: boolean): number {
    const { bytes, end } = this.#window;
    const table = this.#table;
    let rows = 0;
    for (let at = this.#window.start; ; at = table.end) {
      table.scan(bytes, at, end, Number.POSITIVE_INFINITY);
      if (table.rows === 0) {
        const next = this.#onError === undefined ? undefined : this.#behindProblem();
        if (next === undefined || next <= at) return rows;
        at = next;
        table.scan(bytes, at, end, Number.POSITIVE_INFINITY);
        if (table.rows === 0 && table.problem === undefined) return rows;
      }
      rows += table.rows;
      this.#dropNullValues();
      for (const [field, column] of inference.entries()) {
        if (column === undefined) continue;
        if (hasCommas) swapPoints(table, bytes, field);
        column.add(table, bytes, field);
        if (hasCommas) swapPoints(table, bytes, field);
      }
    }
  }

  /** Takes the next records out of the window. Gives whether there were none, or just the last whole ones. */
  #readTable(): boolean {
    const window = this.#window;
    const table = this.#table;
    table.scan(window.bytes, window.start, window.end, this.#rowsWanted());
    window.checkUtf8(table.end);
    this.#dropNullValues();
    for (const { column, field, hasCommas } of this.#columns) {
      if (hasCommas) swapPoints(table, window.bytes, field);
      try {
        column.append(table, window.bytes, field);
      } catch (error) {
        if (!(error instanceof FieldMisfit)) throw error;
        if (hasCommas) swapPoints(table, window.bytes, field);
        throw this.#misfit(error);
      }
    }
    const next = this.#onError === undefined ? undefined : this.#behindProblem();
    if (table.problem !== undefined) {
      const bad = badRecord(window, table, this.#place);
      if (this.#onError === undefined) throw bad;
      if (next !== undefined) this.#losses.addError(bad);
    }
    this.#blockRows += table.rows;
    const { rows, line } = this.#place;
    if (table.skipped > 0) {
      if (this.#countsRagged) this.#losses.addError(this.#raggedAt(line), table.skipped);
      const first = this.#skipped.records > 0 ? this.#skipped.line : line + window.countLines(table.skippedAt);
      this.#skipped = { records: this.#skipped.records + table.skipped, line: first };
    }
    this.#place = { rows: rows + table.rows, line: line + table.lines };
    const isStuck = table.rows === 0 && next === undefined;
    window.start = table.end;
    if (next !== undefined) {
      this.#place = { rows: this.#place.rows + 1, line: this.#place.line + window.countLines(next) };
      window.start = next;
    }
    return isStuck;
  }

  /** Reads on for the end of the record at the window's beginning. Returns an error where it has none. */
  async #more(): Promise<DataError | undefined> {
    const window = this.#window;
    if (window.isLast) return badRecord(window, this.#table, this.#place);
    try {
      await window.grow();
    } catch (error) {
      if (error instanceof DataError && window.length >= RECORD_BYTES_MAX) return error;
      throw error;
    }
    window.endLastLine();
    return undefined;
  }

  #skipLine(): void {
    const window = this.#window;
    const newline = window.bytes.indexOf(LF, window.start);
    window.start = newline < 0 || newline >= window.end ? window.end : newline + 1;
    this.#place = { rows: this.#place.rows + 1, line: this.#place.line + 1 };
  }

  /** Where the line behind a bad record begins; undefined where there is no such record, or its end is not in the window yet. */
  #behindProblem(): number | undefined {
    const { problem } = this.#table;
    if (problem === undefined) return undefined;
    const { bytes, end, isLast } = this.#window;
    const newline = bytes.indexOf(LF, problem.at);
    if (newline >= 0 && newline < end) return newline + 1;
    return isLast ? end : undefined;
  }

  #raggedAt(line: number): DataError {
    const { columns, skippedAt } = this.#table;
    const at = line + this.#window.countLines(skippedAt);
    return new DataError(
      `Cannot read ${this.#window.file}: the row in line ${at} has another number of fields than the header, which has ${columns}`,
    );
  }

  /** Makes fields that do not fit null, and with `skip` leaves out their rows. */
  #forgive({ column, field, hasCommas }: ReadColumn): void {
    column.misfitsAreNull = true;
    const isSkip = this.#onError === "skip";
    column.onMisfit = (row, misfit) => {
      if (isSkip && this.#badRows.has(row)) return;
      if (isSkip) this.#badRows.add(row);
      this.#losses.addItem(() => {
        // The message has the text of the file.
        if (hasCommas) swapPoints(this.#table, this.#window.bytes, field);
        const error = this.#misfit(misfit);
        if (hasCommas) swapPoints(this.#table, this.#window.bytes, field);
        return error;
      });
    };
  }

  /** About as many rows as make the block full; at least one. */
  #rowsWanted(): number {
    if (this.#blockRows > 0) this.#bytesPerRow = this.#bytesInBlock() / this.#blockRows;
    if (this.#bytesPerRow === 0) return Math.max(1, Math.min(1024, this.#blockBytes >> 6));
    return Math.max(1, Math.ceil((this.#blockBytes - this.#bytesInBlock()) / this.#bytesPerRow));
  }

  #bytesInBlock(): number {
    return this.#columns.reduce((sum, { column }) => sum + column.valueBytes, 0);
  }

  #isFull(): boolean {
    return this.#blockRows > 0 && this.#bytesInBlock() >= this.#blockBytes;
  }

  #take(): Block {
    const rowCount = this.#blockRows;
    this.#blockRows = 0;
    const block = { rowCount, names: this.#columns.map(({ name }) => name), vectors: this.#columns.map(({ column }) => column.take()) };
    const bad = this.#badRows;
    if (bad.size === 0) return block;
    const good = Uint32Array.from({ length: rowCount }, (_, row) => row).filter((row) => !bad.has(row));
    bad.clear();
    return takeBlock(block, good);
  }

  /** Makes fields that say null as the options have it empty. */
  #dropNullValues(): void {
    if (this.#nullValues.length === 0) return;
    const { starts, ends, kinds, rows, columns } = this.#table;
    const { bytes } = this.#window;
    for (let field = 0; field < rows * columns; field += 1) {
      const start = starts[field] as number;
      const end = ends[field] as number;
      if (kinds[field] === PLAIN && this.#nullValues.some((value) => isAt(bytes, start, end, value))) ends[field] = start;
    }
  }

  #misfit({ field, remedy }: FieldMisfit): DataError {
    const { columns, starts } = this.#table;
    const { bytes, file } = this.#window;
    const { name, column, isInferred } = this.#columns.find((candidate) => candidate.field === field % columns) as ReadColumn;
    const text = tableText(this.#table, bytes, field);
    const row = this.#place.rows + Math.floor(field / columns) + 1;
    const line = this.#place.line + this.#window.countLines(starts[field] as number);
    const shown = JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
    const inferredBy = this.#inferredRows === undefined ? "the beginning of the file says" : `the first ${this.#inferredRows} rows say`;
    const origin = isInferred ? `, as ${inferredBy}` : "";
    const where = `${file}: row ${row} (line ${line}) has ${shown} in column ${JSON.stringify(name)}`;
    const other = remedy === ROUNDED ? `, or ${JSON.stringify("float64")}, which rounds it` : "";
    return new DataError(`Cannot read ${where}, and the column is ${typeName(column.type)}${origin}`, {
      hint: `give the column a type that holds it: schema: { ${JSON.stringify(name)}: ${JSON.stringify(remedy === ROUNDED ? "string" : remedy)} }${other}`,
    });
  }
}

function forgives({ onError = "raise" }: CsvOptions): boolean {
  return onError !== "raise";
}

function isRaggedAnError({ raggedRows = "error" }: CsvOptions): boolean {
  return raggedRows === "error";
}

/** Swaps points and commas in the fields of one column, so that numbers with a decimal comma parse and `1.234` does not. A second call undoes the first. */
function swapPoints({ starts, ends, columns, rows }: FieldTable, bytes: Uint8Array, column: number): void {
  for (let row = 0, field = column; row < rows; row += 1, field += columns) {
    const end = ends[field] as number;
    for (let at = starts[field] as number; at < end; at += 1)
      if (bytes[at] === COMMA) bytes[at] = DOT;
      else if (bytes[at] === DOT) bytes[at] = COMMA;
  }
}

function isAt(bytes: Uint8Array, start: number, end: number, value: Uint8Array): boolean {
  if (end - start !== value.length) return false;
  for (let i = 0; i < value.length; i += 1) if (bytes[start + i] !== value[i]) return false;
  return true;
}

function fixedTypes(file: string, names: readonly string[], { schema = {} }: CsvOptions): ReadonlyMap<string, DataType> {
  const known = new Set(names);
  return new Map(
    Object.entries(schema).map(([name, text]) => {
      const type = parseType(text);
      if (type === undefined)
        throw new DataError(`schema: ${JSON.stringify(text)} is no type for a column; there are ${TYPE_NAMES.join(", ")}`);
      if (!known.has(name)) throw unknownColumn(file, "schema", name, names);
      return [name, type];
    }),
  );
}

function selectedColumns(file: string, names: readonly string[], { columns = names }: CsvOptions): readonly string[] {
  const known = new Set(names);
  const missing = columns.find((name) => !known.has(name));
  if (missing !== undefined) throw unknownColumn(file, "columns", missing, names);
  return columns;
}

function unknownColumn(file: string, option: string, name: string, names: readonly string[]): DataError {
  return new DataError(`Cannot read ${file}: there is no column ${JSON.stringify(name)}, which the option ${option} names`, {
    hint: `it has ${names.map((known) => JSON.stringify(known)).join(", ")}`,
  });
}

function badRecord(window: ByteWindow, table: FieldTable, place: Place): DataError {
  const { problem, rows, end, columns } = table;
  const at = problem?.at ?? end;
  const line = place.line + window.countLines(at);
  const where = `${window.file}: row ${place.rows + rows + 1} (line ${line}, ${window.placeOf(at)})`;
  if (problem?.kind === "ragged")
    return new DataError(`Cannot read ${where} has ${problem.fields} fields, and the header has ${columns}`, {
      hint: raggedHint(problem.fields, columns),
    });
  if (problem?.kind === "after quote")
    return new DataError(`Cannot read ${where} goes on behind a closing quote`, {
      hint: 'a quote inside of quotes is doubled: "a ""b"" c"; for files that write \\" in its place, as Spark does, there is escape: "\\\\"',
    });
  return new DataError(`Cannot read ${where} opens a quote that the file does not close`, { hint: "is the file cut off?" });
}

function raggedHint(fields: number, columns: number): string {
  if (columns === 1)
    return 'is it another character that parts the fields? then name it, such as delimiter: ";" or "\\t"; are there lines before the header? then leave them out: skipLines: 1';
  if (fields < columns)
    return 'to have nulls in place of fields that are missing: raggedRows: "fill"; to leave such rows out: raggedRows: "skip"';
  return 'a field with the delimiter in it stands in quotes; to leave such rows out: raggedRows: "skip"';
}
