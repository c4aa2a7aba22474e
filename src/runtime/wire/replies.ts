/**
 * What requests are answered with: the header of the REPLY by the number of the request, and its shape.
 *
 * Whoever sends a request keeps its number until the REPLY comes; `request` then checks the header (`runtime/rpc/peer-connection.ts`), so that no caller casts it.
 * What a REPLY refuses is a `WireErrorHeader` (flag ERROR) whatever was asked. Parts that follow in the body are said at the request.
 */
import type { NodeId } from "../base/ids.ts";
import type { ClusterStatusHeader, DeathTimesHeader, HeartbeatReply, JoinTokensReply, NodeStatusHeader } from "./cluster-messages.ts";
import type { DefinitionHeader } from "./definition-messages.ts";
import { actorInterface, definition, environmentDescription, groupFields, groupState, location, why } from "./header-parts.ts";
import * as shape from "./header-shape.ts";
import type { KeyValueReply } from "./key-value-messages.ts";
import { nameOfMessage, type Shapes } from "./message-table.ts";
import {
  type ActorInfoHeader,
  type ActorLookupReply,
  type GroupHeader,
  type GroupStateHeader,
  type JoinReply,
  MESSAGE,
  type NodeHeader,
  type WireLocation,
} from "./messages.ts";
import type { OpenReply } from "./open-messages.ts";
import type { PackageOfferedHeader } from "./package-messages.ts";
import type { StoreReport } from "./store-messages.ts";
import type { ObjectPlaceHeader } from "./transfer-messages.ts";
import type { LeaseReportHeader, PlaceNodeHeader, PlaceReportHeader, WhyHeader } from "./why-messages.ts";

const {
  actorId,
  count,
  either,
  exactly,
  fields,
  flag,
  list,
  nodeId,
  nothing,
  number,
  optional,
  processId,
  record,
  text,
  tuple,
  unchecked,
} = shape;

interface ResourcesReply {
  total: Record<string, number>;
  available: Record<string, number>;
  store: StoreReport;
}

interface Replies {
  [MESSAGE.OPEN]: OpenReply;
  [MESSAGE.HELLO]: undefined;
  [MESSAGE.JOIN]: JoinReply;
  [MESSAGE.CERTIFICATE_RENEW]: string;
  [MESSAGE.NODE_REGISTER]: DeathTimesHeader;
  [MESSAGE.HEARTBEAT]: HeartbeatReply | undefined;
  [MESSAGE.HEAD_SILENCE]: number;

  [MESSAGE.FETCH_DEFINITION]: DefinitionHeader;
  [MESSAGE.ENVIRONMENT_FETCH]: object;
  [MESSAGE.PACKAGE_OFFER]: PackageOfferedHeader;
  [MESSAGE.PACKAGE_READ]: undefined;
  [MESSAGE.OBJECT_FETCH]: WireLocation;
  [MESSAGE.OBJECT_LOCATE]: ObjectPlaceHeader[];

  [MESSAGE.ACTOR_CREATE]: ActorLookupReply;
  [MESSAGE.ACTOR_LOOKUP]: ActorLookupReply;
  [MESSAGE.ACTOR_LIST]: ActorInfoHeader[];
  [MESSAGE.GROUP_REMOVE]: undefined;
  [MESSAGE.GROUP_WATCH]: GroupStateHeader;
  [MESSAGE.GROUP_LOOKUP]: GroupHeader | undefined;
  [MESSAGE.GROUPS]: GroupHeader[];

  [MESSAGE.NODES]: NodeHeader[];
  [MESSAGE.RESOURCES]: ResourcesReply;
  [MESSAGE.SHUTDOWN]: undefined;
  [MESSAGE.CLUSTER_STATUS]: ClusterStatusHeader;
  [MESSAGE.JOIN_TOKENS]: JoinTokensReply;
  [MESSAGE.NODE_DRAIN]: string;

  [MESSAGE.WHY_LEASE]: LeaseReportHeader;
  [MESSAGE.WHY_PLACE]: PlaceReportHeader | undefined;
  [MESSAGE.WHY_REF]: WhyHeader;
  [MESSAGE.WHY_CALL]: WhyHeader;

  [MESSAGE.KV_PUT]: boolean;
  [MESSAGE.KV_GET]: KeyValueReply;
  [MESSAGE.KV_DELETE]: boolean;
  [MESSAGE.KV_LIST]: string[];
}

/** The header of the answer to a request of that number; unknown where the number is not in the table. */
export type ReplyTo<N extends number> = N extends keyof Replies ? Replies[N] : unknown;

const heartbeat = optional(
  fields<HeartbeatReply>({
    provenAgoMs: number,
    takeoverGraceMs: number,
    heads: list(text),
    storeServers: optional(list(fields({ name: text, address: text }))),
  }),
);
const actor = fields<ActorLookupReply>({ actorId, owner: processId, interface: actorInterface });
const groupHeader = fields<GroupHeader>({
  ...groupFields,
  state: exactly("pending", "created", "rescheduling", "removed"),
  nodeIds: list(optional(nodeId)),
});
const numbers = record(number);
const node = { nodeId, hostname: text, address: text, labels: record(text) };
const state = exactly("alive", "suspect", "draining");

export const REPLIES: Shapes<Replies> = {
  [MESSAGE.OPEN]: fields<OpenReply>({ nodeId, processId, nonce: text, proof: text }),
  [MESSAGE.HELLO]: nothing,
  [MESSAGE.JOIN]: fields<JoinReply>({
    headNodeId: nodeId,
    certificate: text,
    token: text,
    tlsOnLoopback: flag,
    nats: unchecked<unknown>(),
  }),
  [MESSAGE.CERTIFICATE_RENEW]: text,
  [MESSAGE.NODE_REGISTER]: fields<DeathTimesHeader>({ deadAfterMs: number, closedAfterMs: number, later: heartbeat }),
  [MESSAGE.HEARTBEAT]: heartbeat,
  [MESSAGE.HEAD_SILENCE]: number,

  [MESSAGE.FETCH_DEFINITION]: definition,
  [MESSAGE.ENVIRONMENT_FETCH]: environmentDescription,
  [MESSAGE.PACKAGE_OFFER]: fields<PackageOfferedHeader>({
    hash: text,
    manifestBytes: count,
    contentsBytes: count,
    holders: list(shape.textOf<NodeId>("node tag")),
    installed: list(tuple<PackageOfferedHeader["installed"][number]>(text, text, text)),
  }),
  [MESSAGE.PACKAGE_READ]: nothing,
  [MESSAGE.OBJECT_FETCH]: location,
  [MESSAGE.OBJECT_LOCATE]: list(tuple<ObjectPlaceHeader>(list(shape.textOf("node tag")), flag)),

  [MESSAGE.ACTOR_CREATE]: actor,
  [MESSAGE.ACTOR_LOOKUP]: actor,
  [MESSAGE.ACTOR_LIST]: list(
    fields<ActorInfoHeader>({
      actorId,
      className: text,
      name: optional(text),
      namespace: text,
      phase: exactly("pending", "alive", "restarting", "dead"),
      isDetached: flag,
      incarnation: count,
      pid: optional(number),
      nodeId: optional(nodeId),
      reason: optional(text),
    }),
  ),
  [MESSAGE.GROUP_REMOVE]: nothing,
  [MESSAGE.GROUP_WATCH]: groupState,
  [MESSAGE.GROUP_LOOKUP]: optional(groupHeader),
  [MESSAGE.GROUPS]: list(groupHeader),

  [MESSAGE.NODES]: list(fields<NodeHeader>({ ...node, alive: flag, resources: numbers, objectStoreMemoryBytes: number })),
  [MESSAGE.RESOURCES]: fields<ResourcesReply>({
    total: numbers,
    available: numbers,
    store: fields<StoreReport>({
      quotaBytes: number,
      usedBytes: number,
      diskBytes: number,
      objects: number,
      spilledBytes: number,
      spilledObjects: number,
      restoredBytes: number,
      restoredObjects: number,
      spillFiles: number,
      spillFileBytes: number,
    }),
  }),
  [MESSAGE.SHUTDOWN]: nothing,
  [MESSAGE.CLUSTER_STATUS]: fields<ClusterStatusHeader>({
    heads: optional(list(text)),
    startedMs: number,
    nodes: list(fields<NodeStatusHeader>({ ...node, pid: number, state, total: numbers, free: numbers })),
    gone: list(fields<ClusterStatusHeader["gone"][number]>({ nodeId, hostname: text, reason: text, goneMs: optional(number) })),
    waiting: list(fields({ resources: numbers, count, isInfeasible: flag })),
  }),
  [MESSAGE.JOIN_TOKENS]: either(
    fields({ kind: exactly("new"), id: text, joinToken: text, expiresAtMs: optional(number) }),
    fields({ kind: exactly("revoked"), wasKnown: flag }),
    fields({
      kind: exactly("list"),
      tokens: list(fields({ id: text, createdAtMs: number, expiresAtMs: optional(number), revokedAtMs: optional(number) })),
    }),
  ),
  [MESSAGE.NODE_DRAIN]: text,

  [MESSAGE.WHY_LEASE]: fields<LeaseReportHeader>({
    refusal: optional(text),
    obstacle: optional(text),
    pendingGroup: optional(text),
    lacking: list(fields({ name: text, wanted: number, free: number })),
    holders: list(fields({ kind: exactly("tasks", "actor", "group"), id: text, name: text, resources: numbers })),
    workersStarting: count,
    isClustered: optional(flag),
    environment: optional(exactly("asked", "building")),
  }),
  [MESSAGE.WHY_PLACE]: optional(
    fields<PlaceReportHeader>({
      needs: numbers,
      infeasible: optional(text),
      selectors: optional(list(fields({ text, nodeCount: count }))),
      nodes: list(fields<PlaceNodeHeader>({ nodeId: text, hostname: text, state, total: numbers, free: numbers })),
      nodeCount: count,
    }),
  ),
  [MESSAGE.WHY_REF]: why,
  [MESSAGE.WHY_CALL]: why,

  [MESSAGE.KV_PUT]: flag,
  [MESSAGE.KV_GET]: optional(exactly("bytes", "json")),
  [MESSAGE.KV_DELETE]: flag,
  [MESSAGE.KV_LIST]: list(text),
};

/** Whether a header is one that a request of that number is answered with. Of numbers that the table has not, any is. */
export function isReplyTo<N extends number>(type: N, header: unknown): header is ReplyTo<N> {
  return shapeOf(type)?.(header) ?? true;
}

/** What is wrong with a header that `isReplyTo` has refused. */
export function problemOfReply(type: number, header: unknown): string {
  return `the answer to ${nameOfMessage(type)} is malformed: ${shape.problemOf(shapeOf(type) ?? nothing, header)}`;
}

function shapeOf(type: number): shape.Shape | undefined {
  return (REPLIES as Readonly<Record<number, shape.Shape>>)[type];
}
