import { expect, test } from "vitest";
import { PrioritizedReplayBuffer, ReplayBuffer } from "./replay-buffer.ts";

const transition = (number: number): { obs: Uint8Array; reward: number; done: boolean } => ({
  obs: Uint8Array.of(number, number + 1),
  reward: number / 2,
  done: number % 2 === 1,
});

test("the newest transitions are kept, in the dtypes of the first", () => {
  const buffer = new ReplayBuffer({ capacity: 3, seed: 1 });
  for (let number = 0; number < 5; number += 1) buffer.add(transition(number));
  const { batch, indices, weights } = buffer.sample(300);
  expect(buffer.size).toBe(3);
  expect(new Set(indices)).toEqual(new Set([2, 3, 4]));
  expect(new Set(weights)).toEqual(new Set([1]));
  for (const [row, index] of indices.entries())
    expect([batch["obs"]?.[2 * row], batch["obs"]?.[2 * row + 1], batch["reward"]?.[row], batch["done"]?.[row]]).toEqual([
      index,
      index + 1,
      index / 2,
      index % 2,
    ]);
  expect([batch["obs"], batch["reward"], batch["done"]].map((column) => column?.constructor)).toEqual([
    Uint8Array,
    Float64Array,
    Uint8Array,
  ]);
});

test("equal seeds draw equally", () => {
  const drawn = [1, 1, 2].map((seed) => {
    const buffer = new ReplayBuffer({ capacity: 100, seed });
    for (let number = 0; number < 50; number += 1) buffer.add(transition(number));
    return Array.from(buffer.sample(20).indices);
  });
  expect(drawn[1]).toEqual(drawn[0]);
  expect(drawn[2]).not.toEqual(drawn[0]);
});

test("priorities decide how often a transition is drawn, and weights correct for it", () => {
  const buffer = new PrioritizedReplayBuffer({ capacity: 10, alpha: 0.5, seed: 1 });
  for (let number = 0; number < 3; number += 1) buffer.add(transition(number));
  buffer.updatePriorities([0, 1, 2], [4, 1, 0]);
  const { indices, weights } = buffer.sample(30_000, { beta: 0.5 });
  const counts = [0, 1, 2].map((index) => indices.filter((each) => each === index).length / indices.length);
  // By the square roots of the priorities, 2, 1 and 0.001.
  expect(counts[0]).toBeCloseTo(2 / 3.001, 1.5);
  expect(counts[1]).toBeCloseTo(1 / 3.001, 1.5);
  expect(counts[2]).toBeGreaterThan(0);
  const weightOf = (index: number): number => weights[indices.indexOf(index)] as number;
  expect(weightOf(2)).toBe(1);
  expect(weightOf(1) / weightOf(0)).toBeCloseTo(Math.SQRT2, 5);
  expect(weightOf(1) / weightOf(2)).toBeCloseTo(Math.sqrt(0.001), 5);
});

test("a new transition has the largest priority so far", () => {
  const buffer = new PrioritizedReplayBuffer({ capacity: 10, alpha: 1, seed: 1 });
  buffer.add(transition(0));
  buffer.updatePriorities([0], [9]);
  buffer.updatePriorities([0], [3]);
  buffer.add(transition(1));
  const { indices } = buffer.sample(10_000);
  expect(indices.filter((index) => index === 1).length / 10_000).toBeCloseTo(9 / 12, 1.5);
});

test("a priority for a transition that was overwritten since the draw changes nothing", () => {
  const buffer = new PrioritizedReplayBuffer({ capacity: 2, alpha: 1, seed: 1 });
  for (let number = 0; number < 2; number += 1) buffer.add(transition(number));
  const { indices } = buffer.sample(1);
  for (let number = 2; number < 4; number += 1) buffer.add(transition(number));
  buffer.updatePriorities(indices, [1e9]);
  const drawn = buffer.sample(10_000).indices;
  expect(drawn.filter((index) => index === 2).length / 10_000).toBeCloseTo(0.5, 1);
});

test.each<[string, () => unknown, string]>([
  ["an empty buffer", () => new ReplayBuffer({ capacity: 5 }).sample(1), "Cannot sample from a replay buffer: it is empty"],
  ["a capacity of none", () => new ReplayBuffer({ capacity: 0 }), "Cannot set capacity of a ReplayBuffer: a whole number from 1"],
  ["an option of the other kind", () => new ReplayBuffer({ capacity: 5, alpha: 1 } as object), 'there is no option "alpha"'],
  ["a negative alpha", () => new PrioritizedReplayBuffer({ capacity: 5, alpha: -1 }), "a number from 0 is needed: received -1"],
  ["no draws", () => filled().sample(0), "a whole number of draws from 1 is needed: received 0"],
  [
    "another member",
    () => filled().add({ ...transition(1), action: 1 }),
    "its members are obs, reward, done: received obs, reward, done, action",
  ],
  ["a longer observation", () => filled().add({ ...transition(1), obs: [1] }), "obs is 2 numbers, as in the first: received"],
  [
    "a text",
    () => new ReplayBuffer({}).add({ obs: "left" as never }),
    'obs is a number, true, false, or numbers in an array: received "left"',
  ],
  ["a priority of NaN", () => filled().updatePriorities([0], [Number.NaN]), "numbers from 0 are needed: received NaN at 0"],
  ["fewer priorities", () => filled().updatePriorities([0, 1], [1]), "one is needed for each index: received 1 for 2 indices"],
])("%s is refused", (_, run, reason) => {
  expect(run).toThrow(reason);
});

function filled(): ReplayBuffer {
  const buffer = new ReplayBuffer({ capacity: 5 });
  buffer.add(transition(0));
  return buffer;
}
