/**
 * Copies a folder with all files, and removes one.
 *
 * Unlike `directory-copy.ts` no rule leaves a file out: the folder is a package that its sender has already chosen. Neither keeps the
 * caller's event loop from other work.
 */
import { cp, mkdir, rm } from "node:fs/promises";
import { dirname } from "node:path";

/** @throws Error when the folder is missing, or cannot be copied whole */
export async function copyFolder(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  await cp(from, to, { recursive: true, errorOnExist: true, force: false });
}

/** Never rejects: the files of a folder that stays belong to a folder of the node, which is removed later. */
export async function removeFolder(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true }).catch(() => {});
}
