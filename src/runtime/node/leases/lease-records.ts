/**
 * The lease manager's records of workers, leases and demands, and the rule for idle workers.
 *
 * Only `lease-manager.ts` and its parts write them; `lease-holders.ts` and `lease-overflow.ts` read them. A worker without a lease may still hold resources, wait for
 * some, or have parked tasks of its own that no caller awaits.
 */
import { type ActorId, type NodeId, type NodeTag, nodeTagOf, type ProcessId } from "../../base/ids.ts";
import type { ResourceVector } from "../../base/resources.ts";
import type { Labels } from "../../scheduling/label-selector.ts";
import type { LeaseSpec } from "../../scheduling/lease-spec.ts";
import type { Allocation, ResourcePool, UnitShares } from "../../scheduling/resource-pool.ts";

/** CPUs that a worker holds, and where they came from. */
interface Held {
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
  /** The spec that the worker asked for to resume after parking. */
  wanted: LeaseSpec | undefined;
  /** Since when, as of a tick. */
  wantsSinceMs: number | undefined;
  /** The worker goes on without the CPU for which it asked, and gets the next that comes free. */
  isOverdrawn: boolean;
  /**
   * The placement group of its tasks. A task that waits outside a group shares no worker with tasks inside: the group's end would be its own end. It might also need
   * the group's own resources to go on, and those come back only after later tasks have run.
   */
  group: string | undefined;
  /** Whether the worker has submitted or parked tasks, so that nested tasks without a lease and without a waiting caller may be left there. */
  mayHaveOwn: boolean;
  /** Tasks on this worker have submitted others. */
  isParent: boolean;
  /** The last lease is a worker's. */
  isNested: boolean;
  /** The worker was leased while tasks were parked there, and lets further ones begin beside parked ones until it hears otherwise. */
  isShared: boolean;
  /** The worker has had no work since the pool was last looked through for workers in excess. */
  isSurplus: boolean;
  /** Whether the worker has created actors, which end with their creating process. */
  isCreator: boolean;
  /** Whether the last lease has ended and the worker has not reported its remaining tasks yet. */
  isUnsure: boolean;
  /** Whether the worker takes no more calls and ends once it is idle. */
  isRetiring: boolean;
}

export interface Lease {
  readonly id: number;
  readonly key: string;
  readonly owner: ProcessId;
  readonly worker: ProcessId;
  readonly group: string | undefined;
  readonly pool: ResourcePool;
  /** All but CPUs. */
  readonly rest: Allocation;
  revoked: boolean;
}

interface RemoteDemand {
  /** Time at which the rest of the demand is dropped. */
  untilMs: number;
  /** Long enough here to make others give back. */
  isPatient: boolean;
  /** Numbers that the next reports name. */
  readonly placements: number[];
}

export interface Demand {
  readonly owner: ProcessId;
  readonly nested: boolean;
  readonly spec: LeaseSpec;
  readonly group: string | undefined;
  backlog: number;
  /** How many of them are not for this node. */
  elsewhere: number;
  /** Set for a demand from another node's process, whose daemon sent it here. */
  readonly remote: RemoteDemand | undefined;
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
  /** The head's number for it, and when it is sent elsewhere; undefined on the only node. */
  readonly sent: { readonly placement: number; readonly untilMs: number } | undefined;
  warned: boolean;
}

/** The resources of an actor while it lives. */
export interface ActorHeld {
  readonly worker: ProcessId;
  readonly spec: LeaseSpec;
  pool: ResourcePool;
  /** Undefined while its constructor waits for lost arguments: the actor gave everything back, because the makers of the arguments may need it. */
  allocation: Allocation | undefined;
  /** Whether the arguments have arrived and the actor asks for its resources again. */
  isResuming: boolean;
}

/** How many of a demand this node may grant. */
export function wantedHere(demand: Demand): number {
  return demand.backlog - demand.elsewhere;
}

/** Tells whether a worker can be given to any owner, or become an actor. */
export function isIdle(worker: PoolWorker): boolean {
  return worker.leases.size === 0 && worker.held === undefined && worker.wanted === undefined && !worker.parked && !worker.isUnsure;
}

/** The options of a lease manager. */
export interface LeaseManagerOptions {
  total: ResourceVector;
  cpuCount: number;
  /** How many parked workers per CPU keep their process for themselves. */
  parkedPerCpu?: number | undefined;
  /** Whether the machine has memory for a process more than its pool; by default it has. */
  mayGrow?: (() => boolean) | undefined;
  nodeId?: NodeId;
  labels?: Labels;
  /** Ids of the node's accelerators; by default they are numbered from 0. */
  accelerators?: UnitShares | undefined;
  /** Whether this is one of several nodes, so that the head decides about demands without room here. */
  isClustered?: boolean;
}

/** The processes of a node that have demands or leases. */
export function ownersOf(tag: NodeTag, ...tables: readonly Iterable<Demand | Lease>[]): Set<ProcessId> {
  const owners = tables.flatMap((table) => Array.from(table, ({ owner }) => owner));
  return new Set(owners.filter((owner) => nodeTagOf(owner) === tag));
}

export interface Waits {
  readonly key: string;
  readonly actor: ActorId | undefined;
  readonly sinceMs: number | undefined;
  readonly spec: LeaseSpec;
}

export function whoWaits(actors: readonly ActorReservation[], demands: Iterable<readonly [string, Demand]>): Waits[] {
  const found: Waits[] = actors.map(({ actor, spec }) => ({ key: actor, actor, sinceMs: undefined, spec }));
  for (const [key, { backlog, waitsSinceMs, spec }] of demands)
    if (backlog > 0) found.push({ key, actor: undefined, sinceMs: waitsSinceMs, spec });
  return found;
}

/** Sums demands and waiting actors by the shape that a node must offer. Work in placement groups is left out: the group itself waits. */
export function unmetShapes(actors: readonly ActorReservation[], demands: Iterable<Demand>): Map<string, number> {
  const found = new Map<string, number>();
  const add = (spec: LeaseSpec, count: number): void => {
    if (count > 0 && spec.bundle === undefined) found.set(spec.key, (found.get(spec.key) ?? 0) + count);
  };
  for (const { placement } of actors) add(placement, 1);
  for (const { remote, backlog, spec } of demands) if (remote === undefined) add(spec, backlog);
  return found;
}
