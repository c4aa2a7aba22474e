/** Our searchers beside those of others on the problems of `search-problems.ts`: both sides' regrets, in one form for tests and for a table. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import type { ModelSearch } from "../../src/tune/search/model-search.ts";
import { REPOSITORY } from "../house/source-files.ts";
import { bestRegret, meanLogRegret, PROBLEMS } from "./search-problems.ts";

/** Largest allowed excess of our mean of log10(regret + 1e-6) over the reference's. */
export const WORSE_MAX = 0.2;

export type ProblemName = keyof typeof PROBLEMS;

export interface Comparison {
  readonly problem: ProblemName;
  /** The searcher's name in `search_reference.py`. */
  readonly reference: "tpe" | "tpe-univariate" | "gp" | "bayes-opt" | "cmaes";
  readonly python: string;
  make(seed: number): ModelSearch;
  readonly trials: number;
  readonly seeds: number;
}

export interface Compared {
  readonly own: number;
  readonly other: number;
  readonly ownMedian: number;
  readonly otherMedian: number;
  /** Milliseconds of an ask with its tell; of the reference, of its process. */
  readonly ownMs: number;
  readonly otherMs: number;
}

/** Figures of both, from the same numbers of trials and seeds. */
export function compare({ problem, reference, python, make, trials, seeds }: Comparison): Compared {
  const runs = Array.from({ length: seeds }, (_, seed) => bestRegret(make(seed), PROBLEMS[problem], trials));
  const own = runs.map(({ regret }) => regret);
  const program = join(REPOSITORY, "test", "systems", "search_reference.py");
  const env = { ...process.env, OMP_NUM_THREADS: "1", OPENBLAS_NUM_THREADS: "1" };
  const text = execFileSync(python, [program, reference, problem, `${trials}`, `${seeds}`], {
    encoding: "utf8",
    env,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const { regrets: other, ms } = JSON.parse(text) as { regrets: number[]; ms: number };
  return {
    own: meanLogRegret(own),
    other: meanLogRegret(other),
    ownMedian: medianOf(own),
    otherMedian: medianOf(other),
    ownMs: runs.reduce((sum, { askMs }) => sum + askMs, 0) / seeds,
    otherMs: ms,
  };
}

/** Whether both sides compute the same problems: the regrets of some points. */
export function referenceRegrets(python: string, points: readonly (readonly [ProblemName, Record<string, number | string>])[]): number[] {
  const program = join(REPOSITORY, "test", "systems", "search_reference.py");
  return JSON.parse(
    execFileSync(python, [program, "none", "check", "0", "0"], { encoding: "utf8", input: JSON.stringify(points) }),
  ) as number[];
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] as number;
}
