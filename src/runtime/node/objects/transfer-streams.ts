/**
 * The beginning of a transfer connection: a hello, as for every connection. Later bytes are not ordinary frames.
 *
 * Both ends prove that they belong to the cluster, and the caller announces the kind `transfer`. `acceptPeer` at the other end checks both, and the caller's
 * certificate.
 */
import { messageOf } from "../../base/texts/describe.ts";
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
    connection.drop(messageOf(error));
    throw error;
  }
  return transport;
}
