/** Registers everything of `shoal/train` that travels by name: exports that loops import, and the ranks' classes. */
import { registerExports } from "../core/internal.ts";
import { TrainError, TrainingFailedError } from "./errors.ts";
import { allReduce, collective, getAllReportedCheckpoints, getCheckpoint, getContext, getDatasetShard, report } from "./loop-functions.ts";
import { NodeAgent } from "./group/node-agents.ts";
import { RankActor } from "./ranks/rank-actor.ts";
import {
  DataParallelTrainer,
  HorovodTrainer,
  JaxTrainer,
  LightGBMTrainer,
  TensorflowTrainer,
  TorchTrainer,
  XGBoostTrainer,
} from "./trainers.ts";

registerExports("shoal/train", {
  allReduce,
  collective,
  DataParallelTrainer,
  getAllReportedCheckpoints,
  getCheckpoint,
  getContext,
  getDatasetShard,
  HorovodTrainer,
  JaxTrainer,
  LightGBMTrainer,
  NodeAgent,
  RankActor,
  report,
  TensorflowTrainer,
  TorchTrainer,
  TrainError,
  TrainingFailedError,
  XGBoostTrainer,
});
