/**
 * Finds the node of this machine for an address, or the only node without one.
 *
 * The error for a missing node lists the nodes of this machine, and the command to start one. Called when a driver connects to a running
 * node, and by the commands that ask a cluster.
 */
import { ShoalError } from "../../../base/errors.ts";
import { formatAddress, formatAddresses, readNetworkAddresses } from "../../network/network-address.ts";
import { clustersOfNodes, formatClusters } from "./local-clusters.ts";
import { readRunFiles } from "./run-file.ts";
import { hasNodesOfOtherUsers, type NodeFile, readNodeFiles } from "./node-file.ts";

/**
 * The oldest node of this machine that belongs to the cluster, and that is not about to leave it. `"auto"` is the only cluster that there is.
 *
 * @param options.mayDrain for callers that only look on and give the node no work: a draining node will do if there is no other
 * @throws RangeError for an invalid address, ShoalError when there is no such node, or "auto" may mean several clusters, with the remedy
 */
export function findNode(address: string, { mayDrain = false }: { mayDrain?: boolean } = {}): NodeFile {
  const wanted = address === "auto" ? undefined : readNetworkAddresses(address);
  const nodes = readNodeFiles();
  const ofCluster = nodes.filter(
    ({ clusterAddress }) => wanted === undefined || clusterAddress.split(",").some((one) => wanted.includes(one)),
  );
  if (wanted === undefined) refuseSeveral(ofCluster.filter(({ isDraining }) => mayDrain || isDraining !== true));
  const found = ofCluster.find(({ isDraining }) => isDraining !== true) ?? (mayDrain ? ofCluster[0] : undefined);
  if (found !== undefined) return found;
  const action = wanted === undefined ? "connect to the cluster of this machine" : `connect to the cluster at ${formatAddresses(wanted)}`;
  if (ofCluster.length > 0) throw onlyDraining(action, ofCluster);
  const heads = wanted === undefined && nodes.length === 0 ? readRunFiles().running.filter(({ role }) => role === "head") : [];
  if (heads[0] !== undefined) throw onlyHead(action, heads[0].address);
  const reason = whyNoNode(nodes);
  const start =
    wanted === undefined
      ? "Start one: `shoal start --head`, or `shoal start --address HOST:PORT --token TOKEN` for a node of another machine's cluster."
      : `Make this machine a node of it: \`shoal start --address ${formatAddresses(wanted)} --token TOKEN\`, with the token that \`shoal start --head\` printed there.`;
  throw new ShoalError(`Cannot ${action}: ${reason}.`, { reason, hint: start });
}

/** A node picked by its age would be another one after a restart. */
function refuseSeveral(nodes: readonly NodeFile[]): void {
  const clusters = clustersOfNodes(nodes);
  const first = clusters[0];
  if (first === undefined || clusters.length === 1) return;
  const one = formatAddresses(first.addresses);
  const reason = `this machine has nodes of ${clusters.length} clusters: ${formatClusters(clusters)}`;
  throw new ShoalError(`Cannot connect to the cluster of this machine: ${reason}.`, {
    reason,
    hint: `Name one by its address: \`init({ address: "${one}" })\`, SHOAL_ADDRESS=${one}, or --address ${one} for a command.`,
  });
}

function onlyDraining(action: string, nodes: readonly NodeFile[]): ShoalError {
  const named = nodes.map(({ nodeId }) => nodeId.slice(0, 12)).join(", ");
  const reason =
    nodes.length === 1 ? `the node of this machine (${named}) is being drained` : `all its nodes here (${named}) are being drained`;
  const hint = "Start another one on this machine: `shoal start --address HOST:PORT --token TOKEN`.";
  return new ShoalError(`Cannot ${action}: ${reason}.`, { reason, hint });
}

function onlyHead(action: string, address: string): ShoalError {
  const shown = formatAddress(address);
  const reason = `the head of a cluster runs on this machine, at ${shown}, and no node of it, which programs and commands need`;
  const hint = `Start one beside it: \`shoal start --address ${shown} --token TOKEN\`, with the token that the head printed. \`shoal stop\` ends the head.`;
  return new ShoalError(`Cannot ${action}: ${reason}.`, { reason, hint });
}

function whyNoNode(nodes: readonly NodeFile[]): string {
  const known = new Set(nodes.map(({ clusterAddress }) => formatAddresses(clusterAddress.split(","))));
  if (known.size > 0) return `no node of it runs on this machine, but of ${Array.from(known).join(", ")}`;
  return hasNodesOfOtherUsers()
    ? "no node of this user runs on this machine; there are nodes of other users, which only they can use"
    : "no node runs on this machine";
}
