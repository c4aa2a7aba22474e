/**
 * Limits of messages that sender and receiver have to agree on. Those of the value format are in `value/limits.ts`.
 */

/** Size of a frame. Larger values travel through the object store, so frames hold definitions and lists of refs. */
export const FRAME_SIZE_MAX = 256 * 1024 * 1024;
/** Size of a record of the head. Larger arguments and captured buffers are in the object store, and the record only names them. */
export const RECORD_BYTES_MAX = 8 * 1024 * 1024;
/** Size of a value in a program's table, which the head keeps in memory and in its store. */
export const KEY_VALUE_BYTES_MAX = 1024 * 1024;
