/**
 * Reads and writes the files of packages: hashes, contents in one file, a folder made from them, ranges of bytes.
 *
 * Knows nothing of manifests (`runtime/environment/directory-package.ts` does). Files are written beside their final place and then moved,
 * so they are whole or absent. Everything works in pieces, so memory stays small. The synchronous half is for processes that have nothing
 * else to do, the other one for the node daemon.
 */
import { createHash, randomBytes } from "node:crypto";
import { closeSync, constants, existsSync, fstatSync, lstatSync, mkdirSync, openSync, readFileSync, readlinkSync, readSync } from "node:fs";
import { renameSync, rmSync, symlinkSync, writeFileSync, writeSync } from "node:fs";
import { type FileHandle, mkdir, open, readFile, rename, rm, writeFile } from "node:fs/promises";
import { isAbsolute, join, relative } from "node:path";

const PIECE_BYTES = 1024 * 1024;
export const MANIFEST_FILE = "manifest";
export const CONTENTS_FILE = "contents";

/** A file to unpack, or a folder, or a link. */
type UnpackedEntry =
  | { readonly kind: "file"; readonly path: string; readonly isExecutable: boolean; readonly sizeBytes: number; readonly sha256: string }
  | { readonly kind: "folder"; readonly path: string }
  | { readonly kind: "link"; readonly path: string; readonly target: string };

/** The bytes do not match the manifest. */
export class DamagedContentsError extends Error {
  override readonly name = "DamagedContentsError";
}

/** Scratch memory of one piece, for a series of reads. */
export function pieceBuffer(): Uint8Array {
  return Buffer.allocUnsafeSlow(PIECE_BYTES);
}

/**
 * Calls back with each piece of a file; the piece is valid during the call only. Returns the number of bytes. A growing file ends at its
 * size when it was opened.
 */
function readPieces(file: string, buffer: Uint8Array, onPiece: (piece: Uint8Array) => void): number {
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const { size } = fstatSync(descriptor);
    let total = 0;
    for (;;) {
      const count = readSync(descriptor, buffer, 0, Math.min(buffer.length, size - total), null);
      if (count === 0) return total;
      total += count;
      onPiece(buffer.subarray(0, count));
    }
  } finally {
    closeSync(descriptor);
  }
}

export function hashFile(file: string, buffer: Uint8Array): { sha256: string; sizeBytes: number } {
  const hash = createHash("sha256");
  const sizeBytes = readPieces(file, buffer, (piece) => hash.update(piece));
  return { sha256: hash.digest("hex"), sizeBytes };
}

/** Returns the result of `read`; undefined if the file that it reads has disappeared. */
export function unlessGone<Result>(read: () => Result): Result | undefined {
  try {
    return read();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return undefined;
  }
}

/** The text of a link; relative to its folder where it names a place below `root` absolutely. */
export function readLink(root: string, path: string): string {
  const target = readlinkSync(join(root, path));
  if (!isAbsolute(target)) return target;
  const inside = relative(root, target);
  return inside.startsWith("..") || isAbsolute(inside) ? target : relative(join(root, path, ".."), target) || ".";
}

/**
 * Makes the folder `to` with a manifest and the contents of files, in one step.
 *
 * @returns the first file whose content does not match its hash any more; nothing is made then
 */
export function writePackage(
  to: string,
  manifest: Uint8Array,
  { root, files }: { root: string; files: Iterable<{ readonly path: string; readonly sha256: string }> },
): string | undefined {
  if (existsSync(to)) return undefined;
  const fresh = freshName(to);
  mkdirSync(fresh, { recursive: true, mode: 0o700 });
  try {
    writeFileSync(join(fresh, MANIFEST_FILE), manifest);
    const contents = openSync(join(fresh, CONTENTS_FILE), "wx");
    const buffer = pieceBuffer();
    try {
      for (const { path, sha256 } of files) {
        if (unlessGone(() => copyPieces(join(root, path), contents, buffer))?.sha256 !== sha256) return path;
      }
    } finally {
      closeSync(contents);
    }
    moveInto(fresh, to);
    return undefined;
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

interface ReadFile {
  readonly path: string;
  readonly sha256: string;
  readonly sizeBytes: number;
}

/**
 * Makes a package of files that may change meanwhile: each has the content at the time it was read, and a file that has disappeared is left
 * out.
 *
 * @param describe of the files that were read, in the order of `paths`: the package's name and its manifest
 */
export function writePackageAsRead(
  cacheFolder: string,
  {
    root,
    paths,
    describe,
  }: { root: string; paths: readonly string[]; describe: (files: ReadFile[]) => { name: string; manifest: Uint8Array } },
): ReadFile[] {
  const fresh = freshName(join(cacheFolder, "read"));
  mkdirSync(fresh, { recursive: true, mode: 0o700 });
  try {
    const contents = openSync(join(fresh, CONTENTS_FILE), "wx");
    const files: ReadFile[] = [];
    try {
      const buffer = pieceBuffer();
      for (const path of paths) {
        const read = unlessGone(() => copyPieces(join(root, path), contents, buffer));
        if (read !== undefined) files.push({ path, ...read });
      }
    } finally {
      closeSync(contents);
    }
    const { name, manifest } = describe(files);
    writeFileSync(join(fresh, MANIFEST_FILE), manifest);
    moveInto(fresh, join(cacheFolder, name));
    return files;
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

/** To the end of a file that is open. */
function copyPieces(file: string, to: number, buffer: Uint8Array): { sha256: string; sizeBytes: number } {
  const hash = createHash("sha256");
  const sizeBytes = readPieces(file, buffer, (piece) => {
    hash.update(piece);
    writeAll(to, piece);
  });
  return { sha256: hash.digest("hex"), sizeBytes };
}

function writeAll(descriptor: number, piece: Uint8Array): void {
  for (let at = 0; at < piece.length; ) at += writeSync(descriptor, piece, at, piece.length - at);
}

function freshName(to: string): string {
  return `${to}.${process.pid}-${randomBytes(4).toString("hex")}.new`;
}

/** If a parallel process was faster, its folder is as good. */
function moveInto(fresh: string, to: string): void {
  try {
    renameSync(fresh, to);
  } catch (error) {
    if (!existsSync(to)) throw error;
  }
}

/**
 * Makes the folder `to` from contents, in one step. Every file is checked against its hash, and links are made last, so nothing is ever written through one.
 *
 * @throws DamagedContentsError when a file does not match its hash
 */
export function unpack(contentsFile: string, entries: readonly UnpackedEntry[], to: string): void {
  const fresh = freshName(to);
  mkdirSync(fresh, { recursive: true, mode: 0o700 });
  const contents = openSync(contentsFile, "r");
  try {
    const buffer = pieceBuffer();
    for (const entry of entries) {
      const path = join(fresh, entry.path);
      if (entry.kind === "folder") mkdirSync(path, { mode: 0o755 });
      else if (entry.kind === "file") unpackFile(contents, entry, { path, buffer });
    }
    for (const entry of entries) if (entry.kind === "link") symlinkSync(entry.target, join(fresh, entry.path));
    renameSync(fresh, to);
  } finally {
    closeSync(contents);
    rmSync(fresh, { recursive: true, force: true });
  }
}

function unpackFile(
  contents: number,
  entry: Extract<UnpackedEntry, { kind: "file" }>,
  { path, buffer }: { path: string; buffer: Uint8Array },
): void {
  const hash = createHash("sha256");
  const file = openSync(
    path,
    constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
    entry.isExecutable ? 0o755 : 0o644,
  );
  try {
    for (let left = entry.sizeBytes; left > 0; ) {
      const count = readSync(contents, buffer, 0, Math.min(left, buffer.length), null);
      if (count === 0) throw new DamagedContentsError(`the contents of the package end before ${entry.path} does`);
      const piece = buffer.subarray(0, count);
      hash.update(piece);
      writeAll(file, piece);
      left -= count;
    }
  } finally {
    closeSync(file);
  }
  if (hash.digest("hex") !== entry.sha256) throw new DamagedContentsError(`${entry.path} of the package is not what its hash says`);
}

// ---- small files of the cache

export function readTextFile(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

export function readBytesOf(file: string): Uint8Array {
  return readFileSync(file);
}

/** In one step. */
export function writeTextFile(file: string, text: string): void {
  const fresh = freshName(file);
  writeFileSync(fresh, text, { mode: 0o600 });
  renameSync(fresh, file);
}

export function makeFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
}

export function removeTree(path: string): void {
  rmSync(path, { recursive: true, force: true });
}

export function fileSizeBytes(file: string): number | undefined {
  return lstatSync(file, { throwIfNoEntry: false })?.size;
}

// ---- for the daemon, which waits for nothing

/** A part of a file. @throws when the file ends before it does */
export async function readRange(file: string, { offset, length }: { offset: number; length: number }): Promise<Uint8Array> {
  const handle = await open(file, "r");
  try {
    const bytes = Buffer.allocUnsafeSlow(length);
    for (let at = 0; at < length; ) {
      const { bytesRead } = await handle.read(bytes, at, length - at, offset + at);
      if (bytesRead === 0) throw new Error(`${file} ends before byte ${offset + length}`);
      at += bytesRead;
    }
    return bytes;
  } finally {
    await handle.close();
  }
}

export function readWhole(file: string): Promise<Uint8Array> {
  return readFile(file);
}

/** A package that is being received: written piece by piece, then moved to its place, or dropped. */
export class PackageWriter {
  readonly #to: string;
  readonly #fresh: string;
  readonly #contents: FileHandle;

  private constructor(to: string, fresh: string, contents: FileHandle) {
    this.#to = to;
    this.#fresh = fresh;
    this.#contents = contents;
  }

  static async create(to: string, manifest: Uint8Array): Promise<PackageWriter> {
    const fresh = freshName(to);
    await mkdir(fresh, { recursive: true, mode: 0o700 });
    await writeFile(join(fresh, MANIFEST_FILE), manifest);
    return new PackageWriter(to, fresh, await open(join(fresh, CONTENTS_FILE), "wx"));
  }

  async write(bytes: Uint8Array, offset: number): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      const { bytesWritten } = await this.#contents.write(bytes, at, bytes.length - at, offset + at);
      at += bytesWritten;
    }
  }

  async finish(): Promise<void> {
    await this.#contents.close();
    await rename(this.#fresh, this.#to).catch((error: unknown) => {
      if (!existsSync(this.#to)) throw error;
    });
    await rm(this.#fresh, { recursive: true, force: true });
  }

  async drop(): Promise<void> {
    await this.#contents.close().catch(() => {});
    await rm(this.#fresh, { recursive: true, force: true });
  }
}
