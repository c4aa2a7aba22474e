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
/** So many widths from a bound, what lies beyond it is less than a double shows. */
const WHOLE = 8.3;

/** The kernels on one axis: of a number, or of a choice by the observed option. The last is the prior's. */
type Kernels = NumberKernels | { readonly axis: Axis; readonly options: Int32Array };

interface NumberKernels {
  readonly axis: Axis;
  readonly means: Float64Array;
  readonly widths: Float64Array;
  /** Inverses of the widths. */
  readonly sharpness: Float64Array;
}

const NO_OPTION = -1;

/** Weights of points from the oldest to the newest. */
export function weightsByAge(count: number): number[] {
  if (count < FULL_WEIGHT_COUNT) return new Array<number>(count).fill(1);
  const fading = count - FULL_WEIGHT_COUNT;
  const weights = new Array<number>(count).fill(1);
  for (let index = 0; index < fading; index += 1)
    weights[index] = fading === 1 ? 1 / count : 1 / count + ((1 - 1 / count) * index) / (fading - 1);
  return weights;
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
    this.#weights = new Float64Array(this.#kernelCount).fill(PRIOR_WEIGHT);
    this.#weights.set(weights);
    let total = 0;
    for (let kernel = 0; kernel < this.#kernelCount; kernel += 1) total += this.#weights[kernel] as number;
    this.#totalWeight = total;
    this.#constants = new Float64Array(this.#kernelCount);
    for (let kernel = 0; kernel < this.#kernelCount; kernel += 1)
      this.#constants[kernel] = Math.log((this.#weights[kernel] as number) / total);
    this.#columns = axes.map((axis, index) => {
      if (axis.choiceCount > 0) {
        const options = new Int32Array(this.#kernelCount).fill(NO_OPTION);
        for (let kernel = 0; kernel < points.length; kernel += 1) options[kernel] = (points[kernel] as readonly number[])[index] as number;
        return { axis, options };
      }
      const means = new Float64Array(this.#kernelCount).fill(0.5);
      for (let kernel = 0; kernel < points.length; kernel += 1) means[kernel] = (points[kernel] as readonly number[])[index] as number;
      const widths = widthsOf(means);
      const sharpness = new Float64Array(this.#kernelCount);
      for (let kernel = 0; kernel < this.#kernelCount; kernel += 1) sharpness[kernel] = 1 / (widths[kernel] as number);
      return { axis, means, widths, sharpness };
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
    const byPoint = points.map(() => this.#constants.slice());
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
      // Most kernels are narrow, and lose nothing at the bounds.
      const isWhole = mean > WHOLE * width && 1 - mean > WHOLE * width;
      const lost = isWhole ? 0 : Math.log(normalMass(-mean / width, (1 - mean) / width));
      const factor = axis.halfStep > 0 ? 0 : Math.log(width) + LOG_SQRT_TWO_PI;
      this.#constants[kernel] = (this.#constants[kernel] as number) - lost - factor;
    }
  }
}

function addLogDensities(logs: Float64Array, { means, sharpness }: NumberKernels, value: number): void {
  for (let kernel = 0; kernel < logs.length; kernel += 1) {
    const z = (value - (means[kernel] as number)) * (sharpness[kernel] as number);
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
  for (let index = 0; index < logs.length; index += 1) if ((logs[index] as number) > largest) largest = logs[index] as number;
  if (largest === Number.NEGATIVE_INFINITY) return largest;
  let sum = 0;
  for (let index = 0; index < logs.length; index += 1) {
    const log = logs[index] as number;
    if (log > largest - 40) sum += Math.exp(log - largest);
  }
  return largest + Math.log(sum);
}

/** Sorting keys hold a value in steps of 2^-32 and, below, the index of its kernel. */
const KEY_VALUES = 2 ** 32;
const KEY_INDEXES = 2 ** 20;

/** The widths of kernels whose last is the prior's. */
function widthsOf(means: Float64Array): Float64Array {
  const count = means.length - 1;
  const widths = new Float64Array(means.length);
  widths[count] = 1;
  // Sorts plain numbers: a sort with a comparison function takes five times as long.
  const keys = new Float64Array(count);
  for (let kernel = 0; kernel < count; kernel += 1)
    keys[kernel] = Math.floor((means[kernel] as number) * KEY_VALUES) * KEY_INDEXES + kernel;
  keys.sort();
  const least = 1 / Math.min(NARROWING_MAX, count + 2);
  let below = 0;
  for (let rank = 0; rank < count; rank += 1) {
    const kernel = (keys[rank] as number) % KEY_INDEXES;
    const mean = means[kernel] as number;
    const above = rank < count - 1 ? (means[(keys[rank + 1] as number) % KEY_INDEXES] as number) - mean : 0;
    // The outermost points look inwards only: the bounds of a space say nothing of where points lie. A single point looks to both.
    widths[kernel] = Math.min(1, Math.max(least, count > 1 ? Math.max(below, above) : Math.max(mean, 1 - mean)));
    below = above;
  }
  return widths;
}
