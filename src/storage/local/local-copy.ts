/**
 * Files for programs that open them by a path: a plain file of this machine as it is, any other one as a copy.
 *
 * A copy is among the shared copies of remote folders, so the next process that opens one removes those of dead processes.
 */
import { randomUUID } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { compressionOf } from "../compression/compression.ts";
import { StorageError, storageError } from "../errors.ts";
import { fileExists } from "../listing/folders.ts";
import { localPath, schemeOf, shownPath } from "../paths.ts";
import { readChunks } from "../read-file.ts";
import { closeSharedCopy, openSharedCopy } from "./shared-copy.ts";

interface LocalFile {
  /** Absolute, on this machine. */
  readonly path: string;
  /** Removes the copy, where there is one. */
  close(): Promise<void>;
}

/**
 * Opens a file for a program: decompressed by its extension, and fetched where it is remote.
 *
 * @throws StorageError for a file that does not exist, or cannot be read or copied
 */
export async function openLocalFile(path: string): Promise<LocalFile> {
  if (schemeOf(path) === "file" && compressionOf(path) === undefined) {
    if (!(await fileExists(path))) throw new StorageError(`Cannot read ${path}: there is no such file`);
    return { path: localPath(path), close: async () => {} };
  }
  const copy = await openSharedCopy({ key: `${path} ${randomUUID()}`, fetch: (folder) => fetchInto(folder, path) });
  return { path: join(copy.path, COPY_NAME), close: () => closeSharedCopy(copy) };
}

const COPY_NAME = "file";

async function fetchInto(folder: string, path: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  try {
    await pipeline(Readable.from(readChunks(path)), createWriteStream(join(folder, COPY_NAME), { flags: "wx", mode: 0o600 }));
  } catch (error) {
    throw storageError(`Cannot copy ${shownPath(path)} to this machine`, error);
  }
}
