/** Everything of `shoal/train` that travels by name: what users import in loops, and what ranks are made of. */
import { registerExports } from "../core/internal.ts";
import { removeFolder } from "../storage/places.ts";
import { TrainError, TrainingFailedError } from "./errors.ts";
import { allReduce, collective, getCheckpoint, getContext, getDatasetShard, report } from "./loop-functions.ts";
import { RankActor } from "./rank-actor.ts";
import { copyPart } from "./run-store.ts";
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
  copyPart,
  DataParallelTrainer,
  getCheckpoint,
  getContext,
  getDatasetShard,
  HorovodTrainer,
  JaxTrainer,
  LightGBMTrainer,
  RankActor,
  removeFolder,
  report,
  TensorflowTrainer,
  TorchTrainer,
  TrainError,
  TrainingFailedError,
  XGBoostTrainer,
});
