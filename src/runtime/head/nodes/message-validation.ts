/**
 * Checks messages of nodes: their form, and the node's right to send them.
 *
 * A node speaks for itself and its processes. It registers under its link's id, reports its own resources and workers, and passes on its
 * processes' questions. Everything else ends the connection (`runtime/rpc/protocol-violation.ts`) before any table is touched. Pure; called
 * by `head-server.ts` for every frame. The shapes are in `runtime/wire/tables/messages-of-nodes.ts`.
 */
import { type NodeId, nodeTagOf } from "../../base/ids.ts";
import { checkedMessage, assertProtocol } from "../../rpc/protocol-violation.ts";
import type { HeadEvents, RoutedHeader } from "../../wire/cluster/cluster-messages.ts";
import { processId } from "../../wire/header-shape.ts";
import { faultOf, makeCall, type MessageOf } from "../../wire/tables/message-table.ts";
import {
  MESSAGES_OF_NEW_NODE,
  MESSAGES_OF_NODE,
  type MessagesOfNewNode,
  type MessagesOfNode,
} from "../../wire/tables/messages-of-nodes.ts";
import { MESSAGES_TO_HEAD } from "../../wire/tables/messages-to-head.ts";
import { MESSAGE } from "../../wire/messages.ts";

/** The ids in an event that have to be of the node. */
const OWN_IDS: { readonly [N in keyof HeadEvents]: (...args: HeadEvents[N]) => readonly string[] } = {
  placed: (_actor, worker) => [worker.id, worker.holderId],
  refused: () => [],
  groupReserved: (_group, node) => [node],
  groupPrepared: (_group, { nodeId }) => [nodeId],
  actorFull: (_actor, node) => [node],
  leasesWanted: (node, ask) => [node, ask.owner],
  workerExited: (worker, exit) => [worker, exit.workerId],
  workerLeaves: (worker) => [worker],
  processGone: (process) => [process],
  unheld: () => [],
  definitionUnheld: (_reference, node) => [node],
  left: () => [],
};

/** Checks a message of a node that may not have registered. @throws ProtocolViolationError */
export function checkNewNode(node: NodeId, type: number, header: unknown): MessageOf<MessagesOfNewNode> {
  const message = checkedMessage(MESSAGES_OF_NEW_NODE, type, header);
  if (message.type === MESSAGE.CERTIFICATE_RENEW) return message;
  const [facts, report, digest] = message.header;
  assertProtocol(facts.nodeId === node, `it registers as node ${facts.nodeId}`);
  mustBeOf(node, facts.daemonId, "registers with the daemon");
  for (const process of digest.processes) mustBeOf(node, process, "registers with the process");
  for (const { worker } of digest.actors) for (const one of [worker.id, worker.holderId]) mustBeOf(node, one, "registers with the worker");
  return { ...message, header: [facts, { ...report, nodeId: node }, { ...digest, nodeId: node }] };
}

/** Checks a message of a registered node. @throws ProtocolViolationError */
export function checkNode(node: NodeId, type: number, header: unknown): MessageOf<MessagesOfNode> {
  const message = checkedMessage(MESSAGES_OF_NODE, type, header);
  if (message.type === MESSAGE.NODE_REPORT) return { ...message, header: { ...message.header, nodeId: node } };
  if (message.type === MESSAGE.HEAD_EVENT)
    for (const one of makeCall<HeadEvents, readonly string[]>(OWN_IDS, message.header))
      mustBeOf(node, one, `tells ${message.header[0]} of`);
  if (message.type === MESSAGE.ROUTED) checkQuestion(node, message.header);
  return message;
}

function checkQuestion(node: NodeId, [from, , type, , , inner]: RoutedHeader): void {
  assertProtocol(processId(from), "it passes on a message of nobody");
  mustBeOf(node, from, "speaks for");
  const fault = faultOf(MESSAGES_TO_HEAD, type, inner);
  assertProtocol(fault === undefined, `one of its processes: ${fault}`);
}

function mustBeOf(node: NodeId, one: string, what: string): void {
  assertProtocol(nodeTagOf(one) === nodeTagOf(node), `it ${what} ${one}, which is another node's`);
}
