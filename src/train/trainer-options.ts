/**
 * The options of all trainers, checked when a trainer is made: unknown names and wrong values are refused there, before anything starts.
 *
 * Each trainer adds its own table. For names from Ray and from articles about Ray, the error gives the name here. `fit` reads `runConfig`, because it may have to
 * look at the storage.
 */
import type { RemoteFunction, RuntimeEnv } from "../core/index.ts";
import { custom, flag, isPlainObject, type Option, plainObject, readOptions } from "../core/internal.ts";
import { type DataSettings, Dataset } from "../data/index.ts";
import type { RunConfig } from "../runs/run-config.ts";
import type { Tracker } from "../runs/trackers/tracker.ts";
import type { Backend } from "./backends/backend.ts";
import type { TrainCallback } from "./run/callbacks.ts";
import type { TrainDatasets } from "./datasets.ts";
import { readScalingConfig, type ScalingConfig, type ScalingConfigOptions } from "./scaling-config.ts";

/** A loop: of TypeScript, or one of Python that `python.task` names. It takes the configuration, or nothing. */
// oxlint-disable-next-line no-explicit-any -- what a Python function takes is the user's to say
export type TrainLoopOf<Config> = ((config: Config) => unknown) | RemoteFunction<[Config] | [] | [config?: any], any>;

/** The option `dataConfig`. */
export interface DataConfigOptions {
  /** Names of the datasets that are split between the ranks; every rank gets the others whole. Default: `"all"`. */
  datasetsToSplit?: "all" | readonly string[] | undefined;
  /** Give all ranks as many rows, so that no rank waits for another's last batch; fewer rows than there are ranks are left out of each epoch. Default: true. */
  equal?: boolean | undefined;
  /** Whether each rank gets its own node's blocks first. Default: true. */
  enableShardLocality?: boolean | undefined;
  /** Settings of the engine that reads the datasets, for all of them or by the names of some. Default: those of the datasets, and of `data.configure`. */
  executionOptions?: DataSettings | Readonly<Record<string, DataSettings>> | undefined;
}

/** The options of all trainers. */
export interface CommonTrainerOptions {
  /** The number of ranks, and the resources of each. Default: one rank with a CPU. */
  scalingConfig?: ScalingConfigOptions | undefined;
  /** The run's name and storage, failures and checkpoints. */
  runConfig?: RunConfig<TrainCallback | Tracker> | undefined;
  /** Datasets for `getDatasetShard`, by name. Default: none. */
  // oxlint-disable-next-line no-explicit-any -- datasets of any rows
  datasets?: Readonly<Record<string, Dataset<any>>> | undefined;
  dataConfig?: DataConfigOptions | undefined;
  /** Environment of the ranks in addition to the job's, such as `{ python: "venv" }`. Takes precedence over `workerRuntimeEnv` of `runConfig`, and over that of `python.task`. Default: none. */
  runtimeEnv?: RuntimeEnv | undefined;
}

/** The options of trainers with a loop. */
export interface LoopTrainerOptions<Config> extends CommonTrainerOptions {
  /**
   * Loops of Python: whether `import ray.train` finds Shoal's modules in the ranks. true: also where the real Ray is installed; false: never. Default: where the real Ray is not installed.
   */
  rayCompatibility?: boolean | undefined;
  trainLoopPerWorker: TrainLoopOf<Config>;
  /** The argument of each rank's loop. Default: an empty object. */
  trainLoopConfig?: Config | undefined;
}

/** The options of `DataParallelTrainer`. */
export interface DataParallelTrainerOptions<Config> extends LoopTrainerOptions<Config> {
  /** The backend of the loop's framework. Default: none. */
  backend?: Backend | undefined;
}

export interface TrainerSettings {
  readonly trainLoopPerWorker: unknown;
  readonly trainLoopConfig: unknown;
  readonly scaling: ScalingConfig;
  readonly runConfig: RunConfig<TrainCallback | Tracker> | undefined;
  readonly datasets: TrainDatasets;
  readonly runtimeEnv: RuntimeEnv | undefined;
  readonly rayCompatibility: boolean | undefined;
  /** Options of the trainer's own table. */
  readonly own: Readonly<Record<string, unknown>>;
}

const COMMON = {
  scalingConfig: plainObject("an object such as { numWorkers: 2 } is needed"),
  runConfig: plainObject('an object such as { name: "mnist" } is needed'),
  datasets: custom<Readonly<Record<string, Dataset>>>("an object of datasets by name is needed", {}, (value) =>
    isPlainObject(value) && Object.values(value).every((one) => one instanceof Dataset) ? "ok" : "wrong type",
  ),
  dataConfig: plainObject('an object such as { datasetsToSplit: ["train"] } is needed'),
  runtimeEnv: plainObject('an object such as { python: "venv" } is needed'),
};

const LOOP = {
  trainLoopPerWorker: custom<unknown>("a function is needed", undefined, () => "ok"),
  trainLoopConfig: custom<unknown>("a value is needed", {}, () => "ok"),
  rayCompatibility: custom<boolean | undefined>("true or false is needed", undefined, (value) =>
    typeof value === "boolean" ? "ok" : "wrong type",
  ),
};

/** As other libraries, and articles about them, name what ours name otherwise. */
const OTHER_NAMES = {
  train_config: "it is trainLoopConfig",
  trainConfig: "it is trainLoopConfig",
  config: "it is trainLoopConfig",
  train_func: "it is trainLoopPerWorker",
  trainFunc: "it is trainLoopPerWorker",
  train_loop: "it is trainLoopPerWorker",
  trainLoop: "it is trainLoopPerWorker",
  dataset_config: "it is dataConfig",
  datasetConfig: "it is dataConfig",
  backend_config: "it is backend",
  backendConfig: "it is backend",
  num_workers: "it is scalingConfig: { numWorkers }",
  numWorkers: "it is scalingConfig: { numWorkers }",
  use_gpu: "it is scalingConfig: { useGpu }",
  useGpu: "it is scalingConfig: { useGpu }",
  resume_from_checkpoint:
    "there is none: a run with the name and storage of an unfinished one goes on from its last checkpoint; to begin with another one, pass its path in trainLoopConfig",
  resumeFromCheckpoint:
    "there is none: a run with the name and storage of an unfinished one goes on from its last checkpoint; to begin with another one, pass its path in trainLoopConfig",
  validation_config: "there is none: validate in the loop",
  metadata: "there is none: checkpoint.setMetadata keeps what belongs to a model",
};

const DATA = {
  of: "dataConfig",
  options: {
    datasetsToSplit: custom<"all" | readonly string[]>('"all", or an array of names, is needed', "all", (value) =>
      value === "all" || (Array.isArray(value) && value.every((name) => typeof name === "string")) ? "ok" : "wrong type",
    ),
    equal: flag(true),
    enableShardLocality: flag(true),
    executionOptions: plainObject("an object such as { preserveOrder: false }, or { train: { preserveOrder: false } }, is needed"),
  },
};

/** @throws TypeError, RangeError that name the option */
export function readTrainerOptions(
  given: unknown,
  trainer: { readonly name: string; readonly hasLoop: boolean; readonly own: Readonly<Record<string, Option<unknown>>> },
): TrainerSettings {
  const table = { ...(trainer.hasLoop ? LOOP : {}), ...COMMON, ...trainer.own };
  const values = readOptions<Record<string, unknown>>(given ?? {}, { of: trainer.name, otherNames: OTHER_NAMES, options: table });
  return {
    trainLoopPerWorker: values["trainLoopPerWorker"],
    trainLoopConfig: values["trainLoopConfig"],
    scaling: readScalingConfig(values["scalingConfig"] as ScalingConfigOptions | undefined),
    runConfig: values["runConfig"] as RunConfig<TrainCallback | Tracker> | undefined,
    datasets: readDatasets(values["datasets"] as TrainDatasets["datasets"], values["dataConfig"]),
    runtimeEnv: values["runtimeEnv"] as RuntimeEnv | undefined,
    rayCompatibility: values["rayCompatibility"] as boolean | undefined,
    own: Object.fromEntries(Object.keys(trainer.own).map((name) => [name, values[name]])),
  };
}

/** The settings of the engine that are objects, as the settings of a dataset by its name are. */
const OBJECTS_AMONG_SETTINGS: ReadonlySet<string> = new Set<keyof DataSettings>(["labelSelector", "resourceLimits", "excludeResources"]);

function readDatasets(given: TrainDatasets["datasets"], dataConfig: unknown): TrainDatasets {
  const { datasetsToSplit, equal, enableShardLocality, executionOptions = {} } = readOptions(dataConfig, DATA);
  const mustExist = (option: string, names: readonly string[]): void => {
    const unknown = names.find((name) => !Object.hasOwn(given, name));
    if (unknown !== undefined)
      throw new RangeError(
        `Cannot set ${option} of dataConfig: there is no dataset ${JSON.stringify(unknown)}: there are ${Object.keys(given).join(", ") || "none"}`,
      );
  };
  if (datasetsToSplit !== "all") mustExist("datasetsToSplit", datasetsToSplit);
  const isByName = Object.entries(executionOptions).some(
    ([name, value]) => isPlainObject(value) && (!OBJECTS_AMONG_SETTINGS.has(name) || Object.hasOwn(given, name)),
  );
  if (isByName) mustExist("executionOptions", Object.keys(executionOptions));
  const settingsOf = (name: string): DataSettings =>
    isByName ? ((executionOptions as Record<string, DataSettings>)[name] ?? {}) : executionOptions;
  const datasets = Object.entries(given).map(([name, dataset]) => {
    const own = dataset.withSettings(settingsOf(name));
    // Progress and warnings of the ranks' data say which it is.
    return [name, own.name === undefined ? own.setName(name) : own] as const;
  });
  return { datasets: Object.fromEntries(datasets), split: datasetsToSplit, equal, enableShardLocality };
}
