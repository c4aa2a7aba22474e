/**
 * How long ago a head has last proven that it leads, and whether there was a time in which it could not.
 *
 * A proof is a commit, counted from before it was sent. While the last one is older than `PROOF_FRESH_MS` nothing that the head counts may have a consequence, and when the next one comes after so long the
 * store may have been away in between: nodes that saw this go on for as long as a head that begins would wait for them, so this head waits as long, too (decision 0032). Pure; asked by the head's election and by
 * the model of it in `sim/fencing-world.ts`. Invariant: a time without a commit of `PROOF_FRESH_MS` or more is counted, however late the process hears of its end.
 */
import { PROOF_FRESH_MS } from "../../base/limits.ts";

export class ProofClock {
  #provenMs = Number.NEGATIVE_INFINITY;
  #lapses = 0;

  /** A term begins with the commit of its claim. */
  begins(sentMs: number): void {
    this.#provenMs = sentMs;
  }

  proven(sentMs: number, nowMs: number): void {
    if (nowMs - this.#provenMs >= PROOF_FRESH_MS) this.#lapses += 1;
    this.#provenMs = Math.max(this.#provenMs, sentMs);
  }

  agoMs(nowMs: number): number {
    return nowMs - this.#provenMs;
  }

  isFresh(nowMs: number): boolean {
    return this.agoMs(nowMs) < PROOF_FRESH_MS;
  }

  /** How often a proof came after so long that the store may have been away. */
  get lapses(): number {
    return this.#lapses;
  }
}
