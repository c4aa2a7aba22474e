/**
 * The problems on which searchers are compared, with their spaces: Branin, Hartmann-6, Rosenbrock in eight dimensions, and one of mixed kinds.
 *
 * Each objective is the regret: what a point is above the best value. `search_reference.py` has the same problems for the searchers of others.
 */
import { choice, loguniform, uniform } from "../../src/tune/space.ts";
import type { ModelSearch } from "../../src/tune/search/model-search.ts";
import type { TrialResult } from "../../src/tune/trial.ts";

type Config = Record<string, number | string>;

interface Problem {
  readonly space: Readonly<Record<string, unknown>>;
  regret(config: Config): number;
}

const HARTMANN_A = [
  [10, 3, 17, 3.5, 1.7, 8],
  [0.05, 10, 17, 0.1, 8, 14],
  [3, 3.5, 1.7, 10, 17, 8],
  [17, 8, 0.05, 10, 0.1, 14],
];
const HARTMANN_P = [
  [1312, 1696, 5569, 124, 8283, 5886],
  [2329, 4135, 8307, 3736, 1004, 9991],
  [2348, 1451, 3522, 2883, 3047, 6650],
  [4047, 8828, 8732, 5743, 1091, 381],
];
const HARTMANN_ALPHA = [1, 1.2, 3, 3.2];
const HARTMANN_BEST = 3.3223680114155147;
const BRANIN_BEST = 0.39788735772973816;

function numbers(count: number, lower: number, upper: number): Record<string, unknown> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`x${index}`, uniform(lower, upper)]));
}

export const PROBLEMS: Readonly<Record<"branin" | "hartmann6" | "rosenbrock8" | "mixed", Problem>> = {
  branin: {
    space: { x: uniform(-5, 10), y: uniform(0, 15) },
    regret: (config) => {
      const [x, y] = [config["x"] as number, config["y"] as number];
      const inner = y - (5.1 / (4 * Math.PI ** 2)) * x * x + (5 / Math.PI) * x - 6;
      return inner ** 2 + 10 * (1 - 1 / (8 * Math.PI)) * Math.cos(x) + 10 - BRANIN_BEST;
    },
  },
  hartmann6: {
    space: numbers(6, 0, 1),
    regret: (config) => {
      const peaks = HARTMANN_ALPHA.map((alpha, peak) => {
        const distances = (HARTMANN_A[peak] as number[]).map(
          (weight, axis) => weight * ((config[`x${axis}`] as number) - 1e-4 * (HARTMANN_P[peak]?.[axis] as number)) ** 2,
        );
        return alpha * Math.exp(-distances.reduce((sum, each) => sum + each, 0));
      });
      return HARTMANN_BEST - peaks.reduce((sum, each) => sum + each, 0);
    },
  },
  rosenbrock8: {
    space: numbers(8, -2, 2),
    regret: (config) => {
      let sum = 0;
      for (let axis = 0; axis < 7; axis += 1) {
        const [x, next] = [config[`x${axis}`] as number, config[`x${axis + 1}`] as number];
        sum += 100 * (next - x * x) ** 2 + (1 - x) ** 2;
      }
      return sum;
    },
  },
  mixed: {
    space: { x: uniform(-5, 5), lr: loguniform(1e-5, 1), c: choice(["a", "b", "c"]) },
    regret: ({ x, lr, c }) =>
      ((x as number) - 2) ** 2 + (Math.log10(lr as number) + 3) ** 2 + ({ a: 0, b: 1, c: 3 }[c as string] as number),
  },
};

/** The best regret after some trials, one after another, and the milliseconds of an ask with its tell. */
export function bestRegret(searcher: ModelSearch, { space, regret }: Problem, trials: number): { regret: number; askMs: number } {
  let best = Number.POSITIVE_INFINITY;
  let spentMs = 0;
  searcher.setSearchProperties("regret", "min", space);
  for (let trial = 0; trial < trials; trial += 1) {
    const began = performance.now();
    const config = searcher.suggest(`trial-${trial}`) as Config;
    const value = regret(config);
    best = Math.min(best, value);
    searcher.onTrialComplete(`trial-${trial}`, { regret: value } as unknown as TrialResult);
    spentMs += performance.now() - began;
  }
  return { regret: best, askMs: spentMs / trials };
}

/** The mean of log10(regret + 1e-6): the figure that is compared. */
export function meanLogRegret(regrets: readonly number[]): number {
  return regrets.reduce((sum, regret) => sum + Math.log10(Math.max(0, regret) + 1e-6), 0) / regrets.length;
}
