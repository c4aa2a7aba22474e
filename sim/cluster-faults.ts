/**
 * Faults between the machines of a run, drawn from the seed: machines that die or stand still, networks that are cut for a time,
 * connections that break.
 *
 * Beside `faults.ts`, which ends single processes. Of several machines the first never dies, as its driver's results must come; the head's process is no victim.
 */
import type { Random } from "../soak/random.ts";
import type { Cluster } from "./cluster.ts";
import type { SimulatedProcess, World } from "./world.ts";

interface ClusterFaultPlan {
  /** How many machines die at most. */
  readonly deaths: number;
  /** How many daemons end alone, while their drivers live on. */
  readonly daemons: number;
  readonly cuts: number;
  readonly breaks: number;
  readonly pauses: number;
  /** How likely a fault follows an event. */
  readonly rate: number;
}

export const NO_CLUSTER_FAULTS: ClusterFaultPlan = { deaths: 0, daemons: 0, cuts: 0, breaks: 0, pauses: 0, rate: 0 };

/** A longer cut counts as a death. */
const CUT_MAX_MS = 1500;

export function drawClusterFaults(random: Random, nodeCount: number): ClusterFaultPlan {
  if (nodeCount === 1) {
    const isRare = random.next() < 0.8;
    return { ...NO_CLUSTER_FAULTS, daemons: isRare ? 0 : random.below(2), breaks: isRare ? 0 : random.below(3), rate: isRare ? 0 : 0.003 };
  }
  if (random.next() < 0.2) return NO_CLUSTER_FAULTS;
  return {
    daemons: random.pick([0, 0, 1]),
    deaths: random.next() < 0.5 ? random.below(nodeCount) : 0,
    cuts: random.pick([0, 0, 2, 5]),
    breaks: random.pick([0, 0, 2, 5]),
    pauses: random.pick([0, 0, 2]),
    rate: random.pick([0.001, 0.003, 0.01]),
  };
}

interface ClusterFaultsOptions {
  readonly random: Random;
  readonly plan: ClusterFaultPlan;
  /** Connections to the only machine's own daemon do not break. */
  readonly sparesNode: boolean;
  /** A connection between the two broke. */
  readonly onBroken: (one: SimulatedProcess, other: SimulatedProcess) => void;
}

type Fault = "deaths" | "daemons" | "cuts" | "breaks" | "pauses";

export class ClusterFaults {
  readonly #world: World;
  readonly #cluster: Cluster;
  readonly #random: Random;
  readonly #rate: number;
  readonly #sparesNode: boolean;
  readonly #onBroken: ClusterFaultsOptions["onBroken"];
  readonly #left: Record<Fault, number>;

  constructor(world: World, cluster: Cluster, options: ClusterFaultsOptions) {
    this.#world = world;
    this.#cluster = cluster;
    this.#random = options.random;
    this.#onBroken = options.onBroken;
    this.#sparesNode = options.sparesNode;
    const { rate, ...left } = options.plan;
    this.#rate = rate;
    this.#left = left;
  }

  stop(): void {
    this.#left.deaths = 0;
    this.#left.daemons = 0;
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
      case "daemons": {
        const { nodes, liveNodes } = this.#cluster;
        const victims = nodes.length === 1 ? liveNodes : liveNodes.slice(1);
        if (victims.length === 0) return undefined;
        const node = random.pick(victims);
        node.killDaemon();
        // The daemon's driver lives, but calls that it had submitted to other machines are orphans.
        for (const other of this.#world.processes)
          if (other.isAlive && other.machine === node.process.machine) this.#onBroken(other, node.process);
        return `the daemon of ${node.process.machine} dies, with its workers`;
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
        const to = process.isAlive
          ? process.breakConnection({ toOtherMachines: this.#cluster.nodes.length > 1, sparesNode: this.#sparesNode })
          : undefined;
        if (to !== undefined) this.#onBroken(process, to);
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
