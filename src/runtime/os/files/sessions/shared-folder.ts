/**
 * A folder in the temporary folder that all Shoal processes of a user share: made by the first that writes there, removed by the last that leaves.
 *
 * Any number of processes may use it at once. Only an empty folder is removed, so no file is lost; a writer whose folder vanished before
 * its write begins again. Used for the files of nodes and of supervisors.
 */
import { rmdirSync, rmSync, utimesSync } from "node:fs";
import { makePrivateFolder } from "../private-files.ts";

/** Each further attempt needs another process that left at that very moment, so this is more than a machine's processes can cause. */
const ATTEMPTS_MAX = 1000;

/**
 * @param write makes a file there at once, or fails with ENOENT and without a trace
 * @throws OpenSecretError for a folder of another user, or one that others may use
 */
export function writeInSharedFolder(folder: string, write: () => void): void {
  for (let attempt = 1; ; attempt += 1) {
    try {
      makePrivateFolder(folder);
      write();
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT" || attempt === ATTEMPTS_MAX) throw error;
    }
  }
}

/** Longest time that a user's programs miss a removed file. */
const LOOK_EVERY_MS = 5_000;

/**
 * Looks after a file that lasts as long as this process. Cleaners of the temporary folder go by age, so the file is touched, and written
 * again if it is missing.
 *
 * @returns a function that stops this
 */
export function keepFile(file: string, write: () => void): () => void {
  const looking = setInterval(() => {
    try {
      const now = new Date();
      utimesSync(file, now, now);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") writeAgain(write);
    }
  }, LOOK_EVERY_MS).unref();
  return () => clearInterval(looking);
}

function writeAgain(write: () => void): void {
  try {
    write();
  } catch {
    // A full disk, or a folder that is another user's now: tried again at the next look.
  }
}

/** Removes the file, and the folder with the last one. */
export function leaveSharedFolder(folder: string, file: string): void {
  rmSync(file, { force: true });
  removeIfEmpty(folder);
}

/** Removes a folder where nothing is in it. Fails at nothing. */
export function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // Files of other processes are in it, or a parallel call has just removed it.
  }
}
