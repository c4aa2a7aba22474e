/**
 * What drivers and workers are told by their daemon, and through it by the head and by other nodes: the header of each message, and its shape.
 *
 * Each process checks what comes (`readHeader`), and the daemon checks what another node sends to one of its processes. What only the head or the own daemon says is not
 * taken from other nodes (`node/membership/link-speech.ts`).
 */
import type { ActorId, NodeId, ObjectId, ProcessId } from "../base/ids.ts";
import { accelerators, callsRead, groupState, leaseName, location, payload, refusal, whyRef, workerExit } from "./header-parts.ts";
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
  [MESSAGE.LEASE_GRANT]: LeaseGrantHeader;
  [MESSAGE.LEASE_REFUSED]: LeaseRefusedHeader;
  [MESSAGE.LEASE_REVOKE]: LeaseNameHeader;
  [MESSAGE.LEASE_TAKEN]: ReclaimedHeader;
  [MESSAGE.WORKER_EXITED]: WorkerExitedHeader;
  [MESSAGE.NODE_GONE]: [node: NodeId, reason: string];

  [MESSAGE.LEASE_RECLAIM]: ReclaimHeader;
  /** Or: a lease has ended, and whether it was the last. */
  [MESSAGE.WORKER_SLOT]: SlotHeader | boolean;
  [MESSAGE.WORKER_EXIT]: string | undefined;
  [MESSAGE.ACTOR_START]: ActorStartHeader;

  [MESSAGE.REF_FREE]: ObjectId[];
  [MESSAGE.REF_WATCH]: [id: ObjectId, asker: ProcessId];
  /** Without a value: what is lost of it, "maker" where that is not said. */
  [MESSAGE.REF_VALUE]: [id: ObjectId, value?: PayloadHeader, lost?: "maker" | "bytes" | "node"];
  [MESSAGE.REF_LOST]: [id: ObjectId, asker: ProcessId, location: WireLocation];
  [MESSAGE.HELD_ENDED]: [sender: ProcessId, link: number, asker: ProcessId];

  [MESSAGE.ARENA_LOST]: WireLocation;
  [MESSAGE.STORE_REUSE]: WireLocation[];
  [MESSAGE.STORE_STATUS]: StoreStatusHeader;
  [MESSAGE.STORE_COLLECT]: undefined;
  [MESSAGE.STORE_RETIRE]: string[];
  [MESSAGE.STORE_SPILLED]: string[];
  [MESSAGE.STORE_CLAIM]: [writer: ProcessId, locations: WireLocation[], link?: number];

  [MESSAGE.ACTOR_STATE]: ActorStateHeader;
  [MESSAGE.ACTOR_REDIRECT]: [asked: ActorId, found: ActorId, owner: ProcessId];
  [MESSAGE.GROUP_STATE]: GroupStateHeader;
  [MESSAGE.CANCEL_REF]: CancelRefHeader;
  [MESSAGE.WHY_REF]: WhyRefHeader;

  [MESSAGE.LOG]: LogHeader;
  [MESSAGE.WARNING]: string;
  [MESSAGE.MESSAGE_REFUSED]: string;
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
  phase: exactly("pending", "alive", "restarting", "dead"),
  incarnation: number,
  processId: optional(processId),
  address: optional(text),
  pid: optional(number),
  reason: optional(text),
  ending: optional(
    exactly("terminated", "exited", "killed", "unheld", "creatorGone", "constructorFailed", "crashed", "nameTaken", "notCreated"),
  ),
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
