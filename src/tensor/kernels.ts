/**
 * The interface of the numeric kernels and of the memory on which they work, which both builds of native/kernels.c have.
 *
 * Arguments are words in the memory, and offsets are bytes from its start.
 * A kernel whose ranges leave the memory throws before it writes.
 */

/** The names of the functions in native/kernels.h. */
export const KERNEL_NAMES = [
  "matmul",
  "unary",
  "unaryGradient",
  "binary",
  "binaryGradient",
  "sum",
  "spread",
  "max",
  "softmax",
  "softmaxGradient",
  "rows",
  "addRows",
  "pick",
  "copy",
  "transpose",
  "normalize",
  "normalizeGradient",
  "patches",
  "sumSquares",
  "adam",
  "descend",
  "rmsProp",
] as const;

export type Kernels = Readonly<Record<(typeof KERNEL_NAMES)[number], () => void>>;

export interface KernelBuild {
  readonly name: "native" | "wasm";
  readonly kernels: Kernels;
  /** Where the words for arguments lie, in bytes. */
  readonly words: number;
  /** The first byte that kernels and their stack do not use themselves. */
  readonly start: number;
  readonly buffer: () => ArrayBuffer;
  /** Makes the memory at least so large, and keeps its numbers. Views of the buffer before are not valid any more. */
  grow(sizeBytes: number): void;
}
