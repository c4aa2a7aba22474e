/** Limits of reading and writing files. */

/** Read at once: large enough that a call costs little, small enough for many files at the same time. */
export const READ_CHUNK_BYTES: number = 1024 * 1024;
/** Given out at once by decompression. */
export const INFLATED_CHUNK_BYTES: number = 256 * 1024;
/** Of a file that is read whole, after decompression: what one column of bytes holds. */
export const WHOLE_FILE_BYTES_MAX = 0x7fffffff;
