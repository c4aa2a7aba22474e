/**
 * What goes wrong between the machines of a run: machines that die or stand still, networks that are cut for a time, connections that break; drawn from the seed.
 *
 * Beside `faults.ts`, which ends single processes. The first machine never dies, as its driver's results must come; the head's process is no victim of this file.
 */
import type { Random } from "../soak/random.ts";
import type { Cluster } from "./cluster.ts";
import type { SimulatedProcess, World } from "./world.ts";

export interface ClusterFaultPlan {
  /** How many machines die at most. */
  readonly deaths: number;
  readonly cuts: number;
  readonly breaks: number;
  readonly pauses: number;
  /** How likely a fault follows an event. */
  readonly rate: number;
}

/** Longer ones count as deaths for whoever waits. */
const CUT_MAX_MS = 1500;

export function drawClusterFaults(random: Random, nodeCount: number): ClusterFaultPlan {
  const none = { deaths: 0, cuts: 0, breaks: 0, pauses: 0, rate: 0 };
  if (random.next() < 0.2) return none;
  return {
    deaths: random.next() < 0.5 ? random.below(nodeCount) : 0,
    cuts: random.pick([0, 0, 2, 5]),
    breaks: random.pick([0, 0, 2, 5]),
    pauses: random.pick([0, 0, 2]),
    rate: random.pick([0.001, 0.003, 0.01]),
  };
}

type Fault = "deaths" | "cuts" | "breaks" | "pauses";

export class ClusterFaults {
  readonly #world: World;
  readonly #cluster: Cluster;
  readonly #random: Random;
  readonly #rate: number;
  readonly #left: Record<Fault, number>;

  constructor(world: World, cluster: Cluster, options: { random: Random; plan: ClusterFaultPlan }) {
    this.#world = world;
    this.#cluster = cluster;
    this.#random = options.random;
    const { rate, ...left } = options.plan;
    this.#rate = rate;
    this.#left = left;
  }

  stop(): void {
    this.#left.deaths = 0;
    this.#left.cuts = 0;
    this.#left.breaks = 0;
    this.#left.pauses = 0;
  }

  after(process: SimulatedProcess): void {
    if (this.#rate === 0 || this.#random.next() >= this.#rate) return;
    const kinds = (Object.keys(this.#left) as Fault[]).filter((kind) => this.#left[kind] > 0);
    if (kinds.length === 0) return;
    const kind = this.#random.pick(kinds);
    const did = this.#do(kind, process);
    if (did === undefined) return;
    this.#left[kind] -= 1;
    this.#world.say("fault", did);
  }

  #do(kind: Fault, process: SimulatedProcess): string | undefined {
    const random = this.#random;
    switch (kind) {
      case "deaths": {
        const victims = this.#cluster.liveNodes.slice(1);
        if (victims.length === 0) return undefined;
        const node = random.pick(victims);
        node.kill();
        return `machine ${node.process.machine} dies`;
      }
      case "cuts": {
        const machines = [...this.#cluster.liveNodes.map((node) => node.process.machine), "head"];
        const one = random.pick(machines);
        const other = random.pick(machines);
        if (one === other) return undefined;
        const ms = random.next() * CUT_MAX_MS;
        this.#world.cut(one, other, this.#world.nowMs + ms);
        return `${one} and ${other} are cut off from each other for ${ms.toFixed(0)} ms`;
      }
      case "breaks": {
        const to = process.isAlive ? process.breakConnection({ toOtherMachines: true }) : undefined;
        return to === undefined ? undefined : `a connection of ${process.name} to ${to.name} breaks`;
      }
      case "pauses": {
        const node = random.pick(this.#cluster.liveNodes);
        const ms = random.next() * CUT_MAX_MS;
        this.#world.pause(node.process.machine, this.#world.nowMs + ms);
        return `machine ${node.process.machine} stands still for ${ms.toFixed(0)} ms`;
      }
    }
  }
}
