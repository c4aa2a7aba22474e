/**
 * Reads JSON files into blocks: lines with an object each, one array of objects, or objects one after the other.
 *
 * The types of columns come from the beginning of the file (`json-inference.ts`), unless options say them. Columns and parts that appear later are added; a value that does
 * not go together with those before is an error that names file, line and column.
 */
import { shownPath } from "../../../storage/paths.ts";
import { readTextChunks } from "../../../storage/read-file.ts";
import { type Block, schemaOf, sliceBlock } from "../../blocks/block.ts";
import { type DataType, type Field, parseType, TYPE_NAMES, typeName, valueType } from "../../blocks/data-type.ts";
import { buildVector, MisfitError } from "../../blocks/vector-builder.ts";
import type { Vector } from "../../blocks/vector.ts";
import { LossSum, type OnError } from "../../blocks/memory/losses.ts";
import { DataError } from "../../errors.ts";
import { INFERENCE_BYTES, JSON_LOOK_BYTES, JSON_SPARSE_KEYS_MAX, READ_BLOCK_BYTES } from "../../limits.ts";
import { ByteWindow } from "../byte-window.ts";
import { conform } from "./json-values.ts";
import { isSparse, JsonInference } from "./json-inference.ts";
import { type JsonRow, type OnBadRecord, type RecordReader, recordReader } from "./json-records.ts";
import { numberWord } from "../texts/number-text.ts";
import { UTF8, utf8Text } from "../texts/text-encoding.ts";

export interface JsonOptions {
  /** Types of columns by name, in place of those that would be inferred: `{ id: "int64 as bigint", at: "timestamp[ms]" }`. `string` takes every value, as its JSON. */
  readonly schema?: Readonly<Record<string, string>>;
  /** Only these columns are read, in this order. Default: all. */
  readonly columns?: readonly string[];
  /** The cost of a record that cannot be read: the run, the record, or, where a value does not fit its column, that value. Default: the run. */
  readonly onError?: OnError;
  /** Whether bytes outside UTF-8 are errors or U+FFFD. Default: errors. */
  readonly encodingErrors?: "raise" | "replace";
  /** About the size of a block, as text. Default: 8 MiB. */
  readonly blockBytes?: number;
  /** The beginning of the file from which types are inferred. Default: 4 MiB. */
  readonly inferenceBytes?: number;
}

/**
 * Reads the rows of a JSON file. A file without rows gives no block.
 *
 * @throws DataError for malformed JSON, and for incompatible values
 */
export function readJsonFile(path: string, options: JsonOptions = {}): AsyncGenerator<Block, void, undefined> {
  return jsonBlocks(readTextChunks(path), shownPath(path), options);
}

/** The columns of a file and their types, as its beginning says: of a file without rows none. */
export async function jsonFields(path: string, options: JsonOptions): Promise<readonly Field[]> {
  const beginning = { blockBytes: JSON_LOOK_BYTES, inferenceBytes: JSON_LOOK_BYTES };
  for await (const block of jsonBlocks(readTextChunks(path), shownPath(path), { ...options, ...beginning })) return schemaOf(block);
  return [];
}

/** {@link readJsonFile} for bytes from elsewhere. `file` names them in errors. */
export async function* jsonBlocks(
  chunks: AsyncIterable<Uint8Array>,
  file: string,
  options: JsonOptions,
): AsyncGenerator<Block, void, undefined> {
  const losses = new LossSum();
  const replacing = losses.replacing(options.encodingErrors);
  const window = new ByteWindow(replacing === undefined ? chunks : (await utf8Text(chunks, file, UTF8, replacing)).chunks, file);
  const columns = new JsonColumns(file, options, losses);
  const { blockBytes = READ_BLOCK_BYTES, inferenceBytes = INFERENCE_BYTES } = options;
  try {
    await window.fill(inferenceBytes);
    window.endLastLine();
    window.skipByteOrderMark();
    const reader = recordReader(window, columns.decimals, columns.onBad);
    // The first block has all from which types are inferred, and is cut into smaller ones where those are wanted.
    let wanted = Math.max(blockBytes, inferenceBytes);
    while (await readRows(window, reader, columns, wanted)) {
      for (const block of cutBlock(columns, blockBytes)) yield losses.beside(block);
      wanted = blockBytes;
    }
    reader.end();
    for (const block of cutBlock(columns, blockBytes)) yield losses.beside(block);
    yield* losses.rest();
  } finally {
    await window.close();
  }
}

/** Reads until so many bytes of rows wait in `columns`. Gives whether that was before the end of the file. */
async function readRows(window: ByteWindow, reader: RecordReader, columns: JsonColumns, wanted: number): Promise<boolean> {
  for (;;) {
    reader.read((row, line, bytes) => {
      columns.add(row, line, bytes);
    });
    if (columns.bytes >= wanted) return true;
    if (window.isLast) return false;
    await window.grow();
    window.endLastLine();
  }
}

function* cutBlock(columns: JsonColumns, blockBytes: number): Generator<Block, void, undefined> {
  const { bytes } = columns;
  const block = columns.take();
  if (block.rowCount === 0) return;
  const rows = Math.max(1, Math.ceil(block.rowCount / Math.ceil(bytes / blockBytes)));
  for (let start = 0; start < block.rowCount; start += rows) yield sliceBlock(block, start, Math.min(start + rows, block.rowCount));
}

/** A column as far as it is read. */
interface JsonColumn {
  readonly name: string;
  /** Undefined where its type is fixed. */
  readonly inference: JsonInference | undefined;
  readonly fixed: DataType | undefined;
  values: unknown[];
}

/** The rows that wait to be a block, by column. */
class JsonColumns {
  readonly #file: string;
  readonly #fixed: ReadonlyMap<string, DataType>;
  readonly #isSelection: boolean;
  readonly #columns = new Map<string, JsonColumn>();
  /** The line of each row's beginning. */
  #lines: number[] = [];
  bytes = 0;
  #rows = 0;
  #filled = 0;
  #hasWarned = false;
  readonly #losses: LossSum;
  readonly #onError: OnError;

  constructor(file: string, { schema = {}, columns, onError = "raise" }: JsonOptions, losses: LossSum) {
    this.#file = file;
    this.#losses = losses;
    this.#onError = onError;
    this.#fixed = new Map(Object.entries(schema).map(([name, text]) => [name, fixedType(text)]));
    this.#isSelection = columns !== undefined;
    for (const name of columns ?? []) this.#begin(name);
  }

  /** The columns that are to be decimals. */
  get decimals(): readonly string[] {
    return Array.from(this.#fixed).flatMap(([name, { kind }]) => (kind === "decimal" ? [name] : []));
  }

  /** Counts a record that cannot be read, and with `null` adds a row of nulls; undefined where such a record ends the run. */
  get onBad(): OnBadRecord | undefined {
    if (this.#onError === "raise") return undefined;
    return (error, line, bytes) => {
      this.#losses.addItem(() => error);
      if (this.#onError === "null") this.add({}, line, bytes);
    };
  }

  add(row: JsonRow, line: number, bytes: number): void {
    const index = this.#lines.length;
    this.#lines.push(line);
    this.bytes += bytes;
    this.#rows += 1;
    for (const name in row) {
      this.#filled += 1;
      const column = this.#columns.get(name) ?? (this.#isSelection ? undefined : this.#begin(name));
      if (column === undefined) continue;
      let value = row[name];
      const problem = column.inference === undefined ? this.#problemOfFixed(value, column.fixed as DataType) : column.inference.add(value);
      if (problem !== undefined) {
        const found = value;
        const misfit = (): DataError => this.#misfit(column, index, problem, remedyFor(found, column.inference?.type() ?? column.fixed));
        if (this.#onError === "raise") throw misfit();
        this.#losses.addItem(misfit);
        if (this.#onError === "skip") {
          this.#forget(index, bytes);
          return;
        }
        value = null;
      }
      // Rows before that have no such part are nulls.
      while (column.values.length < index) column.values.push(null);
      column.values.push(value);
    }
  }

  /** Takes the last row back. */
  #forget(index: number, bytes: number): void {
    for (const column of this.#columns.values()) if (column.values.length > index) column.values.length = index;
    this.#lines.length = index;
    this.bytes -= bytes;
    this.#rows -= 1;
  }

  /** Values of a given type are looked at one by one only where each of them may fail alone. */
  #problemOfFixed(value: unknown, type: DataType): string | undefined {
    const problem = unsafeNumber(value, type);
    if (problem !== undefined || this.#onError === "raise") return problem;
    try {
      conform([value], type);
      return undefined;
    } catch (error) {
      if (error instanceof MisfitError) return error.problem;
      throw error;
    }
  }

  take(): Block {
    const rowCount = this.#lines.length;
    const columns = Array.from(this.#columns.values());
    const vectors = columns.map((column) => this.#vector(column, rowCount));
    for (const column of columns) {
      column.inference?.settle();
      column.values = [];
    }
    this.#lines = [];
    this.bytes = 0;
    return { rowCount, names: columns.map(({ name }) => name), vectors };
  }

  #begin(name: string): JsonColumn {
    if (isSparse(this.#columns.size, this.#rows, this.#filled))
      throw new DataError(
        `Cannot read ${this.#file}: line ${this.#lines.at(-1)}: the rows have more than ${this.#columns.size} different keys, of which most are in few rows, and each would be a column`,
        {
          hint: "name the wanted ones: columns: [ … ]; where keys are ids, read the lines with readText, and make rows of them: flatMap(({ text }) => Object.entries(JSON.parse(text)).map(([id, value]) => ({ id, value })))",
        },
      );
    const fixed = this.#fixed.get(name);
    const column: JsonColumn = { name, fixed, inference: fixed === undefined ? new JsonInference() : undefined, values: [] };
    this.#columns.set(name, column);
    return column;
  }

  #vector(column: JsonColumn, rowCount: number): Vector {
    const { inference, fixed, values } = column;
    while (values.length < rowCount) values.push(null);
    const type = fixed ?? (inference as JsonInference).type();
    try {
      const hasManyKeys = inference?.hasManyKeys === true;
      if (hasManyKeys) this.#warnOfKeys(column.name);
      return fixed !== undefined || hasManyKeys || inference?.hasBigFloats === true ? conform(values, type) : buildVector(values, type);
    } catch (error) {
      if (error instanceof MisfitError) throw this.#misfit(column, error.row, error.problem, "string");
      throw error;
    }
  }

  #warnOfKeys(name: string): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    const shown = JSON.stringify(name);
    process.stderr.write(
      `shoal: warning: ${this.#file}: column ${shown} has objects with more than ${JSON_SPARSE_KEYS_MAX} different keys, and their JSON is read as text; schema: { ${shown}: "string" } does so without this warning\n`,
    );
  }

  #misfit({ name }: JsonColumn, row: number, problem: string, type: string): DataError {
    return new DataError(`Cannot read ${this.#file}: line ${this.#lines[row]}: column ${JSON.stringify(name)} ${problem}`, {
      hint: `give the column a type that holds it: schema: { ${JSON.stringify(name)}: ${JSON.stringify(type)} }`,
    });
  }
}

/** A type that holds the value and those before, which had `type`: Spark and pandas write numbers that JSON has not as texts, such as `"NaN"`. */
function remedyFor(value: unknown, type: DataType | undefined): string {
  if (type === undefined || !NUMBER_KINDS.includes(type.kind)) return "string";
  if (typeof value === "bigint" && type.kind === "float64") return "string";
  if (typeof value === "bigint") return BigInt.asIntN(64, value) === value ? "int64 as bigint" : "string";
  return typeof value === "string" && numberWord(value) !== undefined ? "float64" : "string";
}

/** Kinds of columns whose type is inferred, and of those that may have numbers beyond 2^53. */
const NUMBER_KINDS: readonly string[] = ["int64", "uint64", "float64"];

function unsafeNumber(value: unknown, type: DataType | undefined): string | undefined {
  const isNumber = (type?.kind === "int64" || type?.kind === "uint64") && type.as === "number";
  return typeof value === "bigint" && isNumber ? `is ${value}, and numbers beyond 2^53 would be rounded` : undefined;
}

function fixedType(text: string): DataType {
  const type = parseType(text);
  if (type !== undefined && valueType(type).kind !== "binary") return type;
  const name = type === undefined ? JSON.stringify(text) : typeName(type);
  throw new DataError(`schema: ${name} is no type for a column of JSON; there are ${TYPE_NAMES.join(", ")}`);
}
