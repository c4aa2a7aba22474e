/**
 * The node of this machine as a driver of a cluster finds it: a daemon that runs already and goes on without the driver.
 */
import { ShoalError } from "../base/errors.ts";
import { DeferredTransport } from "../platform/deferred-transport.ts";
import { connect } from "../platform/endpoint.ts";
import { readNetworkAddress, shownAddress } from "../platform/network-address.ts";
import { useNetworkFaults } from "../platform/network-faults.ts";
import { hasNodesOfOthers, type NodeFile, readNodeFiles } from "../platform/node-file.ts";
import { forgetTlsIdentity, setTlsIdentity } from "../platform/tls-identity.ts";
import type { LocalNode } from "./daemon-process.ts";

/**
 * The oldest node of this machine that belongs to the cluster: `"auto"` is any.
 *
 * @throws RangeError for an address that is none, ShoalError when there is no such node, with what to do about it
 */
export function findNode(address: string): NodeFile {
  const wanted = address === "auto" ? undefined : readNetworkAddress(address);
  const nodes = readNodeFiles();
  const found = nodes.find(({ clusterAddress }) => wanted === undefined || clusterAddress === wanted);
  if (found !== undefined) return found;
  const action = wanted === undefined ? "connect to the cluster of this machine" : `connect to the cluster at ${shownAddress(wanted)}`;
  const reason = whyNoNode(nodes);
  const start =
    wanted === undefined
      ? "Start one: `shoal start --head`, or `shoal start --address HOST:PORT --token TOKEN` for a node of another machine's cluster."
      : `Make this machine a node of it: \`shoal start --address ${shownAddress(wanted)} --token TOKEN\`, with the token that \`shoal start --head\` printed there.`;
  throw new ShoalError(`Cannot ${action}: ${reason}.`, { reason, hint: start });
}

function whyNoNode(nodes: readonly NodeFile[]): string {
  const known = new Set(nodes.map(({ clusterAddress }) => shownAddress(clusterAddress)));
  if (known.size > 0) return `no node of it runs on this machine, but of ${Array.from(known).join(", ")}`;
  return hasNodesOfOthers()
    ? "no node of this user runs on this machine; there are nodes of other users, which only they can use"
    : "no node runs on this machine";
}

export function attachTo(file: NodeFile): LocalNode {
  // That of the node: a program that was part of another cluster before is not any more.
  forgetTlsIdentity();
  if (file.identity !== undefined) setTlsIdentity(file.identity);
  useNetworkFaults(file.networkFaults);
  const transport = new DeferredTransport(() => {});
  connect(file.socket).then(
    (socket) => transport.connected(socket),
    (error: unknown) => transport.failed((error as Error).message),
  );
  return {
    transport,
    memoryDirectory: file.memoryDirectory,
    spillDirectory: file.spillDirectory,
    ended: () => Promise.resolve(),
  };
}
