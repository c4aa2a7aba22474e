/**
 * The base class of all trainers: checked options, a loop, a backend, and `fit`.
 *
 * `fit` opens the run's folder, follows the run (`training-run.ts`) with logs, trackers and callbacks, and makes its `Result`. Inside of Tune the folder and the reports are a trial's: Tune finds the
 * trainer by the symbol `TRAINABLE` and merges the trial's parameters into its options.
 */
import { init, isInitialized, put, type RuntimeEnv } from "../core/index.ts";
import type { Option } from "../core/internal.ts";
import { isPlainObject, readOptions, SIGNAL } from "../core/internal.ts";
import { onInterruption } from "../progress/interruption.ts";
import type { Checkpoint } from "../runs/checkpoints/checkpoint.ts";
import { listCheckpoints } from "../runs/checkpoints/stored-checkpoints.ts";
import { RunError } from "../runs/errors.ts";
import type { Metrics } from "../runs/metrics/metrics.ts";
import type { Result } from "../runs/result.ts";
import { type ResolvedRunConfig, readRunConfig } from "../runs/run-config.ts";
import { removeRunError, writeRunError } from "../runs/folder/run-error-file.ts";
import { RunFolder } from "../runs/folder/run-folder.ts";
import type { Tracker } from "../runs/trackers/tracker.ts";
import { type RunDefinition, TRAINABLE, type TrainableTrial } from "../runs/trainable.ts";
import { joinPath } from "../storage/paths.ts";
import { folderExists } from "../storage/listing/folders.ts";
import type { Backend } from "./backends/backend.ts";
import type { TrainCallback } from "./run/callbacks.ts";
import { TrainError } from "./errors.ts";
import { NO_FRAMEWORK } from "./backends/framework-backends.ts";
import { FollowedRun } from "./run/followed-run.ts";
import { INTERRUPTED_MS } from "./limits.ts";
import { type Loop, loopOf } from "./loop.ts";
import { RunMessages } from "./run/run-messages.ts";
import { RunStore } from "./run/run-store.ts";
import { type TorchrunPlace, torchrunPlace } from "./backends/torchrun.ts";
import { readTrainerOptions, type TrainerSettings } from "./trainer-options.ts";
import { type RunObserver, TrainingRun } from "./run/training-run.ts";
import { workerEnvironment } from "./group/worker-environment.ts";

/** The differences between trainers. */
export interface TrainerKind {
  /** The class's name. */
  readonly name: string;
  /** The class's options besides those of all trainers. */
  readonly own: Readonly<Record<string, Option<unknown>>>;
  /** A loop of Shoal's own, where the user gives none. */
  readonly loop?: ((settings: TrainerSettings) => { place: string; name: string; config: unknown }) | undefined;
  /** Whether the loop must be of Python, as the framework is. */
  readonly isPython: boolean;
  /** Whether the framework takes the place that torchrun has given this program. */
  readonly isLaunchable?: boolean | undefined;
  /** Modules that are imported once, before ranks are forked. */
  readonly preload?: readonly string[] | undefined;
  backend(settings: TrainerSettings, torchrun: TorchrunPlace | undefined): Backend;
}

/** The options of `fit`. */
export interface FitOptions {
  /** Ends the run: `fit` rejects with its reason when no process of a rank is left. Default: none. */
  signal?: AbortSignal | undefined;
}

const FIT = { of: "fit", options: { signal: SIGNAL } };

export abstract class Trainer<Config, M extends object = Metrics> {
  readonly #kind: TrainerKind;
  /** The unread options: Tune merges parameters into them. */
  readonly #given: object;
  readonly #settings: TrainerSettings;
  readonly #loop: Loop;
  readonly #config: unknown;
  declare protected readonly configType: Config;

  protected constructor(given: object, kind: TrainerKind) {
    this.#kind = kind;
    this.#given = given;
    this.#settings = readTrainerOptions(given, { name: kind.name, hasLoop: true, own: kind.own });
    const own = this.#settings.trainLoopPerWorker === undefined ? kind.loop?.(this.#settings) : undefined;
    this.#loop =
      own === undefined
        ? loopOf(this.#settings.trainLoopPerWorker, kind.name)
        : { kind: "python", place: own.place, name: own.name, runtimeEnv: undefined };
    this.#config = own === undefined ? this.#settings.trainLoopConfig : own.config;
    if (kind.isPython && this.#loop.kind !== "python")
      throw new TypeError(
        `Cannot set trainLoopPerWorker of ${kind.name}: its framework is one of Python: name the loop with python.task("train.py", "train_loop"); loops of TypeScript run in a DataParallelTrainer`,
      );
    if (this.#loop.kind === "typescript" && this.#settings.rayCompatibility !== undefined)
      throw new TypeError(
        `Cannot set rayCompatibility of ${kind.name}: it says what \`import ray\` finds in loops of Python, and this loop is of TypeScript: received ${this.#settings.rayCompatibility}`,
      );
  }

  /**
   * Runs the loop on all ranks, to its end. A run with the name and storage of an unfinished one goes on from its last checkpoint.
   *
   * @throws TrainingFailedError when ranks failed more often than `maxFailures` says
   * @throws RunError where the run of this name is finished, or another program runs it, or the session ends meanwhile
   * @example
   * const result = await trainer.fit();
   * console.log(result.metrics, result.checkpoint);
   */
  async fit(options: FitOptions = {}): Promise<Result<M>> {
    const { signal } = readOptions(options, FIT);
    signal?.throwIfAborted();
    const runConfig = await readRunConfig<TrainCallback | Tracker>(this.#settings.runConfig, "train");
    if (!isInitialized()) await init({ ignoreReinitError: true });
    // Serializes the loop once, so that a loop that cannot be sent fails before anything starts.
    if (this.#loop.kind === "typescript" && this.#settings.scaling.max > 0) put(this.#loop.fn)[Symbol.dispose]();
    const torchrun = this.#torchrunPlace();
    await using folder = await this.#openFolder(runConfig, torchrun);
    const { name } = folder;
    const before = folder.record;
    // The run is that of the first rank. Another one may have ended before the first had written that.
    if (before?.state === "finished" && (torchrun?.worldRank ?? 0) === 0)
      throw new RunError(`Cannot start the run ${JSON.stringify(name)}: a run of this name has finished in ${runConfig.storagePath}`, {
        hint: `Give the run another name, or read its result: await Result.fromPath(${JSON.stringify(folder.path)}).`,
      });
    const record = { library: "train" as const, details: { trainer: this.#kind.name }, startedAt: before?.startedAt ?? Date.now() };
    await folder.write({ ...record, state: "running" });
    await removeRunError(folder.path);
    const abort = new AbortController();
    const signals = [abort.signal, folder.lost, ...(signal === undefined ? [] : [signal])];
    const run = new FollowedRun({
      name,
      folder: folder.path,
      runConfig,
      isResumed: before !== undefined,
      signal: AbortSignal.any(signals),
    });
    const checkpoint = await checkpointOfFirst(runConfig, torchrun);
    const place = { runConfig, name, folder: folder.path, signal: AbortSignal.any(signals), checkpoint, torchrun };
    const followed = run.follow<M>((observer, store) => this.#newRun(observer, store, place), this.#config);
    const ended = followed.then(async (result) => {
      await run.finish(() => folder.write({ ...record, state: "finished" }));
      return result;
    });
    const release = onInterruption({
      abandon: async () => {
        abort.abort(new TrainError(`The training run ${name} was interrupted`));
        await ended.catch(() => {});
      },
      withinMs: INTERRUPTED_MS,
      kept: () =>
        folder.record?.state === "finished" ? `training run ${name} has finished` : `training run ${name} was interrupted: ${run.kept()}`,
    });
    try {
      return await ended;
    } catch (error) {
      await Promise.allSettled([folder.write({ ...record, state: "failed" }), writeRunError(folder.path, error as Error)]);
      throw error;
    } finally {
      release();
    }
  }

  /** The place among the programs that torchrun has started; undefined for a run that is not in local mode, or not of torch. @throws TypeError for datasets */
  #torchrunPlace(): TorchrunPlace | undefined {
    const { scaling, datasets } = this.#settings;
    const place = this.#kind.isLaunchable === true && scaling.max === 0 ? torchrunPlace(process.env) : undefined;
    if (place !== undefined && place.worldSize > 1 && Object.keys(datasets.datasets).length > 0)
      throw new TypeError(
        `Cannot set datasets of ${this.#kind.name}: the ${place.worldSize} programs that torchrun has started each have a session of their own, and cannot share a dataset: read it in the loop, or let numWorkers of scalingConfig start the ranks`,
      );
    return place;
  }

  /** Programs of torchrun have a folder each: the first rank that of the run, the others folders beside it. */
  async #openFolder({ storagePath, name }: ResolvedRunConfig, torchrun: TorchrunPlace | undefined): Promise<RunFolder> {
    const rank = torchrun?.worldRank ?? 0;
    const ofRank = (prefix: string): string => (rank === 0 ? prefix : `${prefix}_rank_${rank}`);
    if (name === undefined) return await RunFolder.openUnnamed({ storagePath, prefix: ofRank(this.#kind.name) });
    return await RunFolder.open({ storagePath, name: ofRank(name) });
  }

  [TRAINABLE](): RunDefinition {
    return {
      name: this.#kind.name,
      resources: (config) => {
        const { max, resourcesPerWorker, placementStrategy } = this.#with(config).#settings.scaling;
        // The controller of a trial reserves nothing, as that of a run does.
        return { bundles: [{}, ...Array.from({ length: max }, () => resourcesPerWorker)], strategy: placementStrategy };
      },
      run: (trial) => this.#with(trial.config).#runTrial(trial),
    };
  }

  /** Returns the trainer with a trial's parameters: as in Ray `{ trainLoopConfig: { lr } }`, and other options by name. Unknown names go to the loop. */
  #with(config: Readonly<Record<string, unknown>>): Trainer<Config, M> {
    const given = this.#given as Record<string, unknown>;
    const merged: Record<string, unknown> = { ...given };
    const forLoop: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(config)) {
      const isOption = ["trainLoopConfig", "scalingConfig", "params"].includes(name);
      if (!isOption) forLoop[name] = value;
      else merged[name] = isPlainObject(value) && isPlainObject(given[name]) ? { ...given[name], ...value } : value;
    }
    if (Object.keys(forLoop).length > 0) merged["trainLoopConfig"] = { ...(merged["trainLoopConfig"] as object | undefined), ...forLoop };
    return new (this.constructor as new (options: object) => Trainer<Config, M>)(merged);
  }

  async #runTrial(trial: TrainableTrial): Promise<void> {
    const runConfig = await readRunConfig<TrainCallback | Tracker>({ ...this.#settings.runConfig, name: undefined }, "train");
    const { folder, name, signal, checkpoint } = trial;
    const messages = new RunMessages(runConfig.logLevel);
    const warn = (text: string): void => messages.warn(text);
    const store = new RunStore({ folder, checkpointConfig: { ...runConfig.checkpointConfig, numToKeep: undefined }, warn, signal });
    await store.open();
    const observer: RunObserver = {
      started: () => {},
      reported: ({ metrics, checkpoint: reported }) => trial.report(metrics[0] as Metrics, reported),
      failed: async () => {},
      warn,
    };
    const run = this.#newRun(observer, store, { runConfig, name, folder, signal, checkpoint: checkpoint ?? store.newest, trialName: name });
    await run.run();
  }

  #newRun(
    observer: RunObserver,
    store: RunStore,
    place: {
      runConfig: ResolvedRunConfig<TrainCallback | Tracker>;
      name: string;
      folder: string;
      signal: AbortSignal;
      /** The one to go on from; undefined is the newest of the folder. */
      checkpoint?: Checkpoint | "none" | undefined;
      trialName?: string;
      torchrun?: TorchrunPlace | undefined;
    },
  ): TrainingRun {
    const { runConfig, name, folder, signal, checkpoint = store.newest, trialName, torchrun } = place;
    const { scaling, datasets } = this.#settings;
    // A rank that is alone needs no framework to find others.
    const runtimeEnv = this.#runtimeEnv(runConfig.workerRuntimeEnv);
    const isAlone = scaling.max === 0 && this.#kind.isPython && torchrun === undefined;
    return new TrainingRun({
      name,
      group: {
        loop: this.#loop,
        scaling,
        backend: isAlone ? NO_FRAMEWORK : this.#kind.backend(this.#settings, torchrun),
        runtimeEnv,
        startTimeoutMs: runConfig.failureConfig.startTimeoutMs,
        rendezvousTimeoutMs: runConfig.failureConfig.rendezvousTimeoutMs,
        torchrun,
        context: {
          experimentName: name,
          trialName: trialName ?? null,
          trialId: trialName ?? null,
          trialDir: folder,
          storagePath: runConfig.storagePath,
          runPath: folder,
          rayCompatibility: this.#settings.rayCompatibility ?? null,
        },
      },
      config: this.#config,
      datasets,
      // In local mode the loop works where its program does.
      hasRankFolders: scaling.max > 0 && (runConfig.chdirToRankDir ?? runtimeEnv?.workingDir === undefined),
      // torchrun starts all its ranks again where one fails.
      failureConfig:
        torchrun === undefined
          ? runConfig.failureConfig
          : { ...runConfig.failureConfig, maxFailures: 0, controllerFailureLimit: undefined },
      checkpoint: checkpoint === "none" ? undefined : checkpoint,
      store,
      observer,
      signal,
    });
  }

  #runtimeEnv(ofRun: RuntimeEnv | undefined): RuntimeEnv | undefined {
    const ofLoop = this.#loop.kind === "python" ? this.#loop.runtimeEnv : undefined;
    const env = workerEnvironment(ofLoop, ofRun, this.#settings.runtimeEnv);
    const { preload } = this.#kind;
    if (this.#loop.kind === "typescript" || preload === undefined || env?.pythonPreload !== undefined) return env;
    return { ...env, pythonPreload: preload };
  }
}

/** The checkpoint that all programs of torchrun go on from, which is the first one's: read before they meet, so before it has another. Undefined for the first program, and for any other. */
async function checkpointOfFirst(
  { storagePath, name }: ResolvedRunConfig,
  torchrun: TorchrunPlace | undefined,
): Promise<Checkpoint | "none" | undefined> {
  if (torchrun === undefined || torchrun.worldRank === 0 || name === undefined) return undefined;
  const folder = joinPath(storagePath, name);
  const all = (await folderExists(folder)) ? await listCheckpoints(folder) : [];
  return all.at(-1)?.checkpoint ?? "none";
}
