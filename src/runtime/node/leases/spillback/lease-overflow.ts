/**
 * The overflow of a node: the part of its own processes' demands without room here, which is sought elsewhere.
 *
 * A demand with free resources is not part of the overflow, even if its worker still has to start. Demands are counted in the lease manager's order, nested ones first,
 * each with the resources that it would get. Pure; the lease manager calls it when there are other nodes.
 */
import type { ProcessId } from "../../../base/ids.ts";
import type { LeaseSpec } from "../../../scheduling/lease-spec.ts";
import type { ResourcePool } from "../../../scheduling/resource-pool.ts";
import { type Demand, wantedHere } from "../lease-records.ts";

export interface Overflow {
  readonly owner: ProcessId;
  readonly nested: boolean;
  readonly spec: LeaseSpec;
  readonly backlog: number;
  /** Number of leases to seek elsewhere. */
  readonly elsewhere: number;
  /** What of the rest finds no room now. */
  readonly excess: number;
  /** Whether this node can never hold the demand. */
  readonly isHopeless: boolean;
}

interface OverflowSources {
  readonly poolsFor: (spec: LeaseSpec) => readonly ResourcePool[];
  /** Nothing is granted from it now: it is kept for a placement group. */
  readonly isClosed: (demand: Demand, pool: ResourcePool) => boolean;
  readonly isHopeless: (spec: LeaseSpec) => boolean;
}

export function overflowOf(demands: Iterable<Demand>, sources: OverflowSources): Overflow[] {
  const found: Overflow[] = [];
  const left = new Map<ResourcePool, Map<string, number>>();
  const own = Array.from(demands).filter((demand) => demand.remote === undefined && demand.backlog > 0);
  for (const demand of own.sort((a, b) => Number(b.nested) - Number(a.nested))) {
    const { owner, nested, spec, backlog, elsewhere } = demand;
    const isHopeless = sources.isHopeless(spec);
    let excess = wantedHere(demand);
    for (const pool of isHopeless ? [] : sources.poolsFor(spec)) {
      if (excess === 0) break;
      if (!sources.isClosed(demand, pool)) excess -= take(spec, excess, freeIn(pool, left));
    }
    found.push({ owner, nested, spec, backlog, elsewhere, excess, isHopeless });
  }
  return found;
}

function freeIn(pool: ResourcePool, left: Map<ResourcePool, Map<string, number>>): Map<string, number> {
  let free = left.get(pool);
  if (free === undefined) {
    free = new Map(pool.freeAmounts);
    left.set(pool, free);
  }
  return free;
}

/** @returns how many of them there is room for */
function take(spec: LeaseSpec, wanted: number, free: Map<string, number>): number {
  let count = wanted;
  for (const [name, amount] of spec.resources.amounts) count = Math.min(count, Math.floor(Math.max(0, free.get(name) ?? 0) / amount));
  for (const [name, amount] of spec.resources.amounts) free.set(name, (free.get(name) ?? 0) - amount * count);
  return count;
}
