/**
 * Everything of `shoal/rl` that travels by name: the imports of environments, and the parts of runners.
 *
 * Configurations and learners travel to trials and runners, where a class of a user may extend them.
 * Captures refuse any other function or class of Shoal.
 */
import { registerExports } from "../core/internal.ts";
import { DDPGConfig, DDPGLearner, TD3Config, TD3Learner } from "./off-policy/td3.ts";
import { DQNConfig, DQNLearner } from "./off-policy/dqn.ts";
import { A2CConfig, A2CLearner } from "./algorithms/a2c.ts";
import { A3CConfig, A3CLearner } from "./asynchronous/a3c.ts";
import { ApexDQNConfig, ApexDQNLearner } from "./asynchronous/apex-dqn.ts";
import { APPOConfig, APPOLearner } from "./asynchronous/appo.ts";
import { IMPALAConfig, IMPALALearner } from "./asynchronous/impala.ts";
import { DreamerModule } from "./dreamer/dreamer-module.ts";
import { DreamerV3Config } from "./dreamer/dreamerv3.ts";
import { DreamerV3Learner } from "./dreamer/dreamer-learner.ts";
import { EvaluationActor } from "./algorithms/evaluation-actor.ts";
import { CQLConfig, CQLLearner } from "./offline/cql.ts";
import { IQLConfig, IQLLearner } from "./offline/iql.ts";
import { BCConfig, MARWILConfig, MARWILLearner } from "./offline/marwil.ts";
import { PPOConfig, PPOLearner } from "./algorithms/ppo.ts";
import { AlgorithmTrial } from "./config/algorithm-trial.ts";
import { ClipRewards } from "./connectors/clip-rewards.ts";
import { Connector } from "./connectors/connector.ts";
import { FrameStack } from "./connectors/frame-stack.ts";
import { MeanStdFilter } from "./connectors/mean-std-filter.ts";
import { PreviousActions } from "./connectors/previous-actions.ts";
import { EnvironmentDiedError, EnvironmentError, RLError } from "./errors.ts";
import { makeEnv, makeVectorEnv } from "./environments/make-env.ts";
import { SACConfig, SACLearner } from "./off-policy/sac.ts";
import { MADDPGConfig, MADDPGLearner } from "./teams/maddpg.ts";
import { MBMPOConfig } from "./mbmpo/mbmpo.ts";
import { MBMPOLearner } from "./mbmpo/mbmpo-learner.ts";
import { QMixConfig, QMixLearner } from "./teams/qmix.ts";
import { RLModule } from "./modules/rl-module.ts";
import { LearnerActor } from "./learners/learner-actor.ts";
import { RunnerActor } from "./runners/runner-actor.ts";
import { Box } from "./spaces/box.ts";
import { Dict, Tuple } from "./spaces/composite.ts";
import { Discrete } from "./spaces/discrete.ts";
import { MultiBinary } from "./spaces/multi-binary.ts";
import { MultiDiscrete } from "./spaces/multi-discrete.ts";
import { receivedSpace } from "./spaces/travelling-spaces.ts";
import { Text } from "./spaces/text.ts";

registerExports("shoal/rl", {
  A2CConfig,
  A2CLearner,
  AlgorithmTrial,
  A3CConfig,
  A3CLearner,
  ApexDQNConfig,
  ApexDQNLearner,
  APPOConfig,
  APPOLearner,
  BCConfig,
  Box,
  ClipRewards,
  Connector,
  CQLConfig,
  CQLLearner,
  DDPGConfig,
  DDPGLearner,
  Dict,
  Discrete,
  DreamerModule,
  DreamerV3Config,
  DreamerV3Learner,
  EnvironmentDiedError,
  EnvironmentError,
  DQNConfig,
  DQNLearner,
  EvaluationActor,
  FrameStack,
  IMPALAConfig,
  IMPALALearner,
  LearnerActor,
  MADDPGConfig,
  MADDPGLearner,
  IQLConfig,
  IQLLearner,
  makeEnv,
  makeVectorEnv,
  MARWILConfig,
  MARWILLearner,
  MBMPOConfig,
  MBMPOLearner,
  MeanStdFilter,
  MultiBinary,
  MultiDiscrete,
  PreviousActions,
  PPOConfig,
  PPOLearner,
  QMixConfig,
  QMixLearner,
  receivedSpace,
  RLError,
  RLModule,
  RunnerActor,
  SACConfig,
  SACLearner,
  TD3Config,
  TD3Learner,
  Text,
  Tuple,
});
