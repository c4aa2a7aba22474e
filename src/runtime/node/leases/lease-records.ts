/**
 * What the lease manager keeps of workers, leases and demands, and when a worker is idle.
 *
 * Only `lease-manager.ts` and its parts write them; `lease-holders.ts` and `lease-overflow.ts` read them. A worker without a lease may still hold resources,
 * wait for some, or have parked tasks: those of its own that nobody awaits.
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
  /** What it asked for to go on after parking. */
  wanted: LeaseSpec | undefined;
  /** Since when, as of a tick. */
  wantsSinceMs: number | undefined;
  /** The worker goes on without the CPU for which it asked, and gets the next that comes free. */
  isOverdrawn: boolean;
  /**
   * The placement group of its tasks. One that waits outside of a group shares no worker with those in it: the group's end would be its own, and what it needs to go on
   * might be what the group has, which comes back when those behind it have run.
   */
  group: string | undefined;
  /** It has submitted or parked tasks, so some may be left there that belong to no lease: nested ones that nobody awaits. */
  mayHaveOwn: boolean;
  /** Tasks on this worker have submitted others. */
  isParent: boolean;
  /** The last lease is a worker's. */
  isNested: boolean;
  /** The worker was leased while tasks were parked there, and lets further ones begin beside parked ones until it hears otherwise. */
  isShared: boolean;
  /** The worker has had no work since the pool was last looked through for workers in excess. */
  isSurplus: boolean;
  /** It has created actors, which end with the process that created them. */
  isCreator: boolean;
  /** Its last lease has ended and it has not said yet what is left there. */
  isUnsure: boolean;
  /** It takes no call any more, and ends when it is idle. */
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
  /** When what is left of it is dropped. */
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
  /** Of a process of another node, whose daemon sent it here. */
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

/** What an actor holds while it lives. */
export interface ActorHeld {
  readonly worker: ProcessId;
  readonly spec: LeaseSpec;
  pool: ResourcePool;
  /** Undefined while it waits for lost arguments of its constructor: it gave all of it back, as whoever makes them may need that. */
  allocation: Allocation | undefined;
  /** The arguments are there, and it asks for what it gave back. */
  isResuming: boolean;
}

/** How many of a demand this node may grant. */
export function wantedHere(demand: Demand): number {
  return demand.backlog - demand.elsewhere;
}

/** It can be given to anybody, also to become an actor. */
export function isIdle(worker: PoolWorker): boolean {
  return worker.leases.size === 0 && worker.held === undefined && worker.wanted === undefined && !worker.parked && !worker.isUnsure;
}

/** What a lease manager is made with. */
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
  /** One of several nodes: what cannot be granted here is the head's matter, which sees all of them. */
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
