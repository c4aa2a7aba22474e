/**
 * Puts the same array of 100 Mi doubles (839 MB) again and again; the rate is in gigabytes per second. Called by the two figures of large
 * puts, which differ only in the array's content. Each ref is disposed at once, as Ray's reference count frees its own, so that the store
 * holds one object at a time on both sides.
 *
 * Every put is a sample, and the value is the median put. A put into pages of shared memory that were never used waits for the kernel to
 * clear them (measured on Ray: 0.4 to 2.5 GB/s against 20). Such puts come by chance, so a mean over a window says how many there were. The
 * mean over all puts stands beside it, and the first one alone.
 */
import { put } from "shoal";
import type { Measurement, Plan } from "./figure.ts";
import { nextTurn } from "./throughput.ts";

const ELEMENTS_COUNT = 100 * 1024 * 1024;
/** Enough for the median to be a put into used pages: of Ray's first 16, a third met new ones. */
const PUTS_MIN = 16;

export function newLargeArray(): Float64Array {
  return new Float64Array(ELEMENTS_COUNT);
}

export async function putGigabytesPerSecond(array: Float64Array, plan: Plan): Promise<Measurement> {
  const gigabytes = array.byteLength / 1e9;
  const samples: number[] = [];
  const startMs = performance.now();
  let elapsedMs = 0;
  while (samples.length < PUTS_MIN || elapsedMs < plan.windowMs * plan.windows) {
    const putStartMs = performance.now();
    put(array)[Symbol.dispose]();
    await nextTurn();
    samples.push((gigabytes * 1000) / (performance.now() - putStartMs));
    elapsedMs = performance.now() - startMs;
  }
  const details = {
    firstPutGigabytesPerSecond: samples[0] ?? 0,
    meanGigabytesPerSecond: (samples.length * gigabytes * 1000) / elapsedMs,
  };
  return { samples, details };
}
