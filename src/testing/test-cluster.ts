/**
 * A cluster of several nodes on one machine, for tests of programs that run on many.
 *
 * Runs a real head and real daemons, each a process with its own resources, store and workers. They share only their connections, so a program that passes here
 * passes between machines as far as Shoal is concerned. Nodes and the head can be killed, stopped, woken up, and cut off from each other (`test-network.ts`).
 */
import { sha256Hex } from "../runtime/os/digest.ts";
import { parseNetworkAddress } from "../runtime/os/network/network-address.ts";
import { requireOwnFiles } from "../runtime/os/own-files.ts";
import { newToken } from "../runtime/os/random.ts";
import { newProgramFolder, removeProgramFolder } from "../runtime/os/files/sessions/program-folder.ts";
import {
  type LocalHead,
  type LocalNodeProcess,
  type NodeOptions,
  type StartHeadOptions,
  startHead,
  startNode,
} from "../ops/providers/local-processes.ts";
import { TestNetwork } from "./test-network.ts";

export type { NodeOptions } from "../ops/providers/local-processes.ts";

export interface TestClusterOptions {
  /** Resources of the first node, to which this machine's drivers connect. Default: the machine's own. */
  head?: NodeOptions | undefined;
  /** How many heads; of several one leads and the others take over from it, which needs `nats`. Default: 1. */
  heads?: number | undefined;
  /** TLS between all processes, as between machines; without it they speak plainly, as on one. Default: false. */
  tls?: boolean | undefined;
  /** Where the head keeps its tables, so that one that is started again knows what the last one knew. Default: in its memory, and gone with it. */
  nats?: TestNats | undefined;
  /** Modules of extensions for the head and all nodes, as URLs of files. Default: none. */
  extensions?: readonly (string | URL)[] | undefined;
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

/** A head that takes over waits for a second and a half, and on a busy machine for its turn. */
const LEADS_WITHIN_MS = 30_000;

/** A side of a cut: nodes, with their workers and the drivers that hang on them, and the head: of several all with `"head"`, the one that leads with `"leader"`. */
export type TestSide = readonly (TestNode | "head" | "leader")[];

export interface PartitionOptions {
  /** Cuts one direction: the second side does not hear the first. Default: false, both directions. */
  readonly oneWay?: boolean | undefined;
}

interface Parts {
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
  /** For `init({ address })`; of several heads all their addresses. */
  readonly address: string;
  /** With it more nodes could join from elsewhere; undefined without TLS. */
  readonly joinToken: string | undefined;
  readonly #parts: Parts;
  readonly #nodes = new Map<string, RunningNode>();
  readonly #hosts = new Map<TestNode, string>();
  /** By their addresses; those that were killed are not there. */
  readonly #heads = new Map<string, LocalHead>();
  /** The head whose address and token nodes join with, also while it is killed. */
  #start: LocalHead;
  #addresses: readonly string[];

  private constructor(parts: Parts, heads: readonly LocalHead[]) {
    this.#parts = parts;
    for (const head of heads) this.#keepHead(head);
    this.#start = heads[0] as LocalHead;
    this.#addresses = heads.map(({ address }) => address);
    this.address = this.#addresses.join(",");
    this.joinToken = this.#start.joinToken;
  }

  /**
   * Starts a head, or several, and a first node.
   *
   * @throws RangeError for several heads without NATS
   * @example
   * await using cluster = await TestCluster.start({ head: { numCpus: 1 } });
   * await cluster.addNode({ numCpus: 2, labels: { zone: "b" } });
   * await init({ address: cluster.address });
   */
  static async start(options: TestClusterOptions = {}): Promise<TestCluster> {
    requireOwnFiles();
    const { heads: count = 1 } = options;
    if (!Number.isSafeInteger(count) || count < 1 || (count > 1 && options.nats === undefined))
      throw new RangeError(
        `Cannot start a cluster: heads is a whole number of 1 or more, and more than 1 with nats only, where they keep what they know: received ${count}`,
      );
    const folder = newProgramFolder("shoal-test-");
    const network = new TestNetwork(folder);
    const token = newToken();
    const parts: Parts = { token, network, folder, options };
    const heads: LocalHead[] = [];
    let cluster: TestCluster | undefined;
    try {
      for (let number = 0; number < count; number += 1) heads.push(await startTestHead(parts, `tcp://${network.newHost()}:0`));
      cluster = new TestCluster(parts, heads);
      await cluster.addNode(options.head);
      return cluster;
    } catch (error) {
      await (cluster === undefined ? Promise.all(heads.map(endHead)) : cluster.shutdown());
      removeProgramFolder(folder);
      throw error;
    }
  }

  /** Resolves when the node has joined. */
  async addNode(options: NodeOptions = {}): Promise<TestNode> {
    const { joinToken, needsCertificates } = this.#start;
    const { network, options: ofCluster, token } = this.#parts;
    const host = network.newHost();
    const started = await startNode({
      extensions: extensionsOf(ofCluster),
      ...options,
      ...(needsCertificates ? { joinToken } : { token }),
      headAddress: this.#addresses,
      listenAddress: `tcp://${host}:0`,
      networkFaults: network.placeOf(host),
      onLine: onLineOf(ofCluster),
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

  /** Process id of the leading head; undefined while it is killed. */
  get headPid(): number | undefined {
    return this.#leader?.pid;
  }

  /** Process ids of the other heads. */
  get standbyPids(): number[] {
    return Array.from(this.#heads.values()).flatMap(({ leadsSinceMs, pid }) => (leadsSinceMs === undefined ? [pid] : []));
  }

  /** Ends a node in order: its daemon ends its workers and goes. */
  async removeNode(node: TestNode): Promise<void> {
    const found = this.#nodes.get(node.nodeId);
    if (found === undefined) return;
    found.process.kill("SIGCONT");
    found.process.kill("SIGTERM");
    await found.process.ended;
  }

  /** Kills the leading head by SIGKILL. Running work goes on; questions to the head wait for `restartHead`, or for another head that takes over. */
  async killHead(): Promise<void> {
    const head = this.#leader;
    if (head === undefined) return;
    this.#heads.delete(head.address);
    head.kill("SIGKILL");
    await head.ended;
  }

  /** Starts a head at the address of the last one, which it kills if that runs; of several heads at that of one that was killed, if any was. */
  async restartHead(): Promise<void> {
    if (this.#addresses.length === 1) await this.killHead();
    const address = this.#addresses.find((one) => !this.#heads.has(one));
    if (address === undefined) return;
    const head = await startTestHead(this.#parts, address);
    this.#keepHead(head);
    this.#start = head;
  }

  /**
   * Resolves when a head leads, with the number of its process: after `killHead` or `pauseHead` when another one has taken over.
   *
   * @param options.after the process id of a former head, which must not be the new leader
   * @throws Error if no head leads within 30 s
   */
  async leaderTakesOver({ after }: { after?: number | undefined } = {}): Promise<number> {
    const giveUpAt = performance.now() + LEADS_WITHIN_MS;
    for (;;) {
      const { pid } = this.#leader ?? {};
      if (pid !== undefined && pid !== after) return pid;
      if (performance.now() > giveUpAt) throw new Error(`no head leads after ${LEADS_WITHIN_MS} ms`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** SIGSTOP, for the head that leads: it is silent. */
  pauseHead(): void {
    this.#leader?.kill("SIGSTOP");
  }

  /** SIGCONT, for all heads. */
  resumeHead(): void {
    for (const head of this.#heads.values()) head.kill("SIGCONT");
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
    await this.#parts.network.cut(this.#hostsOf(from), this.#hostsOf(others), { oneWay });
  }

  /** Ends all cuts. */
  async heal(): Promise<void> {
    await this.#parts.network.heal();
  }

  /** Ends the whole cluster without leaving anything behind. */
  async shutdown(): Promise<void> {
    await Promise.all(this.nodes.map((node) => this.removeNode(node)));
    await Promise.all(Array.from(this.#heads.values(), endHead));
    removeProgramFolder(this.#parts.folder);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.shutdown();
  }

  #hostsOf(side: TestSide): string[] {
    return side.flatMap((member) => {
      if (member === "head") return this.#addresses.map((address) => parseNetworkAddress(address).host);
      if (member === "leader") return [parseNetworkAddress((this.#leader ?? this.#start).address).host];
      return [this.#hosts.get(member) ?? ""];
    });
  }

  /** A head that was stopped may still say that it leads: the last to say so is right. */
  get #leader(): LocalHead | undefined {
    const leading = Array.from(this.#heads.values()).filter(({ leadsSinceMs }) => leadsSinceMs !== undefined);
    return leading.sort((a, b) => Number(b.leadsSinceMs) - Number(a.leadsSinceMs))[0];
  }

  #keepHead(head: LocalHead): void {
    this.#heads.set(head.address, head);
  }
}

/** Clusters of tests may share servers. */
function controlPlaneOf({ urls, token, tls, replicas = 1 }: TestNats, folder: string): NonNullable<StartHeadOptions["controlPlane"]> {
  const cluster = `test-${sha256Hex(folder).slice(0, 12)}`;
  return { kind: "nats", urls, cluster, name: "head of a test", replicas, ...(token !== undefined && { token }), ...(tls && { tls }) };
}

function startTestHead({ token, network, folder, options }: Parts, address: string): Promise<LocalHead> {
  return startHead({
    address,
    hasRivals: (options.heads ?? 1) > 1,
    extensions: extensionsOf(options),
    token,
    tlsOnLoopback: options.tls,
    // A head that is started again has the authority of the one before it.
    directory: options.tls === true ? folder : undefined,
    controlPlane: options.nats === undefined ? undefined : controlPlaneOf(options.nats, folder),
    networkFaults: network.placeOf(parseNetworkAddress(address).host),
    onLine: onLineOf(options),
  });
}

function extensionsOf({ extensions = [] }: TestClusterOptions): string[] {
  return extensions.map(String);
}

async function endHead(head: LocalHead): Promise<void> {
  head.kill("SIGCONT");
  head.kill("SIGTERM");
  await head.ended;
}

function onLineOf({ onLine }: TestClusterOptions): (line: string) => void {
  return onLine ?? ((line) => void process.stderr.write(`${line}\n`));
}
