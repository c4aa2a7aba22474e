/**
 * What must exist on a node for an actor to be started there, as the key of a lease.
 *
 * An actor that asked for no CPUs holds none while it lives, but is started only where there is one, as in Ray: a node without CPUs is there for something
 * else. Inside a placement group its bundle decides alone.
 */
import { resourceVector } from "../../base/resources.ts";
import { leaseKey, parseLeaseSpec } from "../../scheduling/lease-spec.ts";
import type { ActorRecord } from "./actor-table.ts";

export function placementShapeOf({ options: { shape, resources } }: Pick<ActorRecord, "options">): string {
  const spec = parseLeaseSpec(shape);
  return "CPU" in resources || spec.bundle !== undefined ? shape : leaseKey(resourceVector({ ...resources, CPU: 1 }), spec);
}
