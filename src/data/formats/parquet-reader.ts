/**
 * Reads Parquet files: the footer in JavaScript, to plan; row groups in WebAssembly, one at a time, so that a task has one row group in memory.
 *
 * parquet-wasm, the Rust implementation of Apache Arrow, decodes all encodings and codecs (uncompressed, snappy, gzip, brotli, zstd, lz4). It hands over Arrow's stream, whose
 * bytes become the vectors. It is loaded by the first read.
 */
import { parquetMetadataAsync } from "hyparquet";
import { blocksOfArrow } from "../arrow/from-arrow.ts";
import type { Block } from "../blocks/block.ts";
import { noteFile } from "../blocks/origin.ts";
import { DataError } from "../errors.ts";
import type { ColumnFacts } from "../expressions/may-match.ts";
import { factsOfGroup, topLevelElements } from "./parquet-statistics.ts";
import { StorageError } from "../../storage/errors.ts";
import type { FileBytes } from "../../storage/file-system.ts";
import { shownPath } from "../../storage/paths.ts";
import { openBytes } from "../../storage/places.ts";

/** What a task reads of one file. */
export interface ParquetPart {
  readonly path: string;
  readonly rowGroups: readonly number[];
  /** How many rows of the file are before each of them. */
  readonly firstRows: readonly number[];
  readonly rowCount: number;
}

interface RowGroup {
  readonly rowCount: number;
  readonly sizeBytes: number;
  /** What the statistics say, of the columns that were asked for. */
  readonly facts: ReadonlyMap<string, ColumnFacts>;
}

/** The footer of a file, as far as plans need it. */
export interface ParquetFooter {
  readonly path: string;
  readonly columns: readonly string[];
  readonly rowGroups: readonly RowGroup[];
  /** Columns of 64-bit whole numbers that have values beyond 2^53, by their statistics. */
  readonly wideColumns: readonly string[];
}

/**
 * @param asked - the columns whose statistics are asked for
 * @throws DataError for what is no Parquet file
 */
export async function readParquetFooter(path: string, asked: readonly string[]): Promise<ParquetFooter> {
  const bytes = await openBytes(path);
  const slice = (start: number, end = bytes.size): Promise<ArrayBuffer> => bytes.slice(start, end).arrayBuffer();
  const metadata = await naming(path, () => parquetMetadataAsync({ byteLength: bytes.size, slice }));
  const wideColumns = new Set<string>();
  for (const { columns } of metadata.row_groups)
    for (const { meta_data: column } of columns) {
      const { min_value: least, max_value: most } = column?.statistics ?? {};
      if (isWide(least) || isWide(most)) wideColumns.add(column?.path_in_schema[0] as string);
    }
  return {
    path,
    columns: topLevelElements(metadata.schema).map(({ name }) => name),
    rowGroups: metadata.row_groups.map((group) => ({
      rowCount: Number(group.num_rows),
      sizeBytes: Number(group.total_byte_size),
      facts: factsOfGroup(metadata.schema, group, asked),
    })),
    wideColumns: [...wideColumns],
  };
}

function isWide(value: unknown): boolean {
  return typeof value === "bigint" && (value > BigInt(Number.MAX_SAFE_INTEGER) || value < BigInt(Number.MIN_SAFE_INTEGER));
}

/** The blocks of a part. Runs in workers. */
export async function* readParquetPart(
  { path, rowGroups, firstRows }: ParquetPart,
  columns: readonly string[] | undefined,
  bigintColumns: readonly string[],
  decimal?: "text" | "number",
): AsyncGenerator<Block, void, undefined> {
  const { ParquetFile } = await import("parquet-wasm");
  const bytes = new DecoderBytes(await openBytes(path));
  const file = await bytes.naming(path, () => ParquetFile.fromFile(bytes as unknown as Blob));
  try {
    const wide = new Set(bigintColumns);
    // Without row groups the stream has the columns alone.
    for (const [i, groups] of (rowGroups.length === 0 ? [[]] : rowGroups.map((group) => [group])).entries()) {
      const stream = await bytes.naming(path, async () => {
        const table = await file.read({
          rowGroups: groups,
          ...(columns === undefined ? {} : { columns: [...columns] }),
          batchSize: ROWS_PER_BATCH,
        });
        return table.intoIPCStream();
      });
      let row = firstRows[i] ?? 0;
      for (const block of blocksOfArrow(stream, { bigintColumns: wide, decimal })) {
        noteFile(block, shownPath(path), row);
        row += block.rowCount;
        yield block;
      }
    }
  } finally {
    if (bytes.hasFailed) ABANDONED.add(file);
    else file.free();
  }
}

/** Rows of a batch of the decoder: whole row groups of usual size. */
const ROWS_PER_BATCH = 1_048_576;

/**
 * The bytes of a file as the decoder takes them: it needs these members of a `Blob`.
 *
 * A read that is rejected would end the whole process, as the decoder panics then. So it waits for that read forever, and whoever waits for the decoder is told the error.
 */
class DecoderBytes {
  readonly #bytes: FileBytes;
  readonly #failure = Promise.withResolvers<never>();
  hasFailed = false;

  constructor(bytes: FileBytes) {
    this.#bytes = bytes;
    this.#failure.promise.catch(() => {});
  }

  get size(): number {
    return this.#bytes.size;
  }

  slice(start: number, end: number): { arrayBuffer(): Promise<ArrayBuffer> } {
    const part = this.#bytes.slice(start, end);
    const stop = (error: unknown): Promise<never> => {
      this.hasFailed = true;
      this.#failure.reject(error);
      return new Promise(() => {});
    };
    return { arrayBuffer: () => part.arrayBuffer().catch(stop) };
  }

  naming<T>(path: string, run: () => Promise<T>): Promise<T> {
    return naming(path, () => Promise.race([run(), this.#failure.promise]));
  }
}

/** Files with a read that failed. Their decoder borrows them forever, and to free such a one is an error, which the garbage collector would run into. */
const ABANDONED = new Set<object>();

/** Runs what may find the file damaged, and names the file then. */
async function naming<T>(path: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof StorageError) throw error;
    const message = error instanceof Error ? error.message : String(error);
    throw new DataError(`Cannot read ${shownPath(path)} as Parquet: ${message}`, {
      cause: error,
      hint: "see whether the file is whole, and of that format",
    });
  }
}
