/** The training step of on-policy algorithms: sample a batch with all runners, learn from it, and forget it. */
import type { OnPolicyConfig, OnPolicyLearner } from "../learners/on-policy-learner.ts";
import type { Fragment } from "../sequences/fragment.ts";
import { Algorithm } from "./algorithm.ts";

/** Values of `training()` that the step needs. */
export interface OnPolicyTraining extends OnPolicyConfig {
  readonly trainBatchSizePerLearner: number;
}

/** Algorithms whose learners take whole fragments. */
export abstract class FragmentAlgorithm<Training extends OnPolicyTraining> extends Algorithm<Training> {
  /** Steps of a batch of all learners. */
  protected get batchSize(): number {
    return this.values.training.trainBatchSizePerLearner * Math.max(1, this.values.learners.numLearners);
  }

  /** Lets the modules that are trained learn from the fragments of a batch. */
  protected async learnFrom(fragments: ReadonlyMap<string, Fragment>, signal: AbortSignal | undefined): Promise<void> {
    await this.learn(async () => {
      if (this.learners !== undefined) {
        const batch = new Map(this.learningFrom(fragments).map(({ id, fragment }) => [id, fragment]));
        return await this.learners.update(batch, { envSteps: this.envSteps, signal });
      }
      for (const { module, fragment } of this.learningFrom(fragments)) {
        const learner = module.learner as unknown as OnPolicyLearner<Training>;
        learner.beginAt(this.envSteps);
        await learner.update(fragment, signal);
      }
    });
  }
}

export abstract class OnPolicyAlgorithm<Training extends OnPolicyTraining> extends FragmentAlgorithm<Training> {
  protected async trainingStep(signal: AbortSignal | undefined): Promise<void> {
    await this.learnFrom(await this.sample(this.batchSize, signal), signal);
  }
}
