import { expect, test } from "vitest";
import { Box } from "./box.ts";
import { Dict, Tuple } from "./composite.ts";
import { Discrete } from "./discrete.ts";
import { MultiBinary } from "./multi-binary.ts";
import { MultiDiscrete } from "./multi-discrete.ts";
import type { Space, ValueOf } from "./space.ts";
import { spaceFromJson } from "./space-json.ts";
import { Text } from "./text.ts";

const SPACES: Readonly<Record<string, () => Space>> = {
  "a bounded Box": () => new Box({ low: -1, high: [1, 2, 0.1], shape: [3] }),
  "a Box without bounds": () => new Box({ low: [-Infinity, 0, -Infinity], high: [Infinity, Infinity, 5] }),
  "a Box of pixels": () => new Box({ low: 0, high: 255, shape: [2, 2, 3], dtype: "uint8" }),
  Discrete: () => new Discrete(3, { start: -1 }),
  MultiDiscrete: () => new MultiDiscrete([2, 5]),
  MultiBinary: () => new MultiBinary(4),
  Text: () => new Text({ maxLength: 5, minLength: 0 }),
  Dict: () => new Dict({ image: new Box({ low: 0, high: 1, shape: [2] }), key: new Discrete(2) }),
  Tuple: () => new Tuple([new Discrete(2), new Text({ maxLength: 3, charset: "ab" })]),
};

test.each(Object.entries(SPACES))("%s contains its samples, repeats them after seed, and comes back from JSON", (_, make) => {
  const space = make();
  const other = spaceFromJson(JSON.parse(JSON.stringify(space)));
  space.seed(7);
  other.seed(7);
  const samples = Array.from({ length: 200 }, () => space.sample());
  expect(samples.filter((sample) => !space.contains(sample))).toEqual([]);
  expect(Array.from({ length: 200 }, () => other.sample())).toEqual(samples);
  expect(new Set(samples.map((sample) => JSON.stringify(sample))).size).toBeGreaterThan(1);
  expect(other.toJSON()).toEqual(space.toJSON());
});

test.each<[Space, unknown, string]>([
  [new Box({ low: 0, high: 1, shape: [2] }), [0.5], "float32 numbers of the shape [2], 2 in all, are needed: received Array of 1 numbers"],
  [new Box({ low: 0, high: 1, shape: [2] }), [0.5, 1.5], "element 1 is a number from 0 to 1: received 1.5"],
  [new Box({ low: 0, high: 1, shape: [2] }), Float32Array.of(Number.NaN, 0), "element 0 is a number from 0 to 1: received NaN"],
  [new Box({ low: 0, high: 9, shape: [1], dtype: "int8" }), [0.5], "element 0 is a whole number, as dtype is int8: received 0.5"],
  [new Discrete(2), 2, "a whole number from 0 to 1 is needed: received 2"],
  [new Discrete(2), "left", 'a whole number from 0 to 1 is needed: received "left"'],
  [new MultiDiscrete([2, 3]), [1, 3], "element 1 is a whole number from 0 to 2: received 3"],
  [new MultiBinary(2), [0, 2], "flag 1 is 0 or 1: received 2"],
  [new Text({ maxLength: 2, charset: "ab" }), "ac", '"c" is not in the charset: received "ac"'],
  [new Dict({ a: new Discrete(2) }), {}, 'the key "a" is missing'],
  [new Dict({ a: new Discrete(2) }), { a: 3 }, "a: a whole number from 0 to 1 is needed: received 3"],
  [new Dict({ a: new Discrete(2) }), { a: 1, b: 1 }, 'the space has no key "b": it has a'],
  [new Tuple([new Discrete(2)]), [5], "part 0: a whole number from 0 to 1 is needed: received 5"],
])("%j does not contain %j, and says why", (space, value, reason) => {
  expect(space.contains(value)).toBe(false);
  expect(space.misfit(value)).toContain(reason);
});

test("plain arrays are members of a Box, and 0.1 lies on a bound of float32", () => {
  expect(new Box({ low: 0, high: 0.1, shape: [1] }).contains(Float32Array.of(0.1))).toBe(true);
  expect(new Box({ low: 0, high: 1 }).contains([0.5])).toBe(true);
});

test("masks say what may be drawn", () => {
  const drawn = Array.from({ length: 50 }, () => new Discrete(3).sample([0, 1, 1]));
  expect(new Set(drawn)).toEqual(new Set([1, 2]));
  expect(new MultiDiscrete([2, 2]).sample([Int8Array.of(0, 1), [1, 0]])).toEqual(Int32Array.of(1, 0));
  expect(new MultiBinary(2).sample([1, 0])).toEqual(Int8Array.of(1, 0));
  expect(new Dict({ a: new Discrete(2) }).sample({ a: [0, 1] })).toEqual({ a: 1 });
  expect(() => new Discrete(2).sample([0, 0])).toThrow("Cannot sample from Discrete: the mask forbids every value. Allow at least one");
  expect(() => new Discrete(2).sample([1])).toThrow("a mask of 2 entries is needed");
});

test.each<[() => Space, string]>([
  [() => new Box({ low: 2, high: 1 }), "Cannot make a space Box: low is at most high, also at element 0: received "],
  [() => new Box({ low: 0, high: 1, shape: [0] }), "shape is a list of whole numbers from 1"],
  [() => new Box({ low: 0, high: [1, 2], shape: [3] }), "high has 3 numbers, as many as the shape"],
  [() => new Box({ low: 0, high: 300, dtype: "uint8" }), "high of dtype uint8 is a whole number from 0 to 255: received 300"],
  [() => new Box({ low: Number.NaN, high: 1 }), "low is a number, or a list of them: received NaN"],
  [
    () => new Box({ low: 0, high: 1, dtype: "int64" as "int32" }),
    'dtype is one of float32, float64, int8, uint8, int16, uint16, int32, uint32: received "int64"',
  ],
  [() => new Discrete(0), "the number of values is a whole number from 1: received 0"],
  [() => new MultiDiscrete([]), "a list of whole numbers from 1 is needed"],
  [() => new MultiBinary(-1), "the number of flags is a whole number from 1: received -1"],
  [() => new Text({ maxLength: 0 }), "maxLength is a whole number from minLength, 1: received 0"],
  [() => new Dict({}), "an object of spaces is needed"],
  [() => new Tuple([]), "a list of spaces is needed"],
  [() => spaceFromJson({ type: "Sphere" }), "Cannot read a space: its type is one of Box, "],
])("%s is refused with a reason", (make, reason) => {
  expect(make).toThrow(reason);
});

test("ValueOf is the type of a space's values", () => {
  const space = new Dict({ image: new Box({ low: 0, high: 255, shape: [4], dtype: "uint8" }), key: new Discrete(2) });
  const value: ValueOf<typeof space> = { image: new Uint8Array(4), key: 1 };
  expect(space.contains(value)).toBe(true);
});
