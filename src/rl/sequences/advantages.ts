/**
 * Generalized advantage estimation (arXiv:1506.02438) over sequences.
 *
 * Stops at the end of each sequence. After a termination nothing is bootstrapped; after a truncation or a cut the value of the last observation is. Value targets are advantages plus the values
 * that were used for them.
 */
import { type Fragment, SEQUENCE_END } from "./fragment.ts";

export interface Advantages {
  readonly advantages: Float32Array;
  readonly valueTargets: Float32Array;
}

/** @param values - of all observations of the fragment: one more a sequence than there are rows */
export function estimateAdvantages(
  { rows, rewards, sequences }: Pick<Fragment, "rows" | "rewards" | "sequences">,
  values: Float32Array,
  { gamma, lambda }: { gamma: number; lambda: number },
): Advantages {
  const advantages = new Float32Array(rows);
  const valueTargets = new Float32Array(rows);
  for (let index = 0; index < sequences.length / 3; index += 1) {
    const start = sequences[3 * index] as number;
    const length = sequences[3 * index + 1] as number;
    let following = sequences[3 * index + 2] === SEQUENCE_END.TERMINATED ? 0 : (values[start + length + index] as number);
    let advantage = 0;
    for (let row = start + length - 1; row >= start; row -= 1) {
      const value = values[row + index] as number;
      advantage = (rewards[row] as number) + gamma * following - value + gamma * lambda * advantage;
      advantages[row] = advantage;
      valueTargets[row] = advantage + value;
      following = value;
    }
  }
  return { advantages, valueTargets };
}

/** The divisor is at least this, as in Ray: advantages that hardly differ are not blown up. */
const DEVIATION_MIN = 1e-4;

/** The count, the mean and the sum of squared differences of a column. Sums are float64. */
export function momentsOf(column: Float32Array): Float64Array {
  let sum = 0;
  for (const value of column) sum += value;
  const mean = sum / column.length;
  let squares = 0;
  for (const value of column) squares += (value - mean) ** 2;
  return Float64Array.of(column.length, mean, squares);
}

/** The moments of columns together. */
export function joinMoments(all: readonly Float64Array[]): Float64Array {
  const joined = new Float64Array(3);
  for (const [count = 0, mean = 0, squares = 0] of all) {
    const [before = 0, oldMean = 0, oldSquares = 0] = joined;
    const together = before + count;
    const difference = mean - oldMean;
    joined.set([together, oldMean + (difference * count) / together, oldSquares + squares + (difference ** 2 * before * count) / together]);
  }
  return joined;
}

/** Gives a column mean 0 and deviation 1, in place. Default: by its own moments. */
export function standardize(column: Float32Array, [count = 1, mean = 0, squares = 0]: Float64Array = momentsOf(column)): void {
  const deviation = Math.max(DEVIATION_MIN, Math.sqrt(squares / count));
  for (let row = 0; row < column.length; row += 1) column[row] = ((column[row] as number) - mean) / deviation;
}
