/**
 * Reads files of TensorFlow's records into blocks: a row for each `tf.train.Example`, with a column for each feature, or the records as they are.
 *
 * Examples are decoded by hand, straight into columns. Fields that a later version of the message may add are skipped, as Protocol Buffers
 * want it; a `SequenceExample` is refused, since its lists of features would be lost.
 */
import { readChunks } from "../../../storage/read-file.ts";
import { shownPath } from "../../../storage/paths.ts";
import { badUtf8At } from "../../../storage/utf8.ts";
import { type Block, schemaOf } from "../../blocks/block.ts";
import { BINARY, type DataType, type Field } from "../../blocks/data-type.ts";
import { buildVector } from "../../blocks/vector-builder.ts";
import { DataError } from "../../errors.ts";
import { INFERENCE_BYTES, READ_BLOCK_BYTES } from "../../limits.ts";
import { ByteWindow } from "../byte-window.ts";
import { FeatureColumn, VALUE_KINDS, type ValueKind } from "./features.ts";
import { nextRecord } from "./records.ts";
import { WIRE, WireError, type WireField, WireReader } from "./wire.ts";

export interface TfrecordOptions {
  /** Types of features: `FEATURE_TYPES`. Default: as the records say. */
  readonly schema?: Readonly<Record<string, string>>;
  /** Only these features are read, in this order. Default: all. */
  readonly columns?: readonly string[];
  /** The records as they are, in the column `bytes`. Default: examples. */
  readonly raw?: boolean;
  /** The columns of this file, where several files were looked at. */
  readonly inferred?: readonly Field[];
  /** About the size of a block. Default: 8 MiB. */
  readonly blockBytes?: number;
}

/** The rows of a file. Runs in workers. */
export async function* readTfrecordFile(path: string, options: TfrecordOptions = {}): AsyncGenerator<Block, void, undefined> {
  yield* tfrecordBlocks(readChunks(path), shownPath(path), options);
}

/** The columns of a file, as its beginning has them. */
export async function tfrecordFields(path: string, options: TfrecordOptions): Promise<readonly Field[]> {
  for await (const block of readTfrecordFile(path, { ...options, blockBytes: INFERENCE_BYTES })) return schemaOf(block);
  return [];
}

/** {@link readTfrecordFile} for bytes from elsewhere. `file` names them in errors. */
export async function* tfrecordBlocks(
  chunks: AsyncIterable<Uint8Array>,
  file: string,
  options: TfrecordOptions = {},
): AsyncGenerator<Block, void, undefined> {
  const window = new ByteWindow(chunks, file);
  const { blockBytes = READ_BLOCK_BYTES } = options;
  const rows = options.raw === true ? new RawRecords() : new Examples(file, options);
  let bytes = 0;
  try {
    for (let record = await nextRecord(window); record !== undefined; record = await nextRecord(window)) {
      rows.add(record);
      bytes += record.length;
      if (bytes < blockBytes) continue;
      yield rows.take();
      bytes = 0;
    }
    if (rows.rowCount > 0) yield rows.take();
  } finally {
    await window.close();
  }
}

/** Records that wait to be a block. */
interface RecordRows {
  readonly rowCount: number;
  add(record: Uint8Array): void;
  take(): Block;
}

class RawRecords implements RecordRows {
  #records: Uint8Array[] = [];

  get rowCount(): number {
    return this.#records.length;
  }

  add(record: Uint8Array): void {
    this.#records.push(record.slice());
  }

  take(): Block {
    const vectors = [buildVector(this.#records, BINARY)];
    const { rowCount } = this;
    this.#records = [];
    return { rowCount, names: ["bytes"], vectors };
  }
}

class Examples implements RecordRows {
  readonly #file: string;
  readonly #schema: Readonly<Record<string, string>>;
  readonly #found: ReadonlyMap<string, DataType>;
  readonly #isSelection: boolean;
  readonly #columns = new Map<string, FeatureColumn>();
  #firstRecord = 1;
  rowCount = 0;

  constructor(file: string, { schema = {}, columns, inferred = [] }: TfrecordOptions) {
    this.#file = file;
    this.#schema = schema;
    this.#found = new Map(inferred.map(({ name, type }) => [name, type]));
    this.#isSelection = columns !== undefined;
    for (const name of columns ?? []) this.#begin(name);
  }

  add(record: Uint8Array): void {
    try {
      this.#addExample(record);
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      throw this.#error(` is no tf.train.Example: ${error.message}`, "read the records as they are: raw: true");
    }
    this.rowCount += 1;
    for (const column of this.#columns.values()) while (column.rowCount < this.rowCount) column.addNull();
  }

  take(): Block {
    const columns = [...this.#columns.values()];
    const vectors = columns.map((column) => column.take(this.#file, this.#firstRecord));
    const block = { rowCount: this.rowCount, names: columns.map(({ name }) => name), vectors };
    this.#firstRecord += this.rowCount;
    this.rowCount = 0;
    return block;
  }

  #addExample(record: Uint8Array): void {
    const example = new WireReader(record);
    const field: WireField = { number: 0, type: 0, start: 0, end: 0 };
    while (example.next(field)) {
      if (field.number === 2 && field.type === WIRE.bytes)
        throw this.#error(" is a SequenceExample", "read the records as they are, and decode them in map: raw: true");
      if (field.number !== 1 || field.type !== WIRE.bytes) continue;
      const features = new WireReader(record, field.start, field.end);
      const entry: WireField = { ...field };
      while (features.next(entry)) if (entry.number === 1 && entry.type === WIRE.bytes) this.#addFeature(record, entry.start, entry.end);
    }
  }

  /** An entry of the map: its key, and a feature. */
  #addFeature(record: Uint8Array, start: number, end: number): void {
    const entry = new WireReader(record, start, end);
    const field: WireField = { number: 0, type: 0, start: 0, end: 0 };
    let name = "";
    let feature: [number, number] | undefined;
    while (entry.next(field)) {
      if (field.type !== WIRE.bytes) continue;
      if (field.number === 1) name = Buffer.from(record.buffer, record.byteOffset + field.start, field.end - field.start).toString("utf8");
      else if (field.number === 2) feature = [field.start, field.end];
    }
    const column = this.#columns.get(name) ?? (this.#isSelection ? undefined : this.#begin(name));
    if (column === undefined || feature === undefined) return;
    if (column.rowCount > this.rowCount) throw new WireError(`the feature ${JSON.stringify(name)} comes twice`);
    const lists = new WireReader(record, ...feature);
    while (lists.next(field)) {
      const kind = field.type === WIRE.bytes ? VALUE_KINDS[field.number as keyof typeof VALUE_KINDS] : undefined;
      if (kind === undefined) continue;
      if (column.rowCount <= this.rowCount) {
        const problem = column.begin(kind);
        if (problem !== undefined)
          throw this.#error(`: feature ${JSON.stringify(name)} ${problem}`, "read it alone, or the records as they are: raw: true");
      }
      this.#addValues(column, kind, new WireReader(record, field.start, field.end));
    }
  }

  /** Numbers stand one by one, or packed into one field. */
  #addValues(column: FeatureColumn, kind: ValueKind, list: WireReader): void {
    const { bytes } = list;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const field: WireField = { number: 0, type: 0, start: 0, end: 0 };
    while (list.next(field)) {
      if (field.number !== 1) continue;
      if (kind === "bytes" && field.type === WIRE.bytes) {
        if (column.isText && badUtf8At(bytes.subarray(field.start, field.end)) >= 0)
          throw this.#error(
            `: feature ${JSON.stringify(column.name)} is no UTF-8`,
            `read bytes: schema: { ${JSON.stringify(column.name)}: "binary" }`,
          );
        column.addBytes(bytes, field.start, field.end);
      } else if (kind === "float" && field.type === WIRE.fixed32) column.addFloat(view.getFloat32(field.start, true));
      else if (kind === "float" && field.type === WIRE.bytes) {
        if ((field.end - field.start) % 4 !== 0) throw new WireError("a list of floats has no whole number of them");
        for (let at = field.start; at < field.end; at += 4) column.addFloat(view.getFloat32(at, true));
      } else if (kind === "int64" && field.type === WIRE.varint) column.addInt(list.low, list.high);
      else if (kind === "int64" && field.type === WIRE.bytes) {
        const packed = new WireReader(bytes, field.start, field.end);
        while (packed.at < packed.end) {
          packed.varint();
          column.addInt(packed.low, packed.high);
        }
      } else throw new WireError(`a list of ${kind} has values of another type`);
    }
  }

  #begin(name: string): FeatureColumn {
    const column = new FeatureColumn(name, Object.hasOwn(this.#schema, name) ? this.#schema[name] : undefined, this.#found.get(name));
    while (column.rowCount < this.rowCount) column.addNull();
    this.#columns.set(name, column);
    return column;
  }

  #error(problem: string, hint: string): DataError {
    return new DataError(`Cannot read ${this.#file}: record ${this.#firstRecord + this.rowCount}${problem}`, { hint });
  }
}
