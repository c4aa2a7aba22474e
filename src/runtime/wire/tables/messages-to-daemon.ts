/**
 * Messages to a daemon from its node's processes and from other daemons: the header of each, its shape, and its route.
 *
 * Questions to the head pass through the daemon, too (`messages-to-head.ts`). A message about another node's state is forwarded there: a
 * ref counts at the owner, a stored object belongs to the node with the bytes, a lease to the node with the worker. `ROUTES` finds that
 * node from the header.
 */
import { leaseSpill, leaseSpillDropped } from "../cluster/cluster-messages.ts";
import { extensionHeader } from "../calls/extension-messages.ts";
import {
  either,
  exactly,
  fields,
  flag,
  jobId,
  leaseSpec,
  list,
  nothing,
  number,
  objectId,
  optional,
  orUndefined,
  count,
  processId,
  tuple,
} from "../header-shape.ts";
import type { HeadersOf } from "./message-table.ts";
import { MESSAGES_TO_HEAD } from "./messages-to-head.ts";
import {
  actorLeaving,
  anyActor,
  arenaName,
  cancelRef,
  cancelRunning,
  disownedRow,
  leaseDemand,
  leaseName,
  location,
  log,
  MESSAGE,
  park,
  payload,
  reclaimed,
  refHold,
  relayed,
  workerExit,
} from "../messages.ts";
import { packageHeld, packageOffer, packageRead } from "../cluster/package-messages.ts";
import { metricsReport, nodeMetricsAsked, nodeSeriesAsked } from "../observing/metric-messages.ts";
import { logListAsked, logReadAsked } from "../observing/log-messages.ts";
import { callFailed, nodeStateAsked } from "../observing/state-messages.ts";
import { storeUse } from "../objects/store-messages.ts";
import { copyKeep, copyKey, copyState, objectFetch, objectLocate } from "../objects/transfer-messages.ts";
import { whyRef } from "../calls/why-messages.ts";
import { inspectAsked, inspectReadAsked } from "../observing/inspect-messages.ts";

const { [MESSAGE.RESOURCES]: _resources, [MESSAGE.ENVIRONMENT_FETCH]: _environmentFetch, ...questions } = MESSAGES_TO_HEAD;

/** From a process of the node. Its questions for the head are a part of them. */
export const MESSAGES_OF_PROCESS = {
  ...questions,
  /** Asks for the total and free resources of the cluster, and the state of this node's store. */
  [MESSAGE.RESOURCES]: nothing,
  /** The driver ends. A node that it started with `init` ends, too, and answers when it has. */
  [MESSAGE.SHUTDOWN]: nothing,

  /**
   * How many tasks of this shape wait now; replaces the last number. `near`: how many of them have most of their arguments' bytes on that node, and how many bytes. Body: one of these
   * tasks (`first`), which the daemon hands to the first worker of the node that it leases to the sender under this shape.
   */
  [MESSAGE.LEASE_DEMAND]: leaseDemand,
  /** The sender asks for these first calls back, by their numbers. Answered by those that no worker has had; each of the others has come with a grant before. */
  [MESSAGE.FIRST_CALLS_BACK]: list(count),
  /** Bytes for the other end of a relayed connection, in the body. An empty body ends the connection. */
  [MESSAGE.RELAYED]: relayed,
  /** The worker and the lease's id: the sender does not need the lease any more. Lease ids are counted by the worker's node. */
  [MESSAGE.LEASE_RETURN]: leaseName,
  /**
   * The worker and the lease's id: the task under this lease must not run twice. A hint for the choice of a process to end when memory is
   * short.
   */
  [MESSAGE.LEASE_ONCE]: leaseName,
  /**
   * No call of that owner's leases up to this id is here: they end, and the owner's connections are closed. For each connection: its lease,
   * and the number of calls that were read and answered. Sent again for each later connection for such a lease, which is closed unread.
   */
  [MESSAGE.LEASE_RECLAIMED]: reclaimed,
  /**
   * Nothing runs here and `left` tasks wait: the slot is given back. From an actor: its constructor has not begun and waits for lost
   * arguments, and the actor's resources are given back. `isReport`: the answer to the end of the last lease (WORKER_SLOT); nobody else
   * gets the worker before it.
   */
  [MESSAGE.WORKER_PARK]: park,
  /** A task could continue under this shape, or an actor's constructor could begin. */
  [MESSAGE.WORKER_UNPARK]: leaseSpec,
  /** The actor ends by itself; or a retiring worker declines to become the actor, which is placed on another worker. */
  [MESSAGE.WORKER_EXIT]: orUndefined(actorLeaving),
  /**
   * From a worker: it takes no task any more, since the last call that some function may have there has begun, or code of a task was
   * interrupted there. Its leases are revoked; WORKER_EXIT follows when none is left and nothing is parked there.
   */
  [MESSAGE.WORKER_RETIRING]: nothing,
  /** Asks why such a demand, or an actor without a process, waits on this node. */
  [MESSAGE.WHY_LEASE]: either(fields({ shape: leaseSpec }), fields({ actor: anyActor })),
  /** Asks why the call behind the ref is pending. Goes to the process that runs the call. */
  [MESSAGE.WHY_REF]: whyRef,
  /** Cancels the call behind the ref; passed on to the process that made the call. */
  [MESSAGE.CANCEL_REF]: cancelRef,
  /**
   * A cancelled call of the sender has begun and does not end: interrupt it, or, with `kill`, end its worker. Nothing happens while the worker runs another call that was not
   * made, on that worker, for this one.
   */
  [MESSAGE.CANCEL_RUNNING]: cancelRunning,
  /**
   * A task of the sender has this many milliseconds; 0: it has ended. The sender may share its process with the task, and be unable to end
   * it: the daemon then interrupts the task, and after a while ends its worker.
   */
  [MESSAGE.CALL_DEADLINE]: tuple(number, number),

  /**
   * Adds a hold for each row: object, owner, holder. The last two places are for holds of a message that the sender is about to send over a
   * link between a caller and a worker. They are the caller's number of the link, negative for a call or definition, and the message's
   * number on it.
   */
  [MESSAGE.REF_HOLD]: list(refHold),
  /** The sender gives up this many holds of each object of that owner. */
  [MESSAGE.REF_RELEASE]: list(tuple(objectId, count, processId)),
  /** The daemon is their owner from now on, and gets their values from this process. */
  [MESSAGE.REF_ADOPT]: list(objectId),
  /** Asks for the value of an object of that owner, which REF_VALUE delivers. */
  [MESSAGE.REF_WATCH]: tuple(objectId, processId),
  /** The value of an object, for the process that asked. Body: the value. */
  [MESSAGE.REF_VALUE]: tuple(objectId, processId, optional(payload)),
  /**
   * Values of the sender's objects, or their places in the store, for processes that ask while the sender computes. Sent before their refs
   * leave the sender. Body: the values, one behind the other, without buffers.
   */
  [MESSAGE.REF_KNOWN]: list(tuple(objectId, payload)),
  /** The bytes of an object of that owner are not where they should be. Answered by REF_VALUE once the object was made again or cannot be. */
  [MESSAGE.REF_LOST]: tuple(objectId, processId, location),
  /**
   * The receiver has read that sender's messages with `held` on the link up to this number (reported every 256). With the asking daemon
   * (HELD_ENDED): nothing more arrives over the link, and later messages' holds are given back there.
   */
  [MESSAGE.HELD_READ]: tuple(processId, number, number, optional(processId)),
  /**
   * The sender's link with such messages to that receiver has ended. Without a link, from the sender's daemon to all others: the sender has
   * ended, and this follows all its messages. The link is numbered as in REF_HOLD.
   */
  [MESSAGE.HELD_ENDED]: tuple(optional(processId), optional(number), optional(processId)),

  /** The file of this place was deleted or cut short. */
  [MESSAGE.ARENA_LOST]: location,
  /** A new file of the store, of that kind and capacity. */
  [MESSAGE.STORE_ARENA]: tuple(arenaName, exactly("memory", "disk"), count),
  /** The sender has stored these objects for their owners. The number is the owner's link over which a worker announces the object. */
  [MESSAGE.STORE_SEALED]: list(tuple(location, processId, optional(number))),
  /** These places are not needed any more. `true`: the sender wrote the object there and has the pages back. */
  [MESSAGE.STORE_FREED]: list(tuple(location, flag)),
  /**
   * The answer to STORE_CLAIM, once all of the writer's messages have been read: those objects, with their links, that the owner has never
   * heard of, or has freed by then.
   */
  [MESSAGE.STORE_CLAIM]: list(disownedRow),
  /** Garbage was collected, as the daemon requested. */
  [MESSAGE.STORE_COLLECT]: nothing,
  /** Nothing more is written to these arenas, and everything in them has been announced. */
  [MESSAGE.STORE_RETIRE]: list(arenaName),
  /** Hints: the number of mapped objects of each arena, and the objects and bytes read from fused files since the last report. */
  [MESSAGE.STORE_USE]: storeUse,
  /** From a worker: its link to that owner, over which it announced the owner's stored objects, has ended. */
  [MESSAGE.STORE_LINK_ENDED]: tuple(processId, number),
  /**
   * Fetches an object of another node. The number is the purpose: 0 get, 1 wait, 2 prefetch. Without the owner, a copy is not found once
   * that node is dead. Answered with a location on this node, which the process reads until it releases it, or with the error `objectLost`,
   * `objectStoreFull` or `outOfDisk`.
   */
  [MESSAGE.OBJECT_FETCH]: objectFetch,
  /** The process does not need these copies any more; sent once for each answer that gave one. */
  [MESSAGE.COPY_RELEASE]: list(location),
  /**
   * Asks for the places of objects. The answer for each has the nodes with a full copy, the own node first, and whether the copy is on disk
   * there. Daemons ask each other the same.
   */
  [MESSAGE.OBJECT_LOCATE]: objectLocate,
  /** A message of an extension of the daemon, which has a shape for the header and for the answer, if it is a request. */
  [MESSAGE.NODE_EXTENSION]: extensionHeader,
  /** Asks a node for a page of rows. */
  [MESSAGE.NODE_STATE]: nodeStateAsked,
  /** The totals of metrics that have changed since the sender's last report. */
  [MESSAGE.METRICS]: metricsReport,
  /** Asks a node for its metrics. */
  [MESSAGE.NODE_METRICS]: nodeMetricsAsked,
  /** Asks a node for its numbers over time. */
  [MESSAGE.NODE_SERIES]: nodeSeriesAsked,
  /** Asks a node for its log files. */
  [MESSAGE.LOG_LIST]: logListAsked,
  /** Asks a node for the next bytes of a log file, which are the answer's body. */
  [MESSAGE.LOG_READ]: logReadAsked,
  /** Asks a node for a view into a process that runs there: for a stack, a profile, a heap snapshot, or a debugger's address. */
  [MESSAGE.INSPECT]: inspectAsked,
  /** Asks for the next bytes of such a result, which are the answer's body. None: the result has ended, or is no longer kept. */
  [MESSAGE.INSPECT_READ]: inspectReadAsked,
  /** From a worker: the text of the error with which a call failed. `caller`: the prefix of the call's id. */
  [MESSAGE.CALL_FAILED]: callFailed,
};
export type MessagesOfProcess = HeadersOf<typeof MESSAGES_OF_PROCESS>;

/** Messages between daemons that no process sends to its daemon. */
export const MESSAGES_BETWEEN_DAEMONS = {
  /** A worker of the sender's node has ended. */
  [MESSAGE.WORKER_EXITED]: workerExit,
  /** Output of a process of that job, for the job's drivers. */
  [MESSAGE.LOG]: log,
  /** The driver of this job has gone: the job starts no new work. */
  [MESSAGE.JOB_ENDED]: jobId,
  /** Asks which of these processes of the receiver's node have ended, under a new head that may lack the last one's news. */
  [MESSAGE.PROCESSES_ENDED]: list(processId),
  /** The bytes at this place are that daemon's to free. */
  [MESSAGE.STORE_ADOPT]: tuple(location, processId),
  /** So many more leases for a process of the sender's node; 0 withdraws the rest. Dropped after `waitMs`, if any. */
  [MESSAGE.LEASE_SPILL]: leaseSpill,
  /** So many leases of that owner and shape got no worker in time. */
  [MESSAGE.LEASE_SPILL_DROPPED]: leaseSpillDropped,
  /** To an object's node and to its owner's: the sender's copy is whole, or is no more. The number is that of the pull. */
  [MESSAGE.COPY_STATE]: copyState,
  /** From an object's node or its owner's, to a node with a copy: the object was freed or lost, be it before that node had its copy. */
  [MESSAGE.COPY_FREED]: copyKey,
  /** From the node of an object's owner to one with a copy, once the object's own node is dead: `true`: the copy is the object from now on; `false`: it may go. */
  [MESSAGE.COPY_KEEP]: copyKeep,
  /**
   * Requests a package of this folder, or of the files in `only`; answered once it is made. `holders`: other nodes that have it;
   * `installed`: folder, name and version of packages that its package.json files name. Refused for a folder that no process of the asked
   * node uses.
   */
  [MESSAGE.PACKAGE_OFFER]: packageOffer,
  /** Asks for a range of one of the two files of a package, at most 1 MiB; the bytes are the answer's body. */
  [MESSAGE.PACKAGE_READ]: packageRead,
  /** The sender has the whole package and gives it to others. */
  [MESSAGE.PACKAGE_HELD]: packageHeld,
};
export type MessagesBetweenDaemons = HeadersOf<typeof MESSAGES_BETWEEN_DAEMONS>;
