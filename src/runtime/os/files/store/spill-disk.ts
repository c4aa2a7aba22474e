/**
 * Copies objects of the store into fused files on the spill disk, without blocking the event loop.
 *
 * Reads and writes go through the thread pool in a few megabytes, one after the other, neighbours in one piece. A file is complete or it
 * does not exist. Owns the files only while it writes them. Called by the node daemon, which must answer others meanwhile.
 */
import { writeFileSync, renameSync } from "node:fs";
import { type FileHandle, open, readdir, rm, statfs } from "node:fs/promises";
import { join } from "node:path";
import { roomBytes } from "./store-file.ts";

/** Where bytes are, where they go, and which file they are in. */
interface CopyPiece {
  path: string;
  offset: number;
  target: number;
  sizeBytes: number;
}

/** Larger pieces are no faster (measured: 1 MB, 4 MB and 16 MB within 5 % of another). */
const CHUNK_BYTES = 4 * 1024 * 1024;

/** Room on a folder's file system, less a reserve that stays free for others. */
export async function spillRoomBytes(directory: string): Promise<number> {
  const { bavail, blocks, bsize } = await statfs(directory);
  return roomBytes({ freeBytes: bavail * bsize, totalBytes: blocks * bsize });
}

/** Returns the names in a folder of the store; none if it was deleted, as at the end of the session. */
export async function namesIn(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/**
 * Writes a file from pieces of other files. A source that is missing or too short is skipped: an arena whose last object is freed is
 * deleted while it waits here, and a reader finds every other loss as damage.
 *
 * @throws ENOSPC and the system's other errors; there is then no file
 */
export async function writeFused(path: string, pieces: readonly CopyPiece[]): Promise<void> {
  const chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  const file = await open(path, "wx", 0o600);
  let source: { path: string; handle: FileHandle | undefined } | undefined;
  try {
    for (const piece of joinNeighbours(pieces)) {
      if (source?.path !== piece.path) {
        await source?.handle?.close();
        source = { path: piece.path, handle: undefined };
        source.handle = await openSource(piece.path);
      }
      if (source.handle !== undefined) await copyPiece(source.handle, file, { piece, chunk });
    }
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await source?.handle?.close();
    await file.close();
  }
}

/** Writes a small file that readers see in full or not at all. */
export function writeWhole(directory: string, name: string, text: string): void {
  const path = join(directory, name);
  writeFileSync(`${path}.new`, text, { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

async function openSource(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

async function copyPiece(source: FileHandle, target: FileHandle, { piece, chunk }: { piece: CopyPiece; chunk: Buffer }): Promise<void> {
  for (let done = 0; done < piece.sizeBytes; ) {
    const wanted = Math.min(chunk.length, piece.sizeBytes - done);
    const { bytesRead } = await source.read(chunk, 0, wanted, piece.offset + done);
    if (bytesRead === 0) return;
    for (let written = 0; written < bytesRead; ) {
      const { bytesWritten } = await target.write(chunk, written, bytesRead - written, piece.target + done + written);
      written += bytesWritten;
    }
    done += bytesRead;
  }
}

/** Joins small objects that are neighbours in an arena and in the fused file. */
function joinNeighbours(pieces: readonly CopyPiece[]): CopyPiece[] {
  const joined: CopyPiece[] = [];
  for (const piece of pieces) {
    const last = joined.at(-1);
    const distance = last === undefined ? 0 : piece.offset - last.offset;
    const adjoins = last !== undefined && last.path === piece.path && distance === piece.target - last.target;
    // The gap between two objects of an arena is the rest of a page and is copied as well.
    if (adjoins && distance >= last.sizeBytes && distance - last.sizeBytes < 4096) last.sizeBytes = distance + piece.sizeBytes;
    else joined.push({ ...piece });
  }
  return joined;
}
