/**
 * Places temporary files and sockets on this machine, and makes folders that live as long as their maker.
 *
 * All processes use one rule: the system's temporary folder (`TMPDIR`), or the first writable one of a few short folders if that cannot be
 * written or is too long for a socket's path. All these folders are shared, so their contents are made private by file modes. Processes of
 * one user under one `TMPDIR` find the same folder, by which programs find their node.
 */
import { accessSync, constants, existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** There as long as the machine runs; the folder of a login (`/run/user/<uid>`) is emptied when its user logs out, and a cluster runs on. */
const OTHERS = ["/tmp", "/var/tmp", "/dev/shm"];
/** A path of a socket ends with a zero byte in 108 bytes, on Darwin in 104. */
const SOCKET_PATH_BYTES_MAX = process.platform === "darwin" ? 103 : 107;
/** The longest path below: the folder of a session, and the socket of a process that forks workers. */
const BELOW = "/shoal-0123456789ab/w9999999-fork";

/** The folder for temporary files. */
export function temporaryRoot(folder: string = tmpdir()): string {
  if (canBeWritten(folder)) return folder;
  return OTHERS.find(canBeWritten) ?? folder;
}

/** The folder for folders with sockets, which have short paths. */
export function socketRoot(folder: string = temporaryRoot()): string {
  if (holdsSockets(folder)) return folder;
  return OTHERS.find((other) => holdsSockets(other) && canBeWritten(other)) ?? folder;
}

function holdsSockets(folder: string): boolean {
  return process.platform === "win32" || Buffer.byteLength(folder + BELOW) <= SOCKET_PATH_BYTES_MAX;
}

/** Or can be made. */
function canBeWritten(folder: string): boolean {
  if (!existsSync(folder)) return dirname(folder) !== folder && canBeWritten(dirname(folder));
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Only this user may look into it. */
export function newTemporaryFolder(prefix: string): string {
  return mkdtempSync(join(temporaryRoot(), prefix));
}
