/**
 * Faults of a run, drawn from the seed: processes that die, when, and how often.
 *
 * A fault falls right after an event in its victim, maybe between two writes of that turn: sooner or later a fault meets every place in
 * the protocol. Faults stop at a given number, and then everything that can end has to end. One driver is never a victim: its waits must
 * end.
 */
import type { Random } from "../soak/random.ts";
import type { Cluster } from "./cluster.ts";
import type { SimulatedProcess, World } from "./world.ts";

interface FaultPlan {
  /** How many processes die. */
  readonly kills: number;
  /** How likely a fault follows an event of a worker. */
  readonly rate: number;
}

export function drawFaults(random: Random): FaultPlan {
  if (random.next() < 0.25) return { kills: 0, rate: 0 };
  return { kills: 1 + random.below(12), rate: random.pick([0.001, 0.003, 0.01, 0.03]) };
}

export class Faults {
  readonly #world: World;
  readonly #cluster: Cluster;
  readonly #random: Random;
  readonly #plan: FaultPlan;
  #left: number;

  constructor(world: World, cluster: Cluster, options: { random: Random; plan: FaultPlan }) {
    this.#world = world;
    this.#cluster = cluster;
    this.#random = options.random;
    this.#plan = options.plan;
    this.#left = options.plan.kills;
  }

  stop(): void {
    this.#left = 0;
    this.#cluster.stopFailedStarts();
  }

  after(process: SimulatedProcess): void {
    if (this.#left === 0 || !process.isAlive || this.#random.next() >= this.#plan.rate) return;
    if (this.#isSafe(process)) return;
    // Drivers die more rarely: with one, all that it waits for is gone.
    if (this.#cluster.drivers.some((driver) => driver.process === process) && this.#random.next() < 0.8) return;
    this.#left -= 1;
    process.kill({ midTurn: this.#random.next() < 0.5 });
    this.#world.say("fault", `${process.name} died; ${this.#left} faults left`);
  }

  /** Daemons and the head end by other faults (`cluster-faults.ts`). */
  #isSafe(process: SimulatedProcess): boolean {
    const { nodes, network, drivers } = this.#cluster;
    return nodes.some((node) => node.process === process) || network?.head === process || drivers[0]?.process === process;
  }
}
