import { expect, test } from "vitest";
import { buildModule } from "../modules/module-spec.ts";
import { Box } from "../spaces/box.ts";
import { Discrete } from "../spaces/discrete.ts";
import { MultiDiscrete } from "../spaces/multi-discrete.ts";
import { Dict } from "../spaces/composite.ts";
import type { Env } from "../environments/env.ts";
import { PPOConfig } from "./ppo.ts";
import { Policy } from "./policy.ts";

/** A parallel machine with one right setting: reward 1 where all parts of the action are right. */
class Lock implements Env {
  readonly observationSpace: Dict = new Dict({ key: new Discrete(2), light: new Box({ low: 0, high: 1, shape: [1] }) });
  readonly actionSpace: MultiDiscrete = new MultiDiscrete([2, 3]);
  #key = 0;

  reset(): { observation: object } {
    this.#key = 0;
    return { observation: { key: 0, light: [0.5] } };
  }

  step(action: unknown): ReturnType<Env["step"]> {
    const [first, second] = action as Int32Array;
    const reward = first === this.#key && second === 2 ? 1 : 0;
    this.#key = 1 - this.#key;
    return { observation: { key: this.#key, light: [0.5] }, reward, terminated: false, truncated: true };
  }
}

/** The nearer the action is to 7, the more. */
class Target implements Env<Float32Array, Float32Array> {
  readonly observationSpace: Box = new Box({ low: 0, high: 1, shape: [1] });
  readonly actionSpace: Box = new Box({ low: 0, high: 10, shape: [1] });

  reset(): { observation: Float32Array } {
    return { observation: Float32Array.of(1) };
  }

  step(action: Float32Array): ReturnType<Env<Float32Array>["step"]> {
    return { observation: Float32Array.of(1), reward: -Math.abs((action[0] as number) - 7), terminated: true, truncated: false };
  }
}

test("learns with Dict observations and several choices at once", async () => {
  await using algorithm = await new PPOConfig()
    .environment(Lock)
    .envRunners({ numEnvsPerEnvRunner: 4 })
    .training({ lr: 5e-3, trainBatchSizePerLearner: 400, minibatchSize: 100, numEpochs: 5 })
    .rlModule({ modelConfig: { fcnetHiddens: [16] } })
    .debugging({ seed: 1 })
    .buildAlgo();
  let mean = 0;
  for (let iteration = 0; mean < 0.9 && iteration < 30; iteration += 1) mean = (await algorithm.train()).envRunners.episodeReturnMean ?? 0;
  expect(mean).toBeGreaterThan(0.9);
  expect(algorithm.computeAction({ key: 0, light: [0.5] })).toEqual(Int32Array.of(0, 2));
});

test("learns numbers between uneven bounds", async () => {
  await using algorithm = await new PPOConfig()
    .environment(Target)
    .envRunners({ numEnvsPerEnvRunner: 8 })
    .training({ lr: 5e-3, trainBatchSizePerLearner: 400, minibatchSize: 100, numEpochs: 5 })
    .rlModule({ modelConfig: { fcnetHiddens: [16] } })
    .debugging({ seed: 1 })
    .buildAlgo();
  for (let iteration = 0; iteration < 30; iteration += 1) await algorithm.train();
  const [action] = algorithm.computeAction<Float32Array>(Float32Array.of(1));
  expect(Math.abs((action as number) - 7)).toBeLessThan(0.5);
});

test("results have means once an episode has ended, and evaluation only where it was", async () => {
  await using algorithm = await new PPOConfig()
    .environment("CartPole-v1")
    .training({ trainBatchSizePerLearner: 4, minibatchSize: 4, numEpochs: 1 })
    .evaluation({ evaluationInterval: 2, evaluationDuration: 3 })
    .callbacks({ onTrainResult: ({ result }) => void Object.assign(result, { note: "seen" }) })
    .debugging({ seed: 1 })
    .buildAlgo();
  const first = await algorithm.train();
  expect(Object.keys(first.envRunners)).toEqual(["numEpisodes", "numEpisodesLifetime", "numEnvStepsSampled", "numEnvStepsSampledLifetime"]);
  expect(first).toMatchObject({ trainingIteration: 1, note: "seen" });
  expect("evaluation" in first).toBe(false);
  const second = await algorithm.train();
  expect(second.evaluation?.envRunners).toMatchObject({ numEpisodes: 3, episodeReturnMean: expect.any(Number) as number });
  expect(second.envRunners.numEnvStepsSampledLifetime).toBe(8);
});

test("one call works at a time", async () => {
  await using algorithm = await new PPOConfig().environment("CartPole-v1").training({ numEpochs: 1 }).buildAlgo();
  const training = algorithm.train();
  await expect(algorithm.train()).rejects.toThrow("Cannot train: train() is under way. Await it first");
  await training;
});

test("weights can be taken and set, and misfits are refused", async () => {
  const config = new PPOConfig().environment("CartPole-v1").rlModule({ modelConfig: { fcnetHiddens: [8] } });
  await using one = await config.copy().debugging({ seed: 1 }).buildAlgo();
  await using other = await config.copy().debugging({ seed: 2 }).buildAlgo();
  expect(other.getWeights()).not.toEqual(one.getWeights());
  other.setWeights(one.getWeights());
  expect(other.getWeights()).toEqual(one.getWeights());
  expect(() => other.setWeights({ default_policy: new Float32Array(3) })).toThrow("Cannot set weights: default_policy has ");
});

test.each<[unknown, string]>([
  [[0, 0, 0], "float32 numbers of the shape [4], 4 in all, are needed: received Array of 3 numbers"],
  [[0, 0, Number.NaN, 0], "element 2 is a number from "],
  ["left", 'float32 numbers of the shape [4], 4 in all, are needed: received "left"'],
])("an action for the observation %j is refused", (observation, reason) => {
  const space = new Box({ low: [-5, -9, -1, -9], high: [5, 9, 1, 9] });
  const spec = { moduleClass: undefined, modelConfig: {}, normalizeActions: true, clipActions: false };
  const policy = new Policy(buildModule(spec, { observationSpace: space, actionSpace: new Discrete(2) }));
  expect(() => policy.computeAction(observation)).toThrow(
    `Cannot compute an action: the observation is not in the observation space: ${reason}`,
  );
  expect(policy.computeActions([])).toEqual([]);
});
