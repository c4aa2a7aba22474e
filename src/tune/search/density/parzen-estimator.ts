/**
 * A density over some axes: a mixture with one kernel for each observed point and a wide one for the prior.
 *
 * The kernel of a point is the product of a normal distribution cut to the unit interval for each number, and for each choice a distribution that prefers
 * the observed option. The width on an axis is the distance to the farther neighbour there, so that the density is fine where points are close. The rules
 * (prior, widths, weights), unless a caller narrows the widths, are those of Optuna's sampler, after Bergstra et al. 2011. TPE compares two such densities.
 *
 * Exponentials and memory dominate the time, so axes of single values (choices, integers, steps) share the parts that equal kernels have in
 * common.
 */
import type { Random } from "../../spaces/random.ts";
import { type Axis, cellOf, fromUnit, toUnit } from "../numbers/axes.ts";
import { LOG_SQRT_TWO_PI, normalMass, truncatedNormalQuantile } from "../numbers/normal-distribution.ts";

/** The weight of the prior's kernel. */
const PRIOR_WEIGHT = 1;
/** So many newest points have full weight; older ones fade. */
const FULL_WEIGHT_COUNT = 25;
/** Widths are at least the interval divided by the number of kernels, or by this. */
const NARROWING_MAX = 100;
/** A cell narrower than this part of the kernel's width gets the density of the middle: the error is below 0.3 %. */
const NARROW_CELL = 0.25;
/** At a distance of this many widths from a bound, the part beyond it is less than a double shows. */
const WHOLE = 8.3;
/** A kernel whose logarithm is this far below the largest adds less than 2e-11 of that. */
const NEGLIGIBLE = 25;
/**
 * At a distance of this many widths from the mean, a kernel on a single axis adds less than 2e-14 of the weight, where the prior's kernel
 * adds most of the density.
 */
const REACH = 8.4;
const SQRT_TWO_PI = Math.sqrt(2 * Math.PI);
/** Values of exp(-x) for `x` up to there, with this many for each step of 1. */
const EXP_STEPS = 32;
const EXP_TABLE = Float64Array.from({ length: 36 * EXP_STEPS + 1 }, (_, step) => Math.exp(-step / EXP_STEPS));

/** The kernels on one axis. The last is the prior's. */
type Kernels = ContinuousKernels | ShapedKernels;

interface ContinuousKernels {
  readonly axis: Axis;
  readonly means: Float64Array;
  /** Inverses of the widths. */
  readonly sharpness: Float64Array;
  /** The kernels by their means, without the prior's. */
  readonly order: Int32Array;
}

/** Kernels on an axis of single values, where many are equal: of one shape. */
interface ShapedKernels {
  readonly axis: Axis;
  readonly shapeOf: Int32Array;
  readonly shapes: Shapes;
}

/** Shapes of a choice are its options, and one more, the prior's. Shapes of a number have means and widths. */
type Shapes = { readonly count: number } & ({ readonly means: Float64Array; readonly widths: Float64Array } | { readonly prior: number });

/** Weights of points from the oldest to the newest. */
export function weightsByAge(count: number): Float64Array {
  const weights = new Float64Array(count).fill(1);
  const fading = count - FULL_WEIGHT_COUNT;
  for (let index = 0; index < fading; index += 1)
    weights[index] = fading === 1 ? 1 / count : 1 / count + ((1 - 1 / count) * index) / (fading - 1);
  return weights;
}

export class ParzenEstimator {
  readonly #weights: Float64Array;
  readonly #totalWeight: number;
  readonly #columns: readonly Kernels[];
  /** The part of the prior in each kernel of a choice. */
  readonly #spread: number;

  /** `columns` have for each of `axes` the values of all points, from the oldest to the newest. `narrowing` divides the least width. */
  constructor(
    axes: readonly Axis[],
    columns: readonly Float64Array[],
    { weights = weightsByAge(columns[0]?.length ?? 0), narrowing = 1 }: { weights?: Float64Array | undefined; narrowing?: number } = {},
  ) {
    this.#spread = PRIOR_WEIGHT / (weights.length + 1);
    this.#weights = new Float64Array(weights.length + 1).fill(PRIOR_WEIGHT);
    this.#weights.set(weights);
    this.#columns = axes.map((axis, index) => kernelsOf(axis, columns[index] as Float64Array, narrowing));
    const [first] = this.#columns;
    if (this.#columns.length === 1 && first !== undefined && "shapes" in first) {
      // Kernels of one shape are one kernel with the weight of all.
      const weightOf = new Float64Array(first.shapes.count);
      for (const [kernel, shape] of first.shapeOf.entries())
        weightOf[shape] = (weightOf[shape] as number) + (this.#weights[kernel] as number);
      this.#weights = weightOf;
      this.#columns = [{ ...first, shapeOf: Int32Array.from(weightOf.keys()) }];
    }
    let total = 0;
    for (const weight of this.#weights) total += weight;
    this.#totalWeight = total;
  }

  /** Draws a point: one number for each of the axes. */
  sample(random: Random): number[] {
    const kernel = this.#pickKernel(random);
    return this.#columns.map((kernels) => {
      if ("means" in kernels) return drawNumber(random, kernels.means[kernel] as number, 1 / (kernels.sharpness[kernel] as number));
      const { axis, shapes, shapeOf } = kernels;
      const shape = shapeOf[kernel] as number;
      if ("prior" in shapes) return this.#drawOption(axis, shape, random);
      // All values of a cell are equal: its middle represents it, as in observations.
      return toUnit(axis, fromUnit(axis, drawNumber(random, shapes.means[shape] as number, shapes.widths[shape] as number)));
    });
  }

  /** The logarithm of the density at each of some points. */
  logDensities(points: readonly (readonly number[])[]): Float64Array {
    const [first] = this.#columns;
    if (this.#columns.length === 1 && first !== undefined && "means" in first) {
      const line = lineOf(first, this.#weights);
      return Float64Array.from(points, ([value]) => Math.log(sumOfKernels(line, value as number) / this.#totalWeight));
    }
    const constants = this.#constants();
    const logs = new Float64Array(constants.length);
    const known = this.#columns.map(() => new Map<number, Float64Array>());
    return Float64Array.from(points, (point) => {
      logs.set(constants);
      for (const [index, kernels] of this.#columns.entries()) {
        const value = point[index] as number;
        if ("means" in kernels) addLogDensities(logs, kernels, value);
        else addLogMasses(logs, kernels.shapeOf, this.#logMasses(kernels, value, known[index] as Map<number, Float64Array>));
      }
      return logSumExp(logs);
    });
  }

  /** Per kernel: the logarithm of the weight and of the factors that are the same everywhere. */
  #constants(): Float64Array {
    const constants = this.#weights.map((weight) => Math.log(weight / this.#totalWeight));
    for (const kernels of this.#columns) if ("means" in kernels) addFactors(constants, kernels);
    return constants;
  }

  #pickKernel(random: Random): number {
    let rest = random.next() * this.#totalWeight;
    for (let kernel = 0; kernel < this.#weights.length - 1; kernel += 1) {
      rest -= this.#weights[kernel] as number;
      if (rest < 0) return kernel;
    }
    return this.#weights.length - 1;
  }

  /** The kernel of a point gives its option a weight of 1, and spreads the prior's weight, divided by the number of kernels, over all options. */
  #drawOption({ choiceCount }: Axis, shape: number, random: Random): number {
    const isObserved = shape < choiceCount && random.next() * (1 + this.#spread * choiceCount) < 1;
    return isObserved ? shape : random.integer(choiceCount);
  }

  /** The logarithm of the probability of a value, by shape; `known` keeps it for equal values. */
  #logMasses({ axis, shapes }: ShapedKernels, value: number, known: Map<number, Float64Array>): Float64Array {
    const before = known.get(value);
    if (before !== undefined) return before;
    const masses = new Float64Array(shapes.count);
    if ("prior" in shapes) {
      const total = 1 + this.#spread * axis.choiceCount;
      masses.fill(Math.log(this.#spread / total));
      masses[value] = Math.log((1 + this.#spread) / total);
      masses[shapes.prior] = -Math.log(axis.choiceCount);
    } else {
      const cell = cellOf(axis, value);
      for (let shape = 0; shape < masses.length; shape += 1)
        masses[shape] = logMassOf(cell, shapes.means[shape] as number, shapes.widths[shape] as number);
    }
    known.set(value, masses);
    return masses;
  }
}

function kernelsOf(axis: Axis, column: Float64Array, narrowing: number): Kernels {
  const count = column.length;
  if (axis.choiceCount > 0) {
    const shapeOf = new Int32Array(count + 1).fill(axis.choiceCount);
    shapeOf.set(column);
    return { axis, shapeOf, shapes: { count: axis.choiceCount + 1, prior: axis.choiceCount } };
  }
  const order = orderOf(column);
  const means = new Float64Array(count + 1).fill(0.5);
  means.set(column);
  const widths = widthsOf(means, order, narrowing);
  if (axis.halfStep === 0) {
    for (let kernel = 0; kernel < widths.length; kernel += 1) widths[kernel] = 1 / (widths[kernel] as number);
    return { axis, means, sharpness: widths, order };
  }
  const shapeOf = new Int32Array(count + 1);
  const representatives: number[] = [];
  for (const kernel of order) {
    const last = representatives.at(-1);
    if (last === undefined || means[last] !== means[kernel] || widths[last] !== widths[kernel]) representatives.push(kernel);
    shapeOf[kernel] = representatives.length - 1;
  }
  representatives.push(count);
  shapeOf[count] = representatives.length - 1;
  const of = (values: Float64Array) => Float64Array.from(representatives, (kernel) => values[kernel] as number);
  return { axis, shapeOf, shapes: { count: representatives.length, means: of(means), widths: of(widths) } };
}

function drawNumber(random: Random, mean: number, width: number): number {
  return truncatedNormalQuantile(random.next(), { mean, deviation: width, low: 0, high: 1 });
}

/** The probability of the unit interval under a normal distribution. */
function massInside(mean: number, width: number): number {
  // Most kernels are narrow, and lose nothing at the bounds.
  const isWhole = mean > WHOLE * width && 1 - mean > WHOLE * width;
  return isWhole ? 1 : normalMass(-mean / width, (1 - mean) / width);
}

/** Adds the factors for the width of the kernels of a continuous axis, and for their cut to the unit interval. */
function addFactors(constants: Float64Array, { means, sharpness }: ContinuousKernels): void {
  for (let kernel = 0; kernel < constants.length; kernel += 1) {
    const width = 1 / (sharpness[kernel] as number);
    const factor = Math.log(width * massInside(means[kernel] as number, width)) + LOG_SQRT_TWO_PI;
    constants[kernel] = (constants[kernel] as number) - factor;
  }
}

/**
 * Kernels on a single axis, for sums of them. With many points, most kernels have the least allowed width: these are in the order of their
 * means, so that those around a value are found at once.
 */
interface Line {
  readonly narrow: Heights;
  /** The inverse of their width. */
  readonly sharpness: number;
  /** All others, the prior's among them. */
  readonly wide: Wide;
}

type Wide = Heights & { readonly sharpness: Float64Array };

/** Heights of kernels at their means, one for each mean. */
interface Heights {
  readonly means: Float64Array;
  readonly heights: Float64Array;
}

function lineOf({ means, sharpness, order }: ContinuousKernels, weights: Float64Array): Line {
  let sharpest = 0;
  for (let kernel = 0; kernel < sharpness.length; kernel += 1) sharpest = Math.max(sharpest, sharpness[kernel] as number);
  const narrow = new Int32Array(means.length);
  const wide = new Int32Array(means.length);
  let narrowCount = 0;
  let wideCount = 0;
  for (let rank = 0; rank < means.length; rank += 1) {
    const kernel = rank < order.length ? (order[rank] as number) : rank;
    if (sharpness[kernel] === sharpest) narrow[narrowCount++] = kernel;
    else wide[wideCount++] = kernel;
  }
  const heightsOf = (kernels: Int32Array): Wide => {
    const line = {
      means: new Float64Array(kernels.length),
      heights: new Float64Array(kernels.length),
      sharpness: new Float64Array(kernels.length),
    };
    for (let at = 0; at < kernels.length; at += 1) {
      const kernel = kernels[at] as number;
      const mean = means[kernel] as number;
      const sharp = sharpness[kernel] as number;
      line.means[at] = mean;
      line.sharpness[at] = sharp;
      line.heights[at] = ((weights[kernel] as number) * sharp) / (SQRT_TWO_PI * massInside(mean, 1 / sharp));
    }
    return line;
  };
  return { narrow: heightsOf(narrow.subarray(0, narrowCount)), sharpness: sharpest, wide: heightsOf(wide.subarray(0, wideCount)) };
}

/** The sum of kernels at a value. No logarithms are needed on a single axis: the prior's kernel keeps the sum above 0. */
function sumOfKernels({ narrow, sharpness, wide }: Line, value: number): number {
  const { means, heights } = narrow;
  const reach = REACH / sharpness;
  let sum = 0;
  for (let at = firstFrom(means, value - reach); at < means.length; at += 1) {
    const z = (value - (means[at] as number)) * sharpness;
    if (z < -REACH) break;
    sum += (heights[at] as number) * expOfMinus(0.5 * z * z);
  }
  for (let at = 0; at < wide.means.length; at += 1) {
    const z = (value - (wide.means[at] as number)) * (wide.sharpness[at] as number);
    if (z > -REACH && z < REACH) sum += (wide.heights[at] as number) * expOfMinus(0.5 * z * z);
  }
  return sum;
}

/** The index of the first of ascending values that is at least so large. */
function firstFrom(values: Float64Array, least: number): number {
  let from = 0;
  let to = values.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((values[middle] as number) < least) from = middle + 1;
    else to = middle;
  }
  return from;
}

function addLogDensities(logs: Float64Array, { means, sharpness }: ContinuousKernels, value: number): void {
  for (let kernel = 0; kernel < logs.length; kernel += 1) {
    const z = (value - (means[kernel] as number)) * (sharpness[kernel] as number);
    logs[kernel] = (logs[kernel] as number) - 0.5 * z * z;
  }
}

function addLogMasses(logs: Float64Array, shapeOf: Int32Array, masses: Float64Array): void {
  for (let kernel = 0; kernel < logs.length; kernel += 1)
    logs[kernel] = (logs[kernel] as number) + (masses[shapeOf[kernel] as number] as number);
}

function logMassOf({ low, high }: { low: number; high: number }, mean: number, width: number): number {
  const z = ((low + high) / 2 - mean) / width;
  const isNarrow = high - low < NARROW_CELL * width;
  const mass = isNarrow
    ? ((high - low) / width) * Math.exp(-0.5 * z * z - LOG_SQRT_TWO_PI)
    : normalMass((low - mean) / width, (high - mean) / width);
  return Math.log(Math.max(mass, 1e-300) / massInside(mean, width));
}

function logSumExp(logs: Float64Array): number {
  let largest = Number.NEGATIVE_INFINITY;
  for (let index = 0; index < logs.length; index += 1) if ((logs[index] as number) > largest) largest = logs[index] as number;
  let sum = 0;
  for (let index = 0; index < logs.length; index += 1) {
    const below = largest - (logs[index] as number);
    if (below < NEGLIGIBLE) sum += expOfMinus(below);
  }
  return largest + Math.log(sum);
}

/** exp(-below) to ten digits, from the table and four terms of the series: half the time of Math.exp. */
function expOfMinus(below: number): number {
  const step = (below * EXP_STEPS + 0.5) | 0;
  const rest = step / EXP_STEPS - below;
  return (EXP_TABLE[step] as number) * (1 + rest * (1 + rest * (1 / 2 + rest * (1 / 6 + rest / 24))));
}

/**
 * The indexes of values from 0 to 1 in ascending order, as precise as 32 bits. Sorts 64-bit words that hold a value above its index (the machines
 * that Node runs on store the lower half first): a sort with a comparison function takes thirty times as long.
 */
function orderOf(values: Float64Array): Int32Array {
  const words = new BigUint64Array(values.length);
  const halves = new Uint32Array(words.buffer);
  for (let index = 0; index < values.length; index += 1) {
    halves[2 * index] = index;
    halves[2 * index + 1] = Math.min((values[index] as number) * 2 ** 32, 2 ** 32 - 1);
  }
  words.sort();
  const order = new Int32Array(values.length);
  for (let rank = 0; rank < order.length; rank += 1) order[rank] = halves[2 * rank] as number;
  return order;
}

/** The widths of kernels whose last is the prior's; `order` has the others by their means. */
function widthsOf(means: Float64Array, order: Int32Array, narrowing: number): Float64Array {
  const widths = new Float64Array(means.length).fill(1);
  const least = 1 / (narrowing * Math.min(NARROWING_MAX, order.length + 2));
  let below = 0;
  for (let rank = 0; rank < order.length; rank += 1) {
    const kernel = order[rank] as number;
    const mean = means[kernel] as number;
    const above = rank < order.length - 1 ? (means[order[rank + 1] as number] as number) - mean : 0;
    // The outermost points look inwards only: the bounds of a space do not tell where points are. A single point looks to both.
    widths[kernel] = Math.min(1, Math.max(least, order.length > 1 ? Math.max(below, above) : Math.max(mean, 1 - mean)));
    below = above;
  }
  return widths;
}
