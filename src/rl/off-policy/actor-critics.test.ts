import { expect, test } from "vitest";
import type { AlgorithmConfig } from "../config/algorithm-config.ts";
import type { Env } from "../environments/env.ts";
import { Box } from "../spaces/box.ts";
import { Discrete } from "../spaces/discrete.ts";
import { SACConfig } from "./sac.ts";
import { DDPGConfig, TD3Config } from "./td3.ts";

/** The nearer the action is to the place that the observation says, the more; an episode has three steps. */
class Target implements Env {
  readonly observationSpace: Box = new Box({ low: -1, high: 1, shape: [1] });
  readonly actionSpace: Box | Discrete = new Box({ low: [0, -5], high: [10, 5] });
  #at = 0;

  reset(): { observation: Float32Array } {
    this.#at = 0;
    return { observation: Float32Array.of(0.5) };
  }

  step(action: unknown): ReturnType<Env["step"]> {
    this.#at += 1;
    const [first, second] = action as readonly [number, number];
    return {
      observation: Float32Array.of(0.5),
      reward: -Math.abs(first - 7) - Math.abs(second + 3),
      terminated: this.#at === 3,
      truncated: false,
    };
  }
}

/** The last choice is right. */
class Choices extends Target {
  override readonly actionSpace: Discrete = new Discrete(3);

  override step(action: unknown): ReturnType<Env["step"]> {
    return { observation: Float32Array.of(0.5), reward: action === 2 ? 1 : 0, terminated: true, truncated: false };
  }
}

class Unbounded extends Target {
  override readonly actionSpace: Box = new Box({ low: 0, high: Infinity });
}

const rates = { actorLr: 3e-3, criticLr: 3e-3, numStepsSampledBeforeLearningStarts: 100, trainBatchSizePerLearner: 32, gamma: 0.5 };
const small = <C extends AlgorithmConfig>(config: C): C =>
  config
    .rlModule({ modelConfig: { fcnetHiddens: [16] } })
    .reporting({ minSampleTimestepsPerIteration: 1000 })
    .debugging({ seed: 1 });
const sac = (): SACConfig => small(new SACConfig().environment(Target).training({ ...rates, alphaLr: 3e-3 }));
const explorationConfig = { randomTimesteps: 100, stddev: 0.3 };
const td3 = (): TD3Config => small(new TD3Config().environment(Target).training({ ...rates, explorationConfig }));
const ddpg = (): DDPGConfig =>
  small(new DDPGConfig().environment(Target).training({ ...rates, explorationConfig: { randomTimesteps: 500 }, useHuber: true }));

test.each<[string, () => AlgorithmConfig]>([
  ["SAC", sac],
  ["SAC with one critic and a fixed entropy", () => sac().training({ twinQ: false, targetEntropy: -4 })],
  ["TD3", td3],
  ["DDPG", ddpg],
])("%s learns numbers between uneven bounds", async (_, config) => {
  await using algorithm = (await config().buildAlgo()) as Awaited<ReturnType<SACConfig["buildAlgo"]>>;
  await algorithm.train();
  const { learners } = await algorithm.train();
  const [first, second] = algorithm.computeAction<Float32Array>([0.5]) as unknown as [number, number];
  expect(Math.abs(first - 7) + Math.abs(second + 3)).toBeLessThan(2);
  expect(learners["default_policy"]).toMatchObject({ qfLoss: expect.any(Number) as number, policyLoss: expect.any(Number) as number });
});

test("SAC learns choices, and its entropy falls to the target", async () => {
  await using algorithm = await sac().environment(Choices).training({ targetEntropy: 0.1 }).buildAlgo();
  await algorithm.train();
  const { learners } = await algorithm.train();
  expect(algorithm.computeAction([0.5])).toBe(2);
  expect(learners["default_policy"]?.["entropy"]).toBeLessThan(0.6);
});

test("the actor's loss leaves the critics alone, and TD3's actor waits for policyDelay", async () => {
  const still = { criticLr: 0, actorLr: 1e-2 };
  await using algorithm = await td3().training(still).reporting({ minSampleTimestepsPerIteration: 101 }).buildAlgo();
  const before = algorithm.getWeights();
  const { learners } = await algorithm.train();
  // Two updates: the critics' values of one batch stay, as their rate is 0; the actor has changed once.
  expect(learners["default_policy"]).toHaveProperty("policyLoss");
  expect(algorithm.getWeights()).not.toEqual(before);
});

test.each<[string, () => unknown, string]>([
  ["a learning rate of other algorithms", () => sac().training({ lr: 1 } as object), "there are actorLr, criticLr and alphaLr"],
  [
    "an entropy in words",
    () => sac().training({ targetEntropy: "high" as never }),
    'Cannot set targetEntropy of training() of SAC: "auto" or a finite number is needed: received "high"',
  ],
  ["alpha of 0", () => sac().training({ initialAlpha: 0 }), "a number above 0 is needed: received 0"],
  [
    "an option of SAC",
    () => td3().training({ initialAlpha: 1 } as object),
    'Cannot set options of training() of TD3: there is no option "initialAlpha"',
  ],
  ["an unknown noise", () => ddpg().training({ explorationConfig: { type: "Pink" as never } }), "Cannot set type of explorationConfig: "],
  ["a misspelt noise", () => ddpg().training({ explorationConfig: { ouTeta: 1 } as object }), "did you mean ouTheta"],
])("%s is refused when it is set", (_, run, reason) => {
  expect(run).toThrow(reason);
});

test.each<[string, () => AlgorithmConfig]>([
  ["a Box without bounds", () => sac().environment(Unbounded)],
  ["choices for TD3", () => td3().environment(Choices)],
  ["choices for DDPG", () => ddpg().environment(Choices)],
])("%s is refused by buildAlgo", async (_, make) => {
  await expect(make().buildAlgo()).rejects.toThrow(
    "Cannot make a policy of numbers: the action space is a Box of floats with finite bounds: received ",
  );
});
