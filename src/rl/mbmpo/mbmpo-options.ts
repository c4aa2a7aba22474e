/**
 * The options of `training()` of MBMPO, with those of the models of the world. Names and most defaults are those that Ray had.
 *
 * The learner and the configuration share this table.
 */
import { count, custom, flag, isPlainObject, number, type Option, type OptionSet, readOptions } from "../../core/internal.ts";
import { atLeastZero, positive, TRAINING_OPTIONS, upToOne, type ValuesOf } from "../config/option-tables.ts";
import type { DynamicsValues } from "./dynamics-model.ts";

/** The options of the models of the world. */
export interface DynamicsModelConfig {
  /** Models, each a task. Default: 5. */
  readonly ensembleSize?: number | undefined;
  /** Default: `[64, 64]` (Ray: three of 512). */
  readonly fcnetHiddens?: readonly number[] | undefined;
  /** Default: 1e-3. */
  readonly lr?: number | undefined;
  /** At most so many epochs an iteration. Default: 100 (Ray: 500). */
  readonly trainEpochs?: number | undefined;
  /** Default: 500. */
  readonly batchSize?: number | undefined;
  /** The share of steps that validate. Default: 0.2. */
  readonly validSplitRatio?: number | undefined;
  /** Default: true. */
  readonly normalizeData?: boolean | undefined;
}

const DYNAMICS: OptionSet<DynamicsValues> = {
  of: "dynamicsModel",
  options: {
    ensembleSize: count({ min: 1, max: 1024 }, 5),
    fcnetHiddens: custom<readonly number[]>("a list of whole numbers from 1 is needed", [64, 64], (value) =>
      !Array.isArray(value) ? "wrong type" : value.every((width) => Number.isSafeInteger(width) && width >= 1) ? "ok" : "out of range",
    ),
    lr: atLeastZero(1e-3),
    trainEpochs: count({ min: 1 }, 100),
    batchSize: count({ min: 1 }, 500),
    validSplitRatio: number("a number from 0 to below 1 is needed", 0.2, (value) => value >= 0 && value < 1),
    normalizeData: flag(true),
  },
};

const dynamicsModel: Option<DynamicsModelConfig> = {
  ...custom<DynamicsModelConfig>("an object such as { ensembleSize: 5 } is needed", readOptions({}, DYNAMICS), (value) =>
    isPlainObject(value) ? "ok" : "wrong type",
  ),
  meaning: (value) => readOptions(value, DYNAMICS),
};

export const MBMPO_TRAINING = {
  of: "training() of MBMPO",
  otherNames: { innerAdaptationLr: "it is innerLr", vfLossCoeff: "the baseline is linear, and fitted to each batch" },
  options: {
    /** Real steps of an iteration. */
    trainBatchSizePerLearner: count({ min: 1 }, 4000),
    gamma: upToOne(0.99),
    lambda: upToOne(1),
    lr: atLeastZero(1e-3),
    gradClip: TRAINING_OPTIONS.gradClip,
    clipParam: positive(0.5),
    klCoeff: atLeastZero(5e-4),
    klTarget: positive(0.01),
    entropyCoeff: atLeastZero(0),
    innerAdaptationSteps: count({ min: 1, max: 100 }, 1),
    innerLr: atLeastZero(1e-3),
    mamlOptimizerSteps: count({ min: 1 }, 8),
    numMamlSteps: count({ min: 1 }, 10),
    /** Steps of an imagined episode. */
    horizon: count({ min: 1, max: 100_000 }, 200),
    /** Imagined episodes in each model, before and behind the adaptation. */
    numImaginedEpisodes: count({ min: 1, max: 65_536 }, 20),
    /** Real steps that are kept; the oldest go first. */
    realStepsMax: count({ min: 1, max: 2 ** 31 - 1 }, 100_000),
    dynamicsModel,
  },
};

/** The values of `training()`. */
export type MBMPOTraining = ValuesOf<typeof MBMPO_TRAINING>;
