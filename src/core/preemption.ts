/**
 * What this process knows of the end of its node: that it is to be drained, why, and until when.
 *
 * Told by the node daemon when the drain begins, again when its deadline is another, and to processes that come later. Read by `getRuntimeContext()`, and by libraries through `followPreemption`; code of a task or an
 * actor makes of it what it needs, a checkpoint for instance. Times go over the wire as what is left, so that clocks need not agree.
 */
import type { NodeDrainingHeader } from "../runtime/wire/cluster-messages.ts";
import type { PreemptionInfo } from "./cluster-types.ts";

export class Preemption {
  readonly #controller = new AbortController();
  readonly #followers = new Set<(notice: PreemptionInfo) => void>();
  #info: PreemptionInfo | undefined;

  get info(): PreemptionInfo | undefined {
    return this.#info;
  }

  /** Aborts once, with what is known then as its reason. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Calls `tell` with what is known, and with each later notice. @returns ends that */
  follow(tell: (notice: PreemptionInfo) => void): () => void {
    this.#followers.add(tell);
    if (this.#info !== undefined) tell(this.#info);
    return () => this.#followers.delete(tell);
  }

  told({ leftMs, reason }: NodeDrainingHeader): void {
    const notice = { deadlineMs: leftMs === undefined ? undefined : Date.now() + leftMs, reason };
    this.#info = notice;
    // A follower that begins because the signal aborts has heard of this notice then.
    const followers = [...this.#followers];
    this.#controller.abort(notice);
    for (const tell of followers) tell(notice);
  }
}
