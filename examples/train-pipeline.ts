/**
 * A model in two stages, each an actor with its own layers and gradients: the way to train a model that is too large for one process.
 *
 * A batch is cut into parts. The first stage computes a part, sends the result to the second one by a reference, and begins the next part;
 * the gradients come back the same way. So both stages work at once, and hold no more of a batch than its parts. After the last part both
 * take a step. The same stages in one process, one after the other, come to the same losses.
 *
 *   node examples/train-pipeline.ts [EPOCHS]
 */
import { get, remote, shutdown } from "shoal";

const HIDDEN = 16;
const PARTS = 4;
const ROWS_OF_PART = 16;
const RATE = 0.2;

/** The weights of a layer, and their gradient since the last step. Each stage has one. */
class Layer {
  readonly weights: Float64Array;
  readonly #gradient: Float64Array;

  constructor(size: number) {
    this.weights = Float64Array.from({ length: size }, (_, i) => Math.sin(7 * i + 1));
    this.#gradient = new Float64Array(size);
  }

  add(index: number, gradient: number): void {
    this.#gradient[index] = (this.#gradient[index] ?? 0) + gradient;
  }

  step(): void {
    for (const [index, gradient] of this.#gradient.entries()) this.weights[index] = (this.weights[index] ?? 0) - RATE * gradient;
    this.#gradient.fill(0);
  }
}

/** `tanh(w x + b)`, for one number a row. */
class FirstStage {
  readonly #layer = new Layer(2 * HIDDEN);
  /** By part, what its gradient needs. */
  readonly #kept = new Map<number, { xs: Float64Array; hidden: Float64Array }>();

  forward(part: number, xs: Float64Array): Float64Array {
    const { weights } = this.#layer;
    const hidden = Float64Array.from({ length: xs.length * HIDDEN }, (_, i) => {
      const [row, unit] = [Math.floor(i / HIDDEN), i % HIDDEN];
      return Math.tanh((weights[unit] ?? 0) * (xs[row] ?? 0) + (weights[HIDDEN + unit] ?? 0));
    });
    this.#kept.set(part, { xs, hidden });
    return hidden;
  }

  backward(part: number, gradient: Float64Array): void {
    const { xs, hidden } = this.#kept.get(part) ?? { xs: new Float64Array(), hidden: new Float64Array() };
    this.#kept.delete(part);
    for (const [i, slope] of gradient.entries()) {
      const [row, unit] = [Math.floor(i / HIDDEN), i % HIDDEN];
      const inner = slope * (1 - (hidden[i] ?? 0) ** 2);
      this.#layer.add(unit, inner * (xs[row] ?? 0));
      this.#layer.add(HIDDEN + unit, inner);
    }
  }

  step(): void {
    this.#layer.step();
  }
}

/** The weighted sum of the first stage's outputs, and the mean square error of a batch. */
class SecondStage {
  readonly #layer = new Layer(HIDDEN);
  #loss = 0;

  /** @returns the gradient for the first stage */
  train(hidden: Float64Array, targets: Float64Array): Float64Array {
    const rows = PARTS * ROWS_OF_PART;
    const gradient = new Float64Array(hidden.length);
    for (const [row, target] of targets.entries()) {
      const units = hidden.subarray(row * HIDDEN, (row + 1) * HIDDEN);
      const error = units.reduce((sum, value, unit) => sum + value * (this.#layer.weights[unit] ?? 0), -target);
      this.#loss += error ** 2 / rows;
      for (const [unit, value] of units.entries()) {
        gradient[row * HIDDEN + unit] = (2 * error * (this.#layer.weights[unit] ?? 0)) / rows;
        this.#layer.add(unit, (2 * error * value) / rows);
      }
    }
    return gradient;
  }

  /** @returns the loss of the batch */
  step(): number {
    const loss = this.#loss;
    this.#loss = 0;
    this.#layer.step();
    return loss;
  }
}

const parts = Array.from({ length: PARTS }, (_, part) => {
  const xs = Float64Array.from({ length: ROWS_OF_PART }, (_row, row) => (2 * (row * PARTS + part)) / (PARTS * ROWS_OF_PART) - 1);
  return { xs, targets: xs.map((x) => Math.sin(3 * x)) };
});

async function inTwoActors(epochs: number): Promise<number[]> {
  const [first, second] = [remote(FirstStage).remote(), remote(SecondStage).remote()];
  const losses: number[] = [];
  for (let epoch = 0; epoch < epochs; epoch += 1) {
    // Calls of an actor run in their order: all parts go forward before the first comes back.
    const hidden = parts.map(({ xs }, part) => first.forward.remote(part, xs));
    const gradients = parts.map(({ targets }, part) => second.train.remote(hidden[part]!, targets));
    const done = gradients.map((gradient, part) => first.backward.remote(part, gradient));
    await get([...done, first.step.remote()]);
    losses.push(await second.step.remote());
  }
  return losses;
}

function inOneProcess(epochs: number): number[] {
  const [first, second] = [new FirstStage(), new SecondStage()];
  return Array.from({ length: epochs }, () => {
    for (const [part, { xs, targets }] of parts.entries()) first.backward(part, second.train(first.forward(part, xs), targets));
    first.step();
    return second.step();
  });
}

const epochs = Number(process.argv[2] ?? 300);
const losses = await inTwoActors(epochs);
const expected = inOneProcess(epochs);
console.log(`loss ${losses[0]?.toFixed(3)}, after ${epochs} epochs ${losses.at(-1)?.toFixed(3)}`);
console.log(`the losses of one process: ${losses.every((loss, epoch) => loss === expected[epoch]) ? "the same" : "others"}`);
await shutdown();
