/**
 * The experiment in a run's record, so that a restore needs only the path and the trainable. The record also lists the parts that it cannot hold.
 *
 * Options are kept as JSON, searchers and schedulers by their definitions. Code is never kept: the user has to give functions and instances of own classes again, and
 * `requireGivenAgain` names those that are missing.
 */
import { isPlainObject } from "../../core/internal.ts";
import type { CheckpointConfig, FailureConfig, ResolvedRunConfig, RunConfig } from "../../runs/run-config.ts";
import type { Tracker } from "../../runs/trackers/tracker.ts";
import type { TuneCallback } from "../options/callbacks.ts";
import { TuneError } from "../errors.ts";
import type { TrialScheduler } from "../scheduler.ts";
import { encodeSpace } from "../spaces/space-codec.ts";
import type { SearchSpace } from "../spaces/space.ts";
import type { TrainableParts } from "../trainable.ts";
import type { Definition, JsonValue, Mode } from "../trials/trial.ts";
import { readTuneConfig, type ResolvedTuneConfig, type TuneConfig } from "../options/tune-config.ts";

/** The details of a run's record. */
export interface SavedExperiment {
  readonly trainable: string;
  readonly runId: string;
  readonly space: JsonValue;
  readonly metrics: readonly string[];
  readonly modes: readonly Mode[];
  readonly numSamples: number;
  /** null: -1 of JSON has no Infinity. */
  readonly maxConcurrentTrials: number | null;
  readonly timeBudgetMs: number | null;
  readonly reuseActors: boolean | null;
  readonly seed: number | null;
  readonly searchAlg: Definition | null;
  readonly scheduler: Definition | null;
  /** That of the scheduler. */
  readonly asksAhead: number | boolean;
  readonly stop: JsonValue;
  readonly failureConfig: FailureConfig;
  readonly checkpointConfig: CheckpointConfig;
  /** Parts that were given and cannot be kept: `searchAlg`, `paramSpace`, … */
  readonly unsaved: readonly string[];
}

/** @throws TuneError that names the parts of the first run that have to be given again */
export function requireGivenAgain(saved: SavedExperiment, given: ReadonlySet<string>, path: string): void {
  const missing = saved.unsaved.filter((name) => !given.has(name));
  if (missing.length === 0) return;
  const example = missing.map((name) =>
    name === "paramSpace" ? "paramSpace" : name === "stop" ? "runConfig: { stop }" : `tuneConfig: { ${name} }`,
  );
  throw new TuneError(
    `Cannot restore the run ${path}: its ${missing.join(" and ")} cannot be read from a folder: code in files is never run`,
    {
      hint: `give it again: Tuner.restore(path, trainable, { ${example.join(", ")} })`,
    },
  );
}

/** Functions of `tuneConfig`, without which new trials of a restored run would have other names than the first ones. */
const NAMERS = ["trialNameCreator", "trialDirnameCreator"] as const;

interface SavedParts {
  readonly trainable: TrainableParts;
  readonly runId: string;
  readonly space: SearchSpace;
  readonly tuneConfig: ResolvedTuneConfig;
  readonly runConfig: ResolvedRunConfig<TuneCallback | Tracker>;
  readonly searcher: SavedExperiment["searchAlg"] | undefined;
  readonly scheduler: TrialScheduler;
}

/** The details of a new run's record. */
export function saveExperiment({ trainable, runId, space, tuneConfig, runConfig, searcher, scheduler }: SavedParts): SavedExperiment {
  const { metrics, modes, numSamples, maxConcurrentTrials, timeBudgetMs, reuseActors, seed } = tuneConfig;
  const { encoded, isWhole } = encodeSpace(space);
  const { maxFailures, failFast, reportTimeoutMs } = runConfig.failureConfig;
  const stopIsJson = runConfig.stop === undefined || isPlainObject(runConfig.stop);
  const unsaved = [
    ...(isWhole ? [] : ["paramSpace"]),
    ...(searcher === undefined ? ["searchAlg"] : []),
    ...(scheduler.definition === undefined ? ["scheduler"] : []),
    ...(stopIsJson ? [] : ["stop"]),
    ...NAMERS.filter((name) => tuneConfig[name] !== undefined),
  ];
  return JSON.parse(
    JSON.stringify({
      trainable: trainable.name,
      runId,
      space: encoded,
      metrics,
      modes,
      numSamples,
      maxConcurrentTrials: Number.isFinite(maxConcurrentTrials) ? maxConcurrentTrials : null,
      timeBudgetMs: timeBudgetMs ?? null,
      reuseActors: reuseActors ?? null,
      seed: seed ?? null,
      searchAlg: searcher ?? null,
      scheduler: scheduler.definition ?? null,
      asksAhead: Number(scheduler.asksAhead ?? 0),
      stop: stopIsJson ? (runConfig.stop ?? null) : null,
      failureConfig: { maxFailures, failFast, reportTimeoutMs },
      checkpointConfig: runConfig.checkpointConfig,
      unsaved,
    }),
  ) as SavedExperiment;
}

/** The parts of a run that a program which restores it may give again. */
interface RestoredParts {
  readonly paramSpace?: SearchSpace | undefined;
  readonly tuneConfig?: TuneConfig | undefined;
  readonly runConfig?: RunConfig<TuneCallback | Tracker> | undefined;
}

/** The names of the parts that are given again, for {@link requireGivenAgain}. */
export function givenParts({ paramSpace, tuneConfig, runConfig }: RestoredParts): Set<string> {
  const given = new Set<string>();
  if (paramSpace !== undefined) given.add("paramSpace");
  for (const name of ["searchAlg", "scheduler", ...NAMERS] as const) if (tuneConfig?.[name] !== undefined) given.add(name);
  if (runConfig?.stop !== undefined) given.add("stop");
  return given;
}

/** The run's `tuneConfig`, overridden by the parts that are given again. Searcher and scheduler are made from their definitions. */
export function restoredTuneConfig(saved: SavedExperiment, { tuneConfig = {} }: RestoredParts): ResolvedTuneConfig {
  const { metrics, modes, numSamples, maxConcurrentTrials, timeBudgetMs, reuseActors, seed } = saved;
  return readTuneConfig({
    ...(metrics.length > 0 ? { metric: metrics, mode: modes } : { mode: modes[0] }),
    numSamples,
    maxConcurrentTrials: maxConcurrentTrials ?? undefined,
    timeBudgetMs: timeBudgetMs ?? undefined,
    reuseActors: reuseActors ?? undefined,
    seed: seed ?? undefined,
    ...Object.fromEntries(Object.entries(tuneConfig).filter(([, value]) => value !== undefined)),
  });
}

/** The run's `runConfig`, overridden by the parts that are given again. */
export function restoredRunConfig(saved: SavedExperiment, { runConfig = {} }: RestoredParts): RunConfig<TuneCallback | Tracker> {
  const withoutNulls = (value: object): object => Object.fromEntries(Object.entries(value).filter(([, part]) => part !== null));
  const { name: _name, storagePath: _storage, overwrite: _overwrite, ...given } = runConfig;
  return {
    failureConfig: withoutNulls(saved.failureConfig),
    checkpointConfig: withoutNulls(saved.checkpointConfig),
    ...(saved.stop !== null && { stop: saved.stop }),
    ...given,
  };
}
