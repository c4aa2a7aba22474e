/**
 * Copies a folder without its excluded files: a worker's working directory.
 *
 * `directory-listing.ts` decides which files belong to it. Links stay links. Files that disappear during the copy are left out: programs
 * may be writing to the folder. The size is summed up before anything is written, so that the refusal of a large folder can name the large
 * entries.
 */
import { copyFile, lstat, mkdir, readlink, symlink } from "node:fs/promises";
import { join } from "node:path";
import { listDirectory, type ListingOptions } from "./directory-listing.ts";

interface DirectoryCopyOptions extends ListingOptions {
  /** Made by the copy. */
  readonly to: string;
}

interface DirectoryCopyResult {
  readonly files: number;
  readonly sizeBytes: number;
}

/** @throws RangeError when the folder is larger than it may be */
export async function copyDirectory(options: DirectoryCopyOptions): Promise<DirectoryCopyResult> {
  const { from, to } = options;
  const found = listDirectory(options);
  await mkdir(to, { recursive: true });
  const result = { files: 0, sizeBytes: 0 };
  for (const { path, kind, sizeBytes } of found) {
    const target = join(to, path);
    if (kind === "folder") {
      await mkdir(target, { recursive: true });
      continue;
    }
    if (!(await copyIfThere(kind === "link" ? copyLink : copyFile, join(from, path), target))) continue;
    result.files += 1;
    result.sizeBytes += sizeBytes;
  }
  return result;
}

async function copyLink(from: string, to: string): Promise<void> {
  await symlink(await readlink(from), to);
}

async function copyIfThere(copy: typeof copyLink, from: string, to: string): Promise<boolean> {
  try {
    await copy(from, to);
    return true;
  } catch (error) {
    const hasGone = await lstat(from).then(
      () => false,
      () => true,
    );
    if (!hasGone) throw error;
    return false;
  }
}

/** A folder that appears in a second place. */
export async function linkDirectory(target: string, place: string): Promise<void> {
  await symlink(target, place, "dir");
}
