/**
 * Datasets of files: CSV, JSON, Parquet, texts and bytes. Paths are files, folders, globs, or lists of them; files are read in the order of their paths.
 * Tasks read neighbouring small files together, and a large Parquet file in parts.
 *
 * `year=2026/month=1/` in a path gives the columns `year` and `month` (Hive's partitioning), unless `partitioning` is `"none"`.
 */
import { type NdArray, remote, type TaskOptions } from "../../core/index.ts";
import {
  count,
  custom,
  describeValue,
  flag,
  isPlainObject,
  isTaskOption,
  number,
  oneOf,
  type Option,
  readOptions,
  text,
  texts,
} from "../../core/internal.ts";
import { StorageError } from "../../storage/errors.ts";
import type { ListedFile } from "../../storage/file-system.ts";
import { folderExists } from "../../storage/listing/folders.ts";
import { joinPath, schemeOf, shownPath } from "../../storage/paths.ts";
import { resolveFolder } from "../../storage/places.ts";
import { type Block, conformBlock, schemaOf, vectorOf } from "../blocks/block.ts";
import { keepOrigin, noteFile } from "../blocks/memory/origin.ts";
import { type DataType, type Field, INT64, NULL, parseType, STRING, TYPE_NAMES } from "../blocks/data-type.ts";
import { LossSum, ON_ERROR, type OnError } from "../blocks/memory/losses.ts";
import { nullVector, type Vector } from "../blocks/vector.ts";
import { buildVector } from "../blocks/vector-builder.ts";
import { type Dataset, newDataset } from "../dataset.ts";
import type { TaskLimit } from "../engine/pools/compute.ts";
import { commonFields } from "../engine/streams/common-schema.ts";
import type { Reader } from "../engine/tasks/task.ts";
import { DataError, isOfSetup } from "../errors.ts";
import {
  checkChoice,
  chosenFiles,
  FILE_CHOICE,
  type FileChoice,
  type FileChoiceOptions,
  type PathColumns,
  type Paths,
} from "./file-choice.ts";
import { type ColumnFacts, mayMatch } from "../expressions/may-match.ts";
import { columnsOf, expressionText, type ExpressionNode } from "../expressions/nodes.ts";
import { readAudioFile } from "../formats/media/audio.ts";
import { readBinaryFile } from "../formats/binary-reader.ts";
import { csvFields, readCsvFile } from "../formats/csv/csv-reader.ts";
import { IMAGE_MODES, type ImageMode, readImageFile } from "../formats/media/images.ts";
import { jsonFields, readJsonFile } from "../formats/json/json-reader.ts";
import { readNumpyFile } from "../formats/numpy/numpy-reader.ts";
import { type ParquetFooter, type ParquetPart, readParquetFooter, readParquetPart } from "../formats/parquet/parquet-reader.ts";
import { ENCODINGS, isEncoding, UTF8 } from "../formats/texts/text-encoding.ts";
import { readTextFile } from "../formats/texts/text-reader.ts";
import { readVideoFile, VIDEO_MODES, type VideoMode } from "../formats/media/videos.ts";
import { fieldsOfFiles, fieldsTogether, type Look } from "./file-schemas.ts";
import { inGroups } from "./grouped-files.ts";
import { BLOCK_BYTES_MAX, READ_BLOCK_BYTES, SMALL_FILE_TASKS_PER_CPU } from "../limits.ts";
import { shuffled, type Source, type SourcePart, type Wanted } from "../plan/logical-plan.ts";
import type { AnyRow } from "../row-types.ts";

/** The options of all readers of files. */
export interface ReadFilesOptions extends FileChoiceOptions, Omit<TaskOptions<1>, "name" | "numReturns" | "highWaterMark" | "signal"> {
  /** Limit on simultaneous reading tasks. Functions behind the read then run in separate tasks. Default: the number of CPUs. */
  concurrency?: number | undefined;
  /** Add the column `path` with the path of the file of each row. Default: false. */
  includePaths?: boolean | undefined;
  /**
   * The cost of an item that cannot be read. `"raise"`: the run ends. `"skip"`: the item is left out. `"null"`: it is null. `stats()` counts such items in `erroredItems`, with the first errors.
   *
   * Items are the records of CSV and JSON, and with `"null"` the fields that do not fit their columns. Of images and whole files they are the files, and of others the rest of the file. Default: `"raise"`.
   */
  onError?: "raise" | "skip" | "null" | undefined;
}

interface TextErrorOptions {
  /**
   * Bytes that are no text in the file's encoding: `"raise"` ends the run, `"replace"` reads them as U+FFFD. `stats()` counts these in `replacedCharacters`. Default: `"raise"`.
   */
  encodingErrors?: "raise" | "replace" | undefined;
}

/** Types of columns by their names, such as `{ id: "int64", born: "timestamp[ms]" }`. */
export type SchemaOption = Readonly<Record<string, string>>;

/** The options of `readCsv`. */
export interface ReadCsvOptions extends ReadFilesOptions, TextErrorOptions {
  /**
   * True: the first record of each file has the names of the columns. False: they are `column1`, `column2` and so on. A list: these are the names, and the first record is data. Default:
   * true.
   */
  header?: boolean | readonly string[] | undefined;
  /** The delimiter of fields: one character. Default: `","`. */
  delimiter?: string | undefined;
  /** The character that stands before a quote in a field in quotes, and before itself: `"\\"` for files of Spark. Default: quotes are doubled. */
  escape?: string | undefined;
  /** The character before the digits of a fraction: `","` in files of Excel in many languages, where `1,5` is a number then and `1.5` none. Default: `"."`. */
  decimalSeparator?: "." | "," | undefined;
  /** Only these columns are read, in this order. Default: all. */
  columns?: readonly string[] | undefined;
  /** Texts without quotes that are null beside the empty one: `["NA", "NULL"]`. Default: none. */
  nullValues?: readonly string[] | undefined;
  /** Types of columns that are not to be inferred. Default: all are inferred from the first 4 MiB of a file. */
  schema?: SchemaOption | undefined;
  /** Lines before the header, or before the data where there is none, that are left out. Default: 0. */
  skipLines?: number | undefined;
  /**
   * Rows with another number of fields than the header: `"error"`; `"fill"`, nulls in place of fields that are missing, while one too many is an error; or `"skip"`, which leaves them out.
   * Default: `"error"`.
   */
  raggedRows?: "error" | "fill" | "skip" | undefined;
  /** A name or label of the Encoding Standard, such as `"windows-1252"` or `"utf-16le"`. A file that begins with the mark of UTF-8 or UTF-16 is read as that. Default: `"utf-8"`. */
  encoding?: string | undefined;
}

/** The options of `readJson`. */
export interface ReadJsonOptions extends ReadFilesOptions, TextErrorOptions {
  /** Only these columns are read, in this order. Default: all. */
  columns?: readonly string[] | undefined;
  /** Types of columns that are not to be inferred; `string` takes every value, as its JSON. Default: all are inferred. */
  schema?: SchemaOption | undefined;
}

/** The options of `readText`. */
export interface ReadTextOptions extends ReadFilesOptions, TextErrorOptions {
  /** Leave out lines without a character. Default: true. */
  dropEmptyLines?: boolean | undefined;
  /** A name or label of the Encoding Standard, such as `"windows-1252"` or `"utf-16le"`. A file that begins with the mark of UTF-8 or UTF-16 is read as that. Default: `"utf-8"`. */
  encoding?: string | undefined;
}

/** The options of `readNumpy`. */
export interface ReadNumpyOptions extends ReadFilesOptions {
  /** Columns of 64-bit whole numbers that are to be `bigint`: `{ data: "int64 as bigint" }`. Default: those with a number beyond 2^53 in the first 8 MiB of the file. */
  schema?: Readonly<Record<string, "int64 as bigint" | "uint64 as bigint">> | undefined;
}

/** The options of `readImages`. */
export interface ReadImagesOptions extends ReadFilesOptions {
  /** Height and width that each image is brought to. Default: its own. */
  size?: readonly [height: number, width: number] | undefined;
  /** The image's channels: `"L"` is grey, one channel. Default: those of the file. */
  mode?: ImageMode | undefined;
}

/** The options that `readVideos` and `readAudio` share. */
interface FfmpegReadOptions extends ReadFilesOptions {
  /** The program that decodes, of 5.1 or newer. Default: `"ffmpeg"`, which the PATH of each node's daemon finds. */
  ffmpegPath?: string | undefined;
  /**
   * Files with parts that cannot be decoded, or that were cut off: `"error"` ends the read with the file's name, and `"keep"` gives the rows that ffmpeg makes of the rest. Default:
   * `"error"`.
   */
  damaged?: "error" | "keep" | undefined;
}

/** The options of `readVideos`. A task decodes with as many threads as it has CPUs (`numCpus`). */
export interface ReadVideosOptions extends FfmpegReadOptions {
  /** Height and width that each frame is brought to. Default: its own. */
  resize?: readonly [height: number, width: number] | undefined;
  /** The channels of frames: `"L"` is grey, one channel. Default: `"RGB"`. */
  mode?: VideoMode | undefined;
  /** Frames a second: others are left out or repeated. Default: all frames of the film. */
  fps?: number | undefined;
  /** Leave out frames before this time, counted from the beginning of the film. They are skipped without being decoded. Default: 0. */
  startMs?: number | undefined;
  /** Leave out frames from this time on. Default: the end of the film. */
  endMs?: number | undefined;
  /** Frames that are stored whole alone, which is many times as fast. Default: false. */
  keyFramesOnly?: boolean | undefined;
  /** Add the column `timestampMs`: the time of each frame, as the file has it. Default: false. */
  includeTimestamps?: boolean | undefined;
}

/** The options of `readAudio`. */
export interface ReadAudioOptions extends FfmpegReadOptions {
  /** Samples a second that each file is brought to. Default: its own. */
  sampleRate?: number | undefined;
  /** Channels that those of each file are mixed to. Default: its own. */
  channels?: number | undefined;
}

/** The options of `readParquet`. */
export interface ReadParquetOptions<K extends string = string> extends ReadFilesOptions {
  /** The columns to read, in this order; others are not even fetched. Default: all. */
  columns?: readonly K[] | undefined;
  /** How decimals are read: as exact text, or as the nearest number. Default: as the file was made, else `"text"`. */
  decimal?: "text" | "number" | undefined;
  /** Types of columns in place of those of the files, such as `{ id: "string" }` where files have different ones. A value that the type does not hold is an error. Default: the files'. */
  schema?: SchemaOption | undefined;
}

const SCHEMA = custom<SchemaOption>(
  `an object of types by columns is needed, such as { id: "int64" }; types are ${TYPE_NAMES.join(", ")}`,
  {},
  (value) =>
    !isPlainObject(value)
      ? "wrong type"
      : Object.values(value).every((type) => typeof type === "string" && parseType(type) !== undefined)
        ? "ok"
        : "out of range",
);
function isNames(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length > 0 && value.every((name) => typeof name === "string");
}

export const NAMES: Option<readonly string[] | undefined> = custom<readonly string[] | undefined>(
  "an array of texts, none of them twice, is needed",
  undefined,
  (value) => (!isNames(value) ? "wrong type" : new Set(value).size === value.length ? "ok" : "out of range"),
);
const ENCODING = custom<string>(`one of ${ENCODINGS.join(", ")} is needed, or another label of one, such as latin1`, UTF8, (value) =>
  typeof value !== "string" ? "wrong type" : isEncoding(value) ? "ok" : "out of range",
);
/** The options of all readers of files. */
export const FILES = {
  ...FILE_CHOICE,
  includePaths: flag(false),
  concurrency: count({ min: 1 }, undefined),
  onError: oneOf(ON_ERROR, "raise"),
};
const ENCODING_ERRORS = oneOf(["raise", "replace"], "raise");
const CSV = {
  ...FILES,
  header: custom<boolean | readonly string[]>("a boolean or an array of names is needed", true, (value) =>
    typeof value === "boolean" || isNames(value) ? "ok" : "wrong type",
  ),
  delimiter: text(","),
  escape: text(undefined),
  decimalSeparator: oneOf([".", ","], "."),
  columns: NAMES,
  nullValues: texts<undefined>("an array of texts is needed", undefined),
  schema: SCHEMA,
  skipLines: count({ min: 0 }, 0),
  raggedRows: oneOf(["error", "fill", "skip"], "error"),
  encoding: ENCODING,
  encodingErrors: ENCODING_ERRORS,
};
/** Names of the readers' options in pandas and Ray, each with a hint. */
const OTHER_NAMES = {
  sep: "it is delimiter",
  separator: "it is delimiter",
  names: "it is header, which takes a list of names too",
  usecols: "it is columns",
  dtype: 'it is schema: { id: "int64" }',
  na_values: "it is nullValues",
  skiprows: "it is skipLines",
  on_bad_lines: 'it is onError: "skip", or raggedRows: "skip" for another number of fields alone',
  ignore_errors: 'it is onError: "skip" or "null"',
  encoding_errors: 'it is encodingErrors: "replace"',
  parse_dates: 'days and moments of ISO 8601 are found without it; others are texts, for str.replaceRegex and cast("date")',
  thousands: 'such numbers are texts: col("km").str.replace(",", "").cast("float64") makes numbers of them',
  lines: "lines and arrays are told apart without it",
  quotechar: 'fields are quoted by "',
  escapechar: "it is escape",
  decimal: 'it is decimalSeparator: ","',
  compression: "it follows from the extension: .gz, .br or .zst",
};
const JSON_FILES = { ...FILES, columns: NAMES, schema: SCHEMA, encodingErrors: ENCODING_ERRORS };
const TEXT = { ...FILES, dropEmptyLines: flag(true), encoding: ENCODING, encodingErrors: ENCODING_ERRORS };
const NUMPY = {
  ...FILES,
  schema: custom<SchemaOption>('an object is needed, such as { data: "int64 as bigint" }', {}, (value) =>
    !isPlainObject(value)
      ? "wrong type"
      : Object.values(value).every((type) => WIDE_TYPES.includes(type as string))
        ? "ok"
        : "out of range",
  ),
};
const SIZE = custom<readonly [number, number] | undefined>("[height, width] is needed, whole numbers from 1", undefined, (value) =>
  !Array.isArray(value) || value.length !== 2
    ? "wrong type"
    : value.every((one) => Number.isSafeInteger(one) && one >= 1)
      ? "ok"
      : "out of range",
);
const IMAGES = {
  ...FILES,
  size: SIZE,
  mode: custom<ImageMode | undefined>(`one of ${IMAGE_MODES.join(", ")} is needed`, undefined, (value) =>
    IMAGE_MODES.includes(value as ImageMode) ? "ok" : "out of range",
  ),
};
const BY_FFMPEG = { ...FILES, ffmpegPath: text(undefined), damaged: oneOf(["error", "keep"], "error") };
const TIME_MS = number("a number from 0 is needed", undefined, (value) => value >= 0 && value <= Number.MAX_SAFE_INTEGER);
const FPS_MAX = 1000;
const VIDEOS = {
  ...BY_FFMPEG,
  resize: SIZE,
  mode: custom<VideoMode | undefined>(`one of ${VIDEO_MODES.join(", ")} is needed`, undefined, (value) =>
    VIDEO_MODES.includes(value as VideoMode) ? "ok" : "out of range",
  ),
  fps: number(`a number above 0, at most ${FPS_MAX}, is needed`, undefined, (value) => value > 0 && value <= FPS_MAX),
  startMs: TIME_MS,
  endMs: TIME_MS,
  keyFramesOnly: flag(false),
  includeTimestamps: flag(false),
};
const AUDIO = { ...BY_FFMPEG, sampleRate: count({ min: 1 }, undefined), channels: count({ min: 1 }, undefined) };
const WIDE_TYPES = ["int64 as bigint", "uint64 as bigint"];
const PARQUET = {
  ...FILES,
  schema: SCHEMA,
  columns: NAMES,
  decimal: custom<"text" | "number" | undefined>('"text" or "number" is needed', undefined, (value) =>
    value === "text" || value === "number" ? "ok" : "out of range",
  ),
};

/**
 * CSV files, as RFC 4180 describes them. Compressed files (`.gz`, `.br`, `.zst`) are read as they are.
 *
 * @example
 * const rides = data.readCsv<{ city: string; km: number }>("rides/*.csv.gz", { schema: { km: "float64" } });
 */
export function readCsv<R extends AnyRow = AnyRow>(paths: Paths, options: ReadCsvOptions = {}): Dataset<R> {
  const { own, tasks } = splitOptions(options, CSV);
  const { header, delimiter, escape, decimalSeparator, columns, nullValues, schema, skipLines, raggedRows, ...read } = readOptions(own, {
    of: "readCsv",
    otherNames: OTHER_NAMES,
    options: CSV,
  });
  const { encoding, encodingErrors, ...files } = read;
  const { onError } = files;
  const form = { header, delimiter, escape, decimalSeparator, columns, nullValues, schema, skipLines, raggedRows };
  if (new TextEncoder().encode(delimiter).length !== 1)
    throw new RangeError(`Cannot call readCsv: it takes one character as delimiter: received ${JSON.stringify(delimiter)}`);
  if (escape !== undefined && (new TextEncoder().encode(escape).length !== 1 || escape === delimiter))
    throw new RangeError(
      `Cannot call readCsv: it takes one character as escape, another one than the delimiter: received ${JSON.stringify(escape)}`,
    );
  return fileDataset("readCsv", paths, {
    files,
    tasks,
    reader: readCsvFile as Reader,
    options: definedOptions({ ...form, encoding, encodingErrors, onError }),
    look: csvFields,
    failsByRecord: true,
  });
}

/** Checks paths. @throws TypeError unless given a path or a list of paths. An empty list is mostly a mistake; `ignoreMissingPaths` allows it. */
function checkPaths(of: string, paths: unknown, files: FilesOptions): void {
  checkChoice(of, files);
  const { ignoreMissingPaths } = files;
  const isPath = (path: unknown): boolean => typeof path === "string" && path !== "";
  if (isPath(paths) || (Array.isArray(paths) && paths.every(isPath) && (paths.length > 0 || ignoreMissingPaths))) return;
  const wrong: unknown = Array.isArray(paths) && paths.length > 0 ? paths.find((path) => !isPath(path)) : paths;
  const instead = wrong instanceof URL ? "; give the text of a URL: url.href" : "";
  throw new TypeError(`Cannot call ${of}: it takes a path, or a list of one or more: received ${describeValue(wrong)}${instead}`);
}

/** Without the options that are undefined, as readers tell absent ones apart. */
export function definedOptions(options: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

/** JSON files: lines of one object each, or one array of objects, which is found by itself. */
export function readJson<R extends AnyRow = AnyRow>(paths: Paths, options: ReadJsonOptions = {}): Dataset<R> {
  const { own, tasks } = splitOptions(options, JSON_FILES);
  const { columns, schema, encodingErrors, ...files } = readOptions(own, { of: "readJson", otherNames: OTHER_NAMES, options: JSON_FILES });
  return fileDataset("readJson", paths, {
    files,
    tasks,
    reader: readJsonFile as Reader,
    options: definedOptions({ columns, schema, encodingErrors, onError: files.onError }),
    look: jsonFields,
    failsByRecord: true,
  });
}

/** The lines of text files, as the column `text`. */
export function readText(paths: Paths, options: ReadTextOptions = {}): Dataset<{ text: string }> {
  const { own, tasks } = splitOptions(options, TEXT);
  const { dropEmptyLines, encoding, encodingErrors, ...files } = readOptions(own, { of: "readText", options: TEXT });
  return fileDataset("readText", paths, {
    files,
    tasks,
    reader: readTextFile as Reader,
    options: { dropEmptyLines, encoding, encodingErrors } as ReaderOptions,
    failsByRecord: true,
  });
}

/** Whole files, a row each, as the column `bytes`. */
export function readBinaryFiles(paths: Paths, options: ReadFilesOptions = {}): Dataset<{ bytes: Uint8Array }> {
  const { own, tasks } = splitOptions(options, FILES);
  const files = readOptions(own, { of: "readBinaryFiles", options: FILES });
  return fileDataset("readBinaryFiles", paths, { files, tasks, reader: readBinaryFile as Reader, options: {}, columnOfFile: "bytes" });
}

/**
 * NumPy's files: of `.npy` the column `data`, whose rows are the first dimension, numbers or tensors; of `.npz` a column for each array. Half floats become float32, booleans within
 * tensors uint8, complex numbers get one dimension more. Arrays of objects are refused.
 *
 * @example
 * const vectors = data.readNumpy("embeddings/*.npy");
 */
export function readNumpy<R extends AnyRow = { data: any }>(paths: Paths, options: ReadNumpyOptions = {}): Dataset<R> {
  const { own, tasks } = splitOptions(options, NUMPY);
  const { schema, ...files } = readOptions(own, { of: "readNumpy", options: NUMPY });
  return fileDataset("readNumpy", paths, {
    files,
    tasks,
    reader: readNumpyFile as Reader,
    options: { bigintColumns: Object.keys(schema) } as ReaderOptions,
  });
}

/**
 * Images, a row each, as the column `image`: tensors of uint8 with height, width and channels. Without `size` and `mode` they are as in the files, so their shapes may differ.
 * Needs the package `sharp`, which reads JPEG, PNG, WebP, AVIF, TIFF, GIF (the first picture) and SVG.
 *
 * @example
 * const images = data.readImages("photos/", { size: [224, 224], mode: "RGB", includePaths: true });
 */
export function readImages(paths: Paths, options: ReadImagesOptions = {}): Dataset<{ image: NdArray<Uint8Array>; path?: string }> {
  const { own, tasks } = splitOptions(options, IMAGES);
  const { size, mode, ...files } = readOptions(own, { of: "readImages", options: IMAGES });
  const sizes = definedOptions({ size, mode });
  const reader = readImageFile as Reader;
  return fileDataset("readImages", paths, { files, tasks, reader, options: sizes, isManySmall: true, columnOfFile: "image" });
}

/**
 * Parquet files. Row groups are read by tasks of their own; `count()` reads none of them.
 *
 * @example
 * const rides = data.readParquet<{ city: string; km: number }>("rides/", { columns: ["city", "km"] });
 */
export function readParquet<R extends AnyRow = AnyRow, const K extends keyof R & string = keyof R & string>(
  paths: Paths,
  options: ReadParquetOptions<K> = {},
): Dataset<Pick<R, K>> {
  const { own, tasks } = splitOptions(options, PARQUET);
  const { columns, decimal, schema, ...files } = readOptions(own, { of: "readParquet", options: PARQUET });
  checkPaths("readParquet", paths, files);
  const source = parquetSource({ paths, files, columns, decimal, schema, wanted: { columns: undefined, filters: [] } });
  return newDataset({ kind: "read", name: source.name, source, options: tasks, compute: taskLimit(files) });
}

interface ParquetRead {
  readonly paths: Paths;
  readonly files: FilesOptions;
  /** The option of the user. */
  readonly columns: readonly string[] | undefined;
  readonly decimal: "text" | "number" | undefined;
  readonly schema: SchemaOption;
  /** The columns and filters of the steps behind the read. */
  readonly wanted: Wanted;
}

function parquetSource(read: ParquetRead): Source {
  const { paths, files, columns, wanted } = read;
  const only = [
    ...(wanted.columns === undefined ? [] : [`columns: ${wanted.columns.length === 0 ? "none" : wanted.columns.join(", ")}`]),
    ...(wanted.filters.length === 0 ? [] : [`where: ${wanted.filters.map(expressionText).join(", ")}`]),
  ];
  /** Finds the schema of the files that were listed last. */
  let fields: () => Promise<readonly Field[] | undefined> = () => Promise.resolve(undefined);
  return {
    name: `readParquet${only.length === 0 ? "" : `(${only.join("; ")})`}`,
    reader: readWithColumns as Reader,
    parts: async (_cpus, leavesOut) => {
      const found = await parquetParts(read, leavesOut);
      ({ fields } = found);
      return found.parts;
    },
    fields: () => fields(),
    nameOfPart: ([, args]) => shownPath((args as [ParquetPart])[0].path),
    shuffle: files.shuffle,
    files: () => shownFiles("readParquet", paths, files),
    knowsRowCounts: true,
    columns,
    pushDown: (more) => {
      // A column that the option leaves out is missed where it is asked for, as if nothing had been pushed.
      const isKnown = columns === undefined || more.columns === undefined || more.columns.every((column) => columns.includes(column));
      return parquetSource({ ...read, wanted: { ...more, columns: isKnown ? more.columns : undefined } });
    },
  };
}

async function parquetParts(
  { paths, files, columns, decimal, schema, wanted }: ParquetRead,
  leavesOut: (error: unknown) => boolean,
): Promise<{ readonly parts: SourcePart[]; readonly fields: () => Promise<readonly Field[] | undefined> }> {
  const { listed, columnsOfPath } = await filesToRead("readParquet", paths, files);
  await refuseTables(paths, listed);
  // Statistics are of the file's type, in which values may have another order than in the option's.
  const filters = wanted.filters.filter((filter) => !columnsOf(filter).some((column) => Object.hasOwn(schema, column)));
  const asked = filters.flatMap(columnsOf);
  const forgiven = forgivenOf(files);
  /** Files without a footer that can be read. */
  const bad: string[] = [];
  const readable = await inParallel(listed, ({ path }) =>
    readParquetFooter(path, asked).catch((error: unknown) => {
      if (forgiven === undefined && !leavesOut(error)) throw error;
      bad.push(path);
      return undefined;
    }),
  );
  const footers = readable.filter((footer) => footer !== undefined);
  const wide = [...new Set(footers.flatMap((footer) => footer.wideColumns))];
  const known = new Set(footers.flatMap((footer) => [...footer.columns, ...columnsOfPath(footer.path).map(([name]) => name)]));
  const [first] = footers;
  if (first !== undefined) refuseMissing([...(columns ?? []), ...Object.keys(schema)], first, known);
  // A column that no file has is not left out: the step that asks for it says what is wrong, and which columns there are.
  const read = wanted.columns?.every((column) => known.has(column)) === true ? wanted.columns : columns;
  const argsOf = (footer: ParquetFooter, part: ParquetPart) => {
    const present = read === undefined ? undefined : columnsInFile(read, footer);
    return [readParquetPart, [part, present, wide, decimal, schema], columnsOfPath(footer.path)] as const;
  };
  const fieldsOf = async (footer: ParquetFooter): Promise<readonly Field[]> => {
    const [reader, args, added] = argsOf(footer, withoutRows(footer));
    for await (const block of readWithColumns(reader as Reader, args, added))
      return schemaOf(block).filter(({ name }) => read?.includes(name) !== false);
    return [];
  };
  const fields = await commonFields(
    footers.map((footer) => ({
      kind: JSON.stringify([footer.kind, columnsOfPath(footer.path).map(([name, value]) => [name, value === null || typeof value])]),
      file: shownPath(footer.path),
      fields: () => fieldsOf(footer),
    })),
  );
  const inOrder = async (): Promise<readonly Field[] | undefined> => {
    const found = fields ?? (first && (await fieldsOf(first)));
    return read === undefined ? found : found?.toSorted((a, b) => read.indexOf(a.name) - read.indexOf(b.name));
  };
  const partsOf = (footer: ParquetFooter, parts: readonly ParquetPart[]): SourcePart[] =>
    parts.map((part) => ({ args: [...argsOf(footer, part), read, fields, forgiven], rowCount: part.rowCount }));
  const all = footers.flatMap((footer) => {
    const excluded = excludedGroups(footer, columnsOfPath(footer.path), filters);
    return partsOf(footer, partsOfFooter(footer, excluded));
  });
  if (forgiven !== undefined) all.push(...bad.map((path) => badPart(path, forgiven)));
  if (all.length > 0 || first === undefined) return { parts: all, fields: inOrder };
  // A dataset of Spark without rows leaves no part with rows: one without rows still says which columns there are.
  return { parts: partsOf(first, [withoutRows(first)]), fields: inOrder };
}

/** The part of a file without a footer: its task meets the error again, and counts it. */
function badPart(path: string, forgiven: Forgiven): SourcePart {
  const part: ParquetPart = { path, rowGroups: [], firstRows: [], rowCount: 0 };
  return { args: [readParquetPart, [part, undefined, []], [], undefined, undefined, forgiven], rowCount: 0 };
}

/** The part of a file that has its columns alone. */
function withoutRows({ path, sparkTimes, encryptedColumns }: ParquetFooter): ParquetPart {
  return { path, rowGroups: [], firstRows: [], rowCount: 0, sparkTimes, encryptedColumns };
}

/** Folders that mark a table whose log decides which files belong to it: a plain read would include removed and older rows. */
const TABLE_LOGS: Readonly<Record<string, string>> = { _delta_log: "Delta Lake", ".hoodie": "Hudi" };

async function refuseTables(paths: Paths, listed: readonly ListedFile[]): Promise<void> {
  const folders = foldersOf(listed);
  await inParallel(typeof paths === "string" ? [paths] : paths, async (path) => {
    if (schemeOf(path) === "http") return;
    const folder = await resolveFolder(path);
    // Files and globs are meant as they are named, and cost no request.
    if (!folders.has(folder)) return;
    const logs = Object.keys(TABLE_LOGS);
    const found = await Promise.all(logs.map((log) => folderExists(joinPath(folder, log))));
    const log = logs.find((_, i) => found[i]);
    if (log !== undefined)
      throw new DataError(
        `Cannot call readParquet: ${shownPath(folder)} is a table of ${TABLE_LOGS[log]}, whose log ${log} tells which of its files have its rows`,
        {
          hint: "give the paths of these files, as the table's own library lists them, or write the rows to a folder of Parquet by Spark",
        },
      );
  });
}

/** All folders that the files lie in, near and far. */
function foldersOf(files: readonly ListedFile[]): ReadonlySet<string> {
  const folders = new Set<string>();
  for (const { path } of files)
    for (let at = path.lastIndexOf("/"); at > 0 && !folders.has(path.slice(0, at)); at = path.lastIndexOf("/", at - 1))
      folders.add(path.slice(0, at));
  return folders;
}

/** Returns the row groups without a row that the filters keep, by statistics and by the path's columns. */
function excludedGroups(
  { columns, rowGroups }: ParquetFooter,
  added: PathColumns,
  filters: readonly ExpressionNode[],
): ReadonlySet<number> {
  const excluded = new Set<number>();
  rowGroups.forEach(({ rowCount, facts }, index) => {
    const factsOf = (column: string): ColumnFacts | undefined => {
      // A column of the file goes before one of its path.
      const constant = columns.includes(column) ? undefined : added.find(([name]) => name === column);
      return constant === undefined ? facts.get(column) : factsOfConstant(constant[1], rowCount);
    };
    if (!filters.every((filter) => mayMatch(filter, factsOf))) excluded.add(index);
  });
  return excluded;
}

function factsOfConstant(value: string | number | null, rowCount: number): ColumnFacts {
  if (value === null) return { rowCount, nullCount: rowCount, mayBeNaN: false };
  return { rowCount, nullCount: 0, least: value, most: value, mayBeNaN: false };
}

/** @throws DataError for a column that the user asks for and no file has */
function refuseMissing(columns: readonly string[] = [], { path, columns: own }: ParquetFooter, known: ReadonlySet<string>): void {
  const missing = columns.find((column) => !known.has(column));
  if (missing === undefined) return;
  throw new DataError(`Cannot read ${shownPath(path)}: it has no column ${JSON.stringify(missing)}`, { hint: `it has ${own.join(", ")}` });
}

/** Those of the columns that the file itself has; at least one, as the rows have to be counted. */
function columnsInFile(columns: readonly string[], footer: ParquetFooter): readonly string[] {
  const own = columns.filter((column) => footer.columns.includes(column));
  if (own.length > 0) return own;
  const anyColumn = footer.columns.find((column) => !footer.encryptedColumns.includes(column)) ?? footer.columns[0];
  return anyColumn === undefined ? [] : [anyColumn];
}

/** Footers that are read at a time. */
const FOOTERS_AT_A_TIME = 16;

async function inParallel<T, U>(items: readonly T[], run: (item: T) => Promise<U>): Promise<U[]> {
  const results: U[] = [];
  for (let i = 0; i < items.length; i += FOOTERS_AT_A_TIME)
    results.push(...(await Promise.all(items.slice(i, i + FOOTERS_AT_A_TIME).map(run))));
  return results;
}

/** Row groups that follow each other and are not excluded, as long as they are no more than a block. */
function partsOfFooter({ path, rowGroups, sparkTimes, encryptedColumns }: ParquetFooter, excluded: ReadonlySet<number>): ParquetPart[] {
  const parts: (ParquetPart & { rowGroups: number[]; firstRows: number[]; rowCount: number })[] = [];
  let bytes = Number.POSITIVE_INFINITY;
  let nextRow = 0;
  rowGroups.forEach((group, index) => {
    const firstRow = nextRow;
    nextRow += group.rowCount;
    if (excluded.has(index)) return;
    if (bytes + group.sizeBytes > BLOCK_BYTES_MAX) {
      parts.push({ path, rowGroups: [], firstRows: [], rowCount: 0, sparkTimes, encryptedColumns });
      bytes = 0;
    }
    const part = parts.at(-1) as (typeof parts)[number];
    part.rowGroups.push(index);
    part.firstRows.push(firstRow);
    part.rowCount += group.rowCount;
    bytes += group.sizeBytes;
  });
  return parts;
}

// ---------------------------------------------------------------------------------------------------------------------
// All readers of files

interface FilesOptions extends FileChoice {
  readonly onError: OnError;
  readonly includePaths: boolean;
  readonly concurrency: number | undefined;
}

/** The files to read, and the columns that the path of each gives. */
async function filesToRead(of: string, paths: Paths, files: FilesOptions) {
  const { listed, partitionOf } = await chosenFiles(of, paths, files);
  const columnsOfPath = (path: string): PathColumns =>
    files.includePaths ? [...partitionOf(path), ["path", shownPath(path)]] : partitionOf(path);
  return { listed, columnsOfPath };
}

function taskLimit({ concurrency }: FilesOptions): TaskLimit | undefined {
  return concurrency === undefined ? undefined : { kind: "tasks", concurrency };
}

/** Splits options into the reader's and its tasks'. An unknown name goes to the reader, whose error lists the known ones. */
export function splitOptions(options: ReadFilesOptions, known: object): { own: object; tasks: TaskOptions<1> } {
  const entries = Object.entries(options);
  const isOfTasks = (name: string): boolean => !Object.hasOwn(known, name) && isTaskOption(name);
  return {
    own: Object.fromEntries(entries.filter(([name]) => !isOfTasks(name))),
    tasks: checkedTaskOptions(Object.fromEntries(entries.filter(([name]) => isOfTasks(name)))),
  };
}

/** Options of tasks, checked where the user wrote them and not when the dataset is consumed. */
function checkedTaskOptions(options: TaskOptions<1>): TaskOptions<1> {
  remote(() => {}, options);
  return options;
}

/**
 * Films, a row a frame: the column `frame`, uint8 with height, width and channels, and `frameIndex`, which counts the frames of a file that are read. Frames are decoded as they are used. The
 * program `ffmpeg` is needed, of 5.1 or newer, on each node that reads.
 *
 * @throws TypeError, RangeError for wrong options; when it runs, DataError with the file that is no film, damaged or cut off, and where ffmpeg is missing
 * @example
 * const frames = data.readVideos("films/*.mp4", { fps: 1, resize: [224, 224], includeTimestamps: true });
 */
export function readVideos(
  paths: Paths,
  options: ReadVideosOptions = {},
): Dataset<{ frame: NdArray<Uint8Array>; frameIndex: number; timestampMs?: number; path?: string }> {
  const { own, tasks } = splitOptions(options, VIDEOS);
  const { resize, mode, fps, startMs, endMs, keyFramesOnly, includeTimestamps, ffmpegPath, damaged, ...files } = readOptions(own, {
    of: "readVideos",
    otherNames: { size: "it is resize", include_timestamps: "it is includeTimestamps" },
    options: VIDEOS,
  });
  if (endMs !== undefined && endMs <= (startMs ?? 0))
    throw new RangeError(`Cannot call readVideos: it takes an endMs behind startMs (${startMs ?? 0}): received ${endMs}`);
  const decoder = ffmpegOptions({ ffmpegPath, damaged }, tasks);
  const frames = definedOptions({ resize, mode, fps, startMs, endMs, keyFramesOnly, includeTimestamps, ...decoder });
  return fileDataset("readVideos", paths, { files, tasks, reader: readVideoFile as Reader, options: frames });
}

/**
 * Sound, a row a file: the column `amplitude`, float32 from -1 to 1 by channel and sample, and `sampleRate`. The first sound of a film is read, too. The program `ffmpeg` is needed, as for
 * {@link readVideos}.
 *
 * @throws TypeError, RangeError for wrong options; when it runs, DataError with the file that is no sound, damaged or cut off, and where ffmpeg is missing
 * @example
 * const speech = data.readAudio("calls/*.mp3", { sampleRate: 16_000, channels: 1 });
 */
export function readAudio(
  paths: Paths,
  options: ReadAudioOptions = {},
): Dataset<{ amplitude: NdArray<Float32Array>; sampleRate: number; path?: string }> {
  const { own, tasks } = splitOptions(options, AUDIO);
  const { sampleRate, channels, ffmpegPath, damaged, ...files } = readOptions(own, { of: "readAudio", options: AUDIO });
  const sound = definedOptions({ sampleRate, channels, ...ffmpegOptions({ ffmpegPath, damaged }, tasks) });
  return fileDataset("readAudio", paths, { files, tasks, reader: readAudioFile as Reader, options: sound, columnOfFile: "amplitude" });
}

function ffmpegOptions(
  { ffmpegPath, damaged }: { ffmpegPath: string | undefined; damaged: "error" | "keep" },
  { numCpus = 1 }: TaskOptions<1>,
): Record<string, unknown> {
  return { ffmpegPath, keepsDamaged: damaged === "keep", threads: Math.max(1, Math.floor(numCpus)) };
}

interface FileRead {
  readonly files: FilesOptions;
  readonly tasks: TaskOptions<1>;
  readonly reader: Reader;
  /** The options that the reader is called with after the path. */
  readonly options: ReaderOptions;
  /** Looks at the columns of a file. Default: all files have the same, but for those of their paths. */
  readonly look?: Look | undefined;
  /** Brings the columns of several files into one form, before types have to meet. Default: as they are. */
  readonly settle?: ((files: readonly (readonly Field[] | undefined)[]) => readonly (readonly Field[] | undefined)[]) | undefined;
  /** Whether a task reads several files that follow each other, however many bytes they have. Default: those of few bytes. */
  readonly isManySmall?: boolean;
  /** Whether the reader itself heeds `onError`, record by record. Default: what cannot be read costs the rest of the file. */
  readonly failsByRecord?: boolean;
  /** The column of which each file is one value, which is null for a file that cannot be read. */
  readonly columnOfFile?: string;
}

interface ReaderOptions {
  readonly columns?: readonly string[] | undefined;
  readonly schema?: SchemaOption | undefined;
}

/** A file to read. */
interface FileToRead extends ListedFile {
  readonly columns: PathColumns;
  /** The columns in the file, where it was looked at. */
  readonly fields?: readonly Field[] | undefined;
}

/** The dataset of a reader of files. */
export function fileDataset<R extends AnyRow>(name: string, paths: Paths, read: FileRead): Dataset<R> {
  const { files, tasks, reader, options, look, settle = (found) => found, isManySmall = false } = read;
  const forgiven = forgivenOf(files, read);
  checkPaths(name, paths, files);
  /** Finds the schema of the files that were listed last. */
  let common: () => Promise<readonly Field[] | undefined> = () => Promise.resolve(undefined);
  const parts = async (cpus: number, _: unknown, isFileAPart: boolean): Promise<SourcePart[]> => {
    const { listed, columnsOfPath } = await filesToRead(name, paths, files);
    const plain = listed.map((file): FileToRead => ({ ...file, columns: columnsOfPath(file.path) }));
    const looked = async (): Promise<FileToRead[]> => {
      const all = listed.map(({ path }) => path);
      const found = settle(await fieldsOfFiles(look as Look, all, { name, options, tasks, cpus }));
      return plain.map((file, i) => ({ ...file, fields: found[i] }));
    };
    const withFields = look === undefined || plain.length < 2 ? undefined : await looked();
    const fields = withFields && (await commonOf(withFields, options));
    common = async () => fields ?? (look && plain.length > 0 ? commonOf(await looked(), options) : undefined);
    // JSON may have further columns behind the beginning that was looked at.
    const wanted = options.columns && fields?.map((field) => field.name);
    const known = new Set(withFields?.flatMap((file) => file.fields?.map((field) => field.name) ?? []));
    const argsOf = (file: FileToRead) =>
      [reader, [file.path, optionsFor(file, options, known)], file.columns, wanted, fields, forgiven] as const;
    // Tasks read neighbours, so the files are mixed before they are neighbours.
    const ordered = shuffled(withFields ?? plain, files.shuffle);
    const bytes = isManySmall ? undefined : { of: ({ sizeBytes }: FileToRead) => sizeBytes, max: READ_BLOCK_BYTES };
    if (isFileAPart) return ordered.map((file) => ({ args: [[argsOf(file)]] }));
    return inGroups(ordered, cpus * SMALL_FILE_TASKS_PER_CPU, bytes).map((group) => ({ args: [group.map(argsOf)] }));
  };
  const source: Source = {
    name,
    reader: readSeveral as Reader,
    parts,
    fields: () => common(),
    shuffle: files.shuffle,
    files: () => shownFiles(name, paths, files),
    partsOfPart: ([group]) => ((group as FileArgs[]).length < 2 ? undefined : (group as FileArgs[]).map((file) => [[file]])),
    nameOfPart: ([group]) => namedFiles((group as FileArgs[]).map(([, [path]]) => path as string)),
  };
  return newDataset({ kind: "read", name, source, options: tasks, compute: taskLimit(files) });
}

type FileArgs = Parameters<typeof readWithColumns>;

function namedFiles(paths: readonly string[]): string | undefined {
  const [first] = paths;
  if (first === undefined || paths.length === 1) return first && shownPath(first);
  return `${shownPath(first)} and ${paths.length - 1} other files`;
}

/** The errors of a file that are forgiven. */
interface Forgiven {
  /** A file whose reader heeds `onError` itself fails as a whole only where its bytes cannot be read. */
  readonly errors: "of storage" | "all";
  /** Gives a row with null in this column in place of the file. */
  readonly nullColumn?: string | undefined;
}

function forgivenOf({ onError }: FilesOptions, { failsByRecord = false, columnOfFile }: Partial<FileRead> = {}): Forgiven | undefined {
  if (onError === "raise") return undefined;
  return { errors: failsByRecord ? "of storage" : "all", nullColumn: onError === "null" ? columnOfFile : undefined };
}

/** The columns of all files that could be looked at, of which those are left that are asked for, and behind them those of the paths. */
async function commonOf(files: readonly FileToRead[], { columns }: ReaderOptions): Promise<readonly Field[]> {
  const places = new Map(columns?.map((column, place) => [column, place]));
  const known = files.filter(({ fields }) => fields !== undefined);
  const all = known.map(({ path, fields = [], columns: ofPath }) => {
    const own = new Set(fields.map((field) => field.name));
    const added = ofPath.filter(([column]) => !own.has(column)).map(([column, value]) => ({ name: column, type: typeOfConstant(value) }));
    return { path, fields: [...fields.filter((field) => places.has(field.name) || columns === undefined), ...added] };
  });
  const placeOf = ({ name }: Field): number => places.get(name) ?? places.size;
  return (await fieldsTogether(all)).toSorted((a, b) => placeOf(a) - placeOf(b));
}

/** The options of a reader for one of several files: a column that another file has is no mistake. */
function optionsFor({ fields }: FileToRead, options: ReaderOptions, known: ReadonlySet<string>): ReaderOptions {
  if (fields === undefined) return options;
  const own = new Set(fields.map(({ name }) => name));
  // A name that no file has is left to the reader, which says that there is none.
  const isFor = (name: string): boolean => own.has(name) || !known.has(name);
  const { columns, schema = {} } = options;
  const present = columns?.filter(isFor);
  return {
    ...options,
    inferred: fields,
    schema: Object.fromEntries(Object.entries(schema).filter(([name]) => isFor(name))),
    // The rows have to be counted, so one column is read at least.
    ...(present && { columns: present.length > 0 ? present : fields.slice(0, 1).map(({ name }) => name) }),
  } as ReaderOptions;
}

/** The paths of files as they may be shown: what of a URL may be secret is in requests alone. */
async function shownFiles(of: string, paths: Paths, files: FilesOptions): Promise<readonly string[]> {
  return (await chosenFiles(of, paths, files)).listed.map(({ path }) => shownPath(path));
}

/** The rows of several files, each by the arguments of {@link readWithColumns}. The next file is opened while the rows of one go on. Runs in workers. */
export async function* readSeveral(files: readonly Parameters<typeof readWithColumns>[]): AsyncGenerator<Block, void, undefined> {
  const begin = (index: number) => {
    const args = files[index];
    if (args === undefined) return undefined;
    const blocks = readWithColumns(...args);
    const first = blocks.next();
    // A failure is thrown in the block's turn.
    first.catch(() => {});
    return { blocks, first };
  };
  let [file, next] = [begin(0), begin(1)];
  try {
    for (let index = 2; file !== undefined; index += 1) {
      for (let block = await file.first; block.done !== true; block = await file.blocks.next()) yield block.value;
      [file, next] = [next, begin(index)];
    }
  } finally {
    await Promise.all([file?.blocks.return(), next?.blocks.return()]);
  }
}

/**
 * The reader's blocks with the columns of the path. Runs in workers.
 *
 * @param wanted - these columns alone, in this order
 * @param fields - the schema of the dataset, where its files have different ones
 * @param forgiven - default: an error ends the read
 */
export async function* readWithColumns(
  reader: Reader,
  args: readonly unknown[],
  columns: PathColumns,
  wanted?: readonly string[],
  fields?: readonly Field[],
  forgiven?: Forgiven,
): AsyncGenerator<Block, void, undefined> {
  const read = reader as (...args: unknown[]) => AsyncIterable<Block>;
  let firstRow = 0;
  const losses = new LossSum();
  for await (const block of forgiven === undefined ? read(...args) : untilFailure(read(...args), forgiven, losses)) {
    losses.takeFrom(block);
    if (block.names.length === 0 && block.rowCount === 0) {
      yield losses.beside(block);
      continue;
    }
    // A reader of a file's parts has noted the row numbers itself.
    if (typeof args[0] === "string") noteFile(block, shownPath(args[0]), firstRow);
    firstRow += block.rowCount;
    // A column of the file goes before one of its path.
    const added = columns.filter(([name]) => vectorOf(block, name) === undefined);
    const vectors = added.map(([, value]) => buildVector(new Array(block.rowCount).fill(value), typeOfConstant(value)));
    const { rowCount } = block;
    const own: Block = { rowCount, names: [...block.names, ...added.map(([name]) => name)], vectors: [...block.vectors, ...vectors] };
    const all = fields === undefined ? own : conformBlock(own, fields, typeof args[0] === "string" ? shownPath(args[0]) : undefined);
    const asked = wanted === undefined ? all : { rowCount, names: wanted, vectors: wanted.map((name) => vectorOf(all, name) as Vector) };
    yield losses.beside(keepOrigin(asked, block));
  }
  yield* losses.rest();
}

/** The blocks before an error that is forgiven, and behind it the row in place of the file. */
async function* untilFailure(
  blocks: AsyncIterable<Block>,
  { errors, nullColumn }: Forgiven,
  losses: LossSum,
): AsyncGenerator<Block, void, undefined> {
  try {
    yield* blocks;
  } catch (error) {
    if (isOfSetup(error) || !(error instanceof StorageError || (errors === "all" && error instanceof DataError))) throw error;
    losses.addError(error);
    if (nullColumn !== undefined) yield { rowCount: 1, names: [nullColumn], vectors: [nullVector(NULL, 1)] };
  }
}

function typeOfConstant(value: string | number | null): DataType {
  return value === null ? NULL : typeof value === "number" ? INT64 : STRING;
}
