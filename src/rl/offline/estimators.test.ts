import fc from "fast-check";
import { expect, test } from "vitest";
import { DQNConfig } from "../off-policy/dqn.ts";
import { Policy } from "../algorithms/policy.ts";
import { type BuiltModule, buildModule } from "../modules/module-spec.ts";
import { type Fragment, SEQUENCE_END } from "../sequences/fragment.ts";
import { Box } from "../spaces/box.ts";
import { Discrete } from "../spaces/discrete.ts";
import { estimateOf, importanceSampling } from "./estimators.ts";

/** A policy that takes action 1 with this probability on every observation. */
function policyOf(probability: number): BuiltModule {
  const spec = { moduleClass: undefined, modelConfig: { fcnetHiddens: [] }, normalizeActions: true, clipActions: false };
  const built = buildModule(spec, { observationSpace: new Box({ low: 0, high: 1, shape: [1] }), actionSpace: new Discrete(2) });
  const { data } = built.module.parameters;
  data.fill(0);
  // The bias of the second choice follows two weights and that of the first.
  data[3] = Math.log(probability / (1 - probability));
  return built;
}

interface Step {
  readonly action: number;
  readonly reward: number;
  /** The probability with which it was recorded. */
  readonly probability: number;
}

function fragmentOf(episodes: readonly (readonly Step[])[]): Fragment {
  const steps = episodes.flat();
  let row = 0;
  const sequences = episodes.flatMap(({ length }) => {
    row += length;
    return [row - length, length, SEQUENCE_END.TERMINATED];
  });
  return {
    rows: row,
    obs: new Float32Array(row + episodes.length),
    actions: Int32Array.from(steps, ({ action }) => action),
    rewards: Float32Array.from(steps, ({ reward }) => reward),
    actionLogp: Float32Array.from(steps, ({ probability }) => Math.log(probability)),
    actionDistInputs: new Float32Array(0),
    sequences: Int32Array.from(sequences),
    environments: new Int32Array(episodes.length),
    states: new Float32Array(0),
  };
}

const step = fc.record<Step>({
  action: fc.integer({ min: 0, max: 1 }),
  reward: fc.integer({ min: -5, max: 5 }),
  probability: fc.constantFrom(0.2, 0.5, 0.8),
});
const episodesOf = fc.array(fc.array(step, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 6 });

/** The product of the ratios up to a step. */
const ratioAt = (episode: readonly Step[], t: number, of: number): number =>
  episode.slice(0, t + 1).reduce((product, { action, probability }) => (product * (action === 1 ? of : 1 - of)) / probability, 1);

test("both estimates are those of a slow sum over all episodes and steps", () => {
  fc.assert(
    fc.property(episodesOf, fc.constantFrom(0.1, 0.5, 0.7), (episodes, probability) => {
      const fragment = fragmentOf(episodes);
      const built = policyOf(probability);
      const longest = Math.max(...episodes.map(({ length }) => length));
      let [plain, weighted, behavior] = [0, 0, 0];
      for (let t = 0; t < longest; t += 1) {
        const there = episodes.filter(({ length }) => length > t);
        const ratios = there.map((episode) => ratioAt(episode, t, probability));
        const mean = ratios.reduce((sum, ratio) => sum + ratio, 0) / there.length;
        for (const [index, episode] of there.entries()) {
          const reward = 0.9 ** t * (episode[t] as Step).reward;
          behavior += reward / episodes.length;
          plain += ((ratios[index] as number) * reward) / episodes.length;
          weighted += (((ratios[index] as number) / mean) * reward) / episodes.length;
        }
      }
      const found = [false, true].map((isWeighted) => estimateOf(fragment, built, { gamma: 0.9, isWeighted }));
      const near = (value: number, wanted: number): boolean => Math.abs(value - wanted) <= 1e-3 * Math.max(1, Math.abs(wanted));
      for (const each of found) {
        expect(near(each.vBehavior, behavior)).toBe(true);
        expect(each.vDelta).toBeCloseTo(each.vTarget - each.vBehavior, 9);
        expect(each.numEpisodes).toBe(episodes.length);
      }
      expect(near(found[0]?.vTarget ?? Number.NaN, plain)).toBe(true);
      expect(near(found[1]?.vTarget ?? Number.NaN, weighted)).toBe(true);
    }),
    { numRuns: 50 },
  );
});

test("the policy that recorded is estimated as its own episodes, without a difference", () => {
  const episodes = [1, 2, 3].map((reward) => [{ action: 1, reward, probability: 0.75 }]);
  for (const isWeighted of [false, true]) {
    const { vTarget, vBehavior, vTargetStd, vBehaviorStd } = estimateOf(fragmentOf(episodes), policyOf(0.75), { gamma: 1, isWeighted });
    expect([vTarget, vBehavior]).toEqual([expect.closeTo(2, 5), 2]);
    expect(vTargetStd).toBeCloseTo(vBehaviorStd, 5);
    expect(vBehaviorStd).toBeCloseTo(Math.sqrt(2 / 3), 9);
  }
});

test("policies without probabilities, and calls without input, are refused", async () => {
  const values = new DQNConfig().environment("CartPole-v1").moduleSpec;
  const spaces = { observationSpace: new Box({ low: -9, high: 9, shape: [4] }), actionSpace: new Discrete(2) };
  const greedy = new Policy(buildModule(values, spaces));
  await expect(importanceSampling(greedy, { input: "episodes" })).rejects.toThrow("it takes the best action, which has no probability");
  const policy = new Policy(policyOf(0.5));
  await expect(importanceSampling(policy, {} as never)).rejects.toThrow("{ input } is missing");
  await expect(importanceSampling(policy, { input: "episodes", gamma: 2 })).rejects.toThrow("gamma");
});
