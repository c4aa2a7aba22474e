/**
 * The task workers of a node: their leases, the number to start, and the workers to end.
 *
 * A part of the lease manager, which decides about leases and resources. A *parked* worker keeps its process for its waiting task, and another worker is started in its
 * place while fewer than `parkedMax` are parked; beyond that, parked workers are shared. A worker *retires* when it has run some function up to the limit of one
 * process. A retiring worker is not leased or counted any more, so another one starts at once. It finishes its work, and leaves the pool once it has no lease and no
 * parked task. Pure. Invariant: a worker leaves the pool before it gets the message to end.
 */
import type { ProcessId } from "../../base/ids.ts";
import type { LeaseEffect } from "./lease-events.ts";
import { PARKED_SHARE_OF_NESTED, POOL_SIZE_MAX } from "./limits.ts";
import { type Demand, isIdle, type PoolWorker } from "./lease-records.ts";

interface TaskWorkersOptions {
  /** Up to so many are started for tasks of whole CPUs. */
  readonly target: number;
  /** So many of the default environment are there before anybody asks. */
  readonly prewarmed: number;
  /** So many parked workers are replaced by others. */
  readonly parkedMax: number;
  /** Whether the machine has memory for a process more than its pool. */
  readonly mayGrow: () => boolean;
  readonly emit: (effect: LeaseEffect) => void;
}

/**
 * How many workers have been asked for and are not there yet, by environment. The lease manager counts them as if they were there, so that it never asks for more than it can use. Workers that end before they were
 * ready are told like those that became ready: either way one is no longer starting.
 */
class StartingWorkers {
  readonly #starting = new Map<string, number>();

  /** In all environments. */
  get count(): number {
    let count = 0;
    for (const starting of this.#starting.values()) count += starting;
    return count;
  }

  of(environment: string): number {
    return this.#starting.get(environment) ?? 0;
  }

  /** Notes that a starting worker is ready, or has ended. */
  ended(environment: string): void {
    const left = this.of(environment) - 1;
    if (left > 0) this.#starting.set(environment, left);
    else this.#starting.delete(environment);
  }

  /** Notes that the starting workers of an environment have failed. */
  failed(environment: string): void {
    this.#starting.delete(environment);
  }

  /** @returns how many more have to be started to have as many as wanted, which are counted from now on */
  upTo(environment: string, wanted: number): number {
    const missing = Math.max(0, wanted - this.of(environment));
    if (missing > 0) this.#starting.set(environment, wanted);
    return missing;
  }
}

export class TaskWorkers {
  /** The ready workers, retiring ones included. */
  readonly all = new Map<ProcessId, PoolWorker>();
  /** By environment, how many workers have been asked for. */
  readonly starting: StartingWorkers = new StartingWorkers();
  readonly #options: TaskWorkersOptions;
  readonly #retiring = new Set<PoolWorker>();
  readonly #shared = new Set<PoolWorker>();

  constructor(options: TaskWorkersOptions) {
    this.#options = options;
  }

  ready(id: ProcessId, environment: string): void {
    this.starting.ended(environment);
    const nothing = {
      held: undefined,
      parked: false,
      wanted: undefined,
      wantsSinceMs: undefined,
      isOverdrawn: false,
      group: undefined,
      mayHaveOwn: false,
      isCreator: false,
      isUnsure: false,
      isParent: false,
      isNested: false,
      isShared: false,
      isSurplus: false,
    };
    this.all.set(id, { id, environment, leases: new Set(), isRetiring: false, ...nothing });
  }

  /** Notes that a worker has created an actor. */
  created(id: ProcessId): void {
    const worker = this.all.get(id);
    if (worker !== undefined) worker.isCreator = true;
  }

  delete(worker: PoolWorker): void {
    this.all.delete(worker.id);
    this.#retiring.delete(worker);
    this.#shared.delete(worker);
  }

  /** Retires a worker, which takes no more calls. */
  retire(worker: PoolWorker): void {
    worker.isRetiring = true;
    this.#retiring.add(worker);
  }

  /** Ends the retiring workers that are idle. */
  endRetiring(): void {
    if (this.#retiring.size === 0) return;
    for (const worker of this.#retiring) {
      if (!isIdle(worker)) continue;
      this.delete(worker);
      this.#options.emit({ kind: "workerRetiring", worker: worker.id });
    }
  }

  idle(environment: string): PoolWorker | undefined {
    for (const worker of this.all.values()) if (worker.environment === environment && isIdle(worker) && !worker.isRetiring) return worker;
    return undefined;
  }

  /** Returns an idle worker whose process may become an actor's. Actors that it has created would end with that actor. */
  idleForActor(environment: string): PoolWorker | undefined {
    for (const worker of this.all.values())
      if (worker.environment === environment && isIdle(worker) && !worker.isRetiring && !worker.isCreator) return worker;
    return undefined;
  }

  /** How many more the pool may start: as many as CPUs have no worker, and beyond one per CPU only in the place of parked ones. */
  get #room(): number {
    const { target, mayGrow } = this.#options;
    const room = target - this.#count - this.starting.count;
    if (room > 0 || !mayGrow()) return room;
    return room + this.#replaced(this.#parkedCounts());
  }

  /** So many of the parked workers have another in their place: nested tasks that wait have fewer, as they may be many. */
  #replaced({ nested, others }: { nested: number; others: number }): number {
    const { parkedMax } = this.#options;
    return Math.min(others, parkedMax) + Math.min(nested, Math.max(0, this.#nestedMax - others));
  }

  get #nestedMax(): number {
    return Math.ceil(this.#options.parkedMax * PARKED_SHARE_OF_NESTED);
  }

  /** Workers that wait for a CPU count as running. */
  #parkedCounts(except?: PoolWorker): { nested: number; others: number } {
    const counts = { nested: 0, others: 0 };
    for (const worker of this.all.values()) {
      if (!worker.parked || worker.wanted !== undefined || worker.isRetiring || worker === except) continue;
      if (worker.isNested) counts.nested += 1;
      else counts.others += 1;
    }
    return counts;
  }

  /** Whether each parked worker has another in its place, and one more could have. */
  get #keepsApart(): boolean {
    if (!this.#options.mayGrow() || this.all.size >= POOL_SIZE_MAX) return false;
    const counts = this.#parkedCounts();
    const parked = counts.nested + counts.others;
    return parked < this.#options.parkedMax && this.#replaced(counts) === parked;
  }

  /** The worker is leased although tasks are parked there. */
  share(worker: PoolWorker): void {
    worker.isShared = true;
    this.#shared.add(worker);
  }

  /** Shared workers hear when a process could be started for the children of the tasks that wait there next. */
  keepApart(): void {
    if (this.#shared.size === 0 || !this.#options.mayGrow()) return;
    for (const worker of this.#shared) {
      const { nested, others } = this.#parkedCounts(worker);
      if (worker.isNested ? nested + others >= this.#nestedMax : others >= this.#options.parkedMax) continue;
      this.#shared.delete(worker);
      worker.isShared = false;
      this.#options.emit({ kind: "apart", worker: worker.id });
    }
  }

  /** A task that has called others is parked: a worker is started in its place before its children ask for one. */
  keepSpare(environment: string): void {
    if (this.idle(environment) === undefined && this.starting.of(environment) === 0 && this.#room > 0) this.spawnUpTo(environment, 1);
  }

  /** Whether more workers are there than the pool has CPUs. */
  get hasSurplus(): boolean {
    return this.#count > this.#options.target;
  }

  /** Ends the workers beyond the pool's size that have had no work since the last time. */
  trim(): void {
    for (const worker of this.all.values()) {
      if (!isIdle(worker) || worker.isCreator || worker.isRetiring) continue;
      if (!worker.isSurplus) worker.isSurplus = true;
      else if (this.hasSurplus) this.retire(worker);
    }
  }

  /** No worker is idle: start one while the pool is small, else share one whose tasks all wait. */
  toShare(demand: Demand): PoolWorker | undefined {
    const { environment } = demand.spec;
    const starting = this.starting.of(environment);
    const room = this.#room;
    if (room > 0) {
      const isFilling = environment === "" && this.#count < this.#options.target;
      this.spawnUpTo(environment, starting + (isFilling ? room : Math.min(room, Math.max(0, demand.backlog - starting))));
      return undefined;
    }
    // A worker that starts is worth the wait.
    if (starting > 0 && this.#options.parkedMax > 0 && this.#options.mayGrow()) return undefined;
    // An idle worker of another environment makes room for one of this, unless actors would end with it.
    const other = Array.from(this.all.values()).find((worker) => worker.environment !== environment && isIdle(worker) && !worker.isCreator);
    const shared = other !== undefined || this.#keepsApart ? undefined : this.#parkedFor(demand);
    if (shared !== undefined) return shared;
    if (starting >= demand.backlog) return undefined;
    if (other !== undefined) {
      this.delete(other);
      this.#options.emit({ kind: "endWorker", worker: other.id, reason: "a worker of another runtime environment was needed" });
      this.spawnUpTo(environment, starting + 1);
      return undefined;
    }
    // The demand fits, yet every worker of the pool is in use, because some hold less than a CPU.
    if (starting === 0 && this.all.size < POOL_SIZE_MAX) this.spawnUpTo(environment, 1);
    return undefined;
  }

  /** A worker of nested tasks comes before a driver's, and the one whose own task calls first: tasks there call further ones without the daemon. */
  #parkedFor({ owner, group, spec: { environment } }: Demand): PoolWorker | undefined {
    let found: PoolWorker | undefined;
    for (const worker of this.all.values()) {
      const isFree = worker.parked && worker.wanted === undefined && !worker.isUnsure && !worker.isRetiring;
      if (!isFree || worker.environment !== environment || worker.group !== group) continue;
      if (found === undefined || worker.isNested > found.isNested || (worker.id === owner && worker.isNested === found.isNested))
        found = worker;
    }
    return found;
  }

  spawnUpTo(environment: string, wanted: number): void {
    for (let missing = this.starting.upTo(environment, wanted); missing > 0; missing -= 1)
      this.#options.emit({ kind: "spawn", environment });
  }

  keepPrewarmed(): void {
    const missing = this.#options.prewarmed - this.#count - this.starting.count;
    if (missing > 0) this.spawnUpTo("", this.starting.of("") + missing);
  }

  get #count(): number {
    return this.all.size - this.#retiring.size;
  }
}
