/**
 * Reserves the bundles of placement groups on many nodes: all or nothing, in two phases.
 *
 * A pure state machine. Every node chosen for a group holds its bundles at once or refuses. When all hold them, the group is reserved and
 * committed; when one refuses, all give back, and the group is tried again with a fresh view after a growing delay. In a cluster full of
 * tasks no node would ever hold anything at once. So the oldest group that only tasks obstruct may wait at the nodes, which save returned
 * resources for it. Only one group waits while it holds something, so no two groups wait for each other. When a node dies, its bundles are
 * lost and placed again; those on other nodes stay, with their actors and tasks. The owner of the table of groups
 * (`placement-group-table.ts`) decides which groups are wanted.
 */
import type { NodeId } from "../../base/ids.ts";
import { invariant } from "../../base/invariant.ts";
import { type ResourceVector } from "../../base/resources.ts";
import type { BundleRequest, BundleStrategy } from "../../scheduling/bundle-placement.ts";
import { REFUSED_WAIT_MAX_MS, REFUSED_WAIT_MIN_MS } from "../../scheduling/limits.ts";
import type { DigestBundleHeader } from "../../wire/cluster/cluster-messages.ts";
import { placeMissing } from "./bundle-candidates.ts";
import type { ClusterView } from "./cluster-view.ts";

interface BundleToPrepare {
  readonly index: number;
  readonly resources: ResourceVector;
}

export type ReservationEvent =
  /** `earlier`: existing places of bundles, for a group that is taken over. Missing ones may be on nodes that are still to register. */
  | {
      kind: "wanted";
      group: string;
      requests: readonly BundleRequest[];
      strategy: BundleStrategy;
      nowMs: number;
      earlier?: { readonly nodeIds: readonly (NodeId | undefined)[]; readonly notWithinMs: number } | undefined;
    }
  | { kind: "removed"; group: string }
  | { kind: "prepared"; group: string; attempt: number; nodeId: NodeId; isHeld: boolean; nowMs: number }
  | { kind: "nodeGone"; nodeId: NodeId; nowMs: number }
  /** A registered node reports its bundles with the attempt of an earlier head; 0 for committed ones. */
  | { kind: "nodeHas"; nodeId: NodeId; bundles: readonly DigestBundleHeader[]; nowMs: number }
  | { kind: "tick"; nowMs: number };

export type ReservationEffect =
  | {
      kind: "prepare";
      nodeId: NodeId;
      group: string;
      attempt: number;
      bundles: readonly BundleToPrepare[];
      mayWait: boolean;
      placement: number;
    }
  | { kind: "commit" | "abort"; nodeId: NodeId; group: string; attempt: number }
  | { kind: "release"; nodeId: NodeId; group: string }
  | { kind: "reserved"; group: string; nodeIds: readonly NodeId[] }
  /** The bundles' node died, and they are being placed again. */
  | { kind: "lost"; group: string; indices: readonly number[] }
  /** No set of nodes could hold it, even when empty. Said once. */
  | { kind: "infeasible"; group: string };

interface Attempt {
  readonly number: number;
  readonly mayWait: boolean;
  readonly chosen: ReadonlyMap<number, NodeId>;
  /** Nodes that have not answered yet. */
  readonly asked: Set<NodeId>;
  readonly nodes: ReadonlySet<NodeId>;
  readonly startedMs: number;
}

interface Group {
  readonly id: string;
  readonly requests: readonly BundleRequest[];
  readonly strategy: BundleStrategy;
  readonly nodeIds: (NodeId | undefined)[];
  attempt: Attempt | undefined;
  /** Time since which a part of the group is missing. */
  sinceMs: number;
  backOffMs: number;
  notBeforeMs: number;
  /** A node refused the last attempt: less is free there than the head knows. */
  wasRefused: boolean;
  /** Not before this may it make nodes collect again. */
  collectAtMs: number;
  hasWarned: boolean;
}

/** Nodes that answer do so at once; one that does not is about to be dead. */
const ANSWER_WITHIN_MS = 5000;
/** Time that a group waits before nodes collect for it, and the duration of a collection. */
const COLLECT_AFTER_MS = 100;
const COLLECT_MS = 5000;
const TRIES_PER_TICK = 16;

export class GroupReservation {
  readonly #view: ClusterView;
  /** In order of arrival. */
  readonly #groups = new Map<string, Group>();
  /** Groups among those that miss a bundle. */
  readonly #waiting = new Set<Group>();
  #collecting: Group | undefined;
  #nextAttempt = 1;
  #effects: ReservationEffect[] = [];

  constructor(view: ClusterView) {
    this.#view = view;
  }

  handle(event: ReservationEvent): ReservationEffect[] {
    this.#effects = [];
    this.#apply(event);
    return this.#effects;
  }

  get waitingCount(): number {
    return this.#waiting.size;
  }

  /** Returns the node of each bundle of a group; undefined for those that are being placed. */
  nodesOf(group: string): readonly (NodeId | undefined)[] | undefined {
    return this.#groups.get(group)?.nodeIds;
  }

  /** @throws Error for a state that no event may lead to */
  checkInvariants(): void {
    for (const group of this.#waiting) invariant(this.#groups.get(group.id) === group, `group ${group.id} waits, and was removed`);
    for (const group of this.#groups.values()) this.#checkGroup(group);
    const collecting = Array.from(this.#groups.values()).filter(({ attempt }) => attempt?.mayWait === true);
    invariant(collecting.length <= 1 && collecting[0] === this.#collecting, "another group than the noted one makes nodes collect");
  }

  #checkGroup(group: Group): void {
    const { id, attempt } = group;
    const missing = missingOf(group);
    invariant(
      this.#waiting.has(group) === missing.length > 0,
      `group ${id} misses ${missing.length} bundles, and its waiting says otherwise`,
    );
    if (attempt === undefined) return;
    invariant(attempt.asked.size > 0, `all nodes have answered attempt ${attempt.number} of group ${id}, and it goes on`);
    invariant(
      Array.from(attempt.asked).every((node) => attempt.nodes.has(node)),
      `attempt ${attempt.number} of group ${id} asks a node that it has not chosen`,
    );
    invariant(
      missing.length === attempt.chosen.size && missing.every((index) => attempt.chosen.has(index)),
      `attempt ${attempt.number} of group ${id} places other bundles than the missing ones`,
    );
  }

  #apply(event: ReservationEvent): void {
    switch (event.kind) {
      case "wanted":
        this.#wanted(event);
        return;
      case "removed":
        this.#removed(event.group);
        return;
      case "prepared":
        this.#prepared(event);
        return;
      case "nodeGone":
        for (const group of Array.from(this.#groups.values())) {
          if (group.attempt?.nodes.has(event.nodeId) === true) this.#fail(group, event.nowMs);
          this.#lose(group, (nodeId) => nodeId === event.nodeId, event.nowMs);
        }
        return;
      case "nodeHas":
        this.#nodeHas(event);
        return;
      case "tick":
        this.#tick(event.nowMs);
        return;
    }
  }

  #wanted({ group: id, requests, strategy, nowMs, earlier }: Extract<ReservationEvent, { kind: "wanted" }>): void {
    if (this.#groups.has(id)) return;
    const notWithinMs = earlier?.notWithinMs ?? 0;
    const group: Group = {
      id,
      requests,
      strategy,
      nodeIds: requests.map((_, index) => earlier?.nodeIds[index]),
      attempt: undefined,
      sinceMs: nowMs,
      backOffMs: 0,
      notBeforeMs: nowMs + notWithinMs,
      wasRefused: false,
      collectAtMs: nowMs + notWithinMs + COLLECT_AFTER_MS,
      hasWarned: false,
    };
    this.#groups.set(id, group);
    if (missingOf(group).length === 0) return;
    this.#waiting.add(group);
    if (earlier === undefined) this.#try(group, nowMs);
  }

  #removed(id: string): void {
    const group = this.#groups.get(id);
    if (group === undefined) return;
    this.#groups.delete(id);
    this.#waiting.delete(group);
    if (this.#collecting === group) this.#collecting = undefined;
    const nodes = new Set<NodeId>(group.attempt?.nodes);
    for (const nodeId of group.nodeIds) if (nodeId !== undefined) nodes.add(nodeId);
    for (const nodeId of nodes) this.#effects.push({ kind: "release", nodeId, group: id });
  }

  #prepared({ group: id, attempt: number, nodeId, isHeld, nowMs }: Extract<ReservationEvent, { kind: "prepared" }>): void {
    const group = this.#groups.get(id);
    const attempt = group?.attempt;
    // An answer to an abandoned attempt: its bundles were already told to be given back.
    if (group === undefined || attempt === undefined || attempt.number !== number || !attempt.asked.has(nodeId)) return;
    if (!isHeld) {
      this.#fail(group, nowMs);
      group.wasRefused = true;
      return;
    }
    attempt.asked.delete(nodeId);
    if (attempt.asked.size > 0) return;
    for (const [index, chosen] of attempt.chosen) group.nodeIds[index] = chosen;
    group.attempt = undefined;
    group.backOffMs = 0;
    this.#waiting.delete(group);
    if (this.#collecting === group) this.#collecting = undefined;
    this.#effects.push({ kind: "reserved", group: id, nodeIds: group.nodeIds as NodeId[] });
    for (const node of attempt.nodes) this.#effects.push({ kind: "commit", nodeId: node, group: id, attempt: number });
  }

  /** Returns prepared bundles, and lets the group wait for its next turn. */
  #fail(group: Group, nowMs: number): void {
    const { attempt } = group;
    if (attempt === undefined) return;
    group.attempt = undefined;
    for (const nodeId of attempt.nodes) {
      if (this.#view.row(nodeId) !== undefined) this.#effects.push({ kind: "abort", nodeId, group: group.id, attempt: attempt.number });
    }
    if (this.#collecting === group) {
      this.#collecting = undefined;
      group.collectAtMs = nowMs + COLLECT_AFTER_MS;
    }
    this.#backOff(group, nowMs);
  }

  #backOff(group: Group, nowMs: number): void {
    group.backOffMs = Math.min(REFUSED_WAIT_MAX_MS, Math.max(REFUSED_WAIT_MIN_MS, group.backOffMs * 2));
    group.notBeforeMs = nowMs + group.backOffMs;
  }

  #lose(group: Group, isLost: (nodeId: NodeId, index: number) => boolean, nowMs: number): void {
    const indices: number[] = [];
    for (const [index, nodeId] of group.nodeIds.entries()) if (nodeId !== undefined && isLost(nodeId, index)) indices.push(index);
    if (indices.length === 0) return;
    for (const index of indices) group.nodeIds[index] = undefined;
    // An attempt for the group's other bundles did not know of this.
    this.#fail(group, nowMs);
    if (!this.#waiting.has(group)) {
      group.sinceMs = nowMs;
      group.collectAtMs = nowMs + COLLECT_AFTER_MS;
    }
    group.notBeforeMs = nowMs;
    this.#waiting.add(group);
    this.#effects.push({ kind: "lost", group: group.id, indices });
    this.#try(group, nowMs);
  }

  #nodeHas({ nodeId, bundles, nowMs }: Extract<ReservationEvent, { kind: "nodeHas" }>): void {
    const kept = new Set<string>();
    for (const [id, held] of Map.groupBy(bundles, ([group]) => group)) {
      const group = this.#groups.get(id);
      if (group === undefined) this.#effects.push({ kind: "release", nodeId, group: id });
      else for (const index of this.#keep(group, nodeId, { held, nowMs })) kept.add(`${id}/${index}`);
    }
    for (const group of Array.from(this.#groups.values()))
      this.#lose(group, (node, index) => node === nodeId && !kept.has(`${group.id}/${index}`), nowMs);
  }

  /**
   * Sorts a node's bundles of a group. A bundle with a place in the tables is committed, in case the earlier head died before that. A
   * committed bundle without a place was lost, and keeps its node as the place. All others belong to an attempt that nobody continues.
   * @returns the bundles that the node keeps
   */
  #keep(group: Group, nodeId: NodeId, { held, nowMs }: { held: readonly DigestBundleHeader[]; nowMs: number }): Set<number> {
    const { id, nodeIds } = group;
    const kept = new Set<number>();
    const committed = held.filter(([, , attempt]) => attempt === 0).map(([, index]) => index);
    const found = committed.filter((index) => index in nodeIds && nodeIds[index] === undefined);
    if (found.length > 0) this.#found(group, nodeId, { found, nowMs });
    for (const index of committed) if (nodeIds[index] === nodeId) kept.add(index);
    for (const [attempt, prepared] of Map.groupBy(held, ([, , number]) => number)) {
      if (attempt === 0) continue;
      const isPlaced = prepared.every(([, index]) => nodeIds[index] === nodeId && !kept.has(index));
      this.#effects.push({ kind: isPlaced ? "commit" : "abort", nodeId, group: id, attempt });
      if (isPlaced) for (const [, index] of prepared) kept.add(index);
    }
    if (kept.size === 0 && committed.length > 0) this.#effects.push({ kind: "release", nodeId, group: id });
    return kept;
  }

  #found(group: Group, nodeId: NodeId, { found, nowMs }: { found: readonly number[]; nowMs: number }): void {
    this.#fail(group, nowMs);
    for (const index of found) group.nodeIds[index] = nodeId;
    if (missingOf(group).length > 0) return;
    this.#waiting.delete(group);
    this.#effects.push({ kind: "reserved", group: group.id, nodeIds: group.nodeIds as NodeId[] });
  }

  #tick(nowMs: number): void {
    for (const group of this.#waiting) {
      const { attempt } = group;
      if (attempt !== undefined && nowMs - attempt.startedMs >= (attempt.mayWait ? COLLECT_MS : ANSWER_WITHIN_MS)) this.#fail(group, nowMs);
    }
    let left = TRIES_PER_TICK;
    for (const group of Array.from(this.#waiting)) {
      if (left === 0) return;
      const mayCollect = this.#collecting === undefined && nowMs >= group.collectAtMs;
      if (group.attempt !== undefined || (nowMs < group.notBeforeMs && !mayCollect)) continue;
      left -= 1;
      // A free amount may consist of parts of several GPUs. The node then refuses until a whole one is free, and collects for it only on
      // request.
      if (!group.wasRefused || nowMs >= group.notBeforeMs) this.#try(group, nowMs);
      if (group.attempt === undefined && mayCollect) this.#collect(group, nowMs);
    }
  }

  #try(group: Group, nowMs: number): void {
    group.wasRefused = false;
    const placement = this.#place(group, "free");
    if (placement.kind === "placed") {
      this.#begin(group, placement.nodeIds, { mayWait: false, nowMs });
      return;
    }
    this.#backOff(group, nowMs);
    // Nodes that are still to register may hold it.
    if (placement.kind === "pending" || group.hasWarned || !this.#view.isComplete) return;
    group.hasWarned = true;
    this.#effects.push({ kind: "infeasible", group: group.id });
  }

  /** Makes the nodes save resources for the group, since only tasks obstruct it. */
  #collect(group: Group, nowMs: number): void {
    const placement = this.#place(group, "freeOfActors");
    if (placement.kind !== "placed") {
      group.collectAtMs = nowMs + COLLECT_AFTER_MS;
      return;
    }
    this.#collecting = group;
    this.#begin(group, placement.nodeIds, { mayWait: true, nowMs });
  }

  #place(group: Group, amounts: "free" | "freeOfActors"): ReturnType<typeof placeMissing> {
    const missing = missingOf(group);
    const taken = new Set<NodeId>();
    for (const nodeId of group.nodeIds) if (nodeId !== undefined) taken.add(nodeId);
    const requests = missing.map((index) => group.requests[index] as BundleRequest);
    return placeMissing({ requests, strategy: group.strategy, taken, amounts }, this.#view, this.#nextAttempt);
  }

  #begin(group: Group, nodeIds: readonly string[], { mayWait, nowMs }: { mayWait: boolean; nowMs: number }): void {
    const number = this.#nextAttempt;
    this.#nextAttempt += 1;
    const missing = missingOf(group);
    const chosen = new Map(missing.map((index, position) => [index, nodeIds[position] as NodeId]));
    const nodes = new Set(chosen.values());
    group.attempt = { number, mayWait, chosen, asked: new Set(nodes), nodes, startedMs: nowMs };
    for (const nodeId of nodes) {
      const bundles: BundleToPrepare[] = [];
      const sum = new Map<string, number>();
      for (const [index, node] of chosen) {
        if (node !== nodeId) continue;
        const { resources } = group.requests[index] as BundleRequest;
        bundles.push({ index, resources });
        for (const [name, amount] of resources.amounts) sum.set(name, (sum.get(name) ?? 0) + amount);
      }
      const row = this.#view.row(nodeId);
      if (row === undefined) continue;
      const need = this.#view.need(sum);
      this.#view.take(row, need);
      const placement = this.#view.record(row, need, { count: 1, nowMs: undefined });
      this.#effects.push({ kind: "prepare", nodeId, group: group.id, attempt: number, bundles, mayWait, placement });
    }
  }
}

function missingOf(group: Group): number[] {
  return Array.from(group.nodeIds.keys()).filter((index) => group.nodeIds[index] === undefined);
}
