import { expect, test } from "vitest";
import { type Fragment, SEQUENCE_END } from "../sequences/fragment.ts";
import { nStepReturns } from "./n-step-returns.ts";

const { CUT, TERMINATED, TRUNCATED } = SEQUENCE_END;

/** Three sequences of 3, 2 and 1 steps, whose observations say where they are. */
const fragment: Fragment = {
  rows: 6,
  obs: Float32Array.of(0, 1, 2, 3, 10, 11, 12, 20, 21),
  actions: Int32Array.of(0, 1, 0, 1, 0, 1),
  rewards: Float32Array.of(1, 2, 4, 8, 16, 32),
  actionLogp: new Float32Array(6),
  actionDistInputs: new Float32Array(12),
  sequences: Int32Array.of(0, 3, TERMINATED, 3, 2, TRUNCATED, 5, 1, CUT),
  environments: Int32Array.of(0, 0, 1),
  states: new Float32Array(),
};

test("a return over two steps ends with its sequence, and is worth nothing more after a termination", () => {
  const { obs, rewards, nextObs, discounts } = nStepReturns(fragment, { size: 1, gamma: 0.5, nStep: 2 });
  expect(Array.from(obs)).toEqual([0, 1, 2, 10, 11, 20]);
  expect(Array.from(rewards)).toEqual([2, 4, 4, 16, 16, 32]);
  expect(Array.from(nextObs)).toEqual([2, 3, 3, 12, 12, 21]);
  expect(Array.from(discounts)).toEqual([0.25, 0, 0, 0.25, 0.5, 0.5]);
});

test("a return over one step is the step", () => {
  const { rewards, nextObs, discounts } = nStepReturns(fragment, { size: 1, gamma: 0.5, nStep: 1 });
  expect(Array.from(rewards)).toEqual(Array.from(fragment.rewards));
  expect(Array.from(nextObs)).toEqual([1, 2, 3, 11, 12, 21]);
  expect(Array.from(discounts)).toEqual([0.5, 0.5, 0, 0.5, 0.5, 0.5]);
});
