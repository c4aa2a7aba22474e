/**
 * Offers the processor to other processes while a process polls instead of sleeping.
 *
 * Decides when to offer. On a quiet machine nobody takes an offer, and a peer that takes one returns the processor within microseconds. A
 * long absence means that an unrelated busy process took it and keeps it for a whole time slice, so no offers follow for a while. Each
 * waiter owns one; the caller provides the clock.
 */

/** An offer that took longer went to an unrelated busy process. Offers then pause for a multiple of that time. */
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
