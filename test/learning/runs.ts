/**
 * The runs that show that algorithms learn: configuration, thresholds and budgets of environment steps.
 *
 * `npm test` plays the quick ones with seed 1, `npm run test:learning` the full ones. Settings are Ray's tuned ones where a comment does not say otherwise.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  A2CConfig,
  A3CConfig,
  type Algorithm,
  ApexDQNConfig,
  APPOConfig,
  BCConfig,
  CQLConfig,
  DDPGConfig,
  DQNConfig,
  DreamerV3Config,
  IMPALAConfig,
  IQLConfig,
  MADDPGConfig,
  makeMultiAgent,
  MARWILConfig,
  MBMPOConfig,
  MeanStdFilter,
  PPOConfig,
  QMixConfig,
  RLModule,
  SACConfig,
  TD3Config,
} from "shoal/rl";
import type { EvaluationResult, ModuleInput, ModuleOutput } from "shoal/rl";
import { Random, tensor } from "shoal/tensor";
import { Carry } from "./carry.ts";
import { ticTacToeLeague, winsOf } from "./league.ts";
import { Reach } from "./reach.ts";

interface Goal {
  /** The number that an evaluation has to reach: its mean return, or what `measure` takes. */
  readonly evaluation: number;
  readonly envSteps: number;
}

type Episodes = EvaluationResult["envRunners"];

interface LearningRun {
  readonly title: string;
  build(seed: number): Promise<Algorithm>;
  /** Whether the run learns from files, whose steps count in place of sampled ones. */
  readonly isOffline?: boolean;
  /** Takes the number of episodes that counts. Default: the mean return. */
  measure?(episodes: Episodes): number | undefined;
  readonly quick?: Goal | undefined;
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
    // A rate that falls and a tighter clip than Ray's: with a constant rate the policy is lost again and again.
    title: "A2C CartPole-v1",
    build: (seed) =>
      new A2CConfig()
        .environment("CartPole-v1")
        .envRunners({ numEnvsPerEnvRunner: 16 })
        .training({
          lr: [
            [0, 1e-3],
            [500_000, 1e-5],
          ],
          lambda: 0.95,
          gamma: 0.98,
          gradClip: 0.5,
          trainBatchSizePerLearner: 320,
        })
        .rlModule({ modelConfig: { fcnetHiddens: [64, 64], vfShareLayers: false } })
        .reporting({ minSampleTimestepsPerIteration: 6400 })
        .evaluation({ evaluationDuration: 10, evaluationConfig: { explore: false } })
        .debugging({ seed })
        .buildAlgo(),
    quick: { evaluation: 150, envSteps: 250_000 },
    full: { evaluation: 450, envSteps: 1_000_000 },
  },
  asynchronous("IMPALA", 2_000_000, new IMPALAConfig().training({ lr: 1e-3, gradClip: 0.5, gamma: 0.98 })),
  asynchronous(
    "A3C",
    1_000_000,
    new A3CConfig().envRunners({ rolloutFragmentLength: 20 }).training({
      lr: [
        [0, 2e-3],
        [600_000, 1e-5],
      ],
      lambda: 0.95,
      gradClip: 0.5,
      gamma: 0.98,
    }),
  ),
  {
    // A smaller buffer and network than the defaults, and more updates a step, for a shorter test.
    ...asynchronous(
      "ApexDQN",
      250_000,
      new ApexDQNConfig().training({
        lr: 1e-3,
        trainBatchSizePerLearner: 64,
        numStepsSampledBeforeLearningStarts: 1000,
        targetNetworkUpdateFreq: 500,
        trainingIntensity: 16,
        replayBufferConfig: { capacity: 50_000 },
      }),
    ),
    quick: undefined,
    full: { evaluation: 195, envSteps: 250_000 },
  },
  asynchronous(
    "APPO",
    1_000_000,
    new APPOConfig().training({
      lr: 1e-3,
      gradClip: 0.5,
      gamma: 0.98,
      clipParam: 0.3,
      entropyCoeff: 0.005,
      circularBufferNumBatches: 4,
      targetNetworkUpdateFreq: 1,
    }),
  ),
  {
    title: "PPO two-agent CartPole",
    build: (seed) =>
      new PPOConfig()
        .environment(makeMultiAgent("CartPole-v1"), { envConfig: { numAgents: 2 } })
        .envRunners({ numEnvsPerEnvRunner: 8 })
        .training({ lr: 3e-4, trainBatchSizePerLearner: 4000, minibatchSize: 128, numEpochs: 6, gamma: 0.99 })
        .rlModule({ modelConfig: { fcnetHiddens: [64, 64], vfShareLayers: false } })
        .multiAgent({ policies: ["agent0", "agent1"] })
        .evaluation({ evaluationDuration: 10, evaluationConfig: { explore: false } })
        .debugging({ seed })
        .buildAlgo(),
    quick: { evaluation: 400, envSteps: 250_000 },
    full: { evaluation: 800, envSteps: 300_000 },
  },
  {
    title: "PPO rock, paper, scissors against a player who repeats itself",
    build: (seed) =>
      new PPOConfig()
        .environment("RockPaperScissors")
        .envRunners({ numEnvsPerEnvRunner: 8 })
        .training({ lr: 3e-3, trainBatchSizePerLearner: 800, minibatchSize: 128, numEpochs: 6, gamma: 0.9 })
        .rlModule({ modelConfig: { fcnetHiddens: [16] } })
        .multiAgent({
          policies: { learner: {}, repeater: { moduleClass: Repeater } },
          policyMappingFn: (agent) => (agent === "player1" ? "learner" : "repeater"),
          policiesToTrain: ["learner"],
        })
        .evaluation({ evaluationDuration: 40, evaluationConfig: { explore: false } })
        .debugging({ seed })
        .buildAlgo(),
    // The first move of an episode cannot be known, and a game has ten.
    measure: ({ agentEpisodeReturnsMean }) => agentEpisodeReturnsMean?.["player1"],
    quick: { evaluation: 8, envSteps: 40_000 },
    full: { evaluation: 8, envSteps: 40_000 },
  },
  {
    title: "PPO tic-tac-toe by self-play: percent of moves onto free fields",
    build: (seed) =>
      new PPOConfig()
        .environment("TicTacToe")
        .envRunners({ numEnvsPerEnvRunner: 16 })
        .training({ lr: 1e-3, trainBatchSizePerLearner: 4000, minibatchSize: 256, numEpochs: 6, gamma: 0.95 })
        .rlModule({ modelConfig: { fcnetHiddens: [64, 64], vfShareLayers: false } })
        .evaluation({ evaluationDuration: 200, evaluationConfig: { explore: true } })
        .debugging({ seed })
        .buildAlgo(),
    measure: freeFields,
    quick: { evaluation: 95, envSteps: 150_000 },
    full: { evaluation: 95, envSteps: 150_000 },
  },
  {
    // A smaller network (one hidden layer, an LSTM of 64) and a higher learning rate than Ray's shorten the run.
    title: "PPO with an LSTM, StatelessCartPole",
    build: (seed) =>
      new PPOConfig()
        .environment("StatelessCartPole")
        .envRunners({ numEnvsPerEnvRunner: 16, envToModuleConnector: () => new MeanStdFilter() })
        .training({ lr: 1e-3, trainBatchSizePerLearner: 4096, minibatchSize: 512, numEpochs: 6, gamma: 0.99, lambda: 0.95, gradClip: 0.5 })
        .training({ clipParam: 0.2, useKlLoss: false, vfClipParam: 10_000, vfLossCoeff: 0.005 })
        .rlModule({ modelConfig: { fcnetHiddens: [64], useLstm: true, lstmCellSize: 64, maxSeqLen: 20 } })
        .evaluation({ evaluationDuration: 10, evaluationConfig: { explore: false } })
        .debugging({ seed })
        .buildAlgo(),
    full: { evaluation: 350, envSteps: 2_000_000 },
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
    // Choices instead of numbers. Higher learning rates, and an update every fourth step, for a shorter run; "auto" would keep training as good as random.
    title: "SAC CartPole-v1",
    build: (seed) =>
      new SACConfig()
        .environment("CartPole-v1")
        .training({
          actorLr: 1e-3,
          criticLr: 1e-3,
          alphaLr: 1e-3,
          targetEntropy: 0.2,
          trainBatchSizePerLearner: 64,
          numStepsSampledBeforeLearningStarts: 1000,
          trainingIntensity: 16,
          replayBufferConfig: { type: "EpisodeReplayBuffer", capacity: 80_000 },
        })
        .rlModule({ modelConfig: { fcnetHiddens: [64, 64] } })
        .reporting({ minSampleTimestepsPerIteration: 1000, metricsNumEpisodesForSmoothing: 10 })
        .evaluation({ evaluationDuration: 10, evaluationConfig: { explore: false } })
        .debugging({ seed })
        .buildAlgo(),
    full: { evaluation: 150, envSteps: 80_000 },
  },
  {
    // Noise that lasts for steps finds the way out of the valley; without, as in Ray, no run found it. Networks of 64, and an update every second step, for a shorter run.
    title: "SAC MountainCarContinuous-v0",
    build: (seed) =>
      new SACConfig()
        .environment("MountainCarContinuous-v0")
        .training({ actorLr: 3e-4, criticLr: 3e-4, alphaLr: 3e-4, tau: 0.01, noiseCorrelation: 0.9, trainingIntensity: 128 })
        .training({ numStepsSampledBeforeLearningStarts: 1000, replayBufferConfig: { type: "EpisodeReplayBuffer", capacity: 60_000 } })
        .rlModule({ modelConfig: { fcnetHiddens: [64, 64] } })
        .reporting({ minSampleTimestepsPerIteration: 2000, metricsNumEpisodesForSmoothing: 10 })
        .evaluation({ evaluationDuration: 10, evaluationConfig: { explore: false } })
        .debugging({ seed })
        .buildAlgo(),
    full: { evaluation: 90, envSteps: 60_000 },
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
  {
    // All actions are random. So the daring action earns less than 7 on average, and a learner without a mixer avoids it.
    title: "QMIX TwoStepGame",
    build: (seed) =>
      new QMixConfig()
        .environment("TwoStepGame")
        .envRunners({ numEnvsPerEnvRunner: 8 })
        .training({ lr: 2e-3, epsilon: 1, targetNetworkUpdateFreq: 200, numStepsSampledBeforeLearningStarts: 500 })
        .reporting({ minSampleTimestepsPerIteration: 10_000 })
        .evaluation({ evaluationDuration: 4, evaluationConfig: { explore: false } })
        .debugging({ seed })
        .buildAlgo(),
    quick: { evaluation: 8, envSteps: 10_000 },
    full: { evaluation: 8, envSteps: 30_000 },
  },
  {
    // 80 and 90 percent of the way from random pushes (-32.5) to the best (-2.0).
    title: "MADDPG Carry",
    build: (seed) =>
      new MADDPGConfig()
        .environment(Carry)
        .envRunners({ numEnvsPerEnvRunner: 4 })
        .training({ trainBatchSizePerLearner: 128, criticLr: 2e-3, gamma: 0.95, replayBufferConfig: { capacity: 50_000 } })
        .multiAgent({ policies: ["left", "right"] })
        .reporting({ minSampleTimestepsPerIteration: 2000 })
        .evaluation({ evaluationDuration: 50, evaluationConfig: { explore: false } })
        .debugging({ seed })
        .buildAlgo(),
    quick: { evaluation: -8.1, envSteps: 30_000 },
    full: { evaluation: -5.1, envSteps: 30_000 },
  },
  {
    title: "BC CartPole-v1 from PPO's episodes",
    build: (seed) => cloning(new BCConfig(), seed),
    isOffline: true,
    full: { evaluation: 400, envSteps: 1_000_000 },
  },
  {
    title: "MARWIL CartPole-v1 from PPO's episodes",
    build: (seed) => cloning(new MARWILConfig(), seed),
    isOffline: true,
    full: { evaluation: 400, envSteps: 1_000_000 },
  },
  {
    // Ray's example has 1,250 iterations of five updates; higher learning rates and fewer actions make the run shorter.
    title: "CQL Pendulum-v1 from SAC's replay",
    build: (seed) =>
      fromReplay(
        new CQLConfig().training({
          actorLr: 1e-3,
          criticLr: 1e-3,
          alphaLr: 1e-3,
          bcIters: 200,
          numActions: 4,
          trainBatchSizePerLearner: 128,
        }),
        seed,
      ),
    isOffline: true,
    full: { evaluation: -400, envSteps: 1_000_000 },
  },
  {
    // Returns of several steps, and a nearer horizon than Ray's: values reach the start of an episode sooner.
    title: "IQL Pendulum-v1 from SAC's replay",
    build: (seed) =>
      fromReplay(
        new IQLConfig().training({ actorLr: 1e-3, criticLr: 1e-3, valueLr: 1e-3, gamma: 0.95, nStep: 3, tau: 0.02, beta: 0.5 }),
        seed,
      ),
    isOffline: true,
    full: { evaluation: -250, envSteps: 3_000_000 },
  },
  {
    // Ray's tuned run has sequences of 64 steps and replays 1,024 steps for each one. Fewer and higher rates make the run shorter.
    title: "DreamerV3 FrozenLake 2x2",
    build: (seed) =>
      new DreamerV3Config()
        .environment("FrozenLake-v1", { envConfig: { desc: ["SF", "HG"], isSlippery: false } })
        .training({ modelSize: "nano", trainingRatio: 32, batchSizeB: 4, batchLengthT: 16, horizonH: 10 })
        .training({ worldModelLr: 2e-3, actorLr: 1e-3, criticLr: 1e-3, entropyScale: 3e-3 })
        .reporting({ minSampleTimestepsPerIteration: 500, metricsNumEpisodesForSmoothing: 20 })
        .evaluation({ evaluationDuration: 20, evaluationConfig: { explore: false } })
        .debugging({ seed })
        .buildAlgo(),
    full: { evaluation: 0.9, envSteps: 4000 },
  },
  {
    title: "TicTacToe league against random play, percent of wins",
    build: ticTacToeLeague,
    measure: winsOf,
    full: { evaluation: 90, envSteps: 600_000 },
  },
  {
    // 90 percent of the way from random steps (-17.9) to the best (-1.0).
    title: "MBMPO Reach",
    build: (seed) =>
      new MBMPOConfig()
        .environment(Reach)
        .envRunners({ numEnvsPerEnvRunner: 4 })
        .training({ trainBatchSizePerLearner: 800, horizon: 20, innerLr: 0.01, lr: 3e-3 })
        .training({ dynamicsModel: { trainEpochs: 50, batchSize: 100 } })
        .evaluation({ evaluationDuration: 50, evaluationConfig: { explore: false } })
        .debugging({ seed })
        .buildAlgo(),
    quick: { evaluation: -2.7, envSteps: 8000 },
    full: { evaluation: -2.7, envSteps: 20_000 },
  },
];

/** CartPole with two runners. The rate is higher than Ray's, the clip tighter, and the network smaller, for a shorter test. */
function asynchronous(name: string, envSteps: number, config: A3CConfig | ApexDQNConfig | APPOConfig | IMPALAConfig): LearningRun {
  return {
    title: `${name} CartPole-v1`,
    build: async (seed) =>
      await config
        .copy()
        .environment("CartPole-v1")
        .envRunners({ numEnvRunners: 2, numCpusPerEnvRunner: 0.5, numEnvsPerEnvRunner: 5 })
        .rlModule({ modelConfig: { fcnetHiddens: [64, 64], vfShareLayers: false } })
        .reporting({ minTimeMsPerIteration: 300 })
        .evaluation({ evaluationDuration: 10, evaluationConfig: { explore: false } })
        .debugging({ seed })
        .buildAlgo(),
    quick: { evaluation: 200, envSteps: 500_000 },
    full: { evaluation: 450, envSteps },
  };
}

/** Folders of recordings, by kind and seed, which runs of one process share. */
const recordings = new Map<string, Promise<string>>();

/** Records episodes once. @returns the folder, which ends with the process */
async function recordedOnce(kind: string, seed: number, record: (folder: string, seed: number) => Promise<void>): Promise<string> {
  const make = async (): Promise<string> => {
    const folder = mkdtempSync(join(tmpdir(), "shoal-learning-"));
    process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
    await record(folder, seed);
    return folder;
  };
  const recording = recordings.get(`${kind} ${seed}`) ?? make();
  recordings.set(`${kind} ${seed}`, recording);
  return await recording;
}

/** Records the episodes of PPO while it learns, bad and good ones. */
async function recordCartPole(output: string, seed: number): Promise<void> {
  await using algorithm = await new PPOConfig()
    .environment("CartPole-v1")
    .envRunners({ numEnvsPerEnvRunner: 8 })
    .training({ lr: 3e-4, trainBatchSizePerLearner: 4000, minibatchSize: 128, numEpochs: 6 })
    .rlModule({ modelConfig: { fcnetHiddens: [64, 64], vfShareLayers: false } })
    .offlineData({ output })
    .debugging({ seed })
    .buildAlgo();
  for (let iteration = 0; iteration < 20; iteration += 1) await algorithm.train();
}

/** Records all steps of SAC, from the random ones on. */
async function recordPendulum(output: string, seed: number): Promise<void> {
  const config = new SACConfig().training({
    actorLr: 1e-3,
    criticLr: 1e-3,
    alphaLr: 1e-3,
    trainBatchSizePerLearner: 128,
    numStepsSampledBeforeLearningStarts: 500,
    replayBufferConfig: { type: "EpisodeReplayBuffer", capacity: 100_000 },
  });
  await using algorithm = await pendulum(config.offlineData({ output }), seed);
  for (let iteration = 0; iteration < 10; iteration += 1) await algorithm.train();
}

/** CQL or IQL from the recording of Pendulum. */
async function fromReplay(config: CQLConfig | IQLConfig, seed: number): Promise<Algorithm> {
  const input = await recordedOnce("Pendulum", seed, recordPendulum);
  return await config
    .environment("Pendulum-v1")
    .rlModule({ modelConfig: { fcnetHiddens: [64, 64] } })
    .offlineData({ input, datasetNumItersPerLearner: 500 })
    .evaluation({ evaluationDuration: 10, evaluationConfig: { explore: false } })
    .debugging({ seed })
    .buildAlgo();
}

/** Behaviour cloning or MARWIL from the recording of CartPole. */
async function cloning(config: BCConfig | MARWILConfig, seed: number): Promise<Algorithm> {
  const input = await recordedOnce("CartPole", seed, recordCartPole);
  return await config
    .environment("CartPole-v1")
    .training({ lr: 1e-3, trainBatchSizePerLearner: 512 })
    .rlModule({ modelConfig: { fcnetHiddens: [64, 64], vfShareLayers: false } })
    .offlineData({ input, datasetNumItersPerLearner: 100 })
    .evaluation({ evaluationDuration: 10, evaluationConfig: { explore: false } })
    .debugging({ seed })
    .buildAlgo();
}

/** Chooses a move when an episode begins, and repeats it: a policy that learns nothing. */
class Repeater extends RLModule {
  readonly #random: Random = new Random(1, "repeater");

  override initialState(): Record<string, Float32Array> {
    return { move: Float32Array.of(-1) };
  }

  forward({ stateIn }: ModuleInput): ModuleOutput {
    const before = stateIn?.["move"]?.toArray() ?? new Float32Array(0);
    const moves = before.map((move) => (move < 0 ? this.#random.integer(3) : move));
    const inputs = new Float32Array(3 * moves.length).fill(-1e6);
    for (const [row, move] of moves.entries()) inputs[3 * row + move] = 0;
    return {
      actionDistInputs: tensor(inputs, { shape: [moves.length, 3] }),
      stateOut: { move: tensor(moves, { shape: [moves.length, 1] }) },
    };
  }

  override get noise(): readonly Random[] {
    return [this.#random];
  }
}

/** The percentage of moves onto free fields: a taken field costs 0.5, and all other rewards of the two players add up to 0. */
function freeFields({ episodeReturnMean, episodeLenMean }: Episodes): number | undefined {
  if (episodeReturnMean === undefined || episodeLenMean === undefined) return undefined;
  return 100 * (1 + (2 * episodeReturnMean) / episodeLenMean);
}

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

/** A point of a curve: after so many steps, the number of the last episodes that counts. */
type CurvePoint = readonly [envSteps: number, reached: number | undefined];

/** An evaluation is worth its time once the episodes of training are near the goal. */
const NEAR = 0.8;

/** Trains until an evaluation reaches the goal, or the steps are used up. */
export async function learn(
  { build, isOffline = false, measure = ({ episodeReturnMean }) => episodeReturnMean }: LearningRun,
  { evaluation, envSteps }: Goal,
  seed: number,
): Promise<{ evaluated: number; curve: CurvePoint[] }> {
  await using algorithm = await build(seed);
  const curve: CurvePoint[] = [];
  let evaluated = Number.NEGATIVE_INFINITY;
  for (;;) {
    const { envRunners, learners } = await algorithm.train();
    if (isOffline) {
      const { numModuleStepsTrainedLifetime: trained = 0 } = learners["default_policy"] ?? {};
      evaluated = measure((await algorithm.evaluate()).envRunners) ?? Number.NEGATIVE_INFINITY;
      curve.push([trained, evaluated]);
      if (trained >= envSteps || evaluated >= evaluation) return { evaluated, curve };
      continue;
    }
    const steps = envRunners.numEnvStepsSampledLifetime;
    const reached = measure(envRunners);
    curve.push([steps, reached]);
    const isLast = steps >= envSteps;
    if (isLast || (reached ?? Number.NEGATIVE_INFINITY) >= nearGoal(evaluation))
      evaluated = measure((await algorithm.evaluate()).envRunners) ?? Number.NEGATIVE_INFINITY;
    if (isLast || evaluated >= evaluation) return { evaluated, curve };
  }
}

function nearGoal(evaluation: number): number {
  return evaluation < 0 ? evaluation / NEAR : evaluation * NEAR;
}
