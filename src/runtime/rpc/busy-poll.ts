/**
 * Busy polling: keeps the event loop from sleeping while the next frame of a conversation is about to arrive.
 *
 * After it has sent something to a peer that answers at once, this process polls for a moment (a turn of the event loop that does not block, 3 us) instead of
 * sleeping. An idle processor takes 20 us and more to wake, on virtual machines most of a call's time, and calls made one at a time need two wakeups each. While
 * it polls it offers the processor to other processes. It stops after failures in a row: where calls take long, where they are rare, and where other processes
 * need the processors.
 *
 * There is one per process, shared by its connections to workers or callers (`Connection.busyPoll`). See docs/decisions/0040.
 */
import { ProcessorOffers } from "../base/time/processor-offers.ts";
import { SpinBudget } from "../base/time/spin-budget.ts";
import { cpuCount } from "../os/machine/machine.ts";
import { sharedMemory } from "../os/shared-memory.ts";
import { AWAKE_ALONE_MS, AWAKE_MS } from "./limits.ts";

const BUDGET = { probeEvery: 64, probeEveryMax: 4096 };

interface BusyPollOptions {
  readonly nowMs: () => number;
  /** Calls back in the next turn of the event loop, which until then does not block. */
  readonly nextTurn: (callback: () => void) => void;
  /** Lets another process run in place of this one, if one waits for its processor. */
  readonly offerProcessor: () => void;
}

export class BusyPoll {
  readonly #options: BusyPollOptions;
  readonly #offers: ProcessorOffers;
  readonly #budget = new SpinBudget(BUDGET);
  /** Until when something is expected; 0 when nothing is. */
  #untilMs = 0;
  #isLooking = false;
  readonly #look = (): void => this.#turn();

  constructor(options: BusyPollOptions) {
    this.#options = options;
    this.#offers = new ProcessorOffers(options);
  }

  /** Called after a message that is mostly answered at once. */
  expect(): void {
    if (!this.#isLooking && !this.#budget.mayTry()) return;
    const { nowMs, nextTurn } = this.#options;
    const atMs = nowMs();
    this.#untilMs = atMs + (this.#offers.mayOffer(atMs) ? AWAKE_MS : AWAKE_ALONE_MS);
    if (this.#isLooking) return;
    this.#isLooking = true;
    nextTurn(this.#look);
  }

  /** Called when a message arrives. */
  arrived(): void {
    if (this.#untilMs === 0) return;
    this.#untilMs = 0;
    this.#budget.tried(true);
  }

  #turn(): void {
    if (this.#untilMs === 0) {
      this.#isLooking = false;
      return;
    }
    const { nowMs, nextTurn } = this.#options;
    let atMs = nowMs();
    if (this.#offers.mayOffer(atMs)) atMs = this.#offers.offer(atMs);
    if (atMs >= this.#untilMs) {
      this.#untilMs = 0;
      this.#isLooking = false;
      this.#budget.tried(false);
      return;
    }
    nextTurn(this.#look);
  }
}

/** On this machine; undefined where nothing is gained: on one processor, and without a way to offer it. */
export function newBusyPoll(): BusyPoll | undefined {
  const memory = sharedMemory();
  if (memory === undefined || cpuCount() === 1) return undefined;
  return new BusyPoll({
    nowMs: () => performance.now(),
    nextTurn: (callback) => {
      setImmediate(callback);
    },
    offerProcessor: () => memory.yieldProcessor(),
  });
}
