import fc from "fast-check";
import { expect, test } from "vitest";
import { scope } from "../../tensor/index.ts";
import { buildModule } from "../modules/module-spec.ts";
import { type Fragment, SEQUENCE_END } from "../sequences/fragment.ts";
import { Box } from "../spaces/box.ts";
import { Discrete } from "../spaces/discrete.ts";
import { RecordedSteps } from "./recorded-steps.ts";
import { SampleOrder } from "./sample-order.ts";

const spec = { moduleClass: undefined, modelConfig: { fcnetHiddens: [2] }, normalizeActions: true, clipActions: false };
const built = buildModule(spec, { observationSpace: new Box({ low: 0, high: 9999, shape: [1] }), actionSpace: new Discrete(9) });

interface Episode {
  readonly rewards: readonly number[];
  readonly end: number;
}

const episode = fc.record<Episode>({
  rewards: fc.array(fc.integer({ min: -5, max: 5 }), { minLength: 1, maxLength: 6 }),
  end: fc.constantFrom<number>(SEQUENCE_END.CUT, SEQUENCE_END.TERMINATED, SEQUENCE_END.TRUNCATED),
});

/** The observation of step `t` of episode `index` is `10 index + t`, and the action `t`. */
function fragmentOf(episodes: readonly Episode[]): Fragment {
  let row = 0;
  const sequences = episodes.flatMap(({ rewards, end }) => {
    row += rewards.length;
    return [row - rewards.length, rewards.length, end];
  });
  return {
    rows: row,
    obs: Float32Array.from(episodes.flatMap(({ rewards }, index) => Array.from({ length: rewards.length + 1 }, (_, t) => 10 * index + t))),
    actions: Int32Array.from(episodes.flatMap(({ rewards }) => Array.from(rewards.keys()))),
    rewards: Float32Array.from(episodes.flatMap(({ rewards }) => rewards)),
    actionLogp: new Float32Array(row),
    actionDistInputs: new Float32Array(0),
    sequences: Int32Array.from(sequences),
    environments: new Int32Array(episodes.length),
    states: new Float32Array(0),
  };
}

const everyStep = (episodes: readonly Episode[]): { index: number; t: number; episode: Episode }[] =>
  episodes.flatMap((own, index) => Array.from(own.rewards.keys(), (t) => ({ index, t, episode: own })));

test("returns and transitions are those of a slow sum over each episode", () => {
  fc.assert(
    fc.property(fc.array(episode, { minLength: 1, maxLength: 5 }), fc.integer({ min: 1, max: 4 }), (episodes, nStep) => {
      const steps = new RecordedSteps(fragmentOf(episodes), { built, gamma: 0.5 });
      const places = everyStep(episodes);
      const chosen = Int32Array.from(places.keys()).reverse();
      const found = scope(() => {
        const { obs, actions, returns, lastObs, discounts } = steps.returnsOf(chosen);
        return { obs: obs.toArray(), actions, returns: returns.toArray(), lastObs: lastObs.toArray(), discounts: discounts.toArray() };
      });
      const batch = steps.transitionsOf(chosen, nStep);
      for (const [place, row] of chosen.entries()) {
        const { index, t, episode: own } = places[row] as (typeof places)[number];
        const left = own.rewards.slice(t);
        const sum = (rewards: readonly number[]): number => rewards.reduce((total, reward, at) => total + reward * 0.5 ** at, 0);
        const hasEnded = own.end === SEQUENCE_END.TERMINATED;
        expect([found.obs[place], found.actions[place]]).toEqual([10 * index + t, t]);
        expect(found.returns[place]).toBeCloseTo(sum(left), 5);
        expect(found.lastObs[place]).toBe(10 * index + own.rewards.length);
        expect(found.discounts[place]).toBeCloseTo(hasEnded ? 0 : 0.5 ** left.length, 6);
        const taken = left.slice(0, nStep);
        expect([batch.obs[place], batch.actions[place]]).toEqual([10 * index + t, t]);
        expect(batch.rewards[place]).toBeCloseTo(sum(taken), 5);
        expect(batch.nextObs[place]).toBe(10 * index + t + taken.length);
        expect(batch.discounts[place]).toBeCloseTo(hasEnded && taken.length === left.length ? 0 : 0.5 ** taken.length, 6);
      }
    }),
    { numRuns: 50 },
  );
});

test("each pass has every row once, in another order, and a state goes on where it was taken", () => {
  const order = new SampleOrder(10, 1);
  const drawn = Array.from({ length: 8 }, () => Array.from(order.next(5)));
  const passes = [0, 1, 2, 3].map((pass) => [...(drawn[2 * pass] ?? []), ...(drawn[2 * pass + 1] ?? [])]);
  for (const pass of passes) expect(pass.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(passes[1]).not.toEqual(passes[0]);
  const again = new SampleOrder(10, 1);
  again.next(13);
  const restored = new SampleOrder(10, 1);
  restored.setState(again.getState());
  const wanted = again.next(20);
  expect(restored.next(20)).toEqual(wanted);
  expect(new SampleOrder(10, 2).next(10)).not.toEqual(new SampleOrder(10, 1).next(10));
});

test("a state of a larger recording goes on with the next pass", () => {
  const larger = new SampleOrder(100, 1);
  larger.next(90);
  const order = new SampleOrder(4, 1);
  order.setState(larger.getState());
  expect(Array.from(order.next(4)).toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3]);
});
