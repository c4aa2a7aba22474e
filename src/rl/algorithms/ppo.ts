/**
 * Proximal policy optimization: arXiv:1707.06347, with the losses and defaults of RLlib 2.60.
 *
 * loss = -min(r A, clip(r, 1 - c, 1 + c) A) + vfLossCoeff min(max((V - R)^2, 0), vfClipParam) - entropyCoeff H + klCoeff KL(old, new)
 *
 * `r` is the ratio of probabilities of the drawn action. The value error is clamped
 * after it is squared, as in Ray. The coefficient of the divergence is halved below half of `klTarget`, and grows by half above twice that.
 */
import { flag, type OptionSet } from "../../core/internal.ts";
import type { Tensor } from "../../tensor/index.ts";
import { AlgorithmConfig } from "../config/algorithm-config.ts";
import { registerAlgorithm } from "../config/algorithm-registry.ts";
import { atLeastZero, isAtLeastZero, positive, TRAINING_OPTIONS, upToOne, type ValuesOf } from "../config/option-tables.ts";
import { RLError } from "../errors.ts";
import type { LearnerClass, LearnerResult, LearnerSetup } from "../learners/learner.ts";
import { checkMinibatches, type LossContext, OnPolicyLearner } from "../learners/on-policy-learner.ts";
import { schedule } from "../learners/schedule.ts";
import { OnPolicyAlgorithm } from "./on-policy-algorithm.ts";

const TRAINING = {
  of: "training() of PPO",
  otherNames: { lambda_: "it is lambda" },
  options: {
    ...TRAINING_OPTIONS,
    minibatchSize: { ...TRAINING_OPTIONS.minibatchSize, fallback: 128 as number | undefined },
    numEpochs: { ...TRAINING_OPTIONS.numEpochs, fallback: 30 },
    lambda: upToOne(1),
    useKlLoss: flag(true),
    klCoeff: atLeastZero(0.2),
    klTarget: positive(0.01),
    vfLossCoeff: atLeastZero(1),
    entropyCoeff: schedule("a number from 0", 0, isAtLeastZero),
    clipParam: positive(0.3),
    vfClipParam: positive(10),
  },
};

/** The values of `training()`. */
export type PPOTraining = ValuesOf<typeof TRAINING>;

export class PPOLearner extends OnPolicyLearner<PPOTraining> {
  #klCoeff: number;

  constructor(setup: LearnerSetup<PPOTraining>) {
    super(setup);
    this.#klCoeff = setup.config.klCoeff;
  }

  computeLoss({ batch, output, distribution, config, log }: LossContext<PPOTraining>): Tensor {
    const { clipParam, vfLossCoeff, vfClipParam, useKlLoss } = config;
    if (output.vfPreds === undefined) throw new RLError("Cannot learn: forward() of the module returned no vfPreds, which PPO needs");
    const ratio = distribution.logp(batch.actions).sub(batch.actionLogp).exp();
    const clipped = ratio.clamp(1 - clipParam, 1 + clipParam).mul(batch.advantages);
    const policyLoss = ratio.mul(batch.advantages).minimum(clipped).mean().neg();
    const vfLoss = output.vfPreds.reshape([batch.rows]).sub(batch.valueTargets).square().clamp(0, vfClipParam).mean();
    const entropy = distribution.entropy().mean();
    const kl = distribution.klFrom(batch.actionDistInputs).mean();
    log("policyLoss", policyLoss);
    log("vfLoss", vfLoss);
    log("entropy", entropy);
    log("meanKl", kl);
    const loss = policyLoss.add(vfLoss.mul(vfLossCoeff)).sub(entropy.mul(this.entropyCoeff));
    return useKlLoss ? loss.add(kl.mul(this.#klCoeff)) : loss;
  }

  protected override get standardizesAdvantages(): boolean {
    return true;
  }

  protected override adapt({ meanKl = 0 }: LearnerResult): void {
    const { klTarget } = this.config;
    if (meanKl > 2 * klTarget) this.#klCoeff *= 1.5;
    else if (meanKl < 0.5 * klTarget) this.#klCoeff *= 0.5;
  }

  protected override get adapted(): Record<string, number> {
    return { klCoeff: this.#klCoeff };
  }

  protected override set adapted({ klCoeff }: Readonly<Record<string, number>>) {
    if (klCoeff !== undefined) this.#klCoeff = klCoeff;
  }
}

export class PPOConfig extends AlgorithmConfig<PPOTraining> {
  readonly name = "PPO";
  readonly defaultLearner: LearnerClass = PPOLearner;
  protected readonly trainingTable: OptionSet<PPOTraining> = TRAINING;

  protected override get learnsInGroups(): boolean {
    return true;
  }

  override validate(): void {
    super.validate();
    checkMinibatches(this.name, this.values.training);
  }

  override async buildAlgo(): Promise<PPO> {
    return await PPO.build(this);
  }
}

/** Samples a batch from all runners and learns from it for several epochs. */
export class PPO extends OnPolicyAlgorithm<PPOTraining> {}

registerAlgorithm("PPO", PPOConfig);
