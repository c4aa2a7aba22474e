/** Moving and removing files and folders, for writers that prepare files in one place and publish them in another. */
import { openAsBlob } from "node:fs";
import { mkdir, rename, rm, rmdir } from "node:fs/promises";
import { dirname } from "node:path";
import { storageError } from "./errors.ts";
import { localPath } from "./local-path.ts";

/** The absolute path of a folder. */
export function resolveFolder(path: string): string {
  return localPath(path);
}

/** Moves a file within one file system; folders that are not there are made. */
export async function moveFile(from: string, to: string): Promise<void> {
  try {
    await mkdir(dirname(to), { recursive: true });
    await rename(from, to);
  } catch (error) {
    throw storageError(`Cannot move ${from} to ${to}`, error);
  }
}

/** Removes a file, and its folder where that is empty then. */
export async function removeFile(path: string): Promise<void> {
  const place = localPath(path);
  try {
    await rm(place, { force: true });
  } catch (error) {
    throw storageError(`Cannot remove ${path}`, error);
  }
  await rmdir(dirname(place)).catch(() => {});
}

/** Removes a folder with all that is in it. */
export async function removeFolder(path: string): Promise<void> {
  try {
    await rm(localPath(path), { recursive: true, force: true });
  } catch (error) {
    throw storageError(`Cannot remove ${path}`, error);
  }
}

/** A file whose parts are read as they are asked for. */
export async function openBlob(path: string): Promise<Blob> {
  try {
    return await openAsBlob(localPath(path));
  } catch (error) {
    throw storageError(`Cannot open ${path}`, error);
  }
}
