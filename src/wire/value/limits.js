"use strict";
/**
 * The limits of one value, each with its reason.
 *
 * The encoder refuses what is above them, by name and path; the decoder takes nothing that is, whoever wrote it.
 * Invariant: everything that the encoder writes within its limits, the decoder reads within its own.
 */
Object.defineProperty(exports, "__esModule", { value: true });
exports.PATH_STEPS_MAX = exports.CUSTOM_KINDS_MAX = exports.SCRATCH_KEPT_BYTES = exports.IN_BAND_BYTES_MAX = exports.DECODE_DEPTH_MAX = exports.DEPTH_MAX = exports.OUT_OF_BAND_BYTES = void 0;
exports.isStackOverflow = isStackOverflow;
/**
 * Buffers from this size on are passed by reference and written next to the value, so that a reader can use them where they lie. Below it
 * a copy costs less (0.2 us) than one more part of a message.
 */
exports.OUT_OF_BAND_BYTES = 4096;
/**
 * Containers inside containers. Both directions recurse, as an explicit stack would make small values slower; before V8 has optimised
 * anything, the default stack (984 KB) holds 750 levels of errors, the form that takes most of it, and 1,500 of objects. What is deeper is
 * refused here, and left to the closure graph, which carries any depth.
 */
exports.DEPTH_MAX = 500;
/** The decoder counts the parts of some forms as levels of their own, and must read all that was written. */
exports.DECODE_DEPTH_MAX = exports.DEPTH_MAX * 2;
/** In-band bytes of one value: what is larger belongs into buffers. Above it V8's strings and Node's buffers come to their own limits. */
exports.IN_BAND_BYTES_MAX = 1024 * 1024 * 1024;
/** Scratch memory that one large value left behind is given back when it exceeds this. */
exports.SCRATCH_KEPT_BYTES = 4 * 1024 * 1024;
/** Kinds of custom forms: one byte would do for 256, the rest is kept for later versions. */
exports.CUSTOM_KINDS_MAX = 64;
/** How many steps of a path are kept: a message is read by people. */
exports.PATH_STEPS_MAX = 32;
/** Whether V8 ran out of stack: callers deep in their own recursion leave less than {@link DEPTH_MAX} levels need. */
function isStackOverflow(error) {
    return error instanceof RangeError && error.message === "Maximum call stack size exceeded";
}
//# sourceMappingURL=limits.js.map