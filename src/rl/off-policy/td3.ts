/**
 * Deterministic policies: DDPG (arXiv:1509.02971) and TD3 (arXiv:1802.09477). One learner; the options tell them apart.
 *
 * `target = R_n + gamma^n (1 - terminated) min Q'(s_n, mu'(s_n) + noise)`, and the actor's loss is `-mean(Q1(s, mu(s)))`. TD3 has two critics, noise on the target's action, and updates the actor and all targets every
 * second time. Names and defaults are those that Ray had, except where a comment says so.
 */
import { count, custom, flag, isPlainObject, type Option, oneOf, type OptionSet, readOptions } from "../../core/internal.ts";
import { type Adam, noGrad, Random, type RandomState, type Tensor, tensor, withRandom } from "../../tensor/index.ts";
import { AlgorithmConfig, type PartDefaults } from "../config/algorithm-config.ts";
import { registerAlgorithm } from "../config/algorithm-registry.ts";
import { atLeastZero, isAtLeastZero, positive, type ValuesOf } from "../config/option-tables.ts";
import type { Exploration } from "../distributions/action-distribution.ts";
import type { PolicyKind } from "../distributions/choose-distribution.ts";
import { RLError } from "../errors.ts";
import type { LearnerClass, LearnerSetup, LearnerState } from "../learners/learner.ts";
import { ReplayLearner, type ReplayLossBatch } from "../learners/replay-learner.ts";
import { schedule, scheduled } from "../learners/schedule.ts";
import type { RLModule } from "../modules/rl-module.ts";
import { actionTensor, Critics, frozen, least, priorities } from "./critics.ts";
import { ReplayAlgorithm } from "./replay-algorithm.ts";
import { REPLAY_OTHER_NAMES, replayOptions } from "./replay-options.ts";

const NOISE_TYPES = ["GaussianNoise", "OrnsteinUhlenbeckNoise"] as const;

/** The noise of a deterministic policy while it explores. */
export interface ExplorationConfig {
  readonly type?: (typeof NOISE_TYPES)[number] | undefined;
  /** Environment steps whose actions are any. */
  readonly randomTimesteps?: number | undefined;
  /** The deviation of `"GaussianNoise"`, where actions are from -1 to 1. Default: 0.1. */
  readonly stddev?: number | undefined;
  /** The factor of the noise at the start. Default: 1. */
  readonly initialScale?: number | undefined;
  /** The factor after `scaleTimesteps`. */
  readonly finalScale?: number | undefined;
  readonly scaleTimesteps?: number | undefined;
  /** Default: 0.1. */
  readonly ouBaseScale?: number | undefined;
  /** Default: 0.15. */
  readonly ouTheta?: number | undefined;
  /** Default: 0.2. */
  readonly ouSigma?: number | undefined;
}

export type NoiseValues = { readonly [K in keyof ExplorationConfig]-?: NonNullable<ExplorationConfig[K]> };

/** The option `explorationConfig`, with an algorithm's defaults. */
export function explorationOption(
  type: NoiseValues["type"],
  fallbacks: { finalScale: number; scaleTimesteps: number },
): Option<ExplorationConfig> {
  const table: OptionSet<NoiseValues> = {
    of: "explorationConfig",
    options: {
      type: oneOf(NOISE_TYPES, type),
      // Ray: 10,000 for TD3, which is half of the steps that a pendulum needs.
      randomTimesteps: count({ min: 0 }, 1000),
      stddev: atLeastZero(0.1),
      initialScale: atLeastZero(1),
      finalScale: atLeastZero(fallbacks.finalScale),
      scaleTimesteps: count({ min: 1 }, fallbacks.scaleTimesteps),
      ouBaseScale: atLeastZero(0.1),
      ouTheta: atLeastZero(0.15),
      ouSigma: atLeastZero(0.2),
    },
  };
  return {
    ...custom<ExplorationConfig>('an object such as { type: "GaussianNoise", stddev: 0.1 } is needed', {}, (value) =>
      isPlainObject(value) ? "ok" : "wrong type",
    ),
    meaning: (value) => readOptions(value, table),
  };
}

interface Differences {
  readonly isTd3: boolean;
}

/** The table of one of the two. */
function trainingTable({ isTd3 }: Differences) {
  return {
    of: `training() of ${isTd3 ? "TD3" : "DDPG"}`,
    otherNames: { ...REPLAY_OTHER_NAMES, lr: "there are actorLr and criticLr", nSteps: "it is nStep" },
    options: {
      ...replayOptions({
        type: isTd3 ? "EpisodeReplayBuffer" : "PrioritizedEpisodeReplayBuffer",
        capacity: isTd3 ? 1_000_000 : 50_000,
        rows: isTd3 ? 100 : 256,
        // Ray: 10,000 for TD3.
        learnsFrom: 1500,
        targetEvery: 0,
        tau: isTd3 ? 5e-3 : 2e-3,
      }),
      actorLr: schedule("a number from 0", 1e-3, isAtLeastZero),
      criticLr: schedule("a number from 0", 1e-3, isAtLeastZero),
      twinQ: flag(isTd3),
      policyDelay: count({ min: 1 }, isTd3 ? 2 : 1),
      smoothTargetPolicy: flag(isTd3),
      targetNoise: atLeastZero(0.2),
      targetNoiseClip: atLeastZero(0.5),
      useHuber: flag(false),
      huberThreshold: positive(1),
      l2Reg: atLeastZero(isTd3 ? 0 : 1e-6),
      explorationConfig: isTd3
        ? explorationOption("GaussianNoise", { finalScale: 1, scaleTimesteps: 1 })
        : explorationOption("OrnsteinUhlenbeckNoise", { finalScale: 0.02, scaleTimesteps: 10_000 }),
    },
  };
}

const DDPG_TRAINING: ReturnType<typeof trainingTable> = trainingTable({ isTd3: false });
const TD3_TRAINING: ReturnType<typeof trainingTable> = trainingTable({ isTd3: true });

/** The values of `training()`, of TD3 as well. */
export type DDPGTraining = ValuesOf<ReturnType<typeof trainingTable>>;

export class DDPGLearner extends ReplayLearner<DDPGTraining> {
  readonly #critics: Critics;
  readonly #targetCritics: Critics;
  readonly #targetActor: RLModule;
  readonly #actorOptimizer: Adam;
  readonly #criticOptimizer: Adam;
  readonly #random: Random;
  #updates = 0;

  constructor(setup: LearnerSetup<DDPGTraining>) {
    super(setup);
    const { built, config, seed } = setup;
    this.#random = new Random(seed, "actions of the learner");
    const make = (): Critics =>
      withRandom(new Random(seed, "critics"), () => new Critics(built, { count: config.twinQ ? 2 : 1, choices: undefined }));
    this.#critics = make();
    this.#targetCritics = make();
    this.#targetActor = setup.buildTwin().module;
    this.own("critics", this.#critics);
    this.targetOf("targetCritics", this.#targetCritics, this.#critics);
    this.targetOf("targetActor", this.#targetActor, built.module);
    const options = { eps: config.adamEpsilon, weightDecay: config.l2Reg };
    this.#actorOptimizer = this.optimizerOf("actor", built.module, options);
    this.#criticOptimizer = this.optimizerOf("criticsOptimizer", this.#critics, options);
  }

  protected step(batch: ReplayLossBatch, envSteps: number): Float32Array {
    const { config } = this;
    this.#criticOptimizer.lr = scheduled(config.criticLr, envSteps);
    this.#actorOptimizer.lr = scheduled(config.actorLr, envSteps);
    const targets = noGrad(() => this.#targets(batch));
    const values = this.#critics.forward(batch.obs, actionTensor(batch.actions, batch.rows));
    const losses = values.map((each) =>
      config.useHuber
        ? each.huberLoss(targets, { reduction: "none", delta: config.huberThreshold })
        : each.mseLoss(targets, { reduction: "none" }),
    );
    const loss = losses.map((each) => each.mul(batch.weights).mean()).reduce((a, b) => a.add(b));
    this.descend(loss, this.#criticOptimizer);
    this.log("qfLoss", loss);
    this.log("qfMean", (values[0] as Tensor).mean());
    this.#updates += 1;
    if (this.isTargetDue) frozen(this.#critics, () => this.#improveActor(batch.obs));
    this.note("actorLearningRate", this.#actorOptimizer.lr);
    this.note("criticLearningRate", this.#criticOptimizer.lr);
    return noGrad(() => priorities(values, targets));
  }

  /** Every `policyDelay` updates, when the actor learns as well. */
  protected override get isTargetDue(): boolean {
    return this.#updates % this.config.policyDelay === 0;
  }

  #targets({ nextObs, rewards, discounts }: ReplayLossBatch): Tensor {
    const { smoothTargetPolicy, targetNoise, targetNoiseClip } = this.config;
    let actions = actionsOf(this.#targetActor, nextObs);
    if (smoothTargetPolicy) {
      const noise = Float32Array.from({ length: actions.size }, () =>
        Math.min(targetNoiseClip, Math.max(-targetNoiseClip, targetNoise * this.#random.normal())),
      );
      actions = actions.add(tensor(noise, { shape: actions.shape })).clamp(-1, 1);
    }
    return rewards.add(discounts.mul(least(this.#targetCritics.forward(nextObs, actions))));
  }

  #improveActor(obs: Tensor): void {
    const [values] = this.#critics.forward(obs, actionsOf(this.built.module, obs)) as [Tensor];
    const loss = values.mean().neg();
    this.descend(loss, this.#actorOptimizer);
    this.log("policyLoss", loss);
  }

  protected override get extra(): LearnerState["data"] {
    return { updates: this.#updates, draws: this.#random.getState() };
  }

  protected override set extra({ updates, draws }: LearnerState["data"]) {
    this.#updates = updates as number;
    this.#random.setState(draws as RandomState);
  }
}

function actionsOf(module: RLModule, obs: Tensor): Tensor {
  const { actionDistInputs } = module.forwardTrain({ obs });
  if (actionDistInputs === undefined) throw new RLError("Cannot learn: forward() of the module returned no actionDistInputs");
  return actionDistInputs.tanh();
}

export class TD3Learner extends DDPGLearner {}

export class DDPGConfig extends AlgorithmConfig<DDPGTraining> {
  readonly name: string = "DDPG";
  readonly defaultLearner: LearnerClass = DDPGLearner;
  override readonly policyKind: PolicyKind = "deterministic";
  protected readonly trainingTable: OptionSet<DDPGTraining> = DDPG_TRAINING;

  protected override get defaults(): PartDefaults {
    return { reporting: { minSampleTimestepsPerIteration: 100 } };
  }

  override async buildAlgo(): Promise<DDPG> {
    return await DDPG.build(this);
  }
}

export class TD3Config extends DDPGConfig {
  override readonly name = "TD3";
  override readonly defaultLearner: LearnerClass = TD3Learner;
  protected override readonly trainingTable: OptionSet<DDPGTraining> = TD3_TRAINING;

  override async buildAlgo(): Promise<TD3> {
    return await TD3.build(this);
  }
}

/** The exploration after so many environment steps. */
export function explorationAt(values: NoiseValues, envSteps: number): Exploration {
  const { type, randomTimesteps, initialScale, finalScale, scaleTimesteps, ...noise } = values;
  const scale = scheduled(
    [
      [0, initialScale],
      [scaleTimesteps, finalScale],
    ],
    envSteps,
  );
  return { isRandom: envSteps < randomTimesteps, noise: { type, scale, ...noise } };
}

export class DDPG extends ReplayAlgorithm<DDPGTraining> {
  protected override get exploration(): Exploration {
    return explorationAt(this.values.training.explorationConfig as NoiseValues, this.envSteps);
  }
}

export class TD3 extends DDPG {}

registerAlgorithm("DDPG", DDPGConfig);
registerAlgorithm("TD3", TD3Config);
