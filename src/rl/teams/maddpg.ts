/**
 * MADDPG: actors that see their own observation, with critics that see those of all agents and all actions (arXiv:1706.02275). Names and most defaults are those that Ray had.
 *
 * `target_i = r_i + gamma (1 - terminated) Q'_i(o', mu'_1(o'_1), ...)`, and the loss of critic i is `mean(w (Q_i(o, a) - target_i)^2)`. The loss of actor i is `-mean(Q_i(o, a))`, in which its own action alone is the actor's:
 * those of the others come from the buffer. Choices are relaxed by the Gumbel-softmax; the buffer has the choices that were made.
 */
import { number, type OptionSet } from "../../core/internal.ts";
import { type Adam, concat, Mlp, noGrad, Random, type RandomState, type Tensor, tensor, withRandom } from "../../tensor/index.ts";
import { AlgorithmConfig, type PartDefaults } from "../config/algorithm-config.ts";
import { registerAlgorithm } from "../config/algorithm-registry.ts";
import { atLeastZero, isAtLeastZero, type ValuesOf } from "../config/option-tables.ts";
import type { Exploration } from "../distributions/action-distribution.ts";
import type { PolicyKind } from "../distributions/choose-distribution.ts";
import { RLError } from "../errors.ts";
import type { LearnerClass, LearnerSetup, LearnerState } from "../learners/learner.ts";
import type { ReplayLossBatch } from "../learners/replay-learner.ts";
import { schedule, scheduled } from "../learners/schedule.ts";
import type { PolicyTable } from "../modules/policy-mapping.ts";
import type { RLModule } from "../modules/rl-module.ts";
import { frozen } from "../off-policy/critics.ts";
import { REPLAY_OTHER_NAMES, replayOptions } from "../off-policy/replay-options.ts";
import { explorationAt, explorationOption, type NoiseValues } from "../off-policy/td3.ts";
import { Discrete } from "../spaces/discrete.ts";
import { gumbelSoftmax, oneHot } from "./gumbel-softmax.ts";
import { TeamAlgorithm, TeamLearner, type TeamSeat } from "./team-algorithm.ts";

const TRAINING = {
  of: "training() of MADDPG",
  otherNames: {
    ...REPLAY_OTHER_NAMES,
    lr: "there are actorLr and criticLr",
    gradNormClipping: "it is gradClip",
    actorHiddens: "it is fcnetHiddens of modelConfig",
    criticHiddens: "it is fcnetHiddens of modelConfig",
    useLocalCritic: "critics of one agent are DDPG with a policy for each agent",
  },
  options: {
    ...replayOptions({ type: "EpisodeReplayBuffer", capacity: 1_000_000, rows: 1024, learnsFrom: 1000, targetEvery: 0, tau: 0.01 }),
    // Ray: 1e-2 for both, with which small teams diverge.
    actorLr: schedule("a number from 0", 1e-3, isAtLeastZero),
    criticLr: schedule("a number from 0", 1e-3, isAtLeastZero),
    gradClip: number<number | undefined>("a number above 0 is needed", 0.5, (value) => value > 0),
    /** Weight of the squares of the actor's numbers before they are squashed. */
    actorFeatureReg: atLeastZero(1e-3),
    explorationConfig: explorationOption("GaussianNoise", { finalScale: 1, scaleTimesteps: 1 }),
  },
};

/** The values of `training()`. */
export type MADDPGTraining = ValuesOf<typeof TRAINING>;

/** An agent as critics see it. */
interface Player {
  readonly obsStart: number;
  readonly obsEnd: number;
  /** Where the action begins in a row of the buffer. */
  readonly actionStart: number;
  readonly actionSize: number;
  /** `undefined` for numbers. */
  readonly choices: number | undefined;
  readonly learner: MADDPGLearner;
}

export class MADDPGLearner extends TeamLearner<MADDPGTraining> {
  readonly targetActor: RLModule;
  readonly #seed: number;
  readonly #random: Random;
  #players: readonly Player[] = [];
  #own = 0;
  #networks: Networks | undefined;

  constructor(setup: LearnerSetup<MADDPGTraining>) {
    super(setup);
    this.#seed = setup.seed;
    this.#random = new Random(setup.seed, "actions of the learner");
    this.targetActor = setup.buildTwin().module;
    this.targetOf("targetActor", this.targetActor, this.built.module);
  }

  join(seats: readonly TeamSeat[]): void {
    let [obsStart, actionStart] = [0, 0];
    this.#players = seats.map(({ obsSize, actionSize, built, learner }) => {
      const player = {
        obsStart,
        obsEnd: obsStart + obsSize,
        actionStart,
        actionSize,
        choices: built.actionSpace instanceof Discrete ? built.actionSpace.n : undefined,
        learner: learner as unknown as MADDPGLearner,
      };
      obsStart += obsSize;
      actionStart += actionSize;
      return player;
    });
    this.#own = this.#players.findIndex(({ learner }) => learner === this);
    const inputs = obsStart + this.#players.reduce((sum, { choices, actionSize }) => sum + (choices ?? actionSize), 0);
    const make = (): Mlp => withRandom(new Random(this.#seed, "critics"), () => this.#makeCritic(inputs));
    const [critic, target] = [make(), make()];
    this.own("critic", critic);
    this.targetOf("targetCritic", target, critic);
    const options = { eps: this.config.adamEpsilon };
    this.#networks = {
      critic,
      target,
      actorOptimizer: this.optimizerOf("actor", this.built.module, options),
      criticOptimizer: this.optimizerOf("criticOptimizer", critic, options),
    };
  }

  #makeCritic(inputs: number): Mlp {
    const { fcnetHiddens = [64, 64], fcnetActivation = "relu", initializer = "uniform" } = this.built.module.setup.modelConfig;
    return new Mlp([inputs, ...fcnetHiddens, 1], { activation: fcnetActivation, initializer });
  }

  /** The agent's own. */
  rewardOf(rewards: readonly number[]): number {
    return rewards[this.#own] as number;
  }

  protected step(batch: ReplayLossBatch, envSteps: number): Float32Array {
    const { config } = this;
    const { critic, actorOptimizer, criticOptimizer } = this.#networks as Networks;
    actorOptimizer.lr = scheduled(config.actorLr, envSteps);
    criticOptimizer.lr = scheduled(config.criticLr, envSteps);
    const actions = this.#players.map((player) => actionsOf(player, batch));
    const targets = noGrad(() => this.#targets(batch));
    const values = valuesOf(critic, batch.obs, actions);
    const loss = values.mseLoss(targets, { reduction: "none" }).mul(batch.weights).mean();
    this.descend(loss, criticOptimizer);
    this.log("qfLoss", loss);
    this.log("qfMean", values.mean());
    frozen(critic, () => this.#improveActor(batch.obs, actions));
    this.note("actorLearningRate", actorOptimizer.lr);
    this.note("criticLearningRate", criticOptimizer.lr);
    return noGrad(() => values.sub(targets).abs().toArray());
  }

  #targets({ nextObs, rewards, discounts }: ReplayLossBatch): Tensor {
    const { target } = this.#networks as Networks;
    const actions = this.#players.map((player) => this.#actionsBy(player.learner.targetActor, player, nextObs).actions);
    return rewards.add(discounts.mul(valuesOf(target, nextObs, actions)));
  }

  #improveActor(obs: Tensor, drawn: readonly Tensor[]): void {
    const { critic, actorOptimizer } = this.#networks as Networks;
    const { actions, features } = this.#actionsBy(this.built.module, this.#players[this.#own] as Player, obs);
    const loss = valuesOf(critic, obs, drawn.with(this.#own, actions))
      .mean()
      .neg()
      .add(features.square().mean().mul(this.config.actorFeatureReg));
    this.descend(loss, actorOptimizer);
    this.log("policyLoss", loss);
  }

  /** The actions of an actor as critics take them, and the numbers behind them. */
  #actionsBy(actor: RLModule, { obsStart, obsEnd, choices }: Player, obs: Tensor): { actions: Tensor; features: Tensor } {
    const { actionDistInputs: features } = actor.forwardTrain({ obs: obs.slice({ axis: 1, start: obsStart, end: obsEnd }) });
    if (features === undefined) throw new RLError("Cannot learn: forward() of the module returned no actionDistInputs");
    return { actions: choices === undefined ? features.tanh() : gumbelSoftmax(features, this.#random), features };
  }

  protected override get extra(): LearnerState["data"] {
    return { draws: this.#random.getState() };
  }

  protected override set extra({ draws }: LearnerState["data"]) {
    this.#random.setState(draws as RandomState);
  }
}

interface Networks {
  readonly critic: Mlp;
  readonly target: Mlp;
  readonly actorOptimizer: Adam;
  readonly criticOptimizer: Adam;
}

/** The actions of an agent in the buffer, as critics take them. */
function actionsOf({ actionStart, actionSize, choices }: Player, { actions, rows }: ReplayLossBatch): Tensor {
  const width = actions.length / rows;
  const own = Float32Array.from(
    { length: rows * actionSize },
    (_, at) => actions[Math.floor(at / actionSize) * width + actionStart + (at % actionSize)] as number,
  );
  return choices === undefined ? tensor(own, { shape: [rows, actionSize] }) : oneHot(own, choices);
}

/** The values of joint actions, `[rows]`. */
function valuesOf(critic: Mlp, obs: Tensor, actions: readonly Tensor[]): Tensor {
  return critic.forward(concat([obs, ...actions], { axis: 1 })).reshape([-1]);
}

export class MADDPGConfig extends AlgorithmConfig<MADDPGTraining> {
  readonly name = "MADDPG";
  readonly defaultLearner: LearnerClass = MADDPGLearner;
  override readonly policyKind: PolicyKind = "relaxed";
  protected readonly trainingTable: OptionSet<MADDPGTraining> = TRAINING;

  protected override get defaults(): PartDefaults {
    return { reporting: { minSampleTimestepsPerIteration: 100 } };
  }

  protected override get modelOptions(): object {
    return { fcnetHiddens: [64, 64] };
  }

  override checkAgents(policies: PolicyTable | undefined): void {
    const { agents = [] } = policies ?? {};
    if (agents.length === 0)
      throw new TypeError(
        `Cannot build MADDPG: it trains agents whose critics see all of them: ${this.env.name} has one agent. Use TD3 or SAC`,
      );
    const seen = new Set<string>();
    for (const [agent, moduleId] of agents) {
      if (seen.has(moduleId))
        throw new TypeError(
          `Cannot build MADDPG: each agent has a policy of its own: agent ${agent} shares ${moduleId} with another. Give multiAgent({ policies: ${JSON.stringify(agents.map(([name]) => name))} })`,
        );
      seen.add(moduleId);
    }
    const unused = Object.keys(policies?.recipes ?? {}).find((id) => !seen.has(id));
    if (unused !== undefined)
      throw new TypeError(
        `Cannot build MADDPG: each agent has a policy of its own: no agent acts by ${unused}. Leave it out of multiAgent({ policies })`,
      );
  }

  override async buildAlgo(): Promise<MADDPG> {
    return await MADDPG.build(this);
  }
}

export class MADDPG extends TeamAlgorithm<MADDPGTraining> {
  protected override get exploration(): Exploration {
    return explorationAt(this.values.training.explorationConfig as NoiseValues, this.envSteps);
  }
}

registerAlgorithm("MADDPG", MADDPGConfig);
