/**
 * Tracks the drain of this process's node: whether it drains, the reason and the deadline.
 *
 * Told by the node daemon when the drain begins, again when its deadline is another, and to processes that come later.
 * `getRuntimeContext()` reads it, and libraries follow it through `followPreemption`. Code of a task or an actor reacts as it needs, with a
 * checkpoint for instance. Times go over the wire as the time that is left, so that clocks need not agree.
 */
import type { NodeDrainingHeader } from "../../runtime/wire/cluster/cluster-messages.ts";
import type { PreemptionInfo } from "../types/cluster-types.ts";

export class Preemption {
  readonly #controller = new AbortController();
  readonly #followers = new Set<(notice: PreemptionInfo) => void>();
  #info: PreemptionInfo | undefined;

  get info(): PreemptionInfo | undefined {
    return this.#info;
  }

  /** Aborts once; the reason is the news at that time. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Calls `tell` with the present news, and with each later notice. @returns ends that */
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
