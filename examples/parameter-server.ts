/**
 * A parameter server: workers compute gradients on their part of the data, one actor adds them up and hands out the weights.
 *
 * Fits a line to points that lie on `y = 3 x + 2` with some noise. The workers run at their own pace: each pushes its gradient and pulls the weights as
 * they are then, so none waits for a slow one.
 */
import { type ActorHandle, get, remote, shutdown } from "shoal";

const WORKERS = 3;
const STEPS = 200;
const POINTS = 300;

class ParameterServer {
  readonly #weights = new Float64Array(2);

  /** Takes a step against the gradient and returns the weights. */
  push(gradient: Float64Array, rate: number): Float64Array {
    for (const [index, slope] of gradient.entries()) this.#weights[index] = (this.#weights[index] ?? 0) - rate * slope;
    return this.#weights;
  }

  weights(): Float64Array {
    return this.#weights;
  }
}

/** The gradient of the mean square error of a line over some points. */
function gradientOf(weights: Float64Array, xs: Float64Array, ys: Float64Array): Float64Array {
  const [slope = 0, offset = 0] = weights;
  const gradient = new Float64Array(2);
  for (const [index, x] of xs.entries()) {
    const error = slope * x + offset - (ys[index] ?? 0);
    gradient[0] = (gradient[0] ?? 0) + (2 * error * x) / xs.length;
    gradient[1] = (gradient[1] ?? 0) + (2 * error) / xs.length;
  }
  return gradient;
}

const train = remote(async (server: ActorHandle<ParameterServer>, part: number): Promise<void> => {
  const xs = Float64Array.from({ length: POINTS }, (_, index) => ((index * WORKERS + part) % 100) / 100);
  const ys = xs.map((x, index) => 3 * x + 2 + 0.01 * Math.sin(index));
  let weights = await server.weights.remote();
  for (let step = 0; step < STEPS; step += 1) weights = await server.push.remote(gradientOf(weights, xs, ys), 0.1);
});

const server = remote(ParameterServer, { numCpus: 0 }).remote();
await get(Array.from({ length: WORKERS }, (_, part) => train.remote(server, part)));
const [slope = 0, offset = 0] = await server.weights.remote();
console.log(`y = ${slope.toFixed(1)} x + ${offset.toFixed(1)}`);
await shutdown();
