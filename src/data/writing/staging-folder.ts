/**
 * The folder in which the tasks of a write leave their files until the driver gives them their places.
 *
 * A task may end after its write has failed and removed the folder. On a disk its file then has no folder to lie in; S3 knows no folders and takes the object all the same. So the
 * folder holds a mark, which is removed first: a task that finds the mark after its file was written knows that the file is among those that are removed.
 */
import { fileExists, writeWhole } from "../../storage/listing/folders.ts";
import { makeFolder, removeFiles, removeFolder } from "../../storage/places.ts";

function markOf(folder: string): string {
  return `${folder}/.mark`;
}

export async function makeStagingFolder(folder: string): Promise<void> {
  await makeFolder(folder);
  await writeWhole(markOf(folder), "");
}

/** Whether the write still takes files. */
export function isStaging(folder: string): Promise<boolean> {
  return fileExists(markOf(folder));
}

export async function removeStagingFolder(folder: string): Promise<void> {
  await removeFiles([markOf(folder)]);
  await removeFolder(folder);
}
