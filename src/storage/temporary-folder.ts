/** Folders of this machine for files that are needed for a while. */
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { storageError } from "./errors.ts";

/** Makes an empty folder below the system's folder for temporary files. Whoever makes it removes it. */
export async function makeTemporaryFolder(prefix: string): Promise<string> {
  try {
    return await mkdtemp(join(tmpdir(), prefix));
  } catch (error) {
    throw storageError(`Cannot make a folder in ${tmpdir()}`, error);
  }
}
