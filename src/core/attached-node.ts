/**
 * The node of this machine as a driver of a cluster finds it: a daemon that runs already and goes on without the driver.
 */
import { ShoalError } from "../base/errors.ts";
import { DeferredTransport } from "../platform/deferred-transport.ts";
import { connect } from "../platform/endpoint.ts";
import { useNetworkFaults } from "../platform/network-faults.ts";
import { type NodeFile, readNodeFiles } from "../platform/node-file.ts";
import { forgetTlsIdentity, setTlsIdentity } from "../platform/tls-identity.ts";
import type { LocalNode } from "./daemon-process.ts";

/** The first node of this machine that belongs to the cluster: `"auto"` is any. */
export function findNode(address: string): NodeFile {
  const nodes = readNodeFiles();
  const found = nodes.find(({ clusterAddress }) => address === "auto" || clusterAddress === address);
  if (found !== undefined) return found;
  const known = new Set(nodes.map(({ clusterAddress }) => clusterAddress));
  const reason =
    known.size === 0 ? "no node runs on this machine" : `no node of it runs on this machine, but of ${Array.from(known).join(", ")}`;
  throw new ShoalError(`Cannot connect to the cluster ${address}: ${reason}`, {
    reason,
    hint: "Start a node here first: `shoal start --head`, or `shoal start --address ... --token ...`.",
  });
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
