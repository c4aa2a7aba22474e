/**
 * Interfaces between a node daemon and the head: the requests in both directions.
 *
 * On one machine the daemon hosts the head and these are calls; in a cluster they are messages with the same meaning. Neither imports the
 * other, so that each can run alone; the entry points join them.
 */
import type { ActorId, NodeId, ProcessId } from "../base/ids.ts";
import type { NodeView } from "../base/resources.ts";
import type { HeadEvents, NodeCommands } from "../wire/cluster/cluster-messages.ts";
import type { Handlers, Methods } from "../wire/tables/message-table.ts";
import type { MessagesToHead } from "../wire/tables/messages-to-head.ts";
import type { NodeHeader } from "../wire/messages.ts";
import type { Message, PeerConnection } from "./peer-connection.ts";

/** Facts about a process of some node for code that talks to it. */
export interface HeadPeer {
  readonly id: ProcessId;
  /** Under which process its references are counted. */
  readonly holderId: ProcessId;
  readonly connection: PeerConnection;
}

/** Handlers of a part of the head for some messages of processes, by number. */
export type HeadHandlers<Numbers extends keyof MessagesToHead> = Handlers<
  Pick<MessagesToHead, Numbers>,
  [peer: HeadPeer, message: Message]
>;

/** Commands of the head to the node. */
export interface NodeServices extends Methods<Omit<NodeCommands, "processGone">> {
  readonly nodeId: NodeId;
  /** The node's entry in the list of nodes. */
  readonly info: Omit<NodeHeader, "draining">;
  /** The owner of the counted references of actors that were created there. */
  readonly daemonId: ProcessId;
  /** A process of that node. */
  peer(id: ProcessId): HeadPeer | undefined;
  /** Returns the node's total and free resources. */
  view(): NodeView;
  /** Handles the end of another node's process. Its holds and debts here end, too. */
  processGone(process: ProcessId): void;
}

/** Messages and questions of the node to the head. */
export interface HeadService extends Methods<Omit<HeadEvents, "left">> {
  /** Handles a process's message that is not for the node itself. */
  receive(peer: HeadPeer, message: Message, header: unknown): void;
  /** Returns the shape under which an actor is placed. */
  shapeOf(actor: ActorId): string | undefined;
  /** The actor's class, for messages to people. */
  describe(actor: ActorId): string | undefined;
  /** The daemon ends, and with it a head that it hosts. */
  close?(): void;
}
