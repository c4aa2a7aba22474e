/**
 * Trains a small linear model with a parameter server: one actor holds the weights, and tasks compute gradients on parts of the data. Each task
 * works on the weights that it read, so that nobody waits for the slowest.
 *
 *   node examples/parameter-server.ts [STEPS]
 */
import { type ActorHandle, put, remote, shutdown, wait } from "shoal";

const WEIGHTS = [2, -3, 0.5];
const ROWS_PER_PART = 2000;
const PARTS = 4;
const RATE = 0.05;

/** An actor: everybody's updates come together in it, one at a time. */
class ParameterServer {
  readonly #weights: Float64Array;
  #updates = 0;

  constructor(size: number) {
    this.#weights = new Float64Array(size);
  }

  weights(): Float64Array {
    return this.#weights;
  }

  apply(gradient: Float64Array): number {
    for (let index = 0; index < gradient.length; index += 1) {
      this.#weights[index] = (this.#weights[index] ?? 0) - RATE * (gradient[index] ?? 0);
    }
    this.#updates += 1;
    return this.#updates;
  }
}

/** Rows of inputs and the value that the true weights give for them, one after the other. */
function makePart(seed: number): Float64Array {
  const size = WEIGHTS.length;
  const rows = new Float64Array(ROWS_PER_PART * (size + 1));
  let state = seed;
  for (let row = 0; row < ROWS_PER_PART; row += 1) {
    let value = 0;
    for (let column = 0; column < size; column += 1) {
      state = (state * 48_271) % 2_147_483_647;
      const input = state / 1_073_741_823.5 - 1;
      rows[row * (size + 1) + column] = input;
      value += input * (WEIGHTS[column] ?? 0);
    }
    rows[row * (size + 1) + size] = value;
  }
  return rows;
}

const step = remote(async (server: ActorHandle<ParameterServer>, rows: Float64Array): Promise<number> => {
  const weights = await server.weights.remote();
  const size = weights.length;
  const gradient = new Float64Array(size);
  const count = rows.length / (size + 1);
  for (let row = 0; row < count; row += 1) {
    const at = row * (size + 1);
    let error = -(rows[at + size] ?? 0);
    for (let column = 0; column < size; column += 1) error += (rows[at + column] ?? 0) * (weights[column] ?? 0);
    for (let column = 0; column < size; column += 1)
      gradient[column] = (gradient[column] ?? 0) + (2 * error * (rows[at + column] ?? 0)) / count;
  }
  return await server.apply.remote(gradient);
});

async function main(): Promise<void> {
  const steps = Number(process.argv[2] ?? 400);
  if (!Number.isInteger(steps) || steps < 1) {
    console.error("parameter-server: STEPS must be a whole number from 1\nusage: node examples/parameter-server.ts [STEPS]");
    process.exitCode = 2;
    return;
  }
  try {
    using server = remote(ParameterServer).remote(WEIGHTS.length);
    // Large enough to lie in shared memory: every task maps its part, and nobody copies it.
    const parts = Array.from({ length: PARTS }, (_, part) => put(makePart(part + 1)));
    let running = parts.map((part) => step.remote(server, part));
    for (let started = running.length; running.length > 0; ) {
      const [[done], rest] = await wait(running);
      running = rest;
      await done;
      const part = parts[started % parts.length];
      if (started < steps && part !== undefined) running.push(step.remote(server, part));
      started += 1;
    }
    const learned = await server.weights.remote();
    console.log(`true weights:    ${WEIGHTS.map((weight) => weight.toFixed(3)).join(" ")}`);
    console.log(`learned weights: ${Array.from(learned, (weight) => weight.toFixed(3)).join(" ")}`);
  } finally {
    await shutdown();
  }
}

await main();
