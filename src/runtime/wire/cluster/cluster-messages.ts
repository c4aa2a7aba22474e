/**
 * The headers of the messages between nodes, and between a node and the head's process; their numbers are in `messages.ts`.
 *
 * Requests between the two (HEAD_EVENT, NODE_COMMAND) name methods of `runtime/rpc/head-service.ts`. Messages between a process and the
 * head travel inside ROUTED. The tables of these messages are in `messages-of-nodes.ts`.
 */
import { extensionHeader } from "../calls/extension-messages.ts";
import type { NodeId, NodeTag, ProcessId } from "../../base/ids.ts";
import {
  actorId,
  count,
  either,
  exactly,
  fields,
  flag,
  leaseSpec,
  list,
  nodeId,
  nodeTag,
  number,
  objectId,
  type Of,
  optional,
  orUndefined,
  processId,
  readonlyList,
  record,
  text,
  textOf,
  tuple,
  unchecked,
} from "../header-shape.ts";
import type { CallOf, HeadersOf } from "../tables/message-table.ts";
import { accelerators, actorLeaving, actorOptions, anyProcess, environment, group, nodePlace, refusal, workerExit } from "../messages.ts";
import { nodeState } from "../calls/why-messages.ts";

const numbers = record(number);

/**
 * Wraps a message between a process and another node, or the head. Places: sender, recipient ("" is the daemon, or the head, itself), and
 * the number, call id, flags and header of the message without a wrapper. The body is the message's. The receiver checks the sender and the
 * message.
 */
export const routed = tuple(anyProcess, textOf<ProcessId | "">("process id"), number, number, number, unchecked<unknown>());
export type RoutedHeader = Of<typeof routed>;

/** Facts about a worker for processes that talk to it. */
export const workerFacts = fields({ id: processId, holderId: processId, pid: number, address: text, remoteAddress: text });
export type WorkerFactsHeader = Of<typeof workerFacts>;

const nodeFacts = {
  nodeId,
  daemonId: processId,
  hostname: text,
  /** Where its daemon listens for other nodes. */
  address: text,
  resources: numbers,
  labels: record(text),
  objectStoreMemoryBytes: number,
};

/** A node of the cluster, in the head's list for the others. */
export const nodeInfo = fields({
  ...nodeFacts,
  alive: flag,
  /** Why it is not alive. */
  reason: optional(text),
  /** When it was found to be gone, in milliseconds since 1970 by the head's clock. */
  goneMs: optional(number),
});
export type NodeInfoHeader = Of<typeof nodeInfo>;

/** A server of the control store: as it calls itself, and where it greets. */
const storeServer = fields({ name: text, address: text });
export type StoreServer = Of<typeof storeServer>;

/** Answer to HEARTBEAT of a head that has standbys. */
export const heartbeatReply = fields({
  /** How long ago it was proven that no other head led. */
  provenAgoMs: number,
  /** How much longer than `deadAfterMs` the next head waits, from its beginning on. */
  takeoverGraceMs: number,
  /** Where heads are, this one among them. */
  heads: list(text),
  /** All servers that keep the control store; a write needs a majority of them. Undefined if they are not known. */
  storeServers: optional(readonlyList(storeServer)),
});
export type HeartbeatReply = Of<typeof heartbeatReply>;

/** Tells a registering node when the head's `FailureDetector` takes it for dead, so that it fences itself before. */
export const deathTimes = fields({
  deadAfterMs: number,
  closedAfterMs: number,
  /** Undefined where the head is alone. */
  later: optional(heartbeatReply),
});
export type DeathTimesHeader = Of<typeof deathTimes>;

/** `pid`: the daemon's. */
const nodeStatus = fields({ ...nodePlace, pid: number, state: nodeState, total: numbers, free: numbers });
export type NodeStatusHeader = Of<typeof nodeStatus>;

/** Calls and actors without room, by their resources. */
const waiting = fields({ resources: numbers, count, isInfeasible: flag, verdict: optional(text) });
export type WaitingHeader = Of<typeof waiting>;

/** State of the cluster for an operator. */
export const clusterStatus = fields({
  /** Where heads are, the one that leads first; undefined where no other may take over. */
  heads: optional(list(text)),
  /** When this head began, in milliseconds since 1970. */
  startedMs: number,
  /** For how long the head has kept no changes, and why: ends a sentence that begins with the head. */
  stalled: optional(text),
  nodes: list(nodeStatus),
  /** The newest departed nodes, with the time if a head has recorded it. */
  gone: list(fields({ nodeId, hostname: text, reason: text, goneMs: orUndefined(number) })),
  waiting: list(waiting),
});
export type ClusterStatusHeader = Of<typeof clusterStatus>;

/** Calls and actors that wait, by their shapes. */
const shapesWaiting = list(tuple(leaseSpec, count));

/** Counts of everything that keeps a node from being idle. */
const nodeHolds = fields({ leases: count, actors: count, bundles: count, drivers: count, objects: count });
export type NodeHoldsHeader = Of<typeof nodeHolds>;

/** A node for the autoscaler. `idleMs`: time since it held anything; absent while it does, and for a node that is still to register. */
const nodeDemand = fields({
  nodeId,
  state: nodeState,
  labels: record(text),
  total: numbers,
  free: numbers,
  idleMs: optional(number),
  holds: optional(nodeHolds),
});

/** A placement group that misses bundles: those without a node. */
const groupDemand = fields({
  id: text,
  strategy: exactly("PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD"),
  bundles: list(numbers),
  labels: list(record(text)),
  nodeIds: list(orUndefined(nodeId)),
});

/** Demand for nodes, and the nodes. */
export const clusterDemand = fields({
  nodes: list(nodeDemand),
  waiting: shapesWaiting,
  groups: list(groupDemand),
  /** Whether all nodes of an earlier head have registered or are dead. */
  isComplete: flag,
});
export type ClusterDemandHeader = Of<typeof clusterDemand>;

/** The autoscaler's verdicts on waiting shapes and groups, in place of all earlier ones. */
export const demandVerdicts = list(tuple(text, text));

/** Reason to drain a node: it is taken away, or nobody needs it, which is refused while something runs there. */
const drainReason = exactly("preemption", "idle");
export type DrainReason = Of<typeof drainReason>;

/** Asks a node to leave, by its id or the first digits. Without a deadline the node takes as long as it needs. */
export const nodeDrain = fields({ node: text, deadlineMs: orUndefined(number), reason: optional(drainReason) });
export type NodeDrainHeader = Of<typeof nodeDrain>;

/** Tells processes in how many milliseconds the node leaves even with running work, unless it waits for the work. */
export const nodeDraining = fields({ leftMs: orUndefined(number), reason: drainReason });
export type NodeDrainingHeader = Of<typeof nodeDraining>;

/** Registers a node with the head, at first and with each new head. `incarnation`: a random string for each life of the daemon. */
export const nodeRegister = fields({ ...nodeFacts, version: number, pid: number, incarnation: text });
export type NodeRegisterHeader = Of<typeof nodeRegister>;

const actorFacts = fields({ incarnation: number, creator: processId, options: actorOptions });

/** A bundle that is held there: group, index, and the attempt of the head that had it prepared, 0 once it was committed. */
const digestBundle = tuple(text, number, number);
export type DigestBundleHeader = Of<typeof digestBundle>;

const digestActor = fields({
  actorId,
  /** A process is one incarnation: it never becomes another. */
  worker: workerFacts,
  accelerators: orUndefined(accelerators),
  /** For a head that has lost its tables. */
  facts: optional(actorFacts),
});
export type DigestActorHeader = Of<typeof digestActor>;

/** Lists the processes of a registering node. The node then forgets places that it was only asked to keep for actors. */
export const nodeDigest = fields({
  nodeId: unchecked<NodeId>(),
  /**
   * Number of heads that the node has registered with, including this one. Events carry it as their call id, which tells older events from
   * those for this head.
   */
  heads: number,
  /** The drivers and workers that are connected to its daemon. */
  processes: list(processId),
  actors: list(digestActor),
  /** Bundles of placement groups on the node. */
  bundles: list(digestBundle),
  /** The groups of those bundles, for a head that has lost its tables. */
  groups: optional(list(group)),
  /** Environments of continuing jobs, also for such a head. */
  environments: optional(list(environment)),
});
export type NodeDigestHeader = Of<typeof nodeDigest>;

const amounts = list(tuple(text, number));
/** Free resources of a node: amounts are units by name. */
export const nodeReport = fields({
  // Ignored: the node of the link counts.
  nodeId: unchecked<NodeId>(),
  /** Grows with each report of the daemon's life. */
  sequence: number,
  total: amounts,
  free: amounts,
  /** Resources that would be free if all tasks ended. */
  freeOfActors: amounts,
  /** The head's numbers of placements that `free` already takes into account. */
  settled: list(number),
  /** Whether the node is draining, which a head that did not order it does not know. */
  isDraining: optional(flag),
  /** Demands of this node's processes without a lease, wherever they are sought, and actors that wait here. Large counts are rounded. */
  waiting: optional(shapesWaiting),
  holds: optional(nodeHolds),
  /** Whether the node has granted leases since its last report. */
  hasWorked: optional(flag),
});
export type NodeReportHeader = Of<typeof nodeReport>;

/** An actor to start on a node. */
const actorToPlace = fields({
  shape: leaseSpec,
  resources: numbers,
  className: text,
  /** The head's number for it, and the time that it may wait for room before it goes to another node; absent on the only node. */
  sent: optional(fields({ placement: number, waitMs: orUndefined(number) })),
  /** Facts for a head that has lost its tables; absent on the only node. */
  facts: optional(actorFacts),
});
export type ActorToPlace = Of<typeof actorToPlace>;

/** Some of the bundles of a placement group. */
const bundles = readonlyList(fields({ index: count, resources: numbers }));

/** Bundles of a placement group for a node to hold; it may wait for room if nodes collect for the group. */
const groupPreparation = fields({
  attempt: number,
  bundles,
  mayWait: flag,
  placement: number,
  /** The group, for a head that has lost its tables. */
  facts: optional(group),
});
export type GroupPreparation = Of<typeof groupPreparation>;

/** To the head: makes a new join token, revokes one, or lists all. */
export const joinTokens = either(
  fields({ do: exactly("new"), ageMaxMs: optional(number) }),
  fields({ do: exactly("revoke"), id: text }),
  fields({ do: exactly("list") }),
);
export type JoinTokensHeader = Of<typeof joinTokens>;

export const joinTokensReply = either(
  fields({ kind: exactly("new"), id: text, joinToken: text, expiresAtMs: orUndefined(number) }),
  fields({ kind: exactly("revoked"), wasKnown: flag }),
  fields({
    kind: exactly("list"),
    tokens: list(fields({ id: text, createdAtMs: number, expiresAtMs: orUndefined(number), revokedAtMs: orUndefined(number) })),
  }),
);
export type JoinTokensReply = Of<typeof joinTokensReply>;

/** Leases that a node asks the head for; a count of 0 withdraws the question. */
const leaseAsk = fields({
  number,
  owner: processId,
  shape: leaseSpec,
  count,
  /** The node has no room for them itself. */
  isFromFull: flag,
  /** Bytes of their arguments, by the first half of the ids of the nodes that have them. */
  argumentBytes: optional(readonlyList<readonly [node: NodeTag, bytes: number]>(tuple(nodeTag, number))),
  /** Last answer that the asker got. The next one is sent when it differs. */
  knows: optional(exactly("wait", "infeasible")),
});
export type LeaseAskHeader = Of<typeof leaseAsk>;

/** Leases for one node. */
const placedLeases = fields({
  nodeId,
  count: number,
  /** The node names it in its reports once it has dealt with it. */
  placement: number,
  /** How long the demand stays at a node that has no room; undefined for as long as it takes. */
  waitMs: orUndefined(number),
});
export type PlacedLeases = Of<typeof placedLeases>;

const leaseAnswer = either(
  fields({ kind: exactly("nodes"), nodes: readonlyList(placedLeases) }),
  fields({ kind: exactly("wait") }),
  fields({ kind: exactly("infeasible"), text }),
  fields({ kind: exactly("refused"), refusal }),
);
export type LeaseAnswerHeader = Of<typeof leaseAnswer>;

/**
 * Requests this many more leases for a process of the sender's node; 0 withdraws those that have not been granted. Without `waitMs` they
 * wait without a limit.
 */
export const leaseSpill = fields({
  owner: processId,
  shape: leaseSpec,
  count: number,
  nested: flag,
  placement: number,
  waitMs: orUndefined(number),
});
export type LeaseSpillHeader = Of<typeof leaseSpill>;

/** Gives up waiting leases of that owner and shape: this many got no worker in time. */
export const leaseSpillDropped = tuple(processId, leaseSpec, number);
export type LeaseSpillDroppedHeader = Of<typeof leaseSpillDropped>;

/** Messages of a node to the head (HEAD_EVENT): methods of `HeadService` (`runtime/rpc/head-service.ts`), and the node's departure. */
export const HEAD_EVENTS = {
  /** The node has a process for an actor. */
  placed: tuple(actorId, workerFacts, orUndefined(accelerators)),
  /** An actor can never be placed. */
  refused: tuple(actorId, refusal),
  /** All bundles of a placement group that the node was asked for have been reserved there. */
  groupReserved: tuple(text, nodeId),
  /** The node holds the bundles of this attempt, or has no room for them. */
  groupPrepared: tuple(text, fields({ attempt: number, isHeld: flag, nodeId })),
  /** The node had no room for an actor after all. */
  actorFull: tuple(actorId, nodeId),
  /** The node has no room for its processes' leases: answered by `leasesPlaced`. */
  leasesWanted: tuple(nodeId, leaseAsk),
  workerExited: tuple(processId, workerExit, fields({ intended: flag })),
  /** A worker is about to end by its own decision. */
  workerLeaves: tuple(processId, orUndefined(actorLeaving)),
  processGone: tuple(processId),
  /** No process holds a handle of the actor any more. */
  unheld: tuple(actorId),
  /** No process holds this reference of a definition any more, which the node counts. */
  definitionUnheld: tuple(objectId, nodeId),
  /** For this reason. */
  left: tuple(text),
};
export type HeadEvents = HeadersOf<typeof HEAD_EVENTS>;
export type HeadEventHeader = CallOf<HeadEvents>;

/** A ref and its holder. */
const held = tuple(fields({ id: objectId, owner: anyProcess }), anyProcess);
/** A placement group, and the attempt. */
const attempt = tuple(text, number);

/** Commands of the head to a node (NODE_COMMAND): methods of `NodeServices`. Several processes may be named at once. */
export const NODE_COMMANDS = {
  /** Adds a hold of a reference for a process. */
  hold: held,
  /** Removes a hold. */
  release: held,
  /** Tells people, through the drivers. */
  warn: tuple(text),
  /** Finds a worker for an actor and reports it with `placed`. */
  placeActor: tuple(actorId, actorToPlace),
  /** The actor's resources are free again. */
  actorGone: tuple(actorId),
  /** Drains the node: no new work, and it leaves when its work has ended or the time is over. */
  drain: tuple(orUndefined(number), drainReason),
  /** Takes the bundles of a placement group out of the node when they fit, and reports that with `groupReserved`. */
  reserveGroup: tuple(text, bundles),
  /** Ends the tasks that run in it, and gives its resources back. */
  releaseGroup: tuple(text),
  /** Asks the node to hold bundles of a group now, or to refuse, by `groupPrepared`. */
  prepareGroup: tuple(text, groupPreparation),
  /** Work may run in the prepared bundles. */
  commitGroup: attempt,
  /** The prepared bundles are given back. */
  abortGroup: attempt,
  /** Names the nodes for requested leases, by the number of the question. */
  leasesPlaced: tuple(number, leaseAnswer),
  /** A message for every process of the node, by its number. Each process checks the message. */
  tellAll: tuple(number, unchecked<unknown>()),
  /** `afterPending`: it may finish the calls that it has. */
  endActor: tuple(processId, fields({ afterPending: flag, reason: text })),
  /** Processes of other nodes have ended, and with them their holds and debts here. */
  processGone: list(processId),
  /** The nodes of the cluster; those that are not alive have ended for good. */
  nodesChanged: tuple(readonlyList(nodeInfo)),
  /** Tells an extension of the node. The extension of the head sends it after its changes are kept. */
  tellExtension: tuple(extensionHeader),
};
export type NodeCommands = HeadersOf<typeof NODE_COMMANDS>;
export type NodeCommandHeader = CallOf<NodeCommands>;
