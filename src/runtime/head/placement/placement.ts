/**
 * Interface between the head and its placement, in both directions.
 *
 * Two implement it: `cluster-placement.ts` among many nodes, and `only-node-placement.ts` where there is one, which decides everything itself.
 */
import type { ActorId, NodeId, ProcessId } from "../../base/ids.ts";
import type { NodeServices } from "../../rpc/head-service.ts";
import type { DigestBundleHeader, HeadEvents, LeaseAskHeader, NodeReportHeader } from "../../wire/cluster/cluster-messages.ts";
import type { ActorRefusal } from "../../wire/messages.ts";
import type { ActorRecord } from "../actors/actor-table.ts";
import type { NodeState } from "./cluster-view.ts";
import type { WaitingDemand } from "./placement-waiters.ts";
import type { GroupRecord } from "./placement-group-table.ts";

export interface PlacementEvents {
  readonly node: (id: NodeId) => NodeServices | undefined;
  readonly group: (id: string) => GroupRecord | undefined;
  readonly nowMs: () => number;
  readonly warn: (text: string) => void;
  readonly actorRefused: (actor: ActorId, refusal: ActorRefusal) => void;
  /** All bundles have their nodes. */
  readonly groupReserved: (group: string, nodeIds: readonly NodeId[]) => void;
  /** Some bundles are being placed again, as their node is dead. */
  readonly groupLost: (group: string, indices: readonly number[]) => void;
  /** No set of nodes could hold it as they are. */
  readonly groupInfeasible: (group: string) => void;
}

export interface Placement {
  /** A node of an earlier head, which has not registered with this one. */
  nodeExpected(node: NodeServices): void;
  /** Nodes of an earlier head that this one does not know may register until `untilMs`. */
  unrecordedNodesExpected(untilMs: number): void;
  nodeJoined(node: NodeServices): void;
  /** Reports bundles of a node that is new to this head. Surplus bundles are given back, and missing ones are placed again. */
  nodeHolds(nodeId: NodeId, bundles: readonly DigestBundleHeader[]): void;
  /** Reports a node's state. Only alive nodes get new work. */
  nodeState(nodeId: NodeId, state: NodeState): void;
  /** Whether unknown nodes of an earlier head may still register. */
  expectsUnrecordedNodes(): boolean;
  /** Returns demands without room, by shape. */
  waiting(): WaitingDemand[];
  nodeReported(nodeId: NodeId, report: NodeReportHeader): void;
  /** @returns the actors that were sent there and have no process yet */
  nodeGone(nodeId: NodeId): ActorRecord[];
  processGone(process: ProcessId): void;
  leasesWanted(nodeId: NodeId, ask: LeaseAskHeader): void;
  place(actor: ActorRecord): void;
  /** Reports an actor that an earlier head has placed on this node. */
  adopt(actor: ActorRecord, node: NodeServices): void;
  /** Reports that the actor no longer needs its place. */
  gone(actor: ActorRecord): void;
  actorFull(actor: ActorId, nodeId: NodeId): void;
  /**
   * Reserves a group. With a time, an earlier head has already placed it: existing bundles stay, and missing ones are not sought before
   * that time, as nodes that may have them are still to register.
   */
  reserveGroup(group: GroupRecord, notWithinMs?: number): void;
  releaseGroup(group: GroupRecord): void;
  groupPrepared(group: string, prepared: HeadEvents["groupPrepared"][1]): void;
  groupReserved(group: string, nodeId: NodeId): void;
}
