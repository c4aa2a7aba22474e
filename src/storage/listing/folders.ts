/**
 * Whole folders: lists them, copies them from one storage to another, and moves them.
 *
 * All files count, hidden ones too. Names that come from a storage are checked before anything is written under them, so that a key such as `a/../../b` never leaves the folder
 * that it is copied to. A copy that fails leaves the files that were whole by then: the caller decides whether to remove them.
 */
import { createHash } from "node:crypto";
import { StorageError, storageError } from "../errors.ts";
import type { FileSink, FileSystem, SinkOptions } from "../file-system.ts";
import { fileSystemOf } from "../file-systems.ts";
import { COPIED_FILES_AT_A_TIME } from "../limits.ts";
import { joinPath, shownPath } from "../paths.ts";

/** A file of a folder. */
interface FolderFile {
  /** Below the folder, with slashes. */
  readonly name: string;
  readonly sizeBytes: number;
}

export interface CopiedFile extends FolderFile {
  /** Hash of the contents, in hexadecimal digits, where `isHashed` was set. */
  readonly sha256?: string;
}

interface FolderCopy {
  readonly from: string;
  readonly to: string;
  /** Selects the files to copy. Default: all. */
  readonly takes?: (name: string) => boolean;
  /** Whether the copies are hashed on their way. */
  readonly isHashed?: boolean;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The files below a folder, sorted by their names.
 *
 * @throws StorageError for a name that leads out of the folder
 */
export async function folderFiles(folder: string): Promise<FolderFile[]> {
  const files = await fileSystemOf(folder);
  const full = files.fullPath(folder);
  const listed = await files.listAll(folder);
  const named = listed.map(({ path, sizeBytes }) => ({ name: nameBelow(full, path), sizeBytes }));
  return named.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Returns the names directly in a folder, sorted; a missing folder has none. */
export async function folderNames(folder: string): Promise<{ files: string[]; folders: string[] }> {
  const { files, folders } = await (await fileSystemOf(folder)).names(folder);
  return { files: files.sort(), folders: folders.sort() };
}

/** Whether there is a file of this very name. */
export async function fileExists(path: string): Promise<boolean> {
  const files = await fileSystemOf(path);
  const full = files.fullPath(path);
  return (await files.list(full)).some((file) => file.path === full);
}

/** Whether there is a folder. Storages without folders know no empty ones. */
export async function folderExists(folder: string): Promise<boolean> {
  return await (await fileSystemOf(folder)).hasFolder(folder);
}

/** Copies the files of a folder into another, several at a time. Each copy appears whole. */
export async function copyFolder(copy: FolderCopy): Promise<CopiedFile[]> {
  const { from, to, takes, signal } = copy;
  const [source, target] = [await fileSystemOf(from), await fileSystemOf(to)];
  const files = (await folderFiles(from)).filter(({ name }) => takes?.(name) ?? true);
  for (const folder of new Set(["", ...files.map(({ name }) => name.slice(0, Math.max(0, name.lastIndexOf("/"))))]))
    await target.makeFolder(folder === "" ? to : joinPath(to, folder));
  const copied: CopiedFile[] = [];
  let next = 0;
  let failure: { readonly error: unknown } | undefined;
  const work = async (): Promise<void> => {
    for (let at = next++; at < files.length && failure === undefined; at = next++) {
      const { name } = files[at] as FolderFile;
      try {
        copied[at] = await copyFile({ ...copy, from: joinPath(from, name), to: joinPath(to, name) }, { source, target, name });
      } catch (error) {
        failure ??= { error };
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(COPIED_FILES_AT_A_TIME, files.length) }, work));
  if (failure !== undefined) throw failure.error;
  signal?.throwIfAborted();
  return copied;
}

interface CopyPlace {
  readonly source: FileSystem;
  readonly target: FileSystem;
  readonly name: string;
}

async function copyFile({ from, to, isHashed, signal }: FolderCopy, { source, target, name }: CopyPlace): Promise<CopiedFile> {
  const hash = isHashed === true ? createHash("sha256") : undefined;
  let sink: FileSink | undefined;
  let sizeBytes = 0;
  try {
    signal?.throwIfAborted();
    sink = await target.openSink(target.fullPath(to));
    for await (const chunk of source.read(from)) {
      signal?.throwIfAborted();
      hash?.update(chunk);
      sizeBytes += chunk.length;
      await sink.write(chunk);
    }
    await sink.commit();
  } catch (error) {
    await sink?.abort().catch(() => undefined);
    signal?.throwIfAborted();
    throw storageError(`Cannot copy ${shownPath(from)} to ${shownPath(to)}`, error);
  }
  return { name, sizeBytes, ...(hash === undefined ? {} : { sha256: hash.digest("hex") }) };
}

/** Writes a small file whole, or not at all. Text is written in UTF-8. */
export async function writeWhole(path: string, contents: Uint8Array | string, options?: SinkOptions): Promise<void> {
  const files = await fileSystemOf(path);
  let sink: FileSink | undefined;
  try {
    sink = await files.openSink(files.fullPath(path), options);
    await sink.write(typeof contents === "string" ? Buffer.from(contents) : contents);
    await sink.commit();
  } catch (error) {
    await sink?.abort().catch(() => undefined);
    throw storageError(`Cannot write ${shownPath(path)}`, error);
  }
}

/**
 * Gives a folder another name in one step.
 *
 * @returns whether the storage can do that
 */
export async function renameFolder(from: string, to: string): Promise<boolean> {
  const { renameFolder: rename } = await fileSystemOf(to);
  await rename?.(from, to);
  return rename !== undefined;
}

/** The part of a path below a folder. */
function nameBelow(folder: string, path: string): string {
  const name = path.slice(folder.length).replace(/^\//, "");
  const parts = name.split("/");
  if (!path.startsWith(folder) || parts.some((part) => part === "" || part === "." || part === ".." || part.includes("\0")))
    throw new StorageError(
      `Cannot take the file ${JSON.stringify(shownPath(path))}: its name leads out of the folder ${shownPath(folder)}`,
    );
  return name;
}
