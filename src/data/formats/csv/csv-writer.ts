/**
 * Writes blocks as CSV (RFC 4180, with LF), in UTF-8.
 *
 * A null is an empty field, an empty text is `""`, so that they differ. NaN and the infinities are `NaN`, `inf` and `-inf`, as pandas and Polars read them. Lists, structs and
 * tensors are their JSON in a field. In a single column a null that is no text is `""`, since many programs skip empty lines.
 */
import { alignBlock, type Block, schemaOf, unifySchemas } from "../../blocks/block.ts";
import { type Field, valueType } from "../../blocks/data-type.ts";
import { codesOf, dictionaryOf, isNull, type Vector } from "../../blocks/vector.ts";
import { DataError } from "../../errors.ts";
import { ByteSink } from "../byte-sink.ts";
import { jsonWriter } from "../json/json-writer.ts";
import { plainWriter, type ValueWriter } from "../texts/value-text.ts";

const LF = 10;
const CR = 13;
const QUOTE = 34;
const COMMA = 44;

/** The rows of a block. `header`: after a line with the names of the columns. */
export function csvChunks(block: Block, { header }: { header: boolean }): Uint8Array {
  const sink = new ByteSink();
  if (header) writeHeader(block.names, sink);
  const writers = block.vectors.map((vector, i) => fieldWriter(vector, block.names[i] as string, sink));
  const [only] = block.vectors;
  const quotesNulls = block.vectors.length === 1 && only !== undefined && only.nullCount > 0 && valueType(only.type).kind !== "string";
  for (let row = 0; row < block.rowCount; row += 1) {
    for (let i = 0; i < writers.length; i += 1) {
      if (i > 0) sink.byte(COMMA);
      (writers[i] as ValueWriter)(row);
    }
    if (quotesNulls && isNull(only, row)) sink.ascii('""');
    sink.byte(LF);
  }
  return sink.taken();
}

/** Writes blocks behind each other in one file: all rows have the columns of the header, in the header's order. */
export class CsvTable {
  readonly #hasHeader: boolean;
  #fields: readonly Field[] | undefined;

  constructor({ header }: { header: boolean }) {
    this.#hasHeader = header;
  }

  /** Whether a block has a column that the header lacks. */
  lacks(block: Block): boolean {
    const fields = this.#fields;
    if (fields === undefined) return false;
    const names = new Set(fields.map(({ name }) => name));
    return block.names.some((name) => !names.has(name));
  }

  /**
   * Returns the lines of a block, the first one behind the header. Columns that the block lacks are null.
   *
   * @throws DataError for a column that the first block lacks: the header is written by then
   */
  add(block: Block): Uint8Array {
    const isFirst = this.#fields === undefined;
    const fields = (this.#fields ??= schemaOf(block));
    const all = unifySchemas([fields, schemaOf(block)]);
    const late = all[fields.length]?.name;
    if (late !== undefined)
      throw new DataError(`Cannot go on writing CSV: the column ${JSON.stringify(late)} first comes behind the header`, {
        hint: "give each row all columns, with null where it has no value",
      });
    return csvChunks(alignBlock(block, all), { header: this.#hasHeader && isFirst });
  }
}

function writeHeader(names: readonly string[], sink: ByteSink): void {
  for (const [i, name] of names.entries()) {
    if (i > 0) sink.byte(COMMA);
    const bytes = Buffer.from(name);
    writeText(sink, bytes, 0, bytes.length);
  }
  sink.byte(LF);
}

function fieldWriter(vector: Vector, name: string, sink: ByteSink): ValueWriter {
  const write = presentWriter(vector, name, sink);
  if (vector.nullCount === 0) return write;
  return (row) => {
    if (!isNull(vector, row)) write(row);
  };
}

function presentWriter(vector: Vector, name: string, sink: ByteSink): ValueWriter {
  const { type, values, offsets } = vector;
  if (type.kind === "null") return () => undefined;
  if (type.kind === "string")
    return (row) => {
      writeText(sink, values as Uint8Array, (offsets as Int32Array)[row] as number, (offsets as Int32Array)[row + 1] as number);
    };
  if (type.kind === "dictionary") {
    const codes = codesOf(vector);
    const write = presentWriter(dictionaryOf(vector), name, sink);
    return (row) => write(codes[row] as number);
  }
  const plain = plainWriter(vector, sink, { column: name, nonFinite: nonFiniteText });
  if (plain !== undefined) return plain;
  const json = new ByteSink();
  const write = jsonWriter(vector, name, json);
  return (row) => {
    json.length = 0;
    write(row);
    writeText(sink, json.bytes, 0, json.length);
  };
}

/** A text, in quotes where it needs them. */
function writeText(sink: ByteSink, bytes: Uint8Array, start: number, end: number): void {
  if (!needsQuotes(bytes, start, end)) {
    sink.copy(bytes, start, end);
    return;
  }
  sink.byte(QUOTE);
  let from = start;
  for (let at = start; at < end; at += 1) {
    if (bytes[at] !== QUOTE) continue;
    // Doubles the quote: it is copied with the bytes before it, and again with those behind it.
    sink.copy(bytes, from, at + 1);
    from = at;
  }
  sink.copy(bytes, from, end);
  sink.byte(QUOTE);
}

function needsQuotes(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] as number;
    if (byte <= COMMA && (byte === COMMA || byte === QUOTE || byte === LF || byte === CR)) return true;
  }
  return start === end;
}

function nonFiniteText(value: number): string {
  return Number.isNaN(value) ? "NaN" : value > 0 ? "inf" : "-inf";
}
