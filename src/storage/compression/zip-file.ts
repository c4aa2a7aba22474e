/**
 * The files in a zip archive in memory, stored or deflated, as NumPy writes them.
 *
 * The directory at the archive's end locates them. Each is decompressed on demand, to no more bytes than the directory states, and its
 * checksum is compared. Names are for messages and columns alone: nothing is unpacked to disk.
 */
import { crc32, inflateRawSync } from "node:zlib";
import { messageOf } from "../../core/internal.ts";
import { StorageError } from "../errors.ts";
import { WHOLE_FILE_BYTES_MAX } from "../limits.ts";

interface ZipEntry {
  readonly name: string;
  /** @throws StorageError where the data are damaged, encrypted, or compressed otherwise */
  bytes(): Uint8Array;
}

const END_BYTES = 22;
const COMMENT_BYTES_MAX = 0xffff;
const SIGNATURE = { end: 0x06054b50, entry: 0x02014b50, local: 0x04034b50 } as const;
/** Marks a 64-bit length that is stored in another field. */
const ELSEWHERE = 0xffffffff;

/**
 * The entries in the order of the directory, without folders.
 *
 * @param file - for messages
 * @throws StorageError for anything but a complete zip archive
 */
export function zipEntries(archive: Uint8Array, file: string): ZipEntry[] {
  const bytes = Buffer.from(archive.buffer, archive.byteOffset, archive.byteLength);
  const end = findEnd(bytes, file);
  const count = bytes.readUInt16LE(end + 10);
  let at = bytes.readUInt32LE(end + 16);
  const entries: ZipEntry[] = [];
  const sums = { packed: 0, inflated: 0 };
  for (let i = 0; i < count; i += 1) {
    if (at + 46 > end || bytes.readUInt32LE(at) !== SIGNATURE.entry)
      throw new StorageError(`${file}: the archive's directory is damaged at byte ${at}`);
    const nameLength = bytes.readUInt16LE(at + 28);
    const name = bytes.toString("utf8", at + 46, at + 46 + nameLength);
    const entry = at;
    // An entry of 64 bits is refused when it is read.
    const sizes = [bytes.readUInt32LE(at + 20), bytes.readUInt32LE(at + 24)] as const;
    if (!sizes.includes(ELSEWHERE)) {
      sums.packed += sizes[0];
      sums.inflated += sizes[1];
    }
    if (!name.endsWith("/")) entries.push({ name, bytes: () => contentsOf(bytes, entry, `${file}: ${name}`) });
    at += 46 + nameLength + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32);
  }
  if (sums.packed > bytes.length)
    throw new StorageError(`Cannot read ${file}: its entries share bytes: received ${sums.packed} bytes of entries in ${bytes.length}`, {
      hint: "write the archive again: no program for zip archives makes such a one",
    });
  if (sums.inflated > WHOLE_FILE_BYTES_MAX)
    throw new StorageError(`Cannot read ${file}: its entries are too large together: received ${sums.inflated} bytes`, {
      hint: `write archives of up to ${WHOLE_FILE_BYTES_MAX} bytes, before compression`,
    });
  return entries;
}

function findEnd(bytes: Buffer, file: string): number {
  for (let at = bytes.length - END_BYTES; at >= 0 && at >= bytes.length - END_BYTES - COMMENT_BYTES_MAX; at -= 1)
    if (bytes.readUInt32LE(at) === SIGNATURE.end) return at;
  throw new StorageError(`${file} is no zip archive, or is cut off: its ${bytes.length} bytes end without a directory`, {
    hint: "was it copied to its end?",
  });
}

function contentsOf(bytes: Buffer, entry: number, what: string): Uint8Array {
  const isEncrypted = (bytes.readUInt16LE(entry + 8) & 1) !== 0;
  const method = bytes.readUInt16LE(entry + 10);
  const [packedBytes, size, at] = [bytes.readUInt32LE(entry + 20), bytes.readUInt32LE(entry + 24), bytes.readUInt32LE(entry + 42)];
  if (isEncrypted) throw new StorageError(`${what} is encrypted`);
  if (method !== 0 && method !== 8) throw new StorageError(`${what} is compressed by method ${method}: only deflate is read`);
  if (size > WHOLE_FILE_BYTES_MAX || packedBytes === ELSEWHERE || at === ELSEWHERE)
    throw new StorageError(`${what} has more than ${WHOLE_FILE_BYTES_MAX} bytes`, { hint: "write it as a file of its own" });
  if (at + 30 > bytes.length || bytes.readUInt32LE(at) !== SIGNATURE.local) throw new StorageError(`${what}: damaged at byte ${at}`);
  const start = at + 30 + bytes.readUInt16LE(at + 26) + bytes.readUInt16LE(at + 28);
  if (start + packedBytes > bytes.length) throw new StorageError(`${what} goes to byte ${start + packedBytes}: cut off at ${bytes.length}`);
  const packed = bytes.subarray(start, start + packedBytes);
  const contents = method === 0 ? packed : inflated(packed, size, what);
  if (contents.length !== size || crc32(contents) !== bytes.readUInt32LE(entry + 16))
    throw new StorageError(`${what} is damaged: its checksum differs`);
  return contents;
}

function inflated(packed: Uint8Array, size: number, what: string): Uint8Array {
  try {
    return inflateRawSync(packed, { maxOutputLength: Math.max(1, size) });
  } catch (error) {
    throw new StorageError(`${what} is damaged: ${messageOf(error)}`, { cause: error });
  }
}
