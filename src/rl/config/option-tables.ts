/**
 * The options of an algorithm's configuration: one table a method, with defaults and allowed values.
 *
 * Names and defaults are Ray's, in TypeScript's case, unless a line says why not.
 * Types, checks and errors are all made from these tables.
 */
import {
  callable,
  count,
  custom,
  flag,
  isClass,
  isPlainObject,
  milliseconds,
  number,
  oneOf,
  type Option,
  type OptionSet,
  plainObject,
} from "../../core/internal.ts";
import type { ActorOptions } from "../../core/index.ts";
import type { ConnectorMaker } from "../connectors/observation-pipeline.ts";
import type { ConvFilter } from "../modules/picture-layers.ts";
import type { ModelConfig } from "../modules/model-config.ts";
import type { ModuleClass } from "../modules/rl-module.ts";
import type { PolicyMappingFn, PolicySpec } from "../modules/policy-mapping.ts";
import type { LearnerClass } from "../learners/learner.ts";
import { schedule } from "../learners/schedule.ts";
import { Space } from "../spaces/space.ts";
import type { Callbacks, CallbacksClass, CustomEvaluationFunction } from "./callbacks.ts";
import type { Tunable } from "./tunable.ts";

/** The values of a table, all of which are set. */
export type ValuesOf<Table> = Table extends { readonly options: infer Options }
  ? { readonly [K in keyof Options]: Options[K] extends Option<infer Value> ? Value : never }
  : never;

/** Options as a method takes them: any of the table, or domains of Tune in their places. */
export type GivenOptions<Values> = { readonly [K in keyof Values]?: Tunable<Values[K]> | undefined };

function classOption<T>(allowed: string): Option<T | undefined> {
  return custom<T | undefined>(allowed, undefined, (value) =>
    typeof value === "function" && isClass(value as never) ? "ok" : "wrong type",
  );
}

const whole = (min: number, fallback: number): Option<number> => count({ min }, fallback);
export const positive = (fallback: number): Option<number> =>
  number("a number above 0 is needed", fallback, (value) => value > 0 && Number.isFinite(value));
/** A number from 0 on. */
export const atLeastZero = (fallback: number): Option<number> =>
  number("a number from 0 is needed", fallback, (value) => value >= 0 && Number.isFinite(value));
/** A number from 0 to 1. */
export const upToOne = (fallback: number): Option<number> =>
  number("a number from 0 to 1 is needed", fallback, (value) => value >= 0 && value <= 1);
export const isAtLeastZero = (value: number): boolean => value >= 0 && Number.isFinite(value);

export const ENVIRONMENT = {
  of: "environment()",
  options: {
    envConfig: custom<object>("an object is needed", {}, (value) => (isPlainObject(value) ? "ok" : "wrong type")),
    /** Learns from the signs of rewards, or from rewards between minus and plus this number. */
    clipRewards: custom<boolean | number>("true, false, or a number above 0 is needed", false, (value) =>
      typeof value === "boolean" ? "ok" : typeof value !== "number" ? "wrong type" : value > 0 ? "ok" : "out of range",
    ),
    normalizeActions: flag(true),
    clipActions: flag(false),
    disableEnvChecking: flag(false),
  },
};

export const ENV_RUNNERS = {
  of: "envRunners()",
  otherNames: {
    numWorkers: "it is numEnvRunners",
    numRolloutWorkers: "it is numEnvRunners",
    sampleTimeoutS: "it is sampleTimeoutMs, in milliseconds",
  },
  options: {
    /** Ray: 2 for PPO. Here the default of all algorithms is 0, so that a first program starts no process. */
    numEnvRunners: whole(0, 0),
    numEnvsPerEnvRunner: whole(1, 1),
    numCpusPerEnvRunner: atLeastZero(1),
    rolloutFragmentLength: custom<number | "auto">('"auto" or a whole number from 1 is needed', "auto", (value) =>
      value === "auto" || (Number.isSafeInteger(value) && (value as number) >= 1)
        ? "ok"
        : typeof value === "number"
          ? "out of range"
          : "wrong type",
    ),
    sampleTimeoutMs: milliseconds(60_000),
    /** Calls of a runner that may be under way at once. Only asynchronous algorithms have more than one. */
    maxRequestsInFlightPerEnvRunner: whole(1, 1),
    explore: flag(true),
    /** Makes the connectors between observations and the module. */
    envToModuleConnector: callable<ConnectorMaker>("a function that returns connectors is needed"),
  },
};

/** The options of `training` that algorithms share. */
export const TRAINING_OPTIONS = {
  lr: schedule("a number from 0", 5e-5, isAtLeastZero),
  gamma: upToOne(0.99),
  trainBatchSizePerLearner: whole(1, 4000),
  minibatchSize: count<number | undefined>({ min: 1 }, undefined),
  numEpochs: whole(1, 1),
  gradClip: number<number | undefined>("a number above 0 is needed", undefined, (value) => value > 0),
};

export const RL_MODULE = {
  of: "rlModule()",
  options: {
    moduleClass: classOption<ModuleClass>("a class that extends RLModule is needed"),
    modelConfig: plainObject<ModelConfig & Readonly<Record<string, unknown>>>("an object such as { fcnetHiddens: [64, 64] } is needed"),
  },
};

const widths = (fallback: readonly number[]): Option<readonly number[]> =>
  custom<readonly number[]>("a list of whole numbers from 1 is needed", fallback, (value) =>
    !Array.isArray(value) ? "wrong type" : value.every((width) => Number.isSafeInteger(width) && width >= 1) ? "ok" : "out of range",
  );

const words = <const T extends string>(allowed: readonly T[], fallback: T): Option<T> =>
  custom<T>(`${allowed.map((word) => JSON.stringify(word)).join(" or ")} is needed`, fallback, (value) =>
    typeof value !== "string" ? "wrong type" : (allowed as readonly string[]).includes(value) ? "ok" : "out of range",
  );

const ACTIVATIONS = ["tanh", "relu", "elu", "silu", "linear"] as const;

function isConvFilter(value: unknown): boolean {
  if (!Array.isArray(value) || value.length < 3 || value.length > 4) return false;
  const [channels, kernel, stride, padding = "same"] = value as readonly unknown[];
  const isWhole = (each: unknown): boolean => Number.isSafeInteger(each) && (each as number) >= 1;
  const isKernel = Array.isArray(kernel) ? kernel.length === 2 && kernel.every(isWhole) : isWhole(kernel);
  return isWhole(channels) && isKernel && isWhole(stride) && (padding === "same" || padding === "valid");
}

/** `modelConfig` of the default module. */
export const MODEL_CONFIG = {
  of: "modelConfig",
  options: {
    fcnetHiddens: widths([256, 256]),
    fcnetActivation: words(ACTIVATIONS, "tanh"),
    headFcnetHiddens: widths([]),
    vfShareLayers: flag(true),
    initializer: words(["orthogonal", "uniform"], "orthogonal"),
    convFilters: custom<readonly ConvFilter[] | undefined>(
      'a list of layers such as [16, 4, 2]: channels, kernel, stride, and possibly "same" or "valid" is needed',
      undefined,
      (value) => (!Array.isArray(value) ? "wrong type" : value.every(isConvFilter) ? "ok" : "out of range"),
    ),
    convActivation: words(ACTIVATIONS, "relu"),
    useLstm: flag(false),
    lstmCellSize: whole(1, 256),
    maxSeqLen: whole(1, 20),
  },
};

const moduleIds = custom<readonly string[] | undefined>("a list of the ids of policies is needed", undefined, (value) =>
  Array.isArray(value) && value.every((id) => typeof id === "string") ? "ok" : "wrong type",
);

const MODULE_ID = /^(?!\.)(?!__proto__$)[\w.-]{1,128}$/;

/** Whether a text may name a policy. Ids are names of folders in checkpoints. */
export function isModuleId(id: string): boolean {
  return MODULE_ID.test(id);
}

function isPolicySpec(value: unknown): boolean {
  if (!isPlainObject(value)) return false;
  const { observationSpace, actionSpace, moduleClass, modelConfig, ...others } = value;
  return (
    Object.keys(others).length === 0 &&
    [observationSpace, actionSpace].every((space) => space === undefined || space instanceof Space) &&
    (moduleClass === undefined || (typeof moduleClass === "function" && isClass(moduleClass as never))) &&
    (modelConfig === undefined || isPlainObject(modelConfig))
  );
}

export const MULTI_AGENT = {
  of: "multiAgent()",
  otherNames: {
    policyMapping: "it is policyMappingFn",
    policyMap: "it is policies",
    algorithmConfigOverrides: "it is algorithmConfigOverridesPerModule",
  },
  options: {
    /** Default: one for all agents. */
    policies: custom<readonly string[] | Readonly<Record<string, PolicySpec>> | undefined>(
      'a list of ids, such as ["player"], or an object of { observationSpace, actionSpace, moduleClass, modelConfig } by id, is needed; ids have letters, digits, _, - and . only',
      undefined,
      (value) => {
        const ids: readonly unknown[] | undefined = Array.isArray(value) ? value : isPlainObject(value) ? Object.keys(value) : undefined;
        if (ids === undefined) return "wrong type";
        const isGood = ids.length > 0 && new Set(ids).size === ids.length && ids.every((id) => typeof id === "string" && isModuleId(id));
        return isGood && (Array.isArray(value) || Object.values(value as object).every(isPolicySpec)) ? "ok" : "out of range";
      },
    ),
    /** Default: the policy of the agent's own name, or the only one. */
    policyMappingFn: callable<PolicyMappingFn>("a function of an agent's name that returns the id of a policy is needed"),
    /** Default: all. */
    policiesToTrain: moduleIds,
    countStepsBy: oneOf(["env_steps", "agent_steps"], "env_steps"),
    /** Values of `training()` that differ for a policy, by its id. */
    algorithmConfigOverridesPerModule: custom<Readonly<Record<string, Readonly<Record<string, unknown>>>>>(
      "an object of values of training() by policy, such as { player: { lr: 1e-3 } }, is needed",
      {},
      (value) => (isPlainObject(value) && Object.values(value).every(isPlainObject) ? "ok" : "wrong type"),
    ),
  },
};

const spaceOption = custom<Space | undefined>("a space such as new Discrete(2) is needed", undefined, (value) =>
  value instanceof Space ? "ok" : "wrong type",
);

const MAPPING = {
  policyMappingFn: callable<PolicyMappingFn>("a function of an agent's name that returns the id of a policy is needed"),
  policiesToTrain: moduleIds,
};

export const ADD_MODULE = {
  of: "addModule()",
  otherNames: {
    moduleSpec: "it is moduleClass, modelConfig, observationSpace and actionSpace",
    newAgentToModuleMappingFn: "it is policyMappingFn",
    newShouldModuleBeUpdated: "it is policiesToTrain",
  },
  options: {
    /** Default: that of `weightsOf`, else that of the agents which are mapped to the policy. */
    observationSpace: spaceOption,
    actionSpace: spaceOption,
    /** Default: that of `weightsOf`, else that of `rlModule()`. */
    moduleClass: classOption<ModuleClass>("a class that extends RLModule is needed"),
    /** Options that differ from those of `rlModule()`. Default: those of `weightsOf`. */
    modelConfig: plainObject<ModelConfig & Readonly<Record<string, unknown>>>("an object such as { fcnetHiddens: [64, 64] } is needed"),
    /** The policy whose weights and filters are copied. Default: fresh first weights. */
    weightsOf: custom<string | undefined>("the id of a policy is needed", undefined, (value) =>
      typeof value === "string" ? "ok" : "wrong type",
    ),
    /** Values of `training()` that differ for the policy. */
    configOverrides: plainObject<Readonly<Record<string, unknown>>>("an object such as { lr: 1e-4 } is needed"),
    /** Says by which policies agents act from their next episodes on. Default: as before. */
    ...MAPPING,
  },
};

export const REMOVE_MODULE = { of: "removeModule()", options: MAPPING };

type RuntimeEnv = NonNullable<ActorOptions["runtimeEnv"]>;

export const FRAMEWORK = {
  of: "framework()",
  options: {
    /** Default: the kernels of `shoal/tensor`. */
    name: custom<"torch" | undefined>('"torch" is the only one', undefined, (value) =>
      typeof value !== "string" ? "wrong type" : value === "torch" ? "ok" : "out of range",
    ),
    /** The Python that has PyTorch: `{ python: "venv" }` or `{ pip: ["torch", "numpy"] }`. Default: `python3` of the workers. */
    runtimeEnv: custom<RuntimeEnv | undefined>('an object such as { python: "venv" } is needed', undefined, (value) =>
      isPlainObject(value) ? "ok" : "wrong type",
    ),
  },
};

export const LEARNERS = {
  of: "learners()",
  otherNames: {
    numAggregatorActorsPerLearner: "there are none: fragments are joined in the algorithm's process",
  },
  options: {
    learnerClass: classOption<LearnerClass>("a class that extends the algorithm's learner is needed"),
    /** Processes that share each batch. 0: the algorithm's process learns. */
    numLearners: whole(0, 0),
    numCpusPerLearner: atLeastZero(1),
    /** Only with `framework("torch")`. */
    numGpusPerLearner: atLeastZero(0),
  },
};

const path = (allowed: string): Option<string | undefined> =>
  custom<string | undefined>(allowed, undefined, (value) =>
    typeof value !== "string" ? "wrong type" : value === "" ? "out of range" : "ok",
  );

export const OFFLINE_DATA = {
  of: "offlineData()",
  otherNames: {
    input_: "it is input",
    inputReadMethod: "Parquet files are read: leave it out",
    materializeData: "episodes are read into memory: leave it out",
  },
  options: {
    /** A folder into which all whole episodes are written as Parquet, those of evaluations too. Default: none are written. */
    output: path("the path of a folder is needed"),
    /** Whether a row is an episode, or a step. */
    outputWriteEpisodes: flag(true),
    /** Files or folders of recorded episodes. */
    input: custom<string | readonly string[] | undefined>("a path, or a list of paths, is needed", undefined, (value) => {
      const paths: readonly unknown[] = Array.isArray(value) ? value : [value];
      if (!paths.every((each) => typeof each === "string")) return "wrong type";
      return paths.length > 0 && paths.every((each) => each !== "") ? "ok" : "out of range";
    }),
    /** Whether a row is an episode, or a step. Default: as the columns say. */
    inputReadEpisodes: custom<boolean | undefined>("true or false is needed", undefined, (value) =>
      typeof value === "boolean" ? "ok" : "wrong type",
    ),
    /** Whether numbers of actions in the files are those of the policy, from -1 to 1, as RLlib records them. */
    actionsInInputNormalized: flag(false),
    /** Updates of an iteration. Default: as many as see each step once. */
    datasetNumItersPerLearner: count<number | undefined>({ min: 1 }, undefined),
  },
};

export const RESOURCES = { of: "resources()", options: { numGpus: atLeastZero(0) } };

export const DEBUGGING = {
  of: "debugging()",
  options: {
    seed: custom<number | undefined>("a whole number is needed", undefined, (value) => (Number.isSafeInteger(value) ? "ok" : "wrong type")),
  },
};

export const EVALUATION = {
  of: "evaluation()",
  otherNames: {
    evaluationNumWorkers: "it is evaluationNumEnvRunners",
    evaluationSampleTimeoutS: "it is evaluationSampleTimeoutMs, in milliseconds",
  },
  options: {
    /** Iterations between evaluations. Default: none. */
    evaluationInterval: count<number | undefined>({ min: 1 }, undefined),
    /** Episodes, or steps. */
    evaluationDuration: whole(1, 10),
    /** Exactly so many episodes, of which each environment plays its share, or at least so many steps. */
    evaluationDurationUnit: oneOf(["episodes", "timesteps"], "episodes"),
    /** 0: the algorithm's process evaluates. */
    evaluationNumEnvRunners: whole(0, 0),
    /** Whether runners evaluate the weights from before an iteration while it trains. */
    evaluationParallelToTraining: flag(false),
    /** Evaluates in place of the algorithm. Default: one round of `evaluationDuration`. */
    customEvaluationFunction: callable<CustomEvaluationFunction>("a function of { algorithm, envRunners } is needed"),
    /** Time for a runner to play its share. */
    evaluationSampleTimeoutMs: milliseconds(120_000),
    evaluationConfig: custom<{ readonly explore?: boolean; readonly envConfig?: object }>(
      "an object such as { explore: false } is needed",
      {},
      (value) => (isPlainObject(value) && Object.keys(value).every((key) => ["explore", "envConfig"].includes(key)) ? "ok" : "wrong type"),
    ),
  },
};

export const REPORTING = {
  of: "reporting()",
  options: {
    metricsNumEpisodesForSmoothing: whole(1, 100),
    minTimeMsPerIteration: milliseconds(0),
    minSampleTimestepsPerIteration: whole(0, 0),
  },
};

export const CHECKPOINTING = {
  of: "checkpointing()",
  options: {
    /** Whether checkpoints have the buffer of algorithms that learn from one. */
    storeBufferInCheckpoints: flag(false),
  },
};

export const FAULT_TOLERANCE = {
  of: "faultTolerance()",
  options: {
    restartFailedEnvRunners: flag(true),
    ignoreEnvRunnerFailures: flag(false),
    maxNumEnvRunnerRestarts: whole(0, 1000),
    /** Ray: 60,000. A process of Node starts in a tenth of a second. */
    delayBetweenEnvRunnerRestartsMs: milliseconds(1000),
  },
};

/** The class behind the functions, where one was given. */
interface CallbacksOfClass {
  readonly callbacksClass: CallbacksClass | undefined;
}

const callback = callable<never>("a function is needed");

export const CALLBACKS: OptionSet<{ readonly [K in keyof Callbacks]-?: Callbacks[K] | undefined } & CallbacksOfClass> = {
  of: "callbacks()",
  options: {
    callbacksClass: classOption<CallbacksClass>("a class with methods such as onEpisodeEnd is needed"),
    onAlgorithmInit: callback,
    onTrainResult: callback,
    onEvaluateStart: callback,
    onEvaluateEnd: callback,
    onCheckpointLoaded: callback,
    onEnvRunnersRecreated: callback,
    onEnvironmentCreated: callback,
    onEpisodeCreated: callback,
    onEpisodeStart: callback,
    onEpisodeStep: callback,
    onEpisodeEnd: callback,
    onSampleEnd: callback,
  },
};
