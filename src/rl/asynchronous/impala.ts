/**
 * IMPALA: arXiv:1802.01561, with the losses and defaults of RLlib 2.60, except that this process learns where `numLearners` is not set.
 *
 * The loss is that of `ActorCriticLearner`. Value targets and advantages are V-trace's.
 * V-trace corrects for the difference between the policy that sampled and the one that learns.
 */
import { count, type OptionSet } from "../../core/internal.ts";
import { AlgorithmConfig, type PartDefaults } from "../config/algorithm-config.ts";
import { registerAlgorithm } from "../config/algorithm-registry.ts";
import { atLeastZero, isAtLeastZero, positive, TRAINING_OPTIONS, type ValuesOf } from "../config/option-tables.ts";
import { ActorCriticLearner } from "../learners/actor-critic-learner.ts";
import type { LearnerClass } from "../learners/learner.ts";
import { checkMinibatches, type Estimates } from "../learners/on-policy-learner.ts";
import { schedule } from "../learners/schedule.ts";
import type { Fragment } from "../sequences/fragment.ts";
import { estimateVTrace } from "../sequences/v-trace.ts";
import { AsynchronousAlgorithm } from "./asynchronous-algorithm.ts";

/** Options of Ray's versions, and where they are here. */
export const IMPALA_OTHER_NAMES: Readonly<Record<string, string>> = {
  vtrace: "V-trace is always used",
  numMultiGpuTowerStacks: "it is learners({ numLearners })",
  maxSampleRequestsInFlightPerWorker: "it is envRunners({ maxRequestsInFlightPerEnvRunner })",
  minibatchBufferSize: "it is circularBufferNumBatches of APPO",
};

/** The rows of the table that IMPALA and APPO share. */
export const IMPALA_OPTIONS = {
  ...TRAINING_OPTIONS,
  lr: schedule("a number from 0", 5e-4, isAtLeastZero),
  gradClip: { ...TRAINING_OPTIONS.gradClip, fallback: 40 as number | undefined },
  trainBatchSizePerLearner: { ...TRAINING_OPTIONS.trainBatchSizePerLearner, fallback: 500 },
  vfLossCoeff: atLeastZero(0.5),
  entropyCoeff: schedule("a number from 0", 0.01, isAtLeastZero),
  vtraceClipRhoThreshold: positive(1),
  vtraceClipPgRhoThreshold: positive(1),
  /** Updates between two sets of weights for the runners. */
  broadcastInterval: count({ min: 1 }, 1),
  /** Batches that may wait for the learner; beyond that the oldest steps are dropped. */
  learnerQueueSize: count({ min: 1 }, 3),
};

const TRAINING = { of: "training() of IMPALA", otherNames: IMPALA_OTHER_NAMES, options: IMPALA_OPTIONS };

/** The values of `training()`. */
export type IMPALATraining = ValuesOf<typeof TRAINING>;

/** Defaults of other parts, for IMPALA and APPO: fragments of 50 steps, and iterations of a second (Ray: 10). */
export const ASYNCHRONOUS_DEFAULTS: PartDefaults = {
  envRunners: { rolloutFragmentLength: 50 },
  reporting: { minTimeMsPerIteration: 1000 },
};

export class IMPALALearner extends ActorCriticLearner<IMPALATraining> {
  protected override estimate(fragment: Fragment): Estimates {
    const { gamma, vtraceClipRhoThreshold: clipRho, vtraceClipPgRhoThreshold: clipPgRho } = this.config;
    const { values, inputs } = this.evaluate(fragment);
    const logRatios = this.logpOf(fragment, inputs).map((logp, row) => logp - (fragment.actionLogp[row] as number));
    return estimateVTrace(fragment, { values, logRatios, gamma, clipRho, clipPgRho });
  }
}

export class IMPALAConfig extends AlgorithmConfig<IMPALATraining> {
  readonly name = "IMPALA";
  readonly defaultLearner: LearnerClass = IMPALALearner;
  protected readonly trainingTable: OptionSet<IMPALATraining> = TRAINING;

  protected override get defaults(): PartDefaults {
    return ASYNCHRONOUS_DEFAULTS;
  }

  protected override get learnsInGroups(): boolean {
    return true;
  }

  override validate(): void {
    super.validate();
    checkMinibatches(this.name, this.values.training);
  }

  override async buildAlgo(): Promise<IMPALA> {
    return await IMPALA.build(this);
  }
}

export class IMPALA extends AsynchronousAlgorithm<IMPALATraining> {}

registerAlgorithm("IMPALA", IMPALAConfig);
