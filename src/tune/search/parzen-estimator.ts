/**
 * A density over some axes, as a mixture with one kernel for each observed point and a wide one for what is known before any.
 *
 * The kernel of a point is the product of a normal distribution cut to the unit interval for each number, and for each choice a distribution that prefers
 * the observed option. The width on an axis is the distance to the farther neighbour there, so that the density is fine where points are close. The rules
 * (prior, widths, weights) are those of Optuna's sampler, after Bergstra et al. 2011. TPE compares two such densities.
 */
import type { Random } from "../random.ts";
import { type Axis, cellOf, fromUnit, toUnit } from "./axes.ts";
import { LOG_SQRT_TWO_PI, normalMass, truncatedNormalQuantile } from "./normal-distribution.ts";

/** The weight of the kernel that stands for no observation. */
const PRIOR_WEIGHT = 1;
/** So many newest points have full weight; older ones fade. */
const FULL_WEIGHT_COUNT = 25;
/** Widths are at least the interval divided by the number of kernels, or by this. */
const NARROWING_MAX = 100;
/** A cell narrower than this part of the kernel's width has the density of its middle: the error is below 0.3 %. */
const NARROW_CELL = 0.25;

/** The kernels on one axis: of a number, or of a choice by the observed option. The last is the prior's. */
type Kernels = NumberKernels | { readonly axis: Axis; readonly options: Int32Array };

interface NumberKernels {
  readonly axis: Axis;
  readonly means: Float64Array;
  readonly widths: Float64Array;
}

const NO_OPTION = -1;

/** Weights of points from the oldest to the newest. */
export function weightsByAge(count: number): number[] {
  if (count < FULL_WEIGHT_COUNT) return new Array<number>(count).fill(1);
  const fading = count - FULL_WEIGHT_COUNT;
  return Array.from({ length: count }, (_, index) =>
    index >= fading ? 1 : fading === 1 ? 1 / count : 1 / count + ((1 - 1 / count) * index) / (fading - 1),
  );
}

export class ParzenEstimator {
  readonly #kernelCount: number;
  readonly #weights: Float64Array;
  readonly #totalWeight: number;
  readonly #columns: readonly Kernels[];
  /** Per kernel: the logarithm of its weight and of all its constant factors. */
  readonly #constants: Float64Array;

  /** `points` are from the oldest to the newest, and have one number for each of `axes`. */
  constructor(axes: readonly Axis[], points: readonly (readonly number[])[], weights: readonly number[] = weightsByAge(points.length)) {
    this.#kernelCount = points.length + 1;
    this.#weights = Float64Array.from([...weights, PRIOR_WEIGHT]);
    this.#totalWeight = this.#weights.reduce((sum, weight) => sum + weight, 0);
    this.#constants = this.#weights.map((weight) => Math.log(weight / this.#totalWeight));
    this.#columns = axes.map((axis, index) => {
      const observed = points.map((point) => point[index] as number);
      if (axis.choiceCount > 0) return { axis, options: Int32Array.from([...observed, NO_OPTION]) };
      const means = Float64Array.from([...observed, 0.5]);
      return { axis, means, widths: widthsOf(means) };
    });
    for (const kernels of this.#columns) if ("means" in kernels) this.#normalize(kernels);
  }

  /** Draws a point: one number for each of the axes. */
  sample(random: Random): number[] {
    const kernel = this.#pickKernel(random);
    return this.#columns.map((kernels) => {
      if ("options" in kernels) return this.#sampleOption(kernels, kernel, random);
      const { axis, means, widths } = kernels;
      const mean = means[kernel] as number;
      const unit = truncatedNormalQuantile(random.next(), { mean, deviation: widths[kernel] as number, low: 0, high: 1 });
      // All values of a cell are one: its middle stands for it, as in observations.
      return axis.halfStep > 0 ? toUnit(axis, fromUnit(axis, unit)) : unit;
    });
  }

  /** The logarithm of the density at each of some points. */
  logDensities(points: readonly (readonly number[])[]): Float64Array {
    const byPoint = points.map(() => Float64Array.from(this.#constants));
    for (const [index, kernels] of this.#columns.entries()) {
      const cells = new Map<number, Float64Array>();
      for (const [at, logs] of byPoint.entries()) {
        const value = (points[at] as readonly number[])[index] as number;
        if ("options" in kernels) this.#addOptions(logs, kernels, value);
        else if (kernels.axis.halfStep === 0) addLogDensities(logs, kernels, value);
        else addCellMasses(logs, { kernels, value, cells });
      }
    }
    return Float64Array.from(byPoint, logSumExp);
  }

  #pickKernel(random: Random): number {
    let rest = random.next() * this.#totalWeight;
    for (let kernel = 0; kernel < this.#kernelCount - 1; kernel += 1) {
      rest -= this.#weights[kernel] as number;
      if (rest < 0) return kernel;
    }
    return this.#kernelCount - 1;
  }

  /** The kernel of a point gives its option a weight of 1, and spreads the prior's weight, divided by the number of kernels, over all options. */
  #sampleOption({ axis, options }: { axis: Axis; options: Int32Array }, kernel: number, random: Random): number {
    const observed = options[kernel] as number;
    const spread = (PRIOR_WEIGHT * axis.choiceCount) / this.#kernelCount;
    const isObserved = observed !== NO_OPTION && random.next() * (1 + spread) < 1;
    return isObserved ? observed : random.integer(axis.choiceCount);
  }

  #addOptions(logs: Float64Array, { axis, options }: { axis: Axis; options: Int32Array }, chosen: number): void {
    const spread = PRIOR_WEIGHT / this.#kernelCount;
    const total = 1 + spread * axis.choiceCount;
    const matching = Math.log((1 + spread) / total);
    const other = Math.log(spread / total);
    for (let kernel = 0; kernel < logs.length; kernel += 1) {
      const option = options[kernel];
      logs[kernel] = (logs[kernel] as number) + (option === NO_OPTION ? -Math.log(axis.choiceCount) : option === chosen ? matching : other);
    }
  }

  /** Adds to the constants what cutting the kernels to the unit interval and, for continuous axes, their width takes. */
  #normalize({ axis, means, widths }: NumberKernels): void {
    for (let kernel = 0; kernel < this.#kernelCount; kernel += 1) {
      const mean = means[kernel] as number;
      const width = widths[kernel] as number;
      const factor = Math.log(normalMass(-mean / width, (1 - mean) / width)) + (axis.halfStep > 0 ? 0 : Math.log(width) + LOG_SQRT_TWO_PI);
      this.#constants[kernel] = (this.#constants[kernel] as number) - factor;
    }
  }
}

function addLogDensities(logs: Float64Array, { means, widths }: NumberKernels, value: number): void {
  for (let kernel = 0; kernel < logs.length; kernel += 1) {
    const z = (value - (means[kernel] as number)) / (widths[kernel] as number);
    logs[kernel] = (logs[kernel] as number) - 0.5 * z * z;
  }
}

/** Adds each kernel's mass in the cell of a value; `cells` keeps it for equal values. */
function addCellMasses(
  logs: Float64Array,
  { kernels, value, cells }: { kernels: NumberKernels; value: number; cells: Map<number, Float64Array> },
): void {
  let masses = cells.get(value);
  if (masses === undefined) cells.set(value, (masses = logMasses(cellOf(kernels.axis, value), kernels.means, kernels.widths)));
  for (let kernel = 0; kernel < logs.length; kernel += 1) logs[kernel] = (logs[kernel] as number) + (masses[kernel] as number);
}

function logMasses({ low, high }: { low: number; high: number }, means: Float64Array, widths: Float64Array): Float64Array {
  const middle = (low + high) / 2;
  // Observations of few values make few kernels, each many times.
  const seen = new Map<number, Map<number, number>>();
  return means.map((mean, kernel) => {
    const width = widths[kernel] as number;
    if (high - low < NARROW_CELL * width) {
      const z = (middle - mean) / width;
      return Math.log((high - low) / width) - 0.5 * z * z - LOG_SQRT_TWO_PI;
    }
    let byWidth = seen.get(mean);
    if (byWidth === undefined) seen.set(mean, (byWidth = new Map()));
    let mass = byWidth.get(width);
    if (mass === undefined)
      byWidth.set(width, (mass = Math.log(Math.max(normalMass((low - mean) / width, (high - mean) / width), 1e-300))));
    return mass;
  });
}

function logSumExp(logs: Float64Array): number {
  let largest = Number.NEGATIVE_INFINITY;
  for (const log of logs) if (log > largest) largest = log;
  if (largest === Number.NEGATIVE_INFINITY) return largest;
  let sum = 0;
  for (const log of logs) if (log > largest - 40) sum += Math.exp(log - largest);
  return largest + Math.log(sum);
}

/** The widths of kernels whose last is the prior's. */
function widthsOf(means: Float64Array): Float64Array {
  const count = means.length - 1;
  const widths = new Float64Array(means.length);
  widths[count] = 1;
  const sorted = means.slice(0, count).sort();
  const least = 1 / Math.min(NARROWING_MAX, count + 2);
  /** How many kernels with this rank's mean have been given a width: equal means take successive ranks. */
  const taken = new Uint32Array(count);
  for (let kernel = 0; kernel < count; kernel += 1) {
    const first = lowerBound(sorted, means[kernel] as number);
    const rank = first + (taken[first] as number);
    taken[first] = (taken[first] as number) + 1;
    const mean = sorted[rank] as number;
    // The outermost points look inwards only: the bounds of a space say nothing of where points lie.
    const below = rank > 0 ? mean - (sorted[rank - 1] as number) : count > 1 ? 0 : mean;
    const above = rank < count - 1 ? (sorted[rank + 1] as number) - mean : count > 1 ? 0 : 1 - mean;
    widths[kernel] = Math.min(1, Math.max(least, below, above));
  }
  return widths;
}

function lowerBound(sorted: Float64Array, value: number): number {
  let from = 0;
  let to = sorted.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((sorted[middle] as number) < value) from = middle + 1;
    else to = middle;
  }
  return from;
}
