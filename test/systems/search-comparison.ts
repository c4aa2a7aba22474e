/** Our searchers beside those of others on the problems of `search-problems.ts`: both sides' regrets, in one form for tests and for a table. */
import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { ModelSearch } from "../../src/tune/search/model-search.ts";
import type { TrialResult } from "../../src/tune/trials/trial.ts";
import { REPOSITORY } from "../house/source-files.ts";
import { type Config, meanLogRegret, missedVolume, MODEL_SPACES, PAIR_PROBLEMS, PROBLEMS } from "./search-problems.ts";

/** Largest allowed excess of our mean of log10(regret + 1e-6) over the reference's. */
export const WORSE_MAX = 0.2;

export type ProblemName = keyof typeof PROBLEMS;
type PairName = keyof typeof PAIR_PROBLEMS;
type ModelName = keyof typeof MODEL_SPACES;

const PROGRAM = join(REPOSITORY, "test", "systems", "search_reference.py");
const MODELS = join(REPOSITORY, "test", "systems", "search_models.py");
const ENV = { ...process.env, OMP_NUM_THREADS: "1", OPENBLAS_NUM_THREADS: "1", PYTHONWARNINGS: "ignore" };

/** A foreign searcher, and the number of points asked for. */
export interface Asked {
  /** The searcher's name in `search_reference.py`. */
  readonly reference: "tpe" | "tpe-univariate" | "gp" | "bayes-opt" | "cmaes" | "hyperband";
  readonly python: string;
  readonly trials: number;
  readonly seeds: number;
  /** Default: 0. */
  readonly firstSeed?: number | undefined;
  /** A folder of answers, so that a question is asked once only. Default: none. */
  readonly answers?: string | undefined;
}

interface Comparison extends Asked {
  make(seed: number): ModelSearch;
}

/** Figures of one side. */
interface Figures {
  /** The mean of log10(regret + 1e-6). */
  readonly mean: number;
  readonly median: number;
  /** Milliseconds of processor time for an ask with its tell. */
  readonly ms: number;
}

/** Results of a foreign searcher by seed, and its milliseconds for an ask and its tell. */
interface Answers<T> {
  results: T[];
  ms: number;
}

export interface Compared {
  readonly own: Figures;
  readonly other: Figures;
}

/** The best regrets of both, from the same numbers of trials and seeds. */
export function compare(problem: ProblemName, comparison: Comparison): Compared {
  const { space, regret } = PROBLEMS[problem];
  const runs = runSeeds(comparison, (search) => {
    let best = Number.POSITIVE_INFINITY;
    search.setSearchProperties("regret", "min", space);
    askAndTell(search, comparison.trials, (config) => {
      const value = regret(config);
      best = Math.min(best, value);
      return { regret: value };
    });
    return best;
  });
  const { results, ms } = ask(problem, comparison);
  return { own: figuresOf(runs.results, runs.ms), other: figuresOf(results, ms) };
}

/** The parts of the largest volume that both miss, on a problem with two losses. */
export function comparePair(problem: PairName, comparison: Comparison): Compared {
  const pair = PAIR_PROBLEMS[problem];
  const runs = runSeeds(comparison, (search) => {
    const found: (readonly [number, number])[] = [];
    search.setSearchProperties(["a", "b"], ["min", "min"], pair.space);
    askAndTell(search, comparison.trials, (config) => {
      const losses = pair.losses(config);
      found.push(losses);
      return { a: losses[0], b: losses[1] };
    });
    return missedVolume(pair, found);
  });
  const { results, ms } = ask<number[][]>(problem, comparison);
  return {
    own: figuresOf(runs.results, runs.ms),
    other: figuresOf(
      results.map((losses) => missedVolume(pair, losses)),
      ms,
    ),
  };
}

/** The best losses of both on a model that is trained for each trial. */
export async function compareModel(problem: ModelName, comparison: Comparison): Promise<{ own: number[]; other: number[] }> {
  const child = spawn(comparison.python, [PROGRAM, "serve", problem, "0", "0"], { env: ENV, stdio: ["pipe", "pipe", "ignore"] });
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const own: number[] = [];
  for (let index = 0; index < comparison.seeds; index += 1) {
    const search = comparison.make((comparison.firstSeed ?? 0) + index);
    search.setSearchProperties("loss", "min", MODEL_SPACES[problem]);
    let best = Number.POSITIVE_INFINITY;
    for (let trial = 0; trial < comparison.trials; trial += 1) {
      child.stdin.write(`${JSON.stringify(search.suggest(`t${trial}`))}\n`);
      const loss = Number((await answers.next()).value);
      if (Number.isNaN(loss)) throw new Error(`${problem} gave no loss`);
      best = Math.min(best, loss);
      search.onTrialComplete(`t${trial}`, { loss } as unknown as TrialResult);
    }
    own.push(best);
  }
  child.stdin.end();
  await once(child, "exit");
  return { own, other: ask(problem, comparison).results };
}

/** Asks another's searcher. */
export function ask<T = number>(problem: string, { reference, python, trials, seeds, firstSeed = 0, answers }: Asked): Answers<T> {
  const asked = [reference, problem, `${trials}`, `${seeds}`, `${firstSeed}`];
  const programs = [PROGRAM, MODELS].map((path) => readFileSync(path));
  const hash = createHash("sha256").update(Buffer.concat(programs)).digest("hex").slice(0, 8);
  const file = answers && join(answers, `${asked.join("-")}-${hash}.json`);
  if (file !== undefined && existsSync(file)) return JSON.parse(readFileSync(file, "utf8")) as Answers<T>;
  const text = execFileSync(python, [PROGRAM, ...asked], {
    encoding: "utf8",
    env: ENV,
    stdio: ["ignore", "pipe", "ignore"],
    maxBuffer: 2 ** 28,
  });
  if (answers !== undefined && file !== undefined) {
    mkdirSync(answers, { recursive: true });
    writeFileSync(`${file}.new`, text);
    renameSync(`${file}.new`, file);
  }
  return JSON.parse(text) as Answers<T>;
}

/** Whether both sides compute the same problems: what some points give. */
export function referenceValues(python: string, points: readonly (readonly [string, unknown])[]): (number | number[])[] {
  const text = execFileSync(python, [PROGRAM, "none", "check", "0", "0"], { encoding: "utf8", input: JSON.stringify(points) });
  return JSON.parse(text) as (number | number[])[];
}

/** Asks for trials one after another. */
function askAndTell(search: ModelSearch, trials: number, run: (config: Config) => Readonly<Record<string, number>>): void {
  for (let trial = 0; trial < trials; trial += 1) {
    const config = search.suggest(`trial-${trial}`) as Config;
    search.onTrialComplete(`trial-${trial}`, run(config) as unknown as TrialResult);
  }
}

function runSeeds<T>({ make, seeds, firstSeed = 0, trials }: Comparison, run: (search: ModelSearch) => T): { results: T[]; ms: number } {
  const began = process.cpuUsage();
  const results = Array.from({ length: seeds }, (_, index) => run(make(firstSeed + index)));
  const { user, system } = process.cpuUsage(began);
  return { results, ms: (user + system) / 1000 / (seeds * trials) };
}

export function figuresOf(regrets: readonly number[], ms: number): Figures {
  return { mean: meanLogRegret(regrets), median: regrets.toSorted((a, b) => a - b)[regrets.length >> 1] as number, ms };
}
