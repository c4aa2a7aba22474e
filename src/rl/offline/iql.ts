/**
 * Implicit Q-learning: arXiv:2110.06169, with RLlib 2.60's names and defaults, but for `tau`.
 *
 * `V` follows the target critics' value of the recorded action by an expectile: errors above count `expectile`, errors below `1 - expectile`. Critics learn `r + gamma V(s')`, so no
 * action outside of the recording is ever valued. The policy's loss is `-mean(min(exp(beta (Q - V)), 100) log pi(a))`.
 */
import { count, flag, number, type OptionSet } from "../../core/internal.ts";
import { type Adam, noGrad, Random, type Tensor, tensor, withRandom } from "../../tensor/index.ts";
import { registerAlgorithm } from "../config/algorithm-registry.ts";
import { atLeastZero, isAtLeastZero, positive, TRAINING_OPTIONS, upToOne, type ValuesOf } from "../config/option-tables.ts";
import { squashedNormal } from "../distributions/bounded-actions.ts";
import type { PolicyKind } from "../distributions/choose-distribution.ts";
import type { LearnerClass, LearnerSetup } from "../learners/learner.ts";
import { ReplayLearner, type ReplayLossBatch } from "../learners/replay-learner.ts";
import { schedule, scheduled } from "../learners/schedule.ts";
import { ADVANTAGE_WEIGHT_MAX } from "../limits.ts";
import type { BuiltModule } from "../modules/module-spec.ts";
import { actionInputs } from "../modules/rl-module.ts";
import { actionTensor, Critics, least, priorities } from "../off-policy/critics.ts";
import { OfflineAlgorithm, OfflineConfig, type OfflineLearner } from "./offline-algorithm.ts";
import { refuseChoices } from "./refuse-choices.ts";
import type { RecordedSteps } from "./recorded-steps.ts";

const rate = (fallback: number): ReturnType<typeof schedule<number>> => schedule("a number from 0", fallback, isAtLeastZero);

const TRAINING = {
  of: "training() of IQL",
  otherNames: { lr: "there are actorLr, criticLr and valueLr", trainBatchSize: "it is trainBatchSizePerLearner" },
  options: {
    gamma: TRAINING_OPTIONS.gamma,
    gradClip: TRAINING_OPTIONS.gradClip,
    actorLr: rate(3e-4),
    criticLr: rate(3e-4),
    valueLr: rate(3e-4),
    trainBatchSizePerLearner: count({ min: 1 }, 256),
    nStep: count({ min: 1 }, 1),
    twinQ: flag(true),
    expectile: number("a number between 0 and 1 is needed", 0.8, (value) => value > 0 && value < 1),
    beta: atLeastZero(0.1),
    /** Ray: 1, which its own example sets to 6e-4. */
    tau: upToOne(5e-3),
    targetNetworkUpdateFreq: count({ min: 0 }, 0),
    adamEpsilon: positive(1e-8),
  },
};

/** The values of `training()`. */
export type IQLTraining = ValuesOf<typeof TRAINING>;

export class IQLLearner extends ReplayLearner<IQLTraining> implements OfflineLearner {
  readonly #critics: Critics;
  readonly #target: Critics;
  readonly #value: Critics;
  readonly #optimizers: { readonly actor: Adam; readonly critics: Adam; readonly value: Adam };

  constructor(setup: LearnerSetup<IQLTraining>) {
    super(setup);
    const { built, config, seed } = setup;
    const make = (): Critics =>
      withRandom(new Random(seed, "critics"), () => new Critics(built, { count: config.twinQ ? 2 : 1, choices: undefined }));
    this.#critics = make();
    this.#target = make();
    // The value of an observation is that of the only choice.
    this.#value = withRandom(new Random(seed, "value"), () => new Critics(built, { count: 1, choices: 1 }));
    this.own("critics", this.#critics);
    this.targetOf("target", this.#target, this.#critics);
    this.own("value", this.#value);
    const options = { eps: config.adamEpsilon };
    this.#optimizers = {
      actor: this.optimizerOf("actor", built.module, options),
      critics: this.optimizerOf("criticsOptimizer", this.#critics, options),
      value: this.optimizerOf("valueOptimizer", this.#value, options),
    };
  }

  learnFrom(steps: RecordedSteps, chosen: Int32Array, trained: number): void {
    this.update(steps.transitionsOf(chosen, this.config.nStep), trained);
    this.note("numModuleStepsTrainedLifetime", trained + chosen.length);
  }

  protected step(batch: ReplayLossBatch, trained: number): Float32Array {
    const { actorLr, criticLr, valueLr } = this.config;
    const { actor, critics, value } = this.#optimizers;
    [actor.lr, critics.lr, value.lr] = [scheduled(actorLr, trained), scheduled(criticLr, trained), scheduled(valueLr, trained)];
    const actions = actionTensor(batch.actions, batch.rows);
    const targets = noGrad(() => batch.rewards.add(batch.discounts.mul(this.#valueOf(batch.nextObs))));
    const worth = noGrad(() => least(this.#target.forward(batch.obs, actions)));
    const advantages = this.#improveValue(batch.obs, worth);
    this.#improveActor(batch.obs, actions, advantages);
    const values = this.#critics.forward(batch.obs, actions);
    const criticLoss = values.map((each) => each.mseLoss(targets)).reduce((a, b) => a.add(b));
    this.descend(criticLoss, critics);
    this.log("qfLoss", criticLoss);
    this.log("qfMean", (values[0] as Tensor).mean());
    this.note("actorLearningRate", actor.lr);
    this.note("criticLearningRate", critics.lr);
    this.note("valueLearningRate", value.lr);
    return noGrad(() => priorities(values, targets));
  }

  #valueOf(obs: Tensor): Tensor {
    return (this.#value.forward(obs)[0] as Tensor).reshape([obs.shape[0] as number]);
  }

  /** @returns how much more the recorded actions are worth than the value before the update */
  #improveValue(obs: Tensor, worth: Tensor): Float32Array {
    const { expectile } = this.config;
    const differences = worth.sub(this.#valueOf(obs));
    const found = differences.toArray();
    const shares = new Float32Array(found.length);
    for (const [row, difference] of found.entries()) shares[row] = difference > 0 ? expectile : 1 - expectile;
    const loss = differences.square().mul(asColumn(shares)).mean();
    this.descend(loss, this.#optimizers.value);
    this.log("vfLoss", loss);
    return found;
  }

  #improveActor(obs: Tensor, actions: Tensor, advantages: Float32Array): void {
    const weights = advantages.map((advantage) => Math.min(ADVANTAGE_WEIGHT_MAX, Math.exp(this.config.beta * advantage)));
    const inputs = actionInputs(this.built.module.forwardTrain({ obs }));
    const loss = squashedNormal(inputs).logp(actions).mul(asColumn(weights)).mean().neg();
    this.descend(loss, this.#optimizers.actor);
    this.log("policyLoss", loss);
  }
}

function asColumn(numbers: Float32Array): Tensor {
  return tensor(numbers, { shape: [numbers.length] });
}

export class IQLConfig extends OfflineConfig<IQLTraining> {
  readonly name = "IQL";
  readonly defaultLearner: LearnerClass = IQLLearner;
  override readonly policyKind: PolicyKind = "squashed";
  protected readonly trainingTable: OptionSet<IQLTraining> = TRAINING;

  override async readInput(built: ReadonlyMap<string, BuiltModule>): Promise<void> {
    refuseChoices(this.name, built);
    await super.readInput(built);
  }

  override async buildAlgo(): Promise<IQL> {
    return await IQL.build(this);
  }
}

export class IQL extends OfflineAlgorithm<IQLTraining> {}

registerAlgorithm("IQL", IQLConfig);
