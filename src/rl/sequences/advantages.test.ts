import { expect, test } from "vitest";
import { estimateAdvantages, standardize } from "./advantages.ts";
import { joinFragments, SEQUENCE_END } from "./fragment.ts";
import { FragmentWriter } from "./fragment.ts";

const { CUT, TERMINATED, TRUNCATED } = SEQUENCE_END;

/** The definition: the discounted sum of one-step errors, which ends with the sequence. */
function slowAdvantage(
  rewards: readonly number[],
  values: readonly number[],
  { from, end, gamma, lambda }: { from: number; end: number; gamma: number; lambda: number },
): number {
  let sum = 0;
  for (let step = from; step < rewards.length; step += 1) {
    const next = step === rewards.length - 1 && end === TERMINATED ? 0 : (values[step + 1] as number);
    sum += (gamma * lambda) ** (step - from) * ((rewards[step] as number) + gamma * next - (values[step] as number));
  }
  return sum;
}

test.each([
  [1, 1],
  [0.9, 0.95],
  [0.5, 0],
])("advantages with gamma %d and lambda %d are those of the definition, at all three ends", (gamma, lambda) => {
  const episodes = [
    { rewards: [1, 2, 3], values: [0.5, -1, 2, 7], end: TERMINATED },
    { rewards: [-1], values: [3, 4], end: TRUNCATED },
    { rewards: [0, 5], values: [1, 1, -2], end: CUT },
  ];
  const rewards = Float32Array.from(episodes.flatMap((episode) => episode.rewards));
  const values = Float32Array.from(episodes.flatMap((episode) => episode.values));
  const sequences = Int32Array.of(0, 3, TERMINATED, 3, 1, TRUNCATED, 4, 2, CUT);
  const { advantages, valueTargets } = estimateAdvantages({ rows: 6, rewards, sequences }, values, { gamma, lambda });
  const expected = episodes.flatMap((episode) =>
    episode.rewards.map((_, from) => slowAdvantage(episode.rewards, episode.values, { ...episode, from, gamma, lambda })),
  );
  const used = episodes.flatMap((episode) => episode.values.slice(0, -1));
  for (const [row, advantage] of expected.entries()) {
    expect(advantages[row]).toBeCloseTo(advantage, 5);
    expect(valueTargets[row]).toBeCloseTo(advantage + (used[row] as number), 5);
  }
});

test("standardized columns have mean 0 and deviation 1; equal numbers are not blown up", () => {
  const column = Float32Array.of(1, 2, 3, 4);
  standardize(column);
  expect(column.reduce((sum, value) => sum + value, 0)).toBeCloseTo(0, 6);
  expect(column.reduce((sum, value) => sum + value ** 2, 0) / 4).toBeCloseTo(1, 5);
  const equal = Float32Array.of(5, 5 + 1e-6, 5);
  standardize(equal);
  expect(Math.max(...equal.map(Math.abs))).toBeLessThan(0.1);
});

test("a fragment has its rows environment by environment, one observation more a sequence, and joins others", () => {
  const fragment = (first: number) => {
    const writer = new FragmentWriter(2, 1, {
      sizes: { obs: 1, actions: 1, actionDistInputs: 1 },
      memory: { size: 2, maxSeqLen: 1 },
      makeActions: (rows) => new Int32Array(rows),
      firstEnv: 0,
    });
    for (let step = 0; step < 2; step += 1)
      for (const env of [0, 1]) {
        const obs = Float32Array.of(first + step, first + 10 + step);
        writer.addRow(env, {
          obs,
          actions: Int32Array.of(step, step),
          inputs: obs,
          logp: -step,
          states: Float32Array.of(step, -1, 10 + step, -2),
        });
        writer.reward(env, 100 * env + step);
        if (env === 1 && step === 0) writer.close(env, TERMINATED, Float32Array.of(99), 0);
      }
    for (const env of [0, 1]) writer.close(env, CUT, Float32Array.of(7, 8), env);
    return writer.finish();
  };
  const one = fragment(0);
  expect(Array.from(one.obs)).toEqual([0, 1, 7, 10, 99, 11, 8]);
  expect(Array.from(one.rewards)).toEqual([0, 1, 100, 101]);
  expect(Array.from(one.sequences)).toEqual([0, 2, CUT, 2, 1, TERMINATED, 3, 1, CUT]);
  expect(Array.from(one.states)).toEqual([0, -1, 1, -1, 10, -2, 11, -2]);
  const joined = joinFragments([one, fragment(20)]);
  expect(joined.rows).toBe(8);
  expect(Array.from(joined.obs)).toEqual([0, 1, 7, 10, 99, 11, 8, 20, 21, 7, 30, 99, 31, 8]);
  expect(Array.from(joined.sequences.subarray(9))).toEqual([4, 2, CUT, 6, 1, TERMINATED, 7, 1, CUT]);
});
