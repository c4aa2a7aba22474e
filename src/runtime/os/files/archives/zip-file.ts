/**
 * Reads zip archives of strangers into a folder, and writes archives of own folders.
 *
 * A received archive is not trusted. Its directory is read and checked as a whole before a file is made: number, sizes, names, kinds. The
 * folder appears whole or not at all, each file has its declared size and checksum, and memory does not grow with the archive.
 */
import { createReadStream, createWriteStream } from "node:fs";
import { type FileHandle, mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { crc32, createInflateRaw, deflateRawSync } from "node:zlib";
import { sha256Hex } from "../../digest.ts";
import {
  ZIP_DIRECTORY_BYTES_MAX,
  ZIP_ENTRIES_MAX,
  ZIP_PATH_LENGTH_MAX,
  ZIP_RATIO_MAX,
  ZIP_RATIO_SLACK_BYTES,
  ZIP_UNPACKED_BYTES_MAX,
} from "../../limits.ts";
import { listDirectory } from "../folders/directory-listing.ts";

/** An archive that is refused; the message says why. */
export class BadZipError extends Error {
  override readonly name = "BadZipError";
}

interface ZipEntry {
  readonly path: string;
  readonly isFolder: boolean;
  readonly isExecutable: boolean;
  readonly isDeflated: boolean;
  readonly packedBytes: number;
  readonly sizeBytes: number;
  readonly crc: number;
  /** Place of the local header. */
  readonly offset: number;
}

const END = 0x06054b50;
const END_RECORD_BYTES = 22;
const COMMENT_BYTES_MAX = 65_535;
const END_64 = 0x06064b50;
const LOCATOR_64 = 0x07064b50;
const LOCATOR_BYTES = 20;
const ENTRY = 0x02014b50;
const ENTRY_BYTES = 46;
const LOCAL = 0x04034b50;
const LOCAL_BYTES = 30;
const UTF8_FLAG = 0x800;
const ENCRYPTED_FLAG = 0x1;
const STORED = 0;
const DEFLATED = 8;
const KIND_OF_MODE = 0o170000;
const FOLDER = 0o040000;
const FILE = 0o100000;
const IN_EXTENSION_16 = 0xffff;
const IN_EXTENSION_32 = 0xffffffff;

/**
 * Makes the folder `to` from an archive, in one step. Resolves with the sum of the files in bytes.
 *
 * @throws BadZipError for an archive that is damaged, too large, or names a place outside of the folder
 */
export async function unpackZip(file: string, to: string): Promise<number> {
  const fresh = `${to}.${process.pid}-${Math.random().toString(36).slice(2)}.new`;
  const handle = await open(file, "r");
  try {
    const { size } = await handle.stat();
    const entries = await readDirectory(handle, size);
    await mkdir(fresh, { recursive: true, mode: 0o700 });
    for (const entry of entries) {
      const path = join(fresh, entry.path);
      await mkdir(entry.isFolder ? path : dirname(path), { recursive: true });
      if (!entry.isFolder) await unpackEntry({ file, handle, size }, entry, path);
    }
    await rename(fresh, to);
    return entries.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  } finally {
    await handle.close();
    await rm(fresh, { recursive: true, force: true });
  }
}

async function readDirectory(handle: FileHandle, size: number): Promise<ZipEntry[]> {
  const { count, offset, bytes } = await findDirectory(handle, size);
  if (count > ZIP_ENTRIES_MAX) throw new BadZipError(`it has ${count} entries: ${ZIP_ENTRIES_MAX} are the most`);
  if (bytes > ZIP_DIRECTORY_BYTES_MAX) throw new BadZipError("its directory is too large");
  if (offset + bytes > size) throw new BadZipError("its directory lies outside of it");
  const directory = await readAt(handle, offset, bytes);
  const entries: ZipEntry[] = [];
  const names = new Names();
  let total = 0;
  for (let at = 0; entries.length < count; ) {
    if (at + ENTRY_BYTES > bytes || directory.readUInt32LE(at) !== ENTRY) throw new BadZipError("its directory is damaged");
    const entry = readEntry(directory, at);
    names.add(entry);
    total += entry.sizeBytes;
    if (total > ZIP_UNPACKED_BYTES_MAX) throw new BadZipError(`its files have more than ${ZIP_UNPACKED_BYTES_MAX} bytes`);
    entries.push(entry);
    at += ENTRY_BYTES + directory.readUInt16LE(at + 28) + directory.readUInt16LE(at + 30) + directory.readUInt16LE(at + 32);
  }
  if (total > size * ZIP_RATIO_MAX + ZIP_RATIO_SLACK_BYTES)
    throw new BadZipError(`its files have ${total} bytes, more than ${ZIP_RATIO_MAX} times its own`);
  return entries;
}

async function findDirectory(handle: FileHandle, size: number): Promise<{ count: number; offset: number; bytes: number }> {
  const begin = Math.max(0, size - END_RECORD_BYTES - COMMENT_BYTES_MAX);
  const tail = await readAt(handle, begin, size - begin);
  for (let at = tail.length - END_RECORD_BYTES; at >= 0; at -= 1) {
    if (tail.readUInt32LE(at) !== END) continue;
    const count = tail.readUInt16LE(at + 10);
    const bytes = tail.readUInt32LE(at + 12);
    const offset = tail.readUInt32LE(at + 16);
    if (count !== IN_EXTENSION_16 && offset !== IN_EXTENSION_32 && bytes !== IN_EXTENSION_32) return { count, offset, bytes };
    const found = await findDirectory64(handle, size, begin + at - LOCATOR_BYTES);
    return found ?? { count, offset, bytes };
  }
  throw new BadZipError("it is no zip archive, or its end is missing");
}

async function findDirectory64(
  handle: FileHandle,
  size: number,
  at: number,
): Promise<{ count: number; offset: number; bytes: number } | undefined> {
  if (at < 0) return undefined;
  const locator = await readAt(handle, at, LOCATOR_BYTES);
  if (locator.readUInt32LE(0) !== LOCATOR_64) return undefined;
  const place = Number(locator.readBigUInt64LE(8));
  if (!(place + 56 <= size)) throw new BadZipError("its directory lies outside of it");
  const record = await readAt(handle, place, 56);
  if (record.readUInt32LE(0) !== END_64) throw new BadZipError("its directory is damaged");
  return {
    count: Number(record.readBigUInt64LE(32)),
    bytes: Number(record.readBigUInt64LE(40)),
    offset: Number(record.readBigUInt64LE(48)),
  };
}

function readEntry(directory: Buffer, at: number): ZipEntry {
  const flags = directory.readUInt16LE(at + 8);
  const method = directory.readUInt16LE(at + 10);
  const nameEnd = at + ENTRY_BYTES + directory.readUInt16LE(at + 28);
  const name = readName(directory.subarray(at + ENTRY_BYTES, nameEnd));
  const mode = directory.readUInt32LE(at + 38) >>> 16;
  const kind = mode & KIND_OF_MODE;
  const isFolder = name.endsWith("/");
  const refuse = (what: string): never => {
    throw new BadZipError(`its entry ${JSON.stringify(name.slice(0, 200))} ${what}`);
  };
  if ((flags & ENCRYPTED_FLAG) !== 0) refuse("is encrypted");
  if (kind !== 0 && kind !== (isFolder ? FOLDER : FILE)) refuse("is a link, or neither file nor folder");
  if (method !== STORED && method !== DEFLATED) refuse(`is packed by the method ${method}, which is not supported`);
  const path = isFolder ? name.slice(0, -1) : name;
  if (!isInside(path)) refuse("leads out of the folder");
  const packedBytes = directory.readUInt32LE(at + 20);
  const sizeBytes = directory.readUInt32LE(at + 24);
  const offset = directory.readUInt32LE(at + 42);
  if ([packedBytes, sizeBytes, offset].includes(IN_EXTENSION_32)) refuse("is too large");
  if (isFolder && sizeBytes !== 0) refuse("is a folder with content");
  return {
    path,
    isFolder,
    isExecutable: (mode & 0o111) !== 0,
    isDeflated: method === DEFLATED,
    packedBytes,
    sizeBytes,
    crc: directory.readUInt32LE(at + 16),
    offset,
  };
}

function readName(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new BadZipError("it has a name that is not UTF-8");
  }
}

/** Relative, in its shortest form, and nowhere upwards. */
function isInside(path: string): boolean {
  if (path === "" || path.length > ZIP_PATH_LENGTH_MAX || /[\0\\]/.test(path) || /^[A-Za-z]:/.test(path)) return false;
  return path.split("/").every((part) => part !== "" && part !== "." && part !== "..");
}

/** No path occurs twice, and no file is the folder of another. */
class Names {
  readonly #files = new Set<string>();
  readonly #folders = new Set<string>();

  add({ path, isFolder }: ZipEntry): void {
    if (this.#files.has(path) || (!isFolder && this.#folders.has(path)))
      throw new BadZipError(`it has ${JSON.stringify(path.slice(0, 200))} twice`);
    if (isFolder) this.#folders.add(path);
    else this.#files.add(path);
    for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1)) {
      const folder = path.slice(0, end);
      if (this.#files.has(folder)) throw new BadZipError(`its file ${JSON.stringify(folder.slice(0, 200))} is a folder, too`);
      if (this.#folders.has(folder)) return;
      this.#folders.add(folder);
    }
  }
}

async function unpackEntry(archive: { file: string; handle: FileHandle; size: number }, entry: ZipEntry, path: string): Promise<void> {
  const damaged = (what: string): BadZipError => new BadZipError(`its file ${JSON.stringify(entry.path.slice(0, 200))} ${what}`);
  if (entry.offset + LOCAL_BYTES > archive.size) throw damaged("lies outside of it");
  const local = await readAt(archive.handle, entry.offset, LOCAL_BYTES);
  if (local.readUInt32LE(0) !== LOCAL) throw damaged("is damaged");
  const begin = entry.offset + LOCAL_BYTES + local.readUInt16LE(26) + local.readUInt16LE(28);
  if (begin + entry.packedBytes > archive.size) throw damaged("lies outside of it");
  let size = 0;
  let crc = 0;
  const checked = new Transform({
    transform: (piece: Buffer, _encoding, done) => {
      size += piece.length;
      crc = crc32(piece, crc);
      if (size > entry.sizeBytes) done(damaged("is larger than it says"));
      else done(null, piece);
    },
  });
  const target = createWriteStream(path, { flags: "wx", mode: entry.isExecutable ? 0o755 : 0o644 });
  const isEmpty = entry.packedBytes === 0;
  const source = isEmpty ? Readable.from([]) : createReadStream(archive.file, { start: begin, end: begin + entry.packedBytes - 1 });
  try {
    if (entry.isDeflated && !isEmpty) await pipeline(source, createInflateRaw(), checked, target);
    else await pipeline(source, checked, target);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    throw code.startsWith("Z_") ? damaged("cannot be unpacked") : error;
  } finally {
    source.destroy();
  }
  if (size !== entry.sizeBytes || crc !== entry.crc) throw damaged("is not what its checksum says");
}

async function readAt(handle: FileHandle, offset: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length; ) {
    const { bytesRead } = await handle.read(bytes, at, length - at, offset + at);
    if (bytesRead === 0) throw new BadZipError("its end is missing");
    at += bytesRead;
  }
  return bytes;
}

// ---- writing

/** Limits on a folder that is packed. */
interface ZipLimits {
  readonly sizeBytesMax: number;
  readonly filesMax: number;
}

/**
 * Packs a folder by the rules in `.gitignore` and `.shoalignore`, without `node_modules` and `.git`. Equal files give equal bytes. The
 * archive is made in memory.
 *
 * @throws RangeError for a folder that is too large, or has links
 */
export async function packZip(directory: string, limits: ZipLimits): Promise<{ bytes: Buffer; sha256: string }> {
  const listed = listDirectory({ from: directory, excludes: [], ...limits }).sort((a, b) => (a.path < b.path ? -1 : 1));
  const pieces: Buffer[] = [];
  const rows: Buffer[] = [];
  let offset = 0;
  for (const { path, kind, isExecutable } of listed) {
    if (kind === "link")
      throw new RangeError(`Cannot pack ${directory}: ${path} is a link: received a folder with links. Exclude it by a .shoalignore file.`);
    // A file that has gone meanwhile is left out.
    const content = kind === "folder" ? Buffer.alloc(0) : await readFile(join(directory, path)).catch(() => undefined);
    if (content === undefined) continue;
    const packed = deflateRawSync(content, { level: 6 });
    const isDeflated = packed.length < content.length;
    const data = isDeflated ? packed : content;
    const name = Buffer.from(kind === "folder" ? `${path}/` : path);
    const mode = kind === "folder" ? FOLDER | 0o755 : FILE | (isExecutable ? 0o755 : 0o644);
    const facts = factsOf({
      method: isDeflated ? DEFLATED : STORED,
      crc: crc32(content),
      packedBytes: data.length,
      sizeBytes: content.length,
      name,
    });
    const local = Buffer.concat([signature(LOCAL), facts, Buffer.alloc(2), name]);
    const row = Buffer.concat([signature(ENTRY), Buffer.from([20, 3]), facts, Buffer.alloc(16), name]);
    row.writeUInt32LE(mode * 65_536, 38);
    row.writeUInt32LE(offset, 42);
    pieces.push(local, data);
    rows.push(row);
    offset += local.length + data.length;
  }
  const directoryBytes = Buffer.concat(rows);
  const end = Buffer.alloc(END_RECORD_BYTES);
  end.writeUInt32LE(END, 0);
  end.writeUInt16LE(rows.length, 8);
  end.writeUInt16LE(rows.length, 10);
  end.writeUInt32LE(directoryBytes.length, 12);
  end.writeUInt32LE(offset, 16);
  const bytes = Buffer.concat([...pieces, directoryBytes, end]);
  return { bytes, sha256: sha256Hex(bytes) };
}

function signature(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

/** The fields that a local header and a row of the directory have in common, from the version to the name's length. */
function factsOf({
  method,
  crc,
  packedBytes,
  sizeBytes,
  name,
}: {
  method: number;
  crc: number;
  packedBytes: number;
  sizeBytes: number;
  name: Buffer;
}): Buffer {
  const bytes = Buffer.alloc(24);
  bytes.writeUInt16LE(20, 0);
  bytes.writeUInt16LE(UTF8_FLAG, 2);
  bytes.writeUInt16LE(method, 4);
  // The first day that the format knows: times are no part of the content.
  bytes.writeUInt16LE(0x21, 8);
  bytes.writeUInt32LE(crc, 10);
  bytes.writeUInt32LE(packedBytes, 14);
  bytes.writeUInt32LE(sizeBytes, 18);
  bytes.writeUInt16LE(name.length, 22);
  return bytes;
}
