/**
 * Reads Avro's container files into blocks: a header with the schema and the codec, then blocks of records, each behind its length.
 *
 * The file's own schema says the columns, so they are known before any record is read. The codecs are null, deflate, snappy and zstandard.
 * Errors name the file and the byte at which its block begins.
 */
import { snappyUncompress } from "hyparquet";
import { messageOf } from "../../../core/internal.ts";
import { crc32, inflateRaw, inflateZstd } from "../../../storage/compression/inflate.ts";
import { shownPath } from "../../../storage/paths.ts";
import { readChunks } from "../../../storage/read-file.ts";
import { type Block, namingColumn } from "../../blocks/block.ts";
import { BIG_INT64, type DataType, type Field, INT64, sameType } from "../../blocks/data-type.ts";
import { isBeyondNumbers } from "../../blocks/values/safe-integers.ts";
import type { Vector } from "../../blocks/vector.ts";
import { buildVector } from "../../blocks/vector-builder.ts";
import { DataError } from "../../errors.ts";
import { READ_BLOCK_BYTES, RECORD_BYTES_MAX, ROWS_PER_BLOCK_MAX } from "../../limits.ts";
import { ByteWindow } from "../byte-window.ts";
import { AvroCursor } from "./avro-cursor.ts";
import { type AvroType, avroType } from "./avro-schema.ts";

export interface AvroOptions {
  /** Only these columns are given, in this order. Default: all. */
  readonly columns?: readonly string[];
  /** About the size of a block. Default: 8 MiB. */
  readonly blockBytes?: number;
}

const MAGIC = "Obj\x01";
const SYNC_BYTES = 16;
const AVRO_VARINT_BYTES_MAX = 10;
/** Bytes that are read at first: most headers are shorter. */
const HEADER_BYTES = 65_536;

/** The rows of a file. Runs in workers. */
export async function* readAvroFile(path: string, options: AvroOptions = {}): AsyncGenerator<Block, void, undefined> {
  yield* avroBlocks(readChunks(path), shownPath(path), options);
}

/** The columns of a file, which its header has. */
export async function avroFields(path: string): Promise<readonly Field[]> {
  const window = new ByteWindow(readChunks(path), shownPath(path));
  try {
    return (await readHeader(window)).columns.map(({ name, own }) => ({ name, type: own.type }));
  } finally {
    await window.close();
  }
}

/** {@link readAvroFile} for bytes from elsewhere. `file` names them in errors. */
export async function* avroBlocks(
  chunks: AsyncIterable<Uint8Array>,
  file: string,
  { columns, blockBytes = READ_BLOCK_BYTES }: AvroOptions = {},
): AsyncGenerator<Block, void, undefined> {
  const window = new ByteWindow(chunks, file);
  try {
    const header = await readHeader(window);
    const rows = new AvroRows(header, file, columns);
    for (let block = await nextBlock(window, header); block !== undefined; block = await nextBlock(window, header)) {
      const cursor = new AvroCursor(block.bytes);
      for (let row = 0; row < block.rowCount; row += 1) {
        naming(block.place, () => rows.add(cursor));
        if (rows.rowCount >= ROWS_PER_BLOCK_MAX) yield rows.take();
      }
      if (cursor.left > 0) throw new DataError(`Cannot read ${block.place}: ${cursor.left} bytes follow its last record`);
      rows.bytes += block.bytes.length;
      if (rows.bytes >= blockBytes && rows.rowCount > 0) yield rows.take();
    }
    if (rows.rowCount > 0 || rows.isUntouched) yield rows.take();
  } finally {
    await window.close();
  }
}

function naming<T>(place: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw new DataError(`Cannot read ${place}: ${messageOf(error)}`, { cause: error });
  }
}

interface AvroColumn {
  readonly name: string;
  readonly own: AvroType;
}

interface AvroHeader {
  readonly columns: readonly AvroColumn[];
  readonly codec: keyof typeof CODECS;
  readonly sync: Uint8Array;
  readonly type: AvroType;
}

async function readHeader(window: ByteWindow): Promise<AvroHeader> {
  const { file } = window;
  for (let least = HEADER_BYTES; ; least *= 2) {
    await window.fill(least);
    const cursor = new AvroCursor(window.bytes.subarray(window.start, window.end));
    if (cursor.left < MAGIC.length || Buffer.from(cursor.take(MAGIC.length)).toString("latin1") !== MAGIC)
      throw new DataError(`Cannot read ${file}: it is no container file of Avro: it does not begin with "Obj" and 1`);
    const facts = factsOf(cursor);
    if (facts !== undefined) {
      window.start += cursor.at;
      return headerOf(facts, facts.sync, file);
    }
    if (window.isLast || least >= RECORD_BYTES_MAX)
      throw new DataError(`Cannot read ${file}: it is cut off in its header, or damaged there`, { hint: "was it copied to its end?" });
  }
}

/** The entries of a header and its marker; undefined where the bytes end before. */
function factsOf(cursor: AvroCursor): (Map<string, Uint8Array> & { sync: Uint8Array }) | undefined {
  const facts = new Map<string, Uint8Array>();
  try {
    cursor.elements(() => facts.set(cursor.text(), cursor.take(cursor.count()).slice()));
    return Object.assign(facts, { sync: cursor.take(SYNC_BYTES).slice() });
  } catch (error) {
    if (error instanceof DataError) return undefined;
    throw error;
  }
}

function headerOf(facts: ReadonlyMap<string, Uint8Array>, sync: Uint8Array, file: string): AvroHeader {
  const text = (name: string): string | undefined => {
    const bytes = facts.get(name);
    return bytes === undefined ? undefined : Buffer.from(bytes).toString("utf8");
  };
  const codec = text("avro.codec") ?? "null";
  if (!Object.hasOwn(CODECS, codec))
    throw new DataError(`Cannot read ${file}: its codec is not read here: received ${JSON.stringify(codec)}`, {
      hint: `write it by one of ${Object.keys(CODECS).join(", ")}`,
    });
  const type = naming(file, () => avroType(JSON.parse(text("avro.schema") ?? "")));
  const { type: logical } = type;
  const names = logical.kind === "struct" ? logical.fields.map(({ name }) => name) : ["value"];
  const own = (place: number): AvroType =>
    logical.kind !== "struct" || type.stored.kind !== "struct"
      ? type
      : { type: logical.fields[place]?.type as DataType, stored: type.stored.fields[place]?.type as DataType, read: type.read };
  return { columns: names.map((name, i) => ({ name, own: own(i) })), codec: codec as keyof typeof CODECS, sync, type };
}

interface AvroBlock {
  readonly bytes: Uint8Array;
  readonly rowCount: number;
  /** For messages: the file, and the byte at which the block begins. */
  readonly place: string;
}

async function nextBlock(window: ByteWindow, { codec, sync }: AvroHeader): Promise<AvroBlock | undefined> {
  const { file } = window;
  await window.fill(2 * AVRO_VARINT_BYTES_MAX);
  if (window.length === 0) return undefined;
  const place = `${file}: the block at byte ${window.offsetOf(window.start)}`;
  const head = new AvroCursor(window.bytes.subarray(window.start, Math.min(window.end, window.start + 2 * AVRO_VARINT_BYTES_MAX)));
  const [rowCount, size] = naming(place, () => [head.count(), head.count()] as const);
  if (size > RECORD_BYTES_MAX)
    throw new DataError(`Cannot read ${place}: it is too large: received ${size} bytes, at most ${RECORD_BYTES_MAX} are read`);
  await window.fill(head.at + size + SYNC_BYTES);
  const from = window.start + head.at;
  if (window.end < from + size + SYNC_BYTES)
    throw new DataError(`Cannot read ${place}: it is cut off: its file ends before it`, { hint: "was it copied to its end?" });
  const marker = window.bytes.subarray(from + size, from + size + SYNC_BYTES);
  if (Buffer.compare(marker, sync) !== 0)
    throw new DataError(`Cannot read ${place}: it is damaged: the marker behind it is another one`, { hint: "copy the file again" });
  const packed = window.bytes.slice(from, from + size);
  window.start = from + size + SYNC_BYTES;
  return { bytes: naming(`${place} is no ${codec}`, () => CODECS[codec](packed)), rowCount, place };
}

const CODECS = {
  null: (bytes: Uint8Array) => bytes,
  deflate: (bytes: Uint8Array) => inflateRaw(bytes, RECORD_BYTES_MAX),
  zstandard: (bytes: Uint8Array) => inflateZstd(bytes, RECORD_BYTES_MAX),
  snappy,
} as const;

/** A block of Snappy: its length, the bytes, and their checksum. */
function snappy(bytes: Uint8Array): Uint8Array {
  const packed = bytes.subarray(0, -4);
  let length = 0;
  for (let i = 0; i < 5; i += 1) {
    const byte = packed[i] ?? 0;
    length += (byte & 0x7f) * 2 ** (7 * i);
    if (byte < 0x80) break;
  }
  if (bytes.length < 5 || length > RECORD_BYTES_MAX) throw new DataError(`its length is ${length}`);
  const unpacked = new Uint8Array(length);
  snappyUncompress(packed, unpacked);
  if (crc32(unpacked) !== Buffer.from(bytes.subarray(-4)).readUInt32BE(0)) throw new DataError("its checksum differs");
  return unpacked;
}

/** Rows that wait to be a block. */
class AvroRows {
  readonly #type: AvroType;
  readonly #columns: readonly AvroColumn[];
  readonly #isRecord: boolean;
  readonly #wide = new Set<string>();
  #values: unknown[][];
  isUntouched = true;
  bytes = 0;
  rowCount = 0;

  constructor({ columns, type }: AvroHeader, file: string, wanted: readonly string[] | undefined) {
    this.#type = type;
    this.#isRecord = type.stored.kind === "struct";
    const missing = wanted?.find((name) => !columns.some((column) => column.name === name));
    if (missing !== undefined)
      throw new DataError(`Cannot read ${file}: it has no column ${JSON.stringify(missing)}`, {
        hint: `it has ${columns.map(({ name }) => name).join(", ")}`,
      });
    this.#columns = wanted === undefined ? columns : wanted.map((name) => columns.find((column) => column.name === name) as AvroColumn);
    this.#values = this.#columns.map(() => []);
  }

  add(cursor: AvroCursor): void {
    const row = this.#type.read(cursor) as Readonly<Record<string, unknown>>;
    this.#columns.forEach(({ name }, i) => this.#values[i]?.push(this.#isRecord ? row[name] : row));
    this.rowCount += 1;
  }

  take(): Block {
    const vectors = this.#columns.map(({ name, own }, i) =>
      namingColumn(name, () => this.#vector(name, own, this.#values[i] as unknown[])),
    );
    const block = { rowCount: this.rowCount, names: this.#columns.map(({ name }) => name), vectors };
    this.#values = this.#columns.map(() => []);
    this.rowCount = 0;
    this.bytes = 0;
    this.isUntouched = false;
    return block;
  }

  /** Numbers beyond 2^53 at the beginning of a file make the column one of bigints. */
  #vector(name: string, { type, stored }: AvroType, values: readonly unknown[]): Vector {
    const vector = buildVector(values, stored);
    if (this.isUntouched && sameType(type, INT64) && isBeyondNumbers(vector)) this.#wide.add(name);
    return withType(vector, this.#wide.has(name) ? BIG_INT64 : type);
  }
}

/** The same memory under a type of the same layout. */
function withType(vector: Vector, type: DataType): Vector {
  if (type.kind === "list") return { ...vector, type, children: [withType(vector.children?.[0] as Vector, type.of)] };
  if (type.kind !== "struct") return { ...vector, type };
  return { ...vector, type, children: type.fields.map((field, i) => withType(vector.children?.[i] as Vector, field.type)) };
}
