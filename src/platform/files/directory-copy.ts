/**
 * Copies a folder as it is now, without what its owner excludes: a worker's working directory.
 *
 * What belongs to it is `directory-listing.ts`'s decision. Links stay links. The size is summed up before anything is written, so that a folder that is too
 * large is refused with the names of what is large in it.
 */
import { copyFile, mkdir, readlink, symlink } from "node:fs/promises";
import { join } from "node:path";
import { listDirectory, type ListingOptions } from "./directory-listing.ts";

export interface DirectoryCopyOptions extends ListingOptions {
  /** Made by the copy. */
  readonly to: string;
}

export interface DirectoryCopyResult {
  readonly files: number;
  readonly sizeBytes: number;
}

/** @throws RangeError when the folder is larger than it may be */
export async function copyDirectory(options: DirectoryCopyOptions): Promise<DirectoryCopyResult> {
  const { from, to } = options;
  const found = listDirectory(options);
  await mkdir(to, { recursive: true });
  for (const { path, kind } of found) {
    const target = join(to, path);
    if (kind === "folder") await mkdir(target, { recursive: true });
    else if (kind === "link") await symlink(await readlink(join(from, path)), target);
    else await copyFile(join(from, path), target);
  }
  return {
    files: found.filter(({ kind }) => kind !== "folder").length,
    sizeBytes: found.reduce((sum, entry) => sum + entry.sizeBytes, 0),
  };
}

/** A folder that appears in a second place. */
export async function linkDirectory(target: string, place: string): Promise<void> {
  await symlink(target, place, "dir");
}
