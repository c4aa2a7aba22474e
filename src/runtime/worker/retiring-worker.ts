/**
 * Counts how often functions with a limit (`maxCalls`) have run in this process, and retires the worker once one of them has reached its limit.
 *
 * A call is counted when it begins, so that no more begin than the limit allows, even when a call waits for refs and others could run meanwhile. From then on calls
 * that have not begun go back to their callers, which send them to another worker; those that have begun end here. Counted per function over all callers. Owned by
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
