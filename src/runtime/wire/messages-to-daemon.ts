/**
 * What a daemon is told and asked, by the processes of its node and by the daemons of others: the header of each message, its shape, and whose business it is.
 *
 * What processes ask of the head goes through the daemon, too (`messages-to-head.ts`). A message about what another node keeps (a ref counts where its owner is,
 * a stored object where its bytes are, a lease where its worker is) is passed on there: `ROUTES` tells from the header which node that is.
 */
import type { ActorId, JobId, NodeTag, ObjectId, ProcessId } from "../base/ids.ts";
import type { LeaseSpillDroppedHeader, LeaseSpillHeader } from "./cluster-messages.ts";
import { type ExtensionHeader, extensionHeader } from "./extension-messages.ts";
import { actorLeaving, arenaName, callsRead, leaseName, location, payload, whyRef, workerExit } from "./header-parts.ts";
import * as shape from "./header-shape.ts";
import type { Shapes } from "./message-table.ts";
import { anyActor, MESSAGES_TO_HEAD, type MessagesToHead } from "./messages-to-head.ts";
import {
  type ActorLeavingHeader,
  type CancelRefHeader,
  type CancelRunningHeader,
  type DisownedRow,
  type HeldEndedHeader,
  type HeldReadHeader,
  type LeaseDemandHeader,
  type LeaseNameHeader,
  type LogHeader,
  MESSAGE,
  type ParkHeader,
  type PayloadHeader,
  type ReclaimedHeader,
  type RefHoldHeader,
  type RefReleaseHeader,
  type WireLocation,
  type WorkerExitedHeader,
} from "./messages.ts";
import type { PackageHeldHeader, PackageOfferHeader, PackageReadHeader } from "./package-messages.ts";
import type { StoreUseHeader } from "./store-messages.ts";
import type { CopyKeepHeader, CopyKey, CopyStateHeader, ObjectFetchHeader, ObjectLocateHeader } from "./transfer-messages.ts";
import type { WhyRefHeader } from "./why-messages.ts";

const { count, either, exactly, fields, flag, jobId, leaseSpec, list, nodeTag, nothing, number, objectId, optional } = shape;
const { processId, text, tuple } = shape;

/** From a process of the node. Its questions for the head are a part of them. */
export interface MessagesOfProcess extends Omit<MessagesToHead, typeof MESSAGE.RESOURCES | typeof MESSAGE.ENVIRONMENT_FETCH> {
  /** Asks for all resources of the cluster, what of them is free, and the state of this node's store. */
  [MESSAGE.RESOURCES]: undefined;
  /** The driver ends. A node that it started with `init` ends, too, and answers when it has. */
  [MESSAGE.SHUTDOWN]: undefined;

  /** How many tasks of this shape wait now; replaces the last number. `near`: how many of them have most of their arguments' bytes on that node, and how many bytes. */
  [MESSAGE.LEASE_DEMAND]: LeaseDemandHeader;
  /** The worker and the lease's id: the sender does not need the lease any more. Lease ids are counted by the worker's node. */
  [MESSAGE.LEASE_RETURN]: LeaseNameHeader;
  /** The worker and the lease's id: what runs under this lease may not run twice. A hint for whom to end when memory is short. */
  [MESSAGE.LEASE_ONCE]: LeaseNameHeader;
  /**
   * Nothing of that owner's leases up to this id is here: they end, and the owner's connections are closed. Of each connection: the lease that it was made for, and how many calls
   * of it were read and answered. Sent again for each connection for such a lease that comes later, which is closed unread.
   */
  [MESSAGE.LEASE_RECLAIMED]: ReclaimedHeader;
  /**
   * Nothing runs here and `left` tasks wait: the slot is given back. From an actor: its constructor has not begun and waits for lost arguments, and all that the actor holds is
   * given back. `isReport`: the answer to the end of the last lease (WORKER_SLOT); nobody else is given the worker before it.
   */
  [MESSAGE.WORKER_PARK]: ParkHeader;
  /** A task could go on under this shape, or an actor's constructor could begin. */
  [MESSAGE.WORKER_UNPARK]: string;
  /** The actor ends by itself. */
  [MESSAGE.WORKER_EXIT]: ActorLeavingHeader | undefined;
  /**
   * From a worker: it takes no task any more, as the last call has begun that some function may have there. Its leases are revoked; WORKER_EXIT follows when none is left and
   * nothing is parked there.
   */
  [MESSAGE.WORKER_RETIRING]: undefined;
  /** What such a demand, or an actor without a process, waits for on this node. */
  [MESSAGE.WHY_LEASE]: { shape: string } | { actor: ActorId };
  /** What the call behind the ref waits for; asked of the process that makes it. */
  [MESSAGE.WHY_REF]: WhyRefHeader;
  /** Cancels the call behind the ref; passed on to the process that made the call. */
  [MESSAGE.CANCEL_REF]: CancelRefHeader;
  /**
   * A cancelled call of the sender has begun and does not end: interrupt it, or, with `kill`, end its worker. Nothing happens while the worker runs another call that was not
   * made, on that worker, for this one.
   */
  [MESSAGE.CANCEL_RUNNING]: CancelRunningHeader;

  /**
   * One more hold each: object, owner, holder. The last two are for holds of a message that the sender is about to send over a link between a caller and a worker: the caller's
   * number of the link, negative for a call or definition, and the message's number on it.
   */
  [MESSAGE.REF_HOLD]: RefHoldHeader[];
  /** The sender gives up so many holds of each object of that owner. */
  [MESSAGE.REF_RELEASE]: RefReleaseHeader;
  /** The daemon is their owner from now on, and gets their values from this process. */
  [MESSAGE.REF_ADOPT]: ObjectId[];
  /** Asks for the value of an object of that owner, which is told by REF_VALUE. */
  [MESSAGE.REF_WATCH]: [id: ObjectId, owner: ProcessId];
  /** The value of an object, for the process that asked. Body: the value. */
  [MESSAGE.REF_VALUE]: [id: ObjectId, receiver: ProcessId, value?: PayloadHeader];
  /** The bytes of an object of that owner are not where they should be. Answered by REF_VALUE once the object was made again or cannot be. */
  [MESSAGE.REF_LOST]: [id: ObjectId, owner: ProcessId, location: WireLocation];
  /**
   * The receiver has read that sender's messages with `held` on the link up to this number (told every 256). With the daemon that asked (HELD_ENDED): nothing more comes over the
   * link, and what later messages were to hold is given back there.
   */
  [MESSAGE.HELD_READ]: HeldReadHeader;
  /**
   * The sender's link with such messages to that receiver has ended. Without a link, from the sender's daemon to all others: the sender has ended, and this comes behind all that
   * it said. The link is numbered as in REF_HOLD.
   */
  [MESSAGE.HELD_ENDED]: HeldEndedHeader;

  /** The file of this place was deleted or cut short. */
  [MESSAGE.ARENA_LOST]: WireLocation;
  /** A new file of the store, of that kind and capacity. */
  [MESSAGE.STORE_ARENA]: [arena: string, kind: "memory" | "disk", capacityBytes: number];
  /** The sender has stored these objects for their owners. With the number of the owner's link over which a worker tells of the object. */
  [MESSAGE.STORE_SEALED]: [location: WireLocation, owner: ProcessId, link?: number][];
  /** These places are not needed any more. `true`: the sender wrote the object there and has the pages back. */
  [MESSAGE.STORE_FREED]: [location: WireLocation, reused: boolean][];
  /** The answer to STORE_CLAIM, once all that the writer sent has been read: those objects, with their links, that the owner has never heard of, or has freed by then. */
  [MESSAGE.STORE_CLAIM]: DisownedRow[];
  /** Garbage was collected, as the daemon asked. */
  [MESSAGE.STORE_COLLECT]: undefined;
  /** Nothing more is written to these arenas, and everything in them has been told of. */
  [MESSAGE.STORE_RETIRE]: string[];
  /** Hints: how many objects of each arena the sender has mapped, and how many objects and bytes it has read from fused files since it last told. */
  [MESSAGE.STORE_USE]: StoreUseHeader;
  /** From a worker: that owner's link has ended, over which the worker told of what it stored for the owner. */
  [MESSAGE.STORE_LINK_ENDED]: [owner: ProcessId, link: number];
  /**
   * Fetches an object that lies on another node. The number is the purpose: 0 get, 1 wait, 2 prefetch. Without the owner, a copy is not found once that node is dead. Answered
   * with a location on this node, which the process reads until it releases it, or with the error `objectLost`, `objectStoreFull` or `outOfDisk`.
   */
  [MESSAGE.OBJECT_FETCH]: ObjectFetchHeader;
  /** The process does not need these copies any more; sent once for each answer that gave one. */
  [MESSAGE.COPY_RELEASE]: WireLocation[];
  /** Where objects are. Answered for each with the nodes that have all of it, its own first, and with whether it lies on disk there. Daemons ask each other the same. */
  [MESSAGE.OBJECT_LOCATE]: ObjectLocateHeader;
  /** A message of an extension of the daemon, which has a shape for the header and for the answer, if it is a request. */
  [MESSAGE.NODE_EXTENSION]: ExtensionHeader;
}

/** What a node tells another that no process tells its daemon. */
export interface MessagesBetweenDaemons {
  /** A worker of the sender's node has ended. */
  [MESSAGE.WORKER_EXITED]: WorkerExitedHeader;
  /** What a process of that job printed, for its drivers. */
  [MESSAGE.LOG]: LogHeader;
  /** The driver of this job has gone: no new work of it begins. */
  [MESSAGE.JOB_ENDED]: JobId;
  /** The bytes at this place are that daemon's to free. */
  [MESSAGE.STORE_ADOPT]: [location: WireLocation, owner: ProcessId];
  /** So many more leases for a process of the sender's node; 0 withdraws the rest. Dropped after `waitMs`, if any. */
  [MESSAGE.LEASE_SPILL]: LeaseSpillHeader;
  /** So many leases of that owner and shape got no worker in time. */
  [MESSAGE.LEASE_SPILL_DROPPED]: LeaseSpillDroppedHeader;
  /** To an object's node and to its owner's: the sender's copy is whole, or is no more. The number is that of the pull. */
  [MESSAGE.COPY_STATE]: CopyStateHeader;
  /** From an object's node or its owner's, to a node with a copy: the object was freed or lost, be it before that node had its copy. */
  [MESSAGE.COPY_FREED]: CopyKey;
  /** From the node of an object's owner to one with a copy, once the object's own node is dead: `true`: the copy is the object from now on; `false`: it may go. */
  [MESSAGE.COPY_KEEP]: CopyKeepHeader;
  /**
   * A package of this folder, or of the files in `only`, is wanted; answered once it is made. `holders`: other nodes that have it; `installed`: folder, name and version of
   * packages that its package.json files name. Refused for a folder that no process of the asked node uses.
   */
  [MESSAGE.PACKAGE_OFFER]: PackageOfferHeader;
  /** Asks for a range of one of the two files of a package, at most 1 MiB; the bytes are the answer's body. */
  [MESSAGE.PACKAGE_READ]: PackageReadHeader;
  /** The sender has the whole package and gives it to others. */
  [MESSAGE.PACKAGE_HELD]: PackageHeldHeader;
}

const { [MESSAGE.RESOURCES]: _resources, [MESSAGE.ENVIRONMENT_FETCH]: _environmentFetch, ...questions } = MESSAGES_TO_HEAD;
export const copyKey: shape.Shape<CopyKey> = tuple<CopyKey>(objectId, location);
const job = jobId;
const folder = { job, directory: text, excludes: list(text), only: optional(list(text)) };

export const MESSAGES_OF_PROCESS: Shapes<MessagesOfProcess> = {
  ...questions,
  [MESSAGE.RESOURCES]: nothing,
  [MESSAGE.SHUTDOWN]: nothing,

  [MESSAGE.LEASE_DEMAND]: fields<LeaseDemandHeader>({
    shape: leaseSpec,
    backlog: count,
    near: optional(list(tuple<[node: NodeTag, tasks: number, bytes: number]>(nodeTag, number, number))),
  }),
  [MESSAGE.LEASE_RETURN]: leaseName,
  [MESSAGE.LEASE_ONCE]: leaseName,
  [MESSAGE.LEASE_RECLAIMED]: tuple<ReclaimedHeader>(processId, number, callsRead),
  [MESSAGE.WORKER_PARK]: fields<ParkHeader>({ left: count, isReport: flag }),
  [MESSAGE.WORKER_UNPARK]: leaseSpec,
  [MESSAGE.WORKER_EXIT]: optional(actorLeaving),
  [MESSAGE.WORKER_RETIRING]: nothing,
  [MESSAGE.WHY_LEASE]: either(fields({ shape: leaseSpec }), fields({ actor: anyActor })),
  [MESSAGE.WHY_REF]: whyRef,
  [MESSAGE.CANCEL_REF]: fields<CancelRefHeader>({ id: objectId, owner: processId, force: flag, recursive: flag }),
  [MESSAGE.CANCEL_RUNNING]: fields<CancelRunningHeader>({ worker: processId, callId: number, recursive: flag, kill: flag }),

  [MESSAGE.REF_HOLD]: list(tuple<RefHoldHeader>(objectId, processId, processId, optional(number), optional(number))),
  [MESSAGE.REF_RELEASE]: list(tuple<RefReleaseHeader[number]>(objectId, count, processId)),
  [MESSAGE.REF_ADOPT]: list(objectId),
  [MESSAGE.REF_WATCH]: tuple<MessagesOfProcess[typeof MESSAGE.REF_WATCH]>(objectId, processId),
  [MESSAGE.REF_VALUE]: tuple<MessagesOfProcess[typeof MESSAGE.REF_VALUE]>(objectId, processId, optional(payload)),
  [MESSAGE.REF_LOST]: tuple<MessagesOfProcess[typeof MESSAGE.REF_LOST]>(objectId, processId, location),
  [MESSAGE.HELD_READ]: tuple<HeldReadHeader>(processId, number, number, optional(processId)),
  [MESSAGE.HELD_ENDED]: tuple<HeldEndedHeader>(optional(processId), optional(number), optional(processId)),

  [MESSAGE.ARENA_LOST]: location,
  [MESSAGE.STORE_ARENA]: tuple<MessagesOfProcess[typeof MESSAGE.STORE_ARENA]>(arenaName, exactly("memory", "disk"), count),
  [MESSAGE.STORE_SEALED]: list(tuple<[location: WireLocation, owner: ProcessId, link?: number]>(location, processId, optional(number))),
  [MESSAGE.STORE_FREED]: list(tuple<[location: WireLocation, reused: boolean]>(location, flag)),
  [MESSAGE.STORE_CLAIM]: list(tuple<DisownedRow>(location, optional(number))),
  [MESSAGE.STORE_COLLECT]: nothing,
  [MESSAGE.STORE_RETIRE]: list(arenaName),
  [MESSAGE.STORE_USE]: fields<StoreUseHeader>({
    mapped: list(tuple<[arena: string, count: number]>(arenaName, count)),
    restored: tuple<[objects: number, bytes: number]>(count, count),
  }),
  [MESSAGE.STORE_LINK_ENDED]: tuple<MessagesOfProcess[typeof MESSAGE.STORE_LINK_ENDED]>(processId, number),
  [MESSAGE.OBJECT_FETCH]: tuple<ObjectFetchHeader>(objectId, location, number, optional(processId)),
  [MESSAGE.COPY_RELEASE]: list(location),
  [MESSAGE.OBJECT_LOCATE]: list(tuple<ObjectLocateHeader[number]>(objectId, location, processId)),
  [MESSAGE.NODE_EXTENSION]: extensionHeader,
};

export const MESSAGES_BETWEEN_DAEMONS: Shapes<MessagesBetweenDaemons> = {
  [MESSAGE.WORKER_EXITED]: workerExit,
  [MESSAGE.LOG]: fields<LogHeader>({
    pid: number,
    source: text,
    stream: exactly("stdout", "stderr"),
    lines: list(text),
    job: optional(jobId),
  }),
  [MESSAGE.JOB_ENDED]: jobId,
  [MESSAGE.STORE_ADOPT]: tuple<MessagesBetweenDaemons[typeof MESSAGE.STORE_ADOPT]>(location, processId),
  [MESSAGE.LEASE_SPILL]: fields<LeaseSpillHeader>({
    owner: processId,
    shape: leaseSpec,
    count: number,
    nested: flag,
    placement: number,
    waitMs: optional(number),
  }),
  [MESSAGE.LEASE_SPILL_DROPPED]: tuple<LeaseSpillDroppedHeader>(processId, leaseSpec, number),
  [MESSAGE.COPY_STATE]: tuple<CopyStateHeader>(copyKey, number, exactly("whole", "gone"), optional(processId)),
  [MESSAGE.COPY_FREED]: copyKey,
  [MESSAGE.COPY_KEEP]: tuple<CopyKeepHeader>(copyKey, flag),
  [MESSAGE.PACKAGE_OFFER]: fields<PackageOfferHeader>(folder),
  [MESSAGE.PACKAGE_READ]: fields<PackageReadHeader>({ hash: text, part: exactly("manifest", "contents"), offset: number, length: number }),
  [MESSAGE.PACKAGE_HELD]: fields<PackageHeldHeader>({ ...folder, hash: text }),
};
