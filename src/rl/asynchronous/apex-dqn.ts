/**
 * Distributed prioritized replay: Ape-X, arXiv:1803.00933. Ray has dropped ApexDQN; names are the last ones there, and defaults are for a few runners instead of 32.
 *
 * Runners sample while the learner works. Environment `i` among `N` explores with epsilon `0.4^(1 + 7 i / (N - 1))`. Runners also compute the errors of their steps, and
 * the steps go into the buffer with these as priorities. Targets and loss are DQN's.
 */
import { count, number, type OptionSet } from "../../core/internal.ts";
import { AlgorithmConfig, type PartDefaults } from "../config/algorithm-config.ts";
import { registerAlgorithm } from "../config/algorithm-registry.ts";
import type { ValuesOf } from "../config/option-tables.ts";
import type { Exploration } from "../distributions/action-distribution.ts";
import { checkAtoms, DQN_TRAINING, DQNLearner, valueOptions } from "../off-policy/dqn.ts";
import { ReplayAlgorithm } from "../off-policy/replay-algorithm.ts";
import { type ReplayOptions, replayOptions } from "../off-policy/replay-options.ts";
import type { Digest, LearnerClass, RunnerLearning } from "../learners/learner.ts";
import type { PolicyKind } from "../distributions/choose-distribution.ts";
import { WAITING_CALLS_MAX } from "../limits.ts";
import { nStepReturns } from "../replay/n-step-returns.ts";
import type { Fragment } from "../sequences/fragment.ts";

/** The paper's value. */
const EPSILON_BASE = 0.4;
const EPSILON_EXPONENT = 7;
/** Steps of a fragment where `rolloutFragmentLength` is "auto". */
const FRAGMENT_LENGTH = 50;

const { epsilon: _, ...OPTIONS } = DQN_TRAINING.options;
const REPLAY: ReplayOptions = replayOptions({
  type: "PrioritizedEpisodeReplayBuffer",
  capacity: 200_000,
  rows: 512,
  learnsFrom: 5000,
  targetEvery: 2500,
  tau: 1,
});

const TRAINING = {
  of: "training() of ApexDQN",
  otherNames: { ...DQN_TRAINING.otherNames, epsilon: "each environment has an epsilon of its own" },
  options: {
    ...OPTIONS,
    ...REPLAY,
    gradClip: OPTIONS.gradClip,
    nStep: { ...REPLAY.nStep, fallback: 3 as typeof REPLAY.nStep.fallback },
    /** Rows that are learnt from for each sampled step. */
    trainingIntensity: number<number | undefined>("a number above 0 is needed", 10, (value) => value > 0 && Number.isFinite(value)),
    /** Steps between two sets of weights for the runners, at least. */
    maxWeightSyncDelay: count({ min: 1 }, 400),
  },
};

/** The values of `training()`. */
export type ApexDQNTraining = ValuesOf<typeof TRAINING>;

export class ApexDQNLearner extends DQNLearner<ApexDQNTraining> {
  /** Sends first priorities beside the steps. */
  override digest(fragment: Fragment): Digest {
    const { gamma, nStep } = this.config;
    const { size } = this.built.encoder;
    return { priorities: this.errorsOf(nStepReturns(fragment, { size, gamma, nStep: typeof nStep === "number" ? nStep : nStep[0] })) };
  }
}

export class ApexDQNConfig extends AlgorithmConfig<ApexDQNTraining> {
  readonly name = "ApexDQN";
  readonly defaultLearner: LearnerClass = ApexDQNLearner;
  override readonly policyKind: PolicyKind = "values";
  protected readonly trainingTable: OptionSet<ApexDQNTraining> = TRAINING;

  protected override get defaults(): PartDefaults {
    return { envRunners: { rolloutFragmentLength: FRAGMENT_LENGTH }, reporting: { minTimeMsPerIteration: 1000 } };
  }

  protected override get modelOptions(): object {
    return valueOptions(this.values.training);
  }

  override validate(): void {
    super.validate();
    checkAtoms(this.name, this.values.training);
  }

  override async buildAlgo(): Promise<ApexDQN> {
    return await ApexDQN.build(this);
  }
}

export class ApexDQN extends ReplayAlgorithm<ApexDQNTraining> {
  #weightsSentAt = 0;

  protected override get streaming(): { readonly steps: number; readonly waitingStepsMax: number } {
    const { numEnvsPerEnvRunner, numEnvRunners, rolloutFragmentLength } = this.values.envRunners;
    const environments = Math.max(1, numEnvRunners) * numEnvsPerEnvRunner;
    const length = rolloutFragmentLength === "auto" ? FRAGMENT_LENGTH : rolloutFragmentLength;
    return { steps: FRAGMENT_LENGTH * environments, waitingStepsMax: WAITING_CALLS_MAX * length * environments };
  }

  protected override get runnerLearning(): RunnerLearning {
    return this.learningInRunners();
  }

  protected override get exploration(): Exploration {
    const { numEnvRunners, numEnvsPerEnvRunner } = this.values.envRunners;
    // Noisy layers explore by themselves.
    if (this.values.training.noisy) return { epsilon: 0 };
    return { epsilons: { base: EPSILON_BASE, exponent: EPSILON_EXPONENT, count: Math.max(1, numEnvRunners) * numEnvsPerEnvRunner } };
  }

  protected override async trainingStep(signal: AbortSignal | undefined): Promise<void> {
    for (const sample of await this.waitFor(async () => await this.arrivals(signal))) {
      this.count(sample);
      const shares = Object.entries(sample.modules).filter(([, { fragment }]) => fragment.rows > 0);
      const fragments = new Map(shares.map(([id, { fragment }]) => [id, fragment]));
      await this.learnFrom(
        fragments,
        new Map(shares.flatMap(([id, { priorities }]) => (priorities === undefined ? [] : [[id, priorities]]))),
      );
    }
    if (this.envSteps - this.#weightsSentAt < this.values.training.maxWeightSyncDelay) return;
    this.#weightsSentAt = this.envSteps;
    this.broadcast();
  }
}

registerAlgorithm("ApexDQN", ApexDQNConfig);
