/**
 * Messages to drivers and workers from their daemon, and through it from the head and from other nodes: the header of each, and its shape.
 *
 * Each process checks its messages (`readHeader`), and the daemon checks messages from other nodes to its processes. Messages that only the
 * head or the own daemon may send are not taken from other nodes (`runtime/node/membership/message-validation.ts`).
 */
import {
  actorId,
  count,
  either,
  exactly,
  fields,
  flag,
  list,
  nodeId,
  nothing,
  number,
  objectId,
  optional,
  orUndefined,
  processId,
  text,
  tuple,
} from "../header-shape.ts";
import type { HeadersOf } from "./message-table.ts";
import {
  actorStart,
  actorState,
  cancelRef,
  firstCall,
  groupState,
  leaseGrant,
  leaseName,
  leaseRefused,
  location,
  log,
  MESSAGE,
  payload,
  reclaim,
  reclaimed,
  relayed,
  slot,
  workerExit,
} from "../messages.ts";
import { nodeDraining } from "../cluster/cluster-messages.ts";
import { storeStatus } from "../objects/store-messages.ts";
import { openCallsAsked } from "../observing/state-messages.ts";
import { whyRef } from "../calls/why-messages.ts";

/** PEM: the certificate of a process over TLS, and the authority that it trusts. */
const certificate = fields({ ca: text, cert: text, key: text, alsoOnLoopback: optional(flag) });

export const MESSAGES_TO_PROCESS = {
  /** A lease of a worker. `accelerators`: those for its tasks, by resource. */
  [MESSAGE.LEASE_GRANT]: leaseGrant,
  /** Demands of this shape can never run. */
  [MESSAGE.LEASE_REFUSED]: leaseRefused,
  /** These first calls are the receiver's again: no worker has had them. */
  [MESSAGE.FIRST_CALLS_BACK]: list(count),
  /** Bytes of a relayed connection, in the body. An empty body ends the connection. */
  [MESSAGE.RELAYED]: relayed,
  /** The worker and the lease's id: push nothing more to it, and return it when drained. */
  [MESSAGE.LEASE_REVOKE]: leaseName,
  /**
   * The receiver's leases on that worker up to this id have ended. For each connection, named by its lease: this many of the first calls
   * may have run, even if their answers were lost, and the rest has not begun.
   */
  [MESSAGE.LEASE_TAKEN]: reclaimed,
  /**
   * Frames that a dead worker had sent to the receiver in that outbox, from this offset of the stream on: the receiver continues where its
   * connection ended. Comes before WORKER_EXITED. Body: the bytes.
   */
  [MESSAGE.OUTBOX_REST]: tuple(processId, number, number),
  /** A worker has ended. */
  [MESSAGE.WORKER_EXITED]: workerExit,
  /** The node is dead, with all its processes, for this reason. */
  [MESSAGE.NODE_GONE]: tuple(nodeId, text),
  /** The receiver's node is draining. Sent again when the deadline changes. */
  [MESSAGE.NODE_DRAINING]: nodeDraining,

  /** To a worker: a task that travelled with the demand for its lease. Body: frames, as over a connection. Answers go by RELAYED. */
  [MESSAGE.FIRST_CALL]: firstCall,
  /** To a worker: is anything of that owner's leases up to this id here? Other owners starve. Answered by LEASE_RECLAIMED once nothing is. */
  [MESSAGE.LEASE_RECLAIM]: reclaim,
  /**
   * Run under this shape. The flags: whether the worker asked for it (WORKER_UNPARK), and whether a lease of that shape lasts. Unasked, it comes since the parked worker was
   * leased to somebody, and is void for a worker that has asked and not been answered. The accelerators are for an actor's constructor alone. Or `isLast`: a lease has ended;
   * after the last one the worker answers with WORKER_PARK as soon as nothing runs.
   */
  [MESSAGE.WORKER_SLOT]: either(slot, flag),
  /** To a worker that was leased while tasks were parked there: processes may be had again, so a task that waits has this one for itself once no other is parked beside it. */
  [MESSAGE.WORKER_APART]: nothing,
  /** To a worker: end when idle, for this reason. */
  [MESSAGE.WORKER_EXIT]: orUndefined(text),
  /**
   * To a worker: become this actor. `name`: of the class; `actorName`: under which the actor is looked up; `groups`: its concurrency groups with their limits; `shape`: under
   * which it was placed. Body: the payloads.
   */
  [MESSAGE.ACTOR_START]: actorStart,

  /** To the owner: nobody holds these any more. */
  [MESSAGE.REF_FREE]: list(objectId),
  /** To the owner: that process asks for the object's value. */
  [MESSAGE.REF_WATCH]: tuple(objectId, processId),
  /**
   * The value of an object. Without it, the object is lost: with its maker, or `"bytes"`: it had a value, whose bytes are lost, or `"node"`: with its owner's node. Body: the
   * value.
   */
  [MESSAGE.REF_VALUE]: tuple(objectId, optional(payload), optional(exactly("maker", "bytes", "node"))),
  /**
   * To the owner: that process has not found the object's bytes at this place. From the daemon to the maker of an object that it owns: all
   * known values are lost, the last of them was at this place. Answered by REF_VALUE once the object was made again or cannot be.
   */
  [MESSAGE.REF_LOST]: tuple(objectId, processId, location),
  /**
   * To the receiver of messages with `held`: that sender's link has ended. Asks how far it has been read; HELD_READ answers the asking
   * daemon.
   */
  [MESSAGE.HELD_ENDED]: tuple(processId, number, processId),

  /** To the writer: the file of this place was deleted or cut short; never write there again. */
  [MESSAGE.ARENA_LOST]: location,
  /** To the writer: these places are free again. */
  [MESSAGE.STORE_REUSE]: list(location),
  /** The fill level of the store. `seenBytes`: the receiver's writes less its frees, as far as `usedBytes` includes them. */
  [MESSAGE.STORE_STATUS]: storeStatus,
  /** The store is short of room: collect garbage, and answer by the same. */
  [MESSAGE.STORE_COLLECT]: nothing,
  /** Write no more to these arenas, and answer by the same. */
  [MESSAGE.STORE_RETIRE]: list(text),
  /** These arenas were moved to disk and deleted. */
  [MESSAGE.STORE_SPILLED]: list(text),
  /**
   * To an owner: the writer has ended, or, with a number, that link to it has. Asks which of these objects the owner knows. A daemon that
   * took a value over is not asked, as it already knows the object.
   */
  [MESSAGE.STORE_CLAIM]: tuple(processId, list(location), optional(number)),

  /** The state of an actor that the receiver watches. From `reason` on: of the dead. Body: the constructor's error. */
  [MESSAGE.ACTOR_STATE]: actorState,
  /** Handles with the first id mean the second actor (`getIfExists`), whose holders that daemon counts. */
  [MESSAGE.ACTOR_REDIRECT]: tuple(actorId, actorId, processId),
  /** To all processes, before the workers of a removed placement group are ended. */
  [MESSAGE.GROUP_STATE]: groupState,
  /** To the process that made the call behind the ref: cancel it. */
  [MESSAGE.CANCEL_REF]: cancelRef,
  /** Asks the process that makes the object why the call is pending. */
  [MESSAGE.WHY_REF]: whyRef,
  /** Asks for a page of the calls that this process has made and that have not begun. */
  [MESSAGE.OPEN_CALLS]: openCallsAsked,

  /** Output of a process of that job, for the job's drivers. */
  [MESSAGE.LOG]: log,
  /** A warning for the user. */
  [MESSAGE.WARNING]: text,
  /** Refuses a message of the receiver, with the fault. The connection closes after it. */
  [MESSAGE.MESSAGE_REFUSED]: text,
  /** The node's later certificate, in PEM, for connections that begin from now on. */
  [MESSAGE.CERTIFICATE]: certificate,
};
export type MessagesToProcess = HeadersOf<typeof MESSAGES_TO_PROCESS>;
