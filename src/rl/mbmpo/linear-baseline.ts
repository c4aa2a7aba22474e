/**
 * A baseline that is linear in features of the observation and of time: the observation, its squares, and powers of the step.
 *
 * Fitted to the discounted returns of episodes of equal length by ridge regression, as in the tests of Duan and others, arXiv:1604.06778.
 * Sums are float64.
 */

/** Episodes of equal length: `obs` has `steps + 1` rows an episode, `rewards` has `steps`. */
interface Episodes {
  readonly count: number;
  readonly steps: number;
  readonly obs: Float32Array;
  readonly rewards: Float32Array;
}

/** Added to the diagonal, so that features that hardly vary get small weights. */
const RIDGE = 1e-5;
/** The step is divided by this, so that its powers stay small. */
const TIME_UNIT = 100;

/** The fitted returns behind each observation, `steps + 1` an episode. Behind the last one nothing follows. */
export function baselineOf({ count, steps, obs, rewards }: Episodes, gamma: number): Float32Array {
  const width = obs.length / (count * (steps + 1));
  const size = 2 * width + 4;
  const features = new Float64Array(size);
  const fill = (row: number, step: number): void => {
    for (let at = 0; at < width; at += 1) {
      const value = obs[row * width + at] as number;
      features[at] = value;
      features[width + at] = value ** 2;
    }
    const time = step / TIME_UNIT;
    features.set([time, time ** 2, time ** 3, 1], 2 * width);
  };
  const squares = Array.from({ length: size }, () => new Float64Array(size + 1));
  for (let episode = 0; episode < count; episode += 1) {
    let following = 0;
    for (let step = steps - 1; step >= 0; step -= 1) {
      following = (rewards[episode * steps + step] as number) + gamma * following;
      fill(episode * (steps + 1) + step, step);
      for (const [at, own] of squares.entries()) {
        const feature = features[at] as number;
        for (let other = 0; other < size; other += 1) own[other] = (own[other] as number) + feature * (features[other] as number);
        own[size] = (own[size] as number) + feature * following;
      }
    }
  }
  for (const [at, own] of squares.entries()) own[at] = (own[at] as number) + RIDGE;
  const weights = solved(squares);
  const values = new Float32Array(count * (steps + 1));
  for (let episode = 0; episode < count; episode += 1)
    for (let step = 0; step < steps; step += 1) {
      const row = episode * (steps + 1) + step;
      fill(row, step);
      values[row] = features.reduce((sum, feature, at) => sum + feature * (weights[at] as number), 0);
    }
  return values;
}

/** Solves a system of equations, whose right side is the last column, in place: Gauss with the largest pivots. */
export function solved(rows: Float64Array[]): Float64Array {
  const size = rows.length;
  for (let at = 0; at < size; at += 1) {
    let best = at;
    for (let other = at + 1; other < size; other += 1)
      if (Math.abs(rows[other]?.[at] as number) > Math.abs(rows[best]?.[at] as number)) best = other;
    [rows[at], rows[best]] = [rows[best] as Float64Array, rows[at] as Float64Array];
    const pivot = rows[at] as Float64Array;
    for (let other = at + 1; other < size; other += 1) {
      const own = rows[other] as Float64Array;
      const factor = (own[at] as number) / (pivot[at] as number);
      for (let column = at; column <= size; column += 1) own[column] = (own[column] as number) - factor * (pivot[column] as number);
    }
  }
  const solution = new Float64Array(size);
  for (let at = size - 1; at >= 0; at -= 1) {
    const own = rows[at] as Float64Array;
    let rest = own[size] as number;
    for (let column = at + 1; column < size; column += 1) rest -= (own[column] as number) * (solution[column] as number);
    solution[at] = rest / (own[at] as number);
  }
  return solution;
}
