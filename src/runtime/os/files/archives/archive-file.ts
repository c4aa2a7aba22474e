/**
 * Takes one file out of an archive, found by its name: zip (a wheel is one), tar, and either inside gzip.
 *
 * Small, and only for archives whose checksum was verified before: reads in memory and writes nothing. A file that is no archive is
 * returned as it is.
 */
import { gunzipSync, inflateRawSync } from "node:zlib";

const ZIP_END = 0x06054b50;
const ZIP_ENTRY = 0x02014b50;
const TAR_BLOCK = 512;
/** Bounds the unpacked size. Programs unpack to a few tens of megabytes, so a larger archive is the wrong one. */
const UNPACKED_BYTES_MAX = 256 * 1024 * 1024;

/** @throws Error when the archive has no such file, or cannot be read */
export function fileInArchive(archive: Uint8Array, name: RegExp): Uint8Array {
  let bytes = Buffer.from(archive.buffer, archive.byteOffset, archive.byteLength);
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) bytes = gunzipSync(bytes, { maxOutputLength: UNPACKED_BYTES_MAX });
  if (bytes.length > 4 && bytes.readUInt32LE(0) === 0x04034b50) return inZip(bytes, name);
  if (bytes.toString("latin1", 257, 262) === "ustar") return inTar(bytes, name);
  return bytes;
}

function inZip(bytes: Buffer, name: RegExp): Uint8Array {
  let end = bytes.length - 22;
  while (end >= 0 && bytes.readUInt32LE(end) !== ZIP_END) end -= 1;
  if (end < 0) throw new Error("the zip archive has no end");
  let at = bytes.readUInt32LE(end + 16);
  for (let left = bytes.readUInt16LE(end + 10); left > 0; left -= 1) {
    if (bytes.readUInt32LE(at) !== ZIP_ENTRY) throw new Error("the zip archive is damaged");
    const nameLength = bytes.readUInt16LE(at + 28);
    if (name.test(bytes.toString("utf8", at + 46, at + 46 + nameLength))) {
      const local = bytes.readUInt32LE(at + 42);
      const start = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
      const packed = bytes.subarray(start, start + bytes.readUInt32LE(at + 20));
      return bytes.readUInt16LE(at + 10) === 0 ? packed : inflateRawSync(packed, { maxOutputLength: UNPACKED_BYTES_MAX });
    }
    at += 46 + nameLength + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32);
  }
  throw new Error("the archive does not hold it");
}

function inTar(bytes: Buffer, name: RegExp): Uint8Array {
  for (let at = 0; at + TAR_BLOCK <= bytes.length && bytes[at] !== 0; ) {
    const field = (from: number, length: number): string => bytes.toString("utf8", at + from, at + from + length).replace(/\0.*$/s, "");
    const size = Number.parseInt(field(124, 12).trim(), 8);
    if (!(size >= 0)) throw new Error("the tar archive is damaged");
    const isFile = field(156, 1) === "0" || field(156, 1) === "";
    const prefix = field(345, 155);
    const start = at + TAR_BLOCK;
    if (isFile && name.test(prefix === "" ? field(0, 100) : `${prefix}/${field(0, 100)}`)) return bytes.subarray(start, start + size);
    at = start + Math.ceil(size / TAR_BLOCK) * TAR_BLOCK;
  }
  throw new Error("the archive does not hold it");
}
