/**
 * Messages over the links of nodes (a node to the head, the head to a node, a node to another), and over the connections that carry
 * objects.
 *
 * The header of each message, and its shape. `message-validation.ts` in `head/nodes` and in `node/membership` checks the sender's right to
 * send it. A message between a process and another node or the head travels inside ROUTED, with its usual shape.
 */
import { HEAD_EVENTS, NODE_COMMANDS, nodeDigest, nodeRegister, nodeReport, routed } from "../cluster/cluster-messages.ts";
import { nothing, text, tuple } from "../header-shape.ts";
import { callOf, type HeadersOf } from "./message-table.ts";
import { MESSAGE } from "../messages.ts";
import { transferEnd, transferOpen, transferRead } from "../objects/transfer-messages.ts";

/** To the head, of a node that it may not have met. */
export const MESSAGES_OF_NEW_NODE = {
  /**
   * A node joins, or meets another head: its facts, free resources and processes. `heads`: the number of heads that it has registered with;
   * a bundle has its group, index and attempt (0: committed); `groups` and `environments` are for a head without tables. Answered with the
   * silence after which the node is dead, and as HEARTBEAT if the head has standbys.
   */
  [MESSAGE.NODE_REGISTER]: tuple(nodeRegister, nodeReport, nodeDigest),
  /** The node's next public key, in PEM; answered with its next certificate. */
  [MESSAGE.CERTIFICATE_RENEW]: text,
};
export type MessagesOfNewNode = HeadersOf<typeof MESSAGES_OF_NEW_NODE>;

/** To the head, of a node that has registered. */
export const MESSAGES_OF_NODE = {
  /**
   * Sent each second. A head that has lately proven its leadership answers. Without standbys the answer is empty. Otherwise it has the age
   * of that proof, the time that a new head still waits for unknown nodes, and the addresses of the heads. Last come the servers of the
   * control store, undefined if not all are known.
   */
  [MESSAGE.HEARTBEAT]: nothing,
  /**
   * The node's resources, the free part, the part that would be free if all tasks ended, the placements already taken into account, and
   * whether the node drains.
   */
  [MESSAGE.NODE_REPORT]: nodeReport,
  /** An event: a method of `HeadService` and its arguments. The call id is the number of heads that the node had registered with. */
  [MESSAGE.HEAD_EVENT]: callOf(HEAD_EVENTS),
  /** Carries a message of a process of the node to the head; `to` is "". From, to, message, call id, flags, header. Body: the message's. */
  [MESSAGE.ROUTED]: routed,
};
export type MessagesOfNode = HeadersOf<typeof MESSAGES_OF_NODE>;

/** To a node, of the head. */
export const MESSAGES_OF_HEAD = {
  /**
   * A command of the head: a method of `NodeServices` and its arguments. `processGone` also names processes of the receiver, which skips
   * them.
   */
  [MESSAGE.NODE_COMMAND]: callOf(NODE_COMMANDS),
  /** Carries a message of the head to a process of the node. Body: the message's. */
  [MESSAGE.ROUTED]: routed,
};
export type MessagesOfHead = HeadersOf<typeof MESSAGES_OF_HEAD>;

/** To a node, of another. */
export const MESSAGES_OF_NEIGHBOUR = {
  /**
   * Sent by a node without an answer from the head. Answered with the time in milliseconds since the asked node sent its last HEARTBEAT
   * that was answered.
   */
  [MESSAGE.HEAD_SILENCE]: nothing,
  /** Carries a message between processes of the two nodes, or to the other daemon (`to` is ""). Body: the message's. */
  [MESSAGE.ROUTED]: routed,
};
export type MessagesOfNeighbour = HeadersOf<typeof MESSAGES_OF_NEIGHBOUR>;

/** To the node that has an object, over a transfer connection. Chunks have no header: their head is read by `runtime/objects/transfer/chunk-parser.ts`. */
export const MESSAGES_OF_RECEIVER = {
  /** Begins a pull, whose number is the call id; not from the nodes to avoid. `checks`: chunks have a checksum. */
  [MESSAGE.TRANSFER_OPEN]: transferOpen,
  /** Requests a chunk: offset and bytes, at most 1 MB. The answers (TRANSFER_CHUNK) come in this order. */
  [MESSAGE.TRANSFER_READ]: transferRead,
  /** A pull is over: `done` or `cancelled` from the receiver, `gone` or `elsewhere`, with the node, from the source. */
  [MESSAGE.TRANSFER_END]: transferEnd,
};
export type MessagesOfReceiver = HeadersOf<typeof MESSAGES_OF_RECEIVER>;

/** And back. */
export const MESSAGES_OF_SOURCE = { [MESSAGE.TRANSFER_END]: transferEnd };
