/**
 * The headers of the messages between nodes, and between a node and the head's process; their numbers are in `messages.ts`.
 *
 * What the two want of each other (HEAD_EVENT, NODE_COMMAND) names methods of `runtime/rpc/head-service.ts`; the shapes are in `messages-of-nodes.ts`. What goes between a process and the head
 * travels inside ROUTED.
 */
import type { ActorId, NodeId, NodeTag, ObjectId, ProcessId } from "../base/ids.ts";
import type { CallOf } from "./message-table.ts";
import type {
  AcceleratorIds,
  ActorLeavingHeader,
  ActorOptionsHeader,
  ActorRefusal,
  EnvironmentHeader,
  GroupCreateHeader,
  WorkerExitedHeader,
} from "./messages.ts";

/**
 * A message between a process and another node, or the head: who says it, to whom ("" is the daemon, or the head, itself), and what it would be
 * on a connection of the two. The body is the message's.
 */
export type RoutedHeader = [from: ProcessId, to: ProcessId | "", type: number, callId: number, flags: number, header: unknown];

/** A worker as whoever is to talk to it has to know it. */
export interface WorkerFactsHeader {
  id: ProcessId;
  holderId: ProcessId;
  pid: number;
  address: string;
  remoteAddress: string;
}

/** A node of the cluster, as the head tells it to the others. */
export interface NodeInfoHeader {
  nodeId: NodeId;
  daemonId: ProcessId;
  hostname: string;
  /** Where its daemon listens for other nodes. */
  address: string;
  resources: Record<string, number>;
  labels: Record<string, string>;
  objectStoreMemoryBytes: number;
  alive: boolean;
  /** Why it is not alive. */
  reason?: string | undefined;
  /** When it was found to be gone, in milliseconds since 1970 by the head's clock. */
  goneMs?: number | undefined;
}

/** What a node that registers is told: the head's `FailureDetector` takes it for dead after these, so it has to fence itself before. */
export interface DeathTimesHeader {
  deadAfterMs: number;
  closedAfterMs: number;
  /** Undefined where the head is alone. */
  later?: HeartbeatReply | undefined;
}

/** What a head that others may take over from answers to HEARTBEAT. */
export interface HeartbeatReply {
  /** How long ago it was proven that no other head led. */
  provenAgoMs: number;
  /** How much longer than `deadAfterMs` the next head waits, from its beginning on. */
  takeoverGraceMs: number;
  /** Where heads are, this one among them. */
  heads: string[];
  /** Those that keep what heads write, all of them, and only by most of which anything is written. Undefined where they are not known. */
  storeServers?: readonly StoreServer[] | undefined;
}

/** A server of the control store, and where it greets. */
export interface StoreServer {
  /** As it calls itself. */
  name: string;
  address: string;
}

/** What an operator is told of the cluster. */
export interface ClusterStatusHeader {
  /** Where heads are, the one that leads first; undefined where no other may take over. */
  heads?: string[] | undefined;
  /** When this head began, in milliseconds since 1970. */
  startedMs: number;
  nodes: NodeStatusHeader[];
  /** The newest of the nodes that have gone; when, where a head has kept that. */
  gone: { nodeId: NodeId; hostname: string; reason: string; goneMs: number | undefined }[];
  waiting: WaitingHeader[];
}

export interface NodeStatusHeader {
  nodeId: NodeId;
  hostname: string;
  address: string;
  /** Of its daemon. */
  pid: number;
  /** `suspect`: its connection is down; `draining`: it ends what it has. */
  state: "alive" | "suspect" | "draining";
  labels: Record<string, string>;
  total: Record<string, number>;
  free: Record<string, number>;
}

/** A node is to leave: named by its id, or by the first digits of it. */
export interface NodeDrainHeader {
  node: string;
  /** Undefined: as long as it takes. */
  deadlineMs: number | undefined;
}

/** Calls and actors that find no room, by what they need. */
export interface WaitingHeader {
  resources: Record<string, number>;
  count: number;
  isInfeasible: boolean;
}

/** What a node tells the head when it joins, and again when the head is another. */
export interface NodeRegisterHeader extends Omit<NodeInfoHeader, "alive" | "reason" | "goneMs"> {
  version: number;
  pid: number;
  /** A random string for each life of the daemon. */
  incarnation: string;
}

/** What runs on a node, as it says when it registers. Places for actors that it was only asked for it forgets with that. */
export interface NodeDigestHeader {
  nodeId: NodeId;
  /** How many heads it has registered with, this one among them. Events carry the number as their call id, so that one from before is told from what was said to this head. */
  heads: number;
  /** The drivers and workers that are connected to its daemon. */
  processes: ProcessId[];
  actors: DigestActorHeader[];
  /** What placement groups have there. */
  bundles: DigestBundleHeader[];
  /** Of the groups of those bundles, for a head that has lost its tables. */
  groups?: GroupCreateHeader[] | undefined;
  /** Those of jobs that go on, also for such a head. */
  environments?: EnvironmentHeader[] | undefined;
}

/** A bundle that is held there; the attempt of the head that had it prepared, 0 once it was committed. */
export type DigestBundleHeader = [group: string, index: number, attempt: number];

export interface DigestActorHeader {
  actorId: ActorId;
  /** A process is one incarnation: it never becomes another. */
  worker: WorkerFactsHeader;
  accelerators: AcceleratorIds | undefined;
  /** For a head that has lost its tables. */
  facts?: ActorFactsHeader | undefined;
}

export interface ActorFactsHeader {
  incarnation: number;
  creator: ProcessId;
  options: ActorOptionsHeader;
}

/** An actor that is to be started on a node. */
export interface ActorToPlace {
  shape: string;
  resources: Record<string, number>;
  className: string;
  /** The head's number for it, and how long it may wait for room before it goes elsewhere; absent on the only node. */
  sent?: { placement: number; waitMs: number | undefined } | undefined;
  /** What the node tells a head that has lost its tables; absent on the only node. */
  facts?: ActorFactsHeader | undefined;
}

/** A bundle of a placement group. */
export interface BundleToHold {
  index: number;
  resources: Record<string, number>;
}

/** Bundles of a placement group that a node is to hold; it may wait for room where nodes collect for the group. */
export interface GroupPreparation {
  attempt: number;
  bundles: readonly BundleToHold[];
  mayWait: boolean;
  placement: number;
  /** What the node tells a head that has lost its tables. */
  facts?: GroupCreateHeader | undefined;
}

/** What a node tells the head (HEAD_EVENT): methods of `HeadService` (`runtime/rpc/head-service.ts`), and that it leaves. */
export interface HeadEvents {
  placed: [actor: ActorId, worker: WorkerFactsHeader, accelerators: AcceleratorIds | undefined];
  refused: [actor: ActorId, refusal: ActorRefusal];
  groupReserved: [group: string, node: NodeId];
  groupPrepared: [group: string, prepared: { attempt: number; isHeld: boolean; nodeId: NodeId }];
  actorFull: [actor: ActorId, node: NodeId];
  leasesWanted: [node: NodeId, ask: LeaseAskHeader];
  workerExited: [worker: ProcessId, exit: WorkerExitedHeader, options: { intended: boolean }];
  workerLeaves: [worker: ProcessId, leaving: ActorLeavingHeader | undefined];
  processGone: [process: ProcessId];
  unheld: [actor: ActorId];
  definitionUnheld: [reference: ObjectId, node: NodeId];
  left: [reason: string];
}
export type HeadEventHeader = CallOf<HeadEvents>;

/** What the head wants of a node (NODE_COMMAND): methods of `NodeServices`; of processes, several may be named at once. */
export interface NodeCommands {
  hold: [ref: { id: ObjectId; owner: ProcessId }, holder: ProcessId];
  release: [ref: { id: ObjectId; owner: ProcessId }, holder: ProcessId];
  warn: [text: string];
  placeActor: [actor: ActorId, options: ActorToPlace];
  actorGone: [actor: ActorId];
  drain: [deadlineMs: number | undefined];
  reserveGroup: [group: string, bundles: readonly BundleToHold[]];
  releaseGroup: [group: string];
  prepareGroup: [group: string, preparation: GroupPreparation];
  commitGroup: [group: string, attempt: number];
  abortGroup: [group: string, attempt: number];
  leasesPlaced: [question: number, answer: LeaseAnswerHeader];
  tellAll: [type: number, header: unknown];
  endActor: [worker: ProcessId, options: { afterPending: boolean; reason: string }];
  processGone: ProcessId[];
  nodesChanged: [nodes: readonly NodeInfoHeader[]];
}
export type NodeCommandHeader = CallOf<NodeCommands>;

/** What is free on a node. */
export interface NodeReportHeader {
  nodeId: NodeId;
  /** Grows with each report of the daemon's life. */
  sequence: number;
  free: [name: string, units: number][];
  total: [name: string, units: number][];
  /** What would be free if all tasks ended. */
  freeOfActors: [name: string, units: number][];
  /** The head's numbers of what it placed there and `free` takes into account. */
  settled: number[];
  /** It is to leave, which a head that has not told it to does not know. */
  isDraining?: boolean;
}

/** To the head: a new join token, one that nobody is to use any more, or all of them. */
export type JoinTokensHeader = { do: "new"; ageMaxMs?: number | undefined } | { do: "revoke"; id: string } | { do: "list" };

export type JoinTokensReply =
  | { kind: "new"; id: string; joinToken: string; expiresAtMs: number | undefined }
  | { kind: "revoked"; wasKnown: boolean }
  | {
      kind: "list";
      tokens: { id: string; createdAtMs: number; expiresAtMs: number | undefined; revokedAtMs: number | undefined }[];
    };

/** Leases that a node asks the head for; a count of 0 withdraws the question. */
export interface LeaseAskHeader {
  number: number;
  owner: ProcessId;
  shape: string;
  count: number;
  /** The node has no room for them itself. */
  isFromFull: boolean;
  /** Bytes of their arguments, by the first half of the ids of the nodes that have them. */
  argumentBytes?: readonly (readonly [node: NodeTag, bytes: number])[] | undefined;
  /** What it has been told already: it is answered when there is something else to say. */
  knows?: "wait" | "infeasible" | undefined;
}

export type LeaseAnswerHeader =
  | { kind: "nodes"; nodes: readonly { nodeId: NodeId; count: number; placement: number; waitMs: number | undefined }[] }
  | { kind: "wait" }
  | { kind: "infeasible"; text: string }
  | { kind: "refused"; refusal: ActorRefusal };

/** So many more leases for a process of the sender's node; 0 withdraws those that have not been granted. */
export interface LeaseSpillHeader {
  owner: ProcessId;
  shape: string;
  count: number;
  nested: boolean;
  placement: number;
  /** Without it they wait as long as it takes. */
  waitMs: number | undefined;
}

/** So many of them got no worker in their time. */
export type LeaseSpillDroppedHeader = [owner: ProcessId, shape: string, count: number];
