/**
 * Chooses the files to read among those that paths name, by their extensions and their partitions.
 *
 * Derives columns from the folders of a path: `year=2026/month=1/` gives the columns `year` and `month` (Hive's partitioning), unless `partitioning` is `"none"`.
 *
 * Called by the readers of `read.ts`, in the process of the user.
 */
import { custom, describeValue, flag, ignoreRejection, isPlainObject, oneOf } from "../../core/internal.ts";
import type { ListedFile } from "../../storage/file-system.ts";
import { listFiles } from "../../storage/listing/list-files.ts";
import { shownPath } from "../../storage/paths.ts";
import { HIVE_NULL } from "../engine/writes/write-transform.ts";
import { DataError } from "../errors.ts";
import type { Shuffle } from "../plan/logical-plan.ts";

/** A path, or a list of paths. */
export type Paths = string | readonly string[];

/** Values of the folders in a path: `{ year: 2026 }` of `year=2026/`. */
export type Partition = Readonly<Record<string, string | number | null>>;

/** The files to read, and their order. */
export interface FileChoiceOptions {
  /** Whether `name=value` in paths gives columns. Default: `"hive"`. */
  partitioning?: "hive" | "none" | undefined;
  /**
   * The files are read whose partition this is true of; the others are not opened. Called in this process, once a file.
   *
   * @example
   * data.readCsv("rides/", { partitionFilter: ({ year }) => year === 2026 });
   */
  partitionFilter?: ((partition: Partition) => boolean) | undefined;
  /** Only files whose names end so, such as `["csv", "csv.gz"]`, whatever their case. Default: all. */
  fileExtensions?: readonly string[] | undefined;
  /** Whether paths that do not exist are left out instead of an error. Default: false. */
  ignoreMissingPaths?: boolean | undefined;
  /**
   * `"files"`: the files are read in a random order, another one in each run, and row groups of Parquet that are read apart are mixed, too. With a seed in the same order each time. The rows of
   * a file stay together: `randomShuffle` mixes rows. Default: in the order of their paths.
   */
  shuffle?: "files" | { readonly seed: number } | undefined;
}

/** The options with their defaults. */
export interface FileChoice {
  readonly partitioning: "hive" | "none";
  readonly partitionFilter: FileChoiceOptions["partitionFilter"];
  readonly fileExtensions: readonly string[] | undefined;
  readonly ignoreMissingPaths: boolean;
  readonly shuffle: Shuffle | undefined;
}

export const FILE_CHOICE = {
  partitioning: oneOf(["hive", "none"], "hive"),
  partitionFilter: custom<FileChoiceOptions["partitionFilter"]>("a function is needed", undefined, (value) =>
    typeof value === "function" ? "ok" : "wrong type",
  ),
  fileExtensions: custom<readonly string[] | undefined>(
    'an array of extensions is needed, such as ["csv", "csv.gz"]',
    undefined,
    (value) =>
      Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === "string" && one !== "" && one !== ".")
        ? "ok"
        : "wrong type",
  ),
  ignoreMissingPaths: flag(false),
  shuffle: custom<Shuffle | undefined>('"files" or { seed } is needed, of a whole number', undefined, (value) =>
    value === "files" || (isPlainObject(value) && Object.keys(value).length === 1 && Number.isSafeInteger(value["seed"]))
      ? "ok"
      : "wrong type",
  ),
};

/** @throws TypeError for options that do not go together */
export function checkChoice(of: string, { partitioning, partitionFilter }: FileChoice): void {
  if (partitionFilter !== undefined && partitioning === "none")
    throw new TypeError(`Cannot call ${of}: it takes no partitionFilter with partitioning: "none", where paths say nothing of their rows`);
}

/** Columns whose values are the same for all rows of a file. */
export type PathColumns = readonly (readonly [name: string, value: string | number | null])[];

/**
 * The files, in the order of their paths, and what the folders of each path say.
 *
 * @param of - the reader, for messages
 * @throws StorageError where a path names no file; DataError where no file has one of the extensions, and for a filter that does not answer
 */
export async function chosenFiles(
  of: string,
  paths: Paths,
  { partitioning, partitionFilter, fileExtensions, ignoreMissingPaths }: FileChoice,
): Promise<{ readonly listed: readonly ListedFile[]; readonly partitionOf: (path: string) => PathColumns }> {
  const named = await listFiles(paths, { ignoreMissingPaths });
  const listed = ofExtensions(of, named, fileExtensions);
  const partitionOf = partitionsOf(listed, partitioning);
  if (partitionFilter === undefined) return { listed, partitionOf };
  const isKept = ({ path }: ListedFile): boolean => {
    const answer: unknown = partitionFilter(Object.fromEntries(partitionOf(path)));
    if (typeof answer === "boolean") return answer;
    ignoreRejection(answer);
    throw new DataError(`Cannot call ${of}: partitionFilter gave ${describeValue(answer)} for ${shownPath(path)}`, {
      hint: "it gives true or false",
    });
  };
  return { listed: listed.filter(isKept), partitionOf };
}

function ofExtensions(of: string, named: readonly ListedFile[], extensions: readonly string[] | undefined): readonly ListedFile[] {
  if (extensions === undefined) return named;
  const ends = extensions.map((extension) => `.${extension.replace(/^\./, "").toLowerCase()}`);
  const listed = named.filter(({ path }) => ends.some((end) => shownPath(path).toLowerCase().endsWith(end)));
  if (listed.length === 0 && named.length > 0)
    throw new DataError(`Cannot call ${of}: none of ${named.length} files ends in ${ends.join(" or ")}`, {
      hint: `one of them is ${shownPath((named[0] as ListedFile).path)}`,
    });
  return listed;
}

/** A column of `name=value` folders is of numbers where all its values are. */
function partitionsOf(named: readonly ListedFile[], partitioning: "hive" | "none"): (path: string) => PathColumns {
  const partsOf = (path: string): [string, string | null][] =>
    partitioning === "hive" ? shownPath(path).split("/").slice(0, -1).flatMap(hiveColumn) : [];
  const texts = new Set<string>();
  for (const { path } of named) for (const [name, value] of partsOf(path)) if (value !== null && !WHOLE_NUMBER.test(value)) texts.add(name);
  return (path) => partsOf(path).map(([name, value]) => [name, value === null || texts.has(name) ? value : Number(value)] as const);
}

const HIVE = /^([^=]+)=(.*)$/s;
const WHOLE_NUMBER = /^-?(0|[1-9][0-9]{0,14})$/;

function hiveColumn(folder: string): [string, string | null][] {
  const match = HIVE.exec(folder);
  if (match === null) return [];
  const value = decoded(match[2] as string);
  return [[decoded(match[1] as string), value === HIVE_NULL ? null : value]];
}

function decoded(escaped: string): string {
  try {
    return decodeURIComponent(escaped);
  } catch {
    return escaped;
  }
}
