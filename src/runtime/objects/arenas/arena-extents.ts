/**
 * Allocates the bytes of one arena in extents of whole pages: best fit over coalesced free extents, then fresh pages at the end.
 *
 * This bookkeeping alone keeps two objects from overlapping. An arena fills from the front, and its file ends at the high-water mark. So the file has no
 * holes: a write to a hole of a full file system in memory would kill the process. An extent never mixes recycled and fresh pages, because recycled pages
 * exist already and the system may refuse fresh ones. The arena writer owns each instance.
 */
import { alignUp } from "./layout.ts";
import { PAGE_BYTES } from "../limits.ts";

interface FreeExtent {
  offset: number;
  sizeBytes: number;
}

/** The pages that an object of this size takes. */
export function extentBytesOf(sizeBytes: number): number {
  return Math.max(PAGE_BYTES, alignUp(sizeBytes, PAGE_BYTES));
}

export class ArenaExtents {
  readonly capacityBytes: number;
  readonly #taken = new Map<number, number>();
  /** Ascending by size, then by offset: the best fit is found by bisection. */
  readonly #bySize: FreeExtent[] = [];
  readonly #byStart = new Map<number, FreeExtent>();
  readonly #byEnd = new Map<number, FreeExtent>();
  #highWaterBytes = 0;
  #usedBytes = 0;

  constructor(capacityBytes: number) {
    this.capacityBytes = alignUp(capacityBytes, PAGE_BYTES);
  }

  /** Pages that were ever taken; the length of the file. */
  get highWaterBytes(): number {
    return this.#highWaterBytes;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  get freshBytes(): number {
    return this.capacityBytes - this.#highWaterBytes;
  }

  get isEmpty(): boolean {
    return this.#taken.size === 0;
  }

  /** The size of the smallest free extent into which this many bytes fit. */
  bestFit(sizeBytes: number): number | undefined {
    return this.#bySize[this.#firstNotBefore(extentBytesOf(sizeBytes), 0)]?.sizeBytes;
  }

  /** Takes the smallest free extent that is large enough, and leaves its remainder free. @returns its offset */
  takeRecycled(sizeBytes: number): number | undefined {
    const wanted = extentBytesOf(sizeBytes);
    const extent = this.#bySize[this.#firstNotBefore(wanted, 0)];
    if (extent === undefined) return undefined;
    this.#removeFree(extent);
    if (extent.sizeBytes > wanted) this.#addFree({ offset: extent.offset + wanted, sizeBytes: extent.sizeBytes - wanted });
    this.#take(extent.offset, wanted);
    return extent.offset;
  }

  /** Takes pages that were never taken before. @returns their offset */
  takeFresh(sizeBytes: number): number | undefined {
    const wanted = extentBytesOf(sizeBytes);
    if (wanted > this.freshBytes) return undefined;
    const offset = this.#highWaterBytes;
    this.#highWaterBytes += wanted;
    this.#take(offset, wanted);
    return offset;
  }

  /** Undoes the last `takeFresh`, whose pages the system refused. */
  returnFresh(offset: number): void {
    const sizeBytes = this.#taken.get(offset);
    if (sizeBytes === undefined || offset + sizeBytes !== this.#highWaterBytes)
      throw new Error(`Cannot return fresh pages: ${offset} is not the last extent`);
    this.#taken.delete(offset);
    this.#usedBytes -= sizeBytes;
    this.#highWaterBytes = offset;
  }

  /** @returns false when no extent begins there: it was freed before */
  free(offset: number): boolean {
    const sizeBytes = this.#taken.get(offset);
    if (sizeBytes === undefined) return false;
    this.#taken.delete(offset);
    this.#usedBytes -= sizeBytes;
    const extent = { offset, sizeBytes };
    const before = this.#byEnd.get(offset);
    if (before !== undefined) {
      this.#removeFree(before);
      extent.offset = before.offset;
      extent.sizeBytes += before.sizeBytes;
    }
    const after = this.#byStart.get(offset + sizeBytes);
    if (after !== undefined) {
      this.#removeFree(after);
      extent.sizeBytes += after.sizeBytes;
    }
    this.#addFree(extent);
    return true;
  }

  #take(offset: number, sizeBytes: number): void {
    this.#taken.set(offset, sizeBytes);
    this.#usedBytes += sizeBytes;
  }

  #addFree(extent: FreeExtent): void {
    this.#bySize.splice(this.#firstNotBefore(extent.sizeBytes, extent.offset), 0, extent);
    this.#byStart.set(extent.offset, extent);
    this.#byEnd.set(extent.offset + extent.sizeBytes, extent);
  }

  #removeFree(extent: FreeExtent): void {
    this.#bySize.splice(this.#firstNotBefore(extent.sizeBytes, extent.offset), 1);
    this.#byStart.delete(extent.offset);
    this.#byEnd.delete(extent.offset + extent.sizeBytes);
  }

  #firstNotBefore(sizeBytes: number, offset: number): number {
    let low = 0;
    let high = this.#bySize.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const extent = this.#bySize[middle] as FreeExtent;
      if (extent.sizeBytes < sizeBytes || (extent.sizeBytes === sizeBytes && extent.offset < offset)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
