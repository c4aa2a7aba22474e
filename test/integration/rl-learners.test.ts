/** Learners in processes that share each batch: the same curve after a death, checkpoints, weights of a user, and ends. */
import { join } from "node:path";
import { actors } from "shoal";
import { Algorithm, DQNConfig, IMPALAConfig, PPOConfig, PPOLearner } from "shoal/rl";
import type { Tensor } from "shoal/tensor";
import { expect, test } from "vitest";
import { timeless } from "./learning-curve.ts";
import { until, useFolder, useSession } from "./session.ts";

useSession({ numCpus: 4, logToDriver: false });
const folder = useFolder();

const small = (numLearners = 2): PPOConfig =>
  new PPOConfig()
    .environment("CartPole-v1")
    .envRunners({ numEnvsPerEnvRunner: 4 })
    .training({ lr: 3e-3, trainBatchSizePerLearner: 200, minibatchSize: 50, numEpochs: 2 })
    .rlModule({ modelConfig: { fcnetHiddens: [8] } })
    .learners({ numLearners, numCpusPerLearner: 0.5 })
    .debugging({ seed: 1 });

async function learnerProcesses(): Promise<number[]> {
  const alive = (await actors()).filter(({ className, pid }) => className === "LearnerActor" && pid !== undefined);
  return alive.map(({ pid }) => pid as number);
}

test("two learners share batches of twice the steps; after the death of one, or of all, the curve is the same", async () => {
  const expected: unknown[] = [];
  {
    await using undisturbed = await small().buildAlgo();
    for (let iteration = 0; iteration < 4; iteration += 1) expected.push(timeless(await undisturbed.train()));
  }
  await using algorithm = await small().buildAlgo();
  const first = await algorithm.train();
  expect(first.envRunners.numEnvStepsSampled).toBe(400);
  expect(first.faults).toMatchObject({ numLearnerRestarts: 0 });
  const found = [timeless(first)];
  for (const killed of [1, 2]) {
    for (const pid of (await learnerProcesses()).slice(0, killed)) process.kill(pid, "SIGKILL");
    const result = await algorithm.train();
    expect(result.faults).toMatchObject({ numLearnerRestarts: 1 });
    found.push(timeless(result));
  }
  found.push(timeless(await algorithm.train()));
  expect(found).toEqual(expected);
});

test("a run restored with its learners goes on as one without interruption, also as one process", async () => {
  const path = join(folder, "learners");
  await using algorithm = await small().buildAlgo();
  await algorithm.train();
  await algorithm.save(path);
  const expected = timeless(await algorithm.train());
  await using restored = await Algorithm.fromCheckpoint(path);
  expect(await learnerProcesses()).toHaveLength(4);
  expect(timeless(await restored.train())).toEqual(expected);
  await algorithm.restore(path);
  expect(timeless(await algorithm.train())).toEqual(expected);
  await algorithm.restore(path);
  await using alone = await Algorithm.fromCheckpoint(path, { config: small(0) });
  expect(alone.getWeights()).toEqual(algorithm.getWeights());
});

test("weights that a user sets reach all learners, and IMPALA learns with runners and learners", async () => {
  await using still = await small().training({ lr: 0 }).buildAlgo();
  const weights = { default_policy: (still.getWeights()["default_policy"] as Float32Array).map((weight) => weight / 2) };
  still.setWeights(weights);
  await still.train();
  expect(still.getWeights()).toEqual(weights);
  await using algorithm = await new IMPALAConfig()
    .environment("CartPole-v1")
    .envRunners({ numEnvRunners: 1, numCpusPerEnvRunner: 0.5, numEnvsPerEnvRunner: 2, rolloutFragmentLength: 20 })
    .training({ trainBatchSizePerLearner: 40 })
    .rlModule({ modelConfig: { fcnetHiddens: [8] } })
    .reporting({ minTimeMsPerIteration: 0, minSampleTimestepsPerIteration: 400 })
    .learners({ numLearners: 2, numCpusPerLearner: 0.5 })
    .buildAlgo();
  const before = algorithm.getWeights();
  expect((await algorithm.train()).learners["default_policy"]?.["vfLoss"]).toBeGreaterThan(0);
  expect(algorithm.getWeights()).not.toEqual(before);
});

class Failing extends PPOLearner {
  override computeLoss(): Tensor {
    throw new Error("no loss today");
  }
}

test("the error of a loss arrives, and stop leaves no process", async () => {
  await using algorithm = await small().learners({ learnerClass: Failing }).buildAlgo();
  await expect(algorithm.train()).rejects.toThrow("no loss today");
  await algorithm.stop();
  await until(async () => (await learnerProcesses()).length === 0, "the ends of all learners");
});

test("algorithms with a buffer refuse several learners before anything starts", async () => {
  await expect(new DQNConfig().environment("CartPole-v1").learners({ numLearners: 2 }).buildAlgo()).rejects.toThrow(
    "Cannot build DQN: numLearners of learners() goes with PPO, A2C, IMPALA and APPO: received 2",
  );
});
