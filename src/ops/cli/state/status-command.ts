/**
 * `shoal status`: the nodes of the cluster, used resources, waiting demands, actors, placement groups, and departed nodes, from the head's
 * present state.
 *
 * A cluster with an autoscaler shows the launched nodes by type and a verdict for each waiting demand. A head that stalls shows its status alone.
 */
import { formatAddresses } from "../../../runtime/os/network/network-address.ts";
import { MESSAGE } from "../../../runtime/wire/messages.ts";
import type { ReplyTo } from "../../../runtime/wire/tables/replies.ts";
import type { Of } from "../../../runtime/wire/header-shape.ts";
import type { autoscalerReport } from "../../autoscaler/autoscaler-messages.ts";
import { askAutoscaler } from "../../autoscaler/head-client.ts";
import { type ClusterConnection, connectToCluster } from "../../connection/cluster-connection.ts";
import { ADDRESS, type Command, defineCommand } from "../command.ts";
import { dashboardOfCluster, historyOfCluster } from "../../connection/http-place.ts";
import { statusText } from "./status-text.ts";

interface ClusterState {
  readonly status: ReplyTo<typeof MESSAGE.CLUSTER_STATUS>;
  readonly actors: ReplyTo<typeof MESSAGE.ACTOR_LIST>;
  readonly groups: ReplyTo<typeof MESSAGE.GROUPS>;
}

export const statusCommand: Command = defineCommand({
  name: "status",
  summary: "show the nodes of the cluster, used resources, and waiting demands",
  description: "Shows the cluster that this machine is a node of.",
  options: {
    address: ADDRESS,
    json: { help: "print JSON" },
  },
  run: async ({ options, terminal }) => {
    using cluster = await connectToCluster(options.address);
    const { status, actors, groups } = await stateOf(cluster);
    const facts = {
      dashboardUrl: dashboardOfCluster(cluster.node.clusterAddress)?.url,
      history: historyOfCluster(cluster.node.clusterAddress),
      address: formatAddresses(cluster.node.clusterAddress.split(",")),
      thisNodeId: cluster.node.nodeId,
      ...status,
      autoscaler: status.stalled === undefined ? await autoscalerOf(cluster) : undefined,
      actors: counts(actors.map(({ phase }) => phase)),
      groups: counts(groups.map(({ state }) => state)),
    };
    terminal.print(options.json ? JSON.stringify(facts) : statusText(facts, Date.now()));
  },
});

/** Asks for the autoscaler's last report. @returns undefined in a cluster without an autoscaler, and while its head stalls */
async function autoscalerOf(cluster: Pick<ClusterConnection, "ask" | "request">): Promise<Of<typeof autoscalerReport> | undefined> {
  try {
    return await askAutoscaler(cluster, "status", {});
  } catch {
    return undefined;
  }
}

/** Limit on the wait for the lists of actors and placement groups: a head that can write its changes answers in milliseconds. */
const LISTS_WITHIN_MS = 5_000;

/**
 * Asks for the head's status, its actors and its placement groups. These lists wait behind changes that the head cannot keep; a head that stalls between two
 * questions shows its status alone.
 */
export async function stateOf(cluster: Pick<ClusterConnection, "ask">): Promise<ClusterState> {
  const status = await cluster.ask(MESSAGE.CLUSTER_STATUS, undefined);
  if (status.stalled !== undefined) return { status, actors: [], groups: [] };
  const limit = { timeoutMs: LISTS_WITHIN_MS };
  try {
    const [actors, groups] = await Promise.all([
      cluster.ask(MESSAGE.ACTOR_LIST, { includeDead: true, namespace: undefined }, limit),
      cluster.ask(MESSAGE.GROUPS, undefined, limit),
    ]);
    return { status, actors, groups };
  } catch (error) {
    const now = await cluster.ask(MESSAGE.CLUSTER_STATUS, undefined);
    if (now.stalled === undefined) throw error;
    return { status: now, actors: [], groups: [] };
  }
}

function counts(names: readonly string[]): Record<string, number> {
  const found: Record<string, number> = {};
  for (const name of names) found[name] = (found[name] ?? 0) + 1;
  return found;
}
