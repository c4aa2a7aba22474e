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
  [MESSAGE.RESOURCES]: undefined;
  [MESSAGE.SHUTDOWN]: undefined;

  [MESSAGE.LEASE_DEMAND]: LeaseDemandHeader;
  [MESSAGE.LEASE_RETURN]: LeaseNameHeader;
  [MESSAGE.LEASE_ONCE]: LeaseNameHeader;
  [MESSAGE.LEASE_RECLAIMED]: ReclaimedHeader;
  [MESSAGE.WORKER_PARK]: ParkHeader;
  [MESSAGE.WORKER_UNPARK]: string;
  [MESSAGE.WORKER_EXIT]: ActorLeavingHeader | undefined;
  [MESSAGE.WORKER_SPENT]: undefined;
  [MESSAGE.WHY_LEASE]: { shape: string } | { actor: ActorId };
  [MESSAGE.WHY_REF]: WhyRefHeader;
  [MESSAGE.CANCEL_REF]: CancelRefHeader;
  [MESSAGE.CANCEL_RUNNING]: CancelRunningHeader;

  [MESSAGE.REF_HOLD]: RefHoldHeader[];
  [MESSAGE.REF_RELEASE]: RefReleaseHeader;
  [MESSAGE.REF_ADOPT]: ObjectId[];
  [MESSAGE.REF_WATCH]: [id: ObjectId, owner: ProcessId];
  [MESSAGE.REF_VALUE]: [id: ObjectId, receiver: ProcessId, value?: PayloadHeader];
  [MESSAGE.REF_LOST]: [id: ObjectId, owner: ProcessId, location: WireLocation];
  [MESSAGE.HELD_READ]: HeldReadHeader;
  [MESSAGE.HELD_ENDED]: HeldEndedHeader;

  [MESSAGE.ARENA_LOST]: WireLocation;
  [MESSAGE.STORE_ARENA]: [arena: string, kind: "memory" | "disk", capacityBytes: number];
  [MESSAGE.STORE_SEALED]: [location: WireLocation, owner: ProcessId, link?: number][];
  [MESSAGE.STORE_FREED]: [location: WireLocation, reused: boolean][];
  [MESSAGE.STORE_CLAIM]: DisownedRow[];
  [MESSAGE.STORE_COLLECT]: undefined;
  [MESSAGE.STORE_RETIRE]: string[];
  [MESSAGE.STORE_USE]: StoreUseHeader;
  [MESSAGE.STORE_LINK_ENDED]: [owner: ProcessId, link: number];
  [MESSAGE.OBJECT_FETCH]: ObjectFetchHeader;
  [MESSAGE.COPY_RELEASE]: WireLocation[];
  [MESSAGE.OBJECT_LOCATE]: ObjectLocateHeader;
  [MESSAGE.NODE_EXTENSION]: ExtensionHeader;
}

/** What a node tells another that no process tells its daemon. */
export interface MessagesBetweenDaemons {
  [MESSAGE.WORKER_EXITED]: WorkerExitedHeader;
  [MESSAGE.LOG]: LogHeader;
  [MESSAGE.JOB_ENDED]: JobId;
  [MESSAGE.STORE_ADOPT]: [location: WireLocation, owner: ProcessId];
  [MESSAGE.LEASE_SPILL]: LeaseSpillHeader;
  [MESSAGE.LEASE_SPILL_DROPPED]: LeaseSpillDroppedHeader;
  [MESSAGE.COPY_STATE]: CopyStateHeader;
  [MESSAGE.COPY_FREED]: CopyKey;
  [MESSAGE.COPY_KEEP]: CopyKeepHeader;
  [MESSAGE.PACKAGE_OFFER]: PackageOfferHeader;
  [MESSAGE.PACKAGE_READ]: PackageReadHeader;
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
  [MESSAGE.WORKER_SPENT]: nothing,
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
