/** Asynchronous algorithms with runners in processes: lost and stopped runners, a slow learner, errors, checkpoints and ends. */
import { actors } from "shoal";
import {
  A3CConfig,
  Algorithm,
  type AlgorithmConfig,
  ApexDQNConfig,
  APPOConfig,
  Box,
  Discrete,
  type Env,
  IMPALAConfig,
  MeanStdFilter,
  Policy,
} from "shoal/rl";
import { join } from "node:path";
import { expect, test } from "vitest";
import { until, useFolder, useSession } from "./session.ts";

useSession({ numCpus: 4, logToDriver: false });
const folder = useFolder();

const small = (): IMPALAConfig =>
  new IMPALAConfig()
    .environment("CartPole-v1")
    .envRunners({ numEnvRunners: 2, numEnvsPerEnvRunner: 2, rolloutFragmentLength: 20 })
    .training({ trainBatchSizePerLearner: 80 })
    .rlModule({ modelConfig: { fcnetHiddens: [8] } })
    .reporting({ minTimeMsPerIteration: 0, minSampleTimestepsPerIteration: 800 })
    .faultTolerance({ delayBetweenEnvRunnerRestartsMs: 50 })
    .debugging({ seed: 1 });

/** The processes of all runners. */
async function runnerProcesses(): Promise<number[]> {
  const alive = (await actors()).filter(({ className, pid }) => className === "RunnerActor" && pid !== undefined);
  return alive.map(({ pid }) => pid as number);
}

test("a runner that was stopped holds up nobody, and killed runners are replaced, also all at once", async () => {
  await using algorithm = await small().buildAlgo();
  await algorithm.train();
  const [first, second] = (await runnerProcesses()) as [number, number];
  process.kill(first, "SIGSTOP");
  // The call of the stopped runner lasts until sampleTimeoutMs, a minute; the other one samples alone.
  const alone = await algorithm.train();
  expect(alone.envRunners.numEnvStepsSampled).toBeGreaterThanOrEqual(800);
  expect(alone.faults.numEnvRunnerRestarts).toBe(0);
  process.kill(first, "SIGKILL");
  process.kill(second, "SIGKILL");
  const after = await algorithm.train();
  expect(after.envRunners.numEnvStepsSampled).toBeGreaterThanOrEqual(800);
  expect(after.faults.numEnvRunnerRestarts).toBeGreaterThan(0);
  await until(async () => (await runnerProcesses()).length === 2, "two runners");
});

test("a slow learner drops the oldest steps, which count as sampled", async () => {
  const config = small().training({ learnerQueueSize: 1, numEpochs: 400 }).envRunners({ maxRequestsInFlightPerEnvRunner: 2 });
  await using algorithm = await config.buildAlgo();
  let dropped = 0;
  for (let iteration = 0; dropped === 0 && iteration < 20; iteration += 1) {
    const { envRunners } = await algorithm.train();
    dropped = envRunners["numEnvStepsDropped"] as number;
    expect(envRunners.numEnvStepsSampled).toBeGreaterThanOrEqual(800);
  }
  expect(dropped).toBeGreaterThan(0);
});

test("a restored run with a filter goes on with counters, optimizer and target; its policy acts alike", async () => {
  const path = join(folder, "appo");
  const config = new APPOConfig()
    .environment("CartPole-v1")
    .envRunners({ numEnvRunners: 1, numEnvsPerEnvRunner: 2, rolloutFragmentLength: 20, envToModuleConnector: () => new MeanStdFilter() })
    .training({ trainBatchSizePerLearner: 80, broadcastInterval: 2 })
    .rlModule({ modelConfig: { fcnetHiddens: [8] } })
    .reporting({ minTimeMsPerIteration: 0 });
  await using algorithm = await config.buildAlgo();
  await algorithm.train();
  const { envRunners } = await algorithm.train();
  await algorithm.save(path);
  await using restored = await Algorithm.fromCheckpoint(path);
  expect(restored.getWeights()).toEqual(algorithm.getWeights());
  const again = await restored.train();
  expect(again.trainingIteration).toBe(3);
  expect(again.envRunners.numEnvStepsSampledLifetime).toBeGreaterThan(envRunners.numEnvStepsSampledLifetime);
  await algorithm.restore(path);
  const observation = Float32Array.of(0.01, 0, 0.1, 0);
  expect((await Policy.fromCheckpoint(path)).computeAction(observation)).toBe(algorithm.computeAction(observation));
  expect((await algorithm.train()).trainingIteration).toBe(3);
});

test.each<[string, () => AlgorithmConfig]>([
  ["A3C", () => new A3CConfig().training({ lr: 1e-3 })],
  ["ApexDQN", () => new ApexDQNConfig().training({ numStepsSampledBeforeLearningStarts: 100, trainBatchSizePerLearner: 32 })],
])("%s learns from the work of runners in processes, and goes on after one is killed", async (_, make) => {
  await using algorithm = await make()
    .environment("CartPole-v1")
    .envRunners({ numEnvRunners: 2, numEnvsPerEnvRunner: 2, rolloutFragmentLength: 20 })
    .rlModule({ modelConfig: { fcnetHiddens: [8] } })
    .reporting({ minTimeMsPerIteration: 0, minSampleTimestepsPerIteration: 400 })
    .faultTolerance({ delayBetweenEnvRunnerRestartsMs: 50 })
    .debugging({ seed: 1 })
    .buildAlgo();
  const before = algorithm.getWeights();
  const { learners } = await algorithm.train();
  expect(learners["default_policy"]?.["gradientsNorm"]).toBeGreaterThan(0);
  expect(algorithm.getWeights()).not.toEqual(before);
  process.kill((await runnerProcesses())[0] as number, "SIGKILL");
  // The other runner may fill iterations before the death is noticed.
  let restarts = 0;
  for (let iteration = 0; restarts === 0 && iteration < 500; iteration += 1) {
    const { envRunners, faults } = await algorithm.train();
    expect(envRunners.numEnvStepsSampled).toBeGreaterThanOrEqual(400);
    restarts += faults.numEnvRunnerRestarts;
  }
  expect(restarts).toBe(1);
});

class Exploding implements Env<Float32Array, number> {
  readonly observationSpace: Box = new Box({ low: 0, high: 1, shape: [1] });
  readonly actionSpace: Discrete = new Discrete(2);
  reset() {
    return { observation: Float32Array.of(0) };
  }
  step(): never {
    throw new Error("the floor is gone");
  }
}

test("an environment that throws ends training with the user's error, and stop leaves no process", async () => {
  await using algorithm = await small().environment(Exploding).buildAlgo();
  await expect(algorithm.train()).rejects.toThrow("Cannot step Exploding: it threw the floor is gone");
  await using other = await small().buildAlgo();
  await other.train();
  await expect(other.train({ signal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow("enough");
  await Promise.all([algorithm.stop(), other.stop()]);
  await until(async () => (await runnerProcesses()).length === 0, "the ends of all runners");
  await expect(other.train()).rejects.toThrow("the algorithm was stopped");
});
