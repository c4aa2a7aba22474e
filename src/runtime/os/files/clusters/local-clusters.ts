/**
 * Lists the clusters with nodes or heads on this machine, and describes them for a user's choice.
 *
 * A cluster is known by its addresses, of which a node may know only some: nodes that share an address or the token belong to the same cluster.
 * Called by `findNode` and by the commands.
 */
import { type NodeFile, readNodeFiles } from "./node-file.ts";
import { readRunFiles, type RunFile } from "./run-file.ts";
import { formatAddresses } from "../../network/network-address.ts";

/** A member of a cluster: a node, or a process that `shoal start` started. */
interface ClusterMember {
  readonly addresses: readonly string[];
  /** Further marks that its members share with no other cluster. */
  readonly marks: readonly string[];
  /** Name with which the head was started. */
  readonly name: string | undefined;
  readonly startedMs: number;
}

interface LocalCluster<Member> {
  readonly addresses: readonly string[];
  readonly name: string | undefined;
  /** Start of the oldest member on this machine. */
  readonly sinceMs: number;
  readonly members: readonly Member[];
}

/** The oldest first. */
export function clustersOf<Member>(members: readonly Member[], describe: (member: Member) => ClusterMember): LocalCluster<Member>[] {
  let clusters: { keys: Set<string>; members: Member[] }[] = [];
  for (const member of members) {
    const { addresses, marks } = describe(member);
    const keys = [...addresses, ...marks];
    const same = clusters.filter((cluster) => keys.some((key) => cluster.keys.has(key)));
    const merged = {
      keys: new Set([...same.flatMap((cluster) => Array.from(cluster.keys)), ...keys]),
      members: [...same.flatMap((cluster) => cluster.members), member],
    };
    clusters = [...clusters.filter((cluster) => !same.includes(cluster)), merged];
  }
  const facts = clusters.map((cluster) => {
    const described = cluster.members.map(describe);
    return {
      addresses: Array.from(new Set(described.flatMap(({ addresses }) => addresses))),
      name: described.find(({ name }) => name !== undefined)?.name,
      sinceMs: Math.min(...described.map(({ startedMs }) => startedMs)),
      members: cluster.members,
    };
  });
  return facts.sort((a, b) => a.sinceMs - b.sinceMs);
}

export function clustersOfNodes(nodes: readonly NodeFile[]): LocalCluster<NodeFile>[] {
  const heads = readRunFiles().running.filter(({ role }) => role === "head");
  return clustersOf(nodes, ({ clusterAddress, token, startedMs }) => {
    const addresses = clusterAddress.split(",");
    return { addresses, marks: [`token ${token}`], name: heads.find(({ address }) => addresses.includes(address))?.name, startedMs };
  });
}

export function clustersOfRuns(runs: readonly RunFile[]): LocalCluster<RunFile>[] {
  const nodes = readNodeFiles();
  return clustersOf(runs, ({ address, name, hasRivals, startedMs, processes }) => ({
    addresses: address.split(","),
    marks: [
      // Heads that take over from each other.
      ...(hasRivals === true && name !== undefined ? [`heads ${name}`] : []),
      // A head has several addresses, as names and numbers; the token is the cluster's.
      ...nodes.filter(({ pid }) => processes.some((one) => one.pid === pid)).map(({ token }) => `token ${token}`),
    ],
    name,
    startedMs,
  }));
}

/** `127.0.0.1:6380 (default, since 2026-01-31 12:00:00 UTC), ...` */
export function formatClusters(clusters: readonly LocalCluster<unknown>[]): string {
  return clusters
    .map(({ addresses, name, sinceMs }) => {
      const since = `since ${new Date(sinceMs).toISOString().slice(0, 19).replace("T", " ")} UTC`;
      return `${formatAddresses(addresses)} (${name === undefined ? since : `${name}, ${since}`})`;
    })
    .join(", ");
}
