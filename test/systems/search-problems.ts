/**
 * The problems on which searchers are compared, with their spaces: four of one objective, two of two, one whose trials can be cut short, and two models.
 *
 * Each single objective is the regret: the distance of a point above the best value.
 */
import { choice, lograndint, loguniform, randint, uniform } from "../../src/tune/spaces/space.ts";
import { frontOf, volumeOf } from "../../src/tune/search/numbers/pareto.ts";

export type Config = Record<string, number | string>;

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

const MIXED = PROBLEMS.mixed.space;

interface PairProblem {
  readonly space: Readonly<Record<string, unknown>>;
  losses(config: Config): readonly [number, number];
  /** From here the volume is measured. */
  readonly reference: readonly [number, number];
  readonly bestVolume: number;
}

const OFFSETS: Readonly<Record<string, readonly [number, number]>> = { a: [0, 6], b: [2, 3], c: [8, 0] };

/** Two losses to be small at once. */
export const PAIR_PROBLEMS: Readonly<Record<"zdt1" | "trade", PairProblem>> = {
  zdt1: {
    space: numbers(6, 0, 1),
    losses: (config) => {
      const x = config["x0"] as number;
      const rest = [1, 2, 3, 4, 5].reduce((sum, axis) => sum + (config[`x${axis}`] as number), 0);
      const g = 1 + (9 * rest) / 5;
      return [x, g * (1 - Math.sqrt(x / g))];
    },
    reference: [1.1, 4],
    // The front is y = 1 - sqrt(x).
    bestVolume: 3 + 2 / 3 + 0.1 * 4,
  },
  trade: {
    space: MIXED,
    losses: ({ x, lr, c }) => {
      const [near, far] = OFFSETS[c as string] as readonly [number, number];
      const log = Math.log10(lr as number);
      return [((x as number) - 2) ** 2 + (log + 3) ** 2 + near, ((x as number) + 2) ** 2 + (log + 2) ** 2 + far];
    },
    reference: [25, 25],
    bestVolume: bestTradeVolume(25),
  },
};

/** For each option the best points lie between the bottoms of both losses. */
function bestTradeVolume(reference: number): number {
  const points = Object.values(OFFSETS).flatMap(([near, far]) =>
    Array.from({ length: 2_001 }, (_, step) => [17 * (step / 2_000) ** 2 + near, 17 * (1 - step / 2_000) ** 2 + far]),
  );
  return volumeOf(points, [reference, reference]);
}

/** The part of the largest volume that losses do not dominate. */
export function missedVolume({ reference, bestVolume }: PairProblem, losses: readonly (readonly number[])[]): number {
  const front = frontOf(losses).map((index) => losses[index] as readonly number[]);
  return 1 - volumeOf(front, reference) / bestVolume;
}

/** How many steps a trial of the curve has. */
export const CURVE_STEPS = 27;

/** A trial that reports at each step: the best values move as the training goes on. */
export const CURVE = {
  space: MIXED,
  regretAt: ({ x, lr, c }: Config, step: number): number => {
    const part = step / CURVE_STEPS;
    const left = 1 - part;
    const apart = ((x as number) - 2 - left) ** 2 + (Math.log10(lr as number) + 3 - left / 2) ** 2;
    return apart + ({ a: 0, b: 1, c: 3 }[c as string] as number) + 3 * (Math.exp(-5 * part) - Math.exp(-5));
  },
};

/** Spaces of models that `search_models.py` trains. */
export const MODEL_SPACES = {
  xgboost: {
    rounds: lograndint(10, 151),
    depth: randint(1, 11),
    eta: loguniform(1e-3, 1),
    subsample: uniform(0.3, 1),
    columns: uniform(0.3, 1),
    weight: loguniform(0.1, 20),
    lambda: loguniform(1e-4, 100),
  },
  network: {
    rate: loguniform(1e-4, 0.3),
    alpha: loguniform(1e-6, 10),
    width: lograndint(4, 65),
    batch: lograndint(8, 129),
    momentum: uniform(0, 0.99),
    activation: choice(["relu", "tanh", "logistic"]),
  },
} as const;

/** The mean of log10(regret + 1e-6): the figure that is compared. */
export function meanLogRegret(regrets: readonly number[]): number {
  return regrets.reduce((sum, regret) => sum + Math.log10(Math.max(0, regret) + 1e-6), 0) / regrets.length;
}
