/**
 * The numeric kernels and the memory on which they work.
 *
 * Decides which build of native/kernels.c this process uses, and owns the instance. Both builds have one interface: arguments are words in the memory,
 * offsets are bytes from its start, and a kernel whose ranges leave the memory throws before it writes.
 */
import { KERNELS_WASM } from "./kernels-wasm.ts";

/** The names of the functions in native/kernels.h. */
const KERNEL_NAMES = [
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
  "sumSquares",
  "adam",
] as const;

type Kernels = Readonly<Record<(typeof KERNEL_NAMES)[number], () => void>>;

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

interface WebAssemblyMemory {
  readonly buffer: ArrayBuffer;
  grow(pages: number): number;
}
/** The part of the global that is used here: neither the library of ES2024 nor the types of Node declare it. */
interface WebAssemblyGlobal {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object) => { exports: Record<string, unknown> };
}

const WASM_PAGE_BYTES = 65_536;

/** WebAssembly SIMD, from the text in this package: no file is read, and browsers have it, too. */
export function wasmBuild(): KernelBuild {
  const { Module, Instance } = (globalThis as unknown as { WebAssembly: WebAssemblyGlobal }).WebAssembly;
  const { exports } = new Instance(new Module(Uint8Array.from(atob(KERNELS_WASM), (letter) => letter.charCodeAt(0))));
  const memory = exports["memory"] as WebAssemblyMemory;
  return {
    name: "wasm",
    kernels: exports as unknown as Kernels,
    words: (exports["words"] as () => number)(),
    start: (exports["__heap_base"] as { value: number }).value,
    buffer: () => memory.buffer,
    grow(sizeBytes) {
      const missing = sizeBytes - memory.buffer.byteLength;
      if (missing > 0) memory.grow(Math.ceil(missing / WASM_PAGE_BYTES));
    },
  };
}
