/**
 * Answers requests to drain a node once the node has heard, so that the requester's next calls do not land there.
 *
 * A silent node gets nothing new from the head anyway, so nobody waits for its answer longer than `KNOWS_WITHIN_MS`. Owned by the head's
 * server, which passes on reports and deaths of nodes. Invariant: each answer is given once.
 */
import type { NodeId } from "../../base/ids.ts";
import { SetMap } from "../../base/collections/set-map.ts";

const KNOWS_WITHIN_MS = 2_000;

export class DrainAnswers {
  readonly #known = new Set<NodeId>();
  readonly #waiting = new SetMap<NodeId, () => void>();

  /** Calls `answer` when the node knows, has gone, or has not answered in time. */
  wait(node: NodeId, answer: () => void): void {
    if (this.#known.has(node)) return answer();
    const once = (): void => {
      clearTimeout(timer);
      this.#waiting.delete(node, once);
      answer();
    };
    const timer = setTimeout(once, KNOWS_WITHIN_MS);
    timer.unref();
    this.#waiting.add(node, once);
  }

  /** Handles a node's statement that it takes nothing new. */
  knows(node: NodeId): void {
    this.#known.add(node);
    this.#answer(node);
  }

  gone(node: NodeId): void {
    this.#known.delete(node);
    this.#answer(node);
  }

  #answer(node: NodeId): void {
    for (const answer of this.#waiting.get(node)) answer();
  }
}
