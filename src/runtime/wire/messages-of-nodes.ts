/**
 * What is said over the links of nodes: a node to the head, the head to a node, a node to another; and over the connections by which objects travel.
 *
 * The header of each message, and its shape. Whether it is the sender's to say is checked beside its reader (`message-validation.ts` in `head/nodes` and in
 * `node/membership`). A message between a process and what is not on its node travels inside ROUTED, and has the shape that it has without.
 */
import { HEAD_EVENTS, NODE_COMMANDS, nodeDigest, nodeRegister, nodeReport, routed } from "./cluster-messages.ts";
import { nothing, text, tuple } from "./header-shape.ts";
import { callOf, type HeadersOf } from "./message-table.ts";
import { MESSAGE } from "./messages.ts";
import { transferEnd, transferOpen, transferRead } from "./transfer-messages.ts";

/** To the head, of a node that it may not have met. */
export const MESSAGES_OF_NEW_NODE = {
  /**
   * A node joins, or meets another head: its facts, what is free, and what runs there. `heads` is how many heads it has registered with; a bundle has its group, index and attempt
   * (0: committed); `groups` and `environments` are for a head without tables. Answered with the silence after which the node is dead, and as HEARTBEAT where other heads may take over.
   */
  [MESSAGE.NODE_REGISTER]: tuple(nodeRegister, nodeReport, nodeDigest),
  /** The node's next public key, in PEM; answered with its next certificate. */
  [MESSAGE.CERTIFICATE_RENEW]: text,
};
export type MessagesOfNewNode = HeadersOf<typeof MESSAGES_OF_NEW_NODE>;

/** To the head, of a node that has registered. */
export const MESSAGES_OF_NODE = {
  /**
   * Sent each second. Answered by a head that has lately proven that it leads: with nothing where it is alone, else with how long ago that was, how much longer a head that begins
   * waits for nodes that it has not met, where heads are, and the servers that keep what heads write (undefined where not all are known).
   */
  [MESSAGE.HEARTBEAT]: nothing,
  /** What the node has, what of it is free, what would be if all tasks ended, which placements this takes into account, and whether it is to leave. */
  [MESSAGE.NODE_REPORT]: nodeReport,
  /** An event: a method of `HeadService` and its arguments. The call id is the number of heads that the node had registered with. */
  [MESSAGE.HEAD_EVENT]: callOf(HEAD_EVENTS),
  /** What a process of the node says to the head; `to` is "". From, to, message, call id, flags, header. Body: the message's. */
  [MESSAGE.ROUTED]: routed,
};
export type MessagesOfNode = HeadersOf<typeof MESSAGES_OF_NODE>;

/** To a node, of the head. */
export const MESSAGES_OF_HEAD = {
  /** What the head wants done: a method of `NodeServices` and its arguments. `processGone` names processes of the receiver, too, which it passes over. */
  [MESSAGE.NODE_COMMAND]: callOf(NODE_COMMANDS),
  /** What the head says to a process of the node. Body: the message's. */
  [MESSAGE.ROUTED]: routed,
};
export type MessagesOfHead = HeadersOf<typeof MESSAGES_OF_HEAD>;

/** To a node, of another. */
export const MESSAGES_OF_NEIGHBOUR = {
  /** Asked by a node that the head does not answer; answered with how long ago the asked node sent its last HEARTBEAT that was answered, in milliseconds. */
  [MESSAGE.HEAD_SILENCE]: nothing,
  /** What a process of one node says to one of the other, or to its daemon (`to` is ""). Body: the message's. */
  [MESSAGE.ROUTED]: routed,
};
export type MessagesOfNeighbour = HeadersOf<typeof MESSAGES_OF_NEIGHBOUR>;

/** To the node that has an object, over a transfer connection. Chunks have no header: their head is read by `runtime/objects/transfer/chunk-parser.ts`. */
export const MESSAGES_OF_RECEIVER = {
  /** Begins a pull, whose number is the call id; not from the nodes to avoid. `checks`: chunks have a checksum. */
  [MESSAGE.TRANSFER_OPEN]: transferOpen,
  /** Offset and bytes, at most 1 MB: a chunk that is wanted. The answers (TRANSFER_CHUNK) come in this order. */
  [MESSAGE.TRANSFER_READ]: transferRead,
  /** A pull is over: `done` or `cancelled` from the receiver, `gone` or `elsewhere`, with the node, from the source. */
  [MESSAGE.TRANSFER_END]: transferEnd,
};
export type MessagesOfReceiver = HeadersOf<typeof MESSAGES_OF_RECEIVER>;

/** And back. */
export const MESSAGES_OF_SOURCE = { [MESSAGE.TRANSFER_END]: transferEnd };
