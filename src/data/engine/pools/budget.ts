/**
 * The budget of memory: how many bytes the blocks of all running pipelines of this process have together.
 *
 * Executors say how much they hold and ask whether the sum of all is below their own limit, so that pipelines of different limits run beside each other. Each executor
 * may go one step beyond its limit where it would stand still otherwise, so a limit of one byte ends, too.
 */
export class MemoryBudget {
  readonly #held = new Map<object, number>();
  #heldBytes = 0;

  /** Records the bytes that one executor holds now. */
  report(executor: object, bytes: number): void {
    this.#heldBytes += bytes - (this.#held.get(executor) ?? 0);
    if (bytes === 0) this.#held.delete(executor);
    else this.#held.set(executor, bytes);
  }

  /** Whether all pipelines together hold less than one of them accepts. */
  hasRoom(limitBytes: number): boolean {
    return this.#heldBytes < limitBytes;
  }
}
