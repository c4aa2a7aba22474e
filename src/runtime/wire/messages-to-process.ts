/**
 * What drivers and workers are told by their daemon, and through it by the head and by other nodes: the header of each message, and its shape.
 *
 * Each process checks what comes (`readHeader`), and the daemon checks what another node sends to one of its processes. What only the head or the own daemon says is not
 * taken from other nodes (`runtime/node/membership/message-validation.ts`).
 */
import type { ActorId, NodeId, ObjectId, ProcessId } from "../base/ids.ts";
import {
  accelerators,
  actorEnding,
  actorPhase,
  callsRead,
  groupState,
  leaseName,
  location,
  payload,
  refusal,
  whyRef,
  workerExit,
} from "./header-parts.ts";
import * as shape from "./header-shape.ts";
import type { Shapes } from "./message-table.ts";
import {
  type ActorStartHeader,
  type ActorStateHeader,
  type CancelRefHeader,
  type GroupStateHeader,
  type LeaseGrantHeader,
  type LeaseNameHeader,
  type LeaseRefusedHeader,
  type LogHeader,
  MESSAGE,
  type PayloadHeader,
  type ReclaimedHeader,
  type ReclaimHeader,
  type SlotHeader,
  type WireLocation,
  type WorkerExitedHeader,
} from "./messages.ts";
import type { StoreStatusHeader } from "./store-messages.ts";
import type { WhyRefHeader } from "./why-messages.ts";

const { actorId, either, exactly, fields, flag, jobId, leaseSpec, list, nodeId, nothing, number, objectId, optional } = shape;
const { processId, record, text, tuple } = shape;

export interface MessagesToProcess {
  /** A lease of a worker. `accelerators`: those that its tasks may use, by resource. */
  [MESSAGE.LEASE_GRANT]: LeaseGrantHeader;
  /** What waits under this shape can never run. */
  [MESSAGE.LEASE_REFUSED]: LeaseRefusedHeader;
  /** The worker and the lease's id: push nothing more to it, and return it when drained. */
  [MESSAGE.LEASE_REVOKE]: LeaseNameHeader;
  /**
   * The receiver's leases on that worker up to this id have ended. Of each connection, named by the lease that it was made for: the first so many calls may have run, even if
   * their answers were lost, and the rest has not begun.
   */
  [MESSAGE.LEASE_TAKEN]: ReclaimedHeader;
  /** A worker has ended. */
  [MESSAGE.WORKER_EXITED]: WorkerExitedHeader;
  /** That node is dead, with all its processes, for this reason. */
  [MESSAGE.NODE_GONE]: [node: NodeId, reason: string];

  /** To a worker: is anything of that owner's leases up to this id here? Other owners starve. Answered by LEASE_RECLAIMED once nothing is. */
  [MESSAGE.LEASE_RECLAIM]: ReclaimHeader;
  /**
   * Run under this shape. The flags: whether the worker asked for it (WORKER_UNPARK), and whether a lease of that shape lasts. Unasked, it comes since the parked worker was
   * leased to somebody, and is void for a worker that has asked and not been answered. The accelerators are for an actor's constructor alone. Or `isLast`: a lease has ended;
   * after the last one the worker answers with WORKER_PARK as soon as nothing runs.
   */
  [MESSAGE.WORKER_SLOT]: SlotHeader | boolean;
  /** To a worker: end when idle, for this reason. */
  [MESSAGE.WORKER_EXIT]: string | undefined;
  /**
   * To a worker: become this actor. `name`: of the class; `actorName`: under which the actor is looked up; `groups`: its concurrency groups with their limits; `shape`: under
   * which it was placed. Body: the payloads.
   */
  [MESSAGE.ACTOR_START]: ActorStartHeader;

  /** To the owner: nobody holds these any more. */
  [MESSAGE.REF_FREE]: ObjectId[];
  /** To the owner: that process asks for the object's value. */
  [MESSAGE.REF_WATCH]: [id: ObjectId, asker: ProcessId];
  /**
   * The value of an object. Without it, the object is lost: with its maker, or `"bytes"`: it had a value, whose bytes are lost, or `"node"`: with its owner's node. Body: the
   * value.
   */
  [MESSAGE.REF_VALUE]: [id: ObjectId, value?: PayloadHeader, lost?: "maker" | "bytes" | "node"];
  /** To the owner: that process has not found the object's bytes at this place. Answered by REF_VALUE once the object was made again or cannot be. */
  [MESSAGE.REF_LOST]: [id: ObjectId, asker: ProcessId, location: WireLocation];
  /** To the receiver of messages with `held`: that sender's link has ended; how far has it been read? The daemon that asks is told by HELD_READ. */
  [MESSAGE.HELD_ENDED]: [sender: ProcessId, link: number, asker: ProcessId];

  /** To the writer: the file of this place was deleted or cut short; never write there again. */
  [MESSAGE.ARENA_LOST]: WireLocation;
  /** To the writer: these places are free again. */
  [MESSAGE.STORE_REUSE]: WireLocation[];
  /** How full the store is. `seenBytes`: what the receiver wrote less what it freed, as far as it is in `usedBytes`. */
  [MESSAGE.STORE_STATUS]: StoreStatusHeader;
  /** The store is short of room: collect garbage, and answer by the same. */
  [MESSAGE.STORE_COLLECT]: undefined;
  /** Write no more to these arenas, and answer by the same. */
  [MESSAGE.STORE_RETIRE]: string[];
  /** These arenas were moved to disk and deleted. */
  [MESSAGE.STORE_SPILLED]: string[];
  /**
   * To an owner: the writer has ended, or, with a number, that link to it has. Does the owner know these objects? A daemon that took a value over is not asked, as it has heard of
   * it.
   */
  [MESSAGE.STORE_CLAIM]: [writer: ProcessId, locations: WireLocation[], link?: number];

  /** The state of an actor that the receiver watches. From `reason` on: of the dead. Body: the constructor's error. */
  [MESSAGE.ACTOR_STATE]: ActorStateHeader;
  /** Handles with the first id mean the second actor (`getIfExists`), whose holders that daemon counts. */
  [MESSAGE.ACTOR_REDIRECT]: [asked: ActorId, found: ActorId, owner: ProcessId];
  /** To all processes, before the workers of a removed placement group are ended. */
  [MESSAGE.GROUP_STATE]: GroupStateHeader;
  /** To the process that made the call behind the ref: cancel it. */
  [MESSAGE.CANCEL_REF]: CancelRefHeader;
  /** To the process that makes the object: what does the call wait for? */
  [MESSAGE.WHY_REF]: WhyRefHeader;

  /** What a process of that job printed, for its drivers. */
  [MESSAGE.LOG]: LogHeader;
  /** A warning for the user. */
  [MESSAGE.WARNING]: string;
  /** Which message of the receiver is refused, and what is wrong with it. The connection is closed behind it. */
  [MESSAGE.MESSAGE_REFUSED]: string;
  /** The node's later certificate, in PEM, for connections that begin from now on. */
  [MESSAGE.CERTIFICATE]: CertificateHeader;
}

/** PEM: what a process of a node shows of itself over TLS, and whom it believes. */
interface CertificateHeader {
  ca: string;
  cert: string;
  key: string;
  alsoOnLoopback?: boolean;
}

const actorState = fields<ActorStateHeader>({
  actorId,
  phase: actorPhase,
  incarnation: number,
  processId: optional(processId),
  address: optional(text),
  pid: optional(number),
  reason: optional(text),
  ending: optional(actorEnding),
  exit: optional(workerExit),
  refusal: optional(refusal),
  error: optional(payload),
});

export const MESSAGES_TO_PROCESS: Shapes<MessagesToProcess> = {
  [MESSAGE.LEASE_GRANT]: fields<LeaseGrantHeader>({
    leaseId: number,
    shape: leaseSpec,
    workerId: processId,
    address: text,
    pid: number,
    accelerators: optional(accelerators),
  }),
  [MESSAGE.LEASE_REFUSED]: fields<LeaseRefusedHeader>({
    shape: leaseSpec,
    code: exactly("unschedulable", "groupRemoved", "environmentFailed"),
    reason: text,
    hint: text,
  }),
  [MESSAGE.LEASE_REVOKE]: leaseName,
  [MESSAGE.LEASE_TAKEN]: tuple<ReclaimedHeader>(processId, number, callsRead),
  [MESSAGE.WORKER_EXITED]: workerExit,
  [MESSAGE.NODE_GONE]: tuple<[node: NodeId, reason: string]>(nodeId, text),

  [MESSAGE.LEASE_RECLAIM]: tuple<ReclaimHeader>(processId, number),
  [MESSAGE.WORKER_SLOT]: either(tuple<SlotHeader>(leaseSpec, flag, flag, optional(accelerators)), flag),
  [MESSAGE.WORKER_EXIT]: optional(text),
  [MESSAGE.ACTOR_START]: fields<ActorStartHeader>({
    actorId,
    incarnation: number,
    definition: text,
    name: text,
    actorName: optional(text),
    resources: record(number),
    groups: record(number),
    shape: leaseSpec,
    accelerators: optional(accelerators),
    args: payload,
    deps: list(payload),
  }),

  [MESSAGE.REF_FREE]: list(objectId),
  [MESSAGE.REF_WATCH]: tuple<MessagesToProcess[typeof MESSAGE.REF_WATCH]>(objectId, processId),
  [MESSAGE.REF_VALUE]: tuple<MessagesToProcess[typeof MESSAGE.REF_VALUE]>(
    objectId,
    optional(payload),
    optional(exactly("maker", "bytes", "node")),
  ),
  [MESSAGE.REF_LOST]: tuple<MessagesToProcess[typeof MESSAGE.REF_LOST]>(objectId, processId, location),
  [MESSAGE.HELD_ENDED]: tuple<MessagesToProcess[typeof MESSAGE.HELD_ENDED]>(processId, number, processId),

  [MESSAGE.ARENA_LOST]: location,
  [MESSAGE.STORE_REUSE]: list(location),
  [MESSAGE.STORE_STATUS]: fields<StoreStatusHeader>({ usedBytes: number, quotaBytes: number, seenBytes: number }),
  [MESSAGE.STORE_COLLECT]: nothing,
  [MESSAGE.STORE_RETIRE]: list(text),
  [MESSAGE.STORE_SPILLED]: list(text),
  [MESSAGE.STORE_CLAIM]: tuple<MessagesToProcess[typeof MESSAGE.STORE_CLAIM]>(processId, list(location), optional(number)),

  [MESSAGE.ACTOR_STATE]: actorState,
  [MESSAGE.ACTOR_REDIRECT]: tuple<MessagesToProcess[typeof MESSAGE.ACTOR_REDIRECT]>(actorId, actorId, processId),
  [MESSAGE.GROUP_STATE]: groupState,
  [MESSAGE.CANCEL_REF]: fields<CancelRefHeader>({ id: objectId, owner: processId, force: flag, recursive: flag }),
  [MESSAGE.WHY_REF]: whyRef,

  [MESSAGE.LOG]: fields<LogHeader>({
    pid: number,
    source: text,
    stream: exactly("stdout", "stderr"),
    lines: list(text),
    job: optional(jobId),
  }),
  [MESSAGE.WARNING]: text,
  [MESSAGE.MESSAGE_REFUSED]: text,
  [MESSAGE.CERTIFICATE]: fields<CertificateHeader>({
    ca: text,
    cert: text,
    key: text,
    alsoOnLoopback: optional(flag) as shape.Shape<boolean>,
  }),
};
