/**
 * Searches the step size and the shape of a small network that learns XOR, with TPE, and ends losing trials early with ASHA.
 *
 * Run: node examples/tune-function.ts
 */
import { shutdown } from "shoal";
import { ASHAScheduler, choice, loguniform, randint, report, TPESearch, Tuner } from "shoal/tune";

/** A network with one hidden layer, trained by plain gradient descent. `step` gives the loss after some epochs. */
class Network {
  #hidden: number[][];
  #output: number[];
  #activate: (x: number) => number;
  #slope: (y: number) => number;

  constructor(width: number, activation: "tanh" | "relu") {
    // A simple generator with a fixed seed: every trial begins alike.
    let state = 1;
    const random = () => (state = (state * 48271) % 2147483647) / 2147483647 - 0.5;
    this.#hidden = Array.from({ length: width }, () => [random() * 2, random() * 2, random()]);
    this.#output = Array.from({ length: width + 1 }, () => random());
    this.#activate = activation === "tanh" ? Math.tanh : (x) => Math.max(0, x);
    this.#slope = activation === "tanh" ? (y) => 1 - y * y : (y) => (y > 0 ? 1 : 0);
  }

  step(rate: number, epochs: number): number {
    let loss = 0;
    for (let epoch = 0; epoch < epochs; epoch++) {
      loss = 0;
      for (const [a, b] of [
        [0, 0],
        [0, 1],
        [1, 0],
        [1, 1],
      ] as const) {
        const values = this.#hidden.map(([wa, wb, bias]) => this.#activate(wa! * a + wb! * b + bias!));
        const guess = values.reduce((sum, value, i) => sum + value * this.#output[i]!, this.#output.at(-1)!);
        const error = guess - (a ^ b);
        loss += error * error;
        for (const [i, value] of values.entries()) {
          const back = error * this.#output[i]! * this.#slope(value);
          this.#output[i]! -= rate * error * value;
          const weights = this.#hidden[i]!;
          weights[0]! -= rate * back * a;
          weights[1]! -= rate * back * b;
          weights[2]! -= rate * back;
        }
        this.#output[this.#output.length - 1]! -= rate * error;
      }
    }
    return loss;
  }
}

const tuner = new Tuner(
  async (config) => {
    const network = new Network(config.width, config.activation);
    for (let round = 0; round < 20; round++) await report({ loss: network.step(config.rate, 50) });
  },
  {
    paramSpace: { rate: loguniform(1e-3, 1), width: randint(2, 9), activation: choice(["tanh", "relu"]) },
    tuneConfig: {
      metric: "loss",
      mode: "min",
      numSamples: 40,
      searchAlg: new TPESearch({ seed: 1 }),
      scheduler: new ASHAScheduler({ maxT: 20, gracePeriod: 2 }),
    },
  },
);
const results = await tuner.fit();
const best = results.getBestResult();
console.log(
  `${results.length} trials, ${[...results].filter(({ iterations }) => iterations < 20).length > 0 ? "some" : "none"} ended early`,
);
console.log(`best loss below 0.1: ${Number(best.metrics?.loss) < 0.1}`);
await shutdown();
