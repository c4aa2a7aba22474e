/**
 * Measures the age of a head's last proof of leadership, and remembers gaps between proofs.
 *
 * A proof is a commit, counted from before it was sent. While the last one is older than `PROOF_FRESH_MS`, nothing that the head counts may
 * have a consequence. After such a gap the store may have been away. Nodes that noticed continue for as long as a new head would wait for
 * them, so this head waits as long, too (decision 0032). Pure; used by the head's election and by the model in `sim/fencing-world.ts`.
 * Invariant: a gap of `PROOF_FRESH_MS` or more is counted, however late the process learns that it ended.
 */
import { PROOF_FRESH_MS } from "../../base/limits.ts";

export class ProofClock {
  #provenMs = Number.NEGATIVE_INFINITY;
  #lapses = 0;

  /** A term begins with the commit of the claim. */
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

  /** Number of proofs after gaps in which the store may have been away. */
  get lapses(): number {
    return this.#lapses;
  }
}
