/**
 * The headers of the messages between nodes, and between a node and the head's process; their numbers are in `messages.ts`.
 *
 * What the two want of each other (HEAD_EVENT, NODE_COMMAND) names methods of `runtime/rpc/head-service.ts`. What goes between a process and the head travels inside ROUTED.
 * The tables of these messages are in `messages-of-nodes.ts`.
 */
import type { NodeId, NodeTag, ProcessId } from "../base/ids.ts";
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
} from "./header-shape.ts";
import type { CallOf, HeadersOf } from "./message-table.ts";
import { accelerators, actorLeaving, actorOptions, anyProcess, environment, group, nodePlace, refusal, workerExit } from "./messages.ts";
import { nodeState } from "./why-messages.ts";

const numbers = record(number);

/**
 * A message between a process and another node, or the head: who says it, to whom ("" is the daemon, or the head, itself), and what it would be on a connection of the two: its
 * number, call id, flags and header. The body is the message's. Who says it, and what it is, the receiver checks.
 */
export const routed = tuple(anyProcess, textOf<ProcessId | "">("process id"), number, number, number, unchecked<unknown>());
export type RoutedHeader = Of<typeof routed>;

/** A worker as whoever is to talk to it has to know it. */
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

/** A node of the cluster, as the head tells it to the others. */
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

/** What a head that others may take over from answers to HEARTBEAT. */
export const heartbeatReply = fields({
  /** How long ago it was proven that no other head led. */
  provenAgoMs: number,
  /** How much longer than `deadAfterMs` the next head waits, from its beginning on. */
  takeoverGraceMs: number,
  /** Where heads are, this one among them. */
  heads: list(text),
  /** Those that keep what heads write, all of them, and only by most of which anything is written. Undefined where they are not known. */
  storeServers: optional(readonlyList(storeServer)),
});
export type HeartbeatReply = Of<typeof heartbeatReply>;

/** What a node that registers is told: the head's `FailureDetector` takes it for dead after these, so it has to fence itself before. */
export const deathTimes = fields({
  deadAfterMs: number,
  closedAfterMs: number,
  /** Undefined where the head is alone. */
  later: optional(heartbeatReply),
});
export type DeathTimesHeader = Of<typeof deathTimes>;

/** `pid`: of its daemon. */
const nodeStatus = fields({ ...nodePlace, pid: number, state: nodeState, total: numbers, free: numbers });
export type NodeStatusHeader = Of<typeof nodeStatus>;

/** Calls and actors that find no room, by what they need. */
const waiting = fields({ resources: numbers, count, isInfeasible: flag });
export type WaitingHeader = Of<typeof waiting>;

/** What an operator is told of the cluster. */
export const clusterStatus = fields({
  /** Where heads are, the one that leads first; undefined where no other may take over. */
  heads: optional(list(text)),
  /** When this head began, in milliseconds since 1970. */
  startedMs: number,
  nodes: list(nodeStatus),
  /** The newest of the nodes that have gone; when, where a head has kept that. */
  gone: list(fields({ nodeId, hostname: text, reason: text, goneMs: orUndefined(number) })),
  waiting: list(waiting),
});
export type ClusterStatusHeader = Of<typeof clusterStatus>;

/** Why a node is to leave: it is taken away, or nobody needs it, which is refused while something runs there. */
const drainReason = exactly("preemption", "idle");
export type DrainReason = Of<typeof drainReason>;

/** A node is to leave: named by its id, or by the first digits of it. Without a deadline, as long as it takes. */
export const nodeDrain = fields({ node: text, deadlineMs: orUndefined(number), reason: optional(drainReason) });
export type NodeDrainHeader = Of<typeof nodeDrain>;

/** What the processes of that node are told: in how many milliseconds it leaves whatever runs then, if it does not wait for it. */
export const nodeDraining = fields({ leftMs: orUndefined(number), reason: drainReason });
export type NodeDrainingHeader = Of<typeof nodeDraining>;

/** What a node tells the head when it joins, and again when the head is another. `incarnation`: a random string for each life of the daemon. */
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

/** What runs on a node, as it says when it registers. Places for actors that it was only asked for it forgets with that. */
export const nodeDigest = fields({
  nodeId: unchecked<NodeId>(),
  /** How many heads it has registered with, this one among them. Events carry the number as their call id, so that one from before is told from what was said to this head. */
  heads: number,
  /** The drivers and workers that are connected to its daemon. */
  processes: list(processId),
  actors: list(digestActor),
  /** What placement groups have there. */
  bundles: list(digestBundle),
  /** Of the groups of those bundles, for a head that has lost its tables. */
  groups: optional(list(group)),
  /** Those of jobs that go on, also for such a head. */
  environments: optional(list(environment)),
});
export type NodeDigestHeader = Of<typeof nodeDigest>;

const amounts = list(tuple(text, number));
/** What is free on a node: amounts are units by name. */
export const nodeReport = fields({
  // The link's node is believed, whatever the report says.
  nodeId: unchecked<NodeId>(),
  /** Grows with each report of the daemon's life. */
  sequence: number,
  total: amounts,
  free: amounts,
  /** What would be free if all tasks ended. */
  freeOfActors: amounts,
  /** The head's numbers of what it placed there and `free` takes into account. */
  settled: list(number),
  /** It is to leave, which a head that has not told it to does not know. */
  isDraining: optional(flag),
});
export type NodeReportHeader = Of<typeof nodeReport>;

/** An actor that is to be started on a node. */
const actorToPlace = fields({
  shape: leaseSpec,
  resources: numbers,
  className: text,
  /** The head's number for it, and how long it may wait for room before it goes elsewhere; absent on the only node. */
  sent: optional(fields({ placement: number, waitMs: orUndefined(number) })),
  /** What the node tells a head that has lost its tables; absent on the only node. */
  facts: optional(actorFacts),
});
export type ActorToPlace = Of<typeof actorToPlace>;

/** Some of the bundles of a placement group. */
const bundles = readonlyList(fields({ index: count, resources: numbers }));

/** Bundles of a placement group that a node is to hold; it may wait for room where nodes collect for the group. */
const groupPreparation = fields({
  attempt: number,
  bundles,
  mayWait: flag,
  placement: number,
  /** What the node tells a head that has lost its tables. */
  facts: optional(group),
});
export type GroupPreparation = Of<typeof groupPreparation>;

/** To the head: a new join token, one that nobody is to use any more, or all of them. */
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
  /** What it has been told already: it is answered when there is something else to say. */
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

/** So many more leases for a process of the sender's node; 0 withdraws those that have not been granted. Without `waitMs` they wait as long as it takes. */
export const leaseSpill = fields({
  owner: processId,
  shape: leaseSpec,
  count: number,
  nested: flag,
  placement: number,
  waitMs: orUndefined(number),
});
export type LeaseSpillHeader = Of<typeof leaseSpill>;

/** Of that owner and shape, so many leases got no worker in their time. */
export const leaseSpillDropped = tuple(processId, leaseSpec, number);
export type LeaseSpillDroppedHeader = Of<typeof leaseSpillDropped>;

/** What a node tells the head (HEAD_EVENT): methods of `HeadService` (`runtime/rpc/head-service.ts`), and that it leaves. */
export const HEAD_EVENTS = {
  /** It has a process for an actor. */
  placed: tuple(actorId, workerFacts, orUndefined(accelerators)),
  /** An actor can never be placed. */
  refused: tuple(actorId, refusal),
  /** All bundles of a placement group that were asked of the node have been reserved there. */
  groupReserved: tuple(text, nodeId),
  /** It holds the bundles of this attempt, or has no room for them. */
  groupPrepared: tuple(text, fields({ attempt: number, isHeld: flag, nodeId })),
  /** It had no room for an actor after all. */
  actorFull: tuple(actorId, nodeId),
  /** It has no room for leases that its processes want: answered by `leasesPlaced`. */
  leasesWanted: tuple(nodeId, leaseAsk),
  workerExited: tuple(processId, workerExit, fields({ intended: flag })),
  /** A worker is about to end by its own decision. */
  workerLeaves: tuple(processId, orUndefined(actorLeaving)),
  processGone: tuple(processId),
  /** Nobody holds a handle of the actor any more. */
  unheld: tuple(actorId),
  /** Nobody holds this reference of a definition any more, which the node counts. */
  definitionUnheld: tuple(objectId, nodeId),
  /** For this reason. */
  left: tuple(text),
};
export type HeadEvents = HeadersOf<typeof HEAD_EVENTS>;
export type HeadEventHeader = CallOf<HeadEvents>;

/** A ref, and who holds it. */
const held = tuple(fields({ id: objectId, owner: anyProcess }), anyProcess);
/** A placement group, and the attempt. */
const attempt = tuple(text, number);

/** What the head wants of a node (NODE_COMMAND): methods of `NodeServices`; of processes, several may be named at once. */
export const NODE_COMMANDS = {
  /** One more hold of a reference for a process. */
  hold: held,
  /** One hold less. */
  release: held,
  /** Tells people, through the drivers. */
  warn: tuple(text),
  /** Finds a worker for an actor and reports it with `placed`. */
  placeActor: tuple(actorId, actorToPlace),
  /** Its resources are free again. */
  actorGone: tuple(actorId),
  /** It is to leave the cluster: no new work, and it goes when what it has has ended, or the time is over. */
  drain: tuple(orUndefined(number), drainReason),
  /** Takes the bundles of a placement group out of the node when they fit, and reports that with `groupReserved`. */
  reserveGroup: tuple(text, bundles),
  /** Ends the tasks that run in it, and gives its resources back. */
  releaseGroup: tuple(text),
  /** Holds bundles of a group now, or refuses, and says which by `groupPrepared`. */
  prepareGroup: tuple(text, groupPreparation),
  /** Work may run in what was prepared. */
  commitGroup: attempt,
  /** What was prepared is given back. */
  abortGroup: attempt,
  /** Where the leases may be had that it asked for, by the number of the question. */
  leasesPlaced: tuple(number, leaseAnswer),
  /** A message for every process of the node, by its number. Each process checks what it is told. */
  tellAll: tuple(number, unchecked<unknown>()),
  /** `afterPending`: it may finish the calls that it has. */
  endActor: tuple(processId, fields({ afterPending: flag, reason: text })),
  /** Processes of other nodes have ended: what they held and owed here ends. */
  processGone: list(processId),
  /** Which nodes there are; those that are not alive have ended for good. */
  nodesChanged: tuple(readonlyList(nodeInfo)),
};
export type NodeCommands = HeadersOf<typeof NODE_COMMANDS>;
export type NodeCommandHeader = CallOf<NodeCommands>;
