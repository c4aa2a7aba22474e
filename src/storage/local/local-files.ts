/**
 * The files of this machine.
 *
 * A file is first written under a hidden name in its folder; `commit` makes it durable and renames it. A process that dies before leaves
 * only the hidden file, which no reader takes. Links are followed.
 */
import { randomBytes } from "node:crypto";
import { type Dirent, readFileSync, type Stats } from "node:fs";
import { type FileHandle, mkdir, open, readdir, rename, rm, rmdir, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { basename, dirname, join, parse, sep } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { StorageError, storageError } from "../errors.ts";
import type { FileBytes, FileSink, FileSystem, ListedFile, SinkOptions, StagedFile } from "../file-system.ts";
import { expandBraces, hasWildcard, isHidden, isSkipped, wildcard } from "../listing/globs.ts";
import { FOLDER_REMOVAL_PAUSE_MS, FOLDER_REMOVALS_MAX, READ_CHUNK_BYTES } from "../limits.ts";
import { localPath } from "../paths.ts";

export const LOCAL_FILES: FileSystem = {
  fullPath: localPath,
  list: (path) => filesOf(localPath(path)),
  listAll: async (folder) =>
    (await sizeOrFolder(localPath(folder))) === "folder" ? filesIn(localPath(folder), new Set(), () => false) : [],
  hasFolder: async (path) => (await sizeOrFolder(localPath(path))) === "folder",
  names: (folder) => namesIn(localPath(folder)),
  read: (path) => readRaw(localPath(path)),
  openBytes: (path) => LocalBytes.open(localPath(path)),
  async makeFolder(path) {
    try {
      await makeFolders(localPath(path));
    } catch (error) {
      throw storageError(`Cannot make the folder ${path}`, error);
    }
  },
  openSink: (path, options) => LocalSink.open(localPath(path), options),
  publish: moveFile,
  async renameFolder(from, to) {
    try {
      await rename(localPath(from), localPath(to));
      await syncFolder(dirname(localPath(to)));
    } catch (error) {
      throw storageError(`Cannot move ${from} to ${to}`, error);
    }
  },
  async remove(paths) {
    for (const path of paths) await removeFile(localPath(path));
  },
  async removeFolder(path) {
    try {
      await removeAll(localPath(path));
    } catch (error) {
      throw storageError(`Cannot remove ${path}`, error);
    }
  },
};

/**
 * Only the removal of the whole folder is repeated: Node's own retries multiply with each level, and also wait for files that cannot be
 * removed at all.
 */
async function removeAll(path: string): Promise<void> {
  for (let removals = 1; ; removals += 1) {
    try {
      return await rm(path, { recursive: true, force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOTEMPTY" || removals === FOLDER_REMOVALS_MAX) throw error;
      await pause(removals * FOLDER_REMOVAL_PAUSE_MS);
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Listing

async function filesOf(path: string): Promise<ListedFile[]> {
  // A file or folder of this very name takes precedence over the path as a pattern.
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

/** The size of a file, or that it is a folder; undefined if nothing exists. */
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
async function filesIn(folder: string, above: ReadonlySet<string>, isLeftOut: (name: string) => boolean = isHidden): Promise<ListedFile[]> {
  const files: ListedFile[] = [];
  const inside = await enter(folder, above);
  if (inside === undefined) return files;
  for (const { name } of await entriesOf(folder))
    if (!isLeftOut(name)) for (const file of await filesAt(join(folder, name), inside, isLeftOut)) files.push(file);
  return files;
}

async function filesAt(path: string, above: ReadonlySet<string>, isLeftOut?: (name: string) => boolean): Promise<ListedFile[]> {
  const found = await sizeOrFolder(path);
  if (found === "folder") return filesIn(path, above, isLeftOut);
  return found === undefined ? [] : [{ path, sizeBytes: found }];
}

async function namesIn(folder: string): Promise<{ files: string[]; folders: string[] }> {
  const names = { files: [] as string[], folders: [] as string[] };
  if ((await sizeOrFolder(folder)) !== "folder") return names;
  for (const entry of await entriesOf(folder)) {
    const isFolder = entry.isDirectory() || (entry.isSymbolicLink() && (await sizeOrFolder(join(folder, entry.name))) === "folder");
    (isFolder ? names.folders : names.files).push(entry.name);
  }
  return names;
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

/** The files below `folder` whose path matches the parts of a pattern. A folder that the last part matches includes everything inside. */
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
    if (isSkipped(name, part)) continue;
    const path = join(folder, name);
    if (matches?.test(name) === true) files.push(...(await matching(path, rest, inside)));
    if (matches === undefined && (await sizeOrFolder(path)) === "folder") files.push(...(await matching(path, parts, inside)));
  }
  return files;
}

// ---------------------------------------------------------------------------------------------------------------------
// Reading

/**
 * Reads all bytes of a file at once. For workers, whose loop has nothing else to do: a small file costs a tenth of an asynchronous read.
 *
 * @throws StorageError
 */
export function readLocalFile(path: string): Uint8Array {
  const file = localPath(path);
  try {
    return readFileSync(file);
  } catch (error) {
    throw storageError(`Cannot read ${file}`, error);
  }
}

async function* readRaw(file: string): AsyncGenerator<Uint8Array, void, undefined> {
  const handle = await open(file, "r").catch((error: unknown) => {
    throw storageError(`Cannot read ${file}`, error);
  });
  let next: Promise<Uint8Array> | undefined;
  try {
    const { size } = await handle.stat();
    let at = 0;
    next = readChunk(handle, file, chunkBytes(size, at));
    for (;;) {
      const chunk = await next;
      next = undefined;
      if (chunk.length === 0) return;
      at += chunk.length;
      next = readChunk(handle, file, chunkBytes(size, at));
      // A waiting caller gets the error; until then it must not count as an unhandled one.
      next.catch(() => undefined);
      yield chunk;
    }
  } finally {
    await next?.catch(() => undefined);
    await handle.close();
  }
}

/** Bytes for the next chunk, without memory that a small file would leave empty. Pipes and the like have the size 0. */
function chunkBytes(size: number, at: number): number {
  if (size === 0) return READ_CHUNK_BYTES;
  return Math.min(READ_CHUNK_BYTES, Math.max(size - at, END_CHECK_BYTES));
}

/** Read where the file should be at its end: whether it is. */
const END_CHECK_BYTES = 4096;

async function readChunk(handle: FileHandle, file: string, bytes: number): Promise<Uint8Array> {
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafeSlow(bytes), 0, bytes, null);
    return buffer.subarray(0, bytesRead);
  } catch (error) {
    throw storageError(`Cannot read ${file}`, error);
  }
}

class LocalBytes implements FileBytes {
  readonly #path: string;
  readonly #handle: FileHandle;
  readonly #opened: Stats;

  private constructor(path: string, handle: FileHandle, opened: Stats) {
    this.#path = path;
    this.#handle = handle;
    this.#opened = opened;
  }

  static async open(path: string): Promise<LocalBytes> {
    let handle: FileHandle | undefined;
    try {
      handle = await open(path, "r");
      return new LocalBytes(path, handle, await handle.stat());
    } catch (error) {
      await handle?.close();
      throw storageError(`Cannot open ${path}`, error);
    }
  }

  get sizeBytes(): number {
    return this.#opened.size;
  }

  async read(start: number, end: number): Promise<ArrayBuffer> {
    const bytes = new Uint8Array(end - start);
    try {
      for (let at = 0; at < bytes.length; ) {
        const { bytesRead } = await this.#handle.read(bytes, at, bytes.length - at, start + at);
        if (bytesRead === 0) break;
        at += bytesRead;
      }
      const { size, mtimeMs } = await this.#handle.stat();
      if (size === this.#opened.size && mtimeMs === this.#opened.mtimeMs) return bytes.buffer;
    } catch (error) {
      throw storageError(`Cannot read ${this.#path}`, error);
    }
    throw new StorageError(`Cannot read ${this.#path}: it was changed while it was read`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close();
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Writing

class LocalSink implements FileSink {
  readonly #path: string;
  readonly #temporary: string;
  readonly #handle: FileHandle;
  readonly #isDurable: boolean;

  private constructor(path: string, temporary: string, { handle, isDurable }: { handle: FileHandle; isDurable: boolean }) {
    this.#path = path;
    this.#temporary = temporary;
    this.#handle = handle;
    this.#isDurable = isDurable;
  }

  static async open(path: string, { isDurable = true }: SinkOptions = {}): Promise<LocalSink> {
    const folder = dirname(path);
    const temporary = join(folder, `.${basename(path)}.${process.pid}-${randomBytes(6).toString("hex")}.tmp`);
    try {
      return new LocalSink(path, temporary, { handle: await open(temporary, "wx"), isDurable });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      throw new StorageError(`Cannot write ${path}: there is no folder ${folder} on ${hostname()}`, { cause: error });
    }
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      const { bytesWritten } = await this.#handle.write(bytes, at);
      at += bytesWritten;
    }
  }

  async commit(): Promise<void> {
    if (this.#isDurable) await this.#handle.sync();
    await this.#handle.close();
    await rename(this.#temporary, this.#path);
  }

  async abort(): Promise<void> {
    await this.#handle.close().catch(() => undefined);
    await rm(this.#temporary, { force: true });
  }
}

/**
 * Makes a folder and its missing parents. Node's own `recursive` never ends if the kernel answers ENOENT in an existing folder, as in
 * /proc.
 */
async function makeFolders(folder: string): Promise<void> {
  try {
    // Mostly the parent exists, and nothing else needs to be checked.
    return await makeOneFolder(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  const missing = [folder];
  for (let above = dirname(folder); dirname(above) !== above && !(await isThere(above)); above = dirname(above)) missing.push(above);
  for (const one of missing.reverse()) await makeOneFolder(one);
}

async function makeOneFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder);
  } catch (error) {
    // The folder existed, or another process has made it meanwhile.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST" || (await sizeOrFolder(folder)) !== "folder") throw error;
  }
}

function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** Makes the names in a folder durable: without it, a power cut undoes the last renames. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Moves a file within one file system; folders that are not there are made. */
async function moveFile({ from, to }: StagedFile): Promise<void> {
  try {
    await makeFolders(dirname(to));
    await rename(from, to);
  } catch (error) {
    throw storageError(`Cannot move ${from} to ${to}`, error);
  }
}

/** Removes a file, and its folder where that is empty then. */
async function removeFile(path: string): Promise<void> {
  try {
    await rm(path, { force: true });
  } catch (error) {
    throw storageError(`Cannot remove ${path}`, error);
  }
  await rmdir(dirname(path)).catch(() => {});
}
