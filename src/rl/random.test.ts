import { expect, test } from "vitest";
import { RandomStream } from "./random.ts";

const drawn = (stream: RandomStream, count = 5): number[] => Array.from({ length: count }, () => stream.next());

test("a stream depends on the seed, the purpose and the index, and on nothing else", () => {
  const first = drawn(new RandomStream(1, "reset"));
  expect(drawn(new RandomStream(1, "reset", 0))).toEqual(first);
  for (const other of [
    new RandomStream(2, "reset"),
    new RandomStream(1, "actions"),
    new RandomStream(1, "reset", 1),
    new RandomStream(1 + 2 ** 40, "reset"),
  ])
    expect(drawn(other)).not.toEqual(first);
});

test("a stream goes on from a state as the one that it was taken from", () => {
  const [one, other] = [new RandomStream(1, "x"), new RandomStream(2, "x")];
  one.normal();
  other.setState(JSON.parse(JSON.stringify(one.getState())));
  expect([other.normal(), ...drawn(other)]).toEqual([one.normal(), ...drawn(one)]);
});

test("numbers have the mean and the deviation of their distribution", () => {
  const stream = new RandomStream(3, "x");
  const uniform = Array.from({ length: 20_000 }, () => stream.uniform(-1, 3));
  const normal = Array.from({ length: 20_000 }, () => stream.normal());
  expect([mean(uniform), mean(normal)]).toEqual([expect.closeTo(1, 1), expect.closeTo(0, 1)]);
  expect(mean(normal.map((value) => value ** 2))).toBeCloseTo(1, 1);
  expect(Math.min(...uniform)).toBeGreaterThanOrEqual(-1);
  expect(Math.max(...uniform)).toBeLessThan(3);
});

test("a shuffled list has the same members in another order", () => {
  const list = Int32Array.from({ length: 100 }, (_, index) => index);
  new RandomStream(1, "x").shuffle(list);
  expect(list).not.toEqual(Int32Array.from(list).sort());
  expect(Array.from(list).sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, index) => index));
});

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
