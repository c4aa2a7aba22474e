/**
 * What of the demands of a node's own processes finds no room on the node: the part that is asked for elsewhere.
 *
 * A demand for which the resources are free, though its worker still has to start, is not part of it. Demands are counted in the order in which the lease manager
 * serves them, nested ones first, each taking what it would get. Pure; called by the lease manager when there are other nodes.
 */
import type { ProcessId } from "../../base/ids.ts";
import type { LeaseSpec } from "../../scheduling/lease-spec.ts";
import type { ResourcePool } from "../../scheduling/resource-pool.ts";
import { type Demand, wantedHere } from "./lease-records.ts";

export interface Overflow {
  readonly owner: ProcessId;
  readonly nested: boolean;
  readonly spec: LeaseSpec;
  readonly backlog: number;
  /** What is not for this node. */
  readonly elsewhere: number;
  /** What of the rest finds no room now. */
  readonly excess: number;
  /** This node can never hold it. */
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
