/**
 * A command's connection to the cluster: through the node of this machine, as a program's, but for one question or two.
 *
 * The node is found by the rule of `init({ address })`, and failures have its messages.
 */
import { type JobId, newProcessId } from "../../runtime/base/ids.ts";
import { ShoalError } from "../../runtime/base/errors.ts";
import { findNode } from "../../runtime/os/files/local-node.ts";
import type { NodeFile } from "../../runtime/os/files/node-file.ts";
import { randomHex } from "../../runtime/os/random.ts";
import { ConnectionClosedError } from "../../runtime/rpc/connection.ts";
import { connectPeer } from "../../runtime/rpc/handshake.ts";
import type { HelloHeader } from "../../runtime/wire/messages.ts";
import type { ReplyTo } from "../../runtime/wire/replies.ts";

interface ClusterConnection extends Disposable {
  readonly node: NodeFile;
  /** @throws ShoalError when the head does not answer, or refuses */
  ask<N extends number>(type: N, header: unknown, options?: { timeoutMs: number }): Promise<ReplyTo<N>>;
}

/** @throws ShoalError with the reason for no connection, RangeError for an invalid address */
export async function connectToCluster(address: string | undefined): Promise<ClusterConnection> {
  const node = findNode(address ?? "auto", { mayDrain: true });
  const processId = newProcessId(randomHex, node.nodeId);
  const hello: HelloHeader = {
    processId,
    holderId: processId,
    kind: "driver",
    pid: process.pid,
    address: "",
    taskIdPrefix: "",
    jobId: "" as JobId,
  };
  const { connection } = await connectPeer(node.socket, hello, { token: node.token });
  return {
    node,
    ask: async (type, header, options = { timeoutMs: 10_000 }) => {
      try {
        return (await connection.request(type, header, options)).header;
      } catch (error) {
        const reason = (error as Error).message;
        if (!(error instanceof ConnectionClosedError))
          throw new ShoalError(`The head of the cluster refuses: ${reason}.`, { reason, cause: error });
        throw new ShoalError(`The head of the cluster did not answer as it should: ${reason}`, {
          reason,
          hint: "It may be starting again; try once more. Otherwise see its log on the head's machine.",
          cause: error,
        });
      }
    },
    [Symbol.dispose]: () => connection.close(),
  };
}
