/**
 * The lease manager's events and effects, and its explanation of a waiting demand.
 *
 * `runtime/node/daemon.ts` makes events from messages, and turns effects into messages and processes; `lease-manager.ts` decides in between. A machine's only node gets
 * nothing from other nodes and sends nothing to them.
 */
import type { ActorId, NodeTag, ProcessId } from "../../base/ids.ts";
import type { LeaseSpec } from "../../scheduling/lease-spec.ts";
import type { AcceleratorIds } from "../../wire/messages.ts";
import type { BundleSpec, Preparation } from "./resources/bundle-reservations.ts";
import type { Obstacle, Refusal } from "./demands/lease-obstacles.ts";

export type LeaseEvent =
  /** `elsewhere`: so many of the backlog are not for this node, because they are spread or go to their arguments. */
  | { kind: "demand"; owner: ProcessId; nested: boolean; spec: LeaseSpec; backlog: number; nowMs: number; elsewhere?: number }
  /** `count` more leases for a process of another node; 0 withdraws the rest. Demands without a grant within `waitMs` are dropped. */
  | ({ kind: "remoteDemand"; owner: ProcessId; nested: boolean; spec: LeaseSpec; count: number; nowMs: number } & RemotePlacement)
  /** Another node granted one of the demanded leases. */
  | { kind: "grantedElsewhere"; owner: ProcessId; spec: LeaseSpec }
  | { kind: "elsewhere"; owner: ProcessId; spec: LeaseSpec; count: number }
  | { kind: "workerReady"; worker: ProcessId; environment: string }
  | { kind: "workerStartFailed"; environment: string }
  /** A worker takes no more calls, because it has run some function up to the limit of one process. */
  | { kind: "workerRetiring"; worker: ProcessId }
  /** An actor's creation is on its way to the head. */
  | { kind: "actorCreated"; creator: ProcessId }
  /** An environment cannot have workers: waiting demands are refused. */
  | { kind: "environmentFailed"; environment: string; refusal: Refusal }
  /** The job that it belongs to has ended. */
  | { kind: "environmentEnded"; environment: string }
  | { kind: "processGone"; process: ProcessId }
  /** The next report is to name it. */
  | { kind: "settled"; placement: number }
  /** Nothing begins here any more, and leases are to be given back. */
  | { kind: "draining" }
  /** Another node and its owners are dead. */
  | { kind: "nodeGone"; tag: NodeTag }
  | { kind: "leaseReturned"; leaseId: number; owner: ProcessId }
  | { kind: "leaseReclaimed"; worker: ProcessId; owner: ProcessId; leaseId: number }
  | { kind: "parked"; worker: ProcessId; left: number; isReport: boolean }
  | { kind: "unpark"; worker: ProcessId; spec: LeaseSpec }
  /** `placement` must exist on the node, `spec` is what it holds while it lives. */
  | { kind: "actorWanted"; actor: ActorId; spec: LeaseSpec; placement: LeaseSpec; sent?: RemotePlacement & { nowMs: number } }
  | { kind: "actorGone"; actor: ActorId }
  | { kind: "groupWanted"; group: string; bundles: readonly BundleSpec[]; nowMs: number }
  /** Hold them now or refuse; one that may wait does so until they fit. */
  | ({ kind: "groupPrepare" } & Preparation)
  /** Prepared bundles are committed for work, or given back. */
  | { kind: "groupCommit" | "groupAbort"; group: string; attempt: number }
  /** A group ends: its running work ends, and waiting demands are refused. */
  | { kind: "groupReleased"; group: string }
  /** Workers in excess that have had no work since the last such event end. */
  | { kind: "trim" }
  | { kind: "tick"; nowMs: number };

export type LeaseEffect =
  | { kind: "spawn"; environment: string }
  | { kind: "grant"; leaseId: number; owner: ProcessId; worker: ProcessId; spec: LeaseSpec; accelerators: AcceleratorIds | undefined }
  /** `accelerators`: of an actor whose constructor may begin. */
  | { kind: "slot"; worker: ProcessId; shape: string; isAnswer: boolean; isLeased: boolean; accelerators?: AcceleratorIds | undefined }
  /** Processes may be had again: it was shared, and is no longer. */
  | { kind: "apart"; worker: ProcessId }
  | { kind: "leaseEnded"; worker: ProcessId; isLast: boolean }
  | { kind: "revoke"; leaseId: number; worker: ProcessId; owner: ProcessId }
  | { kind: "reclaim"; worker: ProcessId; owner: ProcessId; leaseId: number }
  | { kind: "infeasible"; owner: ProcessId | ActorId; obstacle: Obstacle }
  | { kind: "refused"; owner: ProcessId; spec: LeaseSpec; refusal: Refusal }
  | { kind: "actorRefused"; actor: ActorId; refusal: Refusal }
  /** Nothing came free for it in its time: it goes to another node. */
  | { kind: "actorFull"; actor: ActorId }
  | { kind: "spillDropped"; owner: ProcessId; spec: LeaseSpec; count: number }
  | { kind: "placeActor"; actor: ActorId; worker: ProcessId; accelerators: AcceleratorIds | undefined }
  | { kind: "groupReserved"; group: string }
  | { kind: "groupPrepared"; group: string; attempt: number; isHeld: boolean }
  | { kind: "endWorker"; worker: ProcessId; reason: string }
  /** A retiring worker has finished its work. */
  | { kind: "workerRetiring"; worker: ProcessId };

/** The head's terms for something that it sent to this node. */
export interface RemotePlacement {
  /** Named in the node's reports once it is dealt with; 0 for none. */
  readonly placement: number;
  /** Undefined for as long as it takes. */
  readonly waitMs: number | undefined;
}

/** A holder of resources for which a demand waits. */
export interface Holder {
  readonly kind: "tasks" | "actor" | "group";
  /** The worker, the actor or the group. */
  readonly id: string;
  readonly owner: ProcessId | undefined;
  readonly resources: Record<string, number>;
}

/** The present reason for which a demand waits. */
export interface LeaseExplanation {
  readonly refusal: Refusal | undefined;
  readonly obstacle: Obstacle | undefined;
  /** The placement group that is not there yet. */
  readonly pendingGroup: string | undefined;
  readonly lacking: readonly { name: string; wanted: number; free: number }[];
  readonly holders: readonly Holder[];
  readonly workersStarting: number;
}
