/**
 * Builds the nodes of a run and their connections: one machine whose daemon hosts the head, or several with the head in a separate process.
 *
 * With several nodes the head's server, the links between daemons and to the head, and the forwarding of messages between nodes run as code
 * of `src`, too, over connections between simulated machines.
 */
import { join } from "node:path";
import { newJobId, newNodeId, newProcessId, type ProcessId } from "../src/runtime/base/ids.ts";
import type { Runtime } from "../src/core/runtime.ts";
import { ClusterNetwork } from "./network.ts";
import { type Driver, type NodeOptions, type NodeContext, SimulatedNode } from "./node.ts";
import type { SimulatedProcess, World } from "./world.ts";

interface ClusterOptions extends NodeOptions {
  /** The resources of each node; one is a machine by itself. */
  readonly nodes: readonly Record<string, number>[];
}

export class Cluster {
  readonly nodes: SimulatedNode[] = [];
  readonly drivers: Driver[] = [];
  readonly network: ClusterNetwork | undefined;
  readonly #workers = new Set<SimulatedProcess>();
  onSpawned: (id: ProcessId, worker: SimulatedProcess) => void = () => {};
  onUnread: NodeContext["onUnread"] = () => {};

  constructor(world: World, options: ClusterOptions) {
    const random = world.random.fork();
    const randomHex = (byteCount: number): string =>
      Array.from({ length: byteCount }, () => random.below(256).toString(16).padStart(2, "0")).join("");
    const jobId = newJobId(randomHex);
    const runtimes: Runtime[] = [];
    const isCluster = options.nodes.length > 1;
    this.network = isCluster ? new ClusterNetwork(world, randomHex) : undefined;
    for (const [index, resources] of options.nodes.entries()) {
      const nodeId = newNodeId(randomHex);
      const name = isCluster ? `node${index}` : "node";
      const context: NodeContext = {
        world,
        jobId,
        nodeId,
        daemonId: newProcessId(randomHex, nodeId),
        randomHex,
        runtimes,
        newWorkerName: () => `w${this.#workers.size + 1}`,
        onSpawned: (id, worker) => {
          this.#workers.add(worker);
          this.onSpawned(id, worker);
        },
        network: this.network,
        onUnread: (worker, unread) => this.onUnread(worker, unread),
      };
      const folder = isCluster ? join(options.folder, name) : options.folder;
      this.nodes.push(new SimulatedNode(name, context, { ...options, resources, folder }));
    }
  }

  get liveNodes(): SimulatedNode[] {
    return this.nodes.filter((node) => node.isAlive);
  }

  stopFailedStarts(): void {
    for (const node of this.nodes) node.hasFailedStarts = false;
  }

  start(): void {
    for (const node of this.nodes) node.start();
  }

  addDriver(name: string, on: SimulatedNode = this.nodes[0] as SimulatedNode): Driver {
    const driver = on.addDriver(name);
    this.drivers.push(driver);
    return driver;
  }
}
