/** Publishing and removing files and folders, for writers that prepare files in one place and give them their names later; and files whose parts are read. */
import { realpath } from "node:fs/promises";
import type { FileBytes, StagedFile } from "./file-system.ts";
import { fileSystemOf } from "./file-systems.ts";
import { localPath, schemeOf } from "./paths.ts";

/**
 * The path of a folder in full.
 *
 * @throws StorageError where nothing can be written there
 */
export async function resolveFolder(path: string): Promise<string> {
  return (await fileSystemOf(path)).fullPath(path);
}

/** Makes a folder for files that are written, where it is not there. */
export async function makeFolder(path: string): Promise<void> {
  await (await fileSystemOf(path)).makeFolder(path);
}

/** Gives a file that was written in full its place, within one file system. The staged file may stay until its folder is removed. */
export async function publishFile(file: StagedFile): Promise<void> {
  await (await fileSystemOf(file.to)).publish(file);
}

/** Removes files of one file system, and their folders where these are empty then. */
export async function removeFiles(paths: readonly string[]): Promise<void> {
  const [first] = paths;
  if (first !== undefined) await (await fileSystemOf(first)).remove(paths);
}

/** Removes a folder with all that is in it, unfinished files too. */
export async function removeFolder(path: string): Promise<void> {
  await (await fileSystemOf(path)).removeFolder(path);
}

/** Whether a path is inside a folder, even behind symbolic links of this machine. If either does not exist, the answer is no. */
export async function liesIn(folder: string, path: string): Promise<boolean> {
  if (!path.startsWith(`${folder}/`) || path.split("/").includes("..")) return false;
  if (schemeOf(path) !== "file") return true;
  try {
    const [realFolder, real] = await Promise.all([realpath(localPath(folder)), realpath(localPath(path))]);
    return real.startsWith(`${realFolder}/`);
  } catch {
    return false;
  }
}

/** The bytes of a file, read on demand. */
export async function openBytes(path: string): Promise<FileBytes> {
  return (await fileSystemOf(path)).openBytes(path);
}
