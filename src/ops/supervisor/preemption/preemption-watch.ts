/**
 * Watches for a preemption notice and drains the node with the deadline.
 *
 * Asks the source again and again. The first notice drains the node; later ones do where their deadline is earlier, or where the node is another
 * one: a supervisor replaces a node that died. A notice is never taken back. A source that fails, and a head that does not answer, are
 * asked again. Owns no timer but its own pause.
 */
import { messageOf } from "../../../runtime/base/texts/describe.ts";
import { MESSAGE } from "../../../runtime/wire/messages.ts";
import { connectToCluster } from "../../connection/cluster-connection.ts";
import { LEAVES_EARLIER_MS, SAME_DEADLINE_MS } from "./limits.ts";
import type { NoticeSource } from "./notice.ts";

interface WatchParts {
  readonly source: NoticeSource;
  /** The node of this machine; undefined while none runs. */
  readonly nodeId: () => string | undefined;
  /** Asks the head to drain the node, with the time that it has. */
  readonly drain: (nodeId: string, leftMs: number | undefined) => Promise<void>;
  readonly log: (text: string) => void;
  readonly nowMs: () => number;
}

export class PreemptionWatch {
  readonly #parts: WatchParts;
  #drained: { readonly nodeId: string; readonly deadlineMs: number } | undefined;
  #problem = "";

  constructor(parts: WatchParts) {
    this.#parts = parts;
  }

  /** Asks the source once, and drains the node where it has to. Never rejects. */
  async look(signal: AbortSignal): Promise<void> {
    const { source, nowMs, log } = this.#parts;
    try {
      const notice = await source.look(signal);
      if (notice === undefined) return this.#solved();
      const { leftMs, what } = notice;
      await this.#take({ what, deadlineMs: leftMs === undefined ? Number.POSITIVE_INFINITY : nowMs() + leftMs });
      this.#solved();
    } catch (error) {
      const text = messageOf(error);
      if (text !== this.#problem && !signal.aborted) log(text);
      this.#problem = text;
    }
  }

  async #take({ what, deadlineMs }: { what: string; deadlineMs: number }): Promise<void> {
    const { nodeId: ownNode, drain, log, nowMs } = this.#parts;
    const nodeId = ownNode();
    if (nodeId === undefined) return;
    if (this.#drained?.nodeId === nodeId && deadlineMs >= this.#drained.deadlineMs - SAME_DEADLINE_MS) return;
    const leftMs = timeToLeave(deadlineMs - nowMs());
    await drain(nodeId, leftMs);
    this.#drained = { nodeId, deadlineMs };
    const time = leftMs === undefined ? "no deadline" : `${leftMs} ms to leave`;
    log(`This machine goes away (${what}): node ${nodeId} is drained, with ${time}.`);
  }

  #solved(): void {
    this.#problem = "";
  }
}

/** Drains a node of the cluster. @throws ShoalError where the head does not answer */
export async function drainNode(
  heads: readonly string[],
  { nodeId, leftMs }: { nodeId: string; leftMs: number | undefined },
): Promise<void> {
  using cluster = await connectToCluster(heads.join(","));
  await cluster.ask(MESSAGE.NODE_DRAIN, { node: nodeId, deadlineMs: leftMs, reason: "preemption" });
}

/** Returns the time that the node gets, which ends before the machine's own. Undefined: without an end. */
export function timeToLeave(leftMs: number): number | undefined {
  if (leftMs === Number.POSITIVE_INFINITY) return undefined;
  return Math.max(0, Math.round(leftMs - Math.min(LEAVES_EARLIER_MS, leftMs / 4)));
}
