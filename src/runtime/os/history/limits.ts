/** Limits on the history of a node in files. */

/** Bytes of a segment, and time, after which a new one begins. */
export const SEGMENT_BYTES_MAX: number = 32 * 1024 * 1024;
export const SEGMENT_MS_MAX = 3_600_000;
/** History of a run on one machine that is kept, and for how long. */
export const HISTORY_BYTES_MAX: number = 512 * 1024 * 1024;
export const HISTORY_KEPT_MS: number = 7 * 86_400_000;
/** Bytes of blocks that wait for the disk. Blocks beyond are counted and lost. */
export const UNWRITTEN_HISTORY_BYTES_MAX: number = 32 * 1024 * 1024;
/** Time until a disk that refused a block is tried again. */
export const HISTORY_RETRY_MS = 10_000;
/** Largest block when it is read, as written and unpacked. */
export const BLOCK_BYTES_MAX: number = 64 * 1024 * 1024;
