/**
 * Compression by extension: which streams of Node a file passes through when it is read or written.
 *
 * `.gz`, `.br`, `.zst` and `.deflate` (with zlib's header); other files are taken as they are.
 */
import type { Transform } from "node:stream";
import {
  createBrotliCompress,
  createBrotliDecompress,
  createDeflate,
  createGunzip,
  createGzip,
  createInflate,
  createZstdCompress,
  createZstdDecompress,
} from "node:zlib";
import { INFLATED_CHUNK_BYTES } from "../limits.ts";

export interface Compression {
  readonly compress: () => Transform;
  /** `bytesWritten` counts the file's bytes that have been decompressed. */
  readonly decompress: () => Transform & { readonly bytesWritten: number };
  /** The data are frames of Zstandard, which the decoder takes one by one. */
  readonly isFramed?: boolean;
  /** Zeros may follow the data, as on tapes, whose blocks they fill. */
  readonly mayBePadded?: boolean;
}

const chunkSize = INFLATED_CHUNK_BYTES;

/** Read when they are needed: of this module of Node the package imports functions alone, which load it when they are called. */
const constants = () => process.getBuiltinModule("node:zlib").constants;

const BY_EXTENSION: Readonly<Record<string, Compression>> = {
  gz: { compress: () => createGzip({ chunkSize }), decompress: () => createGunzip({ chunkSize }), mayBePadded: true },
  deflate: { compress: () => createDeflate({ chunkSize }), decompress: () => createInflate({ chunkSize }) },
  zst: {
    // With a checksum, as the program zstd writes it: without one, damaged data may be read as if it were whole.
    compress: () => createZstdCompress({ chunkSize, params: { [constants().ZSTD_c_checksumFlag]: 1 } }),
    decompress: () => createZstdDecompress({ chunkSize }),
    isFramed: true,
  },
  br: {
    // The default, 11, is for files that are written once and served for years.
    compress: () => createBrotliCompress({ chunkSize, params: { [constants().BROTLI_PARAM_QUALITY]: 5 } }),
    decompress: () => createBrotliDecompress({ chunkSize }),
  },
};

/** Compression by the file's name; undefined without one. */
export function compressionOf(path: string): Compression | undefined {
  const extension = path.slice(path.lastIndexOf(".") + 1).toLowerCase();
  return Object.hasOwn(BY_EXTENSION, extension) ? BY_EXTENSION[extension] : undefined;
}
