/**
 * Where a node daemon and the head meet: what each asks of the other.
 *
 * On one machine the daemon hosts the head and these are calls; in a cluster they are messages with the same meaning. Neither imports the other, so
 * that either can be on its own; the entry points join them.
 */
import type { ActorId, NodeId, ObjectId, ProcessId } from "../base/ids.ts";
import type { NodeView } from "../base/resources.ts";
import type {
  ActorToPlace,
  BundleToHold,
  GroupPreparation,
  LeaseAnswerHeader,
  LeaseAskHeader,
  NodeInfoHeader,
  WorkerFactsHeader,
} from "../wire/cluster-messages.ts";
import type { AcceleratorIds, ActorLeavingHeader, ActorRefusal, NodeHeader, WorkerExitedHeader } from "../wire/messages.ts";
import type { Message, PeerConnection } from "./peer-connection.ts";

/** A process of some node, as far as whoever talks to it has to know it. */
export interface HeadPeer {
  readonly id: ProcessId;
  /** Under which process its references are counted. */
  readonly holderId: ProcessId;
  readonly connection: PeerConnection;
}

/** What the head can have done on the node. */
export interface NodeServices {
  readonly nodeId: NodeId;
  /** What it tells whoever asks which nodes there are. */
  readonly info: NodeHeader;
  /** The owner of the counted references of actors that were created there. */
  readonly daemonId: ProcessId;
  /** A process of that node. */
  peer(id: ProcessId): HeadPeer | undefined;
  /** One more hold of a reference for a process. */
  hold(ref: { id: ObjectId; owner: ProcessId }, holder: ProcessId): void;
  /** One hold less. */
  release(ref: { id: ObjectId; owner: ProcessId }, holder: ProcessId): void;
  /** Tells people, through the drivers. */
  warn(text: string): void;
  /** Finds a worker for an actor and reports it with `HeadService.placed`. */
  placeActor(actor: ActorId, options: ActorToPlace): void;
  /** Its resources are free again. */
  actorGone(actor: ActorId): void;
  /** What it has, and what of it is free. */
  view(): NodeView;
  /** Takes the bundles of a placement group out of the node when they fit, and reports that with `HeadService.groupReserved`. */
  reserveGroup(group: string, bundles: readonly BundleToHold[]): void;
  /** Holds bundles of a group now, or refuses, and says which by `HeadService.groupPrepared`. */
  prepareGroup(group: string, preparation: GroupPreparation): void;
  /** Work may run in what was prepared. */
  commitGroup(group: string, attempt: number): void;
  /** What was prepared is given back. */
  abortGroup(group: string, attempt: number): void;
  /** Where the leases may be had that it asked for. */
  leasesPlaced(question: number, answer: LeaseAnswerHeader): void;
  /** Ends the tasks that run in it, and gives its resources back. */
  releaseGroup(group: string): void;
  /** A message for every process of the node. */
  tellAll(type: number, header: unknown): void;
  endActor(worker: ProcessId, options: { afterPending: boolean; reason: string }): void;
  /** It is to leave the cluster: no new work, and it goes when what it has has ended, or the time is over. */
  drain(deadlineMs: number | undefined): void;
  /** A process of another node has ended: what it held and owed here ends. */
  processGone(process: ProcessId): void;
  /** Which nodes there are; those that are not alive have ended for good. */
  nodesChanged(nodes: readonly NodeInfoHeader[]): void;
}

/** What the node tells and asks the head. */
export interface HeadService {
  /** A message of a process that is not the node's own business. */
  receive(peer: HeadPeer, message: Message, header: unknown): void;
  placed(actor: ActorId, worker: WorkerFactsHeader, accelerators: AcceleratorIds | undefined): void;
  /** It can never be placed. */
  refused(actor: ActorId, refusal: ActorRefusal): void;
  /** All bundles of a placement group that were asked of the node have been reserved there. */
  groupReserved(group: string, nodeId: NodeId): void;
  /** It holds the bundles of this attempt, or has no room for them. */
  groupPrepared(group: string, prepared: { attempt: number; isHeld: boolean; nodeId: NodeId }): void;
  /** It had no room for an actor after all. */
  actorFull(actor: ActorId, nodeId: NodeId): void;
  /** It has no room for leases that its processes want: answered by `NodeServices.leasesPlaced`. */
  leasesWanted(nodeId: NodeId, ask: LeaseAskHeader): void;
  workerExited(worker: ProcessId, exit: WorkerExitedHeader, options: { intended: boolean }): void;
  /** It is about to end by its own decision. */
  workerLeaves(worker: ProcessId, leaving: ActorLeavingHeader | undefined): void;
  processGone(process: ProcessId): void;
  /** Nobody holds a handle of the actor any more. */
  unheld(actor: ActorId): void;
  /** Nobody holds this reference of a definition any more, which the node counts. */
  definitionUnheld(reference: ObjectId, node: NodeId): void;
  /** What an actor is to be placed under. */
  shapeOf(actor: ActorId): string | undefined;
  /** The actor's class, for messages to people. */
  describe(actor: ActorId): string | undefined;
  /** The daemon ends, and with it a head that it hosts. */
  close?(): void;
}
