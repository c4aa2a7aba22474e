/** Asynchronous algorithms without runners in processes: learning, checkpoints, policies, and options that are refused. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { Algorithm } from "../algorithms/algorithm.ts";
import { Policy } from "../algorithms/policy.ts";
import type { TrainResult } from "../algorithms/train-result.ts";
import type { AnyConfig } from "../config/algorithm-registry.ts";
import { A2CConfig } from "../algorithms/a2c.ts";
import { explorationAt } from "../distributions/action-distribution.ts";
import { A3CConfig } from "./a3c.ts";
import { ApexDQNConfig } from "./apex-dqn.ts";
import { APPOConfig } from "./appo.ts";
import { IMPALAConfig } from "./impala.ts";

const folder = mkdtempSync(join(tmpdir(), "test-shoal-asynchronous-"));
afterAll(() => rmSync(folder, { recursive: true }));

const CONFIGS: Readonly<Record<string, () => AnyConfig>> = {
  A3C: () => new A3CConfig().training({ lr: 5e-4 }),
  ApexDQN: () =>
    new ApexDQNConfig()
      .training({ numStepsSampledBeforeLearningStarts: 40, trainBatchSizePerLearner: 32, targetNetworkUpdateFreq: 50 })
      .checkpointing({ storeBufferInCheckpoints: true }),
  IMPALA: () => new IMPALAConfig().training({ trainBatchSizePerLearner: 80 }),
  APPO: () => new APPOConfig().training({ circularBufferNumBatches: 1, useKlLoss: true, trainBatchSizePerLearner: 80 }),
};
const KINDS = Object.keys(CONFIGS);
const ON_POLICY = KINDS.filter((kind) => kind !== "ApexDQN");

const small = (kind: string): AnyConfig =>
  (CONFIGS[kind] as () => AnyConfig)()
    .environment("CartPole-v1")
    .envRunners({ numEnvsPerEnvRunner: 4, rolloutFragmentLength: 20 })
    .rlModule({ modelConfig: { fcnetHiddens: [8] } })
    .reporting({ minTimeMsPerIteration: 0 })
    .debugging({ seed: 1 });

const timeless = ({ envRunners, learners, trainingIteration }: TrainResult): unknown => ({ envRunners, learners, trainingIteration });

test.each(KINDS)("%s: an iteration lasts a second, and fragments have 50 steps, or 10, unless it is said", async (kind) => {
  const { values } = (CONFIGS[kind] as () => AnyConfig)();
  const length = kind === "A3C" ? 10 : 50;
  expect([values.reporting.minTimeMsPerIteration, values.envRunners.rolloutFragmentLength]).toEqual([1000, length]);
  await using algorithm = (await small(kind).buildAlgo()) as Algorithm;
  const { envRunners, learners } = await algorithm.train();
  expect(envRunners.numEnvStepsSampled).toBe(80);
  expect(learners["default_policy"]).toMatchObject({ learningRate: 5e-4, gradientsNorm: expect.any(Number) as number });
});

test.each(KINDS)("%s: a restored run goes on as one without interruption, and its policy acts alike", async (kind) => {
  const path = join(folder, kind);
  await using algorithm = (await small(kind).buildAlgo()) as Algorithm;
  await algorithm.train();
  await algorithm.save(path);
  const expected = [timeless(await algorithm.train()), timeless(await algorithm.train())];
  await using restored = await Algorithm.fromCheckpoint(path);
  // The order of draws from the circular buffer is not in a checkpoint; with one place there is no choice.
  expect([timeless(await restored.train()), timeless(await restored.train())]).toEqual(expected);
  await algorithm.restore(path);
  const observation = Float32Array.of(0.01, 0, 0.1, 0);
  expect((await Policy.fromCheckpoint(path)).computeAction(observation)).toBe(algorithm.computeAction(observation));
});

test.each(KINDS)("%s learns with several policies, of which some are left alone", async (kind) => {
  await using agents = await small(kind)
    .environment("RockPaperScissors")
    .multiAgent({ policies: ["player1", "player2"] })
    .buildAlgo();
  expect(Object.keys((await agents.train()).learners)).toEqual(["player1", "player2"]);
  await using one = await small(kind)
    .environment("RockPaperScissors")
    .multiAgent({ policies: ["player1", "player2"], policiesToTrain: ["player2"] })
    .buildAlgo();
  const before = one.getWeights();
  expect(Object.keys((await one.train()).learners)).toEqual(["player2"]);
  expect(one.getWeights()["player1"]).toEqual(before["player1"]);
});

test.each(ON_POLICY)("%s learns with a network that remembers", async (kind) => {
  const lstm = { fcnetHiddens: [8], useLstm: true, lstmCellSize: 4, maxSeqLen: 5 };
  await using remembering = await small(kind).rlModule({ modelConfig: lstm }).buildAlgo();
  expect((await remembering.train()).learners["default_policy"]?.["totalLoss"]).toEqual(expect.any(Number));
});

test("A3C makes the update that A2C makes of the same steps", async () => {
  const a3c = new A3CConfig().training({ lr: 1e-3 });
  const a2c = new A2CConfig().training({ lr: 1e-3, trainBatchSizePerLearner: 80 });
  const weights = [];
  for (const config of [a3c, a2c] as AnyConfig[]) {
    await using algorithm = await config
      .environment("CartPole-v1")
      .envRunners({ numEnvsPerEnvRunner: 4, rolloutFragmentLength: 20 })
      .rlModule({ modelConfig: { fcnetHiddens: [8] } })
      .reporting({ minTimeMsPerIteration: 0 })
      .debugging({ seed: 1 })
      .buildAlgo();
    await algorithm.train();
    weights.push(Array.from(algorithm.getWeights()["default_policy"] ?? []));
  }
  for (const [at, weight] of (weights[0] as number[]).entries()) expect(weight).toBeCloseTo(weights[1]?.[at] as number, 5);
});

test("each environment of ApexDQN has an epsilon of its own, however many runners there are", () => {
  const epsilons = { base: 0.4, exponent: 7, count: 8 };
  const all = Array.from({ length: 8 }, (_, place) => explorationAt({ epsilons }, place)?.epsilon);
  expect(all[0]).toBeCloseTo(0.4, 12);
  expect(all[7]).toBeCloseTo(0.4 ** 8, 12);
  expect(all[3]).toBeCloseTo(0.4 ** 4, 12);
  expect(explorationAt({ epsilons: { ...epsilons, count: 1 } }, 0)?.epsilon).toBeCloseTo(0.4, 12);
});

test("a checkpoint of APPO with another network's target is refused", async () => {
  const path = join(folder, "target");
  await using algorithm = await small("APPO").buildAlgo();
  await algorithm.save(path);
  await using other = await small("APPO")
    .rlModule({ modelConfig: { fcnetHiddens: [4] } })
    .buildAlgo();
  await expect(other.restore(path)).rejects.toThrow("Give the configuration that it was saved with");
});

test.each<[string, () => AnyConfig, string]>([
  ["vtrace: false", () => new IMPALAConfig().training({ vtrace: false } as object), "V-trace is always used"],
  ["a broadcastInterval of 0", () => new IMPALAConfig().training({ broadcastInterval: 0 }), "broadcastInterval of training() of IMPALA"],
  ["a batch of A3C", () => new A3CConfig().training({ trainBatchSize: 5 }), "set rolloutFragmentLength of envRunners()"],
  ["one epsilon for all", () => new ApexDQNConfig().training({ epsilon: 0.1 } as object), "each environment has an epsilon of its own"],
  ["no calls under way", () => new IMPALAConfig().envRunners({ maxRequestsInFlightPerEnvRunner: 0 }), "maxRequestsInFlightPerEnvRunner"],
  ["a circular buffer without places", () => new APPOConfig().training({ circularBufferNumBatches: 0 }), "circularBufferNumBatches"],
])("%s is refused when it is set", (_, make, reason) => {
  expect(make).toThrow(reason);
});
