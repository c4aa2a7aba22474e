/**
 * Chooses a configuration for PB2: a Gaussian process over progress, reward and hyperparameters predicts which change gains most
 * (Parker-Holder et al. 2020).
 *
 * The kernel forgets with time (Bogunovic et al. 2016): a squared exponential, times a power of the distance in time. Configurations that were chosen in the same
 * round lower the uncertainty near them, so that the round spreads. Pure; `PB2` keeps the records.
 */
import { factorize, inverseOf, solveLower, solveUpper } from "../../search/numbers/matrix.ts";
import { minimize } from "../../search/numbers/minimize.ts";
import type { Random } from "../../spaces/random.ts";

/** A row: time and reward before the gain, then each hyperparameter, all from 0 to 1. */
type Row = readonly number[];

interface Round {
  /** A row for each gain. */
  readonly rows: readonly Row[];
  /** The gains, standardized. */
  readonly gains: readonly number[];
  /** Time and reward from which the new configuration begins. */
  readonly from: readonly [number, number];
  /** Hyperparameters that were chosen in this round already. */
  readonly chosen: readonly Row[];
}

/** Random places from which the best configuration is searched. */
const STARTS = 10;
const FIT_EVALUATIONS = 40;
const SEARCH_EVALUATIONS = 60;
const TINY = 1e-10;

/** Hyperparameters from 0 to 1 with the largest upper bound of the gain. */
export function chooseHyperparameters({ rows, gains, from, chosen }: Round, random: Random): number[] {
  const process = fitted(rows, gains);
  const width = (rows[0] as Row).length - 2;
  // Configurations chosen in this round have no gain yet: they lower the variance, but the mean does not use them.
  const certain =
    chosen.length === 0 ? process : fitted([...rows, ...chosen.map((each) => [...from, ...each])], [...gains, ...chosen.map(() => 0)]);
  const kappa = Math.sqrt(0.2 + Math.max(0, Math.log(0.4 * rows.length)));
  const worth = (values: ArrayLike<number>) => {
    const row = [...from, ...Array.from(values)];
    return process.mean(row) + kappa * certain.variance(row);
  };
  let best = { value: Number.NEGATIVE_INFINITY, point: new Array<number>(width).fill(0.5) };
  const box = { low: new Array<number>(width).fill(0), high: new Array<number>(width).fill(1) };
  for (let start = 0; start < STARTS; start += 1) {
    const begin = Array.from({ length: width }, () => random.next());
    const { point, value } = minimize((at, slopes) => -differences(worth, at, slopes), begin, { box, evaluations: SEARCH_EVALUATIONS });
    if (-value > best.value) best = { value: -value, point: [...point] };
  }
  return best.point;
}

/** The value, with minus the slopes by central differences in `slopes`. */
function differences(of: (at: Float64Array) => number, at: Float64Array, slopes: Float64Array): number {
  const step = 1e-5;
  for (let axis = 0; axis < at.length; axis += 1) {
    const above = at.slice();
    const below = at.slice();
    above[axis] = Math.min(1, (at[axis] as number) + step);
    below[axis] = Math.max(0, (at[axis] as number) - step);
    slopes[axis] = -(of(above) - of(below)) / ((above[axis] as number) - (below[axis] as number));
  }
  return of(at);
}

/** Logarithms of the variance, of the length and of how fast the past is forgotten. */
type Logs = ArrayLike<number>;
const BOX = { low: [Math.log(1e-5), Math.log(1e-5), Math.log(1e-5)], high: [Math.log(1e5), Math.log(1e5), Math.log(0.5)] };

function kernel(first: Row, second: Row, logs: Logs): number {
  const [variance, length, forgetting] = [Math.exp(logs[0] as number), Math.exp(logs[1] as number), Math.exp(logs[2] as number)];
  let squared = 0;
  for (let axis = 1; axis < first.length; axis += 1) squared += ((first[axis] as number) - (second[axis] as number)) ** 2;
  return variance * Math.exp(-squared / length) * (1 - forgetting) ** (0.5 * Math.abs((first[0] as number) - (second[0] as number)));
}

interface Process {
  mean(row: Row): number;
  variance(row: Row): number;
}

function fitted(rows: readonly Row[], gains: readonly number[]): Process {
  const start = [0, 0, Math.log(0.1)];
  const { point } = minimize((logs, slopes) => unlikelihood(rows, gains, { logs, slopes }), start, {
    box: BOX,
    evaluations: FIT_EVALUATIONS,
  });
  const size = rows.length;
  const factor = factorOf(rows, point);
  const alpha = Float64Array.from(gains);
  solveLower(factor, alpha);
  solveUpper(factor, alpha);
  const covariances = (row: Row) => Float64Array.from({ length: size }, (_, index) => kernel(row, rows[index] as Row, point));
  return {
    mean: (row) => covariances(row).reduce((sum, covariance, index) => sum + covariance * (alpha[index] as number), 0),
    variance: (row) => {
      const solved = covariances(row);
      solveLower(factor, solved);
      return Math.max(0, Math.exp(point[0] as number) - solved.reduce((sum, each) => sum + each * each, 0));
    },
  };
}

/** More noise is added where rounding has made the matrix indefinite. */
function factorOf(rows: readonly Row[], logs: Logs): Float64Array {
  const size = rows.length;
  const matrix = new Float64Array(size * size);
  for (let noise = TINY; ; noise *= 10) {
    for (let row = 0; row < size; row += 1) {
      for (let column = 0; column <= row; column += 1) matrix[row * size + column] = kernel(rows[row] as Row, rows[column] as Row, logs);
      matrix[row * size + row] = (matrix[row * size + row] as number) + noise;
    }
    if (factorize(matrix, size)) return matrix;
  }
}

function unlikelihood(
  rows: readonly Row[],
  gains: readonly number[],
  { logs, slopes }: { logs: Float64Array; slopes: Float64Array },
): number {
  const size = rows.length;
  const factor = factorOf(rows, logs);
  const alpha = Float64Array.from(gains);
  solveLower(factor, alpha);
  solveUpper(factor, alpha);
  const inverse = inverseOf(factor, size);
  const [length, forgetting] = [Math.exp(logs[1] as number), Math.exp(logs[2] as number)];
  slopes.fill(0);
  let loss = 0;
  for (let row = 0; row < size; row += 1) {
    loss += 0.5 * (gains[row] as number) * (alpha[row] as number) + Math.log(factor[row * size + row] as number);
    for (let column = 0; column <= row; column += 1) {
      const part =
        ((inverse[row * size + column] as number) - (alpha[row] as number) * (alpha[column] as number)) * (row === column ? 0.5 : 1);
      const [first, second] = [rows[row] as Row, rows[column] as Row];
      const covariance = kernel(first, second, logs);
      const squared = first.slice(1).reduce((sum, each, axis) => sum + (each - (second[axis + 1] as number)) ** 2, 0);
      const apart = Math.abs((first[0] as number) - (second[0] as number));
      slopes[0] = (slopes[0] as number) + part * covariance;
      slopes[1] = (slopes[1] as number) + (part * covariance * squared) / length;
      slopes[2] = (slopes[2] as number) - (part * covariance * 0.5 * apart * forgetting) / (1 - forgetting);
    }
  }
  return loss;
}
