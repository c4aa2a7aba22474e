/**
 * How often the functions with a limit have run in this process, and that it takes no call any more once one of them has reached its limit (`maxCalls`).
 *
 * A call is counted when it begins, so that no more begin than the limit says, also where a call waits for references and others could run meanwhile. From then on calls
 * that have not begun go back to their callers, which send them elsewhere; those that have begun end here. Counted by function over all callers. Owned by
 * the worker host, which tells the daemon and the callers.
 */
export class RetiringWorker {
  isRetiring = false;
  readonly #counts = new Map<string, number>();
  readonly #onRetiring: () => void;

  /** @param onRetiring the last call is about to begin */
  constructor(onRetiring: () => void) {
    this.#onRetiring = onRetiring;
  }

  /** A call of the function begins. */
  begins(id: string, maxCalls: number): void {
    const count = (this.#counts.get(id) ?? 0) + 1;
    this.#counts.set(id, count);
    if (count < maxCalls || this.isRetiring) return;
    this.isRetiring = true;
    this.#onRetiring();
  }
}
