/**
 * Blocks of compressed bytes in memory, as formats keep them inside their files: deflate without a header, and Zstandard.
 *
 * The size of the result is limited before the bytes are unpacked, so that a small block cannot fill the memory.
 */
import { crc32 as zlibCrc32, inflateRawSync, zstdDecompressSync } from "node:zlib";

/** @throws an error of zlib's for damaged bytes, and for more than `bytesMax` bytes */
export function inflateRaw(bytes: Uint8Array, bytesMax: number): Uint8Array {
  return inflateRawSync(bytes, { maxOutputLength: bytesMax });
}

/** @throws an error of zlib's for damaged bytes, and for more than `bytesMax` bytes */
export function inflateZstd(bytes: Uint8Array, bytesMax: number): Uint8Array {
  return zstdDecompressSync(bytes, { maxOutputLength: bytesMax });
}

/** The checksum of zip files and of Snappy's blocks in Avro. */
export function crc32(bytes: Uint8Array): number {
  return zlibCrc32(bytes);
}
