/**
 * Connects a driver to a node that runs already (`platform/files/local-node.ts` finds it) and goes on without the driver.
 */
import type { ProcessId } from "../../base/ids.ts";
import type { NodeFile } from "../../platform/files/node-file.ts";
import { DeferredTransport } from "../../platform/network/deferred-transport.ts";
import { useNetworkFaults } from "../../platform/network/network-faults.ts";
import { forgetTlsIdentity, setTlsIdentity } from "../../platform/network/tls-identity.ts";
import { connectProven } from "../../rpc/handshake.ts";
import type { LocalNode } from "../daemon-process.ts";

export function attachTo(file: NodeFile, driverId: ProcessId): LocalNode {
  // That of the node: a program that was part of another cluster before is not any more.
  forgetTlsIdentity();
  if (file.identity !== undefined) setTlsIdentity(file.identity);
  useNetworkFaults(file.networkFaults);
  const transport = new DeferredTransport(() => {});
  connectProven(file.socket, { token: file.token, processId: driverId }).then(
    (socket) => transport.connected(socket),
    (error: unknown) => transport.failed((error as Error).message),
  );
  return {
    transport,
    memoryDirectory: file.memoryDirectory,
    spillDirectory: file.spillDirectory,
    ended: () => Promise.resolve(),
    abandon: () => {},
  };
}
