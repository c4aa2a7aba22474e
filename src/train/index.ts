/** `shoal/train`: training loops of Python frameworks and of TypeScript on groups of workers. `import "shoal"` does not load it. */
import "../runs/index.ts";
import "./well-known-exports.ts";

export { Checkpoint } from "../runs/checkpoints/checkpoint.ts";
export { RunError } from "../runs/errors.ts";
export type { JsonValue, Metrics } from "../runs/metrics/metrics.ts";
export { type BestCheckpoint, Result } from "../runs/result.ts";
export type { CheckpointConfig, FailureConfig, LoggingConfig, RunConfig } from "../runs/run-config.ts";
export type { TrackedRun, TrackedRunInfo, Tracker } from "../runs/trackers/tracker.ts";
export { AimLoggerCallback } from "../runs/trackers/python/aim-tracker.ts";
export { CometLoggerCallback } from "../runs/trackers/python/comet-tracker.ts";
export { CSVLoggerCallback } from "../runs/trackers/files/csv-tracker.ts";
export { JsonLoggerCallback } from "../runs/trackers/files/json-lines-tracker.ts";
export { MLflowLoggerCallback } from "../runs/trackers/python/mlflow-tracker.ts";
export { TBXLoggerCallback } from "../runs/trackers/files/tensorboard-tracker.ts";
export { WandbLoggerCallback } from "../runs/trackers/python/wandb-tracker.ts";
export type { Backend, BackendGroup, BackendRank } from "./backends/backend.ts";
export type { ReportNews, TrainCallback } from "./run/callbacks.ts";
export { TrainError, TrainingFailedError } from "./errors.ts";
export type { TorchConfig } from "./backends/framework-backends.ts";
export {
  allReduce,
  type AllReduceOptions,
  collective,
  getAllReportedCheckpoints,
  getCheckpoint,
  getContext,
  getDatasetShard,
  report,
  type RankWaitOptions,
  type ReportOptions,
  type TrainContext,
} from "./loop-functions.ts";
export type { RankFacts, TrainPreemptionInfo as PreemptionInfo } from "./ranks/rank-protocol.ts";
export type { NumWorkers, ScalingConfigOptions as ScalingConfig } from "./scaling-config.ts";
export type { FitOptions } from "./trainer.ts";
export type {
  CommonTrainerOptions,
  DataConfigOptions,
  DataParallelTrainerOptions,
  LoopTrainerOptions,
  TrainLoopOf,
} from "./trainer-options.ts";
export {
  type BoosterTrainerOptions,
  DataParallelTrainer,
  HorovodTrainer,
  JaxTrainer,
  LightGBMTrainer,
  TensorflowTrainer,
  TorchTrainer,
  type TorchTrainerOptions,
  XGBoostTrainer,
} from "./trainers.ts";
