/**
 * Where temporary files and sockets lie on this machine, and folders for as long as whoever made them lives.
 *
 * Decides by one rule for all processes: in the system's temporary folder (`TMPDIR`), and where that cannot be written, or is too long for the path of a
 * socket, in the first of a few short folders that can be. All of these are shared, so what is made in them is private to its user by its own mode. Processes of one user under
 * one `TMPDIR` come to the same folder, by which programs find their node.
 */
import { accessSync, constants, existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** There as long as the machine runs; the folder of a login (`/run/user/<uid>`) is emptied when its user logs out, and a cluster runs on. */
const OTHERS = ["/tmp", "/var/tmp", "/dev/shm"];
/** A path of a socket ends with a zero byte in 108 bytes, on Darwin in 104. */
const SOCKET_PATH_BYTES_MAX = process.platform === "darwin" ? 103 : 107;
/** The longest that lies below: the folder of a session, and the socket of a process that forks workers. */
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
