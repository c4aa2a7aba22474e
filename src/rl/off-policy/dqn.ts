/**
 * Deep Q-learning: Mnih and others, Nature 2015, with double Q-learning (arXiv:1509.06461), duelling networks (arXiv:1511.06581), prioritized replay (arXiv:1511.05952) and
 * returns over several steps; with several atoms, noise and three steps it is Rainbow (arXiv:1710.02298). Defaults are RLlib 2.60's.
 *
 * `target = R_n + gamma^n (1 - terminated) Q'(s_n, argmax_a Q(s_n, a))`, and `loss = mean(w huber(Q(s, a) - target))`.
 *
 * With atoms the target is the distribution of that return, projected onto the support, and the loss its cross-entropy. The priority of a row is its error.
 */
import { flag, number, oneOf, type OptionSet, count } from "../../core/internal.ts";
import { type Adam, noGrad, type Random, type RandomState, scope, type Tensor, tensor } from "../../tensor/index.ts";
import { AlgorithmConfig, type PartDefaults } from "../config/algorithm-config.ts";
import { registerAlgorithm } from "../config/algorithm-registry.ts";
import { atLeastZero, isAtLeastZero, type ValuesOf } from "../config/option-tables.ts";
import type { Exploration } from "../distributions/action-distribution.ts";
import type { PolicyKind } from "../distributions/choose-distribution.ts";
import { RLError } from "../errors.ts";
import type { LearnerClass, LearnerSetup, LearnerState } from "../learners/learner.ts";
import { ReplayLearner, type ReplayLossBatch, tensorsOf } from "../learners/replay-learner.ts";
import { schedule, scheduled } from "../learners/schedule.ts";
import type { ReplayBatch } from "../replay/episode-replay.ts";
import { supportOf } from "../modules/q-module.ts";
import type { ModuleOutput, RLModule } from "../modules/rl-module.ts";
import { project } from "./distributional.ts";
import { ReplayAlgorithm } from "./replay-algorithm.ts";
import { REPLAY_OTHER_NAMES, replayOptions } from "./replay-options.ts";

const finite = (fallback: number) => number("a finite number is needed", fallback, Number.isFinite);

/** The table of DQN. */
export const DQN_TRAINING = {
  of: "training() of DQN",
  otherNames: { ...REPLAY_OTHER_NAMES, hiddens: "it is headFcnetHiddens of modelConfig" },
  options: {
    ...replayOptions({
      type: "PrioritizedEpisodeReplayBuffer",
      capacity: 50_000,
      rows: 32,
      learnsFrom: 1000,
      targetEvery: 500,
      tau: 1,
    }),
    lr: schedule("a number from 0", 5e-4, isAtLeastZero),
    gradClip: number<number | undefined>("a number above 0 is needed", 40, (value) => value > 0),
    epsilon: schedule(
      "a number from 0 to 1",
      [
        [0, 1],
        [10_000, 0.05],
      ],
      (value) => value >= 0 && value <= 1,
    ),
    doubleQ: flag(true),
    dueling: flag(true),
    tdErrorLossFn: oneOf(["huber", "mse"], "huber"),
    numAtoms: count({ min: 1, max: 1024 }, 1),
    vMin: finite(-10),
    vMax: finite(10),
    noisy: flag(false),
    sigma0: atLeastZero(0.5),
  },
};

/** The values of `training()`. */
export type DQNTraining = ValuesOf<typeof DQN_TRAINING>;

/** The values that the learner needs, which ApexDQN has too. */
type DQNLearning = Omit<DQNTraining, "epsilon">;

export interface DQNLossContext {
  readonly moduleId: string;
  readonly batch: ReplayLossBatch;
  /** The network's output for the observations. */
  readonly output: ModuleOutput;
  /** For each row the value that its action should have, or with atoms the distribution of returns: `[rows, atoms]`. */
  readonly targets: Float32Array;
  readonly config: DQNLearning;
  /** Adds a number to `result.learners`; the mean over the updates of an iteration is shown. */
  log(name: string, value: Tensor | number): void;
}

export class DQNLearner<Config extends DQNLearning = DQNLearning> extends ReplayLearner<Config> {
  readonly optimizer: Adam;
  readonly #target: RLModule;

  constructor(setup: LearnerSetup<Config>) {
    super(setup);
    this.optimizer = this.optimizerOf("optimizer", this.built.module, { eps: setup.config.adamEpsilon });
    this.#target = setup.buildTwin().module;
    this.targetOf("target", this.#target, this.built.module);
  }

  protected step(batch: ReplayLossBatch, envSteps: number): Float32Array {
    const { config, moduleId } = this;
    const targets = noGrad(() => this.#targets(batch));
    const output = this.built.module.forwardTrain({ obs: batch.obs });
    const errors = this.computeErrors({ moduleId, batch, output, targets, config, log: (name, value) => this.log(name, value) });
    this.optimizer.lr = scheduled(config.lr, envSteps);
    const loss = errors.losses.mul(batch.weights).mean();
    const norm = this.descend(loss, this.optimizer);
    this.log("qfLoss", loss);
    if (Number.isFinite(norm)) this.log("gradientsNorm", norm);
    this.note("learningRate", this.optimizer.lr);
    const priorities = errors.priorities.toArray();
    this.log("tdErrorMean", priorities.reduce((sum, value) => sum + value, 0) / batch.rows);
    return priorities;
  }

  /** Errors by row, for which the module is its own target. A runner gives them as first priorities. */
  protected errorsOf(batch: ReplayBatch): Float32Array {
    const { config, moduleId } = this;
    this.#target.parameters.data.set(this.built.module.parameters.data);
    return scope(() =>
      noGrad(() => {
        const tensors = tensorsOf(batch);
        const targets = this.#targets(tensors);
        const output = this.built.module.forwardTrain({ obs: tensors.obs });
        return this.computeErrors({ moduleId, batch: tensors, output, targets, config, log: () => {} }).priorities.toArray();
      }),
    );
  }

  /** The loss of each row before it is weighted, and the size of the error. */
  computeErrors({ batch, output, targets, config, log }: DQNLossContext): { losses: Tensor; priorities: Tensor } {
    const { rows, actions } = batch;
    const { numAtoms } = config;
    const values = needed(output.qValues, "qValues").gather(actions);
    log("qfMean", values.mean());
    if (numAtoms === 1) {
      const wanted = tensor(targets, { shape: [rows] });
      const losses =
        config.tdErrorLossFn === "huber" ? values.huberLoss(wanted, { reduction: "none" }) : values.mseLoss(wanted, { reduction: "none" });
      return { losses, priorities: noGrad(() => values.sub(wanted).abs()) };
    }
    const logits = needed(output.qLogits, "qLogits");
    const choices = logits.shape[1] as number;
    const chosen = logits.reshape([rows * choices, numAtoms]).rows(Int32Array.from(actions, (action, row) => row * choices + action));
    const losses = chosen
      .logSoftmax()
      .mul(tensor(targets, { shape: [rows, numAtoms] }))
      .sum({ axis: -1 })
      .neg();
    return { losses, priorities: losses };
  }

  #targets({ nextObs, rewards, discounts, rows }: ReplayLossBatch): Float32Array {
    const { numAtoms, doubleQ } = this.config;
    const output = this.#target.forwardTrain({ obs: nextObs });
    const values = needed(output.qValues, "qValues");
    const best = bestOf(doubleQ ? needed(this.built.module.forwardTrain({ obs: nextObs }).qValues, "qValues") : values);
    if (numAtoms === 1) return rewards.add(discounts.mul(values.gather(best))).toArray();
    const all = needed(output.qLogits, "qLogits").softmax();
    const choices = all.shape[1] as number;
    const next = all.reshape([rows * choices, numAtoms]).rows(best.map((action, row) => row * choices + action));
    const { projected, outside } = project(next.toArray(), {
      rewards: rewards.toArray(),
      discounts: discounts.toArray(),
      support: supportOf(this.config),
    });
    this.log("targetsOutside", outside / rows);
    return projected;
  }

  protected override get extra(): LearnerState["data"] {
    return { noise: [...this.built.module.noise, ...this.#target.noise].map((stream) => stream.getState()) };
  }

  protected override set extra({ noise }: LearnerState["data"]) {
    const streams: Random[] = [...this.built.module.noise, ...this.#target.noise];
    for (const [index, stream] of streams.entries()) stream.setState((noise as readonly RandomState[])[index] as RandomState);
  }
}

function needed(value: Tensor | undefined, name: string): Tensor {
  if (value === undefined) throw new RLError(`Cannot learn: forward() of the module returned no ${name}, which DQN needs`);
  return value;
}

/** The index of the largest number in each row. */
export function bestOf(values: Tensor): Int32Array {
  const [rows, choices] = values.shape as [number, number];
  const numbers = values.toArray();
  return Int32Array.from({ length: rows }, (_, row) => {
    let best = 0;
    for (let at = 1; at < choices; at += 1)
      if ((numbers[row * choices + at] as number) > (numbers[row * choices + best] as number)) best = at;
    return best;
  });
}

/** The options of the training that shape the network. */
export function valueOptions({ dueling, numAtoms, vMin, vMax, noisy, sigma0 }: DQNLearning): object {
  return { dueling, numAtoms, vMin, vMax, noisy, sigma0 };
}

/** @throws RangeError where the support of the atoms is empty */
export function checkAtoms(name: string, { numAtoms, vMin, vMax }: DQNLearning): void {
  if (numAtoms > 1 && vMin >= vMax) throw new RangeError(`Cannot build ${name}: vMin is below vMax: received ${vMin} and ${vMax}`);
}

export class DQNConfig extends AlgorithmConfig<DQNTraining> {
  readonly name = "DQN";
  readonly defaultLearner: LearnerClass = DQNLearner;
  override readonly policyKind: PolicyKind = "values";
  protected readonly trainingTable: OptionSet<DQNTraining> = DQN_TRAINING;

  protected override get defaults(): PartDefaults {
    return { reporting: { minSampleTimestepsPerIteration: 1000 } };
  }

  protected override get modelOptions(): object {
    return valueOptions(this.values.training);
  }

  override validate(): void {
    super.validate();
    checkAtoms(this.name, this.values.training);
  }

  override async buildAlgo(): Promise<DQN> {
    return await DQN.build(this);
  }
}

export class DQN extends ReplayAlgorithm<DQNTraining> {
  protected override get exploration(): Exploration {
    const { noisy, epsilon } = this.values.training;
    // Noisy layers explore by themselves.
    return { epsilon: noisy ? 0 : scheduled(epsilon, this.envSteps) };
  }
}

registerAlgorithm("DQN", DQNConfig);
