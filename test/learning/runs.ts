/**
 * The runs that show that algorithms learn: configuration, thresholds and budgets of environment steps.
 *
 * `npm test` plays the quick ones with seed 1, `npm run test:learning` the full ones. Settings are Ray's tuned ones where a comment does not say otherwise.
 */
import { type Algorithm, DQNConfig, PPOConfig } from "shoal/rl";

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
];

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
    if (isLast || (episodeReturnMean ?? 0) >= evaluation * NEAR) evaluated = await evaluatedMean(algorithm);
    if (isLast || evaluated >= evaluation) return { evaluated, curve };
  }
}

async function evaluatedMean(algorithm: Algorithm): Promise<number> {
  const { envRunners } = await algorithm.evaluate();
  return envRunners.episodeReturnMean ?? Number.NEGATIVE_INFINITY;
}
