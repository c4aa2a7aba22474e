/** First values of weights: PyTorch's uniform ones, orthogonal ones, zeros. */
import type { Random } from "./random.ts";

/**
 * `uniform`: PyTorch's for linear layers, up to 1 / sqrt(inputs) either way, biases likewise. `orthogonal`: rows or columns at right angles,
 * biases 0. `zeros`: all 0.
 */
export type Initializer = "uniform" | "orthogonal" | "zeros";

interface Fan {
  readonly inputs: number;
  readonly outputs: number;
  readonly gain: number;
  readonly random: Random;
}

/** Fills a matrix `[inputs, outputs]`. */
export function initializeWeight(weight: Float32Array, initializer: Initializer, fan: Fan): void {
  if (initializer === "orthogonal") orthogonal(weight, fan);
  else if (initializer === "uniform") uniform(weight, fan);
}

export function initializeBias(bias: Float32Array, initializer: Initializer, fan: Fan): void {
  if (initializer === "uniform") uniform(bias, fan);
}

/** @throws RangeError for another name */
export function checkedInitializer(initializer: Initializer): Initializer {
  if (initializer !== "uniform" && initializer !== "orthogonal" && initializer !== "zeros")
    throw new RangeError(
      `Cannot make a layer: there is no such initializer: received ${JSON.stringify(initializer)}. There are uniform, orthogonal and zeros.`,
    );
  return initializer;
}

function uniform(numbers: Float32Array, { inputs, gain, random }: Fan): void {
  const limit = gain / Math.sqrt(Math.max(1, inputs));
  for (let at = 0; at < numbers.length; at++) numbers[at] = (2 * random.uniform() - 1) * limit;
}

/** Normal vectors, each made orthogonal to those before (Gram and Schmidt, twice for the sake of rounding). */
function orthogonal(weight: Float32Array, { inputs, outputs, gain, random }: Fan): void {
  const [count, length] = [Math.min(inputs, outputs), Math.max(inputs, outputs)];
  const vectors: Float64Array[] = [];
  for (let index = 0; index < count; index++) {
    const vector = Float64Array.from({ length }, () => random.normal());
    for (let pass = 0; pass < 2; pass++) for (const before of vectors) subtract(vector, before, dot(vector, before));
    const norm = Math.sqrt(dot(vector, vector));
    for (let at = 0; at < length; at++) vector[at] = (vector[at] as number) / norm;
    vectors.push(vector);
    for (let at = 0; at < length; at++)
      weight[inputs >= outputs ? at * outputs + index : index * outputs + at] = gain * (vector[at] as number);
  }
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let at = 0; at < a.length; at++) sum += (a[at] as number) * (b[at] as number);
  return sum;
}

function subtract(a: Float64Array, b: Float64Array, factor: number): void {
  for (let at = 0; at < a.length; at++) a[at] = (a[at] as number) - factor * (b[at] as number);
}
