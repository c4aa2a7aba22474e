/**
 * Decides whether to spin: after failures in a row it allows a try only rarely, until one succeeds again.
 *
 * A pure counter for code that spins for a moment before it sleeps (runtime/objects/channels/spin-wait.ts, runtime/rpc/busy-poll.ts).
 */
const BUDGET_MAX = 16;
const BUDGET_OF_SUCCESS = 4;

interface SpinBudgetOptions {
  /** With an empty budget, one in this many tries is allowed. */
  readonly probeEvery: number;
  /** Each probe that fails doubles the distance to the next, up to this; by default it stays. */
  readonly probeEveryMax?: number;
}

export class SpinBudget {
  readonly #probeEvery: number;
  readonly #probeEveryMax: number;
  #left = BUDGET_MAX;
  #skipped = 0;
  #distance: number;

  constructor({ probeEvery, probeEveryMax = probeEvery }: SpinBudgetOptions) {
    this.#probeEvery = probeEvery;
    this.#probeEveryMax = probeEveryMax;
    this.#distance = probeEvery;
  }

  mayTry(): boolean {
    if (this.#left > 0) return true;
    this.#skipped += 1;
    if (this.#skipped < this.#distance) return false;
    this.#skipped = 0;
    return true;
  }

  /** @returns the outcome */
  tried(succeeded: boolean): boolean {
    if (succeeded) {
      this.#left = Math.min(BUDGET_MAX, Math.max(0, this.#left) + BUDGET_OF_SUCCESS);
      this.#distance = this.#probeEvery;
    } else if (this.#left > 0) {
      this.#left -= 1;
    } else {
      this.#distance = Math.min(this.#distance * 2, this.#probeEveryMax);
    }
    return succeeded;
  }
}
