/**
 * One file of the object store, open: written in full or not at all, read in full or not at all.
 *
 * Hides the system's awkward sides: writes that stop early when a file system is full, buffers beyond 2 GB, and padding between pieces.
 * Owns the descriptor. The store's reader and writer get these functions as an interface, so that tests can simulate a full disk.
 */
import {
  closeSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  statfsSync,
  unlinkSync,
  writevSync,
} from "node:fs";

export interface StoreFile {
  readonly fd: number;
  /** Writes all pieces one after another from `offset` on. @throws ENOSPC or EDQUOT when there is no room */
  write(offset: number, pieces: readonly Uint8Array[]): void;
  /** Fills the target from `offset` on. @returns whether the file had that much */
  read(offset: number, target: Uint8Array): boolean;
  truncate(sizeBytes: number): void;
  /** The length of the file; undefined once it was deleted. */
  linkedBytes(): number | undefined;
  close(): void;
}

/** The file operations of the store. */
export interface StoreFiles {
  /** A new file; fails if there is one of that name. */
  create(path: string): StoreFile;
  /** @returns undefined when there is no such file */
  openToRead(path: string): StoreFile | undefined;
  /** A whole file of text. @returns undefined when there is no such file */
  readText(path: string): string | undefined;
  remove(path: string): void;
  /** Room for a new file in this directory. */
  freeBytes(directory: string): number;
  /** The same, less the part of the disk that stays free for others. */
  spillRoomBytes(directory: string): number;
}

/** The system writes at most 2 GB - 4 KB at once, and Node checks lengths against 2 GB - 1. */
const PIECE_BYTES_MAX = 1 << 30;

export const storeFiles: StoreFiles = {
  create: (path) => new OpenFile(openSync(path, "wx+", 0o600)),
  openToRead: (path) => {
    try {
      return new OpenFile(openSync(path, "r"));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  },
  readText: (path) => {
    try {
      return readFileSync(path, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  },
  remove: (path) => {
    try {
      unlinkSync(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  },
  freeBytes: freeBytesOf,
  spillRoomBytes: (directory) => {
    const { bavail, blocks, bsize } = statfsSync(directory);
    return roomBytes({ freeBytes: bavail * bsize, totalBytes: blocks * bsize });
  },
};

/** Share of the spill disk beyond which nothing more is written, since others use the disk, too. Ray's limit. */
const DISK_USE_MAX = 0.95;

/** Room on a disk that is shared with others. */
export function roomBytes({ freeBytes, totalBytes }: { freeBytes: number; totalBytes: number }): number {
  return freeBytes - totalBytes * (1 - DISK_USE_MAX);
}

/** Opens an existing file, to be mapped and written by several processes. @throws ENOENT */
export function openToShare(path: string): StoreFile {
  return new OpenFile(openSync(path, "r+"));
}

/** Removes the files of a directory whose names begin so. */
export function removeFilesNamed(directory: string, prefix: string): void {
  let names: string[];
  try {
    names = readdirSync(directory);
  } catch (error) {
    // The session has ended, and its directories with it.
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw error;
  }
  for (const name of names) if (name.startsWith(prefix)) storeFiles.remove(`${directory}/${name}`);
}

/** Free space for this user on a directory's file system. */
export function freeBytesOf(directory: string): number {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}

class OpenFile implements StoreFile {
  readonly fd: number;
  #isOpen = true;

  constructor(fd: number) {
    this.fd = fd;
  }

  write(offset: number, pieces: readonly Uint8Array[]): void {
    let position = offset;
    let left = pieces.some((piece) => piece.byteLength > PIECE_BYTES_MAX) ? pieces.flatMap(splitPiece) : pieces;
    while (left.length > 0) {
      const written = writevSync(this.fd, left, position);
      position += written;
      left = withoutFirst(left, written);
    }
  }

  read(offset: number, target: Uint8Array): boolean {
    let done = 0;
    while (done < target.byteLength) {
      const length = Math.min(target.byteLength - done, PIECE_BYTES_MAX);
      const count = readSync(this.fd, target, done, length, offset + done);
      if (count === 0) return false;
      done += count;
    }
    return true;
  }

  truncate(sizeBytes: number): void {
    ftruncateSync(this.fd, sizeBytes);
  }

  linkedBytes(): number | undefined {
    const { nlink, size } = fstatSync(this.fd);
    return nlink === 0 ? undefined : size;
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    closeSync(this.fd);
  }
}

/** The pieces left after `written` bytes: a full file system takes a part, and refuses the next attempt. */
function withoutFirst(pieces: readonly Uint8Array[], written: number): readonly Uint8Array[] {
  let index = 0;
  let rest = written;
  while (index < pieces.length && rest >= (pieces[index] as Uint8Array).byteLength) {
    rest -= (pieces[index] as Uint8Array).byteLength;
    index += 1;
  }
  const left = pieces.slice(index);
  if (rest > 0) left[0] = (left[0] as Uint8Array).subarray(rest);
  return left;
}

function splitPiece(piece: Uint8Array): Uint8Array[] {
  const parts: Uint8Array[] = [];
  for (let start = 0; start < piece.byteLength; start += PIECE_BYTES_MAX) parts.push(piece.subarray(start, start + PIECE_BYTES_MAX));
  return parts;
}
