/**
 * The quality of our searchers beside those of others, with the numbers of seeds that docs/tune-search.md reports: the mean of log10(regret + 1e-6) is at most 0.2 above.
 *
 * Prints the tables of that page. SHOAL_TUNE_SEEDS has another number of seeds, SHOAL_TUNE_FIRST_SEED the first of them. Takes two hours on two cores, most of it
 * for the Gaussian processes of others: `-t TPESearch` and the like choose a part.
 */
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { HyperBandForBOHB } from "../../src/tune/schedulers/hyperband-for-bohb.ts";
import { HyperBandScheduler } from "../../src/tune/schedulers/hyperband-scheduler.ts";
import { BayesOptSearch } from "../../src/tune/search/bayes-opt-search.ts";
import { BOHBSearch } from "../../src/tune/search/bohb-search.ts";
import { CmaEsSearch } from "../../src/tune/search/cma-es-search.ts";
import type { ModelSearch } from "../../src/tune/search/model-search.ts";
import { TPESearch } from "../../src/tune/search/tpe-search.ts";
import { bestOfHalving } from "../systems/halving-run.ts";
import { ask, type Asked, compare, type Compared, compareModel, comparePair, figuresOf, WORSE_MAX } from "../systems/search-comparison.ts";
import { environment } from "./environments.ts";

const SEEDS = Number(process.env["SHOAL_TUNE_SEEDS"] ?? 50);
const FIRST_SEED = Number(process.env["SHOAL_TUNE_FIRST_SEED"] ?? 0);

let python: string;

beforeAll(() => {
  const built = environment("searchers");
  if ("problem" in built) throw new Error(built.problem);
  python = join(built.venv, "bin", "python3");
  console.log("| searcher | beside | problem | trials, seeds | ours | theirs | our median | their median | ms ours | ms theirs |");
}, 900_000);

/** Prints a row of the table: what is compared, on what, and the figures. */
function note(of: readonly string[], { own, other }: Compared): void {
  const means = [own.mean, other.mean].map((mean) => mean.toFixed(2));
  const medians = [own.median, other.median].map((median) => median.toPrecision(2));
  console.log(`| ${[...of, ...means, ...medians, own.ms.toFixed(2), other.ms.toFixed(1)].join(" | ")} |`);
}

interface Side {
  readonly name: string;
  readonly make: (seed: number) => ModelSearch;
  readonly trials: number;
  readonly beside: Asked["reference"];
  readonly besideName: string;
  readonly seeds?: number;
  readonly firstSeed?: number;
}

const SINGLE: readonly Side[] = [
  { name: "TPESearch", make: (seed) => new TPESearch({ seed }), trials: 100, beside: "tpe", besideName: "Optuna's TPESampler" },
  {
    name: "TPESearch, univariate",
    make: (seed) => new TPESearch({ seed, multivariate: false }),
    trials: 100,
    beside: "tpe-univariate",
    besideName: "Optuna's TPESampler, univariate",
  },
  { name: "CmaEsSearch", make: (seed) => new CmaEsSearch({ seed }), trials: 300, beside: "cmaes", besideName: "cmaes through Optuna" },
];
/** Begin at a seed that no constant was chosen by. */
const GAUSSIAN = { name: "BayesOptSearch", make: (seed: number) => new BayesOptSearch({ seed }), trials: 60, firstSeed: 1_000 } as const;
const PROCESSES: readonly Side[] = [
  { ...GAUSSIAN, beside: "gp", besideName: "Optuna's GPSampler" },
  { ...GAUSSIAN, beside: "bayes-opt", besideName: "bayesian-optimization" },
];

describe.each(["branin", "hartmann6", "rosenbrock8", "mixed"] as const)("on %s", (problem) => {
  test.each([...SINGLE, ...PROCESSES])("$name is as good as $besideName", { timeout: 7_200_000 }, (side) => {
    const { name, beside: reference, besideName, make, trials, seeds = SEEDS, firstSeed = FIRST_SEED } = side;
    const compared = compare(problem, { reference, python, make, trials, seeds, firstSeed });
    note([name, besideName, problem, `${trials}, ${seeds}`], compared);
    expect(compared.own.mean).toBeLessThanOrEqual(compared.other.mean + WORSE_MAX);
  });
});

describe.each(["zdt1", "trade"] as const)("with two metrics, on %s", (problem) => {
  test("TPESearch misses as little of the volume as Optuna's TPESampler", { timeout: 1_800_000 }, () => {
    const make = (seed: number) => new TPESearch({ seed });
    const compared = comparePair(problem, { reference: "tpe", python, make, trials: 100, seeds: SEEDS, firstSeed: FIRST_SEED });
    note(["TPESearch, two metrics", "Optuna's TPESampler", problem, `100, ${SEEDS}`], compared);
    expect(compared.own.mean).toBeLessThanOrEqual(compared.other.mean + WORSE_MAX);
  });
});

test("BOHBSearch is as good as TPESearch with HyperBand, with as many steps as 40 whole trials", { timeout: 1_800_000 }, () => {
  const seeds = Array.from({ length: SEEDS }, (_, index) => FIRST_SEED + index);
  const figures = (run: (seed: number) => Parameters<typeof bestOfHalving>[0]) =>
    figuresOf(
      seeds.map((seed) => bestOfHalving(run(seed))),
      0,
    );
  const bohb = figures((seed) => ({ search: new BOHBSearch({ seed }), scheduler: new HyperBandForBOHB({ maxT: 27 }), trials: 40 }));
  const tpe = figures((seed) => ({ search: new TPESearch({ seed }), scheduler: new HyperBandScheduler({ maxT: 27 }), trials: 40 }));
  const { results, ms } = ask("curve", { reference: "hyperband", python, trials: 40, seeds: SEEDS, firstSeed: FIRST_SEED });
  note(["BOHBSearch, HyperBandForBOHB", "TPESearch, HyperBandScheduler", "curve", `40, ${SEEDS}`], { own: bohb, other: tpe });
  note(["TPESearch, HyperBandScheduler", "Optuna's TPESampler, HyperbandPruner", "curve", `40, ${SEEDS}`], {
    own: tpe,
    other: figuresOf(results, ms),
  });
  expect(bohb.mean).toBeLessThanOrEqual(tpe.mean + WORSE_MAX);
});

describe.each(["xgboost", "network"] as const)("training %s", (problem) => {
  test("TPESearch and Optuna's TPESampler find good hyperparameters", { timeout: 3_600_000 }, async () => {
    const make = (seed: number) => new TPESearch({ seed });
    const { own, other } = await compareModel(problem, { reference: "tpe", python, make, trials: 30, seeds: 10 });
    // Losses as they are: nobody knows the best.
    const figures = (losses: readonly number[]) => ({
      ...figuresOf(losses, 0),
      mean: losses.reduce((sum, loss) => sum + loss, 0) / losses.length,
    });
    note(["TPESearch", "Optuna's TPESampler", `${problem}, loss`, "30, 10"], { own: figures(own), other: figures(other) });
    for (const losses of [own, other]) expect(Math.max(...losses)).toBeLessThan(1);
  });
});
