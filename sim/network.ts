/**
 * What joins simulated nodes: the head's process, each daemon's link to it, and the links between daemons.
 *
 * Does what `entry/head.ts` and `entry/daemon.ts` do, with connections between simulated machines: these can be cut for a time, break, and end with a machine. Owns the
 * head's process; decides nothing.
 */
import { type JobId, newNodeId, newProcessId, type NodeId, nodeTagOf, type ProcessId } from "../src/base/ids.ts";
import { Head } from "../src/control/head.ts";
import { HeadServer } from "../src/control/head-server.ts";
import type { RemoteNode } from "../src/control/remote-node.ts";
import { NodeLinks } from "../src/node/node-links.ts";
import type { NodeCluster } from "../src/node/other-nodes.ts";
import { RemoteHead } from "../src/node/remote-head.ts";
import type { Transport } from "../src/platform/transport.ts";
import { Connection } from "../src/rpc/connection.ts";
import { acceptPeer } from "../src/rpc/handshake.ts";
import type { HeadService, NodeServices } from "../src/rpc/head-service.ts";
import type { NodeCommandHeader, NodeRegisterHeader, NodeReportHeader, RoutedHeader } from "../src/wire/cluster-messages.ts";
import { decodeHeader } from "../src/wire/header.ts";
import { type HelloHeader, MESSAGE, PROTOCOL_VERSION } from "../src/wire/messages.ts";
import { type SimulatedNode, TOKEN } from "./node.ts";
import type { SimulatedProcess, World } from "./world.ts";

interface JoiningNode {
  readonly nodeId: NodeId;
  readonly daemonId: ProcessId;
  readonly resources: Record<string, number>;
  readonly storeBytes: number;
  readonly jobId: JobId;
}

/** How a node takes part: what its daemon is made with, and what happens when it has been made. */
interface Joining {
  readonly createHead: (node: NodeServices) => HeadService;
  readonly cluster: NodeCluster;
  readonly made: (node: SimulatedNode) => void;
}

export class ClusterNetwork {
  readonly head: SimulatedProcess;
  readonly #world: World;
  readonly #headId: NodeId;
  readonly #headProcessId: ProcessId;
  readonly #server: HeadServer;
  readonly #nodes = new Map<string, SimulatedNode>();
  readonly #acceptors = new Map<string, (transport: Transport) => void>();

  constructor(world: World, randomHex: (byteCount: number) => string) {
    this.#world = world;
    this.#headId = newNodeId(randomHex);
    this.#headProcessId = newProcessId(randomHex, this.#headId);
    this.head = world.spawn("head", "head");
    this.#server = this.head.run(() => new HeadServer(new Head({ nowMs: () => world.nowMs, isOfDriver: false })));
  }

  join(facts: JoiningNode): Joining {
    const { nodeId, daemonId } = facts;
    let node: SimulatedNode | undefined;
    let headLink: Connection | undefined;
    let remoteHead: RemoteHead | undefined;
    const hello = (): HelloHeader => ({
      version: PROTOCOL_VERSION,
      token: TOKEN,
      processId: daemonId,
      holderId: daemonId,
      kind: "daemon",
      pid: 1,
      address: "",
      taskIdPrefix: "",
      jobId: facts.jobId,
    });
    const links = new NodeLinks({ hello, connect: (address) => this.#connect(node as SimulatedNode, address) });
    const takeFrames = (connection: Connection): void => {
      connection.onFrame = (frame) => {
        if (frame.header.length === 0) return;
        const header = decodeHeader(frame.header);
        if (frame.type === MESSAGE.ROUTED) node?.daemon.receiveRouted(header as RoutedHeader, frame.body);
        else if (frame.type === MESSAGE.NODE_COMMAND) remoteHead?.command(header as NodeCommandHeader);
      };
    };
    this.#acceptors.set(daemonId, (transport) =>
      acceptPeer(transport, { token: TOKEN, nodeId, processId: daemonId, onPeer: (connection) => takeFrames(connection) }),
    );
    return {
      createHead: (services) => {
        // Nothing is said before the daemon has been made, and with it its link.
        const link = (): Connection => headLink as Connection;
        remoteHead = new RemoteHead(
          {
            send: (type, header, sent) => link().send(type, header, sent),
            request: (type, header, asked) => link().request(type, header, asked),
            reply: (callId, header, parts) => link().reply(callId, header, parts),
            replyError: (callId, text) => link().replyError(callId, text),
          },
          services,
        );
        return remoteHead;
      },
      cluster: {
        linkTo: (tag) => links.linkTo(tag),
        linked: () => links.linked(),
        nodesChanged: (nodes) => links.nodesChanged(nodes),
        viewChanged: () => headLink?.send(MESSAGE.NODE_REPORT, (node as SimulatedNode).daemon.report),
      },
      made: (made) => {
        node = made;
        this.#nodes.set(daemonId, made);
        headLink = made.process.run(() => {
          const [near, far] = this.#world.connect(made.process, this.head);
          this.head.run(() => this.#acceptNode(far));
          const connection = new Connection(near, { trusted: true });
          void connection.request(MESSAGE.HELLO, hello()).catch(() => {});
          takeFrames(connection);
          connection.onClose = (reason) => {
            made.process.say(`lost the head: ${reason}`);
            // As the entry point does: a node without a head ends, with all that is on it.
            void made.daemon.close().finally(() => made.killDaemon());
          };
          const registered: NodeRegisterHeader = {
            version: PROTOCOL_VERSION,
            pid: 1,
            nodeId,
            daemonId,
            hostname: made.process.name,
            address: daemonId,
            resources: facts.resources,
            labels: {},
            objectStoreMemoryBytes: facts.storeBytes,
          };
          void connection.request(MESSAGE.NODE_REGISTER, [registered, made.daemon.report]).catch(() => {});
          return connection;
        });
      },
    };
  }

  #connect(from: SimulatedNode, address: string): Promise<Transport> {
    const to = this.#nodes.get(address);
    const accept = this.#acceptors.get(address);
    if (to === undefined || accept === undefined || !to.isAlive) return Promise.reject(new Error("nobody listens there"));
    const [near, far] = this.#world.connect(from.process, to.process);
    to.process.run(() => accept(far));
    return Promise.resolve(near);
  }

  #acceptNode(transport: Transport): void {
    acceptPeer(transport, {
      token: TOKEN,
      nodeId: this.#headId,
      processId: this.#headProcessId,
      onPeer: (connection) => {
        let node: RemoteNode | undefined;
        connection.onFrame = (frame) => {
          if (node !== undefined) {
            this.#server.receive(node, frame);
          } else if (frame.type === MESSAGE.NODE_REGISTER) {
            const [facts, report] = decodeHeader(frame.header) as [NodeRegisterHeader, NodeReportHeader];
            connection.reply(frame.callId, undefined);
            node = this.#server.register(connection, facts, report);
          } else {
            connection.drop("it spoke before it had registered");
          }
        };
        connection.onClose = (reason) => {
          if (node === undefined) return;
          this.head.say(`node ${nodeTagOf(node.nodeId)} is gone: ${reason}`);
          this.#server.gone(node, `its connection to the head ended: ${reason}`);
        };
      },
    });
  }
}
