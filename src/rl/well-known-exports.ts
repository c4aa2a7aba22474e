/** Everything of `shoal/rl` that travels by name: the imports of environments, and the parts of runners. */
import { registerExports } from "../core/internal.ts";
import { madeConnectors } from "./connectors/built-in-connectors.ts";
import { EvaluationActor } from "./algorithms/evaluation-actor.ts";
import { ClipRewards } from "./connectors/clip-rewards.ts";
import { Connector } from "./connectors/connector.ts";
import { FrameStack } from "./connectors/frame-stack.ts";
import { MeanStdFilter } from "./connectors/mean-std-filter.ts";
import { PreviousActions } from "./connectors/previous-actions.ts";
import { EnvironmentDiedError, EnvironmentError, RLError } from "./errors.ts";
import { makeEnv, makeVectorEnv } from "./environments/make-env.ts";
import { RLModule } from "./modules/rl-module.ts";
import { RunnerActor } from "./runners/runner-actor.ts";
import { Box } from "./spaces/box.ts";
import { Dict, Tuple } from "./spaces/composite.ts";
import { Discrete } from "./spaces/discrete.ts";
import { MultiBinary } from "./spaces/multi-binary.ts";
import { MultiDiscrete } from "./spaces/multi-discrete.ts";
import { receivedSpace } from "./spaces/space-json.ts";
import { Text } from "./spaces/text.ts";

registerExports("shoal/rl", {
  Box,
  ClipRewards,
  Connector,
  Dict,
  Discrete,
  EnvironmentDiedError,
  EnvironmentError,
  EvaluationActor,
  FrameStack,
  madeConnectors,
  makeEnv,
  makeVectorEnv,
  MeanStdFilter,
  MultiBinary,
  MultiDiscrete,
  PreviousActions,
  receivedSpace,
  RLError,
  RLModule,
  RunnerActor,
  Text,
  Tuple,
});
