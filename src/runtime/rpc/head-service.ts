/**
 * Where a node daemon and the head meet: what each asks of the other.
 *
 * On one machine the daemon hosts the head and these are calls; in a cluster they are messages with the same meaning. Neither imports the other, so
 * that either can be on its own; the entry points join them.
 */
import type { ActorId, NodeId, ProcessId } from "../base/ids.ts";
import type { NodeView } from "../base/resources.ts";
import type { HeadEvents, NodeCommands } from "../wire/cluster-messages.ts";
import type { Handlers, Methods } from "../wire/message-table.ts";
import type { MessagesToHead } from "../wire/messages-to-head.ts";
import type { NodeHeader } from "../wire/messages.ts";
import type { Message, PeerConnection } from "./peer-connection.ts";

/** A process of some node, as far as whoever talks to it has to know it. */
export interface HeadPeer {
  readonly id: ProcessId;
  /** Under which process its references are counted. */
  readonly holderId: ProcessId;
  readonly connection: PeerConnection;
}

/** What a part of the head does with some of the messages of processes, whose numbers these are. */
export type HeadHandlers<Numbers extends keyof MessagesToHead> = Handlers<
  Pick<MessagesToHead, Numbers>,
  [peer: HeadPeer, message: Message]
>;

/** What the head can have done on the node. */
export interface NodeServices extends Methods<Omit<NodeCommands, "processGone">> {
  readonly nodeId: NodeId;
  /** What it tells whoever asks which nodes there are. */
  readonly info: Omit<NodeHeader, "draining">;
  /** The owner of the counted references of actors that were created there. */
  readonly daemonId: ProcessId;
  /** A process of that node. */
  peer(id: ProcessId): HeadPeer | undefined;
  /** What it has, and what of it is free. */
  view(): NodeView;
  /** A process of another node has ended: what it held and owed here ends. */
  processGone(process: ProcessId): void;
}

/** What the node tells and asks the head. */
export interface HeadService extends Methods<Omit<HeadEvents, "left">> {
  /** A message of a process that is not the node's own business. */
  receive(peer: HeadPeer, message: Message, header: unknown): void;
  /** What an actor is to be placed under. */
  shapeOf(actor: ActorId): string | undefined;
  /** The actor's class, for messages to people. */
  describe(actor: ActorId): string | undefined;
  /** The daemon ends, and with it a head that it hosts. */
  close?(): void;
}
