/**
 * How a transfer connection begins: as every connection does, with a hello; what follows is no longer frames of the ordinary kind.
 *
 * Both ends prove that they are of the cluster, and the caller says that it comes to fetch (kind `transfer`); `acceptPeer` at the other end checks that, and whose certificate it shows.
 */
import type { NodeId } from "../../base/ids.ts";
import { connect } from "../../os/network/endpoint.ts";
import type { Transport } from "../../os/network/transport.ts";
import { Connection } from "../../rpc/connection.ts";
import { proveTo } from "../../rpc/handshake.ts";
import { type HelloHeader, MESSAGE } from "../../wire/messages.ts";

/** @throws the reason for which the other node refuses, or cannot be reached */
export async function openTransferStream(
  to: { address: string; nodeId: NodeId },
  { token, hello }: { token: string; hello: HelloHeader },
): Promise<Transport> {
  const transport = await connect(to.address, { nodeId: to.nodeId, isBulk: true });
  await proveTo(transport, { token, processId: hello.processId, action: `fetch objects from ${to.address}` });
  const connection = new Connection(transport, { trusted: true });
  try {
    await connection.request(MESSAGE.HELLO, hello);
  } catch (error) {
    connection.drop((error as Error).message);
    throw error;
  }
  return transport;
}
