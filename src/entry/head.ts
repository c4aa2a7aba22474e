/**
 * The process of a cluster's head: the tables of all nodes behind one address.
 *
 * Joins the head with its links (`control/head-server.ts`) and its listener. It runs no user code and starts no worker; the machine that it is on is a node by a
 * daemon of its own.
 */
import { type NodeId, newProcessId } from "../base/ids.ts";
import { Head } from "../control/head.ts";
import { HeadServer } from "../control/head-server.ts";
import type { RemoteNode } from "../control/remote-node.ts";
import { listen } from "../platform/endpoint.ts";
import { randomHex } from "../platform/random.ts";
import { readParentLine } from "../platform/worker-process.ts";
import { acceptPeer } from "../rpc/handshake.ts";
import type { NodeRegisterHeader, NodeReportHeader } from "../wire/cluster-messages.ts";
import { decodeHeader } from "../wire/header.ts";
import { MESSAGE } from "../wire/messages.ts";

export interface HeadConfiguration {
  /** By which it is told apart from the nodes. */
  headId: NodeId;
  token: string;
  /** Where it is to listen. */
  address: string;
}

const { configuration, send } = await readParentLine<HeadConfiguration>(() => process.exit(0));
process.title = "shoal head";
const { headId, token } = configuration;
const head = new Head({ nowMs: () => performance.now(), isOfDriver: false });
const server = new HeadServer(head);
const processId = newProcessId(randomHex, headId);

const listener = await listen(configuration.address, (transport) => {
  acceptPeer(transport, {
    token,
    nodeId: headId,
    processId,
    onPeer: (connection) => {
      let node: RemoteNode | undefined;
      connection.onFrame = (frame) => {
        if (node !== undefined) {
          server.receive(node, frame);
        } else if (frame.type === MESSAGE.NODE_REGISTER) {
          const [facts, report] = decodeHeader(frame.header) as [NodeRegisterHeader, NodeReportHeader];
          connection.reply(frame.callId, undefined);
          node = server.register(connection, facts, report);
        } else {
          connection.drop("it spoke before it had registered");
        }
      };
      connection.onClose = (reason) => {
        if (node !== undefined) server.gone(node, `its connection to the head ended: ${reason}`);
      };
    },
  });
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(0));
send(listener.path);
