/**
 * Files and folders of this user alone: written as a whole or not at all, and not read when others could have changed or read them.
 *
 * For keys, tokens and configuration that holds them. On Windows modes say nothing, and nothing is checked.
 */
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { ShoalError } from "../../base/errors.ts";

/** A secret is readable for other users of this machine. */
export class OpenSecretError extends ShoalError {
  static override readonly code = "SECRET_FILE_OPEN";
}

/** Makes a folder of this user alone, where it is not there. @throws OpenSecretError for a folder that others may use */
export function makePrivateFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  assertPrivate(folder, "0700");
}

/** The file is on disk when this returns, so that dependent data may be written next. */
export function writePrivateFile(file: string, text: string): void {
  const fresh = `${file}.${process.pid}.new`;
  rmSync(fresh, { force: true });
  const descriptor = openSync(fresh, "wx", 0o600);
  try {
    writeSync(descriptor, text);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(fresh, file);
  if (process.platform === "win32") return;
  const folder = openSync(dirname(file), "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** @returns undefined when there is no such file. @throws OpenSecretError when others may read or write it */
export function readPrivateFile(file: string): string | undefined {
  if (statSync(file, { throwIfNoEntry: false }) === undefined) return undefined;
  assertPrivate(file, "0600");
  return readFileSync(file, "utf8");
}

function assertPrivate(path: string, mode: string): void {
  if (process.platform === "win32") return;
  const found = statSync(path);
  const isOthers = process.getuid !== undefined && found.uid !== process.getuid() && process.getuid() !== 0;
  if ((found.mode & 0o077) === 0 && !isOthers) return;
  const reason = isOthers ? "it belongs to another user" : `other users may read or write it (mode ${(found.mode & 0o777).toString(8)})`;
  throw new OpenSecretError(`Cannot use ${path}: ${reason}.`, {
    reason: "open to others",
    hint: `\`chmod ${mode} ${path}\` when nobody else has been there; otherwise remove it, and what is in it is made anew.`,
  });
}
