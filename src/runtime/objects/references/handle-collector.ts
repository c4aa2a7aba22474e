/**
 * Decides when a busy process collects garbage because of the references that its code has dropped.
 *
 * V8 sees a dropped reference as a few bytes. Its entry here, its rows in the daemon and its hold on the object end only after a collection.
 * V8 counts all of these as alive when it limits the heap anew. So the heap of a process that takes references without a pause grew with each
 * collection. Here a collection follows once the references since the last one weigh as much as the heap did then: garbage at most doubles the heap, and
 * a reference costs the same however many there are. `quiet-collector.ts` serves workers that pause.
 */
import { HANDLE_GARBAGE_BYTES, HANDLES_BEFORE_COLLECTION } from "../limits.ts";

interface HandleCollectorOptions {
  /** @returns the bytes of the heap that are in use afterwards */
  readonly collect: () => number;
  /** Runs a function at the end of the turn, when the stack holds nothing. */
  readonly later: (run: () => void) => void;
}

export class HandleCollector {
  readonly #options: HandleCollectorOptions;
  /** The fewest handles since the last collection: all others were made after it. */
  #fewest = 0;
  #allowed = HANDLES_BEFORE_COLLECTION;
  #isDue = false;

  constructor(options: HandleCollectorOptions) {
    this.#options = options;
  }

  /** There are so many handles now, one more than before. */
  added(handles: number): void {
    if (handles <= this.#fewest) this.#fewest = handles - 1;
    if (handles - this.#fewest < this.#allowed || this.#isDue) return;
    this.#isDue = true;
    this.#options.later(() => this.#collect(handles));
  }

  #collect(handles: number): void {
    const heapBytes = this.#options.collect();
    this.#isDue = false;
    this.#fewest = handles;
    this.#allowed = Math.max(HANDLES_BEFORE_COLLECTION, Math.ceil(heapBytes / HANDLE_GARBAGE_BYTES));
  }
}
