/**
 * The limits of one value, each with its reason.
 *
 * The encoder refuses what is above them, by name and path; the decoder takes nothing that is, whoever wrote it.
 * Invariant: everything that the encoder writes within its limits, the decoder reads within its own.
 */

/**
 * Buffers from this size on are passed by reference and written next to the value, so that a reader can use them where they lie. Below it
 * a copy costs less (0.2 us) than one more part of a message.
 */
export const OUT_OF_BAND_BYTES = 4096;

/**
 * Containers inside containers. Both directions recurse, as an explicit stack would make small values slower; before V8 has optimised
 * anything, the default stack (984 KB) holds 750 levels of errors, the form that takes most of it, and 1,500 of objects. What is deeper is
 * refused here, and left to the closure graph, which carries any depth.
 */
export const DEPTH_MAX = 500;

/** The decoder counts the parts of some forms as levels of their own, and must read all that was written. */
export const DECODE_DEPTH_MAX = DEPTH_MAX * 2;

/** In-band bytes of one value: what is larger belongs into buffers. Above it V8's strings and Node's buffers come to their own limits. */
export const IN_BAND_BYTES_MAX = 1024 * 1024 * 1024;

/** Scratch memory that one large value left behind is given back when it exceeds this. */
export const SCRATCH_KEPT_BYTES = 4 * 1024 * 1024;

/** Kinds of custom forms: one byte would do for 256, the rest is kept for later versions. */
export const CUSTOM_KINDS_MAX = 64;

/** How many steps of a path are kept: a message is read by people. */
export const PATH_STEPS_MAX = 32;

/** Whether V8 ran out of stack: callers deep in their own recursion leave less than {@link DEPTH_MAX} levels need. */
export function isStackOverflow(error: unknown): boolean {
  return error instanceof RangeError && error.message === "Maximum call stack size exceeded";
}
