/**
 * The quality of our searchers beside those of others, with the numbers of seeds that docs/tune-search.md reports: the mean of log10(regret + 1e-6) is at most 0.2 above.
 *
 * Prints the table of that page. The Gaussian process of Optuna needs torch: an environment that has it is named by SHOAL_TORCH_PYTHON, and without one that part
 * compares with bayesian-optimization alone. Takes an hour on two cores.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BayesOptSearch } from "../../src/tune/search/bayes-opt-search.ts";
import { CmaEsSearch } from "../../src/tune/search/cma-es-search.ts";
import { TPESearch } from "../../src/tune/search/tpe-search.ts";
import { compare, type Compared, type Comparison, type ProblemName, WORSE_MAX } from "../systems/search-comparison.ts";
import { pythonWithSearchers } from "../systems/python-searchers.ts";

const PROBLEM_NAMES = ["branin", "hartmann6", "rosenbrock8", "mixed"] as const;
const SEEDS = Number(process.env["SHOAL_TUNE_SEEDS"] ?? 50);
const TORCH_PYTHON = process.env["SHOAL_TORCH_PYTHON"];
const rows: string[] = [];

let python: string;

beforeAll(() => {
  python = pythonWithSearchers();
});

afterAll(() => {
  process.stdout.write(
    `${["", "| searcher | problem | trials | ours | theirs | our median | their median | ms ours | ms theirs |", ...rows].join("\n")}\n`,
  );
});

function note(name: string, { problem, trials }: Comparison, { own, other, ownMedian, otherMedian, ownMs, otherMs }: Compared): void {
  const numbers = [
    own.toFixed(2),
    other.toFixed(2),
    ownMedian.toPrecision(2),
    otherMedian.toPrecision(2),
    ownMs.toFixed(1),
    otherMs.toFixed(1),
  ];
  rows.push(`| ${[name, problem, trials, ...numbers].join(" | ")} |`);
}

describe.each(PROBLEM_NAMES)("on %s", (problem: ProblemName) => {
  test("TPESearch is as good as Optuna's TPESampler", { timeout: 1_800_000 }, () => {
    const comparison: Comparison = {
      problem,
      reference: "tpe",
      python,
      make: (seed) => new TPESearch({ seed }),
      trials: 100,
      seeds: SEEDS,
    };
    const compared = compare(comparison);
    note("TPESearch, Optuna's TPESampler", comparison, compared);
    expect(compared.own).toBeLessThanOrEqual(compared.other + WORSE_MAX);
  });

  test("CmaEsSearch is as good as cmaes", { timeout: 1_800_000 }, () => {
    const comparison: Comparison = {
      problem,
      reference: "cmaes",
      python,
      make: (seed) => new CmaEsSearch({ seed }),
      trials: 300,
      seeds: SEEDS,
    };
    const compared = compare(comparison);
    note("CmaEsSearch, cmaes through Optuna", comparison, compared);
    expect(compared.own).toBeLessThanOrEqual(compared.other + WORSE_MAX);
  });

  test("BayesOptSearch is as good as Optuna's GPSampler or bayesian-optimization", { timeout: 7_200_000 }, () => {
    const reference = TORCH_PYTHON === undefined ? "bayes-opt" : "gp";
    const own: Comparison = {
      problem,
      reference,
      python: TORCH_PYTHON ?? python,
      make: (seed) => new BayesOptSearch({ seed }),
      trials: 60,
      seeds: SEEDS,
    };
    const compared = compare(own);
    note(`BayesOptSearch, ${reference === "gp" ? "Optuna's GPSampler" : "bayesian-optimization"}`, own, compared);
    expect(compared.own).toBeLessThanOrEqual(compared.other + WORSE_MAX);
  });
});
