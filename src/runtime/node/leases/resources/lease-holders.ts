/**
 * The holders of a node's resources: answers which leases and actors hold a wanted resource, and whether a demand would fit if all tasks ended.
 *
 * Pure functions over the lease manager's rows. The manager calls them for explanations and for waiting placement groups.
 * They change nothing.
 */
import type { ActorId, ProcessId } from "../../../base/ids.ts";
import { RESOURCE_UNIT, type ResourceVector } from "../../../base/resources.ts";
import type { Allocation, ResourcePool } from "../../../scheduling/resource-pool.ts";
import type { BundleReservations } from "./bundle-reservations.ts";
import type { Holder } from "../lease-events.ts";
import type { ActorHeld, Lease, PoolWorker } from "../lease-records.ts";

/** Limit on the holders that an explanation names. */
const HOLDERS_MAX = 20;

/** All that holds resources of a node. */
export interface NodeHolders {
  readonly pool: ResourcePool;
  readonly groups: BundleReservations;
  readonly actors: ReadonlyMap<ActorId, ActorHeld>;
  readonly workers: ReadonlyMap<ProcessId, PoolWorker>;
  readonly leases: ReadonlyMap<number, Lease>;
}

/** Whether only tasks, which end, are in the way of such an amount: actors and other groups may stay for ever. */
export function fitsWithoutTasks(sum: ResourceVector, holders: NodeHolders): boolean {
  const kept = keptByOthers(holders);
  const together = new Map(sum.amounts);
  for (const [name, units] of kept) if (together.has(name)) together.set(name, (together.get(name) ?? 0) + units);
  return holders.pool.isFeasible({ key: "", amounts: together });
}

/** Returns the resources that would be free if all tasks ended. */
export function freeOfActors(holders: NodeHolders): Map<string, number> {
  const free = new Map(holders.pool.totalAmounts);
  for (const [name, units] of keptByOthers(holders)) free.set(name, (free.get(name) ?? 0) - units);
  return free;
}

/** Returns the resources that actors and groups hold. */
function keptByOthers(holders: NodeHolders): Map<string, number> {
  const kept = new Map<string, number>();
  const add = ({ vector }: Allocation): void => {
    for (const [name, units] of vector.amounts) kept.set(name, (kept.get(name) ?? 0) + units);
  };
  for (const { pool, allocation } of holders.actors.values()) if (pool === holders.pool && allocation !== undefined) add(allocation);
  for (const allocation of holders.groups.allocations()) add(allocation);
  return kept;
}

/** Returns the holders of any named resource of these pools. */
export function holdersOf(names: readonly string[], pools: readonly ResourcePool[], holders: NodeHolders): Holder[] {
  if (names.length === 0) return [];
  const { pool: nodePool, groups, actors, workers, leases } = holders;
  const found: Holder[] = [];
  const add = (kind: Holder["kind"], id: string, from: { owner?: ProcessId; amounts: ReadonlyMap<string, number> }): void => {
    const resources: Record<string, number> = {};
    for (const name of names) if (from.amounts.has(name)) resources[name] = (from.amounts.get(name) as number) / RESOURCE_UNIT;
    if (Object.keys(resources).length > 0 && found.length < HOLDERS_MAX) found.push({ kind, id, owner: from.owner, resources });
  };
  for (const [actor, { pool, allocation }] of actors)
    if (allocation !== undefined && pools.includes(pool)) add("actor", actor, { amounts: allocation.vector.amounts });
  for (const worker of workers.values()) {
    const [first] = worker.leases;
    const owner = first === undefined ? undefined : leases.get(first)?.owner;
    if (worker.held !== undefined && pools.includes(worker.held.pool))
      add("tasks", worker.id, { amounts: worker.held.allocation.vector.amounts, ...(owner === undefined ? {} : { owner }) });
  }
  for (const { worker, owner, pool, rest } of leases.values())
    if (pools.includes(pool)) add("tasks", worker, { owner, amounts: rest.vector.amounts });
  if (pools.includes(nodePool)) for (const group of groups.reserved) add("group", group, { amounts: groups.amountsOf(group) });
  return found;
}
