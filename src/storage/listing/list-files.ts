/**
 * Files that a user's paths name: files, folders with all that is in them, and globs.
 *
 * Names that begin with `.` or `_` are skipped in folders and for wildcards: they are markers and unfinished files (`_SUCCESS`,
 * `.part.tmp`). A name such as `_year=2026` is a partition and is not skipped. A path that names a hidden file itself is taken.
 */
import { StorageError } from "../errors.ts";
import type { FileSystem, ListedFile } from "../file-system.ts";
import { fileSystemOf } from "../file-systems.ts";
import { REMOTE_REQUESTS_AT_A_TIME } from "../limits.ts";
import { schemeOf, shownPath } from "../paths.ts";

interface ListFilesOptions {
  /** A path that names no file is left out, not an error. */
  readonly ignoreMissingPaths?: boolean;
}

/**
 * Returns the files of the paths, sorted by path; a file of two paths appears twice.
 *
 * @throws StorageError where a path names no file, or a folder may not be read
 */
export async function listFiles(
  paths: string | readonly string[],
  { ignoreMissingPaths = false }: ListFilesOptions = {},
): Promise<ListedFile[]> {
  const files: ListedFile[] = [];
  const all = typeof paths === "string" ? [paths] : paths;
  for (let i = 0; i < all.length; i += REMOTE_REQUESTS_AT_A_TIME) {
    const some = all.slice(i, i + REMOTE_REQUESTS_AT_A_TIME);
    const found = await Promise.all(some.map(async (path) => filesOf(path, await fileSystemOf(path), ignoreMissingPaths)));
    for (const listed of found) files.push(...listed);
  }
  const byPath = files.some(({ path }) => SURROGATE.test(path)) ? byBytes : byUnits;
  return files.sort((a, b) => byPath(a.path, b.path));
}

async function filesOf(path: string, files: FileSystem, ignoreMissingPaths: boolean): Promise<ListedFile[]> {
  const found = await files.list(path);
  if (found.length === 0 && !ignoreMissingPaths) throw nothingAt(path, files);
  return found;
}

function nothingAt(path: string, files: FileSystem): StorageError {
  const hidden =
    schemeOf(path) === "http"
      ? "the server answered that there is no such file"
      : `looked at ${shownPath(files.fullPath(path))}; names in folders that begin with "." or "_" are skipped`;
  return new StorageError(`No file matches ${shownPath(path)}`, {
    hint: `${hidden}; ignoreMissingPaths: true leaves such paths out`,
  });
}

/** UTF-16 puts characters beyond U+FFFF, which are pairs of these, before some that are smaller; UTF-8 does not. */
const SURROGATE = /[\ud800-\udfff]/;

function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** The same order for texts without surrogates, a tenth of the cost. */
function byUnits(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
