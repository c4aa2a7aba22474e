/**
 * Offers of the processor by a process that looks for something instead of sleeping: whoever waits for the same processor runs in its place.
 *
 * Decides when an offer may be made. Nobody takes one on a quiet machine, and a peer that takes it gives it back within microseconds; one that lasts went to
 * somebody with work of his own, who keeps the processor for a whole slice, so that none is made for a while. Owned by one waiter each; the clock is the caller's.
 */

/** An offer that took longer went to somebody with work of his own; after it none is made for so many times as long. */
const OFFER_MS_MAX = 0.15;
const PAUSE_AFTER_OFFER = 32;

export class ProcessorOffers {
  readonly #offer: () => void;
  readonly #nowMs: () => number;
  #fromMs = 0;

  constructor(options: { readonly offerProcessor: () => void; readonly nowMs: () => number }) {
    this.#offer = options.offerProcessor;
    this.#nowMs = options.nowMs;
  }

  mayOffer(nowMs: number): boolean {
    return nowMs >= this.#fromMs;
  }

  /** @returns the time after it */
  offer(nowMs: number): number {
    this.#offer();
    const afterMs = this.#nowMs();
    const tookMs = afterMs - nowMs;
    if (tookMs > OFFER_MS_MAX) this.#fromMs = afterMs + tookMs * PAUSE_AFTER_OFFER;
    return afterMs;
  }
}
