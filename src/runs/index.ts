/**
 * `shoal/runs`: parts that Train, Tune and RL share. It is a subpath so that workers find checkpoints' code by name without loading one of
 * those libraries. Users get the same from `shoal/train` and `shoal/tune`, and this subpath makes no promise between versions.
 */
import "./well-known-exports.ts";

export type { AimLoggerOptions } from "./trackers/python/aim-tracker.ts";
export { Checkpoint } from "./checkpoints/checkpoint.ts";
export type { CheckpointPart, StoredCheckpoint } from "./checkpoints/stored-checkpoints.ts";
export type { CometLoggerOptions } from "./trackers/python/comet-tracker.ts";
export { RunError } from "./errors.ts";
export type { KeptCheckpoint } from "./checkpoints/kept-checkpoints.ts";
export type { JsonValue, Metrics } from "./metrics/metrics.ts";
export type { MLflowLoggerOptions } from "./trackers/python/mlflow-tracker.ts";
export { type BestCheckpoint, Result } from "./result.ts";
export type { CheckpointConfig, FailureConfig, ResolvedRunConfig, RunConfig } from "./run-config.ts";
export { DOMAIN, isMarkedDomain, type MarkedDomain } from "./domain.ts";
export { isTracker, type TrackedRun, type TrackedRunInfo, type Tracker } from "./trackers/tracker.ts";
export {
  type ClassDefinition,
  isTrainableSource,
  type RunDefinition,
  TRAINABLE,
  type TrainableDefinition,
  type TrainableResources,
  type TrainableSource,
  type TrainableTrial,
} from "./trainable.ts";
export type { WandbLoggerOptions } from "./trackers/python/wandb-tracker.ts";
