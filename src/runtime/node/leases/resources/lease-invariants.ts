/**
 * The invariants of the lease manager's books. Unit tests and simulations check them after each event.
 *
 * The books are kept twice: a worker lists its leases, and each lease names its worker; a pool counts its free resources, and each holder keeps its allocation.
 * An event that changes one and forgets the other breaks an invariant at once, long before a task waits for ever.
 */
import type { ActorId, ProcessId } from "../../../base/ids.ts";
import { invariant } from "../../../base/invariant.ts";
import type { Allocation, ResourcePool } from "../../../scheduling/resource-pool.ts";
import type { ActorHeld, Lease, PoolWorker } from "../lease-records.ts";

interface LeaseBooks {
  readonly pool: ResourcePool;
  readonly workers: ReadonlyMap<ProcessId, PoolWorker>;
  readonly leases: ReadonlyMap<number, Lease>;
  readonly actors: ReadonlyMap<ActorId, ActorHeld>;
  /** The allocations of placement groups. */
  readonly bundles: Iterable<Allocation>;
}

/** @throws Error for books that no event may lead to */
export function checkLeaseBooks(books: LeaseBooks): void {
  for (const lease of books.leases.values()) checkLease(lease, books);
  for (const worker of books.workers.values()) checkWorker(worker, books);
  for (const [actor, { worker }] of books.actors)
    invariant(!books.workers.has(worker), `worker ${worker} runs tasks and is actor ${actor}, too`);
  checkAmounts(books);
}

function checkLease({ id, worker }: Lease, { workers }: LeaseBooks): void {
  invariant(workers.get(worker)?.leases.has(id) === true, `worker ${worker} does not know lease ${id}`);
}

function checkWorker(worker: PoolWorker, { leases }: LeaseBooks): void {
  const { id, held, parked, wanted, isOverdrawn, mayHaveOwn } = worker;
  for (const lease of worker.leases) invariant(leases.get(lease)?.worker === id, `lease ${lease} of worker ${id} is not that worker's`);
  invariant(held === undefined || worker.leases.size > 0 || mayHaveOwn, `worker ${id} holds CPUs without a lease or a task of its own`);
  invariant(held === undefined || (!parked && wanted === undefined), `worker ${id} waits, and holds CPUs`);
  invariant(!isOverdrawn || wanted !== undefined, `worker ${id} goes on without a CPU, and asks for none`);
}

/** Each unit that is not free is held by exactly one worker, lease, actor or placement group. */
function checkAmounts({ pool, workers, leases, actors, bundles }: LeaseBooks): void {
  const held = new Map<string, number>();
  const add = ({ vector }: Allocation): void => {
    for (const [name, units] of vector.amounts) held.set(name, (held.get(name) ?? 0) + units);
  };
  for (const worker of workers.values()) if (worker.held?.pool === pool) add(worker.held.allocation);
  for (const lease of leases.values()) if (lease.pool === pool) add(lease.rest);
  for (const actor of actors.values()) if (actor.pool === pool && actor.allocation !== undefined) add(actor.allocation);
  for (const bundle of bundles) add(bundle);
  for (const [name, total] of pool.totalAmounts) {
    const free = pool.freeAmounts.get(name) ?? 0;
    const inUse = held.get(name) ?? 0;
    invariant(free >= 0, `${-free} units of ${name} are held beyond the node's total`);
    invariant(free + inUse === total, `of ${total} units of ${name}, ${free} are free and ${inUse} are held`);
  }
}
