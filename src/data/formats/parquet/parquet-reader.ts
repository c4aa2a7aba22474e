/**
 * Reads Parquet files: the footer in JavaScript, to plan; row groups in WebAssembly, one at a time, so that a task has one row group in memory.
 *
 * parquet-wasm, the Rust implementation of Apache Arrow, decodes all encodings and codecs (uncompressed, snappy, gzip, brotli, zstd, lz4 also in Hadoop's
 * frames). Each decoded column is copied out of its memory once. The first read loads it.
 */
import { type FileMetaData, parquetMetadata } from "hyparquet";
import { blocksOfWasmTable } from "../../arrow/from-wasm.ts";
import type { Block } from "../../blocks/block.ts";
import { noteFile } from "../../blocks/memory/origin.ts";
import { DataError } from "../../errors.ts";
import { withColumns } from "../../expressions/evaluate.ts";
import type { ExpressionNode } from "../../expressions/nodes.ts";
import type { ColumnFacts } from "../../expressions/may-match.ts";
import { checkCompactThrift } from "./compact-thrift.ts";
import { footerInMicroseconds, type SparkTimes, sparkTimesOf } from "./parquet-int96.ts";
import { columnOfRepeatedMaps, factsOfGroup, topLevelElements } from "./parquet-statistics.ts";
import { parquetWasm } from "./parquet-wasm.ts";
import { StorageError } from "../../../storage/errors.ts";
import type { FileBytes } from "../../../storage/file-system.ts";
import { shownPath } from "../../../storage/paths.ts";
import { openBytes } from "../../../storage/places.ts";

/** The part of one file that a task reads. */
export interface ParquetPart {
  readonly path: string;
  readonly rowGroups: readonly number[];
  /** How many rows of the file are before each of them. */
  readonly firstRows: readonly number[];
  readonly rowCount: number;
  /** As the footer says. */
  readonly sparkTimes?: SparkTimes | undefined;
  readonly encryptedColumns?: readonly string[] | undefined;
}

interface RowGroup {
  readonly rowCount: number;
  readonly sizeBytes: number;
  /** The statistics of the requested columns. */
  readonly facts: ReadonlyMap<string, ColumnFacts>;
}

/** The footer of a file, as far as plans need it. */
export interface ParquetFooter {
  readonly path: string;
  readonly columns: readonly string[];
  /** The same text for files with the same columns in the same types. */
  readonly kind: string;
  readonly rowGroups: readonly RowGroup[];
  /** Columns of 64-bit whole numbers that have values beyond 2^53, by their statistics. */
  readonly wideColumns: readonly string[];
  readonly sparkTimes: SparkTimes | undefined;
  /** Columns that only a reader with their keys could read. */
  readonly encryptedColumns: readonly string[];
}

/**
 * Reads a file's footer.
 *
 * @param asked - the columns whose statistics are wanted
 * @throws DataError for a file that is not Parquet
 */
export async function readParquetFooter(path: string, asked: readonly string[]): Promise<ParquetFooter> {
  await using bytes = await openBytes(path);
  const byteLength = bytes.sizeBytes;
  if (byteLength < LEAST_BYTES) throw notParquet(path, `it has ${byteLength} bytes, and the shortest such file has ${LEAST_BYTES}`);
  const end = await endOfFile(bytes);
  if (end.toString("latin1", end.length - ENCRYPTED_MARK.length) === ENCRYPTED_MARK) throw encrypted(path, "its footer");
  const metadata = await naming(
    path,
    async () => checkedMetadata(end),
    () => ` (it has ${byteLength} bytes)`,
  );
  const [wideColumns, encryptedColumns] = [new Set<string>(), new Set<string>()];
  for (const { columns } of metadata.row_groups)
    for (const { meta_data: column, crypto_metadata: keys } of columns) {
      if (keys !== undefined) encryptedColumns.add(column?.path_in_schema[0] as string);
      const { min_value: least, max_value: most } = column?.statistics ?? {};
      if (isWide(least) || isWide(most)) wideColumns.add(column?.path_in_schema[0] as string);
    }
  const repeated = columnOfRepeatedMaps(metadata.schema);
  if (repeated !== undefined)
    throw new DataError(
      `Cannot read ${shownPath(path)}: column ${JSON.stringify(repeated)} has lists of maps in the old form of two levels`,
      {
        hint: "write it without spark.sql.parquet.writeLegacyFormat",
      },
    );
  const columns = topLevelElements(metadata.schema).map(({ name }) => name);
  const names = new Set<string>();
  const twice = columns.find((name) => names.size === names.add(name).size);
  if (twice !== undefined)
    throw new DataError(`Cannot read ${shownPath(path)}: two columns have one name: received ${JSON.stringify(twice)}`, {
      hint: "rename one of them in the program that writes the file",
    });
  return {
    path,
    sparkTimes: sparkTimesOf(metadata, byteLength),
    columns,
    kind: JSON.stringify([metadata.schema, metadata.key_value_metadata?.find(({ key }) => key === ARROW_SCHEMA)?.value]),
    rowGroups: metadata.row_groups.map((group) => ({
      rowCount: Number(group.num_rows),
      sizeBytes: Number(group.total_byte_size),
      facts: factsOfGroup(metadata.schema, group, asked),
    })),
    wideColumns: [...wideColumns],
    encryptedColumns: [...encryptedColumns],
  };
}

/** Size of the first read at a file's end, which contains most footers. */
const END_BYTES = 512 * 1024;
/** The length of the footer, and the mark. */
const TAIL_BYTES = 8;

/** The last bytes of a file, its footer among them where the file has as many bytes as its last ones say. */
async function endOfFile(file: FileBytes): Promise<Buffer> {
  const { sizeBytes } = file;
  const end = Buffer.from(await file.read(Math.max(0, sizeBytes - END_BYTES), sizeBytes));
  const footerBytes = end.readUInt32LE(end.length - TAIL_BYTES) + TAIL_BYTES;
  return footerBytes <= end.length || footerBytes > sizeBytes ? end : Buffer.from(await file.read(sizeBytes - footerBytes, sizeBytes));
}

/** @throws Error for a footer whose counts cannot be: the parser would believe them */
function checkedMetadata(end: Buffer): FileMetaData {
  const footerBytes = end.readUInt32LE(end.length - TAIL_BYTES);
  if (footerBytes <= end.length - TAIL_BYTES)
    checkCompactThrift(end.subarray(end.length - TAIL_BYTES - footerBytes, end.length - TAIL_BYTES));
  const metadata = parquetMetadata(Uint8Array.from(end).buffer);
  let depth = 0;
  const open: number[] = [];
  for (const { num_children: children = 0 } of metadata.schema) {
    while (open.at(-1) === 0) open.pop();
    if (open.length > 0) open.push((open.pop() as number) - 1);
    if (children > 0) open.push(children);
    depth = Math.max(depth, open.length);
  }
  if (depth > SCHEMA_DEPTH_MAX) throw new Error(`its schema is ${depth} levels deep, and ${SCHEMA_DEPTH_MAX} are read`);
  for (const { num_rows: rows, total_byte_size: size } of metadata.row_groups)
    if (typeof rows !== "bigint" || rows < 0n || rows > ROWS_MAX || size < 0n)
      throw new Error(`its footer has a row group of ${rows} rows and ${size} bytes`);
  return metadata;
}

const SCHEMA_DEPTH_MAX = 500;
const ROWS_MAX = BigInt(Number.MAX_SAFE_INTEGER);

function isWide(value: unknown): boolean {
  return typeof value === "bigint" && (value > BigInt(Number.MAX_SAFE_INTEGER) || value < BigInt(Number.MIN_SAFE_INTEGER));
}

/** Casts columns to types of the user's. */
function withTypes(block: Block, schema: Readonly<Record<string, string>>): Block {
  const columns = block.names.filter((name) => Object.hasOwn(schema, name));
  const castOf = (name: string): ExpressionNode => ({ kind: "call", fn: "cast", inputs: [{ kind: "column", name }], args: [schema[name]] });
  return columns.length === 0
    ? block
    : withColumns(
        block,
        columns.map((name) => ({ name, node: castOf(name) })),
        "readParquet",
      );
}

/** The blocks of a part. Runs in workers. */
export async function* readParquetPart(
  { path, rowGroups, firstRows, sparkTimes, encryptedColumns }: ParquetPart,
  columns: readonly string[] | undefined,
  bigintColumns: readonly string[],
  decimal?: "text" | "number",
  schema: Readonly<Record<string, string>> = {},
): AsyncGenerator<Block, void, undefined> {
  const locked = encryptedColumns?.find((column) => columns?.includes(column) !== false);
  if (locked !== undefined) throw encrypted(path, `its column ${JSON.stringify(locked)}`);
  const { ParquetFile, wasmMemory } = await parquetWasm();
  await using opened = await openBytes(path);
  const bytes = new DecoderBytes(opened);
  const open = () => bytes.naming(path, "its footer", () => ParquetFile.fromFile(bytes as unknown as Blob));
  let file: Awaited<ReturnType<typeof open>> | undefined = await open();
  try {
    if (sparkTimes !== undefined) {
      await bytes.changeFooter(sparkTimes, file.schema().intoIPCStream());
      file.free();
      // There is none to free where the next one does not open.
      file = undefined;
      file = await open();
    }
    const decoder = file;
    const wide = new Set(bigintColumns);
    // Without row groups the stream has the columns alone.
    for (const [i, groups] of (rowGroups.length === 0 ? [[]] : rowGroups.map((group) => [group])).entries()) {
      const blocks = await bytes.naming(path, groups.length === 0 ? "its columns" : `row group ${groups[0]}`, async () => {
        const table = await decoder.read({
          rowGroups: groups,
          ...(columns === undefined ? {} : { columns: [...columns] }),
          batchSize: ROWS_PER_BATCH,
        });
        return blocksOfWasmTable(table, wasmMemory() as { buffer: ArrayBuffer }, { bigintColumns: wide, decimal });
      });
      let row = firstRows[i] ?? 0;
      for (const block of blocks) {
        const typed = withTypes(block, schema);
        noteFile(typed, shownPath(path), row);
        row += block.rowCount;
        yield typed;
      }
    }
  } finally {
    if (file !== undefined && bytes.hasFailed) ABANDONED.add(file);
    else file?.free();
  }
}

/** Rows of a batch of the decoder: whole row groups of usual size. */
const ROWS_PER_BATCH = 1_048_576;

/**
 * The bytes of a file as the decoder takes them, which needs these members of a `Blob`, and the calls that it makes for it.
 *
 * The decoder panics at a read that is rejected, and at some damaged files, amid a microtask or the callback of a promise, where nobody catches it: that would end the whole
 * process. So each of these runs in `#guarded`, a rejected read is never told, and whoever waits for the decoder is told the error.
 */
class DecoderBytes {
  readonly #bytes: FileBytes;
  /** Shown from here on instead of the file's own footer. */
  #footer: { readonly from: number; readonly bytes: Uint8Array } | undefined;
  readonly #failure = Promise.withResolvers<never>();
  hasFailed = false;
  /** The bytes that the decoder has asked for since it began with a part of the file. */
  #from = Number.POSITIVE_INFINITY;
  #to = 0;

  constructor(bytes: FileBytes) {
    this.#bytes = bytes;
    this.#failure.promise.catch(() => {});
  }

  get size(): number {
    return this.#footer === undefined ? this.#bytes.sizeBytes : this.#footer.from + this.#footer.bytes.length;
  }

  /** Shows the decoder a footer in which times of Spark are microseconds. */
  async changeFooter({ leaves, footerAt: from }: SparkTimes, schemaStream: Uint8Array): Promise<void> {
    const own = new Uint8Array(await this.#bytes.read(from, this.#bytes.sizeBytes));
    this.#footer = { from, bytes: footerInMicroseconds(own, schemaStream, leaves) };
  }

  async #read(start: number, end: number): Promise<ArrayBuffer> {
    const footer = this.#footer;
    if (footer === undefined || end <= footer.from) return this.#bytes.read(start, end);
    const before = start < footer.from ? await this.#bytes.read(start, footer.from) : new ArrayBuffer(0);
    const shown = footer.bytes.subarray(Math.max(0, start - footer.from), end - footer.from);
    const joined = new Uint8Array(before.byteLength + shown.length);
    joined.set(new Uint8Array(before));
    joined.set(shown, before.byteLength);
    return joined.buffer;
  }

  slice(start: number, end: number): { arrayBuffer(): Promise<ArrayBuffer> } {
    this.#from = Math.min(this.#from, start);
    this.#to = Math.max(this.#to, end);
    return { arrayBuffer: () => this.#guardedPromise(this.#read(start, end)) };
  }

  /** Runs the decoder on a part of the file, and names file, part and bytes where they are damaged. */
  naming<T>(path: string, part: string, run: () => Promise<T>): Promise<T> {
    [this.#from, this.#to] = [Number.POSITIVE_INFINITY, 0];
    const place = (): string => (this.#to === 0 ? "" : `, in ${part} (bytes ${this.#from} to ${this.#to})`);
    return naming(path, () => Promise.race([this.#guarded(run), this.#failure.promise]), place);
  }

  #fail(error: unknown): void {
    this.hasFailed = true;
    this.#failure.reject(error);
  }

  /** The decoder asks for microtasks by the global function, while it runs. */
  #guarded<T>(run: () => T): T {
    const { queueMicrotask } = globalThis;
    const guarded = (step: () => void): void => queueMicrotask(() => this.#attempt(step));
    Object.assign(globalThis, { queueMicrotask: guarded });
    try {
      return run();
    } finally {
      Object.assign(globalThis, { queueMicrotask });
    }
  }

  #attempt(step: () => void): void {
    try {
      this.#guarded(step);
    } catch (error) {
      this.#fail(error);
    }
  }

  #guardedPromise<T>(promise: Promise<T>): Promise<T> {
    const then = (onValue: (value: T) => void): Promise<void> =>
      Promise.prototype.then.call(
        promise,
        (value) => this.#attempt(() => onValue(value as T)),
        (error: unknown) => this.#fail(error),
      ) as Promise<void>;
    return Object.defineProperty(promise, "then", { value: then });
  }
}

/** Files with a read that failed. Their decoder borrows them forever, and to free such a one is an error, which the garbage collector would run into. */
const ABANDONED = new Set<object>();

/** Runs what may find the file damaged, and names the file then, and where in it. */
async function naming<T>(path: string, run: () => Promise<T>, place: () => string): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof StorageError) throw error;
    if (error instanceof DataError)
      throw new DataError(`Cannot read ${shownPath(path)}: ${error.message}`, { cause: error, hint: error.hint });
    throw notParquet(path, messageOf(error) + place(), error);
  }
}

/** The key under which Arrow's libraries keep the types of columns. */
const ARROW_SCHEMA = "ARROW:schema";

/** The mark at the beginning and at the end, and the length of the footer. */
const LEAST_BYTES = 12;

/** At the end of a file whose footer is encrypted. */
const ENCRYPTED_MARK = "PARE";

function encrypted(path: string, what: string): DataError {
  return new DataError(`Cannot read ${shownPath(path)}: ${what} is encrypted, and readers here take no keys`, {
    hint: "write the rows without encryption, by a program that has the keys",
  });
}

function notParquet(path: string, problem: string, cause?: unknown): DataError {
  return new DataError(`Cannot read ${shownPath(path)} as Parquet: ${problem}`, {
    ...(cause === undefined ? {} : { cause }),
    hint: "see whether the file is whole, and of that format",
  });
}

/** A panic of the decoder says nothing itself. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.name === "RuntimeError" ? "its pages are damaged" : error.message;
}
