/**
 * Asynchronous advantage actor-critic: arXiv:1602.01783. Ray has dropped A3C; the defaults are the last ones there.
 *
 * Each runner samples a fragment, and computes the gradient of the loss with the weights that sampled. The learner makes a step by each gradient as it arrives, and the runner's next
 * call begins with the newest weights. The loss is that of `ActorCriticLearner`, advantages are GAE's.
 */
import type { OptionSet } from "../../core/internal.ts";
import { Algorithm } from "../algorithms/algorithm.ts";
import { AlgorithmConfig, type PartDefaults } from "../config/algorithm-config.ts";
import { registerAlgorithm } from "../config/algorithm-registry.ts";
import { atLeastZero, isAtLeastZero, TRAINING_OPTIONS, upToOne, type ValuesOf } from "../config/option-tables.ts";
import { ActorCriticLearner } from "../learners/actor-critic-learner.ts";
import type { Digest, LearnerClass, RunnerLearning } from "../learners/learner.ts";
import { WAITING_CALLS_MAX } from "../limits.ts";
import { schedule } from "../learners/schedule.ts";
import { emptyFragment, type Fragment } from "../sequences/fragment.ts";

const ONE_GRADIENT = "each fragment gives one gradient: set rolloutFragmentLength of envRunners()";

const TRAINING = {
  of: "training() of A3C",
  otherNames: {
    lambda_: "it is lambda",
    trainBatchSize: ONE_GRADIENT,
    trainBatchSizePerLearner: ONE_GRADIENT,
    minibatchSize: ONE_GRADIENT,
    numEpochs: ONE_GRADIENT,
  },
  options: {
    lr: schedule("a number from 0", 1e-4, isAtLeastZero),
    gamma: TRAINING_OPTIONS.gamma,
    gradClip: { ...TRAINING_OPTIONS.gradClip, fallback: 40 as number | undefined },
    lambda: upToOne(1),
    vfLossCoeff: atLeastZero(0.5),
    entropyCoeff: schedule("a number from 0", 0.01, isAtLeastZero),
  },
};

/** The values of `training()`. */
export type A3CTraining = ValuesOf<typeof TRAINING>;

/** Steps of a fragment where `rolloutFragmentLength` is "auto". */
const FRAGMENT_LENGTH = 10;

export class A3CLearner extends ActorCriticLearner<A3CTraining> {
  /** Sends a gradient in the place of the steps. */
  override digest(fragment: Fragment, envSteps: number): Digest & { readonly fragment: Fragment } {
    return { fragment: emptyFragment(fragment), gradient: this.gradientOf(fragment, envSteps) };
  }
}

export class A3CConfig extends AlgorithmConfig<A3CTraining> {
  readonly name = "A3C";
  readonly defaultLearner: LearnerClass = A3CLearner;
  protected readonly trainingTable: OptionSet<A3CTraining> = TRAINING;

  protected override get defaults(): PartDefaults {
    return { envRunners: { rolloutFragmentLength: FRAGMENT_LENGTH }, reporting: { minTimeMsPerIteration: 1000 } };
  }

  override async buildAlgo(): Promise<A3C> {
    return await A3C.build(this);
  }
}

export class A3C extends Algorithm<A3CTraining> {
  protected override get streaming(): { readonly steps: number; readonly waitingStepsMax: number } {
    const { numEnvRunners, numEnvsPerEnvRunner, rolloutFragmentLength } = this.values.envRunners;
    const environments = Math.max(1, numEnvRunners) * numEnvsPerEnvRunner;
    const length = rolloutFragmentLength === "auto" ? FRAGMENT_LENGTH : rolloutFragmentLength;
    return { steps: FRAGMENT_LENGTH * environments, waitingStepsMax: WAITING_CALLS_MAX * length * environments };
  }

  protected override get runnerLearning(): RunnerLearning {
    return this.learningInRunners();
  }

  protected async trainingStep(signal: AbortSignal | undefined): Promise<void> {
    for (const sample of await this.waitFor(async () => await this.arrivals(signal))) {
      this.count(sample);
      await this.learn(() => {
        for (const [id, { gradient }] of Object.entries(sample.modules)) {
          if (gradient === undefined) continue;
          const learner = this.modules.get(id)?.learner as unknown as A3CLearner;
          learner.beginAt(this.envSteps);
          learner.apply(gradient);
        }
      });
      this.broadcast();
    }
  }
}

registerAlgorithm("A3C", A3CConfig);
