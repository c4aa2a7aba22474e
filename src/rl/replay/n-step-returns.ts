/**
 * Returns over several steps of a fragment, row by row, as a batch of a buffer.
 *
 * A return ends with its sequence. Behind a termination nothing is worth anything; behind a cut or a truncation the last observation is.
 * A buffer that has the next fragment would sum further, so the first priority of the last rows differs a little from a later one.
 */
import { type Fragment, SEQUENCE_END } from "../sequences/fragment.ts";
import type { ReplayBatch } from "./episode-replay.ts";

export function nStepReturns(fragment: Fragment, { size, gamma, nStep }: { size: number; gamma: number; nStep: number }): ReplayBatch {
  const { rows, obs, actions, rewards, sequences } = fragment;
  const batch = {
    rows,
    obs: new Float32Array(rows * size),
    actions,
    rewards: new Float32Array(rows),
    nextObs: new Float32Array(rows * size),
    discounts: new Float32Array(rows),
    weights: new Float32Array(rows).fill(1),
    indices: new Float64Array(rows),
  };
  for (let index = 0; index < sequences.length / 3; index += 1) {
    const start = sequences[3 * index] as number;
    const end = start + (sequences[3 * index + 1] as number);
    const isTerminated = sequences[3 * index + 2] === SEQUENCE_END.TERMINATED;
    for (let row = start; row < end; row += 1) {
      const last = Math.min(row + nStep, end);
      let [sum, discount] = [0, 1];
      for (let step = row; step < last; step += 1) {
        sum += discount * (rewards[step] as number);
        discount *= gamma;
      }
      batch.rewards[row] = sum;
      batch.discounts[row] = isTerminated && last === end ? 0 : discount;
      batch.obs.set(obs.subarray((row + index) * size, (row + index + 1) * size), row * size);
      batch.nextObs.set(obs.subarray((last + index) * size, (last + index + 1) * size), row * size);
    }
  }
  return batch;
}
