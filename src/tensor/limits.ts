/** Limits of the arena in which tensors lie. */

/** An offset is a word of 32 bits, and a memory of WebAssembly ends before 4 GiB. */
export const ARENA_BYTES_MAX = 0xffff_0000;
/** The first segment of the stack: a step of a small network fits, so that most programs have one. */
export const SEGMENT_BYTES_MIN: number = 1024 * 1024;
/** The native arena at first; pages that are never written take no memory. */
export const NATIVE_BYTES_AT_FIRST: number = 16 * 1024 * 1024;
/** A header of safetensors names tensors; the format's own readers have the same limit. */
export const HEADER_BYTES_MAX = 100_000_000;
