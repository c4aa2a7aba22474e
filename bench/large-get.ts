/**
 * Reads objects of 100 MB in a process that did not write them, and returns the cost of each: the time until the array is there, and the
 * private memory that the process gained. A copy shows as 100 MB of private (anonymous) memory; a mapping shows as none. The kernel counts,
 * so the runtime's own word does not matter. Called by the two figures of large gets; `ray/large_get.py` is the twin.
 */
import { readFileSync } from "node:fs";
import { get, type ObjectRef, put, remote } from "shoal";
import type { Plan } from "./figure.ts";

const OBJECT_SIZE_BYTES = 100_000_000;

interface LargeRead {
  readonly getMs: number;
  /** Anonymous memory that the process gained by get and by one pass over the data, in MB (10^6 bytes). */
  readonly copiedMegabytes: number;
  readonly firstPassMs: number;
  readonly sum: number;
}

class Reader {
  anonymousBytes(): number {
    const match = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8"));
    if (match?.[1] === undefined) throw new Error("Cannot count copied bytes: /proc/self/status has no RssAnon");
    return Number(match[1]) * 1024;
  }

  async read(refs: [ObjectRef<Float64Array>]): Promise<LargeRead> {
    const anonymousBytesBefore = this.anonymousBytes();
    const startMs = performance.now();
    const array = await get(refs[0]);
    const gotMs = performance.now();
    let sum = 0;
    for (let index = 0; index < array.length; index++) sum += array[index]!;
    const readMs = performance.now();
    const gainedBytes = this.anonymousBytes() - anonymousBytesBefore;
    return {
      getMs: gotMs - startMs,
      copiedMegabytes: Math.max(0, gainedBytes / 1e6),
      firstPassMs: readMs - gotMs,
      sum,
    };
  }
}

/** The first reading warms the reader up and is left out. */
export async function readLargeObjects(plan: Plan): Promise<LargeRead[]> {
  const readsCount = plan.quick ? 3 : 8;
  const reader = remote(Reader).remote();
  const source = new Float64Array(OBJECT_SIZE_BYTES / 8).fill(1);
  const reads: LargeRead[] = [];
  for (let index = 0; index <= readsCount; index++) {
    using ref = put(source);
    const read = await get(reader.read.remote([ref]));
    if (read.sum !== source.length) throw new Error(`Cannot trust the reading: the sum is ${read.sum}`);
    if (index > 0) reads.push(read);
  }
  return reads;
}
