/**
 * A cluster of several nodes on one machine, for tests of programs that run on many.
 *
 * A real head and real daemons, each a process with its own resources, store and workers; they know nothing of each other but what goes over their
 * connections, so a program that passes here passes between machines as far as Shoal is concerned. Nodes can be killed, stopped and woken up.
 */
import { type LocalHead, type LocalNodeProcess, type NodeOptions, startHead, startNode } from "../providers/local-processes.ts";

export type { NodeOptions } from "../providers/local-processes.ts";

export interface TestClusterOptions {
  /** What the first node offers, on which drivers of this machine hang. Default: what this machine has. */
  head?: NodeOptions | undefined;
  /** TLS between all processes, as between machines; without it they speak plainly, as on one. Default: false. */
  tls?: boolean | undefined;
  /** Lines that processes of the cluster print. Default: to standard error. */
  onLine?: ((line: string) => void) | undefined;
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

export class TestCluster implements AsyncDisposable {
  /** For `init({ address })`. */
  readonly address: string;
  readonly #head: LocalHead;
  readonly #onLine: (line: string) => void;
  readonly #nodes = new Map<string, { process: LocalNodeProcess; node: TestNode }>();

  private constructor(options: { head: LocalHead; onLine: (line: string) => void }) {
    this.#head = options.head;
    this.#onLine = options.onLine;
    this.address = options.head.address;
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
    const onLine = options.onLine ?? ((line: string) => void process.stderr.write(`${line}\n`));
    const head = await startHead({ address: "tcp://127.0.0.1:0", tlsOnLoopback: options.tls, onLine });
    const cluster = new TestCluster({ head, onLine });
    try {
      await cluster.addNode(options.head);
    } catch (error) {
      await cluster.shutdown();
      throw error;
    }
    return cluster;
  }

  /** Resolves when the node has joined. */
  async addNode(options: NodeOptions = {}): Promise<TestNode> {
    const { token, joinToken, needsCertificates } = this.#head;
    const started = await startNode({
      ...options,
      ...(needsCertificates ? { joinToken } : { token }),
      headAddress: this.address,
      listenAddress: "tcp://127.0.0.1:0",
      onLine: this.#onLine,
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
    void started.ended.then(() => this.#nodes.delete(nodeId));
    return node;
  }

  get nodes(): TestNode[] {
    return Array.from(this.#nodes.values(), ({ node }) => node);
  }

  /** Ends a node in order: its daemon ends its workers and goes. */
  async removeNode(node: TestNode): Promise<void> {
    const found = this.#nodes.get(node.nodeId);
    if (found === undefined) return;
    found.process.kill("SIGCONT");
    found.process.kill("SIGTERM");
    await found.process.ended;
  }

  /** Ends all of it; nothing is left. */
  async shutdown(): Promise<void> {
    await Promise.all(this.nodes.map((node) => this.removeNode(node)));
    this.#head.kill("SIGTERM");
    await this.#head.ended;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.shutdown();
  }
}
