/**
 * Picks the node for the next lease of a shape, at a cost that does not grow with the cluster.
 *
 * The policies are those of `test/oracles/node-choice.ts`, over a cluster view. Up to a few dozen nodes all are compared, and the choice is
 * the same. Beyond, the default policy looks at the asker's own node, at its last choice (so it packs), and at eight random ones. It looks
 * through all only if none of these has room; the caller remembers shapes without room. Pure: the draws come from a generator with a seed.
 */
import type { NodeId, NodeTag } from "../../base/ids.ts";
import { matchesLabels } from "../../scheduling/label-selector.ts";
import { NEAR_FROM_BYTES } from "../../scheduling/limits.ts";
import { type ClusterView, holds, type Need, type NodeRow, type Shape } from "./cluster-view.ts";

export interface PickHints {
  /** The asker's node, preferred among equals. */
  readonly from: NodeId | undefined;
  /** The node asked because it is full, so the view's row is out of date. */
  readonly isFromFull: boolean;
  /** By node tag, with which locations begin. */
  readonly argumentBytes?: readonly (readonly [node: NodeTag, bytes: number])[] | undefined;
}

type Pick =
  | { kind: "node"; row: NodeRow }
  /** A present or expected node could hold the request, and none has room now. */
  | { kind: "wait" }
  /** No node could ever hold it as they are. */
  | { kind: "infeasible" }
  /** A hard affinity to a node that is not there. */
  | { kind: "noSuchNode"; nodeId: string };

/** Number of nodes up to which all are compared. */
const EXACT_MAX = 32;
const SAMPLES = 8;
/** Below this use nodes are packed, above it spread. */
const PACK_UNTIL = 0.5;
/** Share of the ranked nodes from which one is drawn. */
const TOP_SHARE = 0.2;

const WAIT: Pick = { kind: "wait" };
const INFEASIBLE: Pick = { kind: "infeasible" };

export class NodePicker {
  readonly #view: ClusterView;
  #random: number;

  constructor(view: ClusterView, seed = 1) {
    this.#view = view;
    this.#random = seed >>> 0 || 1;
  }

  pick(shape: Shape, hints: PickHints): Pick {
    const { spec, need, alternatives } = shape;
    if (alternatives !== undefined) return this.#pickInOrder(alternatives, hints);
    if (spec.node !== undefined) {
      const pinned = this.#view.row(spec.node.id);
      if (pinned === undefined && !spec.node.soft)
        return this.#view.expectsUnrecordedNodes ? WAIT : { kind: "noSuchNode", nodeId: spec.node.id };
      const canHold = pinned !== undefined && couldHold(shape, pinned);
      if (!canHold && !spec.node.soft) return INFEASIBLE;
      // A soft affinity waits for its node as long as that could hold it.
      if (canHold) return isFree(pinned, need) ? { kind: "node", row: pinned } : WAIT;
    }
    const row = this.#choose(shape, hints);
    if (row !== undefined) return { kind: "node", row };
    return this.isFeasible(shape) || this.#view.expectsUnrecordedNodes ? WAIT : INFEASIBLE;
  }

  /** Picks by the first selector with room. Without room, a demand with fallbacks waits for any selector. */
  #pickInOrder(alternatives: readonly Shape[], hints: PickHints): Pick {
    let waits: Pick | undefined;
    for (const alternative of alternatives) {
      const pick = this.pick(alternative, hints);
      if (pick.kind === "node" || pick.kind === "noSuchNode") return pick;
      if (pick.kind === "wait") waits = pick;
    }
    return waits ?? INFEASIBLE;
  }

  /** Whether the node could ever get such a lease. */
  suits(shape: Shape, row: NodeRow): boolean {
    const { spec, need, alternatives } = shape;
    if (alternatives !== undefined) return alternatives.some((alternative) => this.suits(alternative, row));
    if (spec.node !== undefined && spec.node.id !== row.id) {
      const pinned = this.#view.row(spec.node.id);
      if (!spec.node.soft || (pinned !== undefined && couldHold(shape, pinned))) return false;
    }
    return row.state !== "draining" && holds(row.total, need) && matchesLabels(spec.labels, row.labels);
  }

  /** Whether any node could ever hold it; looked up once for a set of nodes. */
  isFeasible(shape: Shape): boolean {
    const { topology } = this.#view;
    if (shape.feasible?.topology !== topology) {
      let isFeasible = false;
      for (const row of this.#view.rows.values()) {
        if (!this.suits(shape, row)) continue;
        isFeasible = true;
        break;
      }
      shape.feasible = { topology, isFeasible };
    }
    return shape.feasible.isFeasible;
  }

  /** Picks a node that could hold the shape, by turns, even if it has no room now. */
  nextSuitable(shape: Shape, not: NodeId | undefined): NodeRow | undefined {
    for (const alternative of shape.alternatives ?? []) {
      const row = this.nextSuitable(alternative, not);
      if (row !== undefined) return row;
    }
    if (shape.alternatives !== undefined) return undefined;
    const rows = shape.spec.labels === undefined ? this.#view.alive.items : this.#view.matching(shape.spec.labels);
    for (let step = 0; step < rows.length; step += 1) {
      shape.turn = (shape.turn + 1) % rows.length;
      const row = rows[shape.turn] as NodeRow;
      if (row.state === "alive" && row.id !== not && this.suits(shape, row)) return row;
    }
    return undefined;
  }

  #choose(shape: Shape, hints: PickHints): NodeRow | undefined {
    const { spec, needsCpu, need } = shape;
    const full = hints.isFromFull ? hints.from : undefined;
    // A round robin needs nodes that keep their places; the list of open ones changes with every placement.
    if (spec.spread === true)
      return this.#nextFree(shape, { rows: spec.labels === undefined ? this.#view.alive.items : this.#view.matching(spec.labels), full });
    const rows = spec.labels === undefined ? (needsCpu ? this.#view.open : this.#view.alive).items : this.#view.matching(spec.labels);
    const nearest = this.#nearest(shape, hints);
    if (nearest !== undefined) return nearest;
    if (rows.length <= EXACT_MAX) return this.#ranked(fitting(rows, need, full), shape, hints.from);
    return this.#sampled(rows, shape, hints, full);
  }

  #nextFree(shape: Shape, { rows, full }: { rows: readonly NodeRow[]; full: NodeId | undefined }): NodeRow | undefined {
    for (let step = 0; step < rows.length; step += 1) {
      const row = rows[shape.turn % rows.length] as NodeRow;
      shape.turn = (shape.turn + 1) % rows.length;
      if (row.id !== full && isFree(row, shape.need)) return row;
    }
    return undefined;
  }

  /** Picks the node with most of the arguments. */
  #nearest(shape: Shape, { argumentBytes }: PickHints): NodeRow | undefined {
    let nearest: NodeRow | undefined;
    let most = NEAR_FROM_BYTES - 1;
    for (const [node, bytes] of argumentBytes ?? []) {
      const row = this.#view.tagged(node);
      if (bytes <= most || row === undefined || !isFree(row, shape.need) || !matchesLabels(shape.spec.labels, row.labels)) continue;
      nearest = row;
      most = bytes;
    }
    return nearest;
  }

  #sampled(rows: readonly NodeRow[], shape: Shape, hints: PickHints, full: NodeId | undefined): NodeRow | undefined {
    const { need, lastRow, spec } = shape;
    const local = hints.from === undefined || full !== undefined ? undefined : this.#view.row(hints.from);
    for (const row of [local, lastRow]) {
      if (row === undefined || row.id === full || !isFree(row, need) || useWith(row, need) >= PACK_UNTIL) continue;
      if (this.#view.row(row.id) === row && matchesLabels(spec.labels, row.labels)) return row;
    }
    const sample: NodeRow[] = [];
    for (let drawn = 0; drawn < SAMPLES; drawn += 1) {
      const row = rows[this.#below(rows.length)] as NodeRow;
      if (row.id !== full && isFree(row, need) && !sample.includes(row)) sample.push(row);
    }
    if (sample.length > 0) return this.#best(sample, shape);
    return this.#ranked(fitting(rows, need, full), shape, hints.from);
  }

  /** Among a random few, the emptiest is as good as a draw among the best of all. */
  #best(rows: readonly NodeRow[], shape: Shape): NodeRow {
    let best = rows[0] as NodeRow;
    let bestScore = score(best, shape.need);
    for (const row of rows) {
      const rowScore = score(row, shape.need);
      if (rowScore >= bestScore) continue;
      best = row;
      bestScore = rowScore;
    }
    shape.lastRow = best;
    return best;
  }

  #ranked(rows: readonly NodeRow[], shape: Shape, from: NodeId | undefined): NodeRow | undefined {
    if (rows.length === 0) return undefined;
    const ranked = rows.map((row) => ({ row, score: score(row, shape.need), isLocal: row.id === from }));
    ranked.sort((a, b) => a.score - b.score || Number(b.isLocal) - Number(a.isLocal) || (a.row.id < b.row.id ? -1 : 1));
    const best = ranked[0] as (typeof ranked)[0];
    const top = best.score === 0 ? 1 : Math.max(1, Math.ceil(ranked.length * TOP_SHARE));
    const { row } = ranked[top === 1 ? 0 : this.#below(top)] as (typeof ranked)[0];
    shape.lastRow = row;
    return row;
  }

  /** Xorshift: the same seed gives the same draws. */
  #below(limit: number): number {
    let value = this.#random;
    value ^= value << 13;
    value ^= value >>> 17;
    value ^= value << 5;
    this.#random = value >>> 0;
    return this.#random % limit;
  }
}

/**
 * Whether a demand may wait for this node. A draining node never has room again: a demand for just that node is refused once the node is
 * gone, others look for another node now.
 */
function couldHold({ spec, need }: Shape, row: NodeRow): boolean {
  const mayWait = row.state !== "draining" || spec.node?.soft === false;
  return mayWait && matchesLabels(spec.labels, row.labels) && holds(row.total, need);
}

export function isFree(row: NodeRow, need: Need): boolean {
  return row.state === "alive" && holds(row.free, need);
}

function fitting(rows: readonly NodeRow[], need: Need, full: NodeId | undefined): NodeRow[] {
  return rows.filter((row) => row.id !== full && isFree(row, need));
}

function score(row: NodeRow, need: Need): number {
  const use = useWith(row, need);
  return use < PACK_UNTIL ? 0 : use;
}

/** The use of the scarcest resource with the lease, from 0 to 1. */
function useWith(row: NodeRow, need: Need): number {
  let most = 0;
  for (let resource = 0; resource < row.total.length; resource += 1) {
    const total = row.total[resource] as number;
    if (total > 0) most = Math.max(most, 1 - (row.free[resource] ?? 0) / total);
  }
  for (const [resource, amount] of need) {
    const total = row.total[resource] ?? 0;
    if (total > 0) most = Math.max(most, 1 - ((row.free[resource] ?? 0) - amount) / total);
  }
  return most;
}
