import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test, vi } from "vitest";
import { A2CConfig } from "./a2c.ts";
import { Algorithm } from "./algorithm.ts";
import { Policy } from "./policy.ts";
import type { TrainResult } from "./train-result.ts";

const folder = mkdtempSync(join(tmpdir(), "test-shoal-a2c-"));
afterAll(() => rmSync(folder, { recursive: true }));

const small = (): A2CConfig =>
  new A2CConfig()
    .environment("CartPole-v1")
    .envRunners({ numEnvsPerEnvRunner: 4 })
    .training({ trainBatchSizePerLearner: 160 })
    .rlModule({ modelConfig: { fcnetHiddens: [8] } })
    .debugging({ seed: 1 });

const timeless = ({ envRunners, learners, trainingIteration }: TrainResult): unknown => ({ envRunners, learners, trainingIteration });

test("a batch has fragments of 20 steps, and one update follows", async () => {
  await using algorithm = await small().buildAlgo();
  const { envRunners, learners } = await algorithm.train();
  expect(envRunners.numEnvStepsSampled).toBe(160);
  expect(Object.keys(learners["default_policy"] ?? {}).toSorted()).toEqual([
    "entropy",
    "gradientsNorm",
    "learningRate",
    "policyLoss",
    "totalLoss",
    "vfLoss",
  ]);
  expect(learners["default_policy"]?.["learningRate"]).toBe(1e-4);
});

test("a restored run goes on as one without interruption, and its policy acts alike", async () => {
  await using algorithm = await small().buildAlgo();
  await algorithm.train();
  await algorithm.save(join(folder, "saved"));
  const expected = [timeless(await algorithm.train()), timeless(await algorithm.train())];
  await using restored = await Algorithm.fromCheckpoint(join(folder, "saved"));
  expect([timeless(await restored.train()), timeless(await restored.train())]).toEqual(expected);
  await algorithm.restore(join(folder, "saved"));
  const observation = Float32Array.of(0.01, 0, 0.1, 0);
  expect((await Policy.fromCheckpoint(join(folder, "saved"))).computeAction(observation)).toBe(algorithm.computeAction(observation));
});

test("learns with a network that remembers, and in old spellings", async () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
  await using algorithm = await new A2CConfig()
    .environment("CartPole-v1")
    .rollouts({ numWorkers: 0 })
    .training({ trainBatchSize: 80 })
    .rlModule({ modelConfig: { fcnetHiddens: [8], useLstm: true, lstmCellSize: 4, maxSeqLen: 5 } })
    .build();
  expect((await algorithm.train()).learners["default_policy"]?.["totalLoss"]).toEqual(expect.any(Number));
  warn.mockRestore();
});

test("a minibatch larger than the batch is refused", async () => {
  await expect(small().training({ minibatchSize: 500 }).buildAlgo()).rejects.toThrow(
    "Cannot build A2C: minibatchSize is at most trainBatchSizePerLearner, 160: received 500",
  );
});
