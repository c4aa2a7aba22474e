/**
 * Handles of stored objects whose end is found early, and the collections that find it.
 *
 * A `FinalizationRegistry` keeps its targets until V8 collects the whole heap, and V8 counts a mapped object against the heap. A loop over
 * results of a megabyte so made V8 collect at every twentieth, and the pages of all results waited for it. The native part watches a handle
 * without keeping it, so a collection of young objects alone, after each 16 MB, finds both the handle and the mapped view. Handles and views
 * that lived longer wait for a full collection, which follows when enough of them may be garbage. The local store owns the watches.
 */
import type { SharedMemory } from "../../os/shared-memory.ts";
import { KEPT_BEFORE_COLLECTION_BYTES, YOUNG_BYTES_MAX } from "../limits.ts";

interface WatchedHandlesOptions {
  /** Without it no handle is watched here, and objects are copied, not mapped. */
  readonly memory: Pick<SharedMemory, "watch" | "unwatch"> | undefined;
  readonly collectYoung: () => void;
  /** @returns the bytes of the heap that are in use afterwards */
  readonly collect: () => number;
  /** Runs a function at the end of the turn, when the stack holds nothing. */
  readonly later: (run: () => void) => void;
  /** A handle is watched: its end is to be looked for. */
  readonly onWatched: () => void;
}

export class WatchedHandles {
  readonly #options: WatchedHandlesOptions;
  /** Sizes of the objects, by the functions that the ends of their handles call. */
  readonly #sizes = new Map<() => void, number>();
  #ended: (() => void)[] = [];
  /** Bytes that were mapped, and that got a handle, since the last collection. */
  #mappedSince = 0;
  #watchedSince = 0;
  /** Bytes of objects that are mapped or have a handle, and the fewest since the last full collection. */
  #keptBytes = 0;
  #fewestBytes = 0;
  /** Bytes beyond the fewest that cause a full collection: in a large heap one takes longer, and is worth it later. */
  #allowedBytes = KEPT_BEFORE_COLLECTION_BYTES;
  #isDue = false;

  constructor(options: WatchedHandlesOptions) {
    this.#options = options;
  }

  /** Handles that are watched, or whose end was not told yet. */
  get count(): number {
    return this.#sizes.size + this.#ended.length;
  }

  /**
   * Watches a handle.
   *
   * @param onGone called by {@link release} once the handle is unreachable
   * @returns whether it is watched
   */
  watch(handle: object, sizeBytes: number, onGone: () => void): boolean {
    const ended = (): void => {
      this.#ended.push(onGone);
      this.#forget(ended);
    };
    if (this.#options.memory?.watch(handle, ended) !== true) return false;
    this.#sizes.set(ended, sizeBytes);
    this.#watchedSince += sizeBytes;
    this.#keep(sizeBytes);
    this.#options.onWatched();
    return true;
  }

  /** Ends a watch before the handle's end. @returns whether there was one */
  unwatch(handle: object): boolean {
    const ended = this.#sizes.size === 0 ? undefined : this.#options.memory?.unwatch(handle);
    if (ended === undefined) return false;
    this.#forget(ended);
    return true;
  }

  /** An object was mapped. */
  mapped(sizeBytes: number): void {
    this.#mappedSince += sizeBytes;
    this.#keep(sizeBytes);
  }

  /** A mapped view has ended. */
  unmapped(sizeBytes: number): void {
    this.#let(sizeBytes);
  }

  /** Calls back for handles that have ended. */
  release(): void {
    if (this.#ended.length === 0) return;
    const ended = this.#ended;
    this.#ended = [];
    for (const onGone of ended) onGone();
  }

  #forget(ended: () => void): void {
    const sizeBytes = this.#sizes.get(ended);
    if (sizeBytes === undefined) return;
    this.#sizes.delete(ended);
    this.#let(sizeBytes);
  }

  #let(sizeBytes: number): void {
    this.#keptBytes -= sizeBytes;
    if (this.#keptBytes < this.#fewestBytes) this.#fewestBytes = this.#keptBytes;
  }

  #keep(sizeBytes: number): void {
    this.#keptBytes += sizeBytes;
    if (Math.max(this.#mappedSince, this.#watchedSince) < YOUNG_BYTES_MAX) return;
    this.#mappedSince = 0;
    this.#watchedSince = 0;
    if (this.#keptBytes - this.#fewestBytes < this.#allowedBytes) this.#options.collectYoung();
    else if (!this.#isDue) {
      this.#isDue = true;
      this.#options.later(() => this.#collect());
    }
  }

  #collect(): void {
    this.#isDue = false;
    const heapBytes = this.#options.collect();
    this.#fewestBytes = this.#keptBytes;
    this.#allowedBytes = Math.max(KEPT_BEFORE_COLLECTION_BYTES, heapBytes);
  }
}
