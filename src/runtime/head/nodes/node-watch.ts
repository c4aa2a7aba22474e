/**
 * Watches the nodes of a head: feeds the failure detector (`failure-detector.ts`) and carries out its decisions.
 *
 * Owns the timer and the probes of nodes whose link is down. A probe is the second witness of a death: a process that ended closed its connections and refuses
 * new ones, a node that was cut off does neither. A suspicion counts from when it is committed. Made by the head's server for each term.
 */
import type { NodeId } from "../../base/ids.ts";
import { PROOF_GOOD_MS } from "../../base/limits.ts";
import { type DetectorEffect, type DetectorEvent, FailureDetector } from "./failure-detector.ts";

interface WatchedNode {
  readonly nodeId: NodeId;
  readonly incarnation: string;
  /** Where its daemon listens; undefined for one of an earlier head that did not keep it. */
  readonly address: string | undefined;
}

interface NodeWatchOptions {
  /** Whether another head may have led before this one. */
  readonly hasRivals: boolean;
  readonly nowMs: () => number;
  /** Whether this head's connection to the bus is up: without it, a node's silence proves nothing. */
  readonly isConnected: () => boolean;
  /**
   * With standbys: whether this head has lately proven its leadership, and how many proofs followed a gap in which the store may have been
   * away.
   */
  readonly proofs?: (() => { isFresh: boolean; lapses: number }) | undefined;
  /** Whether a process refuses connections at an address; undefined without an answer. */
  readonly refuses: (address: string) => Promise<boolean | undefined>;
  /** Commits a suspicion, then calls back. */
  readonly keep: (nodeId: NodeId, state: "alive" | "suspect", then: () => void) => void;
  readonly dead: (nodeId: NodeId, reason: string) => void;
  /** For people. */
  readonly say: (text: string) => void;
}

const TICK_MS = 100;
const ASK_EVERY_MS = 400;

interface Watched extends WatchedNode {
  isDown: boolean;
  isAsked: boolean;
  askedMs: number;
}

export class NodeWatch {
  readonly #options: NodeWatchOptions;
  readonly #detector: FailureDetector;
  readonly #nodes = new Map<NodeId, Watched>();
  readonly #timer: NodeJS.Timeout;
  #isClosed = false;
  #isConnected = true;
  #lapses = 0;

  constructor(options: NodeWatchOptions) {
    this.#options = options;
    this.#detector = new FailureDetector({ takeoverGraceMs: options.hasRivals ? PROOF_GOOD_MS : 0 });
    this.#lapses = options.proofs?.().lapses ?? 0;
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
    this.#timer.unref();
  }

  /** An earlier head found it dead. */
  restoreDead({ nodeId, incarnation }: WatchedNode): void {
    this.#detector.restoreDead(nodeId, incarnation);
  }

  /** Expects a node of an earlier head to register. */
  expected(node: WatchedNode): void {
    this.#nodes.set(node.nodeId, { ...node, isDown: true, isAsked: false, askedMs: 0 });
    this.#tell(node.nodeId, "expected");
  }

  registered(node: WatchedNode): void {
    this.#nodes.set(node.nodeId, { ...node, isDown: false, isAsked: false, askedMs: 0 });
    this.#tell(node.nodeId, "registered");
  }

  heard(nodeId: NodeId): void {
    this.#tell(nodeId, "heartbeat");
  }

  linkUp(nodeId: NodeId): void {
    this.#setDown(nodeId, false);
    this.#tell(nodeId, "linkUp");
  }

  linkDown(nodeId: NodeId): void {
    this.#setDown(nodeId, true);
    this.#tell(nodeId, "linkDown");
  }

  /** Handles a node that left by its own decision. */
  left(nodeId: NodeId): void {
    const known = this.#nodes.get(nodeId);
    this.#nodes.delete(nodeId);
    // The caller already knows how it ends.
    if (known !== undefined)
      this.#detector.handle({ kind: "drained", node: nodeId, incarnation: known.incarnation, nowMs: this.#options.nowMs() });
  }

  isSuspect(nodeId: NodeId): boolean {
    return this.#detector.stateOf(nodeId) === "suspect";
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
  }

  #setDown(nodeId: NodeId, isDown: boolean): void {
    const node = this.#nodes.get(nodeId);
    if (node !== undefined) node.isDown = isDown;
  }

  #tell(node: NodeId, kind: Exclude<DetectorEvent["kind"], "marked" | "tick" | "ownBusLost" | "ownBusBack" | "ownProofLapsed">): void {
    const known = this.#nodes.get(node);
    if (known === undefined || this.#isClosed) return;
    this.#handle({ kind, node, incarnation: known.incarnation, nowMs: this.#options.nowMs() });
  }

  #tick(): void {
    const nowMs = this.#options.nowMs();
    const proofs = this.#options.proofs?.();
    // Handled before conclusions are drawn: the process may have learned only now that the gap ended.
    if (proofs !== undefined && proofs.lapses !== this.#lapses) this.#handle({ kind: "ownProofLapsed", nowMs });
    this.#lapses = proofs?.lapses ?? 0;
    const isConnected = this.#options.isConnected() && proofs?.isFresh !== false;
    if (isConnected !== this.#isConnected) this.#handle({ kind: isConnected ? "ownBusBack" : "ownBusLost", nowMs });
    this.#isConnected = isConnected;
    this.#handle({ kind: "tick", nowMs });
    for (const node of this.#nodes.values()) {
      if (!node.isDown || node.isAsked || node.address === undefined || nowMs - node.askedMs < ASK_EVERY_MS) continue;
      node.askedMs = nowMs;
      node.isAsked = true;
      void this.#ask(node, node.address);
    }
  }

  async #ask(node: Watched, address: string): Promise<void> {
    // A node may report an invalid address.
    const refuses = await this.#options.refuses(address).catch(() => undefined);
    node.isAsked = false;
    if (!node.isDown || this.#nodes.get(node.nodeId) !== node || refuses === undefined) return;
    if (!refuses) return this.#tell(node.nodeId, "busBack");
    this.#tell(node.nodeId, "busLost");
    this.#tell(node.nodeId, "refusesConnections");
  }

  #handle(event: DetectorEvent): void {
    for (const effect of this.#detector.handle(event)) this.#do(effect);
  }

  #do(effect: DetectorEffect): void {
    const { keep, dead, say, nowMs } = this.#options;
    switch (effect.kind) {
      case "suspect": {
        const { node, incarnation, suspicion } = effect;
        keep(node, "suspect", () => this.#handle({ kind: "marked", node, incarnation, suspicion, nowMs: nowMs() }));
        return;
      }
      case "alive":
        keep(effect.node, "alive", () => {});
        return;
      case "dead":
        this.#nodes.delete(effect.node);
        dead(effect.node, effect.reason);
        return;
      case "freeze":
        say(`${effect.silent} of ${effect.of} nodes are silent: none of them is taken for dead, as it may be this machine's network.`);
        return;
      case "thaw":
        say(`Silent nodes are taken for dead again: ${effect.reason}.`);
        return;
      case "refused":
      case "unknown":
        // Not reached by either: a dead node's connection is refused, and only known nodes are reported.
        return;
    }
  }
}
