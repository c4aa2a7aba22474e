/**
 * Faults of a chaos run, one after another, drawn from the seed. They are kills and pauses of workers, daemons, machines, the head and
 * NATS, cuts of the network, full stores, and pairs of these.
 *
 * Each fault is healed before the next begins, and what it did is written down with its time. The driver hangs on the first node, so that one is not killed, and stopped or cut
 * off only for as long as a node may be.
 */
import type { TestCluster, TestNode } from "shoal/testing";
import type { Random } from "../soak/random.ts";
import { nowMs } from "./clock.ts";
import type { ChaosNats } from "./nats.ts";
import { clusterProcesses, signal } from "./processes.ts";

/** Groups of victims: a double fault takes two of them. */
const GROUPS = {
  "kill worker": "worker",
  "stop worker": "worker",
  "kill node": "node",
  "stop node": "node",
  "freeze node": "node",
  "fill store": "store",
  "kill head": "head",
  "stop head": "head",
  "kill head and node": "both",
  "cut node": "network",
  "cut pair": "network",
  "cut halves": "network",
  "cut one way": "network",
  "kill NATS": "NATS",
  "stop NATS": "NATS",
  "kill all NATS": "NATS",
  "stop all NATS": "NATS",
  "two at once": "both",
} as const;

export type FaultKind = keyof typeof GROUPS;
export const FAULT_KINDS: readonly FaultKind[] = Object.keys(GROUPS) as FaultKind[];

export interface Fault {
  readonly kind: FaultKind;
  readonly beginMs: number;
  /** When the stopped process went on, or its successor was up. */
  readonly endMs: number;
  /** Process ids of the daemons that it was about. */
  readonly daemons: readonly number[];
  /** Process ids of the heads that ran after it, and of the driver's daemon. */
  readonly heads: readonly number[];
  readonly home: number;
  readonly detail: string;
}

interface FaultOptions {
  readonly cluster: TestCluster;
  readonly nats: ChaosNats | undefined;
  readonly mark: string;
  readonly random: Random;
  readonly kinds: readonly FaultKind[];
  /** The longest pause or cut. */
  readonly pauseMaxMs: number;
  /** How many nodes there are to be. */
  readonly nodes: number;
  readonly addNode: () => Promise<TestNode>;
  /** Makes more on a node than its store holds. */
  readonly fillStore: (node: TestNode) => Promise<void>;
  /** Time that the machine took from the run's processes since then. */
  readonly waitedMs: (fromMs: number, toMs: number) => number;
}

interface Done {
  readonly daemons: readonly number[];
  readonly detail: string;
}

/** A node that is away for no longer is not dead. */
const SHORT_MAX_MS = 1500;
/** The driver's own node must live. */
const HOME_AWAY_MAX_MS = 1500;
const HEAD_AWAY_MAX_MS = 2000;
const NODE_LOST_WITHIN_MS = 30_000;
/** Time for the actors of a killed node to come back: an earlier fault would be in their way. */
const RECOVERED_WITHIN_MS = 5500;
/** On a machine that has too much to do somebody waits for a processor all the time. */
const WAITED_MAX_MS = 3000;

export class Faults {
  readonly done: Fault[] = [];
  readonly #options: FaultOptions;
  #bag: FaultKind[] = [];

  constructor(options: FaultOptions) {
    this.#options = options;
  }

  /** The next fault, from its beginning to its end. */
  async inject(): Promise<Fault> {
    const kind = this.#nextKind();
    const begunMs = nowMs();
    const { daemons, detail } = await this.#do(kind);
    const fault: Fault = { kind, beginMs: begunMs, endMs: nowMs(), daemons, ...this.#others(), detail };
    this.done.push(fault);
    await this.#replaceLost();
    if (kind === "kill node") await this.#untilRecovered(begunMs);
    return fault;
  }

  /** Every kind comes as often as every other. */
  #nextKind(): FaultKind {
    const { random, kinds } = this.#options;
    if (this.#bag.length === 0) this.#bag = [...kinds];
    const [kind] = this.#bag.splice(random.below(this.#bag.length), 1);
    return kind as FaultKind;
  }

  /** Half of the pauses are so short that nobody may be taken for dead. */
  #pauseMs(): number {
    const { random, pauseMaxMs } = this.#options;
    const maxMs = random.below(2) === 0 ? Math.min(SHORT_MAX_MS, pauseMaxMs) : pauseMaxMs;
    return 1000 + random.below(Math.max(1, maxMs - 1000));
  }

  async #do(kind: FaultKind): Promise<Done> {
    const { cluster, random } = this.#options;
    const [home, ...others] = cluster.nodes as [TestNode, ...TestNode[]];
    const pauseMs = this.#pauseMs();
    const victim = random.pick(others);
    switch (kind) {
      case "kill worker":
      case "stop worker":
        return this.#hurtWorker(kind, pauseMs);
      case "kill node":
        await victim.kill();
        return { daemons: [victim.pid], detail: `daemon ${victim.pid}` };
      case "stop node":
      case "freeze node":
        return this.#stopNode(kind, random.below(4) === 0 ? home : victim, pauseMs);
      case "fill store":
        await this.#options.fillStore(victim);
        return { daemons: [victim.pid], detail: `daemon ${victim.pid}` };
      case "kill head":
        return this.#killHead(async () => {});
      case "kill head and node": {
        const { detail } = await this.#killHead(() => victim.kill());
        return { daemons: [victim.pid], detail: `daemon ${victim.pid}, head ${detail}` };
      }
      case "stop head":
        cluster.pauseHead();
        await sleep(pauseMs);
        cluster.resumeHead();
        return { daemons: [], detail: `${pauseMs} ms` };
      case "cut node":
      case "cut pair":
      case "cut halves":
      case "cut one way":
        return this.#cut(kind, pauseMs);
      case "kill NATS":
      case "stop NATS":
      case "kill all NATS":
      case "stop all NATS":
        return this.#hurtNats(kind, pauseMs);
      case "two at once":
        return this.#two();
    }
  }

  async #hurtWorker(kind: FaultKind, pauseMs: number): Promise<Done> {
    const workers = clusterProcesses(this.#options.mark).filter((each) => each.kind === "worker");
    const { pid, parent } = this.#options.random.pick(workers);
    const detail = `process ${pid} under ${parent}`;
    if (kind === "kill worker") {
      signal(pid, "SIGKILL");
      return { daemons: [parent], detail };
    }
    if (signal(pid, "SIGSTOP")) {
      await sleep(pauseMs);
      signal(pid, "SIGCONT");
    }
    return { daemons: [parent], detail: `${detail}, ${pauseMs} ms` };
  }

  /** The daemon alone, whose workers go on, or all of the machine. */
  async #stopNode(kind: FaultKind, node: TestNode, longMs: number): Promise<Done> {
    const isHome = node === this.#options.cluster.nodes[0];
    const pauseMs = isHome ? Math.min(longMs, HOME_AWAY_MAX_MS) : longMs;
    const workers = kind === "stop node" ? [] : clusterProcesses(this.#options.mark).filter(({ parent }) => parent === node.pid);
    const pids = [node.pid, ...workers.map(({ pid }) => pid)];
    for (const pid of pids) signal(pid, "SIGSTOP");
    await sleep(pauseMs);
    for (const pid of pids) signal(pid, "SIGCONT");
    return { daemons: [node.pid], detail: `daemon ${node.pid}${isHome ? " of the driver" : ""}, ${pauseMs} ms` };
  }

  async #killHead(meanwhile: () => Promise<void>): Promise<Done> {
    const { cluster, random } = this.#options;
    const awayMs = random.below(HEAD_AWAY_MAX_MS);
    await cluster.killHead();
    await meanwhile();
    await sleep(awayMs);
    await cluster.restartHead();
    return { daemons: [], detail: `${awayMs} ms away` };
  }

  async #cut(kind: FaultKind, pauseMs: number): Promise<Done> {
    const { cluster, random } = this.#options;
    const [home, ...others] = cluster.nodes as [TestNode, ...TestNode[]];
    const victim = random.pick(others);
    const healAfter = async (ms: number): Promise<void> => {
      await sleep(ms);
      await cluster.heal();
    };
    switch (kind) {
      case "cut pair": {
        // Both go on talking to the head, which therefore takes neither for dead.
        const other = random.pick(cluster.nodes.filter((node) => node !== victim));
        await cluster.partition([victim], [other]);
        await healAfter(pauseMs);
        return { daemons: [victim.pid, other.pid], detail: `daemons ${victim.pid} and ${other.pid}, ${pauseMs} ms` };
      }
      case "cut halves": {
        const half = others.slice(0, Math.ceil(others.length / 2));
        await cluster.partition(half);
        await healAfter(pauseMs);
        const pids = half.map(({ pid }) => pid);
        return { daemons: pids, detail: `daemons ${pids.join(", ")}, ${pauseMs} ms` };
      }
      case "cut one way": {
        const isHome = random.below(3) === 0;
        const one = isHome ? home : victim;
        const cutMs = isHome ? Math.min(pauseMs, HOME_AWAY_MAX_MS) : pauseMs;
        await cluster.partition([one], undefined, { oneWay: true });
        await healAfter(cutMs);
        return { daemons: [one.pid], detail: `daemon ${one.pid} is not heard, ${cutMs} ms` };
      }
      default:
        await cluster.partition([victim]);
        await healAfter(pauseMs);
        return { daemons: [victim.pid], detail: `daemon ${victim.pid}, ${pauseMs} ms` };
    }
  }

  async #hurtNats(kind: FaultKind, pauseMs: number): Promise<Done> {
    const { nats, random } = this.#options;
    if (nats === undefined) throw new Error(`Cannot do "${kind}": the cluster has no NATS`);
    const all = Array.from({ length: nats.count }, (_, index) => index);
    const indices = kind.includes("all") ? all : [random.pick(all)];
    if (kind.startsWith("stop")) await nats.stopFor(indices, pauseMs);
    else {
      await nats.killFor(indices, Math.min(pauseMs, HEAD_AWAY_MAX_MS));
      await nats.allRun();
    }
    return { daemons: [], detail: `${indices.length} of ${all.length}, ${pauseMs} ms` };
  }

  async #two(): Promise<Done> {
    const { kinds, random } = this.#options;
    const single = kinds.filter((kind) => GROUPS[kind] !== "both");
    const first = random.pick(single);
    const others = single.filter((kind) => GROUPS[kind] !== GROUPS[first]);
    const both = [first, others.length === 0 ? first : random.pick(others)];
    const parts = await Promise.all(both.map((kind) => this.#do(kind)));
    return {
      daemons: parts.flatMap(({ daemons }) => daemons),
      detail: parts.map(({ detail }, index) => `${both[index]} (${detail})`).join(" with "),
    };
  }

  #others(): { heads: number[]; home: number } {
    const heads = clusterProcesses(this.#options.mark).filter(({ kind }) => kind === "head");
    return { heads: heads.map(({ pid }) => pid), home: this.#options.cluster.nodes[0]?.pid ?? 0 };
  }

  async #untilRecovered(begunMs: number): Promise<void> {
    const waitedMs = (): number => Math.min(this.#options.waitedMs(begunMs, nowMs()), WAITED_MAX_MS);
    const leftMs = (): number => begunMs + RECOVERED_WITHIN_MS + waitedMs() - nowMs();
    for (let ms = leftMs(); ms > 0; ms = leftMs()) await sleep(Math.min(ms, 500));
  }

  /** Nodes that were killed, or ended as the cluster took them for dead, are replaced. */
  async #replaceLost(): Promise<void> {
    const { cluster, nodes, addNode } = this.#options;
    const end = nowMs() + NODE_LOST_WITHIN_MS;
    while (cluster.nodes.length < nodes && nowMs() < end) await addNode();
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
