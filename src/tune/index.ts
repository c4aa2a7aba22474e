/**
 * `shoal/tune`: the search for hyperparameters, from one machine to a cluster.
 *
 * Everything that users import is here. `well-known-exports.ts` registers the other names that trials need. `import "shoal"` loads none of
 * this.
 */
import "../runs/index.ts";
import "./well-known-exports.ts";

export type { TrackedRun, TrackedRunInfo, Tracker } from "../runs/trackers/tracker.ts";
export { AimLoggerCallback } from "../runs/trackers/python/aim-tracker.ts";
export { CometLoggerCallback } from "../runs/trackers/python/comet-tracker.ts";
export { CSVLoggerCallback } from "../runs/trackers/files/csv-tracker.ts";
export { JsonLoggerCallback } from "../runs/trackers/files/json-lines-tracker.ts";
export { MLflowLoggerCallback } from "../runs/trackers/python/mlflow-tracker.ts";
export { TBXLoggerCallback } from "../runs/trackers/files/tensorboard-tracker.ts";
export { WandbLoggerCallback } from "../runs/trackers/python/wandb-tracker.ts";
export type { Scope } from "./results/aggregates.ts";
export type { ExperimentInfo, StepInfo, TuneCallback } from "./options/callbacks.ts";
export { TuneError } from "./errors.ts";
export { PlacementGroupFactory } from "./processes/placement-group-factory.ts";
export type { ProgressReporter, TableColumns, Verbosity } from "./options/progress-reporter.ts";
export { type BestResultOptions, type ResultGrid, type TrialRun } from "./results/result-grid.ts";
export type { Decision, SchedulerAction, SchedulerView, TrialScheduler, Verdict } from "./scheduler.ts";
export { ASHAScheduler, ASHAScheduler as AsyncHyperBandScheduler, type ASHASchedulerOptions } from "./schedulers/asha-scheduler.ts";
export { createScheduler, type SchedulerName } from "./schedulers/create-scheduler.ts";
export {
  type AllocationFunction,
  type AllocationRequest,
  distributeResources,
  type DistributeResourcesOptions,
  distributeResourcesToTopJob,
  type DistributeResourcesToTopJobOptions,
} from "./schedulers/distribute-resources.ts";
export type { Mutation, Mutations } from "./schedulers/population/explore.ts";
export { FIFOScheduler } from "./schedulers/fifo-scheduler.ts";
export { HyperBandForBOHB } from "./schedulers/hyperband/hyperband-for-bohb.ts";
export { HyperBandScheduler, type HyperBandSchedulerOptions } from "./schedulers/hyperband/hyperband-scheduler.ts";
export { MedianStoppingRule, type MedianStoppingRuleOptions } from "./schedulers/median-stopping-rule.ts";
export { type Bounds, PB2, type PB2Options } from "./schedulers/population/pb2.ts";
export {
  PopulationBasedTrainingReplay,
  type PopulationBasedTrainingReplayOptions,
} from "./schedulers/population/population-based-training-replay.ts";
export {
  PopulationBasedTraining,
  type PopulationBasedTrainingOptions,
  type PopulationOptions,
} from "./schedulers/population/population-based-training.ts";
export { ResourceChangingScheduler, type ResourceChangingSchedulerOptions } from "./schedulers/resource-changing-scheduler.ts";
export { BasicVariantGenerator, type BasicVariantGeneratorOptions } from "./search/basic-variant-generator.ts";
export { BayesOptSearch, type BayesOptSearchOptions } from "./search/gaussian/bayes-opt-search.ts";
export { BOHBSearch, type BOHBSearchOptions } from "./search/bohb-search.ts";
export { CmaEsSearch, type CmaEsSearchOptions } from "./search/evolution/cma-es-search.ts";
export { ConcurrencyLimiter, type ConcurrencyLimiterOptions } from "./search/concurrency-limiter.ts";
export { createSearcher, type SearcherName } from "./search/create-searcher.ts";
export type { ModelSearchOptions } from "./options/shared-options.ts";
export {
  AxSearch,
  type AxSearchOptions,
  BayesianOptimizationSearch,
  type BayesianOptimizationSearchOptions,
  HyperOptSearch,
  type HyperOptSearchOptions,
  NevergradSearch,
  type NevergradSearchOptions,
  OptunaSearch,
  type OptunaSearchOptions,
} from "./search/python/python-searchers.ts";
export type { PythonSearchOptions } from "./search/python/python-search.ts";
export { Repeater, type RepeaterOptions } from "./search/repeater.ts";
export type { SpaceFunction, SuggestingTrial } from "./search/space-function.ts";
export { TPESearch, type TPESearchOptions } from "./search/density/tpe-search.ts";
export type { Searcher, Suggestion } from "./searcher.ts";
export { getCheckpoint, getContext, report, type ReportOptions, type TuneContext } from "./session.ts";
export {
  choice,
  type Domain,
  gridSearch,
  lograndint,
  loguniform,
  qlograndint,
  qloguniform,
  qrandint,
  qrandn,
  quniform,
  randint,
  randn,
  type Sampled,
  sampleFrom,
  type SearchSpace,
  uniform,
} from "./spaces/space.ts";
export {
  CombinedStopper,
  type ExperimentPlateauOptions,
  ExperimentPlateauStopper,
  FunctionStopper,
  MaximumIterationStopper,
  type Stop,
  type StopCriteria,
  type Stopper,
  TimeoutStopper,
  type TrialPlateauOptions,
  TrialPlateauStopper,
} from "./options/stoppers.ts";
export { type ConfigOf, type ResourceRequest, type TrialResourceOptions, withParameters, withResources } from "./trainable.ts";
export type {
  Config,
  Definition,
  JsonValue,
  Metrics,
  Mode,
  Trial,
  TrialBundle,
  TrialResources,
  TrialResult,
  TrialStatus,
} from "./trials/trial.ts";
export type { ClassTrainable } from "./processes/trial-loop.ts";
export type { TuneConfig } from "./options/tune-config.ts";
export {
  type FitOptions,
  type Reported,
  type RestoreOptions,
  type Trainable,
  Tuner,
  type TunerOptions,
  type TuneRunConfig,
} from "./tuner.ts";
export { Checkpoint } from "../runs/checkpoints/checkpoint.ts";
export { RunError } from "../runs/errors.ts";
export { Result } from "../runs/result.ts";
export type { CheckpointConfig, FailureConfig, RunConfig } from "../runs/run-config.ts";
