/**
 * Which files a user's paths name: files, folders with all that is in them, and globs.
 *
 * In folders, and where a wildcard stands, names that begin with `.` or `_` are skipped: they are markers and unfinished files (`_SUCCESS`, `.part.tmp`). A name such as
 * `_year=2026` is a partition and is not skipped. A path that names a hidden file itself is taken. Links are followed.
 */
import type { Dirent } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join, parse, sep } from "node:path";
import { storageError, StorageError } from "./errors.ts";
import { localPath } from "./local-path.ts";

export interface ListedFile {
  /** Absolute. */
  readonly path: string;
  /** As it lies on the disk, that is compressed where it is so. */
  readonly sizeBytes: number;
}

interface ListFilesOptions {
  /** A path that names no file is left out, not an error. */
  readonly ignoreMissingPaths?: boolean;
}

/**
 * The files that the paths name, sorted by path; one that two of the paths name comes twice.
 *
 * @throws StorageError where a path names no file, or a folder may not be read
 */
export async function listFiles(
  paths: string | readonly string[],
  { ignoreMissingPaths = false }: ListFilesOptions = {},
): Promise<ListedFile[]> {
  const files: ListedFile[] = [];
  for (const path of typeof paths === "string" ? [paths] : paths) {
    const found = await filesOf(localPath(path));
    if (found.length === 0 && !ignoreMissingPaths) throw nothingAt(path);
    files.push(...found);
  }
  return files.sort((a, b) => byCodePoint(a.path, b.path));
}

function nothingAt(path: string): StorageError {
  const found = localPath(path);
  return new StorageError(`No file matches ${path}`, {
    hint: `looked at ${found}; names in folders that begin with "." or "_" are skipped; ignoreMissingPaths: true leaves such paths out`,
  });
}

/** UTF-16 puts characters beyond U+FFFF before some that are smaller; UTF-8 does not. */
function byCodePoint(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

async function filesOf(path: string): Promise<ListedFile[]> {
  // What is there under this very name is meant, whatever characters it has.
  const literal = await sizeOrFolder(path);
  if (literal === "folder") return filesIn(path, new Set());
  if (literal !== undefined) return [{ path, sizeBytes: literal }];
  if (!hasWildcard(path)) return [];
  const files = new Map<string, ListedFile>();
  for (const pattern of expandBraces(path)) {
    const { root } = parse(pattern);
    for (const file of await matching(root, pattern.slice(root.length).split(sep), new Set())) files.set(file.path, file);
  }
  return [...files.values()];
}

/** The size of a file, or that it is a folder; undefined where nothing is there. */
async function sizeOrFolder(path: string): Promise<number | "folder" | undefined> {
  try {
    const found = await stat(path);
    return found.isDirectory() ? "folder" : found.size;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR" || code === "ENAMETOOLONG") return undefined;
    throw storageError(`Cannot read ${path}`, error);
  }
}

/** All files below a folder. `above` are the folders that led here, so that a link to one of them does not lead round forever. */
async function filesIn(folder: string, above: ReadonlySet<string>): Promise<ListedFile[]> {
  const files: ListedFile[] = [];
  const inside = await enter(folder, above);
  if (inside === undefined) return files;
  for (const { name } of await entriesOf(folder)) if (!isHidden(name)) files.push(...(await filesAt(join(folder, name), inside)));
  return files;
}

async function filesAt(path: string, above: ReadonlySet<string>): Promise<ListedFile[]> {
  const found = await sizeOrFolder(path);
  if (found === "folder") return filesIn(path, above);
  return found === undefined ? [] : [{ path, sizeBytes: found }];
}

/** The folders that led into this one, with itself; undefined where it is among them already. */
async function enter(folder: string, above: ReadonlySet<string>): Promise<ReadonlySet<string> | undefined> {
  const { dev, ino } = await stat(folder).catch((error: unknown) => {
    throw storageError(`Cannot read ${folder}`, error);
  });
  const identity = `${dev}:${ino}`;
  return above.has(identity) ? undefined : new Set([...above, identity]);
}

async function entriesOf(folder: string): Promise<Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    throw storageError(`Cannot list the folder ${folder}`, error);
  }
}

function isHidden(name: string): boolean {
  return name.startsWith(".") || (name.startsWith("_") && !name.includes("="));
}

// ---------------------------------------------------------------------------------------------------------------------
// Globs: `*`, `?`, `[a-z]`, `{a,b}`, and `**` for any number of folders.

function hasWildcard(text: string): boolean {
  return /[*?[{]/.test(text);
}

/** The files below `folder` whose path matches the parts of a pattern. A folder that the last part matches stands for all that is in it. */
async function matching(folder: string, parts: readonly string[], above: ReadonlySet<string>): Promise<ListedFile[]> {
  const [part, ...rest] = parts;
  if (part === undefined || part === "") return part === undefined ? filesAt(folder, above) : matching(folder, rest, above);
  if (!hasWildcard(part)) return matching(join(folder, part), rest, above);
  if ((await sizeOrFolder(folder)) !== "folder") return [];
  const inside = await enter(folder, above);
  if (inside === undefined) return [];
  const files = part === "**" ? await matching(folder, rest.length === 0 ? ["*"] : rest, above) : [];
  const matches = part === "**" ? undefined : wildcard(part);
  for (const { name } of await entriesOf(folder)) {
    if (isHidden(name) && !part.startsWith(name.charAt(0))) continue;
    const path = join(folder, name);
    if (matches?.test(name) === true) files.push(...(await matching(path, rest, inside)));
    if (matches === undefined && (await sizeOrFolder(path)) === "folder") files.push(...(await matching(path, parts, inside)));
  }
  return files;
}

function wildcard(part: string): RegExp {
  const source = part.replace(/\[(!?)([^\]]+)\]|[*?]|[\\^$.|+()[\]{}]/g, (found, not: string | undefined, set: string | undefined) => {
    if (set !== undefined) return `[${not === "!" ? "^" : ""}${set.replace(/[\\[\]^]/g, String.raw`\$&`)}]`;
    if (found === "*") return ".*";
    return found === "?" ? "." : `\\${found}`;
  });
  return new RegExp(`^${source}$`, "su");
}

function expandBraces(pattern: string): string[] {
  const braces = /\{([^{}]*)\}/.exec(pattern);
  if (braces === null) return [pattern];
  const [before, after] = [pattern.slice(0, braces.index), pattern.slice(braces.index + braces[0].length)];
  return (braces[1] as string).split(",").flatMap((choice) => expandBraces(before + choice + after));
}
