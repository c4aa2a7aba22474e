/**
 * Retires a worker: once a function with a limit (`maxCalls`) has run there as often as it may, or code of a task was interrupted there.
 *
 * An interruption runs no `finally`, so modules may be half loaded and locks held: no later task is to meet them.
 * A call is counted when it begins, so that no more begin than the limit allows, even when a call waits for refs and others could run meanwhile. From then on calls
 * that have not begun go back to their callers, which send them to another worker; those that have begun end here. Counted per function over all callers. Owned by
 * the worker host, which tells the daemon and the callers.
 */
export class RetiringWorker {
  isRetiring = false;
  readonly #counts = new Map<string, number>();
  readonly #onRetiring: () => void;

  /** @param onRetiring called once, before the last call begins or an interrupted one is answered */
  constructor(onRetiring: () => void) {
    this.#onRetiring = onRetiring;
  }

  /** A call of the function begins. */
  begins(id: string, maxCalls: number): void {
    const count = (this.#counts.get(id) ?? 0) + 1;
    this.#counts.set(id, count);
    if (count >= maxCalls) this.retire();
  }

  /** Nothing more is to begin here. */
  retire(): void {
    if (this.isRetiring) return;
    this.isRetiring = true;
    this.#onRetiring();
  }
}
