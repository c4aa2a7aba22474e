/**
 * Reads and writes of open files at given places, in the thread pool: for files whose disk may take its time.
 *
 * Only repeats until all bytes are done: the system may take or give fewer than requested. The caller owns the bytes and leaves them alone
 * until the promise has settled, and the descriptor stays open until then. Used by the transfer of objects, which must never hold up its
 * daemon.
 */
import { read, write } from "node:fs";

/** @throws ENOSPC and the system's other errors */
export function writeAt(fd: number, bytes: Uint8Array, position: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const next = (done: number): void => {
      write(fd, bytes, done, bytes.byteLength - done, position + done, (error, count) => {
        if (error !== null) reject(error);
        else if (done + count >= bytes.byteLength) resolve();
        else next(done + count);
      });
    };
    next(0);
  });
}

/** Fills the target. @returns false when the file is too short */
export function readAt(fd: number, target: Uint8Array, position: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const next = (done: number): void => {
      read(fd, target, done, target.byteLength - done, position + done, (error, count) => {
        if (error !== null) reject(error);
        else if (done + count >= target.byteLength) resolve(true);
        else if (count === 0) resolve(false);
        else next(done + count);
      });
    };
    next(0);
  });
}
