/**
 * Whether something that costs where it fails is worth a try: after failures in a row it is tried seldom, until it succeeds again.
 *
 * A pure counter. Used by those that wait awake for a moment before they sleep (runtime/objects/spin-wait.ts, runtime/rpc/busy-poll.ts).
 */
const CREDIT_MAX = 16;
const CREDIT_OF_SUCCESS = 4;

interface TryCreditOptions {
  /** Without credit, one try in so many. */
  readonly probeEvery: number;
  /** Each probe that fails doubles the distance to the next, up to this; by default it stays. */
  readonly probeEveryMax?: number;
}

export class SpinBudget {
  readonly #probeEvery: number;
  readonly #probeEveryMax: number;
  #left = CREDIT_MAX;
  #skipped = 0;
  #distance: number;

  constructor({ probeEvery, probeEveryMax = probeEvery }: TryCreditOptions) {
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
      this.#left = Math.min(CREDIT_MAX, Math.max(0, this.#left) + CREDIT_OF_SUCCESS);
      this.#distance = this.#probeEvery;
    } else if (this.#left > 0) {
      this.#left -= 1;
    } else {
      this.#distance = Math.min(this.#distance * 2, this.#probeEveryMax);
    }
    return succeeded;
  }
}
