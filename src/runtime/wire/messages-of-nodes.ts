/**
 * What is said over the links of nodes: a node to the head, the head to a node, a node to another; and over the connections by which objects travel.
 *
 * The header of each message, and its shape. Whether it is the sender's to say is checked beside its reader (`message-validation.ts` in `head/nodes` and in
 * `node/membership`). A message between a process and what is not on its node travels inside ROUTED, and has the shape that it has without.
 */
import type { NodeTag, ProcessId } from "../base/ids.ts";
import type {
  ActorToPlace,
  BundleToHold,
  DigestActorHeader,
  DigestBundleHeader,
  GroupPreparation,
  HeadEventHeader,
  HeadEvents,
  LeaseAnswerHeader,
  LeaseAskHeader,
  NodeCommandHeader,
  NodeCommands,
  NodeDigestHeader,
  NodeInfoHeader,
  NodeRegisterHeader,
  NodeReportHeader,
  RoutedHeader,
} from "./cluster-messages.ts";
import {
  accelerators,
  actorFacts,
  actorLeaving,
  environment,
  group,
  owner,
  refusal,
  routed,
  workerExit,
  workerFacts,
} from "./header-parts.ts";
import * as shape from "./header-shape.ts";
import { callOf, type Shapes } from "./message-table.ts";
import { MESSAGE } from "./messages.ts";
import { copyKey } from "./messages-to-daemon.ts";
import type { TransferEndHeader, TransferOpenHeader, TransferReadHeader } from "./transfer-messages.ts";

const { actorId, count, either, exactly, fields, flag, leaseSpec, list, nodeId, nodeTag, nothing, number, objectId, optional } = shape;
const { processId, record, text, tuple, unchecked } = shape;

/** To the head, of a node that it may not have met. */
export interface MessagesOfNewNode {
  /**
   * A node joins, or meets another head: its facts, what is free, and what runs there. `heads` is how many heads it has registered with; a bundle has its group, index and attempt
   * (0: committed); `groups` and `environments` are for a head without tables. Answered with the silence after which the node is dead, and as HEARTBEAT where other heads may take over.
   */
  [MESSAGE.NODE_REGISTER]: [facts: NodeRegisterHeader, report: NodeReportHeader, digest: NodeDigestHeader];
  /** The node's next public key, in PEM; answered with its next certificate. */
  [MESSAGE.CERTIFICATE_RENEW]: string;
}

/** To the head, of a node that has registered. */
export interface MessagesOfNode {
  /**
   * Sent each second. Answered by a head that has lately proven that it leads: with nothing where it is alone, else with how long ago that was, how much longer a head that begins
   * waits for nodes that it has not met, where heads are, and the servers that keep what heads write (undefined where not all are known).
   */
  [MESSAGE.HEARTBEAT]: undefined;
  /** What the node has, what of it is free, what would be if all tasks ended, which placements this takes into account, and whether it is to leave. */
  [MESSAGE.NODE_REPORT]: NodeReportHeader;
  /** An event: a method of `HeadService` and its arguments. The call id is the number of heads that the node had registered with. */
  [MESSAGE.HEAD_EVENT]: HeadEventHeader;
  /** What a process of the node says to the head; `to` is "". From, to, message, call id, flags, header. Body: the message's. */
  [MESSAGE.ROUTED]: RoutedHeader;
}

/** To a node, of the head. */
export interface MessagesOfHead {
  /** What the head wants done: a method of `NodeServices` and its arguments. `processGone` names processes of the receiver, too, which it passes over. */
  [MESSAGE.NODE_COMMAND]: NodeCommandHeader;
  /** What the head says to a process of the node. Body: the message's. */
  [MESSAGE.ROUTED]: RoutedHeader;
}

/** To a node, of another. */
export interface MessagesOfNeighbour {
  /** Asked by a node that the head does not answer; answered with how long ago the asked node sent its last HEARTBEAT that was answered, in milliseconds. */
  [MESSAGE.HEAD_SILENCE]: undefined;
  /** What a process of one node says to one of the other, or to its daemon (`to` is ""). Body: the message's. */
  [MESSAGE.ROUTED]: RoutedHeader;
}

/** To the node that has an object, over a transfer connection. Chunks have no header: their head is read by `runtime/objects/transfer/chunk-parser.ts`. */
export interface MessagesOfReceiver {
  /** Begins a pull, whose number is the call id; not from the nodes to avoid. `checks`: chunks have a checksum. */
  [MESSAGE.TRANSFER_OPEN]: TransferOpenHeader;
  /** Offset and bytes, at most 1 MB: a chunk that is wanted. The answers (TRANSFER_CHUNK) come in this order. */
  [MESSAGE.TRANSFER_READ]: TransferReadHeader;
  /** A pull is over: `done` or `cancelled` from the receiver, `gone` or `elsewhere`, with the node, from the source. */
  [MESSAGE.TRANSFER_END]: TransferEndHeader;
}

/** And back. */
type MessagesOfSource = Pick<MessagesOfReceiver, typeof MESSAGE.TRANSFER_END>;

const amounts = list(tuple<[name: string, units: number]>(text, number));
const report = fields<NodeReportHeader>({
  // The link's node is believed, whatever the report says.
  nodeId: unchecked(),
  sequence: number,
  total: amounts,
  free: amounts,
  freeOfActors: amounts,
  settled: list(number),
  isDraining: optional(flag) as shape.Shape<boolean>,
});
const nodeFacts = {
  nodeId,
  daemonId: processId,
  hostname: text,
  address: text,
  resources: record(number),
  labels: record(text),
  objectStoreMemoryBytes: number,
};
const digest = fields<NodeDigestHeader>({
  nodeId: unchecked(),
  heads: number,
  processes: list(processId),
  actors: list(
    fields<DigestActorHeader>({ actorId, worker: workerFacts, accelerators: optional(accelerators), facts: optional(actorFacts) }),
  ),
  bundles: list(tuple<DigestBundleHeader>(text, number, number)),
  groups: optional(list(group)),
  environments: optional(list(environment)),
});
const leaseAsk = fields<LeaseAskHeader>({
  number,
  owner: processId,
  shape: leaseSpec,
  count,
  isFromFull: flag,
  argumentBytes: optional(list(tuple<[node: NodeTag, bytes: number]>(nodeTag, number))),
  knows: optional(exactly("wait", "infeasible")),
});
const leaseAnswer: shape.Shape<LeaseAnswerHeader> = either(
  fields({ kind: exactly("nodes"), nodes: list(fields({ nodeId, count: number, placement: number, waitMs: optional(number) })) }),
  fields({ kind: exactly("wait") }),
  fields({ kind: exactly("infeasible"), text }),
  fields({ kind: exactly("refused"), refusal }),
);

const HEAD_EVENTS: Shapes<HeadEvents> = {
  placed: tuple<HeadEvents["placed"]>(actorId, workerFacts, optional(accelerators)),
  refused: tuple<HeadEvents["refused"]>(actorId, refusal),
  groupReserved: tuple<HeadEvents["groupReserved"]>(text, nodeId),
  groupPrepared: tuple<HeadEvents["groupPrepared"]>(text, fields({ attempt: number, isHeld: flag, nodeId })),
  actorFull: tuple<HeadEvents["actorFull"]>(actorId, nodeId),
  leasesWanted: tuple<HeadEvents["leasesWanted"]>(nodeId, leaseAsk),
  workerExited: tuple<HeadEvents["workerExited"]>(processId, workerExit, fields({ intended: flag })),
  workerLeaves: tuple<HeadEvents["workerLeaves"]>(processId, optional(actorLeaving)),
  processGone: tuple<HeadEvents["processGone"]>(processId),
  unheld: tuple<HeadEvents["unheld"]>(actorId),
  definitionUnheld: tuple<HeadEvents["definitionUnheld"]>(objectId, nodeId),
  left: tuple<HeadEvents["left"]>(text),
};

const held = tuple<NodeCommands["hold"]>(fields({ id: objectId, owner }), owner);
const bundles = list(fields<BundleToHold>({ index: count, resources: record(number) }));
const ofAttempt = tuple<NodeCommands["commitGroup"]>(text, number);
const actorToPlace = fields<ActorToPlace>({
  shape: leaseSpec,
  resources: record(number),
  className: text,
  sent: optional(fields({ placement: number, waitMs: optional(number) })),
  facts: optional(actorFacts),
});
const preparation = fields<GroupPreparation>({ attempt: number, bundles, mayWait: flag, placement: number, facts: optional(group) });
export const nodeInfo: shape.Shape<NodeInfoHeader> = fields<NodeInfoHeader>({
  ...nodeFacts,
  alive: flag,
  reason: optional(text),
  goneMs: optional(number),
});

const NODE_COMMANDS: Shapes<NodeCommands> = {
  hold: held,
  release: held,
  warn: tuple<NodeCommands["warn"]>(text),
  placeActor: tuple<NodeCommands["placeActor"]>(actorId, actorToPlace),
  actorGone: tuple<NodeCommands["actorGone"]>(actorId),
  drain: tuple<NodeCommands["drain"]>(optional(number)),
  reserveGroup: tuple<NodeCommands["reserveGroup"]>(text, bundles),
  releaseGroup: tuple<NodeCommands["releaseGroup"]>(text),
  prepareGroup: tuple<NodeCommands["prepareGroup"]>(text, preparation),
  commitGroup: ofAttempt,
  abortGroup: ofAttempt,
  leasesPlaced: tuple<NodeCommands["leasesPlaced"]>(number, leaseAnswer),
  // Each process checks what it is told.
  tellAll: tuple<NodeCommands["tellAll"]>(number, unchecked()),
  endActor: tuple<NodeCommands["endActor"]>(processId, fields({ afterPending: flag, reason: text })),
  processGone: list<ProcessId>(processId),
  nodesChanged: tuple<NodeCommands["nodesChanged"]>(list(nodeInfo)),
};

export const MESSAGES_OF_NEW_NODE: Shapes<MessagesOfNewNode> = {
  [MESSAGE.NODE_REGISTER]: tuple<MessagesOfNewNode[typeof MESSAGE.NODE_REGISTER]>(
    fields<NodeRegisterHeader>({ ...nodeFacts, version: number, pid: number, incarnation: text }),
    report,
    digest,
  ),
  [MESSAGE.CERTIFICATE_RENEW]: text,
};

export const MESSAGES_OF_NODE: Shapes<MessagesOfNode> = {
  [MESSAGE.HEARTBEAT]: nothing,
  [MESSAGE.NODE_REPORT]: report,
  [MESSAGE.HEAD_EVENT]: callOf(HEAD_EVENTS),
  [MESSAGE.ROUTED]: routed,
};

export const MESSAGES_OF_HEAD: Shapes<MessagesOfHead> = {
  [MESSAGE.NODE_COMMAND]: callOf(NODE_COMMANDS),
  [MESSAGE.ROUTED]: routed,
};

export const MESSAGES_OF_NEIGHBOUR: Shapes<MessagesOfNeighbour> = {
  [MESSAGE.HEAD_SILENCE]: nothing,
  [MESSAGE.ROUTED]: routed,
};

const transferEnd: shape.Shape<TransferEndHeader> = either(
  tuple<[how: "done" | "cancelled" | "gone"]>(exactly("done", "cancelled", "gone")),
  tuple<[how: "elsewhere", node: string]>(exactly("elsewhere"), text),
);

export const MESSAGES_OF_RECEIVER: Shapes<MessagesOfReceiver> = {
  [MESSAGE.TRANSFER_OPEN]: fields<TransferOpenHeader>({ key: copyKey, avoid: list(text), checks: flag }),
  [MESSAGE.TRANSFER_READ]: tuple<TransferReadHeader>(number, number),
  [MESSAGE.TRANSFER_END]: transferEnd,
};

export const MESSAGES_OF_SOURCE: Shapes<MessagesOfSource> = { [MESSAGE.TRANSFER_END]: transferEnd };
