/**
 * The runs that show that algorithms learn: configuration, thresholds and budgets of environment steps.
 *
 * `npm test` plays the quick ones with seed 1, `npm run test:learning` the full ones. Settings are Ray's tuned ones where a comment does not say otherwise.
 */
import { type Algorithm, DDPGConfig, DQNConfig, PPOConfig, SACConfig, TD3Config } from "shoal/rl";

interface Goal {
  /** The mean return of an evaluation. */
  readonly evaluation: number;
  readonly envSteps: number;
}

interface LearningRun {
  readonly title: string;
  build(seed: number): Promise<Algorithm>;
  readonly quick?: Goal;
  readonly full: Goal;
}

export const LEARNING_RUNS: readonly LearningRun[] = [
  {
    title: "PPO CartPole-v1",
    build: (seed) =>
      new PPOConfig()
        .environment("CartPole-v1")
        .envRunners({ numEnvsPerEnvRunner: 8 })
        .training({ lr: 3e-4, trainBatchSizePerLearner: 4000, minibatchSize: 128, numEpochs: 6, gamma: 0.99 })
        .rlModule({ modelConfig: { fcnetHiddens: [64, 64], vfShareLayers: false } })
        .evaluation({ evaluationDuration: 10, evaluationConfig: { explore: false } })
        .debugging({ seed })
        .buildAlgo(),
    quick: { evaluation: 350, envSteps: 200_000 },
    full: { evaluation: 450, envSteps: 200_000 },
  },
  {
    // Ray's settings, but two layers of 64 instead of 256 and a higher learning rate, for a shorter test.
    title: "DQN CartPole-v1",
    build: (seed) =>
      new DQNConfig()
        .environment("CartPole-v1")
        .training({
          lr: 1e-3,
          nStep: [2, 5],
          epsilon: [
            [0, 1],
            [10_000, 0.02],
          ],
        })
        .rlModule({ modelConfig: { fcnetHiddens: [64], headFcnetHiddens: [64] } })
        .reporting({ metricsNumEpisodesForSmoothing: 10 })
        .evaluation({ evaluationDuration: 10, evaluationConfig: { explore: false } })
        .debugging({ seed })
        .buildAlgo(),
    quick: { evaluation: 195, envSteps: 50_000 },
    full: { evaluation: 450, envSteps: 200_000 },
  },
  {
    // The support covers CartPole's returns. Less noise and an update every second step make the test shorter.
    title: "Rainbow CartPole-v1",
    build: (seed) =>
      new DQNConfig()
        .environment("CartPole-v1")
        .training({ lr: 1e-3, nStep: 3, numAtoms: 51, vMin: 0, vMax: 500, noisy: true, sigma0: 0.2, trainingIntensity: 16 })
        .rlModule({ modelConfig: { fcnetHiddens: [64], headFcnetHiddens: [64] } })
        .reporting({ metricsNumEpisodesForSmoothing: 10 })
        .evaluation({ evaluationDuration: 10, evaluationConfig: { explore: false } })
        .debugging({ seed })
        .buildAlgo(),
    quick: { evaluation: 195, envSteps: 80_000 },
    full: { evaluation: 450, envSteps: 200_000 },
  },
  {
    // Networks of 64 instead of 256 and higher learning rates, for a shorter test.
    title: "SAC Pendulum-v1",
    build: (seed) =>
      pendulum(
        new SACConfig().training({
          actorLr: 1e-3,
          criticLr: 1e-3,
          alphaLr: 1e-3,
          trainBatchSizePerLearner: 128,
          numStepsSampledBeforeLearningStarts: 500,
          replayBufferConfig: { type: "EpisodeReplayBuffer", capacity: 100_000 },
        }),
        seed,
      ),
    quick: { evaluation: -250, envSteps: 20_000 },
    full: { evaluation: -200, envSteps: 20_000 },
  },
  {
    title: "TD3 Pendulum-v1",
    build: (seed) => pendulum(new TD3Config().training({ trainBatchSizePerLearner: 128 }), seed),
    quick: { evaluation: -250, envSteps: 20_000 },
    full: { evaluation: -200, envSteps: 20_000 },
  },
  {
    title: "DDPG Pendulum-v1",
    build: (seed) => pendulum(new DDPGConfig().training({ trainBatchSizePerLearner: 128, tau: 5e-3 }), seed),
    quick: { evaluation: -250, envSteps: 20_000 },
    full: { evaluation: -200, envSteps: 20_000 },
  },
];

/** An iteration of 1,000 steps, and two layers of 64. */
async function pendulum(config: DDPGConfig | SACConfig, seed: number): Promise<Algorithm> {
  return await config
    .environment("Pendulum-v1")
    .rlModule({ modelConfig: { fcnetHiddens: [64, 64] } })
    .reporting({ minSampleTimestepsPerIteration: 1000, metricsNumEpisodesForSmoothing: 5 })
    .evaluation({ evaluationDuration: 10, evaluationConfig: { explore: false } })
    .debugging({ seed })
    .buildAlgo();
}

/** A point of a curve: after so many steps, the mean return of the last episodes. */
type CurvePoint = readonly [envSteps: number, episodeReturnMean: number | undefined];

/** An evaluation is worth its time once the episodes of training are near the goal. */
const NEAR = 0.8;

/** Trains until an evaluation reaches the goal, or the steps are used up. */
export async function learn(
  { build }: LearningRun,
  { evaluation, envSteps }: Goal,
  seed: number,
): Promise<{ evaluated: number; curve: CurvePoint[] }> {
  await using algorithm = await build(seed);
  const curve: CurvePoint[] = [];
  let evaluated = Number.NEGATIVE_INFINITY;
  for (;;) {
    const { envRunners } = await algorithm.train();
    const steps = envRunners.numEnvStepsSampledLifetime;
    const { episodeReturnMean } = envRunners;
    curve.push([steps, episodeReturnMean]);
    const isLast = steps >= envSteps;
    if (isLast || (episodeReturnMean ?? Number.NEGATIVE_INFINITY) >= nearGoal(evaluation)) evaluated = await evaluatedMean(algorithm);
    if (isLast || evaluated >= evaluation) return { evaluated, curve };
  }
}

function nearGoal(evaluation: number): number {
  return evaluation < 0 ? evaluation / NEAR : evaluation * NEAR;
}

async function evaluatedMean(algorithm: Algorithm): Promise<number> {
  const { envRunners } = await algorithm.evaluate();
  return envRunners.episodeReturnMean ?? Number.NEGATIVE_INFINITY;
}
