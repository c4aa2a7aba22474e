/**
 * Connects a driver to a node that runs already (`runtime/os/files/clusters/local-node.ts` finds it) and goes on without the driver.
 */
import type { ProcessId } from "../../runtime/base/ids.ts";
import { requireSameBuild } from "../../runtime/os/engine/build.ts";
import type { NodeFile } from "../../runtime/os/files/clusters/node-file.ts";
import { DeferredTransport } from "../../runtime/os/network/deferred-transport.ts";
import { formatAddresses } from "../../runtime/os/network/network-address.ts";
import { useNetworkFaults } from "../../runtime/os/network/network-faults.ts";
import { forgetTlsIdentity, setTlsIdentity } from "../../runtime/os/network/tls-identity.ts";
import { connectLater, type LocalNode } from "../daemon-process.ts";

/** @throws VersionMismatchError when the node runs another version of the package or another major version of Node */
export function attachTo(file: NodeFile, driverId: ProcessId): LocalNode {
  const action = `connect to the cluster at ${formatAddresses(file.clusterAddress.split(","))}`;
  requireSameBuild(file.build, { action, who: "its node on this machine" });
  // That of the node: a program that was part of another cluster before is not any more.
  forgetTlsIdentity();
  if (file.identity !== undefined) setTlsIdentity(file.identity);
  useNetworkFaults(file.networkFaults);
  const transport = new DeferredTransport(() => {});
  connectLater(transport, file.socket, { token: file.token, processId: driverId });
  return {
    transport,
    memoryDirectory: file.memoryDirectory,
    spillDirectory: file.spillDirectory,
    ended: () => Promise.resolve(),
    abandon: () => {},
  };
}
