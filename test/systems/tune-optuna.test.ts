/** `TPESearch` beside Optuna's TPESampler, and `CmaEsSearch` beside cmaes, asked side by side; `test/frameworks/tune-quality.test.ts` has all searchers and more seeds. */
import { beforeAll, describe, expect, test } from "vitest";
import { CmaEsSearch } from "../../src/tune/search/evolution/cma-es-search.ts";
import { TPESearch } from "../../src/tune/search/density/tpe-search.ts";
import { compare, type ProblemName, referenceValues, WORSE_MAX } from "./search-comparison.ts";
import { CURVE, CURVE_STEPS, PAIR_PROBLEMS, PROBLEMS } from "./search-problems.ts";
import { pythonWithSearchers } from "./python-searchers.ts";

let python: string;

beforeAll(() => {
  python = pythonWithSearchers();
});

test("both sides have the same problems", () => {
  const hartmann = Object.fromEntries(Array.from({ length: 6 }, (_, axis) => [`x${axis}`, 0.1 + axis * 0.12]));
  const rosenbrock = Object.fromEntries(Array.from({ length: 8 }, (_, axis) => [`x${axis}`, axis / 5 - 0.7]));
  const points = [
    ["branin", { x: 1.5, y: 3.25 }],
    ["hartmann6", hartmann],
    ["rosenbrock8", rosenbrock],
    ["mixed", { x: -1, lr: 0.02, c: "b" }],
  ] as const;
  const others = referenceValues(python, points);
  for (const [index, [name, point]] of points.entries())
    expect(PROBLEMS[name].regret(point as Record<string, number | string>)).toBeCloseTo(others[index] as number, 9);
  const mixed = { x: -1, lr: 0.02, c: "b" };
  const pairs = [
    ["zdt1", hartmann],
    ["trade", mixed],
  ] as const;
  for (const [index, losses] of referenceValues(python, pairs).entries())
    for (const [which, loss] of (losses as number[]).entries())
      expect(PAIR_PROBLEMS[pairs[index]?.[0] ?? "zdt1"].losses(pairs[index]?.[1] ?? {})[which]).toBeCloseTo(loss, 9);
  const [early] = referenceValues(python, [["curve", [mixed, 9 / CURVE_STEPS]]]);
  expect(CURVE.regretAt(mixed, 9)).toBeCloseTo(early as number, 9);
});

// With few seeds chance adds to the difference: this allows for two standard errors. The other test has the bar itself.
const CHANCE = 0.3;

describe.each(["branin", "hartmann6", "rosenbrock8", "mixed"] as const)("on %s", (problem: ProblemName) => {
  test("TPESearch is as good as Optuna's TPESampler", () => {
    const { own, other } = compare(problem, { reference: "tpe", python, make: (seed) => new TPESearch({ seed }), trials: 100, seeds: 12 });
    expect(own.mean).toBeLessThanOrEqual(other.mean + WORSE_MAX + CHANCE);
  });

  test("CmaEsSearch is as good as cmaes", () => {
    const { own, other } = compare(problem, {
      reference: "cmaes",
      python,
      make: (seed) => new CmaEsSearch({ seed }),
      trials: 300,
      seeds: 12,
    });
    expect(own.mean).toBeLessThanOrEqual(other.mean + WORSE_MAX + CHANCE);
  });
});
