/**
 * Reports the nodes to an operator: members with their resources, departed nodes with the reason, and demands that wait for room.
 *
 * Made from the head's state at that moment. `shoal status` asks through its machine's node.
 */
import { amountsOf } from "../../base/resources.ts";
import type { ClusterStatusHeader, NodeInfoHeader, NodeStatusHeader, WaitingHeader } from "../../wire/cluster/cluster-messages.ts";
import { parseLeaseSpec } from "../../scheduling/lease-spec.ts";
import type { NodeState } from "../placement/cluster-view.ts";
import type { WaitingDemand } from "../placement/placement-waiters.ts";
import type { RemoteNode } from "./remote-node.ts";

interface StatusParts {
  readonly nodes: Iterable<RemoteNode>;
  readonly stateOf: (node: RemoteNode) => NodeState;
  readonly gone: readonly NodeInfoHeader[];
  readonly waiting: readonly WaitingDemand[];
  /** The autoscaler's verdicts, by shape. */
  readonly verdicts?: ReadonlyMap<string, string>;
  readonly startedMs: number;
  readonly heads: string[] | undefined;
  readonly stalled: string | undefined;
}

/** Bounds the departed nodes in a report; the newest are shown. */
const GONE_SHOWN = 20;

export function clusterStatus({ nodes, stateOf, gone, waiting, verdicts, startedMs, heads, stalled }: StatusParts): ClusterStatusHeader {
  return {
    startedMs,
    heads,
    ...(stalled !== undefined && { stalled }),
    nodes: Array.from(nodes, (node) => nodeStatus(node, stateOf(node))),
    gone: gone.slice(-GONE_SHOWN).map(({ nodeId, hostname, reason, goneMs }) => ({ nodeId, hostname, reason: reason ?? "", goneMs })),
    waiting: waiting.map((demand) => waitingHeader(demand, verdicts?.get(demand.shape))),
  };
}

function nodeStatus(node: RemoteNode, state: NodeState): NodeStatusHeader {
  const { nodeId, hostname, address, pid } = node.facts;
  const { total, free, labels } = node.view();
  return { nodeId, hostname, address, pid, state, labels, total: amountsOf(total), free: amountsOf(free) };
}

function waitingHeader({ shape, count, isInfeasible }: WaitingDemand, verdict: string | undefined): WaitingHeader {
  const resources = amountsOf(parseLeaseSpec(shape).resources.amounts);
  return { resources, count, isInfeasible, ...(verdict !== undefined && { verdict }) };
}
