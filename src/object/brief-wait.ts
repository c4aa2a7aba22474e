/**
 * A short wait for what is expected, before a sleep in the event loop: that costs 17 us of processor time and 30 us until the process runs again, while a
 * peer that is at it answers within a few microseconds.
 *
 * Decides how to wait: first by looking again and again, which is fastest where the peer has a processor of its own; then blocked in the system, which
 * leaves the processor to the peer. Each of the two is given up after failures in a row, but for a try now and then, until it succeeds
 * again. On one processor looking is no use.
 */
import { cpuCount } from "../platform/machine.ts";

/** Longer than it takes to wake a peer that is blocked (8 us) and a small method: once one side looks long enough to meet the other, both do. */
const LOOK_MS = 0.03;
/** The clock costs 30 ns: it is looked at once in so many turns. */
const TURNS_A_CLOCK = 32;
const CREDIT_MAX = 16;
const CREDIT_OF_SUCCESS = 4;
/** Without credit, one try in so many. */
const PROBE_EVERY = 64;

export interface BriefWaitOptions {
  readonly nowMs: () => number;
  readonly processors: number;
  /** Blocks for so many microseconds at most, and less when something happens. @returns whether the condition holds */
  readonly block: (timeoutUs: number, condition: () => boolean) => boolean;
  readonly blockUsMax: number;
}

/** On this machine's clock and processors. */
export function newBriefWait(options: Pick<BriefWaitOptions, "block" | "blockUsMax">): BriefWait {
  return new BriefWait({ ...options, nowMs: () => performance.now(), processors: cpuCount() });
}

/** Whether something that may fail is worth the try. */
class Credit {
  #left = CREDIT_MAX;
  #skipped = 0;

  mayTry(): boolean {
    if (this.#left > 0) return true;
    this.#skipped += 1;
    if (this.#skipped < PROBE_EVERY) return false;
    this.#skipped = 0;
    return true;
  }

  /** @returns the outcome */
  tried(succeeded: boolean): boolean {
    this.#left = succeeded ? Math.min(CREDIT_MAX, Math.max(0, this.#left) + CREDIT_OF_SUCCESS) : this.#left - 1;
    return succeeded;
  }
}

export class BriefWait {
  readonly #options: BriefWaitOptions;
  readonly #looking = new Credit();
  readonly #blocking = new Credit();

  constructor(options: BriefWaitOptions) {
    this.#options = options;
  }

  /** @returns whether the condition came true in time */
  until(condition: () => boolean): boolean {
    if (condition()) return true;
    const { processors, block, blockUsMax } = this.#options;
    if (processors > 1 && this.#looking.mayTry() && this.#looking.tried(this.#look(condition))) return true;
    return this.#blocking.mayTry() && this.#blocking.tried(block(blockUsMax, condition));
  }

  #look(condition: () => boolean): boolean {
    const { nowMs } = this.#options;
    const end = nowMs() + LOOK_MS;
    do {
      for (let turn = 0; turn < TURNS_A_CLOCK; turn += 1) if (condition()) return true;
    } while (nowMs() < end);
    return false;
  }
}
