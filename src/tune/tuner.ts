/**
 * `Tuner`: runs a trainable with many configurations, and continues interrupted runs.
 *
 * Checks the options, opens the run's folder, and puts together the parts that `Experiment` runs. This file covers one session of a run;
 * the machine decides what happens in it.
 */
import { type ActorClass, clusterResources } from "../core/index.ts";
import { describeValue, isPlainObject, readOptions, SIGNAL } from "../core/internal.ts";
import { onInterruption } from "../progress/interruption.ts";
import { readRunConfig, type ResolvedRunConfig, type RunConfig } from "../runs/run-config.ts";
import { readRunRecord, RunFolder } from "../runs/folder/run-folder.ts";
import { RunLog } from "../runs/folder/run-log.ts";
import { isTracker, type Tracker } from "../runs/trackers/tracker.ts";
import type { TrainableSource } from "../runs/trainable.ts";
import { resolveFolder } from "../storage/places.ts";
import { checkCallback, type TuneCallback } from "./options/callbacks.ts";
import { TuneError } from "./errors.ts";
import { EXPERIMENT_LOG, INTERRUPTED_RUN_MS } from "./limits.ts";
import { type ProgressReporter, readReporter, type Verbosity } from "./options/progress-reporter.ts";
import { ResultGrid } from "./results/result-grid.ts";
import { type ResumeOptions, Session, type SessionPlan } from "./experiment/run-session.ts";
import {
  givenParts,
  requireGivenAgain,
  restoredRunConfig,
  restoredTuneConfig,
  type SavedExperiment,
  saveExperiment,
} from "./experiment/saved-experiment.ts";
import { decodeSpace } from "./spaces/space-codec.ts";
import type { SearchSpace, Sampled } from "./spaces/space.ts";
import { readStop, type Stop } from "./options/stoppers.ts";
import { readKnownRun } from "./trials/stored-trials.ts";
import { readTrainable, type TrainableParts } from "./trainable.ts";
import type { Config, Metrics, Mode } from "./trials/trial.ts";
import { readTuneConfig, type ResolvedTuneConfig, type TuneConfig } from "./options/tune-config.ts";
import { makeScheduler, makeSearcher } from "./experiment/named-parts.ts";

/** `runConfig` of Tune. */
export interface TuneRunConfig extends RunConfig<TuneCallback | Tracker> {
  /** When trials stop: bounds by metric, a function, a stopper. Default: never by themselves. */
  stop?: Stop | undefined;
  /**
   * Amount of output while it runs: nothing, the numbers of trials, a table, or a table and each result. Default: 2 on a terminal,
   * otherwise 0.
   */
  verbose?: Verbosity | undefined;
  /** The columns and rows of the table. */
  progressReporter?: ProgressReporter | undefined;
}

export interface TunerOptions<S extends SearchSpace> {
  /** The configuration of each trial, with domains in the places that are searched. Default: empty. */
  paramSpace?: S | undefined;
  tuneConfig?: TuneConfig | undefined;
  runConfig?: TuneRunConfig | undefined;
}

/** Options of `Tuner.restore`: which trials run again, and the parts that a folder cannot hold. */
export interface RestoreOptions extends TunerOptions<SearchSpace>, ResumeOptions {}

export interface FitOptions {
  /** Ends the run when it aborts: `fit` rejects with its reason, and the run can be restored. */
  signal?: AbortSignal | undefined;
}

const FIT = { of: "fit", options: { signal: SIGNAL } };

/**
 * Trainable of a `Tuner`. `C` is a trial's configuration. `R` is the type that a function returns or yields, or that the `step()` of a class returns.
 * A class of Python comes from `python.actor<I>`, where `I` has its `step(): R`.
 */
export type Trainable<C, R> =
  | ((config: C) => R)
  | (new () => { step(): R })
  // oxlint-disable-next-line no-explicit-any -- whatever its constructor takes: Tune calls it
  | ActorClass<new (...args: any[]) => { step(): R }>
  | { remote(config: C): unknown }
  | TrainableSource<R>
  | { readonly [key: symbol]: unknown; fit(): unknown };

/** The metrics of a trial, inferred from its code's return or yielded values; the compiler does not know those of `report`. */
export type Reported<R> =
  R extends AsyncGenerator<infer Y, infer T>
    ? MetricsOf<Y | T>
    : R extends Generator<infer Y, infer T>
      ? MetricsOf<Y | T>
      : MetricsOf<Awaited<R>>;

type MetricsOf<T> = [Exclude<T, void | null | undefined>] extends [never]
  ? Metrics
  : unknown extends T
    ? Metrics
    : Extract<Exclude<T, void | null | undefined>, object>;

/**
 * An experiment: a trainable, the space of configurations, and a search through it.
 *
 * @example
 * const tuner = new Tuner(
 *   async (config) => {
 *     for (let i = 1; i <= 20; i++) await report({ loss: train(config, i) });
 *   },
 *   {
 *     paramSpace: { lr: loguniform(1e-4, 1e-1), layers: choice([1, 2, 3]) },
 *     tuneConfig: { metric: "loss", mode: "min", numSamples: 100, scheduler: new ASHAScheduler({ maxT: 20 }) },
 *   },
 * );
 * const results = await tuner.fit();
 * console.log(results.getBestResult().config);
 */
export class Tuner<S extends SearchSpace = Record<string, never>, R = unknown> {
  readonly #trainable: TrainableParts;
  readonly #options: TunerOptions<S>;
  readonly #restored: { readonly path: string; readonly options: RestoreOptions } | undefined;
  #results: ResultGrid<Config, Metrics> | undefined;
  #isRunning = false;

  /** @throws TypeError, RangeError for values that cannot be run, and for unknown options */
  constructor(trainable: Trainable<Sampled<S>, R>, options: TunerOptions<S> = {}) {
    this.#trainable = readTrainable(trainable);
    this.#options = checkedOptions(options, ["paramSpace", "tuneConfig", "runConfig"]);
    readTuneConfig(options.tuneConfig);
    this.#restored = restoring;
  }

  /**
   * Continues the run of a folder: finished trials stay, unfinished ones continue from their last checkpoint, and the searcher continues
   * its sequence.
   *
   * @param path - the run's folder: `results.experimentPath`, or `storagePath/name`
   * @param trainable - the same as that of the run
   * @param options - trials to run again, and the parts that a folder cannot hold: functions of the space, custom searchers, schedulers and
   * stoppers, callbacks
   */
  // oxlint-disable-next-line no-explicit-any -- the folder has the configurations, so their types are whatever the trainable says
  static restore<R>(path: string, trainable: Trainable<any, R>, options: RestoreOptions = {}): Tuner<SearchSpace, R> {
    if (typeof path !== "string" || path === "")
      throw new TypeError(`Cannot restore a run: the path of its folder is needed: received ${describeValue(path)}`);
    const { resumeUnfinished, resumeErrored, restartErrored, ...others } = checkedOptions(options, RESTORE_OPTIONS);
    for (const [name, value] of Object.entries({ resumeUnfinished, resumeErrored, restartErrored }))
      if (value !== undefined && typeof value !== "boolean")
        throw new TypeError(`Cannot restore a run: ${name} must be true or false: received ${describeValue(value)}`);
    restoring = { path, options };
    try {
      return new Tuner(trainable as never, others) as Tuner<SearchSpace, R>;
    } finally {
      restoring = undefined;
    }
  }

  /** Whether a folder holds a run of Tune. */
  static async canRestore(path: string): Promise<boolean> {
    const record = await readRunRecord(await resolveFolder(path));
    return record?.library === "tune";
  }

  /**
   * Runs all trials, and gives their results when the last has ended. Trials that fail are among the results.
   *
   * @throws TuneError for `failFast`; RunError if a run of this name exists already; errors of a searcher or scheduler; the reason of the
   * signal
   */
  async fit(options: FitOptions = {}): Promise<ResultGrid<Sampled<S>, Reported<R>>> {
    const { signal } = readOptions(options, FIT);
    if (this.#isRunning) throw new TuneError("Cannot fit: this Tuner runs already");
    this.#isRunning = true;
    try {
      return (this.#results = await this.#fit(signal)) as never;
    } finally {
      this.#isRunning = false;
    }
  }

  /**
   * The results of the last `fit`; before one, those in a restored run's folder. These are read and nothing is run: unfinished trials have
   * their stored status.
   *
   * @throws TuneError before `fit` of a new run has ended, or for a folder without a run
   */
  async getResults(): Promise<ResultGrid<Sampled<S>, Reported<R>>> {
    if (this.#results !== undefined) return this.#results as never;
    if (this.#restored === undefined || this.#isRunning) throw new TuneError("Cannot get results: fit() has not ended: await tuner.fit()");
    const { path, options } = this.#restored;
    return new ResultGrid(await readKnownRun(path, options.paramSpace && checkedSpace(options.paramSpace))) as never;
  }

  async #fit(signal: AbortSignal | undefined): Promise<ResultGrid<Config, Metrics>> {
    signal?.throwIfAborted();
    const { folder, plan } = this.#restored === undefined ? await this.#begin() : await this.#reopen(this.#restored);
    const interruption = new AbortController();
    const session = new Session(folder, plan);
    const stopListening = onInterruption({
      abandon: async () => {
        interruption.abort(new TuneError("The run was interrupted"));
        await session.closed;
      },
      withinMs: INTERRUPTED_RUN_MS,
      kept: () => `tune: ${session.kept}`,
    });
    try {
      const signals = [interruption.signal, folder.lost, ...(signal === undefined ? [] : [signal])];
      return await session.run(AbortSignal.any(signals));
    } finally {
      stopListening();
      await folder.close();
    }
  }

  /** The domains of the trainable and those of `paramSpace`, of which the latter win. */
  get #space(): SearchSpace {
    const own = checkedSpace(this.#options.paramSpace ?? {});
    const { space = {} } = this.#trainable;
    const both = Object.entries(own).map(([name, value]) => {
      const before = space[name];
      return [name, isPlainObject(before) && isPlainObject(value) ? { ...before, ...value } : value] as const;
    });
    return { ...space, ...Object.fromEntries(both) };
  }

  /** A new run. */
  async #begin(): Promise<{ folder: RunFolder; plan: SessionPlan }> {
    const trainable = this.#trainable;
    const { runConfig: givenRun } = this.#options;
    const space = this.#space;
    const tuneConfig = readTuneConfig(this.#options.tuneConfig);
    const runConfig = await readRunConfig<TuneCallback | Tracker>(givenRun, "tune");
    const stopper = readStop(runConfig.stop, tunedModes(tuneConfig));
    const reporter = readReporter(runConfig.progressReporter);
    const callbacks = checkedCallbacks(runConfig.callbacks);
    const runId = Math.floor(Math.random() * 16 ** 6)
      .toString(16)
      .padStart(6, "0");
    const searcher = await makeSearcher(tuneConfig, null);
    const scheduler = await makeScheduler(tuneConfig.scheduler, null);
    const saved = saveExperiment({ trainable, runId, space, tuneConfig, runConfig, searcher: searcher.definition, scheduler });
    const resources = await clusterResources();
    const folder = await openNew(runConfig, trainable.name);
    try {
      await folder.write({ library: "tune", state: "running", details: saved as unknown as Metrics, startedAt: Date.now() });
      const { log } = await RunLog.open({ folder: folder.path, name: EXPERIMENT_LOG });
      const plan = {
        trainable,
        space,
        tuneConfig,
        runConfig,
        stopper,
        reporter,
        callbacks,
        runId,
        searcher,
        scheduler,
        log,
        clusterResources: resources,
      };
      return { folder, plan: { ...plan, restored: undefined } };
    } catch (error) {
      await folder.close();
      throw error;
    }
  }

  /** Opens an existing run. */
  async #reopen({ path: given, options }: { path: string; options: RestoreOptions }): Promise<{ folder: RunFolder; plan: SessionPlan }> {
    const path = await resolveFolder(given);
    const record = await readRunRecord(path);
    if (record?.library !== "tune") throw new TuneError(`Cannot restore the run ${path}: there is no run of Tune in this folder`);
    const slash = path.lastIndexOf("/");
    const folder = await RunFolder.open({ storagePath: path.slice(0, slash), name: path.slice(slash + 1) });
    try {
      const saved = (folder.record as NonNullable<typeof record>).details as unknown as SavedExperiment;
      // Functions in the space are given again by the trainable, where it brings its space along.
      const isGiven = options.paramSpace !== undefined || (saved.unsaved.includes("paramSpace") && this.#trainable.space !== undefined);
      requireGivenAgain(saved, givenParts({ ...options, paramSpace: isGiven ? this.#space : undefined }), path);
      const space = isGiven ? this.#space : decodeSpace(saved.space);
      const tuneConfig = restoredTuneConfig(saved, options);
      const runConfig = await readRunConfig<TuneCallback | Tracker>(restoredRunConfig(saved, options), "tune");
      const { log, snapshot, records } = await RunLog.open({ folder: folder.path, name: EXPERIMENT_LOG });
      await folder.write({ ...(folder.record as NonNullable<typeof record>), state: "running" });
      const plan: SessionPlan = {
        trainable: this.#trainable,
        space,
        tuneConfig,
        runConfig,
        stopper: readStop(runConfig.stop, tunedModes(tuneConfig)),
        reporter: readReporter(runConfig.progressReporter),
        callbacks: checkedCallbacks(runConfig.callbacks),
        runId: saved.runId,
        searcher: await makeSearcher(tuneConfig, saved.searchAlg),
        scheduler: await makeScheduler(tuneConfig.scheduler, saved.scheduler),
        log,
        clusterResources: await clusterResources(),
        restored: { snapshot, records, options },
      };
      return { folder, plan };
    } catch (error) {
      await folder.close();
      throw error;
    }
  }
}

const RESTORE_OPTIONS = ["paramSpace", "tuneConfig", "runConfig", "resumeUnfinished", "resumeErrored", "restartErrored"] as const;

/** Set while `restore` constructs: users call the constructor, and have nothing to restore. */
let restoring: { readonly path: string; readonly options: RestoreOptions } | undefined;

/** Options of Ray's older `tune.run`, and options that are in the wrong place, in small letters. */
const OLDER_NAMES: ReadonlyMap<string, string> = new Map([
  ["config", "it is paramSpace"],
  ["space", "it is paramSpace"],
  ["resourcespertrial", "it is withResources(trainable, { numCpus: 2 })"],
  ["localdir", "it is runConfig: { storagePath }"],
  ["keepcheckpointsnum", "it is runConfig: { checkpointConfig: { numToKeep } }"],
  ["checkpointfreq", "it is runConfig: { checkpointConfig: { checkpointFrequency } }"],
  ["checkpointatend", "it is runConfig: { checkpointConfig: { checkpointAtEnd } }"],
  ["maxfailures", "it is runConfig: { failureConfig: { maxFailures } }"],
  ["failfast", "it is runConfig: { failureConfig: { failFast } }"],
  ["timebudgets", "it is tuneConfig: { timeBudgetMs }, in milliseconds"],
  ["resume", "it is Tuner.restore(path, trainable)"],
  ...optionsOf("runConfig", ["name", "storagePath", "stop", "callbacks"]),
  ...optionsOf("tuneConfig", ["metric", "mode", "numSamples", "scheduler", "searchAlg", "maxConcurrentTrials", "reuseActors"]),
]);

function optionsOf(config: string, names: readonly string[]): [string, string][] {
  return names.map((name) => [name.toLowerCase(), `it is ${config}: { ${name} }`]);
}

function checkedOptions<T extends object>(options: T, allowed: readonly string[]): T {
  if (!isPlainObject(options))
    throw new TypeError(`Cannot make a Tuner: an object of options is needed: received ${describeValue(options)}`);
  for (const name of Object.keys(options)) {
    if (allowed.includes(name)) continue;
    const plain = name.replaceAll("_", "").toLowerCase();
    const respelled = allowed.find((known) => known.toLowerCase() === plain);
    const instead = respelled === undefined ? OLDER_NAMES.get(plain) : `it is spelled ${respelled}`;
    throw new TypeError(`Cannot make a Tuner: there is no option ${JSON.stringify(name)}: ${instead ?? `there are ${allowed.join(", ")}`}`);
  }
  return options;
}

function checkedSpace(space: unknown): SearchSpace {
  if (!isPlainObject(space))
    throw new TypeError(
      `Cannot set paramSpace: an object such as { lr: loguniform(1e-4, 1e-1) } is needed: received ${describeValue(space)}`,
    );
  return space;
}

function tunedModes({ metrics, modes }: ResolvedTuneConfig): ReadonlyMap<string, Mode> {
  return new Map(metrics.map((name, i) => [name, modes[i] as Mode]));
}

function checkedCallbacks(given: readonly (TuneCallback | Tracker)[]): { trackers: Tracker[]; callbacks: TuneCallback[] } {
  const trackers = given.filter(isTracker);
  const callbacks = given.filter((one) => !isTracker(one));
  for (const callback of callbacks) checkCallback(callback);
  return { trackers, callbacks: callbacks as TuneCallback[] };
}

/** The folder of a new run. A name that the user gave must be free, unless it may be overwritten. */
async function openNew(config: ResolvedRunConfig<TuneCallback | Tracker>, trainable: string): Promise<RunFolder> {
  const { name, storagePath, overwrite } = config;
  if (name === undefined) return await RunFolder.openUnnamed({ storagePath, prefix: trainable.replace(/[^\p{L}\p{N}_-]/gu, "_") });
  const folder = await RunFolder.open({ storagePath, name });
  if (folder.record === undefined) return folder;
  if (overwrite) {
    await folder.clear();
    return folder;
  }
  const { path, record } = folder;
  await folder.close();
  throw new TuneError(
    `Cannot start the run ${JSON.stringify(name)}: ${path} holds a run that is ${record.state === "running" ? "unfinished" : record.state} already`,
    {
      hint: `go on with it by Tuner.restore(${JSON.stringify(path)}, trainable), replace it by runConfig: { overwrite: true }, or choose another name`,
    },
  );
}
