/**
 * The transform that writes: each task writes its rows into separate whole files of a staging folder, and gives a row for each file. The driver moves the files
 * to their places in the order of the rows (`../../writing/write.ts`), so a task that runs again duplicates no rows.
 *
 * With `partitionBy` the rows of each combination of values go to a separate file without these columns, and the file's row names the values.
 */
import { FileWriter } from "../../../storage/file-writer.ts";
import { shownPath } from "../../../storage/paths.ts";
import { removeFiles } from "../../../storage/places.ts";
import {
  alignBlock,
  type Block,
  blockOfRows,
  columnReader,
  rowlessBlock,
  rowsOf,
  schemaOf,
  sliceBlock,
  takeBlock,
  unifySchemas,
} from "../../blocks/block.ts";
import { type IdsPlace, WrittenIds } from "../../checkpoint/written-ids.ts";
import type { Field } from "../../blocks/data-type.ts";
import { isNull, type Vector } from "../../blocks/vector.ts";
import { DataError } from "../../errors.ts";
import { ByteSink } from "../../formats/byte-sink.ts";
import { CsvTable } from "../../formats/csv/csv-writer.ts";
import { jsonLines } from "../../formats/json/json-writer.ts";
import { type ImageFormat, imageFiles } from "../../formats/media/images.ts";
import { npyFile } from "../../formats/numpy/numpy-writer.ts";
import { type ParquetCodec, parquetFile } from "../../formats/parquet/parquet-writer.ts";
import { WebdatasetShard } from "../../formats/tar/webdataset-writer.ts";
import { exampleRecords } from "../../formats/tensorflow/example-writer.ts";
import { plainWriter, type ValueWriter } from "../../formats/texts/value-text.ts";
import { groupRows, keyVectors } from "../../kernels/hash.ts";
import { rowsByPart } from "../../kernels/partition.ts";
import { PARTITIONS_OF_TASK_MAX } from "../../limits.ts";
import { isStaging } from "../../writing/staging-folder.ts";

/** In which form rows are written. */
export type FileFormat =
  | { readonly kind: "csv"; readonly header: boolean }
  | { readonly kind: "json" }
  | { readonly kind: "parquet"; readonly codec: ParquetCodec }
  | { readonly kind: "tfrecords" | "webdataset" }
  | { readonly kind: "numpy"; readonly column: string }
  | { readonly kind: "images"; readonly column: string; readonly format: ImageFormat };

export interface WriteTransform {
  readonly kind: "write";
  readonly name: string;
  readonly stagingFolder: string;
  /** With the dot, such as `.csv.gz`. */
  readonly extension: string;
  readonly format: FileFormat;
  readonly partitionBy: readonly string[];
  /** Default: no limit. Files of images have one row anyway. */
  readonly maxRowsPerFile?: number | undefined;
  /** Rows that a task takes at least, as long as there are more. Default: no limit. */
  readonly minRowsPerFile?: number | undefined;
  /** The least bytes of a file, as its rows lie in memory. */
  readonly minBytesPerFile?: number | undefined;
  /** Writes a file also where no row comes, for the columns. Default: a row with the columns tells that there is none. */
  readonly isAlone?: boolean | undefined;
  /** Where the ids of the rows go, of a write with a checkpoint. */
  readonly idsPlace?: IdsPlace | undefined;
}

/** The row of a written file: its place in the staging folder, and the folders of its partition. */
export interface WrittenFile extends Record<string, unknown> {
  readonly staged: string;
  readonly partition: string;
  readonly rowCount: number;
  readonly sizeBytes: number;
  /** The columns of a table, as JSON; absent for other files. `staged` is empty if no row came. */
  readonly columns?: string | null;
  /** The file with the ids of all rows of the task, of a write with a checkpoint. */
  readonly ids?: string;
}

/** Rows of one partition as they come: one file, or one for each row. */
interface OpenFile {
  readonly partition: string;
  readonly rowCount: number;
  /** Whether rows with the block's columns can follow those that are written. */
  takes(block: Block): boolean;
  add(block: Block): Promise<void>;
  end(): Promise<readonly WrittenFile[]>;
  abort(): Promise<void>;
}

export async function* writeFiles(blocks: AsyncIterable<Block>, transform: WriteTransform): AsyncGenerator<Block, void, undefined> {
  const open = new Map<string, OpenFile>();
  const written: WrittenFile[] = [];
  const { maxRowsPerFile = Number.POSITIVE_INFINITY } = transform;
  const ids = transform.idsPlace === undefined ? undefined : new WrittenIds(transform.idsPlace);
  let empty: Block | undefined;
  try {
    for await (const block of blocks) {
      if (block.rowCount === 0) {
        if (block.names.length > 0) empty ??= block;
        continue;
      }
      ids?.add(block);
      for (const { partition, rows } of partitionsOf(block, transform))
        for (let start = 0; start < rows.rowCount; ) {
          const before = open.get(partition);
          if (before?.takes(rows) === false) {
            written.push(...(await before.end()));
            open.delete(partition);
          }
          const file = open.get(partition) ?? (await openNext(partition, open, transform));
          const end = Math.min(rows.rowCount, start + maxRowsPerFile - file.rowCount);
          await file.add(sliceBlock(rows, start, end));
          start = end;
          if (file.rowCount < maxRowsPerFile) continue;
          written.push(...(await file.end()));
          open.delete(partition);
        }
    }
    if (written.length === 0 && open.size === 0 && empty !== undefined && hasEmptyFiles(transform)) {
      if (transform.isAlone === true) await (await openNext("", open, transform)).add(empty);
      else written.push({ staged: "", partition: "", rowCount: 0, sizeBytes: 0, columns: JSON.stringify(schemaOf(empty)) });
    }
    for (const file of open.values()) written.push(...(await file.end()));
    open.clear();
    await checkIsAwaited(transform, written);
    const hasRows = written.some(({ rowCount }) => rowCount > 0);
    const named = ids === undefined || !hasRows ? {} : { ids: await ids.write() };
    if (written.length > 0)
      yield blockOfRows(
        written.map((file) => ({ ...file, ...named })),
        transform.name,
      );
  } finally {
    for (const file of open.values()) await file.abort();
  }
}

/** The file of a dataset without rows. */
export async function writeRowless(fields: readonly Field[], transform: WriteTransform): Promise<readonly WrittenFile[]> {
  const block = async function* rowless(): AsyncGenerator<Block, void, undefined> {
    yield rowlessBlock(fields);
  };
  for await (const written of writeFiles(block(), { ...transform, isAlone: true })) return rowsOf(written) as WrittenFile[];
  return [];
}

/** Forms in which a file without rows has its columns all the same. */
const TABLES: ReadonlySet<string> = new Set(["csv", "json", "parquet"]);

/** Whether a dataset without rows is a file with its columns: partitions have no folder then. */
function hasEmptyFiles({ partitionBy, format }: WriteTransform): boolean {
  return partitionBy.length === 0 && TABLES.has(format.kind);
}

async function openNext(partition: string, open: Map<string, OpenFile>, transform: WriteTransform): Promise<OpenFile> {
  if (open.size >= PARTITIONS_OF_TASK_MAX)
    throw new DataError(
      `Cannot run ${transform.name}: more than ${PARTITIONS_OF_TASK_MAX} combinations of ${transform.partitionBy.join(", ")} in one task`,
      { hint: "partition by columns of fewer values" },
    );
  const file = await (transform.format.kind === "images" ? openImages(partition, transform) : openFile(partition, transform));
  open.set(partition, file);
  return file;
}

/** A write that has failed elsewhere has removed its staging folder: where the storage takes files all the same, they would stay. */
async function checkIsAwaited({ name, stagingFolder }: WriteTransform, written: readonly WrittenFile[]): Promise<void> {
  const staged = written.map((file) => file.staged).filter((path) => path !== "");
  if (staged.length === 0 || (await isStaging(stagingFolder))) return;
  await removeFiles(staged);
  throw new DataError(`${name} has ended meanwhile: ${shownPath(stagingFolder)} is removed`);
}

export async function openFile(partition: string, { stagingFolder, extension, format }: WriteTransform): Promise<OpenFile> {
  const id = crypto.randomUUID();
  const writer = await FileWriter.open(`${stagingFolder}/${id}${extension}`);
  let rowCount = 0;
  const collected: Block[] = [];
  let fields: readonly Field[] = [];
  const table = format.kind === "csv" ? new CsvTable(format) : undefined;
  const shard = format.kind === "webdataset" ? new WebdatasetShard(id.slice(0, 8)) : undefined;
  const end = async (): Promise<WrittenFile[]> => {
    if (format.kind === "parquet") await writer.write(await parquetFile(aligned(collected, fields), format.codec));
    if (format.kind === "numpy") for (const part of npyFile(collected, format.column)) await writer.write(part);
    if (shard !== undefined) await writer.write(shard.end());
    const { path, sizeBytes } = await writer.commit();
    const columns = TABLES.has(format.kind) ? JSON.stringify(fields) : null;
    return [{ staged: path, partition, rowCount, sizeBytes, columns }];
  };
  const add = async (block: Block): Promise<void> => {
    fields = unifySchemas([fields, schemaOf(block)]);
    if (table !== undefined) await writer.write(table.add(block));
    else if (format.kind === "json") await writer.write(jsonLines(block));
    else if (format.kind === "tfrecords") await writer.write(exampleRecords(block));
    else if (shard !== undefined) for await (const part of shard.add(block)) await writer.write(part);
    else collected.push(block);
    rowCount += block.rowCount;
  };
  return {
    partition,
    get rowCount() {
      return rowCount;
    },
    // The header of CSV is written before the later blocks come.
    takes: (block) => table?.lacks(block) !== true,
    add,
    end,
    abort: () => writer.abort(),
  };
}

/** A file for each row. Those that are written lie in the staging folder, which goes if the write fails. */
function openImages(partition: string, { stagingFolder, extension, format }: WriteTransform): OpenFile {
  const { column, format: fileFormat } = format as FileFormat & { kind: "images" };
  const written: WrittenFile[] = [];
  const add = async (block: Block): Promise<void> => {
    for await (const bytes of imageFiles(block, column, fileFormat)) {
      const writer = await FileWriter.open(`${stagingFolder}/${crypto.randomUUID()}${extension}`);
      try {
        await writer.write(bytes);
        const { path, sizeBytes } = await writer.commit();
        written.push({ staged: path, partition, rowCount: 1, sizeBytes });
      } finally {
        await writer.abort();
      }
    }
  };
  return {
    partition,
    rowCount: 0,
    takes: () => true,
    add,
    end: () => Promise.resolve(written),
    abort: () => removeFiles(written.map(({ staged }) => staged)),
  };
}

function aligned(blocks: readonly Block[], fields: readonly Field[]): Block[] {
  return blocks.map((block) => alignBlock(block, fields));
}

function partitionsOf(block: Block, { partitionBy }: WriteTransform): { partition: string; rows: Block }[] {
  if (partitionBy.length === 0) return [{ partition: "", rows: block }];
  const keys = keyVectors(block, partitionBy, "partition by");
  const { ids, firstRows } = groupRows(keys, block.rowCount);
  const { rows, starts } = rowsByPart(ids, firstRows.length);
  const kept = block.names.map((_, i) => i).filter((i) => !partitionBy.includes(block.names[i] as string));
  const others: Block = {
    rowCount: block.rowCount,
    names: kept.map((i) => block.names[i] as string),
    vectors: kept.map((i) => block.vectors[i] as Vector),
  };
  const ordered = takeBlock(others, rows);
  const readers = keys.map((key, i) => keyReader(partitionBy[i] as string, key));
  return Array.from(firstRows, (row, group) => ({
    partition: readers.map((read, i) => `${hivePart(partitionBy[i] as string)}=${hivePart(read(row))}`).join("/"),
    rows: sliceBlock(ordered, starts[group] as number, starts[group + 1] as number),
  }));
}

/** The name of null in folders of Hive, Spark and pyarrow. */
export const HIVE_NULL = "__HIVE_DEFAULT_PARTITION__";

/**
 * Writes a name or value in a folder's name. Percent signs escape special characters, so no value leaves the folder. Characters beyond ASCII stay unescaped:
 * Spark and Hive read each escape as a character, not as one byte.
 */
function hivePart(value: string | null): string {
  if (value === null) return HIVE_NULL;
  return value.replace(/[^\w.~!*'()\u{80}-\u{10FFFF}-]|^\./gu, (special) => `%${hexOf(special)}`);
}

function hexOf(special: string): string {
  return special.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0");
}

/** The texts of a column's values, null for nulls. Days and times have the digits of their type. */
function keyReader(name: string, key: Vector): (row: number) => string | null {
  if (key.type.kind === "date" || key.type.kind === "timestamp") {
    const sink = new ByteSink();
    const write = plainWriter(key, sink, { column: name, nonFinite: String }) as ValueWriter;
    return (row) => {
      if (isNull(key, row)) return null;
      sink.length = 0;
      write(row);
      return Buffer.from(sink.taken()).toString("latin1");
    };
  }
  const read = columnReader(name, key);
  return (row) => keyText(read(row));
}

function keyText(value: unknown): string | null {
  if (value === null) return null;
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
  return typeof value === "string" ? value : (value as number | bigint | boolean).toString();
}
