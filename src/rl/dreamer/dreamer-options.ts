/**
 * The options of `training()` of DreamerV3, with RLlib 2.60's names and defaults.
 *
 * The learner and the configuration share this table.
 */
import { count, number, oneOf } from "../../core/internal.ts";
import { atLeastZero, isAtLeastZero, positive, upToOne, type ValuesOf } from "../config/option-tables.ts";
import { schedule } from "../learners/schedule.ts";
import { replayBuffer } from "../off-policy/replay-options.ts";
import { MODEL_SIZES } from "./sizes.ts";

export const DREAMER_TRAINING = {
  of: "training() of DreamerV3",
  otherNames: {
    lr: "there are worldModelLr, actorLr and criticLr",
    trainBatchSizePerLearner: "there are batchSizeB and batchLengthT",
    lambda: "it is gaeLambda",
    entropyCoeff: "it is entropyScale",
  },
  options: {
    modelSize: oneOf(MODEL_SIZES, "XS"),
    /** Steps that are replayed for each sampled one. */
    trainingRatio: positive(1024),
    batchSizeB: count({ min: 1, max: 65_536 }, 16),
    batchLengthT: count({ min: 2, max: 65_536 }, 64),
    horizonH: count({ min: 1, max: 4096 }, 15),
    gamma: upToOne(0.997),
    gaeLambda: upToOne(0.95),
    entropyScale: atLeastZero(3e-4),
    returnNormalizationDecay: number("a number from 0 to below 1 is needed", 0.99, (value) => value >= 0 && value < 1),
    worldModelLr: schedule("a number from 0", 1e-4, isAtLeastZero),
    actorLr: schedule("a number from 0", 3e-5, isAtLeastZero),
    criticLr: schedule("a number from 0", 3e-5, isAtLeastZero),
    worldModelGradClipByGlobalNorm: positive(1000),
    actorGradClipByGlobalNorm: positive(100),
    criticGradClipByGlobalNorm: positive(100),
    replayBufferConfig: replayBuffer("EpisodeReplayBuffer", 1_000_000),
  },
};

/** The values of `training()`. */
export type DreamerV3Training = ValuesOf<typeof DREAMER_TRAINING>;
