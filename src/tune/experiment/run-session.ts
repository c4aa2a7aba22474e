/**
 * A session of a run, from the opened folder to the results or to an interruption.
 *
 * `Tuner` makes a session for each `fit`.
 *
 * A session connects machine, searcher, files and processes, replays the log of earlier sessions if there is one, and runs the experiment.
 */
import { describeValue, messageOf } from "../../core/internal.ts";
import { showsProgress } from "../../progress/progress-board.ts";
import { listCheckpoints, removeCheckpoint, removeUnfinishedCheckpoints } from "../../runs/checkpoints/stored-checkpoints.ts";
import { CSVLoggerCallback } from "../../runs/trackers/files/csv-tracker.ts";
import { JsonLoggerCallback } from "../../runs/trackers/files/json-lines-tracker.ts";
import type { ResolvedRunConfig } from "../../runs/run-config.ts";
import type { RunFolder } from "../../runs/folder/run-folder.ts";
import type { RunLog } from "../../runs/folder/run-log.ts";
import { checkName } from "../../runs/folder/run-names.ts";
import { RunPaths } from "../../runs/folder/run-paths.ts";
import { TBXLoggerCallback } from "../../runs/trackers/files/tensorboard-tracker.ts";
import type { Tracker } from "../../runs/trackers/tracker.ts";
import { uploadSchedule } from "../../storage/appending/upload-schedule.ts";
import { CallbackQueue, type ExperimentInfo, type TuneCallback } from "../options/callbacks.ts";
import { ConfigCodec } from "../spaces/config-codec.ts";
import { TuneError } from "../errors.ts";
import { Experiment, type ExperimentState } from "./experiment.ts";
import { EXPERIMENT_LOG } from "../limits.ts";
import type { FinishedTrial, LiveTrial } from "../trials/live-trial.ts";
import { makeProcesses } from "../processes/make-processes.ts";
import { PolicyFiles } from "../policy-files.ts";
import { type ResolvedReporter, ResultLines } from "../options/progress-reporter.ts";
import { DecisionRecorder } from "./recorded-decisions.ts";
import { ResultGrid } from "../results/result-grid.ts";
import type { TrialScheduler } from "../scheduler.ts";
import { BasicVariantGenerator } from "../search/basic-variant-generator.ts";
import type { Searcher } from "../searcher.ts";
import type { SearchSpace } from "../spaces/space.ts";
import type { Stopper } from "../options/stoppers.ts";
import type { TrainableParts } from "../trainable.ts";
import type { Config, JsonValue, Metrics, Mode, Trial } from "../trials/trial.ts";
import type { SessionLimits } from "./trial-events.ts";
import { TrialFiles } from "../trials/trial-files.ts";
import { TrialMachine } from "./trial-machine.ts";
import { TrialTable } from "../trials/trial-table.ts";
import type { ResolvedTuneConfig } from "../options/tune-config.ts";

/** Options that choose which trials of earlier sessions run again. */
export interface ResumeOptions {
  /** Whether trials that had not ended go on. Default: true. */
  resumeUnfinished?: boolean | undefined;
  /** Whether trials that failed are tried again from their last checkpoints. Default: false. */
  resumeErrored?: boolean | undefined;
  /** Whether trials that failed are tried again from their beginning. Default: false. */
  restartErrored?: boolean | undefined;
}

/** All that a session is made of. */
export interface SessionPlan {
  readonly trainable: TrainableParts;
  readonly space: SearchSpace;
  readonly tuneConfig: ResolvedTuneConfig;
  readonly runConfig: ResolvedRunConfig<TuneCallback | Tracker>;
  readonly stopper: Stopper | undefined;
  readonly reporter: ResolvedReporter;
  readonly callbacks: { readonly trackers: readonly Tracker[]; readonly callbacks: readonly TuneCallback[] };
  readonly runId: string;
  readonly searcher: Searcher;
  readonly scheduler: TrialScheduler;
  readonly log: RunLog;
  readonly clusterResources: Readonly<Record<string, number>>;
  readonly restored:
    | { readonly snapshot: JsonValue | undefined; readonly records: readonly JsonValue[]; readonly options: ResumeOptions }
    | undefined;
}

export class Session {
  readonly #folder: RunFolder;
  readonly #plan: SessionPlan;
  readonly #machine: TrialMachine;
  /** Where the run's folder cannot make the scheduler again. */
  readonly #decisions: DecisionRecorder | undefined;
  readonly #codec: ConfigCodec;
  readonly #paths: RunPaths;
  readonly #files: TrialFiles;
  readonly #callbacks: CallbackQueue;
  readonly #table: TrialTable;
  /** Folders of all trials, where the user names them. */
  #dirnames: Set<string> | undefined;
  readonly #closed = Promise.withResolvers<void>();

  constructor(folder: RunFolder, plan: SessionPlan) {
    const { tuneConfig, runConfig, runId, scheduler, callbacks } = plan;
    this.#folder = folder;
    this.#plan = plan;
    this.#paths = new RunPaths(folder.path);
    this.#codec = new ConfigCodec(plan.space, this.#paths);
    this.#decisions = scheduler.definition === undefined ? new DecisionRecorder(scheduler) : undefined;
    this.#machine = new TrialMachine({
      runId,
      metrics: tuneConfig.metrics,
      keep: runConfig.checkpointConfig,
      scheduler: this.#decisions ?? scheduler,
    });
    const { metrics, modes } = tuneConfig;
    this.#table = new TrialTable(this.#machine, { metrics, modes, name: folder.name, reporter: plan.reporter }, runConfig.verbose);
    const isTelling = runConfig.verbose === 3 && showsProgress(true);
    const own = isTelling ? [new ResultLines(metrics, tell)] : [];
    this.#callbacks = new CallbackQueue([...callbacks.callbacks, ...own], tell);
    this.#files = new TrialFiles({
      experimentName: folder.name,
      folder: folder.path,
      trackers: [...defaultTrackers(callbacks.trackers), ...callbacks.trackers],
      onProblem: tell,
      shownConfig: ConfigCodec.shown,
      dirnameOf,
    });
  }

  /** Resolves when everything is written. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  /** A sentence for the user of an interrupted session: how many trials are finished, and how to continue. */
  get kept(): string {
    const { finishedTrials, liveTrials } = this.#machine;
    const path = this.#folder.path;
    return `${finishedTrials.length} trials are finished and ${liveTrials.size} are not: go on with Tuner.restore(${JSON.stringify(path)}, trainable)`;
  }

  async run(signal: AbortSignal): Promise<ResultGrid<Config, Metrics>> {
    const { tuneConfig, searcher, scheduler, space } = this.#plan;
    const experiment = this.#experiment();
    const endWatch = uploadSchedule.watch(this.#folder.path, tell);
    let state: "finished" | "failed" = "failed";
    try {
      await searcher.setSearchProperties(oneOrAll(tuneConfig.metrics), oneOrAll(tuneConfig.modes) as Mode, space);
      this.#callbacks.call("setup", this.#info());
      // A mode may stand alone if the scheduler names its metric.
      const isOne = tuneConfig.modes.length === 1;
      scheduler.setSearchProperties(isOne ? tuneConfig.metrics[0] : undefined, isOne ? tuneConfig.modes[0] : undefined);
      const { restored } = this.#plan;
      // A run that died before it wrote anything begins as a new one does.
      if (restored === undefined || (restored.snapshot === undefined && restored.records.length === 0)) await experiment.writeBeginning();
      if (restored !== undefined) await this.#restore(experiment, restored);
      this.#table.begin(this.#trialsMax);
      await experiment.run(this.#limits(), signal);
      this.#callbacks.call("onExperimentEnd", { trials: this.#machine.finishedTrials });
      await this.#callbacks.settled();
      state = "finished";
      return this.#results();
    } finally {
      this.#table.end(state === "finished" ? "done" : signal.aborted ? "stopped" : "failed");
      endWatch();
      await this.#plan.log.close();
      await this.#closeSearcher();
      if (!signal.aborted) await this.#folder.write({ ...(this.#folder.record as NonNullable<RunFolder["record"]>), state });
      this.#closed.resolve();
    }
  }

  /** The run has its results, or the error that it ends with. */
  async #closeSearcher(): Promise<void> {
    try {
      await this.#plan.searcher.close?.();
    } catch (error) {
      tell(`the searcher did not close: ${messageOf(error)}`);
    }
  }

  #experiment(): Experiment {
    const { trainable, tuneConfig, runConfig, searcher, stopper, log } = this.#plan;
    return new Experiment({
      name: this.#folder.name,
      machine: this.#machine,
      decisions: this.#decisions,
      searcher,
      stopper,
      processes: makeProcesses(trainable, { isReusing: tuneConfig.reuseActors ?? true, onProblem: tell }),
      files: this.#files,
      policies: new PolicyFiles({ folder: this.#folder.path, onProblem: tell }),
      callbacks: this.#callbacks,
      log,
      codec: this.#codec,
      paths: this.#paths,
      resourcesOf: trainable.resourcesOf,
      nameOf: (trial) => this.#nameOf(trial),
      survivesErrors: trainable.body.kind === "function" || (trainable.body.kind === "python" && trainable.body.code.kind === "function"),
      checkpointFrequency: runConfig.checkpointConfig.checkpointFrequency,
      checkpointAtEnd: runConfig.checkpointConfig.checkpointAtEnd,
      failFast: runConfig.failureConfig.failFast,
      reportTimeoutMs: runConfig.failureConfig.reportTimeoutMs,
      timeBudgetMs: tuneConfig.timeBudgetMs,
      kept: () => this.kept,
      onProblem: tell,
    });
  }

  #info(): ExperimentInfo {
    const { tuneConfig, runConfig } = this.#plan;
    const { name: experimentName, path: experimentPath } = this.#folder;
    return { experimentName, experimentPath, numSamples: tuneConfig.numSamples, totalNumSamples: this.#trialsMax, stop: runConfig.stop };
  }

  /** The number of trials that there will be, as far as it is known. A grid has more points than samples: its searcher counts them, once it has the space. */
  get #trialsMax(): number {
    const { searcher, tuneConfig } = this.#plan;
    if (searcher instanceof BasicVariantGenerator) return searcher.trialsMax;
    return tuneConfig.numSamples === -1 ? Number.POSITIVE_INFINITY : tuneConfig.numSamples;
  }

  #limits(): SessionLimits {
    const { searcher, tuneConfig, runConfig, clusterResources } = this.#plan;
    return {
      samplesMax: searcher instanceof BasicVariantGenerator ? Number.POSITIVE_INFINITY : this.#trialsMax,
      concurrentMax: tuneConfig.maxConcurrentTrials,
      maxFailures: runConfig.failureConfig.maxFailures,
      clusterResources,
      // Points that nothing is learnt for are as good early as late.
      aheadMax: searcher instanceof BasicVariantGenerator ? Number.POSITIVE_INFINITY : 1,
    };
  }

  #nameOf({ trialId, config }: { trialId: string; config: Config }): { name: string; dirname: string } {
    const { trialNameCreator, trialDirnameCreator } = this.#plan.tuneConfig;
    const own = `${this.#plan.trainable.name}_${trialId}`;
    const name = trialNameCreator?.({ trialId, config }) ?? own;
    if (trialNameCreator === undefined && trialDirnameCreator === undefined) return { name, dirname: checkedName(own, trialId) };
    const taken = (this.#dirnames ??= new Set([...this.#machine.liveTrials.values(), ...this.#machine.finishedTrials].map(dirnameOf)));
    const dirname = trialDirnameCreator?.({ trialId, config }) ?? (taken.has(name) ? `${name}_${trialId}` : name);
    if (taken.has(checkedName(dirname, trialId)))
      throw new TuneError(
        `Cannot run trial ${trialId}: trialDirnameCreator gives it the folder of another trial: received ${describeValue(dirname)}`,
      );
    taken.add(dirname);
    return { name, dirname };
  }

  /** Brings everything to where the last session ended, and decides what becomes of the trials. */
  async #restore(experiment: Experiment, { snapshot, records, options }: NonNullable<SessionPlan["restored"]>): Promise<void> {
    this.#files.restored();
    if (snapshot !== undefined) await experiment.restore(snapshot as unknown as ExperimentState);
    await this.#files.catchUp(await experiment.replay(records));
    // Before they end here: the files of a trial that was being stopped as the driver died stand.
    for (const trial of this.#machine.endingTrials) this.#files.resume(trial);
    experiment.prepare({ type: "opened" });
    for (const id of this.#machine.heldTrials) experiment.prepare({ type: "interrupted", trialId: id });
    const { resumeUnfinished = true, resumeErrored = false, restartErrored = false } = options;
    const live = [...this.#machine.liveTrials.values()] as LiveTrial[];
    const inUse = new Set(live.flatMap(({ start }) => start?.path ?? []));
    for (const trial of live) {
      await this.#removeUnknownCheckpoints(trial, inUse);
      const beginsAnew = resumeUnfinished && trial.lastResult === undefined && trial.checkpointToStartFrom === undefined;
      this.#keepFolder(trial, { beginsAnew, inUse });
      if (!resumeUnfinished) experiment.prepare({ type: "givenUp", trialId: trial.id });
    }
    if (!resumeErrored && !restartErrored) return;
    for (const trial of this.#machine.finishedTrials.filter(({ status }) => status === "errored")) {
      this.#keepFolder(trial, { beginsAnew: restartErrored, inUse });
      experiment.prepare({ type: "revived", trialId: trial.id, fromCheckpoint: !restartErrored });
    }
  }

  /** A trial that begins anew begins with an empty folder, unless another is to go on from a checkpoint in it. */
  #keepFolder(trial: Trial | FinishedTrial, { beginsAnew, inUse }: { beginsAnew: boolean; inUse: ReadonlySet<string> }): void {
    const folder = `${this.#files.folderOf(trial as Trial)}/`;
    if (!beginsAnew || [...inUse].some((path) => path.startsWith(folder))) this.#files.resume(trial);
  }

  /** Checkpoints that were completed and not logged: the log is the truth, and their names are used again. */
  async #removeUnknownCheckpoints(trial: LiveTrial, inUse: ReadonlySet<string>): Promise<void> {
    const known = new Set([...inUse, ...trial.finished("terminated").checkpoints.map(({ path }) => path)]);
    const folder = this.#files.folderOf(trial);
    if (await this.#paths.isRemovable(folder)) await removeUnfinishedCheckpoints(folder);
    for (const { checkpoint } of await listCheckpoints(folder))
      if (!known.has(checkpoint.path) && (await this.#paths.isRemovable(checkpoint.path))) await removeCheckpoint(checkpoint);
  }

  #results(): ResultGrid<Config, Metrics> {
    const { metrics, modes } = this.#plan.tuneConfig;
    return new ResultGrid({ path: this.#folder.path, trials: this.#machine.finishedTrials, metrics, modes });
  }
}

/** Ray's files, unless the user gives a tracker of the same kind with other options. */
function defaultTrackers(given: readonly Tracker[]): Tracker[] {
  const names = new Set(given.map(({ name }) => name));
  return [new JsonLoggerCallback(), new CSVLoggerCallback(), new TBXLoggerCallback()].filter(({ name }) => !names.has(name));
}

function dirnameOf(trial: Trial | FinishedTrial): string {
  return (trial as LiveTrial | FinishedTrial).dirname;
}

/** @throws TypeError, RangeError for an invalid folder name, or one that the run itself uses */
function checkedName(dirname: string, trialId: string): string {
  checkName(dirname, `Cannot run trial ${trialId}: the name of its folder`);
  if (dirname.startsWith(EXPERIMENT_LOG) || dirname === "run.json")
    throw new RangeError(`Cannot run trial ${trialId}: files of the run itself have such names: received ${describeValue(dirname)}`);
  return dirname;
}

function tell(text: string): void {
  process.stderr.write(`shoal tune: ${text}\n`);
}

function oneOrAll<T>(values: readonly T[]): T | readonly T[] {
  const [only] = values;
  return only !== undefined && values.length === 1 ? only : values;
}
