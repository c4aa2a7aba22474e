/**
 * Writes blocks as JSON lines: an object a row, with all columns, in UTF-8.
 *
 * Whole numbers have all their digits; NaN and Infinity, which JSON has not, are null, as in `JSON.stringify`. Days and times are texts of ISO 8601, tensors are arrays in
 * arrays. Bytes are no JSON: such a column is an error.
 */
import type { Block } from "../../blocks/block.ts";
import { codesOf, dictionaryOf, isNull, type ValueArray, type Vector } from "../../blocks/vector.ts";
import { vectorOfArray } from "../../blocks/vector-builder.ts";
import { DataError } from "../../errors.ts";
import { ByteSink } from "../byte-sink.ts";
import { plainWriter, type ValueWriter } from "../texts/value-text.ts";

const LF = 10;
const QUOTE = 34;
const COMMA = 44;
const BACKSLASH = 92;
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [91, 93, 123, 125] as const;

/** The rows of a block, a line each. */
export function jsonLines(block: Block): Uint8Array {
  const sink = new ByteSink();
  const write = objectWriter(
    block.names,
    block.vectors.map((vector, i) => jsonWriter(vector, block.names[i] as string, sink)),
    sink,
  );
  for (let row = 0; row < block.rowCount; row += 1) {
    write(row);
    sink.byte(LF);
  }
  return sink.taken();
}

/**
 * Writes values of a vector as JSON, null for nulls.
 *
 * @param name - the column, for errors
 * @throws DataError for bytes
 */
export function jsonWriter(vector: Vector, name: string, sink: ByteSink): ValueWriter {
  const write = presentWriter(vector, name, sink);
  if (vector.nullCount === 0) return write;
  return (row) => {
    if (isNull(vector, row)) sink.ascii("null");
    else write(row);
  };
}

function presentWriter(vector: Vector, name: string, sink: ByteSink): ValueWriter {
  const { type, values, offsets, children = [] } = vector;
  switch (type.kind) {
    case "null":
      return () => {
        sink.ascii("null");
      };
    case "string":
      return (row) => {
        writeText(sink, values as Uint8Array, (offsets as Int32Array)[row] as number, (offsets as Int32Array)[row + 1] as number);
      };
    case "dictionary": {
      const codes = codesOf(vector);
      const write = presentWriter(dictionaryOf(vector), name, sink);
      return (row) => write(codes[row] as number);
    }
    case "list": {
      const write = jsonWriter(children[0] as Vector, name, sink);
      return (row) => {
        writeArray(sink, (offsets as Int32Array)[row] as number, (offsets as Int32Array)[row + 1] as number, write);
      };
    }
    case "struct": {
      if (type.as === "tensor") return variableTensorWriter(children as [Vector, Vector], name, sink);
      const writers = children.map((child) => jsonWriter(child, name, sink));
      return objectWriter(
        type.fields.map((field) => field.name),
        writers,
        sink,
      );
    }
    case "tensor":
      return tensorWriter(values as ValueArray, type.shape, name, sink);
    case "date":
    case "time32":
    case "time64":
    case "timestamp": {
      const write = plainWriter(vector, sink, { column: name, nonFinite: () => "null" }) as ValueWriter;
      return (row) => {
        sink.byte(QUOTE);
        write(row);
        sink.byte(QUOTE);
      };
    }
    case "binary":
      throw new DataError(`Column ${JSON.stringify(name)} has bytes, which CSV and JSON have not`, {
        hint: 'make them text before: Buffer.from(bytes).toString("base64")',
      });
    default:
      return plainWriter(vector, sink, { column: name, nonFinite: () => "null" }) as ValueWriter;
  }
}

function objectWriter(names: readonly string[], writers: readonly ValueWriter[], sink: ByteSink): ValueWriter {
  const keys = names.map((name, i) => Buffer.from(`${i === 0 ? "" : ","}${JSON.stringify(name)}:`));
  return (row) => {
    sink.byte(OPEN_OBJECT);
    for (let i = 0; i < writers.length; i += 1) {
      const key = keys[i] as Uint8Array;
      sink.copy(key, 0, key.length);
      (writers[i] as ValueWriter)(row);
    }
    sink.byte(CLOSE_OBJECT);
  };
}

function writeArray(sink: ByteSink, start: number, end: number, write: ValueWriter): void {
  sink.byte(OPEN_ARRAY);
  for (let i = start; i < end; i += 1) {
    if (i > start) sink.byte(COMMA);
    write(i);
  }
  sink.byte(CLOSE_ARRAY);
}

/** Each dimension is an array of the next one, as many as the row's shape says. */
function variableTensorWriter([data, shapes]: readonly [Vector, Vector], name: string, sink: ByteSink): ValueWriter {
  const element = jsonWriter((data.children as [Vector])[0], name, sink);
  const offsets = data.offsets as Int32Array;
  const lengths = shapes.values as Int32Array;
  const dimensions = lengths.length / Math.max(1, shapes.length);
  return (row) => {
    let at = offsets[row] as number;
    const writeFrom = (dimension: number): void => {
      if (dimension === dimensions) return element(at++);
      return writeArray(sink, 0, lengths[row * dimensions + dimension] as number, () => writeFrom(dimension + 1));
    };
    writeFrom(0);
  };
}

/** Each dimension is an array of the next one. */
function tensorWriter(values: ValueArray, shape: readonly number[], name: string, sink: ByteSink): ValueWriter {
  const element = jsonWriter(vectorOfArray(values), name, sink);
  return shape.reduceRight<ValueWriter>(
    (write, length) => (index) => {
      writeArray(sink, index * length, (index + 1) * length, write);
    },
    element,
  );
}

/** A text in quotes, in UTF-8; what JSON does not allow in a text is escaped. */
function writeText(sink: ByteSink, bytes: Uint8Array, start: number, end: number): void {
  sink.byte(QUOTE);
  let from = start;
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] as number;
    if (byte >= 32 && byte !== QUOTE && byte !== BACKSLASH) continue;
    sink.copy(bytes, from, at);
    sink.ascii(JSON.stringify(String.fromCharCode(byte)).slice(1, -1));
    from = at + 1;
  }
  sink.copy(bytes, from, end);
  sink.byte(QUOTE);
}
