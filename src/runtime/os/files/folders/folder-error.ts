/**
 * Turns the system's error about a folder or a file into one for people: the path, its owner, and a remedy.
 *
 * For failures caused by a wrong folder, in any process; the command shows it.
 */
import { statSync } from "node:fs";
import { dirname } from "node:path";
import { ShoalError } from "../../../base/errors.ts";

const REASONS: Readonly<Record<string, string>> = {
  EACCES: "this user may not write there",
  EPERM: "the system does not allow it",
  EROFS: "the file system is read-only",
  ENOTDIR: "a part of the path is no folder",
  EEXIST: "a part of the path is no folder",
  ENOENT: "it cannot be made there",
  ENOSPC: "the disk is full",
  EDQUOT: "this user's quota on the disk is used up",
};

/** Undefined for any other error. */
export function folderError(error: unknown): ShoalError | undefined {
  const { code, path, syscall } = error as NodeJS.ErrnoException;
  const reason = REASONS[code ?? ""];
  if (reason === undefined || path === undefined || syscall === "connect" || syscall === "bind" || syscall === "listen") return undefined;
  return new ShoalError(`Cannot write ${path}: ${reason}${ownerOf(path)}.`, {
    reason,
    hint: "Give the folder to this user, or name another one: XDG_STATE_HOME for the state of heads and logs, TMPDIR for what runs.",
    cause: error,
  });
}

/** Returns the owner of the nearest existing folder. */
function ownerOf(path: string): string {
  const user = process.getuid?.();
  const found = tryStat(path);
  if (found !== undefined && user !== undefined)
    return found.uid === user ? "" : ` (${path} belongs to user ${found.uid}, this is user ${user})`;
  const above = dirname(path);
  return above === path || user === undefined ? "" : ownerOf(above);
}

function tryStat(path: string): { uid: number } | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}
