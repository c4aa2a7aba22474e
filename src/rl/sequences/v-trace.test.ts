import { expect, test } from "vitest";
import { estimateAdvantages } from "./advantages.ts";
import { SEQUENCE_END } from "./fragment.ts";
import { estimateVTrace } from "./v-trace.ts";

const { CUT, TERMINATED, TRUNCATED } = SEQUENCE_END;

interface Episode {
  readonly rewards: readonly number[];
  /** Values of the states before and after each reward. */
  readonly values: readonly number[];
  readonly ratios: readonly number[];
  readonly end: number;
}

const EPISODES: readonly Episode[] = [
  { rewards: [1, 2, 3], values: [0.5, -1, 2, 7], ratios: [0.5, 2, 1.5], end: TERMINATED },
  { rewards: [-1, 0.5], values: [3, 1, 4], ratios: [1, 0.1], end: TRUNCATED },
  { rewards: [0, 5], values: [1, 1, -2], ratios: [3, 0.2], end: CUT },
];
const rewards = Float32Array.from(EPISODES.flatMap((episode) => episode.rewards));
const values = Float32Array.from(EPISODES.flatMap((episode) => episode.values));
const logRatios = Float32Array.from(
  EPISODES.flatMap(({ ratios }) => ratios),
  Math.log,
);
const sequences = Int32Array.of(0, 3, TERMINATED, 3, 2, TRUNCATED, 5, 2, CUT);
const batch = { rows: 7, rewards, sequences };

/** The definition: a sum of errors, each with a product of ratios, for every step anew. */
function slowTargets({ rewards: earned, values: given, ratios, end }: Episode, gamma: number, clip: number): number[] {
  const valueAt = (step: number): number => (step === earned.length && end === TERMINATED ? 0 : (given[step] as number));
  return earned.map((_, from) => {
    let [sum, factor] = [valueAt(from), 1];
    for (let step = from; step < earned.length; step += 1) {
      const ratio = ratios[step] as number;
      sum += factor * Math.min(clip, ratio) * ((earned[step] as number) + gamma * valueAt(step + 1) - valueAt(step));
      factor *= gamma * Math.min(1, ratio);
    }
    return sum;
  });
}

test.each([
  [1, 1, 1],
  [0.9, 1, 0.8],
  [0.9, 2, 3],
])(
  "targets and advantages with gamma %d, clipped at %d and %d, are those of the definition, at all three ends",
  (gamma, clipRho, clipPgRho) => {
    const { advantages, valueTargets } = estimateVTrace(batch, { values, logRatios, gamma, clipRho, clipPgRho });
    let row = 0;
    for (const episode of EPISODES) {
      const targets = slowTargets(episode, gamma, clipRho);
      const last = episode.end === TERMINATED ? 0 : (episode.values.at(-1) as number);
      for (const [step, target] of targets.entries()) {
        expect(valueTargets[row]).toBeCloseTo(target, 4);
        const next = targets[step + 1] ?? last;
        const error = (episode.rewards[step] as number) + gamma * next - (episode.values[step] as number);
        expect(advantages[row]).toBeCloseTo(Math.min(clipPgRho, episode.ratios[step] as number) * error, 4);
        row += 1;
      }
    }
  },
);

test("with the policy that sampled, targets are the discounted returns", () => {
  const options = { values, logRatios: new Float32Array(7), gamma: 0.9, clipRho: 1, clipPgRho: 1 };
  const { valueTargets } = estimateVTrace(batch, options);
  const returns = estimateAdvantages(batch, values, { gamma: 0.9, lambda: 1 });
  for (const [row, target] of valueTargets.entries()) expect(target).toBeCloseTo(returns.valueTargets[row] as number, 5);
});

test("a truncated episode is worth its last observation, a terminated one is not", () => {
  const one = (end: number): number =>
    estimateVTrace(
      { rows: 1, rewards: Float32Array.of(1), sequences: Int32Array.of(0, 1, end) },
      { values: Float32Array.of(0, 10), logRatios: new Float32Array(1), gamma: 0.5, clipRho: 1, clipPgRho: 1 },
    ).valueTargets[0] as number;
  expect([one(TERMINATED), one(TRUNCATED), one(CUT)]).toEqual([1, 6, 6]);
});
