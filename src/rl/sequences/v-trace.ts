/**
 * V-trace (arXiv:1802.01561): values and advantages of a policy, from steps that an earlier policy has taken.
 *
 * `v_s = V(s) + sum_t gamma^(t-s) (prod c) rho_t (r_t + gamma V(t+1) - V(t))`, and `A_s = rho_s (r_s + gamma v_(s+1) - V(s))`, with clipped ratios `rho` and `c`.
 *
 * Sums stop at the end of each sequence. After a termination nothing is bootstrapped; after a truncation or a cut the value of the last observation is.
 */
import type { Advantages } from "./advantages.ts";
import { type Fragment, SEQUENCE_END } from "./fragment.ts";

interface VTraceInput {
  /** A value for each observation of the fragment: a sequence has one more than rows. */
  readonly values: Float32Array;
  /** By row: the log-probability of the action today, minus that with which it was drawn. */
  readonly logRatios: Float32Array;
  readonly gamma: number;
  /** The largest ratio that moves values. */
  readonly clipRho: number;
  /** The largest ratio of an advantage. */
  readonly clipPgRho: number;
}

export function estimateVTrace(
  { rows, rewards, sequences }: Pick<Fragment, "rows" | "rewards" | "sequences">,
  { values, logRatios, gamma, clipRho, clipPgRho }: VTraceInput,
): Advantages {
  const advantages = new Float32Array(rows);
  const valueTargets = new Float32Array(rows);
  for (let index = 0; index < sequences.length / 3; index += 1) {
    const start = sequences[3 * index] as number;
    const length = sequences[3 * index + 1] as number;
    const isTerminated = sequences[3 * index + 2] === SEQUENCE_END.TERMINATED;
    let nextValue = isTerminated ? 0 : (values[start + length + index] as number);
    let nextTarget = nextValue;
    for (let row = start + length - 1; row >= start; row -= 1) {
      const value = values[row + index] as number;
      const reward = rewards[row] as number;
      const ratio = Math.exp(logRatios[row] as number);
      const error = Math.min(clipRho, ratio) * (reward + gamma * nextValue - value);
      advantages[row] = Math.min(clipPgRho, ratio) * (reward + gamma * nextTarget - value);
      nextTarget = value + error + gamma * Math.min(1, ratio) * (nextTarget - nextValue);
      valueTargets[row] = nextTarget;
      nextValue = value;
    }
  }
  return { advantages, valueTargets };
}
