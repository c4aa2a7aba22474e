/**
 * Limits of what processes send each other, which sender and receiver have to agree on. Those of the value format are in `value/limits.ts`.
 */

/** Larger values travel through the object store; what is left is definitions and lists of refs. */
export const FRAME_SIZE_MAX = 256 * 1024 * 1024;
/** What one record of the head may take. Larger arguments and captured buffers lie in the object store, and are only named in it. */
export const RECORD_BYTES_MAX = 8 * 1024 * 1024;
/** What a value of a program's table may take: it is kept in the head's memory, and in its store. */
export const KEY_VALUE_BYTES_MAX = 1024 * 1024;
