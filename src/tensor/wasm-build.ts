/** The kernels as WebAssembly SIMD, for browsers and for platforms without the native build. */
import { KERNELS_WASM } from "./kernels-wasm.ts";
import type { KernelBuild, Kernels } from "./kernels.ts";

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
