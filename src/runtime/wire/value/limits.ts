/**
 * The limits of one value, each with its reason.
 *
 * The encoder refuses values above them, by name and path; the decoder refuses such bytes from anybody. Invariant: the decoder reads every
 * value that the encoder writes within its limits.
 */

/**
 * Buffers from this size on are passed by reference and written beside the value, so that a reader can use them in place. Below it a copy
 * costs less (0.2 us) than one more part of a message.
 */
export const OUT_OF_BAND_BYTES = 4096;

/**
 * Depth of nested containers. Both directions recurse, as an explicit stack would make small values slower. Before V8 has optimized
 * anything, the default stack (984 KB) holds 750 levels of errors, the largest form, and 1,500 of objects. Deeper values are refused here,
 * and left to the closure graph, which carries any depth.
 */
export const DEPTH_MAX = 500;

/** The decoder counts the parts of some forms as separate levels, and must read everything that was written. */
export const DECODE_DEPTH_MAX = DEPTH_MAX * 2;

/** In-band bytes of one value; larger content belongs in buffers. Above this, V8's strings and Node's buffers reach their own limits. */
export const IN_BAND_BYTES_MAX = 1024 * 1024 * 1024;

/** Scratch memory that one large value left behind is given back when it exceeds this. */
export const SCRATCH_KEPT_BYTES = 4 * 1024 * 1024;

/** Kinds of custom forms: one byte would do for 256, the rest is kept for later versions. */
export const CUSTOM_KINDS_MAX = 64;

/** How many steps of a path are kept: a message is read by people. */
export const PATH_STEPS_MAX = 32;

/** Whether V8 ran out of stack: deeply recursive callers leave less than {@link DEPTH_MAX} levels need. */
export function isStackOverflow(error: unknown): boolean {
  return error instanceof RangeError && error.message === "Maximum call stack size exceeded";
}
