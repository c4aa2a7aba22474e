import fc from "fast-check";
import { expect, test } from "vitest";
import { KeptCheckpoints, type KeptCheckpointsConfig, metricAt } from "./kept-checkpoints.ts";
import type { JsonValue } from "../metrics/metrics.ts";

function keeper(config: KeptCheckpointsConfig) {
  const kept = new KeptCheckpoints(config);
  let made = 0;
  return {
    kept,
    register(score: JsonValue): string[] {
      made += 1;
      return kept.register({ path: `${made}`, metrics: { eval: { score } } }).map(({ path }) => path);
    },
    paths: () => kept.all.map(({ path }) => path),
  };
}

const BY_SCORE = { numToKeep: 2, checkpointScoreAttribute: "eval/score" } as const;

test("without a limit all stay, with one and no score the newest", () => {
  const all = keeper({});
  expect([1, 2, 3].flatMap((score) => all.register(score))).toEqual([]);
  const newest = keeper({ numToKeep: 2 });
  expect([5, 6, 7, 8].map((score) => newest.register(score))).toEqual([[], [], ["1"], ["2"]]);
});

test("the best stay by their score, and the newest whatever its score", () => {
  const { register, paths, kept } = keeper(BY_SCORE);
  expect([5, 9, 1].map(register)).toEqual([[], [], []]);
  expect(paths()).toEqual(["1", "2", "3"]);
  expect(register(2)).toEqual(["3"]);
  expect(kept.best.map(({ path }) => path)).toEqual(["2", "1", "4"]);
  expect(register(7)).toEqual(["1", "4"]);
});

test("a low score may be the good one; equal scores keep the newer", () => {
  const { register, paths } = keeper({ ...BY_SCORE, checkpointScoreOrder: "min" });
  expect([3, 1, 1, 1].flatMap(register)).toEqual(["1", "2"]);
  expect(paths()).toEqual(["3", "4"]);
});

test("a score that is missing, NaN or text is the worst", () => {
  for (const bad of [Number.NaN, "high", null]) {
    for (const checkpointScoreOrder of ["min", "max"] as const) {
      const { register } = keeper({ ...BY_SCORE, checkpointScoreOrder });
      expect([bad, -5, 3, 4].flatMap(register)).toContain("1");
    }
  }
});

test("one in use stays until its last user has released it", () => {
  const { register, kept } = keeper({ numToKeep: 1 });
  register(1);
  kept.use("1");
  kept.use("1");
  expect(register(2)).toEqual([]);
  expect(kept.release("1")).toEqual([]);
  expect(kept.release("1").map(({ path }) => path)).toEqual(["1"]);
});

test("registering a path again makes it the newest", () => {
  const kept = new KeptCheckpoints({ numToKeep: 1 });
  kept.register({ path: "a", metrics: { v: 1 } });
  expect(kept.register({ path: "a", metrics: { v: 2 } })).toEqual([]);
  expect(kept.all).toEqual([{ path: "a", metrics: { v: 2 } }]);
});

test("after any registrations: the newest is there, and of the others the best", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 30 }),
      fc.integer({ min: 1, max: 5 }),
      (scores, numToKeep) => {
        const { register, paths } = keeper({ ...BY_SCORE, numToKeep });
        const removed = scores.flatMap(register);
        const left = paths();
        expect(left.at(-1)).toBe(`${scores.length}`);
        expect([...removed, ...left].map(Number).sort((a, b) => a - b)).toEqual(scores.map((_, i) => i + 1));
        expect(left.length).toBeLessThanOrEqual(numToKeep + 1);
        const best = (names: string[]): number => Math.max(...names.map((name) => scores[Number(name) - 1] as number));
        if (removed.length > 0) expect(best(left)).toBeGreaterThanOrEqual(best(removed));
      },
    ),
  );
});

test("nested metrics are found by slashes and dots, and by a name that has them", () => {
  expect(metricAt({ a: { b: 1 } }, "a/b")).toBe(1);
  expect(metricAt({ a: { b: 1 } }, "a.b")).toBe(1);
  expect(metricAt({ "a/b": 2, a: { b: 1 } }, "a/b")).toBe(2);
  expect(metricAt({ a: 1 }, "a/b")).toBeUndefined();
  expect(metricAt({}, "constructor")).toBeUndefined();
});
