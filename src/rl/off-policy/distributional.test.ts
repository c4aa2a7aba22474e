import { expect, test } from "vitest";
import { project } from "./distributional.ts";

const support = Float32Array.of(-1, 0, 1, 2);
const projected = (probabilities: readonly number[], reward: number, discount: number): number[] =>
  Array.from(
    project(Float32Array.from(probabilities), { rewards: Float32Array.of(reward), discounts: Float32Array.of(discount), support })
      .projected,
  );

test("mass on a support point stays whole", () => {
  expect(projected([0.25, 0.25, 0.5, 0], 1, 1)).toEqual([0, 0.25, 0.25, 0.5]);
});

test("mass between two points is shared by distance", () => {
  expect(projected([0, 1, 0, 0], 0.25, 1)).toEqual([0, 0.75, 0.25, 0]);
});

test("mass beyond the support counts at its ends", () => {
  expect(projected([0.5, 0, 0, 0.5], 10, 1)).toEqual([0, 0, 0, 1]);
  expect(projected([0.5, 0, 0, 0.5], -10, 1)).toEqual([1, 0, 0, 0]);
});

test("behind an ended episode all mass lies at the reward", () => {
  expect(projected([0.1, 0.2, 0.3, 0.4], 1, 0).map((mass) => Math.round(mass * 1e6) / 1e6)).toEqual([0, 0, 1, 0]);
});

test("rows whose mean lies beyond the support are counted", () => {
  const rewards = Float32Array.of(0, 9);
  const { outside } = project(new Float32Array(8).fill(0.25), { rewards, discounts: Float32Array.of(1, 1), support });
  expect(outside).toBe(1);
});
