/** Kills workers, those of tasks and those of actors alike, with SIGKILL at random moments. */
import { processes } from "./machine.ts";
import type { Random } from "./random.ts";

export class Faults {
  kills = 0;
  readonly #random: Random;
  readonly #meanMs: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(random: Random, meanMs: number) {
    this.#random = random;
    this.#meanMs = meanMs;
  }

  start(): void {
    if (this.#meanMs === 0) return;
    // Exponential: kills come in bursts too, as faults do.
    const waitMs = -Math.log(1 - this.#random.next()) * this.#meanMs;
    this.#timer = setTimeout(() => {
      this.#kill();
      this.start();
    }, waitMs);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #kill(): void {
    const workers = processes("worker");
    if (workers.length === 0) return;
    try {
      process.kill(this.#random.pick(workers), "SIGKILL");
      this.kills += 1;
    } catch {
      // The process ended by itself in between.
    }
  }
}
