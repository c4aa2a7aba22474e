/**
 * Joins simulated nodes: the head's process, and each daemon's membership of the cluster.
 *
 * Does what `entry/head.ts` and `entry/daemon.ts` do. Owns the head's process; decides nothing.
 */
import { newNodeId, newProcessId, type NodeId, type ProcessId } from "../src/runtime/base/ids.ts";
import { HeadServer } from "../src/runtime/head/nodes/head-server.ts";
import { Journal } from "../src/runtime/head/tables/journal.ts";
import { KeptHead } from "../src/runtime/head/tables/kept-head.ts";
import { RecordedTables } from "../src/runtime/head/tables/recorded-tables.ts";
import { ClusterMembership } from "../src/runtime/node/membership/cluster-membership.ts";
import { PROTOCOL_VERSION } from "../src/runtime/wire/messages.ts";
import { connect, listen } from "./endpoint.ts";
import { type SimulatedNode, TOKEN } from "./node.ts";
import type { SimulatedProcess, World } from "./world.ts";

interface JoiningNode {
  readonly nodeId: NodeId;
  readonly daemonId: ProcessId;
  readonly resources: Record<string, number>;
  readonly storeBytes: number;
  readonly folders: { memoryDirectory: string; spillDirectory: string };
  /** The node, once it is made. */
  readonly node: () => SimulatedNode;
}

const HEAD_ADDRESS = "simulated:head";

export class ClusterNetwork {
  readonly head: SimulatedProcess;

  constructor(world: World, randomHex: (byteCount: number) => string) {
    const nodeId = newNodeId(randomHex);
    const processId = newProcessId(randomHex, nodeId);
    this.head = world.spawn("head", "head");
    this.head.run(() => {
      // Every change is kept at once: this world's head never dies (`head-world.ts` has heads that do).
      const journal = new Journal({ commit: () => Promise.resolve(), onLost: () => {} });
      const tables = new RecordedTables();
      const kept = new KeptHead({ journal, tables, kept: tables.restore([]), nowMs: () => world.nowMs });
      const server = new HeadServer({
        kept,
        self: { nodeId, processId, incarnation: randomHex(8) },
        token: TOKEN,
        isConnected: () => true,
        mayAnswer: () => true,
        refuses: refusesAt,
        nowMs: () => world.nowMs,
      });
      void listen(HEAD_ADDRESS, (transport) => server.accept(transport));
    });
  }

  /** Call it as the daemon's process. */
  membership({ nodeId, daemonId, resources, storeBytes, folders, node }: JoiningNode): ClusterMembership {
    return new ClusterMembership({
      configuration: { headAddresses: [HEAD_ADDRESS], listenAddress: "simulated:0" },
      token: TOKEN,
      facts: {
        version: PROTOCOL_VERSION,
        pid: 1,
        nodeId,
        daemonId,
        hostname: "simulated",
        resources,
        labels: {},
        objectStoreMemoryBytes: storeBytes,
      },
      report: () => node().daemon.report,
      digest: () => node().daemon.digest,
      folders,
      onTransfer: (tag, transport) => node().daemon.acceptTransfer(tag, transport),
      onIdentity: () => {},
      onRegistered: () => node().daemon.headUp(),
      onDraining: () => {},
      refuses: refusesAt,
      // Workers of this world do not stop one by one; processes do.
      onFence: ({ kind }) => {
        if (kind === "fence") process.exit(1);
      },
      onAllowed: () => {},
      onHeads: () => {},
      onLeft: () => {},
      onRouted: (header, body) => node().daemon.receiveRouted(header, body),
    });
  }
}

async function refusesAt(address: string): Promise<boolean> {
  try {
    (await connect(address)).destroy();
    return false;
  } catch {
    return true;
  }
}
