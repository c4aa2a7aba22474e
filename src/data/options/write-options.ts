/**
 * The options of writers, and the plan that each writer makes of them: mode, partition columns, extension, file format, and the placement of its tasks.
 *
 * Options are checked in the user's call, before anything runs. `write.ts` carries out the plan. A compression is part of the extension, so that readers
 * recognize it.
 */
import { count, custom, describeValue, flag, isTaskOption, type Option, oneOf, readOptions } from "../../core/internal.ts";
import { CHECKPOINT, checkCheckpoint, type CheckpointOptions } from "../checkpoint/checkpoint-options.ts";
import type { ConsumeOptions } from "../consuming/consume.ts";
import type { WriteTransform } from "../engine/writes/write-transform.ts";
import type { FilenameProvider } from "../writing/file-names.ts";
import { IMAGE_FORMATS, type ImageFormat } from "../formats/media/images.ts";
import { PARQUET_CODECS, type ParquetCodec } from "../formats/parquet/parquet-writer.ts";
import { type ReadOptions, readTasks, type TransformOptions } from "./transform-options.ts";
import { WRITE_MODES, type WriteMode } from "../writing/write.ts";

/** The options of all writers. With `concurrency`, `numCpus` or other options of tasks, separate tasks write the files. */
export interface WriteOptions extends ConsumeOptions, TransformOptions {
  /**
   * How files are treated that the folder has already: `"append"` leaves them, `"overwrite"` removes them after the new ones are there and refuses a folder with files that no write made, `"create"` and `"error"` refuse to write, `"ignore"` writes
   * nothing. Default: `"append"`.
   */
  mode?: WriteMode | undefined;
  /** Columns whose values are folders, such as `city=Rome/`, and are left out of the files. Default: none. */
  partitionBy?: readonly string[] | undefined;
  /**
   * Names the files: called in this process, once for each file, in the order of the rows. A missing extension is added. With `"overwrite"` a file replaces an
   * old one of the same name, so a failure amid the replacements may leave a mixture. Default: `part-00000-<id>` and so on.
   *
   * @example
   * await rides.writeCsv("out/", { filenameProvider: ({ index, writeId }) => `rides-${writeId}-${index}` });
   */
  filenameProvider?: FilenameProvider | undefined;
  /**
   * Records which rows are in place, so that the same program resumes after a kill: rows that are recorded are not computed again. Each row needs an id, and
   * each step treats a row alone: no sort, limit, aggregate or join. With the mode `"append"`. Default: nothing is recorded.
   *
   * @example
   * await texts.map(answered).writeParquet("out/", { checkpoint: { idColumn: "id", path: "out-checkpoint/" } });
   */
  checkpoint?: CheckpointOptions | undefined;
}

/** The options of writers with several rows in a file. */
export interface WriteRowsOptions extends WriteOptions {
  /** A file that has so many rows is ended, and the rows behind go to the next one. Default: a file a task. */
  maxRowsPerFile?: number | undefined;
  /**
   * A task takes so many rows at least, so its file has no fewer, but for the last one. Files of `partitionBy` share the rows of a task. With `maxRowsPerFile`, which is not to be smaller, the last
   * file of a task may have fewer. Default: tasks take what there is.
   */
  minRowsPerFile?: number | undefined;
  /**
   * The least bytes of a file, counted as the rows lie in memory: files are smaller, as far as their format compresses. With `minRowsPerFile` a task waits for both. Default: tasks take what there is.
   *
   * @example
   * await rides.writeParquet("out/", { minBytesPerFile: 256 * 1024 * 1024 });
   */
  minBytesPerFile?: number | undefined;
}

export interface WriteJsonOptions extends WriteRowsOptions {
  /** Default: `"none"`. */
  compression?: keyof typeof COMPRESSED | undefined;
}

export interface WriteCsvOptions extends WriteJsonOptions {
  /** Whether each file begins with the names of the columns. Default: true. */
  header?: boolean | undefined;
}

export interface WriteParquetOptions extends WriteRowsOptions {
  /** Default: `"snappy"`. */
  compression?: ParquetCodec | undefined;
}

/** The options of `writeTfrecords` and `writeWebdataset`. */
export interface WriteRecordsOptions extends WriteRowsOptions {
  /** Default: `"none"`. */
  compression?: keyof typeof COMPRESSED | undefined;
}

/** The options of `writeNumpy`. */
export interface WriteNumpyOptions extends WriteRowsOptions {
  /** The column whose values are written. */
  column: string;
}

/** The options of `writeImages`. */
export interface WriteImagesOptions extends WriteOptions {
  /** The column of images: tensors of uint8 with height, width and 1 to 4 channels, or without the last one. */
  column: string;
  /** Default: `"png"`. */
  fileFormat?: ImageFormat | undefined;
}

/** The plan of a write. */
export interface WritePlan
  extends Pick<WriteTransform, "extension" | "format" | "partitionBy" | "maxRowsPerFile" | "minRowsPerFile" | "minBytesPerFile"> {
  readonly mode: WriteMode;
  readonly filenameProvider: FilenameProvider | undefined;
  readonly checkpoint: CheckpointOptions | undefined;
  readonly signal: AbortSignal | undefined;
  /** Where its tasks run. */
  readonly tasks: ReadOptions;
}

/** The extensions that tell readers of a compression. */
const COMPRESSED = { none: "", gzip: ".gz", brotli: ".br", zstd: ".zst" } as const;
const COMPRESSION = oneOf(["none", "gzip", "brotli", "zstd"], "none");
const NAMES = custom<readonly string[]>("an array of column names is needed", [], (value) =>
  Array.isArray(value) && value.every((name) => typeof name === "string") ? "ok" : "wrong type",
);
const PROVIDER = custom<FilenameProvider | undefined>("a function is needed", undefined, (value) =>
  typeof value === "function" ? "ok" : "wrong type",
);
const AT_LEAST_ONE = count({ min: 1 }, undefined);
const WRITE = {
  mode: oneOf(WRITE_MODES, "append"),
  partitionBy: NAMES,
  filenameProvider: PROVIDER,
  checkpoint: CHECKPOINT,
  concurrency: AT_LEAST_ONE,
};
const WRITE_ROWS = { ...WRITE, maxRowsPerFile: AT_LEAST_ONE, minRowsPerFile: AT_LEAST_ONE, minBytesPerFile: AT_LEAST_ONE };

function checkRows(method: string, { minRowsPerFile = 1, maxRowsPerFile = minRowsPerFile }: WriteRowsOptions): void {
  if (minRowsPerFile > maxRowsPerFile)
    throw new RangeError(
      `Cannot call ${method}: it takes a minRowsPerFile up to maxRowsPerFile: received ${minRowsPerFile} and ${maxRowsPerFile}`,
    );
}

/** The values of the writer's own options, and where its tasks run. A name that neither knows is taken for one of the writer's, which says what there is. */
function readWrite<V extends { concurrency: number | undefined; mode: WriteMode; checkpoint: unknown; filenameProvider: unknown }>(
  method: string,
  given: object,
  options: { readonly [K in keyof V]: Option<V[K]> },
): Omit<V, "concurrency"> & { readonly tasks: ReadOptions } {
  const entries = Object.entries(given);
  const isOfTasks = (name: string): boolean => !Object.hasOwn(options, name) && isTaskOption(name);
  const own = Object.fromEntries(entries.filter(([name]) => !isOfTasks(name)));
  const { concurrency, ...values } = readOptions<V>(own, { of: method, options });
  checkCheckpoint(method, values);
  const tasks = Object.fromEntries(entries.filter(([name]) => isOfTasks(name)));
  return { ...values, tasks: readTasks(method, { ...tasks, concurrency }) };
}

export function csvWrite({ signal, ...given }: WriteCsvOptions): WritePlan {
  const { header, compression, ...rest } = readWrite("writeCsv", given, { ...WRITE_ROWS, header: flag(true), compression: COMPRESSION });
  checkRows("writeCsv", rest);
  return { ...rest, signal, extension: `.csv${COMPRESSED[compression]}`, format: { kind: "csv", header } };
}

export function jsonWrite({ signal, ...given }: WriteJsonOptions): WritePlan {
  const { compression, ...rest } = readWrite("writeJson", given, { ...WRITE_ROWS, compression: COMPRESSION });
  checkRows("writeJson", rest);
  return { ...rest, signal, extension: `.jsonl${COMPRESSED[compression]}`, format: { kind: "json" } };
}

export function parquetWrite({ signal, ...given }: WriteParquetOptions): WritePlan {
  const { compression, ...rest } = readWrite("writeParquet", given, { ...WRITE_ROWS, compression: oneOf(PARQUET_CODECS, "snappy") });
  checkRows("writeParquet", rest);
  return { ...rest, signal, extension: ".parquet", format: { kind: "parquet", codec: compression } };
}

export function tfrecordsWrite(given: WriteRecordsOptions): WritePlan {
  return recordsWrite("writeTfrecords", given, ".tfrecord", { kind: "tfrecords" });
}

export function webdatasetWrite(given: WriteRecordsOptions): WritePlan {
  return recordsWrite("writeWebdataset", given, ".tar", { kind: "webdataset" });
}

function recordsWrite(
  method: string,
  { signal, ...given }: WriteRecordsOptions,
  extension: string,
  format: WritePlan["format"],
): WritePlan {
  const { compression, ...rest } = readWrite(method, given, { ...WRITE_ROWS, compression: COMPRESSION });
  checkRows(method, rest);
  return { ...rest, signal, extension: `${extension}${COMPRESSED[compression]}`, format };
}

export function numpyWrite(options: WriteNumpyOptions): WritePlan {
  const { signal, column, ...given } = options ?? {};
  requireColumn("writeNumpy", column);
  const rest = readWrite("writeNumpy", given, WRITE_ROWS);
  checkRows("writeNumpy", rest);
  return { ...rest, signal, extension: ".npy", format: { kind: "numpy", column } };
}

export function imagesWrite(options: WriteImagesOptions): WritePlan {
  const { signal, column, ...given } = options ?? {};
  requireColumn("writeImages", column);
  const { fileFormat, ...rest } = readWrite("writeImages", given, { ...WRITE, fileFormat: oneOf(IMAGE_FORMATS, "png") });
  return { ...rest, signal, extension: `.${fileFormat}`, format: { kind: "images", column, format: fileFormat } };
}

function requireColumn(method: string, column: unknown): void {
  if (typeof column !== "string")
    throw new TypeError(`Cannot call ${method}: it takes the name of a column: received ${describeValue(column)}`);
}
