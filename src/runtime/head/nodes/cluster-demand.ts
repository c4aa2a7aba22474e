/**
 * Reports waiting calls, actors and placement groups to the autoscaler, with the nodes and the time for which each was idle.
 *
 * Calls are counted by the nodes of their callers, which know a call wherever a lease for it is sought; actors by the head until a node has
 * them. Made from the head's state at that moment. Pure; called by the head's server.
 */
import { amountsOf } from "../../base/resources.ts";
import type { ClusterDemandHeader } from "../../wire/cluster/cluster-messages.ts";
import { parseLeaseSpec } from "../../scheduling/lease-spec.ts";
import type { NodeState } from "../placement/cluster-view.ts";
import type { GroupRecord } from "../placement/placement-group-table.ts";
import type { WaitingDemand } from "../placement/placement-waiters.ts";
import type { RemoteNode } from "./remote-node.ts";

interface DemandParts {
  readonly nodes: Iterable<RemoteNode>;
  readonly stateOf: (node: RemoteNode) => NodeState;
  /** Whether the head itself knows of nothing there. */
  readonly isIdle: (node: RemoteNode) => boolean;
  readonly waiting: readonly WaitingDemand[];
  readonly groups: Iterable<GroupRecord>;
  /** Whether all nodes of an earlier head have registered or are dead. */
  readonly isComplete: boolean;
  readonly nowMs: number;
}

/** Bounds the placement groups of a report; the oldest come first. */
const GROUPS_MAX = 1000;

export function clusterDemand({ nodes, stateOf, isIdle, waiting, groups, isComplete, nowMs }: DemandParts): ClusterDemandHeader {
  const shapes = new Map<string, number>();
  const add = (shape: string, count: number): void => void shapes.set(shape, (shapes.get(shape) ?? 0) + count);
  const found: ClusterDemandHeader["nodes"] = [];
  for (const node of nodes) {
    for (const [shape, count] of node.waiting) add(shape, count);
    const { total, free, labels } = node.view();
    const idleMs = isIdle(node) ? node.idleMs(nowMs) : undefined;
    const { nodeId, holds } = node;
    found.push({ nodeId, state: stateOf(node), labels, total: amountsOf(total), free: amountsOf(free), idleMs, holds });
  }
  for (const { shape, actors } of waiting) if (actors > 0 && parseLeaseSpec(shape).bundle === undefined) add(shape, actors);
  return { nodes: found, waiting: Array.from(shapes), groups: groupsOf(groups), isComplete };
}

function groupsOf(groups: Iterable<GroupRecord>): ClusterDemandHeader["groups"] {
  const found: ClusterDemandHeader["groups"] = [];
  for (const { header } of groups) {
    const { id, state, strategy, bundles, labels, nodeIds } = header;
    if (state !== "pending" && state !== "rescheduling") continue;
    if (found.length === GROUPS_MAX) break;
    found.push({ id, strategy, bundles: [...bundles], labels: [...labels], nodeIds: bundles.map((_, index) => nodeIds[index]) });
  }
  return found;
}
