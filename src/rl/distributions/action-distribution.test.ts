import { expect, test } from "vitest";
import { Random, scope, tensor } from "../../tensor/index.ts";
import { Box } from "../spaces/box.ts";
import { Discrete } from "../spaces/discrete.ts";
import type { NumericArray } from "../spaces/dtype.ts";
import { MultiBinary } from "../spaces/multi-binary.ts";
import { MultiDiscrete } from "../spaces/multi-discrete.ts";
import type { Space } from "../spaces/space.ts";
import type { LikelihoodDistribution } from "./action-distribution.ts";
import { SquashedActions } from "./bounded-actions.ts";
import { actionDistribution } from "./choose-distribution.ts";

const OPTIONS = { normalizeActions: true, clipActions: false };
const SPACES: Readonly<Record<string, () => Space>> = {
  Discrete: () => new Discrete(3),
  MultiDiscrete: () => new MultiDiscrete([2, 4]),
  Box: () => new Box({ low: [-2, 0], high: [2, 10] }),
};
const ROWS = 4000;

test.each(Object.entries(SPACES))("%s: draws agree with logp, entropy and kl of the batch", (_, make) => {
  const distribution = actionDistribution(make(), OPTIONS) as LikelihoodDistribution;
  const random = new Random(1);
  const row = Float32Array.from({ length: distribution.inputSize }, () => 0.5 * random.normal());
  const other = row.map((value) => value + 0.1);
  other[0] = (row[0] as number) - 0.3;
  const repeated = (numbers: Float32Array): Float32Array =>
    Float32Array.from({ length: ROWS * numbers.length }, (__, at) => numbers[at % numbers.length] as number);
  const inputs = repeated(row);
  const actions = distribution.actions.allocate(ROWS) as NumericArray;
  const drawn = Float64Array.from({ length: ROWS }, (__, at) => distribution.sample({ inputs, row: at, actions }, random));
  scope(() => {
    const shape = [ROWS, row.length];
    const [now, before] = [tensor(repeated(other), { shape }), tensor(inputs, { shape })];
    const logp = distribution.of(before).logp(actions).toArray();
    for (let at = 0; at < ROWS; at += 1) expect(logp[at]).toBeCloseTo(drawn[at] as number, 4);
    expect(distribution.of(before).entropy().mean().item()).toBeCloseTo(-drawn.reduce((sum, value) => sum + value) / ROWS, 1);
    const kl = distribution.of(now).klFrom(before).mean().item();
    const estimate = drawn.reduce((sum, value) => sum + value) / ROWS - distribution.of(now).logp(actions).mean().item();
    expect(kl).toBeGreaterThan(0);
    expect(Math.abs(kl - estimate)).toBeLessThan(0.02);
    expect(distribution.of(before).klFrom(before).mean().item()).toBeCloseTo(0, 6);
  });
});

test("actions of a Box span its bounds, and are cut there", () => {
  const distribution = actionDistribution(new Box({ low: [-2, 0], high: [2, 10] }), OPTIONS);
  const into = new Float32Array(6);
  distribution.toEnvironment(Float32Array.of(-1, 1, 0, 0, 5, -5), into);
  expect(Array.from(into)).toEqual([-2, 10, 0, 5, 2, 0]);
});

test("choices begin at the start of the space, and the likeliest is chosen", () => {
  const distribution = actionDistribution(new Discrete(3, { start: 5 }), OPTIONS);
  const actions = new Int32Array(1);
  distribution.choose({ inputs: Float32Array.of(0, 2, 1), row: 0, actions });
  const into = new Int32Array(1);
  distribution.toEnvironment(actions, into);
  expect([actions[0], into[0]]).toEqual([1, 6]);
});

test("correlated noise is distributed like independent noise, lasts for steps, and begins anew with an episode", () => {
  const distribution = new SquashedActions(new Box({ low: -1, high: 1 }));
  const drawn = (correlation: number, steps: number, noise?: Float64Array): number[] => {
    const random = new Random(3);
    const actions = new Float32Array(1);
    return Array.from({ length: steps }, () => {
      distribution.sample({ inputs: Float32Array.of(0.2, Math.log(0.5)), row: 0, actions, ...(noise && { noise }) }, random, {
        correlation,
      });
      return (Math.atanh(actions[0] as number) - 0.2) / 0.5;
    });
  };
  const mean = (numbers: readonly number[]): number => numbers.reduce((sum, each) => sum + each, 0) / numbers.length;
  const lasting = drawn(0.9, 40_000, new Float64Array(1));
  expect(mean(lasting)).toBeCloseTo(0, 1);
  expect(mean(lasting.map((each) => each ** 2))).toBeCloseTo(1, 1);
  expect(mean(lasting.slice(1).map((each, at) => each * (lasting[at] as number)))).toBeCloseTo(0.9, 1);
  // The first step has nothing to keep, and a policy without a memory of noise draws independently.
  const independent = drawn(0, 3);
  expect(drawn(0.9, 1, new Float64Array(1))).toEqual(independent.slice(0, 1));
  expect(drawn(0.9, 3)).toEqual(independent);
});

test("a space without a distribution is refused", () => {
  expect(() => actionDistribution(new MultiBinary(2), OPTIONS)).toThrow(
    "Cannot make a policy: the action space is Discrete, MultiDiscrete or Box",
  );
});
