/**
 * A connection to the cluster of this machine, through the node here: for commands, which ask once, and for the HTTP server.
 *
 * The node is found by the rule of `init({ address })`, and failures have its messages. The connection is an internal one: it gets no
 * output of workers, starts no work, and does not keep a draining node from leaving.
 */
import { asError } from "../../runtime/base/texts/describe.ts";
import { type JobId, newProcessId } from "../../runtime/base/ids.ts";
import { ShoalError } from "../../runtime/base/errors.ts";
import { findNode } from "../../runtime/os/files/clusters/local-node.ts";
import type { NodeFile } from "../../runtime/os/files/clusters/node-file.ts";
import { randomHex } from "../../runtime/os/random.ts";
import { ConnectionClosedError } from "../../runtime/rpc/connection.ts";
import { connectPeer } from "../../runtime/rpc/handshake.ts";
import type { Reply, RequestOptions } from "../../runtime/rpc/peer-connection.ts";
import type { HelloHeader } from "../../runtime/wire/messages.ts";
import type { ReplyTo } from "../../runtime/wire/tables/replies.ts";

export interface ClusterConnection extends Disposable {
  readonly node: NodeFile;
  /** False once the node has gone. */
  readonly isOpen: boolean;
  /** @throws ShoalError when the head does not answer, or refuses */
  ask<N extends number>(type: N, header: unknown, options?: RequestOptions): Promise<ReplyTo<N>>;
  /** The same, with the bytes of the answer. */
  request<N extends number>(type: N, header: unknown, options?: RequestOptions): Promise<Reply<ReplyTo<N>>>;
}

/** @throws ShoalError with the reason for no connection, RangeError for an invalid address */
export async function connectToCluster(address: string | undefined): Promise<ClusterConnection> {
  const node = findNode(address ?? "auto", { mayDrain: true });
  const processId = newProcessId(randomHex, node.nodeId);
  const hello: HelloHeader = {
    processId,
    holderId: processId,
    kind: "internal",
    pid: process.pid,
    address: "",
    taskIdPrefix: "",
    jobId: "" as JobId,
  };
  const { connection } = await connectPeer(node.socket, hello, { token: node.token });
  let isOpen = true;
  connection.onClose = () => {
    isOpen = false;
  };
  const request: ClusterConnection["request"] = async (type, header, options = { timeoutMs: 10_000 }) => {
    try {
      return await connection.request(type, header, options);
    } catch (error) {
      throw failureOf(asError(error));
    }
  };
  return {
    node,
    get isOpen() {
      return isOpen;
    },
    ask: async (type, header, options) => (await request(type, header, options)).header,
    request,
    [Symbol.dispose]: () => connection.close(),
  };
}

function failureOf(cause: Error): ShoalError {
  const reason = cause.message;
  if (!(cause instanceof ConnectionClosedError)) return new ShoalError(`The head of the cluster refuses: ${reason}.`, { reason, cause });
  return new ShoalError(`The head of the cluster did not answer as it should: ${reason}`, {
    reason,
    hint: "It may be starting again; try once more. Otherwise see its log on the head's machine.",
    cause,
  });
}
