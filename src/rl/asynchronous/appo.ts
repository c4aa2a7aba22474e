/**
 * Asynchronous PPO: arXiv:1912.00167 (IMPACT), with the losses and defaults of RLlib 2.60.
 *
 * `loss = -mean(min(r A, clip(r, 1 - c, 1 + c) A)) + vfLossCoeff mean((V - R)^2) / 2 - entropyCoeff mean(H) + klCoeff mean(KL(old, new))`
 *
 * There are three policies: the one that sampled, an old one (the target network), and the one that learns. `r` is the probability of an action today by that of the old policy; where the
 * old policy is much less likely to act so than the one that sampled, the latter counts (`targetWorkerClipping`). Targets and advantages are V-trace's, of the old policy.
 */
import { count, flag, type OptionSet } from "../../core/internal.ts";
import { Random, type Tensor } from "../../tensor/index.ts";
import { AlgorithmConfig, type PartDefaults } from "../config/algorithm-config.ts";
import { registerAlgorithm } from "../config/algorithm-registry.ts";
import { atLeastZero, positive, upToOne, type ValuesOf } from "../config/option-tables.ts";
import { ActorCriticLearner } from "../learners/actor-critic-learner.ts";
import type { LearnerClass, LearnerResult, LearnerSetup, LearnerState } from "../learners/learner.ts";
import { checkMinibatches, type Estimates, type LossContext } from "../learners/on-policy-learner.ts";
import type { RLModule } from "../modules/rl-module.ts";
import type { Fragment } from "../sequences/fragment.ts";
import { estimateVTrace } from "../sequences/v-trace.ts";
import { AsynchronousAlgorithm, type Batch } from "./asynchronous-algorithm.ts";
import { CircularBuffer } from "./circular-buffer.ts";
import { ASYNCHRONOUS_DEFAULTS, IMPALA_OPTIONS, IMPALA_OTHER_NAMES } from "./impala.ts";

const TRAINING = {
  of: "training() of APPO",
  otherNames: { ...IMPALA_OTHER_NAMES, minibatchBufferSize: "it is circularBufferNumBatches", useGae: "advantages are V-trace's" },
  options: {
    ...IMPALA_OPTIONS,
    clipParam: positive(0.4),
    useKlLoss: flag(false),
    klCoeff: atLeastZero(1),
    klTarget: positive(0.01),
    /** The largest ratio of the probability with which an action was drawn to that of the old policy. */
    targetWorkerClipping: positive(2),
    /** Batches that are kept, and how often each is learnt from. */
    circularBufferNumBatches: count({ min: 1 }, 8),
    circularBufferIterationsPerBatch: count({ min: 1 }, 2),
    /** Rounds through a full circular buffer between two moves of the target. */
    targetNetworkUpdateFreq: count({ min: 1 }, 2),
    tau: upToOne(1),
  },
};

/** The values of `training()`. */
export type APPOTraining = ValuesOf<typeof TRAINING>;

export class APPOLearner extends ActorCriticLearner<APPOTraining> {
  readonly #target: RLModule;
  #klCoeff: number;
  #updates = 0;

  constructor(setup: LearnerSetup<APPOTraining>) {
    super(setup);
    this.#klCoeff = setup.config.klCoeff;
    this.#target = setup.buildTwin().module;
    this.#target.parameters.data.set(this.built.module.parameters.data);
  }

  protected override estimate(fragment: Fragment): Estimates {
    const { gamma, vtraceClipRhoThreshold: clipRho, vtraceClipPgRhoThreshold: clipPgRho, targetWorkerClipping } = this.config;
    const { values } = this.evaluate(fragment);
    const { inputs } = this.evaluate(fragment, this.#target);
    const { actionLogp: drawn } = fragment;
    const logRatios = this.logpOf(fragment, inputs).map((logp, row) => logp - (drawn[row] as number));
    // The denominator of the loss's ratio: the old policy's, or that with which the action was drawn by the largest ratio.
    const least = -Math.log(targetWorkerClipping);
    const actionLogp = logRatios.map((ratio, row) => (drawn[row] as number) + Math.max(ratio, least));
    return { ...estimateVTrace(fragment, { values, logRatios, gamma, clipRho, clipPgRho }), actionLogp, actionDistInputs: inputs };
  }

  protected override policyLoss({ batch, distribution, config }: LossContext<APPOTraining>): Tensor {
    const ratio = distribution.logp(batch.actions).sub(batch.actionLogp).exp();
    const clipped = ratio.clamp(1 - config.clipParam, 1 + config.clipParam).mul(batch.advantages);
    return ratio.mul(batch.advantages).minimum(clipped).mean().neg();
  }

  override computeLoss(context: LossContext<APPOTraining>): Tensor {
    const loss = super.computeLoss(context);
    const kl = context.distribution.klFrom(context.batch.actionDistInputs).mean();
    context.log("meanKl", kl);
    return context.config.useKlLoss ? loss.add(kl.mul(this.#klCoeff)) : loss;
  }

  /** Moves the target, and with it the coefficient of the divergence. */
  protected override adapt({ meanKl = 0 }: LearnerResult): void {
    const { circularBufferNumBatches, circularBufferIterationsPerBatch, targetNetworkUpdateFreq, tau, klTarget } = this.config;
    this.#updates += 1;
    if (this.#updates % (targetNetworkUpdateFreq * circularBufferNumBatches * circularBufferIterationsPerBatch ** 2) !== 0) return;
    const [to, from] = [this.#target.parameters.data, this.built.module.parameters.data];
    for (let at = 0; at < to.length; at += 1) to[at] = (to[at] as number) + tau * ((from[at] as number) - (to[at] as number));
    if (meanKl > 2 * klTarget) this.#klCoeff *= 1.5;
    else if (meanKl < 0.5 * klTarget) this.#klCoeff *= 0.5;
  }

  protected override get adapted(): Record<string, number> {
    return { klCoeff: this.#klCoeff, updates: this.#updates };
  }

  protected override set adapted({ klCoeff = this.config.klCoeff, updates = 0 }: Readonly<Record<string, number>>) {
    this.#klCoeff = klCoeff;
    this.#updates = updates;
  }

  override getState(): LearnerState {
    const { data, arrays } = super.getState();
    return { data, arrays: { ...arrays, target: this.#target.parameters.data.slice() } };
  }

  override setState(state: LearnerState): void {
    const { data } = this.#target.parameters;
    const saved = state.arrays["target"];
    if (saved?.length !== data.length)
      throw new RangeError(`the target network has ${data.length} numbers: received ${saved?.length ?? "none"}`);
    super.setState(state);
    this.#target.parameters.data.set(saved);
  }
}

export class APPOConfig extends AlgorithmConfig<APPOTraining> {
  readonly name = "APPO";
  readonly defaultLearner: LearnerClass = APPOLearner;
  protected readonly trainingTable: OptionSet<APPOTraining> = TRAINING;

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

  override async buildAlgo(): Promise<APPO> {
    return await APPO.build(this);
  }
}

export class APPO extends AsynchronousAlgorithm<APPOTraining> {
  #buffer: CircularBuffer<Batch> | undefined;

  protected override batchesOf(batch: Batch): Batch[] {
    const { circularBufferNumBatches: size, circularBufferIterationsPerBatch: drawsMax } = this.values.training;
    this.#buffer ??= new CircularBuffer({ size, drawsMax, random: new Random(this.seed, "circular buffer") });
    return this.#buffer.add(batch);
  }

  protected override forget(): void {
    this.#buffer = undefined;
  }

  protected override async restoreState(): Promise<void> {
    this.#buffer = undefined;
  }
}

registerAlgorithm("APPO", APPOConfig);
