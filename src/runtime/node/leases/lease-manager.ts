/**
 * Decides which process gets which worker: where a lease is granted.
 *
 * A pure state machine: `handle(event)` returns effects, and `runtime/node/daemon.ts` turns them into messages and processes. It owns the node's free resources, the pool of task workers, the
 * demand of every owner, and the reservations of actors and placement groups. A lease lets one owner push tasks of one spec to one worker. The CPUs of a spec belong to the worker while it
 * runs something, whatever number of leases point at it: it gives them back while all its tasks wait for refs (parked). A parked worker keeps its process; with too many of them it is leased
 * again, also by itself. So nested tasks need a bounded number of processes and never deadlock. All else (GPUs, custom resources) belongs to the lease for as long as it lasts, as in Ray.
 *
 * Invariants: Held resources never exceed the node's total; `borrowed-cpus.ts` counts borrowed CPUs apart. A worker with no lease holds
 * nothing. The pool has at most one worker a CPU beside `parkedPerCpu` parked ones, except beside or for shapes of less than one CPU
 * (POOL_SIZE_MAX). A worker serves leases with its own environment and with one placement group, or none.
 */
import type { ActorId, NodeId, ProcessId } from "../../base/ids.ts";
import type { NodeView, ResourceVector } from "../../base/resources.ts";
import type { LeaseSpec } from "../../scheduling/lease-spec.ts";
import { WAIT_BEFORE_REVOKE_MS } from "../../scheduling/limits.ts";
import { ResourcePool, unitIds } from "../../scheduling/resource-pool.ts";
import { BorrowedCpus } from "./resources/borrowed-cpus.ts";
import { BundleReservations } from "./resources/bundle-reservations.ts";
import { DemandTable } from "./demands/demand-table.ts";
import { collectingGroup, leasesToReclaim, leaseToRevoke } from "./demands/lease-fairness.ts";
import { EndedEnvironments } from "../environments/ended-environments.ts";
import type { LeaseEffect, LeaseEvent, LeaseExplanation } from "./lease-events.ts";
import { explainLease } from "./reports/lease-explanation.ts";
import { fitsWithoutTasks, freeOfActors, type NodeHolders } from "./resources/lease-holders.ts";
import { type NodeFacts, obstacleOf, type Refusal, refusalOf } from "./demands/lease-obstacles.ts";
import { checkLeaseBooks } from "./resources/lease-invariants.ts";
import { ACTORS_LOOKED_AT, OVERDRAW_AFTER_MS, PARKED_PER_CPU, PREWARMED_MAX, RELEASED_GROUPS_MAX } from "./limits.ts";
import { type Overflow, overflowOf } from "./spillback/lease-overflow.ts";
import {
  type ActorHeld,
  type ActorReservation,
  type Demand,
  type Lease,
  type LeaseManagerOptions,
  ownersOf,
  type PoolWorker,
  wantedHere,
  type Waits,
  unmetShapes,
  whoWaits,
} from "./lease-records.ts";
import { ParkedActors } from "./demands/parked-actors.ts";
import { TaskWorkers } from "./task-workers.ts";
import { reservationOf } from "../membership/head/remote-placement.ts";

type EventOf<Kind extends LeaseEvent["kind"]> = Extract<LeaseEvent, { kind: Kind }>;

export class LeaseManager {
  readonly #pool: ResourcePool;
  readonly #groups: BundleReservations;
  readonly #facts: NodeFacts;
  readonly #releasedGroups = new Set<string>();
  readonly #workers: TaskWorkers;
  readonly #borrowed: BorrowedCpus;
  readonly #leases = new Map<number, Lease>();
  readonly #demands = new DemandTable();
  readonly #actorsWaiting: ActorReservation[] = [];
  readonly #actors = new Map<ActorId, ActorHeld>();
  readonly #parkedActors = new ParkedActors(this.#actors);
  readonly #holders: NodeHolders;
  readonly #ended = new EndedEnvironments();
  /** Whether freed resources are kept for a placement group that has waited. */
  #isCollecting = false;
  readonly #isClustered: boolean;
  #nextLeaseId = 1;
  #effects: LeaseEffect[] = [];

  constructor(options: LeaseManagerOptions) {
    this.#pool = new ResourcePool(options.total, options.accelerators);
    this.#isClustered = options.isClustered ?? false;
    this.#groups = new BundleReservations(this.#pool);
    const target = Math.max(1, Math.ceil(options.cpuCount));
    // Each job of a cluster has a separate environment, so only the launcher keeps processes ready, for any of them.
    const prewarmed = options.isClustered === true ? 0 : Math.min(PREWARMED_MAX, target);
    const parkedMax = Math.ceil(target * (options.parkedPerCpu ?? PARKED_PER_CPU));
    const mayGrow = options.mayGrow ?? (() => true);
    this.#workers = new TaskWorkers({ target, prewarmed, parkedMax, mayGrow, emit: (effect) => this.#effects.push(effect) });
    this.#borrowed = new BorrowedCpus({ total: options.total, isClustered: this.#isClustered, workers: this.#workers.all });
    this.#holders = { pool: this.#pool, groups: this.#groups, actors: this.#actors, workers: this.#workers.all, leases: this.#leases };
    this.#facts = {
      nodeId: options.nodeId ?? ("" as NodeId),
      labels: options.labels ?? {},
      pool: this.#pool,
      groups: this.#groups,
      released: this.#releasedGroups,
    };
  }

  /** The first effects: the workers that are started before anybody asks. */
  start(): LeaseEffect[] {
    return this.#collect(() => this.#dispatch());
  }

  handle(event: LeaseEvent): LeaseEffect[] {
    return this.#collect(() => {
      this.#apply(event);
      this.#dispatch();
    });
  }

  /** Lists the leases with their owners and workers, the newest last. */
  leases(): { id: number; worker: ProcessId; owner: ProcessId }[] {
    return Array.from(this.#leases.values(), ({ id, worker, owner }) => ({ id, worker, owner }));
  }

  /** Whether a worker runs on a borrowed CPU. */
  hasBorrowed(worker: ProcessId): boolean {
    const held = this.#workers.all.get(worker)?.held;
    return held !== undefined && this.#borrowed.owns(held.pool);
  }

  available(): Record<string, number> {
    return this.#pool.available();
  }

  /** Returns the policies' view of this node. */
  view(): NodeView {
    const { nodeId, labels } = this.#facts;
    return { id: nodeId, labels, total: this.#pool.totalAmounts, free: this.#pool.freeAmounts };
  }

  /** What of the demands of this node's processes finds no room here. */
  overflow(): Overflow[] {
    return overflowOf(this.#demands.values(), {
      poolsFor: (spec) => this.#poolsFor(spec) ?? [],
      isClosed: (demand, pool) => this.#isCollecting && !demand.nested && pool === this.#pool,
      isHopeless: (spec) => refusalOf(spec, this.#facts) !== undefined || obstacleOf(spec, this.#facts) !== undefined,
    });
  }

  /** Returns the node's report to the head: resources that are free, and that would be if all tasks ended. */
  amounts(): { free: ReadonlyMap<string, number>; freeOfActors: ReadonlyMap<string, number>; isDraining: boolean } {
    return { free: this.#pool.freeAmounts, freeOfActors: freeOfActors(this.#holders), isDraining: this.#facts.isDraining === true };
  }

  /** Returns the demands of this node's own processes without a lease, wherever they are sought, and the actors that wait here, by shape. */
  unmet(): Map<string, number> {
    return unmetShapes(this.#actorsWaiting, this.#demands.values());
  }

  /** Counts leases, actors and bundles here, and the leases that were ever granted. */
  holdings(): { leases: number; actors: number; bundles: number; granted: number } {
    const bundles = this.#groups.contents().held.length;
    return { leases: this.#leases.size, actors: this.#actors.size, bundles, granted: this.#nextLeaseId - 1 };
  }

  /** The ids of accelerators in the group's first bundle here, by resource name. */
  acceleratorsOf(group: string): Readonly<Record<string, readonly string[]>> {
    const allocation = this.#groups.allocationOf(group);
    return (allocation === undefined ? undefined : unitIds(allocation)) ?? {};
  }

  /** The bundles that groups have here, and the attempts of those that wait for them. */
  bundles(): ReturnType<BundleReservations["contents"]> {
    return this.#groups.contents();
  }

  get hasSettled(): boolean {
    return this.#demands.hasSettled;
  }

  /** Placements of the head that the node has dealt with, for its next report. */
  takeSettled(): number[] {
    return this.#demands.takeSettled();
  }

  /** Whether somebody waits although resources exist in principle: the shell then sends ticks. */
  get hasUnmetDemand(): boolean {
    if (this.#groups.waiting.length > 0 || this.#actorsWaiting.some(({ sent }) => sent !== undefined)) return true;
    for (const demand of this.#demands.values()) if (demand.backlog > 0) return true;
    for (const worker of this.#workers.all.values()) if (worker.wanted !== undefined && !worker.isOverdrawn) return true;
    return false;
  }

  /** Whether the pool has workers in excess: the shell then sends `trim` from time to time. */
  get hasSurplus(): boolean {
    return this.#workers.hasSurplus;
  }

  /** Lists everything that waits: demands without a grant, and actors without a place. */
  waiting(): Waits[] {
    return whoWaits(this.#actorsWaiting, this.#demands);
  }

  get isSomebodyWaiting(): boolean {
    return this.#actorsWaiting.length > 0 || this.hasUnmetDemand;
  }

  /** Explains why a demand for this spec would wait at present. */
  explain(spec: LeaseSpec): LeaseExplanation {
    return explainLease(spec, {
      facts: this.#facts,
      holders: this.#holders,
      pools: this.#poolsFor(spec),
      workersStarting: this.#workers.starting.count,
      isClustered: this.#isClustered,
    });
  }

  /** @throws Error for a state that no event may lead to */
  checkInvariants(): void {
    checkLeaseBooks({
      pool: this.#pool,
      workers: this.#workers.all,
      leases: this.#leases,
      actors: this.#actors,
      bundles: this.#groups.allocations(),
    });
  }

  #collect(step: () => void): LeaseEffect[] {
    this.#effects = [];
    step();
    return this.#effects;
  }

  #apply(event: LeaseEvent): void {
    switch (event.kind) {
      case "demand":
        return this.#setDemand(event);
      case "remoteDemand":
        this.#demands.addRemote(event);
        return;
      case "grantedElsewhere":
        this.#demands.grantedElsewhere(event.owner, event.spec);
        return;
      case "settled":
        return this.#demands.settle(event.placement);
      case "elsewhere":
        this.#demands.setElsewhere(event.owner, event.spec, event.count);
        return;
      case "workerReady":
        return this.#workers.ready(event.worker, event.environment);
      case "workerRetiring":
        return this.#retireWorker(event);
      case "actorCreated":
        return this.#workers.created(event.creator);
      case "workerStartFailed":
        return this.#workers.starting.ended(event.environment);
      case "environmentEnded":
        return this.#ended.add(event.environment);
      case "environmentFailed":
        return this.#refuseEnvironment(event.environment, event.refusal);
      case "nodeGone":
        for (const owner of ownersOf(event.tag, this.#demands.values(), this.#leases.values())) this.#removeProcess(owner);
        return;
      case "draining":
        this.#facts.isDraining = true;
        for (const lease of this.#leases.values()) this.#revoke(lease);
        return;
      case "processGone":
        return this.#removeProcess(event.process);
      case "leaseReturned": {
        const lease = this.#leases.get(event.leaseId);
        if (lease?.owner === event.owner) this.#endLease(lease);
        return;
      }
      case "leaseReclaimed":
        return this.#reclaimLeases(event);
      case "parked":
        return this.#park(event);
      case "unpark":
        return this.#unpark(event);
      case "actorWanted":
        this.#actorsWaiting.push(reservationOf(event));
        return;
      case "actorGone":
        return this.#removeActor(event);
      case "groupWanted":
        this.#groups.want(event.group, event.bundles, event.nowMs);
        return;
      case "groupPrepare":
        return this.#prepareGroup(event);
      case "groupCommit":
        this.#groups.commit(event.group, event.attempt);
        return;
      case "groupAbort":
        return this.#demands.settle(this.#groups.abort(event.group, event.attempt));
      case "groupReleased":
        return this.#releaseGroup(event.group);
      case "trim":
        return this.#workers.trim();
      case "tick":
        return this.#tick(event.nowMs);
    }
  }

  #retireWorker(event: EventOf<"workerRetiring">): void {
    const worker = this.#workers.all.get(event.worker);
    if (worker === undefined) return;
    this.#workers.retire(worker);
    for (const lease of this.#leases.values()) if (lease.worker === worker.id && !lease.revoked) this.#revoke(lease);
  }

  #reclaimLeases(event: EventOf<"leaseReclaimed">): void {
    for (const lease of Array.from(this.#leases.values())) {
      if (lease.worker === event.worker && lease.owner === event.owner && lease.id <= event.leaseId) this.#endLease(lease);
    }
    // An owner with an idle lease needs no other, so its demand is out of date. It sends a new one when it next reviews its leases.
    for (const [key, demand] of this.#demands) {
      if (demand.owner !== event.owner) continue;
      if (demand.remote === undefined) this.#demands.end(key);
      else this.#dropRemoteDemand(key, demand);
    }
  }

  #park(event: EventOf<"parked">): void {
    const worker = this.#workers.all.get(event.worker);
    if (worker === undefined) return this.#parkedActors.park(event.worker);
    this.#releaseHeld(worker);
    worker.isUnsure &&= !event.isReport;
    if (worker.isOverdrawn) worker.wanted = undefined;
    worker.isOverdrawn = false;
    worker.mayHaveOwn = worker.leases.size > 0 || event.left > 0;
    worker.parked = worker.mayHaveOwn;
    if (worker.parked && worker.isParent) this.#workers.keepSpare(worker.environment);
  }

  #unpark(event: EventOf<"unpark">): void {
    const worker = this.#workers.all.get(event.worker);
    if (worker === undefined) return this.#parkedActors.wants(event.worker);
    worker.mayHaveOwn = true;
    worker.isUnsure = false;
    if (worker.held !== undefined && worker.held.key === event.spec.key) {
      this.#answerSlot(worker, event.spec.key);
      return;
    }
    this.#releaseHeld(worker);
    worker.parked = true;
    worker.wanted = event.spec;
    worker.wantsSinceMs = undefined;
    worker.isOverdrawn = false;
  }

  #removeActor(event: EventOf<"actorGone">): void {
    const actor = this.#actors.get(event.actor);
    this.#actors.delete(event.actor);
    if (actor?.allocation !== undefined) actor.pool.release(actor.allocation);
    const waiting = this.#actorsWaiting.find((reservation) => reservation.actor === event.actor);
    if (waiting !== undefined) this.#actorLeft(waiting);
  }

  #prepareGroup(event: EventOf<"groupPrepare">): void {
    const { group, attempt, mayWait, placement } = event;
    // Resources that a collection frees are kept for the group that it collects for.
    const isClosed = this.#facts.isDraining === true || (this.#isCollecting && !mayWait);
    const isHeld = isClosed ? false : this.#groups.prepare(event);
    if (isHeld === undefined) return;
    this.#demands.settle(placement);
    this.#effects.push({ kind: "groupPrepared", group, attempt, isHeld });
  }

  #setDemand(event: EventOf<"demand">): void {
    const submitter = this.#workers.all.get(event.owner);
    if (submitter !== undefined) {
      submitter.mayHaveOwn = true;
      submitter.isParent = true;
    }
    this.#demands.set(event);
  }

  #dropRemoteDemand(key: string, demand: Demand): void {
    this.#demands.end(key);
    this.#effects.push({ kind: "spillDropped", owner: demand.owner, spec: demand.spec, count: demand.backlog });
  }

  #actorLeft(reservation: ActorReservation): void {
    this.#actorsWaiting.splice(this.#actorsWaiting.indexOf(reservation), 1);
    this.#demands.settle(reservation.sent?.placement);
  }

  #refuseEnvironment(environment: string, refusal: Refusal): void {
    this.#workers.starting.failed(environment);
    for (const [key, { owner, spec }] of this.#demands) {
      if (spec.environment !== environment) continue;
      this.#demands.end(key);
      this.#effects.push({ kind: "refused", owner, spec, refusal });
    }
    for (const waiting of this.#actorsWaiting.filter(({ spec }) => spec.environment === environment)) {
      this.#actorLeft(waiting);
      this.#effects.push({ kind: "actorRefused", actor: waiting.actor, refusal });
    }
  }

  #removeProcess(process: ProcessId): void {
    this.#demands.endOf(process);
    this.#borrowed.ownerGone(process);
    const worker = this.#workers.all.get(process);
    if (worker !== undefined) this.#removeWorker(worker);
    for (const lease of Array.from(this.#leases.values())) {
      if (lease.owner !== process) continue;
      const leased = this.#workers.all.get(lease.worker);
      this.#endLease(lease);
      // No owner is left to take a result, so running work ends with its owner, as in Ray.
      if (leased !== undefined && leased.leases.size === 0) {
        this.#removeWorker(leased);
        this.#effects.push({ kind: "endWorker", worker: leased.id, reason: "the process that had submitted its tasks ended" });
      }
    }
  }

  #removeWorker(worker: PoolWorker): void {
    this.#releaseHeld(worker);
    this.#workers.delete(worker);
    for (const leaseId of worker.leases) {
      const lease = this.#leases.get(leaseId);
      lease?.pool.release(lease.rest);
      this.#leases.delete(leaseId);
    }
  }

  #releaseGroup(group: string): void {
    this.#releasedGroups.add(group);
    if (this.#releasedGroups.size > RELEASED_GROUPS_MAX) this.#releasedGroups.delete(this.#releasedGroups.values().next().value as string);
    for (const lease of Array.from(this.#leases.values())) {
      const worker = lease.group === group ? this.#workers.all.get(lease.worker) : undefined;
      if (worker === undefined) continue;
      this.#removeWorker(worker);
      this.#effects.push({ kind: "endWorker", worker: worker.id, reason: `its placement group ${group} was removed` });
    }
    for (const placement of this.#groups.release(group)) this.#demands.settle(placement);
  }

  #endLease(lease: Lease): void {
    this.#leases.delete(lease.id);
    lease.pool.release(lease.rest);
    const worker = this.#workers.all.get(lease.worker);
    if (worker === undefined) return;
    worker.leases.delete(lease.id);
    const isLast = worker.leases.size === 0;
    if (!isLast || worker.mayHaveOwn) {
      // The worker's own tasks may still use its resources: it reports when none does.
      worker.isUnsure = isLast;
      this.#effects.push({ kind: "leaseEnded", worker: worker.id, isLast });
      return;
    }
    this.#releaseHeld(worker);
    worker.parked = false;
  }

  #releaseHeld(worker: PoolWorker): void {
    worker.held?.pool.release(worker.held.allocation);
    worker.held = undefined;
  }

  #dispatch(): void {
    this.#resumeParked();
    this.#effects.push(...this.#parkedActors.resume(({ spec }) => this.#poolThatFits(spec, spec.resources)));
    for (const { group, attempt, placement } of this.#groups.reserve()) {
      this.#demands.settle(placement);
      if (attempt === 0) this.#effects.push({ kind: "groupReserved", group });
      else this.#effects.push({ kind: "groupPrepared", group, attempt, isHeld: true });
    }
    // Ticks may end with the last waiting group, so the collection ends here.
    if (this.#groups.waiting.length === 0) this.#isCollecting = false;
    this.#placeActors();
    this.#grantDemands();
    this.#effects.push(...this.#ended.endWorkers(this.#workers.all, (environment) => this.#workers.starting.of(environment) > 0));
    this.#workers.endRetiring();
    this.#workers.keepApart();
    this.#workers.keepPrewarmed();
  }

  /** Where a spec's resources come from; undefined while its placement group is not there. */
  #poolsFor(spec: LeaseSpec): readonly ResourcePool[] | undefined {
    if (spec.bundle === undefined) return [this.#pool];
    const pools = this.#groups.poolsOf(spec.bundle.group, spec.bundle.index);
    return pools.length === 0 ? undefined : pools;
  }

  #poolThatFits(spec: LeaseSpec, resources: ResourceVector): ResourcePool | undefined {
    return this.#poolsFor(spec)?.find((pool) => pool.fits(resources));
  }

  /** Returns the pools for a demand's CPUs and for the other resources; undefined while there is no room. */
  #poolsThatFit(demand: Demand): { cpus: ResourcePool; rest: ResourcePool } | undefined {
    const { spec } = demand;
    const pool = this.#poolThatFits(spec, spec.resources);
    if (pool !== undefined) return { cpus: pool, rest: pool };
    const rest = this.#poolThatFits(spec, spec.rest);
    const cpus = rest === undefined ? undefined : this.#borrowed.poolFor(demand, this.#poolsFor(spec) ?? []);
    return rest === undefined || cpus === undefined ? undefined : { cpus, rest };
  }

  /** Resumes parked work before anything new starts. */
  #resumeParked(): void {
    for (const worker of this.#workers.all.values()) {
      const { wanted } = worker;
      if (wanted === undefined) continue;
      const pool = this.#poolThatFits(wanted, wanted.cpus);
      if (pool === undefined) {
        this.#revokeOwn(worker);
        continue;
      }
      worker.held = { key: wanted.key, pool, allocation: pool.allocate(wanted.cpus) };
      worker.wanted = undefined;
      worker.parked = false;
      if (!worker.isOverdrawn) this.#answerSlot(worker, wanted.key);
      worker.isOverdrawn = false;
    }
  }

  /** A task that could go on waits for nobody's end: its CPU may be with its own child, which never ends. The task runs beside that one, and gets the next CPU. */
  #overdraw(nowMs: number): void {
    for (const worker of this.#workers.all.values()) {
      if (worker.wanted === undefined || worker.isOverdrawn) continue;
      worker.wantsSinceMs ??= nowMs;
      if (nowMs - worker.wantsSinceMs < OVERDRAW_AFTER_MS) continue;
      worker.isOverdrawn = true;
      worker.parked = false;
      this.#answerSlot(worker, worker.wanted.key);
    }
  }

  /** The CPU that a task waits for may be with a lease for its children that has nothing more to do. */
  #revokeOwn(worker: PoolWorker): void {
    for (const lease of this.#leases.values()) if (lease.owner === worker.id && !lease.revoked) this.#revoke(lease);
  }

  #answerSlot(worker: PoolWorker, shape: string): void {
    const isLeased = Array.from(worker.leases).some((id) => this.#leases.get(id)?.key === shape);
    this.#effects.push({ kind: "slot", worker: worker.id, shape, isAnswer: true, isLeased });
  }

  #placeActors(): void {
    const waiting = Array.from(this.#actorsWaiting);
    const lacking = new Set<string>();
    for (const reservation of waiting) {
      const { actor, spec, placement } = reservation;
      // Each worker that comes lets one of them go: to look at all of them each time would take a square of their number.
      if (waiting.length > ACTORS_LOOKED_AT && lacking.has(spec.environment)) continue;
      const refusal = refusalOf(spec, this.#facts);
      if (refusal !== undefined) {
        this.#actorLeft(reservation);
        // Whether the cluster has such a place, only the head knows.
        if (this.#isClustered && refusal.code === "unschedulable") this.#effects.push({ kind: "actorFull", actor });
        else this.#effects.push({ kind: "actorRefused", actor, refusal });
        continue;
      }
      const obstacle = obstacleOf(placement, this.#facts) ?? obstacleOf(spec, this.#facts);
      if (obstacle !== undefined && !reservation.warned && !this.#isClustered) {
        reservation.warned = true;
        this.#effects.push({ kind: "infeasible", owner: actor, obstacle });
      }
      const pool = obstacle === undefined ? this.#poolThatFits(spec, spec.resources) : undefined;
      if (pool === undefined || (this.#isCollecting && pool === this.#pool && spec.resources.amounts.size > 0)) continue;
      const { environment } = spec;
      const worker = this.#workers.idleForActor(environment);
      if (worker === undefined) {
        if (!lacking.has(environment))
          this.#workers.spawnUpTo(environment, this.#actorsWaiting.filter((other) => other.spec.environment === environment).length);
        lacking.add(environment);
        continue;
      }
      this.#actorLeft(reservation);
      const allocation = pool.allocate(spec.resources);
      this.#actors.set(actor, { worker: worker.id, spec, pool, allocation, isResuming: false });
      this.#workers.delete(worker);
      this.#effects.push({ kind: "placeActor", actor, worker: worker.id, accelerators: unitIds(allocation) });
    }
  }

  #grantDemands(): void {
    // Nested demand first: it frees the tasks that wait for it, and keeps the number of parked tasks small.
    for (const nested of [true, false]) {
      for (let progress = true; progress; ) {
        progress = false;
        for (const [key, demand] of Array.from(this.#demands)) {
          if (demand.nested !== nested || wantedHere(demand) <= 0 || !this.#tryGrant(key, demand)) continue;
          progress = true;
          this.#demands.granted(key);
        }
      }
    }
  }

  #tryGrant(key: string, demand: Demand): boolean {
    const { owner, spec, group } = demand;
    const refusal = refusalOf(spec, this.#facts);
    if (refusal !== undefined) {
      if (demand.remote !== undefined) this.#dropRemoteDemand(key, demand);
      if (this.#isClustered) return false;
      this.#demands.end(key);
      this.#effects.push({ kind: "refused", owner, spec, refusal });
      return false;
    }
    const obstacle = obstacleOf(spec, this.#facts);
    if (obstacle !== undefined) {
      if (!demand.warned && !this.#isClustered) this.#effects.push({ kind: "infeasible", owner, obstacle });
      demand.warned = true;
      return false;
    }
    const pools = this.#poolsThatFit(demand);
    if (pools === undefined || (this.#isCollecting && !demand.nested && pools.rest === this.#pool)) return false;
    const worker = this.#workers.idle(spec.environment) ?? this.#workers.toShare(demand);
    if (worker === undefined) return false;
    const pool = pools.rest;
    const rest = pool.allocate(spec.rest);
    const lease: Lease = { id: this.#nextLeaseId, key: spec.key, owner, worker: worker.id, group, pool, rest, revoked: false };
    this.#nextLeaseId += 1;
    this.#leases.set(lease.id, lease);
    const wasParked = worker.parked;
    worker.leases.add(lease.id);
    worker.parked = false;
    worker.isSurplus = false;
    worker.isNested = demand.nested;
    worker.wanted = undefined;
    worker.group = group;
    worker.held = { key: spec.key, pool: pools.cpus, allocation: pools.cpus.allocate(spec.cpus) };
    if (wasParked) {
      this.#workers.share(worker);
      this.#effects.push({ kind: "slot", worker: worker.id, shape: spec.key, isAnswer: false, isLeased: true });
    }
    this.#effects.push({ kind: "grant", leaseId: lease.id, owner, worker: worker.id, spec, accelerators: unitIds(rest) });
    return true;
  }

  #tick(nowMs: number): void {
    this.#borrowed.tick(nowMs);
    this.#overdraw(nowMs);
    this.#dropLate(nowMs);
    const collecting = collectingGroup(this.#groups.waiting, nowMs, (waiting) => fitsWithoutTasks(waiting.sum, this.#holders));
    this.#isCollecting = collecting !== undefined;
    // Shapes for which owners starve.
    const starved = new Map<ProcessId, Set<string>>();
    for (const demand of this.#demands.values()) {
      if (this.#mayRevoke(demand) && nowMs - demand.waitsSinceMs >= WAIT_BEFORE_REVOKE_MS)
        starved.set(demand.owner, (starved.get(demand.owner) ?? new Set()).add(demand.spec.key));
    }
    if (collecting !== undefined) starved.set(collecting.group as ProcessId, new Set());
    for (const pair of leasesToReclaim(this.#leases.values(), starved)) this.#effects.push({ kind: "reclaim", ...pair });
    for (const demand of this.#demands.values()) {
      if (!this.#mayRevoke(demand) || nowMs - demand.sinceMs < WAIT_BEFORE_REVOKE_MS) continue;
      if (this.#revoke(leaseToRevoke(this.#leases.values(), demand))) demand.sinceMs = nowMs;
    }
    if (collecting !== undefined) this.#revoke(leaseToRevoke(this.#leases.values(), { owner: "" as ProcessId, group: undefined }));
  }

  /** Whether others are to give back for it: it can be met here, and does not go elsewhere in a moment. */
  #mayRevoke(demand: Demand): boolean {
    if (wantedHere(demand) <= 0 || demand.remote?.isPatient === false) return false;
    return refusalOf(demand.spec, this.#facts) === undefined && obstacleOf(demand.spec, this.#facts) === undefined;
  }

  /** Tells whether there is room for a spec, so that it waits only for a worker's start. */
  #hasRoom(spec: LeaseSpec): boolean {
    return this.#poolThatFits(spec, spec.resources) !== undefined;
  }

  /** Drops demands that the head sent here and that found no room in their time; they go elsewhere. */
  #dropLate(nowMs: number): void {
    for (const [key, demand] of this.#demands)
      if (demand.remote !== undefined && nowMs >= demand.remote.untilMs && !this.#hasRoom(demand.spec)) this.#dropRemoteDemand(key, demand);
    for (const reservation of Array.from(this.#actorsWaiting)) {
      if (nowMs < (reservation.sent?.untilMs ?? Infinity) || this.#hasRoom(reservation.spec)) continue;
      this.#actorLeft(reservation);
      this.#effects.push({ kind: "actorFull", actor: reservation.actor });
    }
  }

  #revoke(victim: Lease | undefined): boolean {
    if (victim === undefined) return false;
    victim.revoked = true;
    this.#effects.push({ kind: "revoke", leaseId: victim.id, worker: victim.worker, owner: victim.owner });
    return true;
  }
}
