/**
 * Remembers since when processes of this node leave questions unanswered: an owner that computes reads nothing.
 *
 * A pure table of the daemon, which asks owners on behalf of `why`. An owner is silent from its first unanswered question until it answers
 * one.
 */
import type { ProcessId } from "../../base/ids.ts";
import type { WhyHeader } from "../../wire/calls/why-messages.ts";

export class SilentOwners {
  readonly #sinceMs = new Map<ProcessId, number>();

  asked(owner: ProcessId, nowMs: number): void {
    if (!this.#sinceMs.has(owner)) this.#sinceMs.set(owner, nowMs);
  }

  /** Called when an owner answers or ends. */
  heard(owner: ProcessId): void {
    this.#sinceMs.delete(owner);
  }

  /** Explains a ref whose owner does not answer. */
  explain(owner: { readonly id: ProcessId; readonly pid: number }, nowMs: number): WhyHeader {
    const computesMs = nowMs - (this.#sinceMs.get(owner.id) ?? nowMs);
    return {
      what: "object",
      state: "unknown",
      reason: `its owner, process ${owner.pid}, has computed for ${(computesMs / 1000).toFixed(1)} s at least, and answers nobody meanwhile`,
      causes: [],
      details: { pid: owner.pid, computesMs: Math.round(computesMs) },
    };
  }
}
