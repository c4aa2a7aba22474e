/**
 * Decides on which nodes leases and actors go: the only place in the cluster that sees all nodes.
 *
 * A pure state machine: `handle(event)` returns effects, which the head turns into messages. A node asks for leases that it cannot grant
 * itself. The head places them, or answers that they have to wait, can never fit, or are refused. A waiting owner is answered when that
 * changes, so nobody polls fast. In a full cluster reports never show free room, because a node grants returned resources at once. So after
 * a moment a waiting owner is sent to a full node (a "probe"), whose own fairness makes the owner with the most leases give one back. A
 * head that took over expects the previous head's nodes. Until each has registered or died, no demand that one of them could hold is
 * refused or found infeasible.
 *
 * Invariants: owners that wait for the same shape are served in order, and actors go before leases. Between two reports of a node no more
 * is placed on it than the first report showed as free. Exceptions are probes, and demands that fit nowhere else, which wait at the node.
 */
import type { ActorId, NodeId, ProcessId } from "../../base/ids.ts";
import type { NodeView } from "../../base/resources.ts";
import { PROBE_AFTER_MS, PROBE_WAIT_MS, REMOTE_WAIT_MS } from "../../scheduling/limits.ts";
import type { LeaseAnswerHeader, PlacedLeases } from "../../wire/cluster/cluster-messages.ts";
import type { ActorRefusal } from "../../wire/messages.ts";
import { bundlesFor, type GroupPlaces, noSuchNode, whyInfeasible } from "./cluster-obstacles.ts";
import { ClusterView, type NodeReport, type NodeRow, type NodeState, type Shape } from "./cluster-view.ts";
import { isFree, NodePicker, type PickHints } from "./node-picker.ts";
import {
  type ActorAsk,
  actorKeyOf,
  type LeaseAsk,
  leaseKeyOf,
  PlacementWaiters,
  type Waiter,
  type WaitingDemand,
} from "./placement-waiters.ts";

export type SchedulerEvent =
  /** A node of an earlier head, which has not registered with this one. */
  | { kind: "nodeExpected"; node: Omit<NodeView, "free"> }
  /** Unknown nodes of an earlier head whose tables are lost. */
  | { kind: "unrecordedNodesExpected"; untilMs: number }
  | { kind: "nodeJoined"; node: NodeView }
  | { kind: "nodeReported"; nodeId: NodeId; report: NodeReport; nowMs: number }
  | { kind: "nodeState"; nodeId: NodeId; state: NodeState }
  | { kind: "nodeGone"; nodeId: NodeId }
  /** A count of 0 withdraws the question. */
  | { kind: "leasesWanted"; ask: LeaseAsk; nowMs: number }
  | { kind: "ownerGone"; owner: ProcessId }
  | { kind: "actorWanted"; ask: ActorAsk; nowMs: number }
  | { kind: "actorWithdrawn"; actor: ActorId }
  /** A placement was not carried out. */
  | { kind: "undone"; placement: number }
  | { kind: "groupChanged"; group: string; nowMs: number }
  | { kind: "tick"; nowMs: number };

export type SchedulerEffect =
  | { kind: "answer"; ask: LeaseAsk; answer: LeaseAnswerHeader }
  | { kind: "placeActor"; actor: ActorId; nodeId: NodeId; placement: number; waitMs: number | undefined }
  | { kind: "actorInfeasible"; actor: ActorId; text: string }
  | { kind: "actorRefused"; actor: ActorId; refusal: ActorRefusal };

const PROBES_PER_TICK = 256;
const SHAPES_PER_OFFER = 128;

export class ClusterScheduler {
  readonly view: ClusterView = new ClusterView();
  readonly #picker: NodePicker;
  readonly #groups: GroupPlaces;
  readonly #waiters = new PlacementWaiters();
  #effects: SchedulerEffect[] = [];
  #nowMs = 0;

  constructor(groups: GroupPlaces, seed?: number) {
    this.#groups = groups;
    this.#picker = new NodePicker(this.view, seed);
  }

  handle(event: SchedulerEvent): SchedulerEffect[] {
    this.#effects = [];
    this.#apply(event);
    return this.#effects;
  }

  /** Returns waiting demands, by shape. */
  demands(): WaitingDemand[] {
    return this.#waiters.demands();
  }

  get waitingCount(): number {
    return this.#waiters.size;
  }

  #apply(event: SchedulerEvent): void {
    switch (event.kind) {
      case "nodeExpected":
        this.view.expect(event.node);
        return;
      case "unrecordedNodesExpected":
        this.view.expectUnrecordedNodes(event.untilMs);
        return;
      case "nodeJoined":
        this.#offer(this.view.join(event.node));
        return;
      case "nodeReported":
        this.#passed(event.nowMs);
        this.#offer(this.view.report(event.nodeId, event.report));
        return;
      case "nodeState":
        this.view.setState(event.nodeId, event.state);
        if (event.state === "draining") this.#askAgain();
        else this.#offer(this.view.row(event.nodeId));
        // Requests in groups are not offered room: each goes to its bundle's node, once that node is back.
        if (event.state === "alive") for (const group of this.#waiters.groups()) this.#groupChanged(group);
        return;
      case "nodeGone":
        this.#nodeGone(event.nodeId);
        return;
      case "leasesWanted":
        this.#passed(event.nowMs);
        this.#leasesWanted(event.ask);
        return;
      case "ownerGone":
        this.#waiters.ownerGone(event.owner);
        return;
      case "actorWanted":
        this.#passed(event.nowMs);
        this.#waiters.remove(actorKeyOf(event.ask.actor));
        this.#actorWanted(event.ask);
        return;
      case "actorWithdrawn":
        this.#waiters.remove(actorKeyOf(event.actor));
        return;
      case "undone":
        this.#offer(this.view.settle(event.placement));
        return;
      case "groupChanged":
        this.#passed(event.nowMs);
        this.#groupChanged(event.group);
        return;
      case "tick":
        this.#passed(event.nowMs);
        this.#probe();
        return;
    }
  }

  #passed(nowMs: number): void {
    this.#nowMs = Math.max(this.#nowMs, nowMs);
    for (const row of this.view.expire(this.#nowMs)) this.#offer(row);
    if (this.view.unrecordedNodesLate(this.#nowMs)) this.#askAgain();
  }

  #groupChanged(group: string): void {
    for (const { key, ask, actor } of this.#waiters.ofGroup(group)) {
      this.#waiters.remove(key);
      if (ask !== undefined) this.#leasesWanted(ask);
      else if (actor !== undefined) this.#actorWanted(actor);
    }
  }

  #nodeGone(id: NodeId): void {
    this.view.leave(id);
    for (const { key, ask } of Array.from(this.#waiters.all())) if (ask?.from === id) this.#waiters.remove(key);
    this.#askAgain();
  }

  /** A node has gone, or none is expected any more: demands that only it could have held are answered now. */
  #askAgain(): void {
    for (const waiter of Array.from(this.#waiters.all())) {
      const { ask, actor, shape } = waiter;
      const isHardElsewhere = shape.spec.node?.soft === false && this.view.row(shape.spec.node.id) === undefined;
      if (shape.spec.bundle !== undefined || (!isHardElsewhere && (waiter.isInfeasible || this.#picker.isFeasible(shape)))) continue;
      this.#waiters.remove(waiter.key);
      if (ask !== undefined) this.#leasesWanted(ask.knows === "infeasible" ? ask : { ...ask, knows: undefined });
      else if (actor !== undefined) this.#actorWanted(actor);
    }
  }

  // ---- leases

  #leasesWanted(ask: LeaseAsk): void {
    const key = leaseKeyOf(ask);
    // A newer question takes the place of the older, which gets some answer, as it is a request.
    const older = this.#waiters.remove(key)?.ask;
    if (older !== undefined && older.id !== ask.id) this.#answer(older, { kind: "wait" });
    if (ask.count <= 0) return;
    const shape = this.view.shape(ask.shape);
    if (shape.spec.bundle !== undefined) {
      this.#leasesInGroup(ask, shape);
      return;
    }
    if (this.#waiters.hasWaiting(ask.shape) && shape.spec.node === undefined && ask.argumentBytes === undefined) {
      this.#wait(ask, shape);
      return;
    }
    const taken = new Map<NodeRow, number>();
    const hints: PickHints = ask;
    let pick = this.#picker.pick(shape, hints);
    for (let left = ask.count; left > 0 && pick.kind === "node"; left -= 1) {
      this.view.take(pick.row, shape.need);
      taken.set(pick.row, (taken.get(pick.row) ?? 0) + 1);
      if (left > 1) pick = this.#picker.pick(shape, hints);
    }
    if (taken.size > 0) {
      const waitMs = shape.spec.node === undefined ? REMOTE_WAIT_MS : undefined;
      this.#answer(ask, { kind: "nodes", nodes: Array.from(taken, ([row, count]) => this.#placed(row, shape, { count, waitMs })) });
    } else if (pick.kind === "wait") {
      this.#waitOrProbe(ask, shape);
    } else if (pick.kind === "noSuchNode") {
      this.#answer(ask, { kind: "refused", refusal: noSuchNode(pick.nodeId) });
    } else if (ask.knows === "infeasible") {
      this.#wait(ask, shape, true);
    } else {
      this.#answer(ask, { kind: "infeasible", text: whyInfeasible(shape, this.view) });
    }
  }

  #placed(row: NodeRow, shape: Shape, { count, waitMs }: { count: number; waitMs: number | undefined }): PlacedLeases {
    const placement = this.view.record(row, shape.need, { count, nowMs: this.#nowMs });
    return { nodeId: row.id, count, placement, waitMs };
  }

  /** Sends a demand that fits nowhere else to its node, which serves waiting demands in turn. */
  #waitOrProbe(ask: LeaseAsk, shape: Shape): void {
    const pinned = shape.spec.node === undefined ? undefined : this.view.row(shape.spec.node.id);
    if (pinned?.state === "alive" && pinned.id !== ask.from && this.#picker.suits(shape, pinned))
      this.#answer(ask, { kind: "nodes", nodes: [{ nodeId: pinned.id, count: ask.count, placement: 0, waitMs: undefined }] });
    else this.#wait(ask, shape);
  }

  #wait(ask: LeaseAsk, shape: Shape, isInfeasible = false): void {
    if ((ask.knows === undefined && !isInfeasible) || this.#waiters.isFull) {
      this.#answer(ask, { kind: "wait" });
      return;
    }
    this.#waiters.add(this.#waiter(leaseKeyOf(ask), { ask, shape, isInfeasible }));
  }

  #waiter(key: string, what: { ask?: LeaseAsk; actor?: ActorAsk; shape: Shape; isInfeasible?: boolean }): Waiter {
    const { ask, actor, shape, isInfeasible = false } = what;
    const probeAtMs = this.#nowMs + PROBE_AFTER_MS;
    const shapeKey = ask?.shape ?? actor?.placementShape ?? "";
    return { key, shapeKey, shape, ask, actor, sinceMs: this.#nowMs, probeAtMs, isInfeasible };
  }

  #leasesInGroup(ask: LeaseAsk, shape: Shape): void {
    const found = bundlesFor(shape.spec, this.#groups);
    switch (found.kind) {
      case "refused":
        this.#answer(ask, { kind: "refused", refusal: found.refusal });
        return;
      case "infeasible":
        if (ask.knows === "infeasible") this.#wait(ask, shape, true);
        else this.#answer(ask, { kind: "infeasible", text: found.text });
        return;
      case "wait":
        this.#wait(ask, shape);
        return;
      case "nodes": {
        const nodes = found.nodeIds.filter((id) => this.view.row(id)?.state === "alive");
        if (nodes.length === 0) {
          this.#wait(ask, shape);
          return;
        }
        const counts = new Map<NodeId, number>();
        for (let left = ask.count; left > 0; left -= 1) {
          shape.turn = (shape.turn + 1) % nodes.length;
          const id = nodes[shape.turn] as NodeId;
          counts.set(id, (counts.get(id) ?? 0) + 1);
        }
        // The group's resources are not the node's: nothing is debited. Where there is a choice, a full node gives it back.
        const waitMs = nodes.length === 1 ? undefined : REMOTE_WAIT_MS;
        this.#answer(ask, { kind: "nodes", nodes: Array.from(counts, ([nodeId, count]) => ({ nodeId, count, placement: 0, waitMs })) });
        return;
      }
    }
  }

  #answer(ask: LeaseAsk, answer: LeaseAnswerHeader): void {
    this.#effects.push({ kind: "answer", ask, answer });
  }

  // ---- actors

  #actorWanted(ask: ActorAsk): void {
    const { actor } = ask;
    const held = this.view.shape(ask.shape);
    if (held.spec.bundle !== undefined) {
      this.#actorInGroup(ask, held);
      return;
    }
    const shape = this.view.shape(ask.placementShape);
    const pick = this.#picker.pick(shape, { from: undefined, isFromFull: false });
    if (pick.kind === "noSuchNode") {
      this.#effects.push({ kind: "actorRefused", actor, refusal: noSuchNode(pick.nodeId) });
      return;
    }
    if (pick.kind === "infeasible") {
      this.#effects.push({ kind: "actorInfeasible", actor, text: whyInfeasible(shape, this.view) });
      this.#waiters.add(this.#waiter(actorKeyOf(actor), { actor: ask, shape, isInfeasible: true }));
      return;
    }
    // Nothing is held by it once it runs: any node will do where one could exist.
    const row = pick.kind === "node" ? pick.row : held.need.length === 0 ? this.#picker.nextSuitable(shape, undefined) : undefined;
    if (row === undefined) this.#waiters.add(this.#waiter(actorKeyOf(actor), { actor: ask, shape }));
    else this.#placeActor(ask, row, REMOTE_WAIT_MS);
  }

  #placeActor({ actor, shape }: ActorAsk, row: NodeRow, waitMs: number | undefined): void {
    const { need } = this.view.shape(shape);
    this.view.take(row, need);
    const placement = this.view.record(row, need, { count: 1, nowMs: undefined });
    this.#effects.push({ kind: "placeActor", actor, nodeId: row.id, placement, waitMs });
  }

  #actorInGroup(ask: ActorAsk, shape: Shape): void {
    const { actor } = ask;
    const found = bundlesFor(shape.spec, this.#groups);
    const nodes = found.kind === "nodes" ? found.nodeIds.filter((id) => this.view.row(id)?.state === "alive") : [];
    if (found.kind === "refused") {
      this.#effects.push({ kind: "actorRefused", actor, refusal: found.refusal });
    } else if (nodes.length > 0) {
      shape.turn = (shape.turn + 1) % nodes.length;
      const nodeId = nodes[shape.turn] as NodeId;
      this.#effects.push({ kind: "placeActor", actor, nodeId, placement: 0, waitMs: nodes.length === 1 ? undefined : REMOTE_WAIT_MS });
    } else {
      if (found.kind === "infeasible") this.#effects.push({ kind: "actorInfeasible", actor, text: found.text });
      this.#waiters.add(this.#waiter(actorKeyOf(actor), { actor: ask, shape, isInfeasible: found.kind === "infeasible" }));
    }
  }

  // ---- waiting

  /** Offers a node that may have room to waiting demands. */
  #offer(row: NodeRow | undefined): void {
    if (row === undefined || row.state !== "alive" || this.#waiters.size === 0) return;
    let left = SHAPES_PER_OFFER;
    for (const [shapeKey, waiters] of Array.from(this.#waiters.shapes())) {
      if (left === 0) return;
      left -= 1;
      const { shape } = waiters.values().next().value as Waiter;
      if (!this.#picker.suits(shape, row)) continue;
      for (const waiter of waiters.values()) waiter.isInfeasible = false;
      if (!isFree(row, shape.need)) continue;
      this.#waiters.rotate(shapeKey);
      for (const waiter of waiters.values()) if (waiter.actor !== undefined) this.#serve(waiter, row);
      for (const waiter of waiters.values()) if (waiter.ask !== undefined) this.#serve(waiter, row);
    }
  }

  #serve({ key, ask, actor, shape }: Waiter, row: NodeRow): void {
    if (!isFree(row, shape.need) || (ask?.isFromFull === true && ask.from === row.id)) return;
    this.#waiters.remove(key);
    if (actor !== undefined) this.#placeActor(actor, row, REMOTE_WAIT_MS);
    if (ask === undefined) return;
    let count = 0;
    while (count < ask.count && isFree(row, shape.need)) {
      this.view.take(row, shape.need);
      count += 1;
    }
    const waitMs = shape.spec.node === undefined ? REMOTE_WAIT_MS : undefined;
    this.#answer(ask, { kind: "nodes", nodes: [this.#placed(row, shape, { count, waitMs })] });
  }

  #probe(): void {
    let left = PROBES_PER_TICK;
    for (const waiter of Array.from(this.#waiters.all())) {
      if (left === 0) return;
      const { key, ask, actor, shape } = waiter;
      if (waiter.probeAtMs > this.#nowMs || waiter.isInfeasible || shape.spec.bundle !== undefined) continue;
      left -= 1;
      waiter.probeAtMs = this.#nowMs + PROBE_AFTER_MS;
      const row = this.#picker.nextSuitable(shape, ask?.isFromFull === true ? ask.from : undefined);
      if (row === undefined) continue;
      this.#waiters.remove(key);
      if (actor !== undefined) this.#placeActor(actor, row, PROBE_WAIT_MS);
      else if (ask !== undefined)
        this.#answer(ask, { kind: "nodes", nodes: [{ nodeId: row.id, count: 1, placement: 0, waitMs: PROBE_WAIT_MS }] });
    }
  }
}
