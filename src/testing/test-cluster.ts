/**
 * A cluster of several nodes on one machine, for tests of programs that run on many.
 *
 * A real head and real daemons, each a process with its own resources, store and workers; they know nothing of each other but what goes over their
 * connections, so a program that passes here passes between machines as far as Shoal is concerned. Nodes and the head can be killed, stopped and woken up, and cut off
 * from each other (`test-network.ts`).
 */
import { sha256Hex } from "../platform/digest.ts";
import { parseNetworkAddress } from "../platform/network-address.ts";
import { newToken } from "../platform/random.ts";
import { newTemporaryFolder, removeFolder } from "../platform/temporary-folder.ts";
import {
  type LocalHead,
  type LocalNodeProcess,
  type NodeOptions,
  type StartHeadOptions,
  startHead,
  startNode,
} from "../providers/local-processes.ts";
import { TestNetwork } from "./test-network.ts";

export type { NodeOptions } from "../providers/local-processes.ts";

export interface TestClusterOptions {
  /** What the first node offers, on which drivers of this machine hang. Default: what this machine has. */
  head?: NodeOptions | undefined;
  /** TLS between all processes, as between machines; without it they speak plainly, as on one. Default: false. */
  tls?: boolean | undefined;
  /** Where the head keeps its tables, so that one that is started again knows what the last one knew. Default: in its memory, and gone with it. */
  nats?: TestNats | undefined;
  /** Lines that processes of the cluster print. Default: to standard error. */
  onLine?: ((line: string) => void) | undefined;
}

/** Servers of NATS that run already. */
export interface TestNats {
  /** `nats://host:port`, one or several servers of the same NATS. */
  readonly urls: readonly string[];
  readonly token?: string | undefined;
  /** With it they are spoken to over TLS. */
  readonly tls?: { readonly ca: string; readonly serverName?: string } | undefined;
  /** Servers that keep each change: 1, or 3 where there are three. Default: 1. */
  readonly replicas?: number | undefined;
}

export interface TestNode {
  readonly nodeId: string;
  readonly pid: number;
  /** SIGKILL for its daemon: its workers end, and the cluster takes it for dead. */
  kill(): Promise<void>;
  /** SIGSTOP: it is silent. */
  pause(): void;
  /** SIGCONT. */
  resume(): void;
}

/** A side of a cut: nodes, with their workers and the drivers that hang on them, and the head. */
export type TestSide = readonly (TestNode | "head")[];

export interface PartitionOptions {
  /** What the first side says is not heard by the second, which the first goes on hearing. Default: false, neither hears the other. */
  readonly oneWay?: boolean | undefined;
}

interface Parts {
  head: LocalHead;
  token: string;
  network: TestNetwork;
  folder: string;
  options: TestClusterOptions;
}

interface RunningNode {
  process: LocalNodeProcess;
  node: TestNode;
}

export class TestCluster implements AsyncDisposable {
  /** For `init({ address })`. */
  readonly address: string;
  /** With it more nodes could join from elsewhere; undefined without TLS. */
  readonly joinToken: string | undefined;
  readonly #token: string;
  readonly #network: TestNetwork;
  readonly #folder: string;
  readonly #options: TestClusterOptions;
  readonly #nodes = new Map<string, RunningNode>();
  readonly #hosts = new Map<TestNode, string>();
  /** Undefined while it is killed. */
  #head: LocalHead | undefined;
  /** What nodes join with, also while the head is killed. */
  #start: LocalHead;

  private constructor({ head, token, network, folder, options }: Parts) {
    this.#head = head;
    this.#start = head;
    this.#token = token;
    this.#network = network;
    this.#folder = folder;
    this.#options = options;
    this.address = head.address;
    this.joinToken = head.joinToken;
  }

  /**
   * Starts a head and a first node.
   *
   * @example
   * await using cluster = await TestCluster.start({ head: { numCpus: 1 } });
   * await cluster.addNode({ numCpus: 2, labels: { zone: "b" } });
   * await init({ address: cluster.address });
   */
  static async start(options: TestClusterOptions = {}): Promise<TestCluster> {
    const folder = newTemporaryFolder("shoal-test-");
    const network = new TestNetwork(folder);
    const token = newToken();
    let cluster: TestCluster | undefined;
    try {
      const head = await startTestHead({ token, network, folder, options }, `tcp://${network.newHost()}:0`);
      cluster = new TestCluster({ head, token, network, folder, options });
      await cluster.addNode(options.head);
      return cluster;
    } catch (error) {
      await cluster?.shutdown();
      removeFolder(folder);
      throw error;
    }
  }

  /** Resolves when the node has joined. */
  async addNode(options: NodeOptions = {}): Promise<TestNode> {
    const { joinToken, needsCertificates } = this.#start;
    const host = this.#network.newHost();
    const started = await startNode({
      ...options,
      ...(needsCertificates ? { joinToken } : { token: this.#token }),
      headAddress: this.address,
      listenAddress: `tcp://${host}:0`,
      networkFaults: this.#network.placeOf(host),
      onLine: onLineOf(this.#options),
    });
    const { nodeId, pid } = started;
    const node: TestNode = {
      nodeId,
      pid,
      kill: async () => {
        started.kill("SIGKILL");
        await started.ended;
      },
      pause: () => started.kill("SIGSTOP"),
      resume: () => started.kill("SIGCONT"),
    };
    this.#nodes.set(nodeId, { process: started, node });
    this.#hosts.set(node, host);
    void started.ended.then(() => this.#nodes.delete(nodeId));
    return node;
  }

  get nodes(): TestNode[] {
    return Array.from(this.#nodes.values(), ({ node }) => node);
  }

  /** Undefined while it is killed. */
  get headPid(): number | undefined {
    return this.#head?.pid;
  }

  /** Ends a node in order: its daemon ends its workers and goes. */
  async removeNode(node: TestNode): Promise<void> {
    const found = this.#nodes.get(node.nodeId);
    if (found === undefined) return;
    found.process.kill("SIGCONT");
    found.process.kill("SIGTERM");
    await found.process.ended;
  }

  /** SIGKILL for the head: what runs goes on, and what asks it waits for `restartHead`. */
  async killHead(): Promise<void> {
    const head = this.#head;
    this.#head = undefined;
    head?.kill("SIGKILL");
    await head?.ended;
  }

  /** Starts a head at the address of the last one, which it kills if that runs. */
  async restartHead(): Promise<void> {
    await this.killHead();
    const head = await startTestHead(
      { token: this.#token, network: this.#network, folder: this.#folder, options: this.#options },
      this.address,
    );
    this.#head = head;
    this.#start = head;
  }

  /** SIGSTOP: it is silent. */
  pauseHead(): void {
    this.#head?.kill("SIGSTOP");
  }

  /** SIGCONT. */
  resumeHead(): void {
    this.#head?.kill("SIGCONT");
  }

  /**
   * Cuts the network between two sides until `heal`: connections stand still, new ones get no answer. Cuts add up.
   *
   * @param to by default all others that there are now, the head among them
   * @throws ShoalError where the system has one loopback address only, which is everywhere but on Linux
   * @example
   * await cluster.partition([node]);
   * await cluster.heal();
   */
  async partition(from: TestSide, to?: TestSide, { oneWay = false }: PartitionOptions = {}): Promise<void> {
    const others = to ?? (["head", ...this.nodes] as const).filter((member) => !from.includes(member));
    await this.#network.cut(this.#hostsOf(from), this.#hostsOf(others), { oneWay });
  }

  /** Ends all cuts. */
  async heal(): Promise<void> {
    await this.#network.heal();
  }

  /** Ends all of it; nothing is left. */
  async shutdown(): Promise<void> {
    await Promise.all(this.nodes.map((node) => this.removeNode(node)));
    this.#head?.kill("SIGCONT");
    this.#head?.kill("SIGTERM");
    await this.#head?.ended;
    removeFolder(this.#folder);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.shutdown();
  }

  #hostsOf(side: TestSide): string[] {
    return side.map((member) => (member === "head" ? parseNetworkAddress(this.address).host : (this.#hosts.get(member) ?? "")));
  }
}

/** Clusters of tests may share servers. */
function controlPlaneOf({ urls, token, tls, replicas = 1 }: TestNats, folder: string): NonNullable<StartHeadOptions["controlPlane"]> {
  const cluster = `test-${sha256Hex(folder).slice(0, 12)}`;
  return { kind: "nats", urls, cluster, name: "head of a test", replicas, ...(token !== undefined && { token }), ...(tls && { tls }) };
}

function startTestHead({ token, network, folder, options }: Omit<Parts, "head">, address: string): Promise<LocalHead> {
  return startHead({
    address,
    token,
    tlsOnLoopback: options.tls,
    // A head that is started again has the authority of the one before it.
    directory: options.tls === true ? folder : undefined,
    controlPlane: options.nats === undefined ? undefined : controlPlaneOf(options.nats, folder),
    networkFaults: network.placeOf(parseNetworkAddress(address).host),
    onLine: onLineOf(options),
  });
}

function onLineOf({ onLine }: TestClusterOptions): (line: string) => void {
  return onLine ?? ((line) => void process.stderr.write(`${line}\n`));
}
