/**
 * `shoal status`: the nodes of the cluster, used resources, waiting demands, actors, placement groups, and departed nodes, from the head's
 * present state.
 */
import { formatAddresses } from "../../runtime/os/network/network-address.ts";
import { MESSAGE } from "../../runtime/wire/messages.ts";
import { connectToCluster } from "../connection/cluster-connection.ts";
import { ADDRESS, type Command, defineCommand } from "./command.ts";
import { dashboardOfCluster } from "./dashboard-client.ts";
import { statusText } from "./status-text.ts";

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
    const status = await cluster.ask(MESSAGE.CLUSTER_STATUS, undefined);
    // These lists wait behind the changes that are not kept.
    const [actors, groups] = await (status.stalled === undefined
      ? Promise.all([cluster.ask(MESSAGE.ACTOR_LIST, { includeDead: true, namespace: undefined }), cluster.ask(MESSAGE.GROUPS, undefined)])
      : [[], []]);
    const facts = {
      dashboardUrl: dashboardOfCluster(cluster.node.clusterAddress)?.url,
      address: formatAddresses(cluster.node.clusterAddress.split(",")),
      thisNodeId: cluster.node.nodeId,
      ...status,
      actors: counts(actors.map(({ phase }) => phase)),
      groups: counts(groups.map(({ state }) => state)),
    };
    terminal.print(options.json ? JSON.stringify(facts) : statusText(facts, Date.now()));
  },
});

function counts(names: readonly string[]): Record<string, number> {
  const found: Record<string, number> = {};
  for (const name of names) found[name] = (found[name] ?? 0) + 1;
  return found;
}
