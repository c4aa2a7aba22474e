/**
 * Decides which nodes are alive, for the leading head: two speeds of death, a guard against losing many at once, and incarnations that
 * never return.
 *
 * A pure state machine. A node is suspected (no new work) when its link closes or it is silent for a fifth of `deadAfterMs`. The fast
 * death, after `closedAfterMs`, needs a closed link and a lost connection to the bus, as a process that ended leaves them. The slow death
 * needs silence for `deadAfterMs`. Invariants: a dead incarnation is never alive again. Nobody dies of silence before the suspicion was
 * committed (`marked`) for `MARKED_FRACTION` of `deadAfterMs`. Nor does anybody die of silence while this process stood still, while the
 * head's bus was away, or while more than half of at least three nodes are silent. Decision 0025 explains why that is safe.
 */
import type { NodeId } from "../../base/ids.ts";
import {
  CLOSED_AFTER_MS,
  DEAD_AFTER_MS,
  FENCE_FRACTION,
  FREEZE_FACTOR,
  GUARD_NODES_MIN,
  MARKED_FRACTION,
  STALL_MS,
  SUSPECT_FRACTION,
  WORKER_GRACE_MS,
} from "../../base/limits.ts";
import { DEAD_NODES_MAX } from "../limits.ts";

export interface DetectorOptions {
  /** Default 10,000. */
  readonly deadAfterMs?: number;
  /** Default 2,000. */
  readonly closedAfterMs?: number;
  /**
   * Additional time that a node of an earlier head may stay away: as long as that head may have answered the node. Default 0: there is only
   * one head.
   */
  readonly takeoverGraceMs?: number;
}

interface OfNode {
  readonly node: NodeId;
  /** Random for each life of a node's daemon. */
  readonly incarnation: string;
  readonly nowMs: number;
}

export type DetectorEvent =
  /** The node is connected and has reported its processes. */
  | ({ kind: "registered" } & OfNode)
  /** The tables of an earlier head have it, and this head has not met it yet. */
  | ({ kind: "expected" } & OfNode)
  /** The node sent something, over the link or the bus. */
  | ({ kind: "heartbeat" } & OfNode)
  | ({ kind: "linkUp" | "linkDown" } & OfNode)
  /** Sent repeatedly while the link is down: the bus reports that nobody answers for the node; `busBack`: somebody does again. */
  | ({ kind: "busLost" | "busBack" } & OfNode)
  /** The node's address refuses connections: the process that listened there has ended. */
  | ({ kind: "refusesConnections" } & OfNode)
  /** The store has kept that it is suspected. */
  | ({ kind: "marked"; suspicion: number } & OfNode)
  /** The node left by its own decision, with nothing on it. */
  | ({ kind: "drained" } & OfNode)
  /** The head's own connection to the bus. */
  | { kind: "ownBusLost" | "ownBusBack"; nowMs: number }
  /** The head has proven its leadership after a gap. Nodes that knew the store to be away did not wait for the head. */
  | { kind: "ownProofLapsed"; nowMs: number }
  | { kind: "tick"; nowMs: number };

export type DetectorEffect =
  /** No new work for it; write that it is suspected, and answer with `marked`. */
  | { kind: "suspect"; node: NodeId; incarnation: string; reason: string; suspicion: number }
  | { kind: "alive"; node: NodeId; incarnation: string }
  | { kind: "dead"; node: NodeId; incarnation: string; reason: string }
  /** The sender's incarnation is dead: it gets a refusal and ends. */
  | { kind: "refused"; node: NodeId; incarnation: string }
  /** The sender is not registered with this head, and is asked to register. */
  | { kind: "unknown"; node: NodeId; incarnation: string }
  /** Starts, or starts again, a freeze in which no node is declared dead for silence. */
  | { kind: "freeze"; silent: number; of: number }
  | { kind: "thaw"; reason: string };

interface Node {
  readonly id: NodeId;
  readonly incarnation: string;
  heardMs: number;
  linkDownMs: number | undefined;
  busLostMs: number | undefined;
  /** The node's process has ended, since its address refuses connections. */
  hasEnded: boolean;
  /** Whether the head has had a link to the node, so that the end of the link is evidence. */
  wasMet: boolean;
  /** Numbers the suspicions; a commit of an earlier one does not count for this one. */
  suspicion: number;
  isSuspect: boolean;
  markedMs: number | undefined;
}

/** With less, workers that their daemon does not end could still run when the death of their node is kept. */
const DEAD_AFTER_MS_MIN = Math.ceil(WORKER_GRACE_MS / (MARKED_FRACTION - FENCE_FRACTION));

export class FailureDetector {
  readonly #deadAfterMs: number;
  readonly #closedAfterMs: number;
  readonly #takeoverGraceMs: number;
  readonly #nodes = new Map<NodeId, Node>();
  /** Dead incarnations in the order of their deaths. */
  readonly #dead = new Set<string>();
  #lastMs: number | undefined;
  /**
   * Total time that this process stood still. The detector's clock leaves it out, as messages of nodes from that time have not been read
   * yet.
   */
  #stalledMs = 0;
  #isOwnBusLost = false;
  /** From when on silence counts towards death, whenever it began. */
  #silenceFromMs = Number.NEGATIVE_INFINITY;
  #frozenMs: number | undefined;
  /** A freeze has lasted its time: the next one needs a majority heard in between. */
  #isGuardSpent = false;

  constructor({ deadAfterMs = DEAD_AFTER_MS, closedAfterMs = CLOSED_AFTER_MS, takeoverGraceMs = 0 }: DetectorOptions = {}) {
    if (!(deadAfterMs >= DEAD_AFTER_MS_MIN)) {
      throw new RangeError(`Cannot detect failures: deadAfterMs is at least ${DEAD_AFTER_MS_MIN}: received ${deadAfterMs}`);
    }
    this.#deadAfterMs = deadAfterMs;
    this.#closedAfterMs = closedAfterMs;
    this.#takeoverGraceMs = takeoverGraceMs;
  }

  get isFrozen(): boolean {
    return this.#frozenMs !== undefined;
  }

  isDead(node: NodeId, incarnation: string): boolean {
    return this.#dead.has(deadKey(node, incarnation));
  }

  /** Undefined for nodes that are unknown or dead. */
  stateOf(node: NodeId): "alive" | "suspect" | undefined {
    const found = this.#nodes.get(node);
    return found && (found.isSuspect ? "suspect" : "alive");
  }

  /** From the tables of an earlier head. */
  restoreDead(node: NodeId, incarnation: string): void {
    this.#dead.add(deadKey(node, incarnation));
    if (this.#dead.size > DEAD_NODES_MAX) this.#dead.delete(this.#dead.values().next().value as string);
  }

  handle(event: DetectorEvent): DetectorEffect[] {
    const nowMs = this.#ownTime(event.nowMs);
    switch (event.kind) {
      case "tick":
        return this.#tick(nowMs);
      case "ownBusLost":
        this.#isOwnBusLost = true;
        return [];
      case "ownBusBack":
        this.#isOwnBusLost = false;
        // The time of a node that an earlier head may still be answering has not begun.
        this.#beginAnew(nowMs);
        return [];
      case "ownProofLapsed":
        // As much as a head gives that begins now.
        this.#silenceFromMs = nowMs + this.#takeoverGraceMs;
        this.#beginAnew(nowMs);
        return [];
      default:
        return this.#ofNode(event, nowMs);
    }
  }

  #ofNode(
    event: Exclude<DetectorEvent, { kind: "tick" | "ownBusLost" | "ownBusBack" | "ownProofLapsed" }>,
    nowMs: number,
  ): DetectorEffect[] {
    const { kind, node: id, incarnation } = event;
    if (this.isDead(id, incarnation)) {
      return kind === "heartbeat" || kind === "registered" || kind === "linkUp" ? [{ kind: "refused", node: id, incarnation }] : [];
    }
    if (kind === "registered" || kind === "expected") return this.#meet(event, nowMs);
    const node = this.#nodes.get(id);
    if (node === undefined || node.incarnation !== incarnation) {
      return kind === "heartbeat" || kind === "linkUp" ? [{ kind: "unknown", node: id, incarnation }] : [];
    }
    switch (kind) {
      case "heartbeat":
        return this.#heard(node, nowMs);
      case "linkUp":
        node.linkDownMs = undefined;
        return this.#heard(node, nowMs);
      case "linkDown":
        node.linkDownMs ??= nowMs;
        return this.#suspect(node, "its link to the head closed");
      case "busLost":
        node.busLostMs ??= nowMs;
        return [];
      case "busBack":
        node.busLostMs = undefined;
        return [];
      case "refusesConnections":
        node.hasEnded = true;
        return [];
      case "marked":
        if (node.isSuspect && node.suspicion === event.suspicion) node.markedMs ??= nowMs;
        return [];
      case "drained":
        return [this.#die(node, "it was drained")];
    }
  }

  #meet({ kind, node: id, incarnation }: OfNode & { kind: "registered" | "expected" }, nowMs: number): DetectorEffect[] {
    const known = this.#nodes.get(id);
    if (known?.incarnation === incarnation) {
      if (kind === "expected") return [];
      known.linkDownMs = undefined;
      known.wasMet = true;
      return this.#heard(known, nowMs);
    }
    const effects = known === undefined ? [] : [this.#die(known, "a new process of the node took its place")];
    const node: Node = {
      id,
      incarnation,
      heardMs: nowMs,
      linkDownMs: undefined,
      busLostMs: undefined,
      hasEnded: false,
      wasMet: kind === "registered",
      suspicion: 0,
      isSuspect: false,
      markedMs: undefined,
    };
    this.#nodes.set(id, node);
    if (kind === "registered") return [...effects, { kind: "alive", node: id, incarnation }];
    node.linkDownMs = nowMs;
    node.heardMs = nowMs + this.#takeoverGraceMs;
    return [...effects, ...this.#suspect(node, "it has not come to the new head yet")];
  }

  #tick(nowMs: number): DetectorEffect[] {
    const effects: DetectorEffect[] = [];
    let silent = 0;
    const suspectAfterMs = this.#deadAfterMs * SUSPECT_FRACTION;
    for (const node of this.#nodes.values()) {
      const silentMs = nowMs - node.heardMs;
      if (silentMs < suspectAfterMs) continue;
      // A node with a known cause of silence is no sign of a lost network.
      if (node.linkDownMs === undefined || node.busLostMs === undefined) silent += 1;
      effects.push(...this.#suspect(node, `it has been silent for ${Math.round(silentMs)} ms`));
    }
    effects.push(...this.#guard(silent, nowMs));
    for (const node of this.#nodes.values()) {
      const reason = this.#causeOfDeath(node, nowMs);
      if (reason !== undefined) effects.push(this.#die(node, reason));
    }
    return effects;
  }

  #causeOfDeath(node: Node, nowMs: number): string | undefined {
    const { linkDownMs, busLostMs, markedMs } = node;
    if (markedMs === undefined) return undefined;
    // Counted from the last of them, as the node itself counts before it stops its workers.
    if (linkDownMs !== undefined && busLostMs !== undefined && (node.wasMet || node.hasEnded)) {
      const closedMs = nowMs - Math.max(linkDownMs, busLostMs, markedMs);
      if (closedMs >= this.#closedAfterMs)
        return `it has had no link to the head and no connection to the bus for ${Math.round(closedMs)} ms`;
    }
    const silentMs = nowMs - node.heardMs;
    const countedMs = Math.min(silentMs, nowMs - this.#silenceFromMs);
    if (countedMs < this.#deadAfterMs || this.isFrozen || this.#isOwnBusLost) return undefined;
    if (nowMs - markedMs < this.#deadAfterMs * MARKED_FRACTION) return undefined;
    return `it has been silent for ${Math.round(silentMs)} ms`;
  }

  #guard(silent: number, nowMs: number): DetectorEffect[] {
    const of = this.#nodes.size;
    const isMassLoss = of >= GUARD_NODES_MIN && silent > of / 2;
    if (this.#frozenMs === undefined) {
      if (!isMassLoss) this.#isGuardSpent = false;
      if (!isMassLoss || this.#isGuardSpent) return [];
      this.#frozenMs = nowMs;
      return [{ kind: "freeze", silent, of }];
    }
    if (isMassLoss && nowMs - this.#frozenMs < this.#deadAfterMs * FREEZE_FACTOR) return [];
    this.#frozenMs = undefined;
    if (isMassLoss) {
      this.#isGuardSpent = true;
      return [{ kind: "thaw", reason: `${silent} of ${of} nodes are still silent, which is too long for a lost network` }];
    }
    // The reason why many were silent applied to these, too: their time begins again.
    for (const node of this.#nodes.values()) node.heardMs = Math.max(node.heardMs, nowMs - this.#deadAfterMs * SUSPECT_FRACTION);
    return [{ kind: "thaw", reason: "most nodes are heard again" }];
  }

  #suspect(node: Node, reason: string): DetectorEffect[] {
    if (node.isSuspect) return [];
    node.isSuspect = true;
    node.suspicion += 1;
    return [{ kind: "suspect", node: node.id, incarnation: node.incarnation, reason, suspicion: node.suspicion }];
  }

  #heard(node: Node, nowMs: number): DetectorEffect[] {
    node.heardMs = Math.max(node.heardMs, nowMs);
    node.busLostMs = undefined;
    node.hasEnded = false;
    return this.#recovered(node);
  }

  /** The node's link has to be up, too: without it no work reaches the node. */
  #recovered(node: Node): DetectorEffect[] {
    if (!node.isSuspect || node.linkDownMs !== undefined) return [];
    node.isSuspect = false;
    node.markedMs = undefined;
    return [{ kind: "alive", node: node.id, incarnation: node.incarnation }];
  }

  #die({ id, incarnation }: Node, reason: string): DetectorEffect {
    this.#nodes.delete(id);
    this.restoreDead(id, incarnation);
    return { kind: "dead", node: id, incarnation, reason };
  }

  #beginAnew(nowMs: number): void {
    for (const node of this.#nodes.values()) node.heardMs = Math.max(node.heardMs, nowMs);
  }

  #ownTime(nowMs: number): number {
    const gapMs = nowMs - (this.#lastMs ?? nowMs);
    this.#lastMs = nowMs;
    if (gapMs > STALL_MS) this.#stalledMs += gapMs;
    return nowMs - this.#stalledMs;
  }
}

function deadKey(node: NodeId, incarnation: string): string {
  return `${node} ${incarnation}`;
}
