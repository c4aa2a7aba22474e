/**
 * CPUs beyond the node's total, for nested tasks where actors and placement groups hold all CPUs for life.
 *
 * A rank or a trial that holds the last CPU and awaits its own tasks would wait for ever. Such a task borrows a CPU after a short wait. A part of the lease manager. Pure.
 * Invariant: borrowed CPUs never exceed the node's total.
 */
import type { ProcessId } from "../../../base/ids.ts";
import type { ResourceVector } from "../../../base/resources.ts";
import { ResourcePool } from "../../../scheduling/resource-pool.ts";
import type { Demand, PoolWorker } from "../lease-records.ts";
import { BORROW_AFTER_MS } from "../limits.ts";

interface BorrowedCpusOptions {
  readonly total: ResourceVector;
  /** Whether other nodes may have room: then each demand waits before it borrows. */
  readonly isClustered: boolean;
  readonly workers: ReadonlyMap<ProcessId, PoolWorker>;
}

export class BorrowedCpus {
  readonly #pool: ResourcePool;
  readonly #options: BorrowedCpusOptions;
  /** Owners whose demands have waited once. */
  readonly #known = new Set<ProcessId>();
  #nowMs = 0;

  constructor(options: BorrowedCpusOptions) {
    this.#pool = new ResourcePool(options.total);
    this.#options = options;
  }

  tick(nowMs: number): void {
    this.#nowMs = nowMs;
  }

  ownerGone(owner: ProcessId): void {
    this.#known.delete(owner);
  }

  /** Whether such a pool has borrowed CPUs. */
  owns(pool: ResourcePool): boolean {
    return pool === this.#pool;
  }

  /** Returns the pool for the CPUs of a demand without room in its own pools; undefined while the demand has to wait. */
  poolFor({ owner, nested, remote, spec, waitsSinceMs }: Demand, own: readonly ResourcePool[]): ResourcePool | undefined {
    if (!nested || remote !== undefined || !this.#pool.fits(spec.cpus)) return undefined;
    const { isClustered, workers } = this.#options;
    if (!(this.#known.has(owner) && !isClustered) && this.#nowMs - waitsSinceMs < BORROW_AFTER_MS) return undefined;
    // A task ends, and its CPU comes free.
    for (const { held } of workers.values()) if (held !== undefined && own.includes(held.pool)) return undefined;
    this.#known.add(owner);
    return this.#pool;
  }
}
