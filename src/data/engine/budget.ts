/**
 * The budget of memory: how many bytes the blocks of all running pipelines of this process may have together.
 *
 * It decides nothing itself. Executors say what they hold and ask whether there is room; each of them may go one step beyond the budget where it would stand still
 * otherwise, so a budget of one byte ends, too.
 */
export class MemoryBudget {
  #limitBytes: number;
  readonly #held = new Map<object, number>();
  #heldBytes = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  set limitBytes(bytes: number) {
    this.#limitBytes = bytes;
  }

  get limitBytes(): number {
    return this.#limitBytes;
  }

  /** What one executor holds now. */
  report(executor: object, bytes: number): void {
    this.#heldBytes += bytes - (this.#held.get(executor) ?? 0);
    if (bytes === 0) this.#held.delete(executor);
    else this.#held.set(executor, bytes);
  }

  get hasRoom(): boolean {
    return this.#heldBytes < this.#limitBytes;
  }
}
