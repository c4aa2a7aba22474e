/**
 * Five times the object store's size goes through the store and is read again. Objects of 10 MB are put and kept, then each is got in
 * order, and a number from each page is added up. The rate counts every byte twice, once written and once read. The store is made small
 * here, so that the round does not depend on the machine's memory; the disk is the one of the temporary folder on both sides.
 */
import { get, init, type ObjectRef, objectStoreStatistics, put, shutdown } from "shoal";
import type { DriverFigure } from "../figure.ts";
import { nextTurn } from "../throughput.ts";

const STORE_BYTES = 200_000_000;
const OBJECT_BYTES = 10_000_000;
const PAGE_NUMBERS = 512;

export const figure: DriverFigure = {
  where: "driver",
  name: "spill-and-read",
  title: "five times the store, put and read again",
  unit: "GB/s",
  higherIsBetter: true,
  goal: null,
  floor: null,
  roundsMax: 3,
  note: "both through the page cache of the spill disk: nothing waits for the disk itself",
  async run(plan) {
    await shutdown();
    await init({ objectStoreMemoryBytes: STORE_BYTES });
    const count = ((plan.quick ? 2 : 5) * STORE_BYTES) / OBJECT_BYTES;
    const source = new Float64Array(OBJECT_BYTES / 8);
    const startMs = performance.now();
    const refs: ObjectRef<Float64Array>[] = [];
    for (let index = 0; index < count; index += 1) {
      source.fill(index);
      refs.push(put(source));
      await nextTurn();
    }
    const putMs = performance.now();
    for (const [index, ref] of refs.entries()) {
      const sum = sumOfPages(await get(ref));
      if (sum !== index * Math.ceil(source.length / PAGE_NUMBERS))
        throw new Error(`Cannot trust the reading: object ${index} sums up to ${sum}`);
    }
    const endMs = performance.now();
    const gigabytes = (count * OBJECT_BYTES) / 1e9;
    const { spilledBytes } = await objectStoreStatistics();
    for (const ref of refs) ref[Symbol.dispose]();
    return {
      samples: [(2 * gigabytes * 1000) / (endMs - startMs)],
      details: {
        putGigabytesPerSecond: (gigabytes * 1000) / (putMs - startMs),
        getGigabytesPerSecond: (gigabytes * 1000) / (endMs - putMs),
        spilledMegabytes: Math.round(spilledBytes / 1e6),
      },
    };
  },
};

function sumOfPages(array: Float64Array): number {
  let sum = 0;
  for (let at = 0; at < array.length; at += PAGE_NUMBERS) sum += array[at] ?? 0;
  return sum;
}
