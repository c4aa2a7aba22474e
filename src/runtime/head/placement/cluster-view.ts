/**
 * The head's view of the nodes: their resources, the free part, and the head's own promises.
 *
 * A node's report says how much is free there. Later placements by the head are debited until a report names them as settled (granted,
 * dropped or refused there), so that a report which crossed a placement does not undo the debit. Debits of leases also expire after a
 * moment, as the asker may have died with them. Amounts are arrays indexed by a number for each resource, since a decision may look at many
 * nodes. Owned by the cluster scheduler. Invariant: `free` of a row is the last report less the open debits.
 */
import { type NodeId, nodeTagOf, type NodeTag } from "../../base/ids.ts";
import type { NodeView } from "../../base/resources.ts";
import { type Labels, matchesLabels } from "../../scheduling/label-selector.ts";
import { alternativeKeys } from "../../scheduling/fallbacks.ts";
import { type LeaseSpec, parseLeaseSpec } from "../../scheduling/lease-spec.ts";
import { LEASE_DEBIT_MS } from "../../scheduling/limits.ts";
import { DenseList } from "./dense-list.ts";

/**
 * `suspect`: the node's link is down, or an earlier head had the node and it has not registered here yet; `draining`: it finishes its work.
 * Both get nothing new.
 */
export type NodeState = "alive" | "suspect" | "draining";

export interface NodeReport {
  /** Grows with each report of a node's life; one that is older than the last is ignored. */
  readonly sequence: number;
  readonly free: ReadonlyMap<string, number>;
  /** Resources that would be free if all tasks ended: all but those of actors and placement groups. */
  readonly freeOfActors?: ReadonlyMap<string, number> | undefined;
  /** Placements that `free` takes into account. */
  readonly settled: readonly number[];
}

/** A resource by number, and an amount. */
export type Need = readonly (readonly [resource: number, amount: number])[];

/** A lease's shape, made ready for many comparisons. */
export interface Shape {
  readonly spec: LeaseSpec;
  readonly need: Need;
  readonly needsCpu: boolean;
  /** The same with one label selector each, in the order in which they are tried; undefined where there is nothing to fall back on. */
  readonly alternatives: readonly Shape[] | undefined;
  /** The node that was chosen last: the default policy packs. */
  lastRow: NodeRow | undefined;
  /** Position of a round robin. */
  turn: number;
  /** Whether any node could hold it, as of `topology`. */
  feasible: { readonly topology: number; readonly isFeasible: boolean } | undefined;
}

export interface NodeRow {
  readonly id: NodeId;
  readonly labels: Labels;
  readonly total: number[];
  free: number[];
  freeOfActors: number[];
  state: NodeState;
  reported: number[];
  sequence: number;
  readonly debits: Map<number, Debit>;
}

interface Debit {
  readonly row: NodeRow;
  readonly need: Need;
  count: number;
  /** Undefined for placements that last until they are settled. */
  readonly untilMs: number | undefined;
}

/** Shapes and selectors that are kept ready; beyond, they are read again. */
const SHAPES_MAX = 4096;
const SELECTORS_MAX = 256;

export class ClusterView {
  readonly #resources = new Map<string, number>();
  readonly #rows = new Map<string, NodeRow>();
  readonly #tagged = new Map<NodeTag, NodeRow>();
  /** Nodes that may get work. */
  readonly alive = new DenseList<NodeRow>();
  /** Nodes among those with a free part of a CPU. */
  readonly open = new DenseList<NodeRow>();
  readonly #shapes = new Map<string, Shape>();
  readonly #matching = new Map<string, { topology: number; rows: NodeRow[] }>();
  readonly #debits = new Map<number, Debit>();
  /** Nodes of an earlier head that this one does not know may register until then. */
  #unrecordedNodesUntilMs: number | undefined;
  #nextDebit = 1;
  #topology = 1;
  readonly #cpu = this.#resource("CPU");

  get rows(): ReadonlyMap<string, NodeRow> {
    return this.#rows;
  }

  /** Changes when a node arrives, leaves or changes its state. */
  get topology(): number {
    return this.#topology;
  }

  row(id: string): NodeRow | undefined {
    return this.#rows.get(id);
  }

  tagged(tag: NodeTag): NodeRow | undefined {
    return this.#tagged.get(tag);
  }

  /** A node of an earlier head, which has not registered: its resources are known, and how much of them is free is not. */
  expect(node: Omit<NodeView, "free">): void {
    this.join({ ...node, free: new Map() });
    this.setState(node.id as NodeId, "suspect");
  }

  /** Nodes of an earlier head whose tables are lost. The time begins with the first of them that registers. */
  expectUnrecordedNodes(untilMs: number): void {
    this.#unrecordedNodesUntilMs ??= untilMs;
  }

  get expectsUnrecordedNodes(): boolean {
    return this.#unrecordedNodesUntilMs !== undefined;
  }

  /** @returns whether the time of the unrecorded nodes has just run out */
  unrecordedNodesLate(nowMs: number): boolean {
    if (this.#unrecordedNodesUntilMs === undefined || nowMs < this.#unrecordedNodesUntilMs) return false;
    this.#unrecordedNodesUntilMs = undefined;
    return true;
  }

  /** Whether all nodes have reported, so that together they are the whole cluster. */
  get isComplete(): boolean {
    return !this.expectsUnrecordedNodes && this.#rows.values().every(({ state }) => state !== "suspect");
  }

  /** A node that joins, or joins again under the same id with other resources. */
  join(node: NodeView): NodeRow {
    this.leave(node.id as NodeId);
    const total = this.#vector(node.total);
    const reported = this.#vector(node.free);
    const row: NodeRow = {
      id: node.id as NodeId,
      labels: node.labels,
      total,
      reported,
      free: Array.from(reported),
      freeOfActors: Array.from(reported),
      state: "alive",
      sequence: 0,
      debits: new Map(),
    };
    this.#rows.set(node.id, row);
    this.#tagged.set(nodeTagOf(node.id), row);
    this.#topology += 1;
    this.#list(row);
    return row;
  }

  leave(id: NodeId): void {
    const row = this.#rows.get(id);
    if (row === undefined) return;
    for (const number of row.debits.keys()) this.#debits.delete(number);
    this.#rows.delete(id);
    this.#tagged.delete(nodeTagOf(id));
    this.alive.delete(row);
    this.open.delete(row);
    this.#topology += 1;
  }

  setState(id: NodeId, state: NodeState): void {
    const row = this.#rows.get(id);
    if (row === undefined || row.state === state) return;
    row.state = state;
    this.#topology += 1;
    this.#list(row);
  }

  /** @returns the node, when it may have more room than before */
  report(id: NodeId, report: NodeReport): NodeRow | undefined {
    const row = this.#rows.get(id);
    if (row === undefined || report.sequence <= row.sequence) return undefined;
    row.sequence = report.sequence;
    row.reported = this.#vector(report.free);
    row.freeOfActors = report.freeOfActors === undefined ? row.reported : this.#vector(report.freeOfActors);
    for (const number of report.settled) this.#forget(number);
    return this.#recount(row) ? row : undefined;
  }

  /** Takes resources; the caller has checked that they are free, or overdraws on purpose. */
  take(row: NodeRow, need: Need, count = 1): void {
    for (const [resource, amount] of need) row.free[resource] = (row.free[resource] ?? 0) - amount * count;
    this.#list(row);
  }

  /** Remembers taken resources until they are settled. @returns the number that the node's report will name */
  record(row: NodeRow, need: Need, placed: { count: number; nowMs: number | undefined }): number {
    const number = this.#nextDebit;
    this.#nextDebit += 1;
    const untilMs = placed.nowMs === undefined ? undefined : placed.nowMs + LEASE_DEBIT_MS;
    const debit: Debit = { row, need, count: placed.count, untilMs };
    this.#debits.set(number, debit);
    row.debits.set(number, debit);
    return number;
  }

  /** Undoes a placement that was not carried out. @returns the node, if it has more room than before */
  settle(number: number): NodeRow | undefined {
    const row = this.#debits.get(number)?.row;
    this.#forget(number);
    return row !== undefined && this.#recount(row) ? row : undefined;
  }

  /** Forgets debits of leases that are older than they can be. @returns the nodes that have more room */
  expire(nowMs: number): NodeRow[] {
    const grown = new Set<NodeRow>();
    for (const [number, { row, untilMs }] of this.#debits) {
      if (untilMs === undefined) continue;
      // All last equally long, so the first young one ends the search.
      if (untilMs > nowMs) break;
      this.#forget(number);
      grown.add(row);
    }
    return Array.from(grown).filter((row) => this.#recount(row));
  }

  shape(key: string): Shape {
    let shape = this.#shapes.get(key);
    if (shape === undefined) {
      const spec = parseLeaseSpec(key);
      shape = {
        spec,
        need: this.need(spec.resources.amounts),
        needsCpu: spec.resources.amounts.has("CPU"),
        alternatives: alternativeKeys(spec)?.map((alternative) => this.shape(alternative)),
        lastRow: undefined,
        turn: 0,
        feasible: undefined,
      };
      if (this.#shapes.size >= SHAPES_MAX) this.#shapes.delete(this.#shapes.keys().next().value as string);
      this.#shapes.set(key, shape);
    }
    return shape;
  }

  need(amounts: ReadonlyMap<string, number>): Need {
    return Array.from(amounts, ([name, amount]) => [this.#resource(name), amount] as const);
  }

  /** The nodes with such labels, whatever their state. */
  matching(labels: Labels): readonly NodeRow[] {
    const key = JSON.stringify(labels);
    const known = this.#matching.get(key);
    if (known !== undefined && known.topology === this.#topology) return known.rows;
    const rows = Array.from(this.#rows.values()).filter((row) => matchesLabels(labels, row.labels));
    this.#matching.delete(key);
    if (this.#matching.size >= SELECTORS_MAX) this.#matching.delete(this.#matching.keys().next().value as string);
    this.#matching.set(key, { topology: this.#topology, rows });
    return rows;
  }

  /** A node as the bundle policies see it. */
  nodeView(row: NodeRow, amounts: "free" | "freeOfActors"): NodeView {
    const total = new Map<string, number>();
    const free = new Map<string, number>();
    const left = amounts === "free" ? row.free : lessDebits(row.freeOfActors, row);
    for (const [name, resource] of this.#resources) {
      if ((row.total[resource] ?? 0) === 0) continue;
      total.set(name, row.total[resource] as number);
      free.set(name, Math.max(0, left[resource] ?? 0));
    }
    return { id: row.id, labels: row.labels, total, free };
  }

  /** The most of a resource that any node has in all. */
  mostOf(name: string): number {
    const resource = this.#resource(name);
    let most = 0;
    for (const row of this.#rows.values()) most = Math.max(most, row.total[resource] ?? 0);
    return most;
  }

  #forget(number: number): void {
    const debit = this.#debits.get(number);
    if (debit === undefined) return;
    this.#debits.delete(number);
    debit.row.debits.delete(number);
  }

  /** @returns whether anything grew */
  #recount(row: NodeRow): boolean {
    const free = lessDebits(row.reported, row);
    let hasGrown = false;
    for (let resource = 0; resource < free.length; resource += 1)
      if ((free[resource] as number) > (row.free[resource] ?? 0)) hasGrown = true;
    row.free = free;
    this.#list(row);
    return hasGrown;
  }

  #list(row: NodeRow): void {
    const isAlive = row.state === "alive";
    if (isAlive) this.alive.add(row);
    else this.alive.delete(row);
    if (isAlive && (row.free[this.#cpu] ?? 0) > 0) this.open.add(row);
    else this.open.delete(row);
  }

  #vector(amounts: ReadonlyMap<string, number>): number[] {
    const vector: number[] = [];
    for (const [name, amount] of amounts) {
      const resource = this.#resource(name);
      while (vector.length <= resource) vector.push(0);
      vector[resource] = amount;
    }
    return vector;
  }

  #resource(name: string): number {
    let resource = this.#resources.get(name);
    if (resource === undefined) {
      resource = this.#resources.size;
      this.#resources.set(name, resource);
    }
    return resource;
  }
}

function lessDebits(amounts: readonly number[], row: NodeRow): number[] {
  const left = Array.from(amounts);
  for (const { need, count } of row.debits.values())
    for (const [resource, amount] of need) left[resource] = (left[resource] ?? 0) - amount * count;
  return left;
}

export function holds(amounts: readonly number[], need: Need): boolean {
  for (const [resource, amount] of need) if ((amounts[resource] ?? 0) < amount) return false;
  return true;
}
