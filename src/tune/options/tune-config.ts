/**
 * How an experiment is searched: `tuneConfig`, checked and with its defaults.
 *
 * Names that Ray has, or had, for an option are refused with the name that it has here.
 * `Tuner` reads it when it is made, so that a mistake is an error before anything starts.
 */
import { callable, count, custom, describeValue, flag, readOptions, timeLimit } from "../../core/internal.ts";
import type { TrialScheduler } from "../scheduler.ts";
import { seed } from "./shared-options.ts";
import type { Searcher } from "../searcher.ts";
import type { Config, Mode } from "../trials/trial.ts";

export interface TuneConfig {
  /** Metric to optimize, or a list for several objectives. Default: none, trials are run and not compared. */
  metric?: string | readonly string[] | undefined;
  /** Whether less or more is better; a list for several metrics. Needed with `metric`. Alone it is the mode of a metric that a searcher, a scheduler or `getBestResult` names. */
  mode?: Mode | readonly Mode[] | undefined;
  /** How many configurations are tried; with grids, how often the grid is run. -1 is without end, for a `timeBudgetMs`. Default: 1. */
  numSamples?: number | undefined;
  /** Searcher that suggests configurations, or its name. Default: random and grid search. */
  searchAlg?: Searcher | string | undefined;
  /** Scheduler that ends and pauses trials, or its name. Default: `"fifo"`, which does neither. */
  scheduler?: TrialScheduler | string | undefined;
  /** Default: as many as the cluster has room for. */
  maxConcurrentTrials?: number | undefined;
  /**
   * Time in milliseconds after which the experiment ends with its present results. A restored run has the rest of earlier sessions' budget.
   * Default: never.
   */
  timeBudgetMs?: number | undefined;
  /** Whether trials run in actors that earlier ones have left. Default: true for functions; for classes, where they have `resetConfig`. */
  reuseActors?: boolean | undefined;
  /** Seed of random and grid search. Default: none. */
  seed?: number | undefined;
  /** The name of a trial. Default: that of the trainable, and the id. */
  trialNameCreator?: ((trial: { readonly trialId: string; readonly config: Config }) => string) | undefined;
  /** The folder of a trial in that of the run, unlike that of any other. Default: its name, with its id where another trial has that name. */
  trialDirnameCreator?: ((trial: { readonly trialId: string; readonly config: Config }) => string) | undefined;
}

export interface ResolvedTuneConfig {
  readonly metrics: readonly string[];
  /** Has one mode for each metric. Without metrics it may have one, for the metric that another part names. */
  readonly modes: readonly Mode[];
  readonly numSamples: number;
  readonly searchAlg: Searcher | string | undefined;
  readonly scheduler: TrialScheduler | string | undefined;
  readonly maxConcurrentTrials: number;
  readonly timeBudgetMs: number | undefined;
  readonly reuseActors: boolean | undefined;
  readonly seed: number | undefined;
  readonly trialNameCreator: TuneConfig["trialNameCreator"];
  readonly trialDirnameCreator: TuneConfig["trialDirnameCreator"];
}

type Values = Omit<ResolvedTuneConfig, "metrics" | "modes" | "maxConcurrentTrials"> & {
  readonly metric: string | readonly string[] | undefined;
  readonly mode: Mode | readonly Mode[] | undefined;
  readonly maxConcurrentTrials: number | undefined;
};

const isName = (value: unknown): boolean => typeof value === "string" && value !== "";
const isMode = (value: unknown): boolean => value === "min" || value === "max";

function partOf(what: string, methods: readonly string[]) {
  return custom<never>(`${what}, or its name, is needed`, undefined as never, (value) =>
    isName(value) || methods.every((method) => typeof (value as Record<string, unknown> | null)?.[method] === "function")
      ? "ok"
      : "wrong type",
  );
}

const OPTIONS = {
  of: "tuneConfig",
  otherNames: {
    timeBudgetS: "it is timeBudgetMs, in milliseconds",
    time_budget_s: "it is timeBudgetMs, in milliseconds",
    searchAlgorithm: "it is searchAlg",
    maxConcurrent: "it is maxConcurrentTrials",
    chdirToTrialDir: "trials keep the program's working directory: getContext().trialDir names theirs",
    chdir_to_trial_dir: "trials keep the program's working directory: getContext().trialDir names theirs",
    stop: "it is stop of runConfig",
  },
  options: {
    metric: custom<string | readonly string[] | undefined>("the name of a metric, or a list of names, is needed", undefined, (value) =>
      isName(value) || (Array.isArray(value) && value.length > 0 && value.every(isName)) ? "ok" : "wrong type",
    ),
    mode: custom<Mode | readonly Mode[] | undefined>('"min" or "max", or a list of them, is needed', undefined, (value) =>
      isMode(value) || (Array.isArray(value) && value.length > 0 && value.every(isMode))
        ? "ok"
        : typeof value === "string"
          ? "out of range"
          : "wrong type",
    ),
    numSamples: count({ min: -1 }, 1),
    searchAlg: partOf("a searcher", ["suggest", "setSearchProperties", "onTrialComplete", "save", "restore"]),
    scheduler: partOf("a scheduler", ["onTrialResult", "chooseTrialToRun", "setSearchProperties", "save", "restore"]),
    maxConcurrentTrials: count<number | undefined>({ min: 1 }, undefined),
    timeBudgetMs: timeLimit(),
    reuseActors: flag(undefined as never),
    seed: seed(),
    trialNameCreator: callable<never>("a function of the trial is needed"),
    trialDirnameCreator: callable<never>("a function of the trial is needed"),
  },
};

/** @throws TypeError, RangeError that name the option */
export function readTuneConfig(given: TuneConfig | undefined): ResolvedTuneConfig {
  const { metric, mode, maxConcurrentTrials, ...others } = readOptions<Values>(given, OPTIONS);
  const metrics = metric === undefined ? [] : typeof metric === "string" ? [metric] : metric;
  if (mode === undefined && metrics.length > 0)
    throw new TypeError(`Cannot set metric of tuneConfig: mode: "min" or "max" is needed besides: received ${describeValue(metric)} alone`);
  const isOne = typeof mode === "string";
  const modes = isOne ? Array.from({ length: Math.max(metrics.length, 1) }, () => mode) : (mode ?? []);
  if (!isOne && modes.length !== metrics.length)
    throw new RangeError(
      `Cannot set mode of tuneConfig: each metric needs one: received ${describeValue(mode)} for ${metrics.length === 0 ? "no metric" : `the metrics ${metrics.join(", ")}`}`,
    );
  if (new Set(metrics).size < metrics.length)
    throw new RangeError(`Cannot set metric of tuneConfig: a metric stands there twice: ${metrics.join(", ")}`);
  if (others.numSamples === 0)
    throw new RangeError("Cannot set numSamples of tuneConfig: a number from 1, or -1 for without end, is needed: received 0");
  return { ...others, metrics, modes, maxConcurrentTrials: maxConcurrentTrials ?? Number.POSITIVE_INFINITY };
}
