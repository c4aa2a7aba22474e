/**
 * Algorithms with a buffer in real processes: the same curve with any number of runners, checkpoints with the buffer, and lost runners.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { actors, init, shutdown } from "shoal";
import {
  Algorithm,
  type AlgorithmConfig,
  DDPGConfig,
  DQNConfig,
  DreamerV3Config,
  MBMPOConfig,
  Policy,
  SACConfig,
  TD3Config,
} from "shoal/rl";
import { afterAll, beforeAll, expect, test } from "vitest";
import { curveOf, timeless } from "./learning-curve.ts";

const folder = mkdtempSync(join(tmpdir(), "test-shoal-rl-replay-"));
beforeAll(() => init({ numCpus: 4, logToDriver: false }));
afterAll(async () => {
  await shutdown();
  rmSync(folder, { recursive: true });
});

const small = { trainBatchSizePerLearner: 16, numStepsSampledBeforeLearningStarts: 50 };

/** A short run of each kind, by its name. */
const CONFIGS: Readonly<Record<string, () => AlgorithmConfig>> = {
  SAC: () =>
    new SACConfig()
      .environment("Pendulum-v1")
      .training({ ...small, nStep: 2, noiseCorrelation: 0.8 })
      .rlModule({ modelConfig: { fcnetHiddens: [16] } }),
  TD3: () =>
    new TD3Config()
      .environment("Pendulum-v1")
      .training({ ...small, explorationConfig: { randomTimesteps: 60 } })
      .rlModule({ modelConfig: { fcnetHiddens: [16] } }),
  DDPG: () =>
    new DDPGConfig()
      .environment("Pendulum-v1")
      .training({ ...small, explorationConfig: { randomTimesteps: 60 } })
      .rlModule({ modelConfig: { fcnetHiddens: [16] } }),
  DQN: () =>
    new DQNConfig()
      .environment("CartPole-v1")
      .training({ ...small, nStep: [1, 3], targetNetworkUpdateFreq: 40, replayBufferConfig: { capacity: 150 } })
      .rlModule({ modelConfig: { fcnetHiddens: [16] } }),
  Rainbow: () =>
    new DQNConfig()
      .environment("CartPole-v1")
      .training({ ...small, nStep: 3, numAtoms: 11, vMin: 0, vMax: 50, noisy: true })
      .rlModule({ modelConfig: { fcnetHiddens: [16] } }),
  DreamerV3: () =>
    new DreamerV3Config()
      .environment("Pendulum-v1")
      .training({ modelSize: "nano", trainingRatio: 8, batchSizeB: 4, batchLengthT: 8, horizonH: 3 }),
  MBMPO: () =>
    new MBMPOConfig()
      .environment("Pendulum-v1")
      .training({ trainBatchSizePerLearner: 100, horizon: 5, numImaginedEpisodes: 4, numMamlSteps: 2, mamlOptimizerSteps: 2 })
      .training({ dynamicsModel: { ensembleSize: 2, fcnetHiddens: [8], trainEpochs: 4, batchSize: 32 } })
      .rlModule({ modelConfig: { fcnetHiddens: [16] } }),
};
const KINDS = Object.keys(CONFIGS);

function made(kind: string, numEnvRunners: number, numEnvsPerEnvRunner: number): AlgorithmConfig {
  return (CONFIGS[kind] as () => AlgorithmConfig)()
    .envRunners({ numEnvRunners, numEnvsPerEnvRunner })
    .reporting({ minSampleTimestepsPerIteration: 100 })
    .checkpointing({ storeBufferInCheckpoints: true })
    .debugging({ seed: 1 });
}

test.each(KINDS)("%s: one seed gives one curve, bit by bit, with 0, 1 and 2 runners; another seed gives another", async (kind) => {
  const here = await curveOf(made(kind, 0, 4), 2);
  expect(await curveOf(made(kind, 1, 4), 2)).toEqual(here);
  expect(await curveOf(made(kind, 2, 2), 2)).toEqual(here);
  expect(await curveOf(made(kind, 0, 4).debugging({ seed: 2 }), 2)).not.toEqual(here);
});

test.each(KINDS)("%s: a run restored with its buffer goes on as one without interruption", async (kind) => {
  const path = join(folder, kind);
  await using algorithm = await made(kind, 0, 4).buildAlgo();
  await algorithm.train();
  await algorithm.evaluate();
  await algorithm.save(path);
  const expected = [timeless(await algorithm.train()), timeless(await algorithm.train())];
  await using restored = await Algorithm.fromCheckpoint(path);
  expect([timeless(await restored.train()), timeless(await restored.train())]).toEqual(expected);
  await algorithm.restore(path);
  const policy = await Policy.fromCheckpoint(path);
  const observation = Float32Array.of(0.01, 0, 0.1, 0).subarray(0, kind === "DQN" || kind === "Rainbow" ? 4 : 3);
  expect(policy.computeAction(observation)).toEqual((algorithm as Algorithm).computeAction(observation));
  expect(timeless(await algorithm.train())).toEqual(expected[0]);
});

test("without its buffer a restored run waits until it has sampled enough again", async () => {
  const path = join(folder, "without");
  const config = made("DQN", 0, 4).checkpointing({ storeBufferInCheckpoints: false });
  await using algorithm = await config.copy().training({ numStepsSampledBeforeLearningStarts: 150 }).buildAlgo();
  await algorithm.train();
  await algorithm.train();
  await algorithm.save(path);
  await using restored = await Algorithm.fromCheckpoint(path);
  expect((await restored.train()).learners).toEqual({});
  expect(Object.keys((await restored.train()).learners)).toEqual(["default_policy"]);
  await using other = await made("DQN", 0, 4).buildAlgo();
  await expect(other.restore(path)).rejects.toThrow("it has no buffer, as it was saved without storeBufferInCheckpoints");
});

test("a buffer that is cut, of another save or of another capacity is refused", async () => {
  const path = join(folder, "damaged");
  await using algorithm = await made("DQN", 0, 4).buildAlgo();
  await algorithm.train();
  await algorithm.save(path);
  const file = join(path, "buffer", "default_policy.safetensors");
  const whole = readFileSync(file);
  writeFileSync(file, whole.subarray(0, whole.length - 8));
  await expect(algorithm.restore(path)).rejects.toThrow("it is no whole safetensors file");
  writeFileSync(file, whole);
  await using smaller = await made("DQN", 0, 4)
    .training({ replayBufferConfig: { capacity: 60 } })
    .buildAlgo();
  await expect(smaller.restore(path)).rejects.toThrow("Use the capacity and the environment that it was saved with");
  const other = join(folder, "other");
  await algorithm.save(other);
  writeFileSync(file, readFileSync(join(other, "buffer", "default_policy.safetensors")));
  await expect(algorithm.restore(path)).rejects.toThrow("belongs to another save than algorithm.json");
});

test("a killed runner is replaced, and learning goes on", async () => {
  await using algorithm = await made("DQN", 2, 2).faultTolerance({ delayBetweenEnvRunnerRestartsMs: 50 }).buildAlgo();
  await algorithm.train();
  const [runner] = (await actors()).filter(({ className }) => className === "RunnerActor");
  process.kill(runner?.pid as number, "SIGKILL");
  const { faults, learners, envRunners } = await algorithm.train();
  expect([faults.numEnvRunnerRestarts, envRunners.numEnvStepsSampled >= 100]).toEqual([1, true]);
  expect(learners["default_policy"]?.["qfLoss"]).toBeGreaterThan(0);
});
