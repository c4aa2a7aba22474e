/**
 * The headers of the messages between nodes, and between a node and the head's process; their numbers are in `messages.ts`.
 *
 * What the two want of each other (HEAD_EVENT, NODE_COMMAND) names methods of `rpc/head-service.ts`. What goes between a process and the head
 * travels inside ROUTED.
 */
import type { NodeId, ProcessId } from "../base/ids.ts";

/**
 * A message between a process and another node, or the head: who says it, to whom ("" is the daemon, or the head, itself), and what it would be
 * on a connection of the two. The body is the message's.
 */
export type RoutedHeader = [from: ProcessId, to: ProcessId | "", type: number, callId: number, flags: number, header: unknown];

/** A worker as whoever is to talk to it has to know it. */
export interface WorkerFactsHeader {
  id: ProcessId;
  holderId: ProcessId;
  pid: number;
  address: string;
  remoteAddress: string;
}

/** A node of the cluster, as the head tells it to the others. */
export interface NodeInfoHeader {
  nodeId: NodeId;
  daemonId: ProcessId;
  hostname: string;
  /** Where its daemon listens for other nodes. */
  address: string;
  resources: Record<string, number>;
  labels: Record<string, string>;
  objectStoreMemoryBytes: number;
  alive: boolean;
  /** Why it is not alive. */
  reason?: string | undefined;
}

/** What a node tells the head when it joins, and again when the head is another. */
export interface NodeRegisterHeader extends Omit<NodeInfoHeader, "alive" | "reason"> {
  version: number;
  pid: number;
  /** A random string for each life of the daemon. */
  incarnation: string;
}

/** What a node tells the head: a method of `HeadService` (`rpc/head-service.ts`) and its arguments. */
export type HeadEventHeader = [
  name: "placed" | "refused" | "groupReserved" | "workerExited" | "workerLeaves" | "processGone" | "unheld",
  ...args: unknown[],
];

/** What the head wants of a node: a method of `NodeServices` and its arguments. */
export type NodeCommandHeader = [
  name:
    | "hold"
    | "release"
    | "warn"
    | "placeActor"
    | "actorGone"
    | "reserveGroup"
    | "releaseGroup"
    | "tellAll"
    | "endActor"
    | "processGone"
    | "nodesChanged",
  ...args: unknown[],
];

/** What is free on a node. */
export interface NodeReportHeader {
  nodeId: NodeId;
  free: [name: string, units: number][];
  total: [name: string, units: number][];
}

/** To the head: a new join token, one that nobody is to use any more, or all of them. */
export type JoinTokensHeader = { do: "new"; ageMaxMs?: number | undefined } | { do: "revoke"; id: string } | { do: "list" };

export type JoinTokensReply =
  | { kind: "new"; id: string; joinToken: string; expiresAtMs: number | undefined }
  | { kind: "revoked"; wasKnown: boolean }
  | {
      kind: "list";
      tokens: { id: string; createdAtMs: number; expiresAtMs: number | undefined; revokedAtMs: number | undefined }[];
    };
