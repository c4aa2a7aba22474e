/**
 * The shell around placement decisions in a cluster: the scheduler of leases and actors, and the reservation of placement groups.
 *
 * Part of the head. Reports and questions of nodes become events, and decisions become commands to nodes. A timer runs while demands wait.
 * The tables know the actors and groups; this knows where they were sent. On one machine `only-node-placement.ts` takes its place.
 */
import type { ActorId, NodeId, ProcessId } from "../../base/ids.ts";
import { resourceVector } from "../../base/resources.ts";
import type { DigestBundleHeader, HeadEvents, LeaseAskHeader, NodeReportHeader } from "../../wire/cluster/cluster-messages.ts";
import type { NodeServices } from "../../rpc/head-service.ts";
import { leaseKey, parseLeaseSpec } from "../../scheduling/lease-spec.ts";
import type { ActorRecord } from "../actors/actor-table.ts";
import type { GroupPlace } from "./cluster-obstacles.ts";
import { ClusterScheduler, type SchedulerEffect, type SchedulerEvent } from "./cluster-scheduler.ts";
import type { NodeState } from "./cluster-view.ts";
import { GroupReservation, type ReservationEffect, type ReservationEvent } from "./group-reservation.ts";
import type { GroupRecord } from "./placement-group-table.ts";
import type { Placement, PlacementEvents } from "./placement.ts";
import type { WaitingDemand } from "./placement-waiters.ts";

const TICK_MS = 50;

export class ClusterPlacement implements Placement {
  readonly #events: PlacementEvents;
  readonly #scheduler: ClusterScheduler;
  readonly #reservation: GroupReservation;
  readonly #placedOn = new Map<ActorId, { nodeId: NodeId; actor: ActorRecord }>();
  readonly #waiting = new Map<ActorId, ActorRecord>();
  #tickTimer: NodeJS.Timeout | undefined;

  constructor(events: PlacementEvents) {
    this.#events = events;
    this.#scheduler = new ClusterScheduler({ get: (id) => this.#groupPlace(id) });
    this.#reservation = new GroupReservation(this.#scheduler.view);
  }

  // ---- nodes

  nodeExpected(node: NodeServices): void {
    this.#schedule({ kind: "nodeExpected", node: node.view() });
  }

  unrecordedNodesExpected(untilMs: number): void {
    this.#schedule({ kind: "unrecordedNodesExpected", untilMs });
  }

  nodeJoined(node: NodeServices): void {
    this.#schedule({ kind: "nodeJoined", node: node.view() });
  }

  nodeHolds(nodeId: NodeId, bundles: readonly DigestBundleHeader[]): void {
    this.#reserve({ kind: "nodeHas", nodeId, bundles, nowMs: this.#events.nowMs() });
    // Requests in these groups that were made before the node registered wait for it.
    for (const group of new Set(bundles.map(([id]) => id))) this.#groupChanged(group);
  }

  nodeState(nodeId: NodeId, state: NodeState): void {
    this.#schedule({ kind: "nodeState", nodeId, state });
  }

  expectsUnrecordedNodes(): boolean {
    return this.#scheduler.view.expectsUnrecordedNodes;
  }

  waiting(): WaitingDemand[] {
    return this.#scheduler.demands();
  }

  nodeReported(nodeId: NodeId, { sequence, free, freeOfActors, settled }: NodeReportHeader): void {
    const report = { sequence, free: new Map(free), freeOfActors: new Map(freeOfActors), settled };
    this.#schedule({ kind: "nodeReported", nodeId, report, nowMs: this.#events.nowMs() });
  }

  /** @returns the actors that were sent there and have no process yet */
  nodeGone(nodeId: NodeId): ActorRecord[] {
    // Together these two forget the node: the scheduler owns the view that the reservation reads.
    this.#schedule({ kind: "nodeGone", nodeId });
    this.#reserve({ kind: "nodeGone", nodeId, nowMs: this.#events.nowMs() });
    const left = Array.from(this.#placedOn.values()).filter((placed) => placed.nodeId === nodeId);
    for (const { actor } of left) this.#placedOn.delete(actor.id);
    return left.map(({ actor }) => actor).filter(({ worker }) => worker === undefined);
  }

  processGone(process: ProcessId): void {
    this.#schedule({ kind: "ownerGone", owner: process });
  }

  // ---- leases

  leasesWanted(nodeId: NodeId, { number, ...asked }: LeaseAskHeader): void {
    const ask = { ...asked, id: number, from: nodeId };
    this.#schedule({ kind: "leasesWanted", ask, nowMs: this.#events.nowMs() });
  }

  // ---- actors

  place(actor: ActorRecord): void {
    this.#waiting.set(actor.id, actor);
    const { shape } = actor.options;
    this.#schedule({
      kind: "actorWanted",
      ask: { actor: actor.id, shape, placementShape: placementShapeOf(actor) },
      nowMs: this.#events.nowMs(),
    });
  }

  adopt(actor: ActorRecord, { nodeId }: NodeServices): void {
    if (this.#waiting.delete(actor.id)) this.#schedule({ kind: "actorWithdrawn", actor: actor.id });
    this.#placedOn.set(actor.id, { nodeId, actor });
  }

  gone(actor: ActorRecord): void {
    if (this.#waiting.delete(actor.id)) this.#schedule({ kind: "actorWithdrawn", actor: actor.id });
    const placed = this.#placedOn.get(actor.id);
    this.#placedOn.delete(actor.id);
    if (placed !== undefined) this.#events.node(placed.nodeId)?.actorGone(actor.id);
  }

  /** The node had no room for it after all. */
  actorFull(id: ActorId, nodeId: NodeId): void {
    const placed = this.#placedOn.get(id);
    if (placed?.nodeId !== nodeId || placed.actor.worker !== undefined) return;
    this.#placedOn.delete(id);
    this.place(placed.actor);
  }

  // ---- placement groups

  reserveGroup({ header: { id, bundles, labels, strategy, nodeIds } }: GroupRecord, notWithinMs?: number): void {
    const requests = bundles.map((bundle, index) => ({ resources: resourceVector(bundle), labels: labels[index] ?? {} }));
    const earlier = notWithinMs === undefined ? undefined : { nodeIds, notWithinMs };
    this.#reserve({ kind: "wanted", group: id, requests, strategy, nowMs: this.#events.nowMs(), earlier });
  }

  releaseGroup({ header: { id } }: GroupRecord): void {
    this.#reserve({ kind: "removed", group: id });
    this.#groupChanged(id);
  }

  groupPrepared(group: string, prepared: HeadEvents["groupPrepared"][1]): void {
    this.#reserve({ kind: "prepared", group, ...prepared, nowMs: this.#events.nowMs() });
  }

  /** Never called in a cluster: only the single node of a machine reports a whole group. */
  groupReserved(): void {}

  close(): void {
    clearInterval(this.#tickTimer);
    this.#tickTimer = undefined;
  }

  // ---- effects

  #schedule(event: SchedulerEvent): void {
    for (const effect of this.#scheduler.handle(event)) this.#scheduled(effect);
    this.#updateTimer();
  }

  #scheduled(effect: SchedulerEffect): void {
    switch (effect.kind) {
      case "answer":
        this.#events.node(effect.ask.from)?.leasesPlaced(effect.ask.id, effect.answer);
        return;
      case "placeActor": {
        const actor = this.#waiting.get(effect.actor);
        const node = this.#events.node(effect.nodeId);
        if (actor === undefined || node === undefined) return;
        this.#waiting.delete(actor.id);
        this.#placedOn.set(actor.id, { nodeId: effect.nodeId, actor });
        const { id, incarnation, creator, options } = actor;
        const { shape, resources, interface: face } = options;
        const { placement, waitMs } = effect;
        const facts = { incarnation, creator, options };
        node.placeActor(id, { shape, resources, className: face.className, sent: { placement, waitMs }, facts });
        return;
      }
      case "actorInfeasible":
        this.#events.warn(`Actor ${this.#waiting.get(effect.actor)?.options.interface.className ?? effect.actor} ${effect.text}`);
        return;
      case "actorRefused":
        this.#waiting.delete(effect.actor);
        this.#events.actorRefused(effect.actor, effect.refusal);
        return;
    }
  }

  #reserve(event: ReservationEvent): void {
    for (const effect of this.#reservation.handle(event)) this.#reserved(effect);
    this.#updateTimer();
  }

  #reserved(effect: ReservationEffect): void {
    const { group } = effect;
    const node = "nodeId" in effect ? this.#events.node(effect.nodeId) : undefined;
    switch (effect.kind) {
      case "prepare": {
        const { attempt, mayWait, placement } = effect;
        const record = this.#events.group(group);
        if (record === undefined) return;
        const { state: _state, nodeIds: _nodeIds, ...header } = record.header;
        const bundles = effect.bundles.map(({ index }) => ({ index, resources: header.bundles[index] ?? {} }));
        node?.prepareGroup(group, { attempt, bundles, mayWait, placement, facts: { ...header, owner: record.owner } });
        return;
      }
      case "commit":
        node?.commitGroup(group, effect.attempt);
        return;
      case "abort":
        node?.abortGroup(group, effect.attempt);
        return;
      case "release":
        node?.releaseGroup(group);
        return;
      case "reserved":
        this.#events.groupReserved(group, effect.nodeIds);
        this.#groupChanged(group);
        return;
      case "lost":
        this.#events.groupLost(group, effect.indices);
        return;
      case "infeasible":
        this.#events.groupInfeasible(group);
        return;
    }
  }

  #groupChanged(group: string): void {
    this.#schedule({ kind: "groupChanged", group, nowMs: this.#events.nowMs() });
  }

  #groupPlace(id: string): GroupPlace | undefined {
    const record = this.#events.group(id);
    if (record === undefined) return undefined;
    const { state, bundles } = record.header;
    const nodeIds = this.#reservation.nodesOf(id) ?? [];
    return {
      state: state === "rescheduling" ? "created" : state,
      bundles: bundles.map((bundle, index) => ({ resources: resourceVector(bundle), nodeId: nodeIds[index] })),
    };
  }

  #updateTimer(): void {
    const isWaiting = this.#scheduler.waitingCount > 0 || this.#reservation.waitingCount > 0;
    if (isWaiting && this.#tickTimer === undefined) {
      this.#tickTimer = setInterval(() => {
        const nowMs = this.#events.nowMs();
        this.#reserve({ kind: "tick", nowMs });
        this.#schedule({ kind: "tick", nowMs });
      }, TICK_MS);
      this.#tickTimer.unref();
    } else if (!isWaiting && this.#tickTimer !== undefined) {
      this.close();
    }
  }
}

/**
 * Returns the shape that a node needs to start an actor there, as the key of a lease. An actor without CPUs holds none while it lives, but
 * starts only on a node with a CPU, as in Ray: a node without CPUs serves another purpose. In a placement group the bundle alone decides.
 */
function placementShapeOf({ options: { shape, resources } }: ActorRecord): string {
  const spec = parseLeaseSpec(shape);
  return "CPU" in resources || spec.bundle !== undefined ? shape : leaseKey(resourceVector({ ...resources, CPU: 1 }), spec);
}
