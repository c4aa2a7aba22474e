/**
 * What the lease manager keeps of each worker, lease, demand and actor: the rows of its tables.
 *
 * Only `lease-manager.ts` makes and changes them; `lease-holders.ts` reads them. A worker holds the CPUs of what it runs, a lease everything else of
 * its spec, so a worker without a lease and without a slot of its own holds nothing.
 */
import type { ActorId, ProcessId } from "../base/ids.ts";
import type { LeaseSpec } from "../scheduling/lease-spec.ts";
import type { Allocation, ResourcePool } from "../scheduling/resource-pool.ts";

/** CPUs that a worker holds, and where they came from. */
export interface Held {
  readonly key: string;
  readonly pool: ResourcePool;
  readonly allocation: Allocation;
}

export interface PoolWorker {
  readonly id: ProcessId;
  readonly environment: string;
  readonly leases: Set<number>;
  held: Held | undefined;
  parked: boolean;
  /** What it asked for to go on after parking. */
  wanted: LeaseSpec | undefined;
}

export interface Lease {
  readonly id: number;
  readonly owner: ProcessId;
  readonly worker: ProcessId;
  readonly group: string | undefined;
  readonly pool: ResourcePool;
  /** All but CPUs. */
  readonly rest: Allocation;
  revoked: boolean;
}

export interface Demand {
  readonly owner: ProcessId;
  readonly nested: boolean;
  readonly spec: LeaseSpec;
  readonly group: string | undefined;
  backlog: number;
  /** Since when it has had no grant. */
  waitsSinceMs: number;
  /** The same, or since the last revoke for it. */
  sinceMs: number;
  warned: boolean;
}

export interface ActorReservation {
  readonly actor: ActorId;
  readonly spec: LeaseSpec;
  readonly placement: LeaseSpec;
  warned: boolean;
}

/** What an actor holds while it lives. */
export interface ActorHeld {
  readonly pool: ResourcePool;
  readonly allocation: Allocation;
  readonly group: string | undefined;
}

/** One without a lease may still run a nested task that nobody awaits, under a slot that it asked for. */
export function isIdle(worker: PoolWorker): boolean {
  return worker.leases.size === 0 && worker.held === undefined && worker.wanted === undefined;
}
