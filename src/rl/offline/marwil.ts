/**
 * MARWIL and behaviour cloning: Wang and others, NeurIPS 2018, with the defaults of RLlib 2.60.
 *
 * The loss is `-mean(exp(beta A / c) log pi(a)) + vfCoeff mean(A^2) / 2`. `A` is the return less the value. `c^2` is a moving average of `A^2`, which begins with 100.
 * With a `beta` of 0 all actions count the same: that is behaviour cloning, which needs no values.
 */
import { number, type OptionSet } from "../../core/internal.ts";
import { Adam, noGrad, type Tensor } from "../../tensor/index.ts";
import { registerAlgorithm } from "../config/algorithm-registry.ts";
import { atLeastZero, isAtLeastZero, positive, TRAINING_OPTIONS, upToOne, type ValuesOf } from "../config/option-tables.ts";
import type { BatchDistribution, LikelihoodDistribution } from "../distributions/action-distribution.ts";
import { RLError } from "../errors.ts";
import { Learner, type LearnerClass, type LearnerSetup, type LearnerState } from "../learners/learner.ts";
import { schedule, scheduled } from "../learners/schedule.ts";
import { EXPONENT_MAX } from "../limits.ts";
import type { ModuleOutput } from "../modules/rl-module.ts";
import { OfflineAlgorithm, OfflineConfig, type OfflineLearner } from "./offline-algorithm.ts";
import type { RecordedSteps, ReturnsBatch } from "./recorded-steps.ts";

const TRAINING = {
  of: "training() of MARWIL",
  otherNames: { lambda: "returns go to the end of an episode, as with 1", trainBatchSize: "it is trainBatchSizePerLearner" },
  options: {
    lr: schedule("a number from 0", 1e-4, isAtLeastZero),
    gamma: TRAINING_OPTIONS.gamma,
    gradClip: TRAINING_OPTIONS.gradClip,
    trainBatchSizePerLearner: { ...TRAINING_OPTIONS.trainBatchSizePerLearner, fallback: 2000 },
    /** How much better actions count more. 0 is behaviour cloning. */
    beta: atLeastZero(1),
    vfCoeff: atLeastZero(1),
    /** The first value of the moving average of squared advantages, and the share of a batch in it. */
    movingAverageSqdAdvNormStart: positive(100),
    movingAverageSqdAdvNormUpdateRate: upToOne(1e-8),
  },
};

/** The values of `training()`. */
export type MARWILTraining = ValuesOf<typeof TRAINING>;

export interface MARWILLossContext {
  readonly batch: ReturnsBatch;
  readonly output: ModuleOutput;
  /** The distribution of the module's output. */
  readonly distribution: BatchDistribution;
  readonly config: MARWILTraining;
  /** Adds a number to `result.learners`; the mean over the updates of an iteration is shown. */
  log(name: string, value: Tensor | number): void;
}

export class MARWILLearner extends Learner<MARWILTraining> implements OfflineLearner {
  readonly optimizer: Adam;
  #squaredAdvantages: number;

  constructor(setup: LearnerSetup<MARWILTraining>) {
    super(setup);
    this.optimizer = new Adam(setup.built.module, { lr: 0, maxGradNorm: setup.config.gradClip ?? null });
    this.#squaredAdvantages = setup.config.movingAverageSqdAdvNormStart;
  }

  learnFrom(steps: RecordedSteps, chosen: Int32Array, trained: number): void {
    const { module, distribution } = this.built;
    this.optimizer.lr = scheduled(this.config.lr, trained);
    const batch = steps.returnsOf(chosen);
    const output = module.forwardTrain({ obs: batch.obs });
    if (output.actionDistInputs === undefined) throw new RLError("Cannot learn: forward() of the module returned no actionDistInputs");
    const loss = this.computeLoss({
      batch,
      output,
      distribution: (distribution as LikelihoodDistribution).of(output.actionDistInputs),
      config: this.config,
      log: (name, value) => this.log(name, value),
    });
    const norm = this.descend(loss, this.optimizer);
    this.note("learningRate", this.optimizer.lr);
    this.note("numModuleStepsTrainedLifetime", trained + batch.rows);
    if (!Number.isFinite(norm)) return;
    this.log("totalLoss", loss);
    this.log("gradientsNorm", norm);
  }

  /** The loss of a batch: one number. */
  computeLoss({ batch, output, distribution, config, log }: MARWILLossContext): Tensor {
    const logp = distribution.logp(batch.actions);
    if (config.beta === 0) {
      const loss = logp.mean().neg();
      log("policyLoss", loss);
      return loss;
    }
    if (output.vfPreds === undefined) throw new RLError("Cannot learn: forward() of the module returned no vfPreds, which MARWIL needs");
    const advantages = this.#targets(batch).sub(output.vfPreds.reshape([batch.rows]));
    const weights = noGrad(() => this.#weights(advantages));
    const policyLoss = weights.mul(logp).mean().neg();
    const vfLoss = advantages.square().mean().mul(0.5);
    log("policyLoss", policyLoss);
    log("vfLoss", vfLoss);
    log("squaredAdvantages", this.#squaredAdvantages);
    return policyLoss.add(vfLoss.mul(config.vfCoeff));
  }

  /** The returns to the end of the world: behind the last observation of other episodes stands its value. */
  #targets({ returns, lastObs, discounts, rows }: ReturnsBatch): Tensor {
    return noGrad(() => {
      const { vfPreds } = this.built.module.forwardTrain({ obs: lastObs });
      return vfPreds === undefined ? returns : returns.add(discounts.mul(vfPreds.reshape([rows])));
    });
  }

  /** Moves the average on, and weighs actions by it. */
  #weights(advantages: Tensor): Tensor {
    const { beta, movingAverageSqdAdvNormUpdateRate: rate } = this.config;
    const squares = advantages.square().mean().item();
    if (Number.isFinite(squares)) this.#squaredAdvantages += rate * (squares - this.#squaredAdvantages);
    const scale = beta / (1e-8 + Math.sqrt(this.#squaredAdvantages));
    return advantages.mul(scale).clamp(-EXPONENT_MAX, EXPONENT_MAX).exp();
  }

  getState(): LearnerState {
    const { step, expAvg, expAvgSq } = this.optimizer.getState();
    return { data: { step, squaredAdvantages: this.#squaredAdvantages }, arrays: { expAvg, expAvgSq } };
  }

  setState({ data, arrays }: LearnerState): void {
    const { step, squaredAdvantages } = data as { step: number; squaredAdvantages: number };
    this.optimizer.setState({ step, ...arrays } as ReturnType<Adam["getState"]>);
    this.#squaredAdvantages = squaredAdvantages;
  }
}

export class MARWILConfig extends OfflineConfig<MARWILTraining> {
  readonly name: string = "MARWIL";
  readonly defaultLearner: LearnerClass = MARWILLearner;
  protected readonly trainingTable: OptionSet<MARWILTraining> = TRAINING;

  override async buildAlgo(): Promise<MARWIL> {
    return await MARWIL.build(this);
  }
}

export class MARWIL extends OfflineAlgorithm<MARWILTraining> {}

const BC_TRAINING = {
  of: "training() of BC",
  otherNames: TRAINING.otherNames,
  options: { ...TRAINING.options, beta: number("0 is needed, as MARWIL has another", 0, (value) => value === 0) },
};

/** Behaviour cloning: MARWIL with a `beta` of 0. */
export class BCConfig extends MARWILConfig {
  override readonly name: string = "BC";
  protected override readonly trainingTable: OptionSet<MARWILTraining> = BC_TRAINING;

  override async buildAlgo(): Promise<BC> {
    return await BC.build(this);
  }
}

export class BC extends MARWIL {}

registerAlgorithm("MARWIL", MARWILConfig);
registerAlgorithm("BC", BCConfig);
