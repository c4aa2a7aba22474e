/** Returns of imagined steps, and the scale by which their differences are divided. */

/** Rows of steps, one after another: step `at` of row `row` is `at x rows + row`. Values have one step more. */
interface Imagined {
  readonly rows: number;
  readonly steps: number;
  /** Rewards of the states behind the steps. */
  readonly rewards: Float32Array;
  /** Factor of everything behind each step: gamma times the probability that the episode goes on. */
  readonly discounts: Float32Array;
  readonly values: Float32Array;
}

/** `R_t = r_{t+1} + d_{t+1} ((1 - lambda) V_{t+1} + lambda R_{t+1})`, with the last value behind the last step. */
export function lambdaReturns({ rows, steps, rewards, discounts, values }: Imagined, lambda: number): Float32Array {
  const returns = new Float32Array(steps * rows);
  for (let row = 0; row < rows; row += 1) {
    let following = values[steps * rows + row] as number;
    for (let step = steps - 1; step >= 0; step -= 1) {
      const at = step * rows + row;
      const mixed = (1 - lambda) * (values[at + rows] as number) + lambda * following;
      following = (rewards[at] as number) + (discounts[at] as number) * mixed;
      returns[at] = following;
    }
  }
  return returns;
}

/** The number below which a share of the numbers lies, with straight lines between them. */
export function percentile(sorted: Float32Array, share: number): number {
  const place = share * (sorted.length - 1);
  const below = Math.floor(place);
  const [low, high] = [sorted[below] as number, sorted[Math.min(sorted.length - 1, below + 1)] as number];
  return low + (high - low) * (place - below);
}
