/**
 * `shoal/rl`: reinforcement learning, from one process to a cluster.
 *
 * Everything that users import stands here: configurations, algorithms, environments, spaces, modules, connectors and buffers.
 * The file `well-known-exports.ts` registers the names that runners need. `import "shoal"` loads none of these files.
 */
import "./well-known-exports.ts";

export { A2C, A2CConfig, A2CLearner, type A2CTraining } from "./algorithms/a2c.ts";
export { Algorithm, type PolicyChoice } from "./algorithms/algorithm.ts";
export { A3C, A3CConfig, A3CLearner, type A3CTraining } from "./asynchronous/a3c.ts";
export { ApexDQN, ApexDQNConfig, ApexDQNLearner, type ApexDQNTraining } from "./asynchronous/apex-dqn.ts";
export { APPO, APPOConfig, APPOLearner, type APPOTraining } from "./asynchronous/appo.ts";
export { IMPALA, IMPALAConfig, IMPALALearner, type IMPALATraining } from "./asynchronous/impala.ts";
export { type ActionWithState, type ComputeActionOptions, Policy, type PolicyOptions, type PreviousStep } from "./algorithms/policy.ts";
export { PPO, PPOConfig, PPOLearner, type PPOTraining } from "./algorithms/ppo.ts";
export type { EnvRunnerResult, EpisodeStatistics, EvaluationResult, TrainResult } from "./algorithms/train-result.ts";
export type { AlgorithmHandle, CallOptions } from "./config/algorithm-handle.ts";
export { OnPolicyAlgorithm } from "./algorithms/on-policy-algorithm.ts";
export { AlgorithmConfig } from "./config/algorithm-config.ts";
export { registerAlgorithm } from "./config/algorithm-registry.ts";
export { numberOption, onPolicyOptions, type TrainingTable, type TrainingValues } from "./config/own-algorithm.ts";
export type { LogOptions, MetricsLogger } from "./callbacks/metrics-logger.ts";
export type { EpisodeView, RunnerCallbacks, RunnerEnvironment, RunnerView } from "./callbacks/runner-callbacks.ts";
export type { Callbacks, CallbacksClass, CustomEvaluationFunction, EvaluationOptions } from "./config/callbacks.ts";
export { ClipRewards, type ClipRewardsOptions } from "./connectors/clip-rewards.ts";
export { Connector, type ConnectorColumns, type ConnectorContext, type ConnectorSetup } from "./connectors/connector.ts";
export { FrameStack, type FrameStackOptions } from "./connectors/frame-stack.ts";
export { MeanStdFilter, type MeanStdFilterOptions } from "./connectors/mean-std-filter.ts";
export type { ConnectorMaker } from "./connectors/observation-pipeline.ts";
export { PreviousActions, type PreviousActionsOptions } from "./connectors/previous-actions.ts";
export type { BatchDistribution } from "./distributions/action-distribution.ts";
export { EnvironmentDiedError, EnvironmentError, RLError } from "./errors.ts";
export type {
  AutoresetMode,
  Env,
  EnvContext,
  Info,
  ResetOptions,
  ResetResult,
  StepResult,
  VectorEnv,
  VectorResetOptions,
  VectorResetResult,
  VectorStepResult,
} from "./environments/env.ts";
export { makeEnv, makeMultiAgentEnv, makeVectorEnv, type VectorEnvOptions } from "./environments/make-env.ts";
export type { MultiAgentEnv, MultiAgentResetResult, MultiAgentStepResult } from "./environments/multi-agent/multi-agent-env.ts";
export {
  gymnasium,
  type GymnasiumOptions,
  type GymnasiumSource,
  pettingZoo,
  type PettingZooOptions,
  type PettingZooSource,
} from "./environments/python/python-source.ts";
export { type EnvClass, type EnvSource, makeMultiAgent, type MultiAgentSource, registerEnv } from "./environments/registry.ts";
export { type ExternalAddress, externalEnv, type ExternalEnvOptions, type ExternalSource } from "./external/external-source.ts";
export { Learner, type LearnerConfig, type LearnerResult, type LearnerSetup, type LearnerState } from "./learners/learner.ts";
export { type LossBatch, type LossContext, OnPolicyLearner } from "./learners/on-policy-learner.ts";
export { ReplayLearner, type ReplayLossBatch } from "./learners/replay-learner.ts";
export { BC, BCConfig, MARWIL, MARWILConfig, MARWILLearner, type MARWILLossContext, type MARWILTraining } from "./offline/marwil.ts";
export { CQL, CQLConfig, CQLLearner, type CQLTraining } from "./offline/cql.ts";
export {
  type EstimateOptions,
  importanceSampling,
  type PolicyEstimate,
  weightedImportanceSampling,
} from "./offline/estimators.ts";
export { IQL, IQLConfig, IQLLearner, type IQLTraining } from "./offline/iql.ts";
export { type OfflineAlgorithm, OfflineConfig } from "./offline/offline-algorithm.ts";
export type { ReturnsBatch } from "./offline/recorded-steps.ts";
export { DQN, DQNConfig, DQNLearner, type DQNLossContext, type DQNTraining } from "./off-policy/dqn.ts";
export { SAC, SACConfig, SACLearner, type SACTraining } from "./off-policy/sac.ts";
export {
  DDPG,
  DDPGConfig,
  DDPGLearner,
  type DDPGTraining,
  type ExplorationConfig,
  TD3,
  TD3Config,
  TD3Learner,
} from "./off-policy/td3.ts";
export { MADDPG, MADDPGConfig, MADDPGLearner, type MADDPGTraining } from "./teams/maddpg.ts";
export { MBMPO, MBMPOConfig } from "./mbmpo/mbmpo.ts";
export type { DynamicsModelConfig, MBMPOTraining } from "./mbmpo/mbmpo-options.ts";
export { MBMPOLearner } from "./mbmpo/mbmpo-learner.ts";
export { QMix, QMixConfig, QMixLearner, type QMixTraining } from "./teams/qmix.ts";
export { DreamerV3, DreamerV3Config } from "./dreamer/dreamerv3.ts";
export type { DreamerV3Training } from "./dreamer/dreamer-options.ts";
export { DreamerV3Learner } from "./dreamer/dreamer-learner.ts";
export {
  PrioritizedReplayBuffer,
  type PrioritizedReplayBufferOptions,
  ReplayBuffer,
  type ReplayBufferOptions,
  type ReplaySample,
  type ReplaySampleOptions,
  type Transition,
  type TransitionValue,
} from "./replay/replay-buffer.ts";
export {
  type AddModuleOptions,
  DEFAULT_MODULE_ID,
  type MappedEpisode,
  type PolicyMappingFn,
  type PolicySpec,
  type RemoveModuleOptions,
} from "./modules/policy-mapping.ts";
export type { PolicyOnnxOptions } from "./modules/policy-onnx.ts";
export type { ModuleState, StateTensors } from "./modules/module-memory.ts";
export type { ConvFilter } from "./modules/picture-layers.ts";
export type { ModelConfig, ModuleSetup } from "./modules/model-config.ts";
export { type ModuleInput, type ModuleOutput, RLModule } from "./modules/rl-module.ts";
export { Box, type BoxOptions } from "./spaces/box.ts";
export type { ColumnData } from "./spaces/columns.ts";
export { Dict, Tuple } from "./spaces/composite.ts";
export { Discrete } from "./spaces/discrete.ts";
export type { Dtype, NumericArray } from "./spaces/dtype.ts";
export { MultiBinary } from "./spaces/multi-binary.ts";
export { MultiDiscrete } from "./spaces/multi-discrete.ts";
export { type Space, type SpaceJson, type ValueOf } from "./spaces/space.ts";
export type { PicturePlace } from "./spaces/observation-encoder.ts";
export { spaceFromJson } from "./spaces/space-json.ts";
export { Text, type TextOptions } from "./spaces/text.ts";
