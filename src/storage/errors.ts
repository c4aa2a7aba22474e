/** The errors of `storage`. */
import { ShoalError } from "../core/index.ts";
import { registerErrorClass } from "../core/internal.ts";

/** A file or a folder that cannot be listed, read or written. The message names its path. */
export class StorageError extends ShoalError {
  static override readonly code: string = "STORAGE_FAILED";
}

registerErrorClass(StorageError);

const IN_WORDS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  EACCES: "this process may not do that (permission denied)",
  EPERM: "this process may not do that (permission denied)",
  EISDIR: "it is a folder",
  ENOTDIR: "a part of the path is no folder",
  ENOSPC: "the disk is full",
  EROFS: "the file system is read-only",
};

/**
 * The error of a call of the operating system, in words.
 *
 * @param attempt - the failed operation, with the path: `Cannot read /data/a.csv`
 */
export function storageError(attempt: string, cause: unknown): StorageError {
  if (cause instanceof StorageError) return cause;
  const { code, message } = cause as NodeJS.ErrnoException;
  return new StorageError(`${attempt}: ${IN_WORDS[code ?? ""] ?? message}`, { cause });
}
