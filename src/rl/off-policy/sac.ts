/**
 * Soft actor-critic: arXiv:1801.01290 and 1812.05905, for choices arXiv:1910.07207, with the losses and defaults of RLlib 2.60.
 *
 * `target = R_n + gamma^n (1 - terminated) (min Q'(s_n, a') - alpha log pi(a'))` with a drawn `a'`. Critics have the Huber loss, weighted by importance. The actor's loss is
 * `mean(alpha log pi(a) - min Q(s, a))`, and alpha's `-log alpha (log pi(a) + targetEntropy)`. For choices the expectations are sums over all of them.
 */
import { custom, flag, number, type OptionSet } from "../../core/internal.ts";
import { type Adam, Layer, noGrad, Random, type RandomState, type Tensor, withRandom } from "../../tensor/index.ts";
import { AlgorithmConfig, type PartDefaults } from "../config/algorithm-config.ts";
import { registerAlgorithm } from "../config/algorithm-registry.ts";
import { isAtLeastZero, positive, type ValuesOf } from "../config/option-tables.ts";
import type { Exploration } from "../distributions/action-distribution.ts";
import { squashedNormal } from "../distributions/bounded-actions.ts";
import type { PolicyKind } from "../distributions/choose-distribution.ts";
import { RLError } from "../errors.ts";
import type { LearnerClass, LearnerSetup, LearnerState } from "../learners/learner.ts";
import { ReplayLearner, type ReplayLossBatch } from "../learners/replay-learner.ts";
import { schedule, scheduled } from "../learners/schedule.ts";
import { Discrete } from "../spaces/discrete.ts";
import { actionTensor, Critics, frozen, least, priorities } from "./critics.ts";
import { ReplayAlgorithm } from "./replay-algorithm.ts";
import { REPLAY_OTHER_NAMES, replayOptions } from "./replay-options.ts";

/** The rows of a `training()` table that all learners with SAC's losses have. */
export const SAC_OPTIONS = {
  actorLr: schedule("a number from 0", 3e-5, isAtLeastZero),
  criticLr: schedule("a number from 0", 3e-4, isAtLeastZero),
  alphaLr: schedule("a number from 0", 3e-4, isAtLeastZero),
  twinQ: flag(true),
  initialAlpha: positive(1),
  /** "auto": minus the numbers of an action; for choices 0.98 log n. */
  targetEntropy: custom<number | "auto">('"auto" or a finite number is needed', "auto", (value) =>
    value === "auto" || (typeof value === "number" && Number.isFinite(value)) ? "ok" : "wrong type",
  ),
};

const TRAINING = {
  of: "training() of SAC",
  otherNames: {
    ...REPLAY_OTHER_NAMES,
    lr: "there are actorLr, criticLr and alphaLr",
    optimization: "there are actorLr, criticLr and alphaLr",
  },
  options: {
    ...replayOptions({
      type: "PrioritizedEpisodeReplayBuffer",
      capacity: 1_000_000,
      rows: 256,
      learnsFrom: 1500,
      targetEvery: 0,
      tau: 5e-3,
    }),
    ...SAC_OPTIONS,
    /**
     * The correlation of an action's noise with that of the step before, while sampling. Numbers near 1 push into one direction for longer, as generalized state-dependent exploration
     * does. Ray has no such noise.
     */
    noiseCorrelation: number("a number from 0 to below 1 is needed", 0, (value) => value >= 0 && value < 1),
  },
};

/** The values of `training()`. */
export type SACTraining = ValuesOf<typeof TRAINING>;

/** The weight of the entropy. */
class Temperature extends Layer {
  readonly logAlpha: Tensor;

  constructor(initial: number) {
    super();
    this.logAlpha = this.parameter("log_alpha", [1], (numbers) => numbers.fill(Math.log(initial)));
  }

  get alpha(): number {
    return Math.exp(this.logAlpha.item());
  }
}

/** The values of `training()` that the losses use. */
type SACLearning = Pick<
  SACTraining,
  "gamma" | "gradClip" | "tau" | "targetNetworkUpdateFreq" | "adamEpsilon" | "actorLr" | "criticLr" | "alphaLr" | "twinQ" | "initialAlpha"
> &
  Pick<SACTraining, "targetEntropy">;

/** Actions of the policy: for numbers a draw, for choices all of them with their probabilities. */
export interface PolicyDraw {
  /** `[rows, size]`; `undefined` for choices. */
  readonly actions: Tensor | undefined;
  /** `[rows]` for the draw, or `[rows, choices]`. */
  readonly logp: Tensor;
}

export class SACLearner<Training extends SACLearning = SACTraining> extends ReplayLearner<Training> {
  protected readonly critics: Critics;
  readonly #target: Critics;
  readonly #temperature: Temperature;
  readonly #optimizers: { readonly actor: Adam; readonly critics: Adam; readonly alpha: Adam };
  readonly #targetEntropy: number;
  readonly #choices: number | undefined;
  protected readonly random: Random;

  constructor(setup: LearnerSetup<Training>) {
    super(setup);
    const { built, config, seed } = setup;
    this.#choices = built.actionSpace instanceof Discrete ? built.actionSpace.n : undefined;
    this.random = new Random(seed, "actions of the learner");
    const make = (): Critics =>
      withRandom(new Random(seed, "critics"), () => new Critics(built, { count: config.twinQ ? 2 : 1, choices: this.#choices }));
    this.critics = make();
    this.#target = make();
    this.#temperature = new Temperature(config.initialAlpha);
    this.own("critics", this.critics);
    this.targetOf("target", this.#target, this.critics);
    this.own("temperature", this.#temperature);
    const options = { eps: config.adamEpsilon };
    this.#optimizers = {
      actor: this.optimizerOf("actor", built.module, options),
      critics: this.optimizerOf("criticsOptimizer", this.critics, options),
      alpha: this.optimizerOf("alpha", this.#temperature, options),
    };
    const size = this.#choices === undefined ? (built.distribution.actions.size as number) : 0;
    this.#targetEntropy =
      config.targetEntropy !== "auto" ? config.targetEntropy : this.#choices === undefined ? -size : 0.98 * Math.log(this.#choices);
  }

  protected step(batch: ReplayLossBatch, envSteps: number): Float32Array {
    const { actor, critics, alpha } = this.#optimizers;
    critics.lr = scheduled(this.config.criticLr, envSteps);
    actor.lr = scheduled(this.config.actorLr, envSteps);
    alpha.lr = scheduled(this.config.alphaLr, envSteps);
    const targets = noGrad(() => this.#targets(batch));
    const values = this.#valuesOf(batch);
    const criticLoss = this.criticLoss(values, targets, batch);
    this.descend(criticLoss, critics);
    this.log("qfLoss", criticLoss);
    this.log("qfMean", (values[0] as Tensor).mean());
    const entropy = frozen(this.critics, () => this.#improveActor(batch, actor));
    const { logAlpha } = this.#temperature;
    const alphaLoss = logAlpha.mul(entropy - this.#targetEntropy).sum();
    this.descend(alphaLoss, alpha);
    this.log("alphaLoss", alphaLoss);
    this.log("alpha", this.#temperature.alpha);
    this.note("actorLearningRate", actor.lr);
    this.note("criticLearningRate", critics.lr);
    this.note("alphaLearningRate", alpha.lr);
    return noGrad(() => priorities(values, targets));
  }

  /** The loss of the critics, whose values of the batch's actions are given. */
  protected criticLoss(values: readonly Tensor[], targets: Tensor, { weights }: ReplayLossBatch): Tensor {
    return values.map((each) => each.huberLoss(targets, { reduction: "none" }).mul(weights).mean()).reduce((a, b) => a.add(b));
  }

  #valuesOf({ obs, actions, rows }: ReplayLossBatch): Tensor[] {
    if (this.#choices === undefined) return this.critics.forward(obs, actionTensor(actions, rows));
    return this.critics.forward(obs).map((values) => values.gather(actions));
  }

  #targets({ nextObs, rewards, discounts }: ReplayLossBatch): Tensor {
    const { actions, logp } = this.draw(nextObs);
    const values = this.nextValues(least(this.#target.forward(nextObs, actions)), logp);
    return rewards.add(discounts.mul(this.#expected(values, logp)));
  }

  /** The values of the policy's next actions, with what their entropy is worth. */
  protected nextValues(values: Tensor, logp: Tensor): Tensor {
    return values.sub(logp.mul(this.#temperature.alpha));
  }

  /** The worth of the policy's actions, which the actor increases. */
  protected actorValues({ obs }: ReplayLossBatch, { actions }: PolicyDraw): Tensor {
    return least(this.critics.forward(obs, actions));
  }

  /** @returns the policy's entropy, by the draw */
  #improveActor(batch: ReplayLossBatch, optimizer: Adam): number {
    const { actions, logp } = this.draw(batch.obs);
    const cost = logp.mul(this.#temperature.alpha).sub(this.actorValues(batch, { actions, logp }));
    const loss = this.#expected(cost, logp).mean();
    this.descend(loss, optimizer);
    this.log("policyLoss", loss);
    const entropy = -noGrad(() => this.#expected(logp, logp).mean().item());
    this.log("entropy", entropy);
    return entropy;
  }

  /** Draws the policy's actions. */
  protected draw(obs: Tensor): PolicyDraw {
    const { actionDistInputs } = this.built.module.forwardTrain({ obs });
    if (actionDistInputs === undefined) throw new RLError("Cannot learn: forward() of the module returned no actionDistInputs");
    if (this.#choices !== undefined) return { actions: undefined, logp: actionDistInputs.logSoftmax() };
    const { value, logp } = squashedNormal(actionDistInputs).rsample(this.random);
    return { actions: value, logp };
  }

  /** The mean over the policy's actions: for a draw the number itself. */
  #expected(values: Tensor, logp: Tensor): Tensor {
    return this.#choices === undefined ? values : logp.exp().mul(values).sum({ axis: -1 });
  }

  protected override get extra(): LearnerState["data"] {
    return { draws: this.random.getState() };
  }

  protected override set extra({ draws }: LearnerState["data"]) {
    this.random.setState(draws as RandomState);
  }
}

export class SACConfig extends AlgorithmConfig<SACTraining> {
  readonly name = "SAC";
  readonly defaultLearner: LearnerClass = SACLearner;
  override readonly policyKind: PolicyKind = "squashed";
  protected readonly trainingTable: OptionSet<SACTraining> = TRAINING;

  protected override get defaults(): PartDefaults {
    return { reporting: { minSampleTimestepsPerIteration: 100 } };
  }

  override async buildAlgo(): Promise<SAC> {
    return await SAC.build(this);
  }
}

export class SAC extends ReplayAlgorithm<SACTraining> {
  protected override get exploration(): Exploration {
    return { correlation: this.values.training.noiseCorrelation };
  }
}

registerAlgorithm("SAC", SACConfig);
