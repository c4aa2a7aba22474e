/**
 * What goes wrong in a chaos run, one thing after another, drawn from the seed: kills and pauses of workers, daemons, the head and NATS, and cuts of the network.
 *
 * Each fault is healed before the next begins, and what it did is written down with its time. The driver hangs on the first node, so that one is not killed, and cut off only
 * for as long as a node may be.
 */
import { type TestCluster, type TestNode } from "shoal/testing";
import type { Random } from "../soak/random.ts";
import { nowMs } from "./clock.ts";
import { clusterProcesses, signal } from "./processes.ts";

export const FAULT_KINDS = [
  "kill worker",
  "stop worker",
  "kill node",
  "stop node",
  "kill head",
  "stop head",
  "cut node",
  "cut halves",
  "cut one way",
  "kill NATS",
  "stop NATS",
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

export interface Fault {
  readonly kind: FaultKind;
  readonly beginMs: number;
  /** When what was stopped went on, or was there again. */
  endMs: number;
  /** Of the nodes that it was about. */
  readonly daemons: readonly number[];
  readonly detail: string;
}

export interface FaultOptions {
  readonly cluster: TestCluster;
  readonly mark: string;
  readonly random: Random;
  readonly kinds: readonly FaultKind[];
  /** The longest pause or cut. */
  readonly pauseMaxMs: number;
  readonly addNode: () => Promise<TestNode>;
}

/** A node that is cut off from its head must come back within this, or it is dead. */
const HOME_CUT_MAX_MS = 1500;
const HEAD_AWAY_MAX_MS = 2000;
const NODE_LOST_WITHIN_MS = 30_000;

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
    const fault: Fault = { kind, beginMs: begunMs, endMs: nowMs(), daemons, detail };
    this.done.push(fault);
    await this.#replaceLost();
    return fault;
  }

  /** Every kind comes as often as every other. */
  #nextKind(): FaultKind {
    const { random, kinds } = this.#options;
    if (this.#bag.length === 0) this.#bag = [...kinds];
    const [kind] = this.#bag.splice(random.below(this.#bag.length), 1);
    return kind as FaultKind;
  }

  async #do(kind: FaultKind): Promise<{ daemons: number[]; detail: string }> {
    const { cluster, random, pauseMaxMs } = this.#options;
    const [home, ...others] = cluster.nodes as [TestNode, ...TestNode[]];
    const pauseMs = 1000 + random.below(Math.max(1, pauseMaxMs - 1000));
    const victim = random.pick(others);
    const lasting = `${pauseMs} ms`;
    switch (kind) {
      case "kill worker":
      case "stop worker": {
        const workers = clusterProcesses(this.#options.mark).filter((each) => each.kind === "worker");
        const { pid, parent } = random.pick(workers);
        const detail = `process ${pid} under ${parent}`;
        if (kind === "kill worker") signal(pid, "SIGKILL");
        else if (signal(pid, "SIGSTOP")) {
          await sleep(pauseMs);
          signal(pid, "SIGCONT");
        }
        return { daemons: [parent], detail: kind === "kill worker" ? detail : `${detail}, ${lasting}` };
      }
      case "kill node":
        await victim.kill();
        return { daemons: [victim.pid], detail: `daemon ${victim.pid}` };
      case "stop node":
        victim.pause();
        await sleep(pauseMs);
        victim.resume();
        return { daemons: [victim.pid], detail: `daemon ${victim.pid}, ${lasting}` };
      case "kill head": {
        const awayMs = random.below(HEAD_AWAY_MAX_MS);
        await cluster.killHead();
        await sleep(awayMs);
        await cluster.restartHead();
        return { daemons: [], detail: `${awayMs} ms without` };
      }
      case "stop head":
        cluster.pauseHead();
        await sleep(pauseMs);
        cluster.resumeHead();
        return { daemons: [], detail: lasting };
      case "cut node":
        await cluster.partition([victim]);
        await this.#healAfter(pauseMs);
        return { daemons: [victim.pid], detail: `daemon ${victim.pid}, ${lasting}` };
      case "cut halves": {
        const half = others.slice(0, Math.ceil(others.length / 2));
        await cluster.partition(half);
        await this.#healAfter(pauseMs);
        return { daemons: half.map(({ pid }) => pid), detail: `daemons ${half.map(({ pid }) => pid).join(", ")}, ${lasting}` };
      }
      case "cut one way": {
        const isHome = random.below(3) === 0;
        const one = isHome ? home : victim;
        const cutMs = isHome ? Math.min(pauseMs, HOME_CUT_MAX_MS) : pauseMs;
        await cluster.partition([one], undefined, { oneWay: true });
        await this.#healAfter(cutMs);
        return { daemons: [one.pid], detail: `daemon ${one.pid} is not heard, ${cutMs} ms` };
      }
      case "kill NATS":
      case "stop NATS":
        throw new Error(`Cannot do "${kind}": the cluster has no NATS`);
    }
  }

  async #healAfter(ms: number): Promise<void> {
    await sleep(ms);
    await this.#options.cluster.heal();
  }

  /** Nodes that were killed, or ended as the cluster took them for dead, are replaced. */
  async #replaceLost(): Promise<void> {
    const { cluster, addNode } = this.#options;
    const nodes = 4;
    const end = nowMs() + NODE_LOST_WITHIN_MS;
    while (cluster.nodes.length < nodes && nowMs() < end) await addNode();
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
