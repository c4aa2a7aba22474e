/**
 * Decides which process gets which worker: where a lease is granted.
 *
 * A pure state machine: `handle(event)` returns effects, and `node/daemon.ts` turns them into messages and processes. It owns the node's free
 * resources, the pool of task workers, the demand of every owner, and the reservations of actors. A lease lets one owner push tasks of one shape
 * to one worker. A worker holds the resources of one shape while it runs something, whatever number of leases point at it; it gives them
 * back while all its tasks wait for refs (parked), and then may be leased again, also by itself. So nested tasks need no
 * further processes and never deadlock.
 *
 * Invariants: resources held never exceed the node's total; a worker with no lease holds nothing; the pool has at most one worker a
 * CPU, except beside or for shapes of less than one CPU (POOL_SIZE_MAX).
 */
import type { ActorId, ProcessId } from "../base/ids.ts";
import { ResourcePool, type ResourceVector } from "../base/resources.ts";

/** Workers kept ready before anybody asks; two cover a first task and a first actor without a start in the way. */
const PREWARMED_MAX = 2;
/** Pool size for shapes of less than one CPU. Each worker costs about 8 MB. */
const POOL_SIZE_MAX = 64;
/** A demand that waited this long makes the owner with the most leases give one back. */
const REVOKE_AFTER_MS = 50;

export type LeaseEvent =
  | { kind: "demand"; owner: ProcessId; nested: boolean; shape: ResourceVector; backlog: number; nowMs: number }
  | { kind: "workerReady"; worker: ProcessId }
  | { kind: "workerStartFailed" }
  | { kind: "processGone"; process: ProcessId }
  | { kind: "leaseReturned"; leaseId: number; owner: ProcessId }
  | { kind: "leaseReclaimed"; worker: ProcessId; owner: ProcessId }
  | { kind: "parked"; worker: ProcessId }
  | { kind: "unpark"; worker: ProcessId; shape: ResourceVector }
  | { kind: "actorWanted"; actor: ActorId; lifetime: ResourceVector; placement: ResourceVector }
  | { kind: "actorGone"; actor: ActorId }
  | { kind: "tick"; nowMs: number };

export type LeaseEffect =
  | { kind: "spawn" }
  | { kind: "grant"; leaseId: number; owner: ProcessId; worker: ProcessId; shape: ResourceVector }
  | { kind: "slot"; worker: ProcessId; leased: boolean }
  | { kind: "leaseEnded"; worker: ProcessId }
  | { kind: "revoke"; leaseId: number; owner: ProcessId }
  | { kind: "reclaim"; worker: ProcessId; owner: ProcessId }
  | { kind: "infeasible"; owner: ProcessId | ActorId; shape: ResourceVector; missing: { name: string; wanted: number; total: number } }
  | { kind: "placeActor"; actor: ActorId; worker: ProcessId }
  | { kind: "endWorker"; worker: ProcessId; reason: string };

interface PoolWorker {
  readonly id: ProcessId;
  readonly leases: Set<number>;
  held: ResourceVector | undefined;
  parked: boolean;
  /** The shape it asked for to go on after parking. */
  wanted: ResourceVector | undefined;
}

interface Lease {
  readonly id: number;
  readonly owner: ProcessId;
  readonly worker: ProcessId;
  revoked: boolean;
}

interface Demand {
  readonly owner: ProcessId;
  readonly nested: boolean;
  readonly shape: ResourceVector;
  backlog: number;
  /** Since when it has had no grant. */
  waitsSinceMs: number;
  /** The same, or since the last revoke for it. */
  sinceMs: number;
  warned: boolean;
}

interface ActorReservation {
  readonly actor: ActorId;
  readonly lifetime: ResourceVector;
  readonly placement: ResourceVector;
  warned: boolean;
}

export class LeaseManager {
  readonly #resources: ResourcePool;
  readonly #poolTarget: number;
  readonly #prewarmed: number;
  readonly #workers = new Map<ProcessId, PoolWorker>();
  readonly #leases = new Map<number, Lease>();
  /** Insertion order is the round robin: a demand that got a lease goes to the end. */
  readonly #demands = new Map<string, Demand>();
  readonly #actorsWaiting: ActorReservation[] = [];
  readonly #actors = new Map<ActorId, ResourceVector>();
  #starting = 0;
  #nextLeaseId = 1;
  #effects: LeaseEffect[] = [];

  constructor(options: { total: ResourceVector; cpuCount: number }) {
    this.#resources = new ResourcePool(options.total);
    this.#poolTarget = Math.max(1, Math.ceil(options.cpuCount));
    this.#prewarmed = Math.min(PREWARMED_MAX, this.#poolTarget);
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

  total(): Record<string, number> {
    return this.#resources.total();
  }

  available(): Record<string, number> {
    return this.#resources.available();
  }

  /** Whether somebody waits although resources exist in principle: the shell then sends ticks. */
  get hasUnmetDemand(): boolean {
    for (const demand of this.#demands.values()) if (demand.backlog > 0) return true;
    return false;
  }

  get statistics(): { workers: number; idle: number; parked: number; starting: number; leases: number } {
    let idle = 0;
    let parked = 0;
    for (const worker of this.#workers.values()) {
      if (worker.leases.size === 0) idle += 1;
      if (worker.parked) parked += 1;
    }
    return { workers: this.#workers.size, idle, parked, starting: this.#starting, leases: this.#leases.size };
  }

  #collect(step: () => void): LeaseEffect[] {
    this.#effects = [];
    step();
    return this.#effects;
  }

  #apply(event: LeaseEvent): void {
    switch (event.kind) {
      case "demand":
        this.#setDemand(event);
        return;
      case "workerReady":
        this.#starting = Math.max(0, this.#starting - 1);
        this.#workers.set(event.worker, { id: event.worker, leases: new Set(), held: undefined, parked: false, wanted: undefined });
        return;
      case "workerStartFailed":
        this.#starting = Math.max(0, this.#starting - 1);
        return;
      case "processGone":
        this.#removeProcess(event.process);
        return;
      case "leaseReturned": {
        const lease = this.#leases.get(event.leaseId);
        if (lease?.owner === event.owner) this.#endLease(lease);
        return;
      }
      case "leaseReclaimed":
        for (const lease of Array.from(this.#leases.values())) {
          if (lease.worker === event.worker && lease.owner === event.owner) this.#endLease(lease);
        }
        // With an idle lease in hand it wanted no other: what it asked for is old, and it asks again when it attends to its leases.
        for (const [key, demand] of this.#demands) if (demand.owner === event.owner) this.#demands.delete(key);
        return;
      case "parked": {
        const worker = this.#workers.get(event.worker);
        if (worker === undefined) return;
        this.#releaseHeld(worker);
        worker.parked = worker.leases.size > 0;
        return;
      }
      case "unpark": {
        const worker = this.#workers.get(event.worker);
        if (worker === undefined) return;
        if (worker.held !== undefined && worker.held.key === event.shape.key) {
          this.#effects.push({ kind: "slot", worker: worker.id, leased: false });
          return;
        }
        this.#releaseHeld(worker);
        worker.parked = true;
        worker.wanted = event.shape;
        return;
      }
      case "actorWanted":
        this.#actorsWaiting.push({ actor: event.actor, lifetime: event.lifetime, placement: event.placement, warned: false });
        return;
      case "actorGone": {
        const lifetime = this.#actors.get(event.actor);
        this.#actors.delete(event.actor);
        if (lifetime !== undefined) this.#resources.release(lifetime);
        const waiting = this.#actorsWaiting.findIndex((reservation) => reservation.actor === event.actor);
        if (waiting >= 0) this.#actorsWaiting.splice(waiting, 1);
        return;
      }
      case "tick":
        this.#reclaimForTheStarved(event.nowMs);
        this.#revokeForTheStarved(event.nowMs);
        return;
    }
  }

  #setDemand(event: Extract<LeaseEvent, { kind: "demand" }>): void {
    const key = `${event.owner}/${event.shape.key}`;
    const known = this.#demands.get(key);
    if (event.backlog === 0) {
      this.#demands.delete(key);
    } else if (known === undefined) {
      const { owner, nested, shape, backlog, nowMs } = event;
      this.#demands.set(key, { owner, nested, shape, backlog, sinceMs: nowMs, waitsSinceMs: nowMs, warned: false });
    } else {
      known.backlog = event.backlog;
    }
  }

  #removeProcess(process: ProcessId): void {
    for (const [key, demand] of this.#demands) if (demand.owner === process) this.#demands.delete(key);
    const worker = this.#workers.get(process);
    if (worker !== undefined) {
      this.#releaseHeld(worker);
      this.#workers.delete(process);
      for (const leaseId of worker.leases) this.#leases.delete(leaseId);
    }
    for (const lease of Array.from(this.#leases.values())) {
      if (lease.owner !== process) continue;
      const leased = this.#workers.get(lease.worker);
      this.#endLease(lease);
      // Nobody is left who would take a result: what runs there ends with its owner, as in Ray.
      if (leased !== undefined && leased.leases.size === 0) {
        this.#workers.delete(leased.id);
        this.#effects.push({ kind: "endWorker", worker: leased.id, reason: "the process that had submitted its tasks ended" });
      }
    }
  }

  #endLease(lease: Lease): void {
    this.#leases.delete(lease.id);
    const worker = this.#workers.get(lease.worker);
    if (worker === undefined) return;
    worker.leases.delete(lease.id);
    if (worker.leases.size > 0) {
      this.#effects.push({ kind: "leaseEnded", worker: worker.id });
      return;
    }
    this.#releaseHeld(worker);
    worker.parked = false;
  }

  #releaseHeld(worker: PoolWorker): void {
    if (worker.held === undefined) return;
    this.#resources.release(worker.held);
    worker.held = undefined;
  }

  #dispatch(): void {
    this.#resumeParked();
    this.#placeActors();
    this.#grantDemands();
    this.#keepPrewarmed();
  }

  /** Those that have begun go on before anything new starts. */
  #resumeParked(): void {
    for (const worker of this.#workers.values()) {
      const wanted = worker.wanted;
      if (wanted === undefined || !this.#resources.fits(wanted)) continue;
      this.#resources.allocate(wanted);
      worker.held = wanted;
      worker.wanted = undefined;
      worker.parked = false;
      this.#effects.push({ kind: "slot", worker: worker.id, leased: false });
    }
  }

  #placeActors(): void {
    for (let index = 0; index < this.#actorsWaiting.length; ) {
      const reservation = this.#actorsWaiting[index] as ActorReservation;
      const missing = this.#resources.missing(reservation.placement) ?? this.#resources.missing(reservation.lifetime);
      if (missing !== undefined && !reservation.warned) {
        reservation.warned = true;
        this.#effects.push({ kind: "infeasible", owner: reservation.actor, shape: reservation.lifetime, missing });
      }
      if (missing !== undefined || !this.#resources.fits(reservation.lifetime)) {
        index += 1;
        continue;
      }
      const worker = this.#idleWorker();
      if (worker === undefined) {
        this.#spawnUpTo(this.#actorsWaiting.length);
        return;
      }
      this.#actorsWaiting.splice(index, 1);
      this.#resources.allocate(reservation.lifetime);
      this.#actors.set(reservation.actor, reservation.lifetime);
      this.#workers.delete(worker.id);
      this.#effects.push({ kind: "placeActor", actor: reservation.actor, worker: worker.id });
    }
  }

  #grantDemands(): void {
    // Nested demand first: it frees the tasks that wait for it, and keeps the number of parked tasks small.
    for (const nested of [true, false]) {
      for (let progress = true; progress; ) {
        progress = false;
        for (const [key, demand] of Array.from(this.#demands)) {
          if (demand.nested !== nested || demand.backlog <= 0 || !this.#tryGrant(demand)) continue;
          progress = true;
          demand.backlog -= 1;
          this.#demands.delete(key);
          if (demand.backlog > 0) this.#demands.set(key, demand);
        }
      }
    }
  }

  #tryGrant(demand: Demand): boolean {
    const missing = this.#resources.missing(demand.shape);
    if (missing !== undefined) {
      if (!demand.warned) this.#effects.push({ kind: "infeasible", owner: demand.owner, shape: demand.shape, missing });
      demand.warned = true;
      return false;
    }
    if (!this.#resources.fits(demand.shape)) return false;
    const worker = this.#idleWorker() ?? this.#workerToShare();
    if (worker === undefined) return false;
    const lease: Lease = { id: this.#nextLeaseId, owner: demand.owner, worker: worker.id, revoked: false };
    this.#nextLeaseId += 1;
    this.#leases.set(lease.id, lease);
    const wasParked = worker.parked;
    worker.leases.add(lease.id);
    worker.parked = false;
    worker.wanted = undefined;
    worker.held = demand.shape;
    this.#resources.allocate(demand.shape);
    if (wasParked) this.#effects.push({ kind: "slot", worker: worker.id, leased: true });
    this.#effects.push({ kind: "grant", leaseId: lease.id, owner: lease.owner, worker: worker.id, shape: demand.shape });
    return true;
  }

  #idleWorker(): PoolWorker | undefined {
    for (const worker of this.#workers.values()) {
      // One without a lease may still run a nested task that nobody awaits, under a slot that it asked for.
      if (worker.leases.size === 0 && worker.held === undefined && worker.wanted === undefined) return worker;
    }
    return undefined;
  }

  /** No worker is idle: start one while the pool is small, else share one whose tasks all wait. */
  #workerToShare(): PoolWorker | undefined {
    if (this.#workers.size + this.#starting < this.#poolTarget) {
      this.#spawnUpTo(this.#poolTarget);
      return undefined;
    }
    for (const worker of this.#workers.values()) if (worker.parked && worker.wanted === undefined) return worker;
    // It fits, and yet every worker of the pool is in use: some hold less than a CPU.
    if (this.#starting === 0 && this.#workers.size < POOL_SIZE_MAX) this.#spawnUpTo(1);
    return undefined;
  }

  #spawnUpTo(wanted: number): void {
    while (this.#starting < wanted) {
      this.#starting += 1;
      this.#effects.push({ kind: "spawn" });
    }
  }

  #keepPrewarmed(): void {
    while (this.#workers.size + this.#starting < this.#prewarmed) {
      this.#starting += 1;
      this.#effects.push({ kind: "spawn" });
    }
  }

  /**
   * An owner that computes gives nothing back: neither its timer nor a revoke is read. So its workers are asked, which know whether it has anything
   * with them; an idle one lets go of it.
   */
  #reclaimForTheStarved(nowMs: number): void {
    const starved = new Set<ProcessId>();
    for (const demand of this.#demands.values()) {
      if (demand.backlog > 0 && nowMs - demand.waitsSinceMs >= REVOKE_AFTER_MS && this.#resources.isFeasible(demand.shape))
        starved.add(demand.owner);
    }
    if (starved.size === 0) return;
    const asked = new Set<string>();
    for (const { worker, owner } of this.#leases.values()) {
      const pair = `${worker}/${owner}`;
      if (asked.has(pair) || (starved.size === 1 && starved.has(owner))) continue;
      asked.add(pair);
      this.#effects.push({ kind: "reclaim", worker, owner });
    }
  }

  /** Fairness between owners: no owner keeps all workers by having a backlog without end. */
  #revokeForTheStarved(nowMs: number): void {
    for (const demand of this.#demands.values()) {
      if (demand.backlog <= 0 || nowMs - demand.sinceMs < REVOKE_AFTER_MS || this.#resources.missing(demand.shape) !== undefined) continue;
      const counts = new Map<ProcessId, number>();
      for (const lease of this.#leases.values()) if (!lease.revoked) counts.set(lease.owner, (counts.get(lease.owner) ?? 0) + 1);
      const own = counts.get(demand.owner) ?? 0;
      let victim: Lease | undefined;
      for (const lease of this.#leases.values()) {
        if (lease.revoked || lease.owner === demand.owner) continue;
        const count = counts.get(lease.owner) ?? 0;
        if (count > own && (victim === undefined || count > (counts.get(victim.owner) ?? 0))) victim = lease;
      }
      if (victim === undefined) continue;
      victim.revoked = true;
      demand.sinceMs = nowMs;
      this.#effects.push({ kind: "revoke", leaseId: victim.id, owner: victim.owner });
    }
  }
}
