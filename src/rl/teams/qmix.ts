/**
 * QMIX: agents that earn together learn the value of their joint action (arXiv:1803.11485). Names and most defaults are those that Ray had.
 *
 * `target = r + gamma (1 - terminated) mix'(Q'_1(o'_1, a'_1), ..., s')` with `a'_i = argmax Q_i(o'_i, a)`, and `loss = mean(w (mix(Q_1(o_1, a_1), ..., s) - target)^2)`. All agents share one network. Their
 * rewards are summed to `r`, and the state `s` holds every observation side by side. Without a mixer each agent learns by itself, from the reward of all.
 */
import { count, custom, flag, number, oneOf, type OptionSet } from "../../core/internal.ts";
import { type Adam, Layer, noGrad, Random, type Tensor, withRandom } from "../../tensor/index.ts";
import { AlgorithmConfig, type PartDefaults } from "../config/algorithm-config.ts";
import { registerAlgorithm } from "../config/algorithm-registry.ts";
import { isAtLeastZero, type ValuesOf } from "../config/option-tables.ts";
import type { Exploration } from "../distributions/action-distribution.ts";
import type { PolicyKind } from "../distributions/choose-distribution.ts";
import { RLError } from "../errors.ts";
import type { LearnerClass, LearnerSetup } from "../learners/learner.ts";
import type { ReplayLossBatch } from "../learners/replay-learner.ts";
import { schedule, scheduled } from "../learners/schedule.ts";
import type { PolicyTable } from "../modules/policy-mapping.ts";
import type { RLModule } from "../modules/rl-module.ts";
import { bestOf } from "../off-policy/dqn.ts";
import { REPLAY_OTHER_NAMES, replayOptions } from "../off-policy/replay-options.ts";
import { type Mixer, MonotonicMixer, SumMixer } from "./mixers.ts";
import { TeamAlgorithm, TeamLearner, type TeamSeat } from "./team-algorithm.ts";

type MixerName = "qmix" | "vdn" | null;

const TRAINING = {
  of: "training() of QMIX",
  otherNames: { ...REPLAY_OTHER_NAMES, gradNormClipping: "it is gradClip", gradClipping: "it is gradClip", optimAlpha: "QMIX uses Adam" },
  options: {
    ...replayOptions({ type: "EpisodeReplayBuffer", capacity: 5000, rows: 32, learnsFrom: 1000, targetEvery: 500, tau: 1 }),
    lr: schedule("a number from 0", 5e-4, isAtLeastZero),
    gradClip: number<number | undefined>("a number above 0 is needed", 10, (value) => value > 0),
    epsilon: schedule(
      "a number from 0 to 1",
      [
        [0, 1],
        [40_000, 0.01],
      ],
      (value) => value >= 0 && value <= 1,
    ),
    /** `null`: each agent learns by itself, from the reward of all. */
    mixer: custom<MixerName>('"qmix", "vdn" or null is needed', "qmix", (value) =>
      value === null || value === "qmix" || value === "vdn" ? "ok" : typeof value === "string" ? "out of range" : "wrong type",
    ),
    mixingEmbedDim: count({ min: 1, max: 65_536 }, 32),
    doubleQ: flag(true),
    tdErrorLossFn: oneOf(["huber", "mse"], "mse"),
  },
};

/** The values of `training()`. */
export type QMixTraining = ValuesOf<typeof TRAINING>;

export class QMixLearner extends TeamLearner<QMixTraining> {
  readonly #seed: number;
  readonly #target: RLModule;
  #agents = 0;
  #mixer: Mixer | undefined;
  #targetMixer: Mixer | undefined;
  #optimizer: Adam | undefined;

  constructor(setup: LearnerSetup<QMixTraining>) {
    super(setup);
    this.#seed = setup.seed;
    this.#target = setup.buildTwin().module;
    this.targetOf("target", this.#target, this.built.module);
  }

  join(seats: readonly TeamSeat[]): void {
    const { config, built } = this;
    this.#agents = seats.length;
    const stateSize = seats.reduce((sum, { obsSize }) => sum + obsSize, 0);
    const make = (): Mixer | undefined => {
      if (config.mixer === null) return undefined;
      if (config.mixer === "vdn") return new SumMixer();
      const sizes = { agents: seats.length, stateSize, width: config.mixingEmbedDim };
      return withRandom(new Random(this.#seed, "mixer"), () => new MonotonicMixer(sizes));
    };
    this.#mixer = make();
    this.#targetMixer = make();
    this.#optimizer = this.optimizerOf("optimizer", new Team(built.module, this.#mixer), { eps: config.adamEpsilon });
    if (config.mixer !== "qmix" || this.#mixer === undefined || this.#targetMixer === undefined) return;
    this.own("mixer", this.#mixer);
    this.targetOf("targetMixer", this.#targetMixer, this.#mixer);
  }

  /** The team's. */
  rewardOf(rewards: readonly number[]): number {
    return rewards.reduce((sum, reward) => sum + reward, 0);
  }

  protected step(batch: ReplayLossBatch, envSteps: number): Float32Array {
    const { config } = this;
    const optimizer = this.#optimizer as Adam;
    const targets = noGrad(() => this.#targets(batch));
    const values = this.#mixed(this.#mixer, this.#valuesOf(this.built.module, batch.obs).gather(batch.actions), batch.obs);
    const errors =
      config.tdErrorLossFn === "huber" ? values.huberLoss(targets, { reduction: "none" }) : values.mseLoss(targets, { reduction: "none" });
    const loss = errors.mean({ axis: 1 }).mul(batch.weights).mean();
    optimizer.lr = scheduled(config.lr, envSteps);
    const norm = this.descend(loss, optimizer);
    this.log("qfLoss", loss);
    this.log("qfMean", values.mean());
    if (Number.isFinite(norm)) this.log("gradientsNorm", norm);
    this.note("learningRate", optimizer.lr);
    return noGrad(() => values.sub(targets).abs().mean({ axis: 1 }).toArray());
  }

  /** The values of the actions of each agent, `[rows x agents, actions]`. */
  #valuesOf(module: RLModule, obs: Tensor): Tensor {
    const { qValues } = module.forwardTrain({ obs: obs.reshape([-1, this.built.encoder.size]) });
    if (qValues === undefined) throw new RLError("Cannot learn: forward() of the module returned no qValues, which QMIX needs");
    return qValues;
  }

  /** The team's values `[rows, 1]`, or without a mixer those of the agents `[rows, agents]`. */
  #mixed(mixer: Mixer | undefined, chosen: Tensor, states: Tensor): Tensor {
    const values = chosen.reshape([-1, this.#agents]);
    return mixer === undefined ? values : mixer.mix(values, states);
  }

  #targets({ nextObs, rewards, discounts, rows }: ReplayLossBatch): Tensor {
    const values = this.#valuesOf(this.#target, nextObs);
    const best = bestOf(this.config.doubleQ ? this.#valuesOf(this.built.module, nextObs) : values);
    const next = this.#mixed(this.#targetMixer, values.gather(best), nextObs);
    return rewards.reshape([rows, 1]).add(discounts.reshape([rows, 1]).mul(next));
  }
}

/** The agents' network and the mixer, for one optimizer. */
class Team extends Layer {
  constructor(agents: RLModule, mixer: Mixer | undefined) {
    super();
    this.add("agents", agents);
    if (mixer !== undefined) this.add("mixer", mixer);
  }
}

export class QMixConfig extends AlgorithmConfig<QMixTraining> {
  readonly name = "QMIX";
  readonly defaultLearner: LearnerClass = QMixLearner;
  override readonly policyKind: PolicyKind = "values";
  protected readonly trainingTable: OptionSet<QMixTraining> = TRAINING;

  protected override get defaults(): PartDefaults {
    return { reporting: { minSampleTimestepsPerIteration: 1000 } };
  }

  protected override get modelOptions(): object {
    return { fcnetHiddens: [64, 64], fcnetActivation: "relu", dueling: false, numAtoms: 1, vMin: 0, vMax: 0, noisy: false, sigma0: 0 };
  }

  override checkAgents(policies: PolicyTable | undefined): void {
    const { agents = [], recipes = {} } = policies ?? {};
    if (agents.length < 2)
      throw new TypeError(`Cannot build QMIX: it trains a team of two agents or more: ${this.env.name} has one agent. Use DQN`);
    const ids = Object.keys(recipes);
    if (ids.length > 1)
      throw new TypeError(
        `Cannot build QMIX: all agents share one policy: received ${ids.join(", ")}. Leave policies out of multiAgent(), and tell agents apart by their observations`,
      );
  }

  override async buildAlgo(): Promise<QMix> {
    return await QMix.build(this);
  }
}

export class QMix extends TeamAlgorithm<QMixTraining> {
  protected override get exploration(): Exploration {
    return { epsilon: scheduled(this.values.training.epsilon, this.envSteps) };
  }
}

registerAlgorithm("QMIX", QMixConfig);
