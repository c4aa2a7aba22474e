/**
 * A Gaussian process over unit points: predicts a function's values, and their uncertainty (Rasmussen and Williams 2006).
 *
 * The kernel is Matérn 5/2 with a length for each axis; two options of a choice are one step apart. Lengths, scale and noise maximize the marginal likelihood with
 * weak priors. Values are standardized by the caller. Called by `BayesOptSearch`; nothing here draws random numbers.
 */
import { factorize, inverseOf, solveLower, solveUpper } from "../numbers/matrix.ts";
import { minimize } from "../numbers/minimize.ts";

/** Logarithms: of one over each squared length, then of the scale and of the noise, both variances. */
export type Hyperparameters = readonly number[];

interface Sight {
  readonly mean: number;
  readonly deviation: number;
}

interface Slopes extends Sight {
  /** Derivatives on each axis; 0 on choices. */
  readonly meanSlope: Float64Array;
  readonly deviationSlope: Float64Array;
}

interface KernelShape {
  readonly isChoice: readonly boolean[];
  /** Inverses of the squared lengths. */
  readonly weights: Float64Array;
  readonly scale: number;
  readonly noise: number;
}

const ROOT_FIVE = Math.sqrt(5);
/** Bounds of the logarithms. */
const WEIGHT_RANGE = [Math.log(1e-4), Math.log(1e4)] as const;
const SCALE_RANGE = [Math.log(1e-3), Math.log(1e3)] as const;
const NOISE_RANGE = [Math.log(1e-7), Math.log(1)] as const;

export function defaultHyperparameters(axisCount: number): number[] {
  return [...new Array<number>(axisCount).fill(0), 0, Math.log(1e-4)];
}

export class GaussianProcess {
  readonly #points: readonly Float64Array[];
  readonly #isChoice: readonly boolean[];
  readonly #weights: Float64Array;
  readonly #scale: number;
  readonly #noise: number;
  readonly #factor: Float64Array;
  readonly #alpha: Float64Array;

  private constructor(shape: KernelShape, fitted: { points: readonly Float64Array[]; factor: Float64Array; alpha: Float64Array }) {
    this.#isChoice = shape.isChoice;
    this.#weights = shape.weights;
    this.#scale = shape.scale;
    this.#noise = shape.noise;
    this.#points = fitted.points;
    this.#factor = fitted.factor;
    this.#alpha = fitted.alpha;
  }

  static at(
    points: readonly Float64Array[],
    values: readonly number[],
    { isChoice, at }: { isChoice: readonly boolean[]; at: Hyperparameters },
  ): GaussianProcess {
    const axisCount = isChoice.length;
    const weights = Float64Array.from(at.slice(0, axisCount), Math.exp);
    const shape = { isChoice, weights, scale: Math.exp(at[axisCount] as number), noise: Math.exp(at[axisCount + 1] as number) };
    const factor = factorOf(points, shape);
    const alpha = Float64Array.from(values);
    solveLower(factor, alpha);
    solveUpper(factor, alpha);
    return new GaussianProcess(shape, { points, factor, alpha });
  }

  /** Returns the process with more points, at their expected values: it is more certain near them, and expects the same everywhere. */
  withBelieved(points: readonly Float64Array[]): GaussianProcess {
    if (points.length === 0) return this;
    const shape = { isChoice: this.#isChoice, weights: this.#weights, scale: this.#scale, noise: this.#noise };
    const all = [...this.#points, ...points];
    const old = this.#points.length;
    const factor = new Float64Array(all.length * all.length);
    for (let row = 0; row < old; row += 1) factor.set(this.#factor.subarray(row * old, row * old + row + 1), row * all.length);
    for (let row = old; row < all.length; row += 1) {
      const covariances = Float64Array.from({ length: row }, (_, other) =>
        kernel(squaredDistance(all[row] as Float64Array, all[other] as Float64Array, shape), shape.scale),
      );
      solveLower(factor, covariances, all.length);
      factor.set(covariances, row * all.length);
      factor[row * all.length + row] = Math.sqrt(Math.max(1e-9, shape.scale + shape.noise - dot(covariances, covariances)));
    }
    // A value that is expected pulls on nothing.
    const alpha = new Float64Array(all.length);
    alpha.set(this.#alpha);
    return new GaussianProcess(shape, { points: all, factor, alpha });
  }

  see(point: Float64Array): Sight {
    const { covariances } = this.#covariances(point);
    const mean = dot(covariances, this.#alpha);
    solveLower(this.#factor, covariances);
    return { mean, deviation: Math.sqrt(Math.max(1e-12, this.#scale - dot(covariances, covariances))) };
  }

  seeWithSlopes(point: Float64Array): Slopes {
    const { covariances, distances } = this.#covariances(point);
    const mean = dot(covariances, this.#alpha);
    const solved = covariances.slice();
    solveLower(this.#factor, solved);
    const deviation = Math.sqrt(Math.max(1e-12, this.#scale - dot(solved, solved)));
    solveUpper(this.#factor, solved);
    const meanSlope = new Float64Array(point.length);
    const deviationSlope = new Float64Array(point.length);
    for (const [index, other] of this.#points.entries()) {
      const slope = 2 * slopeOfKernel(distances[index] as number, this.#scale);
      const onMean = slope * (this.#alpha[index] as number);
      const onVariance = (-slope * (solved[index] as number)) / deviation;
      for (let axis = 0; axis < point.length; axis += 1) {
        if (this.#isChoice[axis]) continue;
        const weighted = (this.#weights[axis] as number) * ((point[axis] as number) - (other[axis] as number));
        meanSlope[axis] = (meanSlope[axis] as number) + onMean * weighted;
        deviationSlope[axis] = (deviationSlope[axis] as number) + onVariance * weighted;
      }
    }
    return { mean, deviation, meanSlope, deviationSlope };
  }

  #covariances(point: Float64Array): { covariances: Float64Array; distances: Float64Array } {
    const distances = new Float64Array(this.#points.length);
    const covariances = new Float64Array(this.#points.length);
    const shape = { weights: this.#weights, isChoice: this.#isChoice };
    for (let index = 0; index < distances.length; index += 1) {
      const distance = squaredDistance(point, this.#points[index] as Float64Array, shape);
      distances[index] = distance;
      covariances[index] = kernel(distance, this.#scale);
    }
    return { covariances, distances };
  }
}

function squaredDistance(
  first: Float64Array,
  second: Float64Array,
  { weights, isChoice }: Pick<KernelShape, "weights" | "isChoice">,
): number {
  let distance = 0;
  for (let axis = 0; axis < first.length; axis += 1) {
    const apart = (first[axis] as number) - (second[axis] as number);
    distance += (weights[axis] as number) * (isChoice[axis] ? (apart === 0 ? 0 : 1) : apart * apart);
  }
  return distance;
}

/** The Cholesky factor of the covariances of points. More noise is added where rounding has made them indefinite. */
function factorOf(points: readonly Float64Array[], shape: KernelShape): Float64Array {
  const size = points.length;
  const matrix = new Float64Array(size * size);
  for (let extra = 1e-9; ; extra *= 10) {
    for (let row = 0; row < size; row += 1) {
      for (let other = 0; other < row; other += 1)
        matrix[row * size + other] = kernel(
          squaredDistance(points[row] as Float64Array, points[other] as Float64Array, shape),
          shape.scale,
        );
      matrix[row * size + row] = shape.scale + shape.noise + extra;
    }
    if (factorize(matrix, size)) return matrix;
  }
}

/** The hyperparameters under which values are most likely, starting from some, with a limited number of evaluations. */
export function fitHyperparameters(
  points: readonly Float64Array[],
  values: readonly number[],
  { isChoice, start, evaluations }: { isChoice: readonly boolean[]; start: Hyperparameters; evaluations: number },
): { at: Hyperparameters; loss: number } {
  const axisCount = isChoice.length;
  const apart = squaredDistances(points, isChoice);
  const box = {
    low: [...isChoice.map(() => WEIGHT_RANGE[0]), SCALE_RANGE[0], NOISE_RANGE[0]],
    high: [...isChoice.map(() => WEIGHT_RANGE[1]), SCALE_RANGE[1], NOISE_RANGE[1]],
  };
  const loss = (at: Float64Array, gradient: Float64Array) => unlikelihood({ apart, values, axisCount }, at, gradient);
  const { point, value } = minimize(loss, start, { box, evaluations, tolerance: 1e-6 });
  return { at: [...point], loss: value };
}

/** By axis: the squared distance of each pair of points, row by row below the diagonal. */
function squaredDistances(points: readonly Float64Array[], isChoice: readonly boolean[]): Float64Array[] {
  const size = points.length;
  return isChoice.map((isOptions, axis) => {
    const column = new Float64Array((size * (size - 1)) / 2);
    let at = 0;
    for (let row = 1; row < size; row += 1) {
      for (let other = 0; other < row; other += 1) {
        const difference = ((points[row] as Float64Array)[axis] as number) - ((points[other] as Float64Array)[axis] as number);
        column[at++] = isOptions ? (difference === 0 ? 0 : 1) : difference * difference;
      }
    }
    return column;
  });
}

interface Likelihood {
  readonly apart: readonly Float64Array[];
  readonly values: readonly number[];
  readonly axisCount: number;
}

/** Minus the logarithm of the posterior of hyperparameters, with its gradient. */
function unlikelihood({ apart, values, axisCount }: Likelihood, at: Float64Array, gradient: Float64Array): number {
  const size = values.length;
  const scale = Math.exp(at[axisCount] as number);
  const noise = Math.exp(at[axisCount + 1] as number);
  const distances = new Float64Array((size * (size - 1)) / 2);
  for (let axis = 0; axis < axisCount; axis += 1) {
    const weight = Math.exp(at[axis] as number);
    const column = apart[axis] as Float64Array;
    for (let pair = 0; pair < distances.length; pair += 1)
      distances[pair] = (distances[pair] as number) + weight * (column[pair] as number);
  }
  const covariances = distances.map((distance) => kernel(distance, scale));
  const factor = new Float64Array(size * size);
  for (let row = 0, pair = 0; row < size; row += 1) {
    for (let column = 0; column < row; column += 1) factor[row * size + column] = covariances[pair++] as number;
    factor[row * size + row] = scale + noise + 1e-9;
  }
  if (!factorize(factor, size)) {
    gradient.fill(0);
    return Number.POSITIVE_INFINITY;
  }
  const alpha = Float64Array.from(values);
  solveLower(factor, alpha);
  solveUpper(factor, alpha);
  let loss = 0;
  for (let row = 0; row < size; row += 1)
    loss += 0.5 * (values[row] as number) * (alpha[row] as number) + Math.log(factor[row * size + row] as number);
  const inverse = inverseOf(factor, size);
  // Half of each entry's part in the trace: the gradient is a sum over pairs of points.
  let byScale = 0;
  let byNoise = 0;
  const byDistance = new Float64Array(distances.length);
  for (let row = 0, pair = 0; row < size; row += 1) {
    for (let column = 0; column < row; column += 1, pair += 1) {
      const part = (inverse[row * size + column] as number) - (alpha[row] as number) * (alpha[column] as number);
      byScale += part * (covariances[pair] as number);
      byDistance[pair] = part * slopeOfKernel(distances[pair] as number, scale);
    }
    const own = (inverse[row * size + row] as number) - (alpha[row] as number) ** 2;
    byScale += 0.5 * own * scale;
    byNoise += 0.5 * own * noise;
  }
  for (let axis = 0; axis < axisCount; axis += 1)
    gradient[axis] = Math.exp(at[axis] as number) * dot(byDistance, apart[axis] as Float64Array);
  gradient[axisCount] = byScale;
  gradient[axisCount + 1] = byNoise;
  return loss + unprior(at, gradient, axisCount);
}

/** Minus the logarithm of the priors: lengths neither tiny nor endless, a scale near 1, little noise. */
function unprior(at: Float64Array, gradient: Float64Array, axisCount: number): number {
  let loss = 0;
  for (let axis = 0; axis < axisCount; axis += 1) {
    const weight = Math.exp(at[axis] as number);
    loss += 0.1 / weight + 0.1 * weight;
    gradient[axis] = (gradient[axis] as number) - 0.1 / weight + 0.1 * weight;
  }
  const scale = Math.exp(at[axisCount] as number);
  const noise = Math.exp(at[axisCount + 1] as number);
  loss += scale - (at[axisCount] as number) + 30 * noise;
  gradient[axisCount] = (gradient[axisCount] as number) + scale - 1;
  gradient[axisCount + 1] = (gradient[axisCount + 1] as number) + 30 * noise;
  return loss;
}

/** Matérn 5/2 of a squared distance. */
function kernel(squared: number, scale: number): number {
  const distance = ROOT_FIVE * Math.sqrt(squared);
  return scale * (1 + distance + (5 / 3) * squared) * Math.exp(-distance);
}

/** The derivative of the kernel by the squared distance. */
function slopeOfKernel(squared: number, scale: number): number {
  const distance = ROOT_FIVE * Math.sqrt(squared);
  return -(5 / 6) * scale * (1 + distance) * Math.exp(-distance);
}

function dot(first: Float64Array, second: Float64Array): number {
  let sum = 0;
  for (let index = 0; index < first.length; index += 1) sum += (first[index] as number) * (second[index] as number);
  return sum;
}
