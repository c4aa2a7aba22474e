/**
 * A short wait for something expected, before a sleep in the event loop. A sleep costs 17 us of processor time and 30 us until the process runs again, while a
 * running peer answers within a few microseconds.
 *
 * The wait first spins: for a moment alone, then offering the processor to others between looks. A peer with its own processor ignores the offer; one without runs
 * at once, for a tenth of the cost of waking it, and then the next wait begins with offers. After spinning it blocks in the system. Spinning and blocking are each
 * given up after failures in a row, except for a rare try, until one succeeds again. When another process takes an offer and keeps the processor, no offer is made
 * for a while.
 */
import { ProcessorOffers } from "../../base/time/processor-offers.ts";
import { SpinBudget } from "../../base/time/spin-budget.ts";
import { cpuCount } from "../../os/machine/machine.ts";
import { AWAKE_ALONE_MS, AWAKE_MS } from "../../rpc/limits.ts";
import type { GraphMemory } from "./graph-memory.ts";

/** An offer that nobody takes costs 0.5 us with the clock: it is made once in so many turns. */
const TURNS_AN_OFFER = 16;
/** Where each process has a processor, and nobody has taken the last offer, a look begins with so many turns without any: 2 us. */
const TURNS_ALONE = 200;
/** A pause longer than this means that another process ran in between: two context switches take longer. */
const TAKEN_MS = 0.003;
/** With an empty budget, one try in so many. */
const PROBE_EVERY = 64;

interface SpinWaitOptions {
  readonly nowMs: () => number;
  readonly processors: number;
  /** Processes that take part, this one included: more than there are processors, and somebody waits for this one's more often than not. */
  readonly processes: number;
  /** Lets another process run in place of this one, if one waits for its processor. */
  readonly offerProcessor: () => void;
  /** Blocks for so many microseconds at most, and less when something happens. @returns whether the condition holds */
  readonly block: (timeoutUs: number, condition: () => boolean) => boolean;
  readonly blockUsMax: number;
}

/** On this machine's clock and processors. */
export function newSpinWait(memory: Pick<GraphMemory, "block" | "offerProcessor" | "processes">, blockUsMax: number): SpinWait {
  return new SpinWait({
    nowMs: () => performance.now(),
    processors: cpuCount(),
    processes: memory.processes,
    offerProcessor: () => memory.offerProcessor(),
    block: (timeoutUs, condition) => memory.block(timeoutUs, condition),
    blockUsMax,
  });
}

export class SpinWait {
  readonly #options: SpinWaitOptions;
  readonly #looking = new SpinBudget({ probeEvery: PROBE_EVERY });
  readonly #blocking = new SpinBudget({ probeEvery: PROBE_EVERY });
  readonly #offers: ProcessorOffers;
  readonly #isCrowded: boolean;
  #turnsAtFirst: number;

  constructor(options: SpinWaitOptions) {
    this.#options = options;
    this.#isCrowded = options.processes > options.processors;
    this.#turnsAtFirst = this.#isCrowded ? TURNS_AN_OFFER : TURNS_ALONE;
    this.#offers = new ProcessorOffers(options);
  }

  /** @returns whether the condition came true in time */
  until(condition: () => boolean): boolean {
    if (condition()) return true;
    const { block, blockUsMax } = this.#options;
    if (this.#looking.mayTry() && this.#looking.tried(this.#look(condition))) return true;
    return this.#blocking.mayTry() && this.#blocking.tried(block(blockUsMax, condition));
  }

  #look(condition: () => boolean): boolean {
    const { nowMs, processors } = this.#options;
    // A peer on another processor mostly answers before a look at the clock pays.
    if (processors > 1) for (let turn = this.#turnsAtFirst; turn > 0; turn -= 1) if (condition()) return true;
    let atMs = nowMs();
    const offers = this.#offers.mayOffer(atMs);
    // On one processor no event comes while this process looks, but another process may run and take the offer.
    if (!offers && processors === 1) return false;
    const endMs = atMs + (offers ? AWAKE_MS : AWAKE_ALONE_MS);
    do {
      const beganMs = atMs;
      atMs = offers ? this.#offers.offer(atMs) : nowMs();
      if (offers) this.#turnsAtFirst = this.#isCrowded || atMs - beganMs > TAKEN_MS ? TURNS_AN_OFFER : TURNS_ALONE;
      for (let turn = 0; turn < TURNS_AN_OFFER; turn += 1) if (condition()) return true;
    } while (atMs < endMs);
    return false;
  }
}
