/**
 * Advantage actor-critic: arXiv:1602.01783, in its synchronous form. Ray has dropped A2C. The defaults are the last ones there, except for the size of a batch.
 *
 * The loss is that of `ActorCriticLearner`. Advantages are GAE's and are not standardized. Ray's version summed over the batch; means differ from that by a factor, which `gradClip` sees alone.
 */
import type { OptionSet } from "../../core/internal.ts";
import { AlgorithmConfig, type PartDefaults } from "../config/algorithm-config.ts";
import { registerAlgorithm } from "../config/algorithm-registry.ts";
import { atLeastZero, isAtLeastZero, TRAINING_OPTIONS, upToOne, type ValuesOf } from "../config/option-tables.ts";
import type { LearnerClass } from "../learners/learner.ts";
import { ActorCriticLearner } from "../learners/actor-critic-learner.ts";
import { checkMinibatches } from "../learners/on-policy-learner.ts";
import { schedule } from "../learners/schedule.ts";
import { OnPolicyAlgorithm } from "./on-policy-algorithm.ts";

/** The rows of the table that A2C and A3C share. */
const ACTOR_CRITIC_OPTIONS = {
  ...TRAINING_OPTIONS,
  lr: schedule("a number from 0", 1e-4, isAtLeastZero),
  gradClip: { ...TRAINING_OPTIONS.gradClip, fallback: 40 as number | undefined },
  lambda: upToOne(1),
  vfLossCoeff: atLeastZero(0.5),
  entropyCoeff: schedule("a number from 0", 0.01, isAtLeastZero),
};

const TRAINING = {
  of: "training() of A2C",
  otherNames: { lambda_: "it is lambda" },
  options: {
    ...ACTOR_CRITIC_OPTIONS,
    trainBatchSizePerLearner: { ...TRAINING_OPTIONS.trainBatchSizePerLearner, fallback: 320 },
  },
};

/** The values of `training()`. */
export type A2CTraining = ValuesOf<typeof TRAINING>;

export class A2CLearner extends ActorCriticLearner<A2CTraining> {}

export class A2CConfig extends AlgorithmConfig<A2CTraining> {
  readonly name = "A2C";
  readonly defaultLearner: LearnerClass = A2CLearner;
  protected readonly trainingTable: OptionSet<A2CTraining> = TRAINING;

  protected override get defaults(): PartDefaults {
    return { envRunners: { rolloutFragmentLength: 20 } };
  }

  protected override get learnsInGroups(): boolean {
    return true;
  }

  override validate(): void {
    super.validate();
    checkMinibatches(this.name, this.values.training);
  }

  override async buildAlgo(): Promise<A2C> {
    return await A2C.build(this);
  }
}

/** Samples a batch from all runners, in fragments of 20 steps, and makes one update. */
export class A2C extends OnPolicyAlgorithm<A2CTraining> {}

registerAlgorithm("A2C", A2CConfig);
