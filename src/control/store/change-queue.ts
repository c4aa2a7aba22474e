/**
 * The changes that a watch has not handed to its reader yet: at most one a key, in the order of their revisions.
 *
 * Both stores push into it; a reader takes from it with `for await`. A newer change of a key takes the place of an older one that nobody has read, so a
 * reader that is slow costs as many changes as there are keys and no more. Invariant: revisions come out strictly ascending.
 */
import type { StoreChange, StoreWatch } from "./control-store.ts";

export class ChangeQueue implements StoreWatch {
  readonly #changes = new Map<string, StoreChange>();
  readonly #onClose: () => void;
  #wake: (() => void) | undefined;
  #isClosed = false;
  #failure: Error | undefined;

  constructor(onClose: () => void) {
    this.#onClose = onClose;
  }

  push(change: StoreChange): void {
    if (this.#isClosed) return;
    const key = change.kind === "put" ? change.entry.key : change.key;
    // A map keeps the place of a key that is set again: deleting first moves it to the end, where its revision belongs.
    this.#changes.delete(key);
    this.#changes.set(key, change);
    this.#wakeReader();
  }

  /** What was pushed before is still read; then the reader gets the error. */
  fail(error: Error): void {
    if (this.#isClosed) return;
    this.#failure = error;
    this.#end();
  }

  close(): void {
    this.#changes.clear();
    this.#end();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<StoreChange, void> {
    try {
      for (;;) {
        for (const [key, change] of this.#changes) {
          this.#changes.delete(key);
          yield change;
        }
        if (this.#changes.size > 0) continue;
        if (this.#failure !== undefined) throw this.#failure;
        if (this.#isClosed) return;
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    } finally {
      this.close();
    }
  }

  #end(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#onClose();
    this.#wakeReader();
  }

  #wakeReader(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}
