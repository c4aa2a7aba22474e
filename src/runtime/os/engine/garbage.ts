/**
 * When V8 collects.
 *
 * Makes V8 collect: a store under pressure needs to know which objects were dropped, and an idle process never collects by itself. Makes it
 * collect less often while gigabytes of arrays pass through a small heap.
 */
import vm from "node:vm";

/** Arrays and objects that may be new since the last collection of a small heap. */
const GROWTH_BYTES = 128 * 1024 * 1024;
/** Size of objects, without the memory behind arrays. Larger heaps grow by as much before V8 collects them. */
const SMALL_HEAP_BYTES = GROWTH_BYTES / 2;

let collect: ((options?: { readonly type: "minor" }) => void) | undefined;

/**
 * Makes a full collection: some 30 ms for a heap of ordinary size.
 *
 * @returns the bytes of the heap that are in use afterwards
 */
export function collectGarbage(): number {
  collector()();
  return process.getBuiltinModule("node:v8").getHeapStatistics().used_heap_size;
}

/** Collects young objects alone. The size of the heap does not matter: some 0.5 ms. */
export function collectYoungGarbage(): void {
  collector()({ type: "minor" });
}

function collector(): (options?: { readonly type: "minor" }) => void {
  if (collect === undefined) {
    const v8 = process.getBuiltinModule("node:v8");
    v8.setFlagsFromString("--expose-gc");
    collect = vm.runInNewContext("gc") as (options?: { readonly type: "minor" }) => void;
    v8.setFlagsFromString("--no-expose-gc");
  }
  return collect;
}

const growths = new Set<HeapGrowth>();

/** Interrupted code has disposed of nothing. Other code then collects more often than needed. */
export function endHeapGrowths(): void {
  for (const growth of growths) growth[Symbol.dispose]();
}

/**
 * Lets the heap grow by 128 MB between two collections, until it is disposed of, as long as it is small.
 *
 * V8 counts the memory behind new arrays towards a growth that is limited to a part of the heap. A heap of 12 MB through which half a
 * gigabyte passes a second is collected thirty times meanwhile, for a third of the processor time. V8 takes no limit in bytes, so it gets a
 * factor, which `refresh` makes fit the heap again.
 */
export class HeapGrowth {
  constructor() {
    growths.add(this);
    this.refresh();
  }

  refresh(): void {
    if (!growths.has(this)) return;
    const { getHeapStatistics } = process.getBuiltinModule("node:v8");
    const heapBytes = getHeapStatistics().used_heap_size;
    setGrowth(heapBytes < SMALL_HEAP_BYTES ? Math.round((100 * GROWTH_BYTES) / heapBytes) : 0);
  }

  [Symbol.dispose](): void {
    if (growths.delete(this) && growths.size === 0) setGrowth(0);
  }
}

/**
 * Without a flag V8 also collects whenever arrays have grown by 64 MB since the last collection, even if most of that is freed soon. V8
 * before 13 has no such flag.
 */
const countsArraysApart = Number.parseInt(process.versions.v8, 10) >= 13;

/** @param percent - 0: as V8 sees fit */
function setGrowth(percent: number): void {
  const { setFlagsFromString } = process.getBuiltinModule("node:v8");
  setFlagsFromString(`--heap-growing-percent=${percent}`);
  if (countsArraysApart) setFlagsFromString(`--${percent === 0 ? "no-" : ""}external-memory-accounted-in-global-limit`);
}
