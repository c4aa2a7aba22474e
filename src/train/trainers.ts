/**
 * The trainers that users make, one for each framework.
 *
 * All of them are `Trainer` (`trainer.ts`) with another name, other options and another backend; nothing of a framework is known anywhere else on this side.
 * Trainers of boosted trees have a built-in loop, for users who give parameters instead of a loop.
 */
import type { Dataset } from "../data/index.ts";
import { count, custom, milliseconds, oneOf, plainObject, readOptions, text } from "../core/internal.ts";
import type { Metrics } from "../runs/metrics/metrics.ts";
import type { Backend } from "./backends/backend.ts";
import {
  jaxBackend,
  lightgbmBackend,
  NO_FRAMEWORK,
  tensorflowBackend,
  torchBackend,
  type TorchConfig,
  trackedBackend,
} from "./backends/framework-backends.ts";
import { RENDEZVOUS_MS } from "./limits.ts";
import { Trainer, type TrainerKind } from "./trainer.ts";
import type { CommonTrainerOptions, DataParallelTrainerOptions, LoopTrainerOptions, TrainerSettings } from "./trainer-options.ts";

const BACKEND = custom<Backend | undefined>("an object with onStart, onTrainingStart or onShutdown is needed", undefined, (value) =>
  typeof value === "object" && value !== null ? "ok" : "wrong type",
);

/**
 * Runs a loop in several processes at once. The option `backend` sets up the framework.
 *
 * @example
 * const trainer = new DataParallelTrainer({
 *   trainLoopPerWorker: async ({ epochs }: { epochs: number }) => {
 *     for (let epoch = 0; epoch < epochs; epoch += 1) await report({ epoch });
 *   },
 *   trainLoopConfig: { epochs: 3 },
 *   scalingConfig: { numWorkers: 2 },
 * });
 * const result = await trainer.fit();
 */
export class DataParallelTrainer<Config = Record<string, unknown>, M extends object = Metrics> extends Trainer<Config, M> {
  /** @throws TypeError, RangeError for options that do not exist or have a wrong value */
  constructor(options: DataParallelTrainerOptions<Config>) {
    super(options, {
      name: "DataParallelTrainer",
      own: { backend: BACKEND },
      isPython: false,
      backend: ({ own }) => (own["backend"] as Backend | undefined) ?? NO_FRAMEWORK,
    });
  }
}

/** The options of `TorchTrainer`. */
export interface TorchTrainerOptions<Config> extends LoopTrainerOptions<Config> {
  torchConfig?: TorchConfig | undefined;
}

const TORCH = {
  of: "torchConfig",
  otherNames: { timeout_s: "it is timeoutMs, in milliseconds" },
  options: {
    backend: custom<TorchConfig["backend"]>('"gloo", "nccl", "mpi" or "ucc" is needed', undefined, (value) =>
      ["gloo", "nccl", "mpi", "ucc"].includes(value as string) ? "ok" : "out of range",
    ),
    initMethod: oneOf(["env", "tcp"], "env"),
    timeoutMs: milliseconds(RENDEZVOUS_MS),
  },
};

/** Trains with PyTorch: DDP and FSDP by `prepare_model`, and whatever reads its environment (Lightning, Transformers, Accelerate, DeepSpeed). The loop is one of Python. */
export class TorchTrainer<Config = Record<string, unknown>, M extends object = Metrics> extends Trainer<Config, M> {
  constructor(options: TorchTrainerOptions<Config>) {
    readOptions((options as TorchTrainerOptions<Config> | undefined)?.torchConfig, TORCH);
    super(options, {
      name: "TorchTrainer",
      own: { torchConfig: plainObject('an object such as { backend: "gloo" } is needed') },
      isPython: true,
      preload: ["shoal.train._preload_torch"],
      isLaunchable: true,
      backend: ({ own, scaling }, torchrun) => torchBackend(readOptions(own["torchConfig"], TORCH), scaling.useGpu, torchrun !== undefined),
    });
  }
}

/** Trains with TensorFlow and Keras: the ranks find each other by `TF_CONFIG`, as `MultiWorkerMirroredStrategy` reads it. */
export class TensorflowTrainer<Config = Record<string, unknown>, M extends object = Metrics> extends Trainer<Config, M> {
  constructor(options: LoopTrainerOptions<Config>) {
    super(options, { name: "TensorflowTrainer", own: {}, isPython: true, backend: () => tensorflowBackend() });
  }
}

/** Trains with JAX: `jax.distributed` is initialised before the loop begins. */
export class JaxTrainer<Config = Record<string, unknown>, M extends object = Metrics> extends Trainer<Config, M> {
  constructor(options: LoopTrainerOptions<Config>) {
    super(options, { name: "JaxTrainer", own: {}, isPython: true, backend: ({ scaling }) => jaxBackend(scaling.useGpu) });
  }
}

/** Trains with Horovod, over gloo: the loop calls `hvd.init()`. */
export class HorovodTrainer<Config = Record<string, unknown>, M extends object = Metrics> extends Trainer<Config, M> {
  constructor(options: LoopTrainerOptions<Config>) {
    super(options, { name: "HorovodTrainer", own: {}, isPython: true, backend: () => trackedBackend("horovod", RENDEZVOUS_MS) });
  }
}

/** The options of trainers of boosted trees: parameters and a label, or a loop. */
export interface BoosterTrainerOptions<Config> extends CommonTrainerOptions, Partial<LoopTrainerOptions<Config>> {
  /** Parameters of the boosting library, such as `{ objective: "binary:logistic" }`. */
  params?: Readonly<Record<string, unknown>> | undefined;
  /** The column of the dataset that is to be predicted. */
  labelColumn?: string | undefined;
  /** How many rounds of boosting. Default: 10. */
  numBoostRound?: number | undefined;
  /** A checkpoint after each so many rounds; 0 is at the end alone. Default: 0. */
  checkpointFrequency?: number | undefined;
  /** With `train`, and more to evaluate on. */
  // oxlint-disable-next-line no-explicit-any -- datasets of any rows
  datasets?: Readonly<Record<string, Dataset<any>>> | undefined;
}

function boosterKind(name: string, place: string, backend: () => Backend): TrainerKind {
  return {
    name,
    own: {
      params: plainObject("an object such as { max_depth: 6 } is needed"),
      labelColumn: text<string | undefined>(undefined),
      numBoostRound: count({ min: 1 }, 10),
      checkpointFrequency: count({ min: 0 }, 0),
    },
    isPython: true,
    loop: ({ own, datasets, trainLoopConfig }: TrainerSettings) => {
      if (own["labelColumn"] === undefined)
        throw new TypeError(`Cannot make a ${name}: without trainLoopPerWorker it needs labelColumn, the column that is to be predicted`);
      if (!Object.hasOwn(datasets.datasets, "train"))
        throw new TypeError(`Cannot make a ${name}: without trainLoopPerWorker it needs datasets: { train }`);
      // Inside of Tune parameters may come as those of the loop.
      return {
        place,
        name: "train_loop",
        config: {
          ...own,
          params: { ...(own["params"] as object | undefined), ...(trainLoopConfig as object | undefined) },
          datasets: Object.keys(datasets.datasets),
        },
      };
    },
    backend,
  };
}

/** Trains boosted trees with XGBoost, on all ranks together. */
export class XGBoostTrainer<Config = Record<string, unknown>, M extends object = Metrics> extends Trainer<Config, M> {
  constructor(options: BoosterTrainerOptions<Config>) {
    super(
      options,
      boosterKind("XGBoostTrainer", "shoal.train._xgboost_loop", () => trackedBackend("xgboost", RENDEZVOUS_MS)),
    );
  }
}

/** Trains boosted trees with LightGBM, on all ranks together. */
export class LightGBMTrainer<Config = Record<string, unknown>, M extends object = Metrics> extends Trainer<Config, M> {
  constructor(options: BoosterTrainerOptions<Config>) {
    super(
      options,
      boosterKind("LightGBMTrainer", "shoal.train._lightgbm_loop", () => lightgbmBackend()),
    );
  }
}
