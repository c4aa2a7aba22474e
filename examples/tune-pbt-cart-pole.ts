/**
 * Population based training of policies that balance a pole on a cart. A policy is a vector of four weights, and learns by trying small changes of them in both directions
 * (augmented random search). How far it tries and how far it steps are tuned while it learns: policies that lag go on from the weights of those that lead, with other values.
 *
 * Run: node examples/tune-pbt-cart-pole.ts [POPULATION [ITERATIONS]]
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { shutdown } from "shoal";
import { getContext, loguniform, PopulationBasedTraining, sampleFrom, Tuner } from "shoal/tune";

const STEPS_MAX = 500;

/** How many steps the pole stays up, from a start that the seed decides: the equations of Barto, Sutton and Anderson (1983). */
function balance(weights: readonly number[], random: () => number): number {
  let [x, speed, angle, spin] = [0, 0, 0, 0].map(() => (random() - 0.5) / 10) as [number, number, number, number];
  for (let step = 0; step < STEPS_MAX; step++) {
    if (Math.abs(x) > 2.4 || Math.abs(angle) > 0.21) return step;
    const side = weights[0]! * x + weights[1]! * speed + weights[2]! * angle + weights[3]! * spin;
    const push = ((side > 0 ? 10 : -10) + 0.05 * spin ** 2 * Math.sin(angle)) / 1.1;
    const turn = (9.8 * Math.sin(angle) - Math.cos(angle) * push) / (0.5 * (4 / 3 - (0.1 * Math.cos(angle) ** 2) / 1.1));
    x += 0.02 * speed;
    speed += 0.02 * (push - (0.05 * turn * Math.cos(angle)) / 1.1);
    angle += 0.02 * spin;
    spin += 0.02 * turn;
  }
  return STEPS_MAX;
}

/** Numbers from 0 to 1, the same for the same seed. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48271) % 2147483647) / 2147483647;
}

interface Config {
  /** Size of the changes that are tried. */
  noise: number;
  /** Length of a step of the weights. */
  rate: number;
  seed: number;
}

/** The content of a checkpoint. */
interface Saved {
  weights: number[];
  reward: number;
  line: string[];
}

class Policy {
  #config!: Config;
  #weights = [0, 0, 0, 0];
  #random = randomNumbers(1);
  /** Trials whose weights this policy has gone on from: one, unless it took over those of others. */
  #line: string[] = [];
  #reward = 0;

  setup(config: Config) {
    this.#config = config;
    this.#random = randomNumbers(config.seed + 1);
    this.#line = [getContext().trialId];
  }

  step() {
    const { noise, rate } = this.#config;
    const changes = Array.from({ length: 4 }, () => {
      const change = this.#weights.map(() => this.#random() + this.#random() + this.#random() - 1.5);
      const tried = (sign: number) =>
        balance(
          this.#weights.map((weight, i) => weight + sign * noise * change[i]!),
          this.#random,
        );
      return { change, gain: tried(1) - tried(-1) };
    });
    const scale = rate / (changes.length * Math.max(1, ...changes.map(({ gain }) => Math.abs(gain))));
    const weights = this.#weights.map(
      (weight, i) => weight + scale * changes.reduce((sum, { change, gain }) => sum + gain * change[i]!, 0),
    );
    const episodes = Array.from({ length: 5 }, (_, i) => balance(weights, randomNumbers(1000 + i)));
    const reward = episodes.reduce((sum, steps) => sum + steps, 0) / episodes.length;
    // A step that makes it worse is not taken.
    if (reward >= this.#reward) [this.#weights, this.#reward] = [weights, reward];
    return { reward: this.#reward, line: this.#line };
  }

  saveCheckpoint(folder: string) {
    writeFileSync(join(folder, "policy.json"), JSON.stringify({ weights: this.#weights, reward: this.#reward, line: this.#line }));
  }

  loadCheckpoint(folder: string) {
    const { weights, reward, line } = JSON.parse(readFileSync(join(folder, "policy.json"), "utf8")) as Saved;
    [this.#weights, this.#reward] = [weights, reward];
    const { trialId } = getContext();
    this.#line = line.at(-1) === trialId ? line : [...line, trialId];
  }
}

async function main(): Promise<void> {
  const [population = 8, iterations = 40] = process.argv.slice(2).map(Number);
  if (![population, iterations].every((count) => Number.isInteger(count) && count >= 4)) {
    console.error("Usage: node examples/tune-pbt-cart-pole.ts [POPULATION [ITERATIONS]]: whole numbers from 4");
    process.exitCode = 2;
    return;
  }
  const storagePath = mkdtempSync(join(tmpdir(), "shoal-cart-pole-"));
  try {
    let seeds = 0;
    const tuner = new Tuner(Policy, {
      paramSpace: { noise: loguniform(0.001, 1), rate: loguniform(0.001, 1), seed: sampleFrom(() => seeds++) },
      tuneConfig: {
        metric: "reward",
        mode: "max",
        numSamples: population,
        seed: 1,
        scheduler: new PopulationBasedTraining({
          timeAttr: "trainingIteration",
          perturbationInterval: 4,
          hyperparamMutations: { noise: loguniform(0.001, 1), rate: loguniform(0.001, 1) },
          seed: 1,
        }),
      },
      runConfig: { name: "cart-pole", storagePath, stop: { trainingIteration: iterations }, checkpointConfig: { numToKeep: 2 } },
    });
    const results = await tuner.fit();
    const best = results.getBestResult();
    const moved = [...results].filter(({ metrics }) => (metrics?.line.length ?? 0) > 1).length;
    console.log(`${results.length} policies, ${moved > 0 ? "some" : "none"} went on from the weights of another`);
    console.log(
      `the best one keeps the pole up for more than 400 of ${STEPS_MAX} steps: ${best.metrics !== undefined && best.metrics.reward > 400}`,
    );
  } finally {
    rmSync(storagePath, { recursive: true });
  }
}

await main().finally(shutdown);
