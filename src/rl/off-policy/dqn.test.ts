import { expect, test } from "vitest";
import { Box } from "../spaces/box.ts";
import { Discrete } from "../spaces/discrete.ts";
import type { Env } from "../environments/env.ts";
import { DQNConfig, DQNLearner } from "./dqn.ts";

/** The action of the sign is right; the episode goes on for five steps. */
class Signs implements Env<Float32Array, number> {
  readonly observationSpace: Box = new Box({ low: -1, high: 1, shape: [1] });
  readonly actionSpace: Discrete = new Discrete(2, { start: 3 });
  #sign = 1;
  #at = 0;

  reset(): { observation: Float32Array } {
    this.#at = 0;
    return { observation: Float32Array.of(this.#sign) };
  }

  step(action: number): ReturnType<Env<Float32Array>["step"]> {
    const reward = action === (this.#sign > 0 ? 4 : 3) ? 1 : 0;
    this.#sign = -this.#sign;
    this.#at += 1;
    return { observation: Float32Array.of(this.#sign), reward, terminated: this.#at === 5, truncated: false };
  }
}

class Numbers extends Signs {
  override readonly actionSpace: never = new Box({ low: -1, high: 1 }) as never;
}

const config = (): DQNConfig =>
  new DQNConfig()
    .environment(Signs)
    .training({
      lr: 2e-3,
      epsilon: [
        [0, 1],
        [500, 0.05],
      ],
      numStepsSampledBeforeLearningStarts: 100,
      targetNetworkUpdateFreq: 50,
    })
    .rlModule({ modelConfig: { fcnetHiddens: [16] } })
    .reporting({ minSampleTimestepsPerIteration: 1000 })
    .debugging({ seed: 1 });

test.each<[string, Parameters<DQNConfig["training"]>[0]]>([
  ["double, duelling, by priority", {}],
  ["plain", { doubleQ: false, dueling: false, tdErrorLossFn: "mse", replayBufferConfig: { type: "EpisodeReplayBuffer" } }],
  ["atoms, noise and several steps", { numAtoms: 11, vMin: 0, vMax: 5, noisy: true, nStep: 3 }],
])("learns: %s", async (_, training) => {
  await using algorithm = await config().training(training).buildAlgo();
  const first = await algorithm.train();
  expect(first.envRunners.numEnvStepsSampled).toBe(1000);
  const { learners } = await algorithm.train();
  expect(learners["default_policy"]).toMatchObject({ qfLoss: expect.any(Number) as number, qfMean: expect.any(Number) as number });
  expect([-1, 1].map((sign) => algorithm.computeAction([sign]))).toEqual([3, 4]);
  const evaluated = await algorithm.evaluate();
  expect(evaluated.envRunners.episodeReturnMean).toBeGreaterThan(4);
});

test("an evaluation that explores leaves the noise of training alone", async () => {
  const noisy = config().training({ noisy: true }).reporting({ minSampleTimestepsPerIteration: 120 });
  await using one = await noisy.buildAlgo();
  await using other = await noisy.buildAlgo();
  for (const algorithm of [one, other]) await algorithm.train();
  await one.evaluate();
  expect(one.computeAction([1], { explore: true })).toBeTypeOf("number");
  expect([await one.train(), one.getWeights()]).toMatchObject([{ learners: (await other.train()).learners }, other.getWeights()]);
});

test("nothing is learnt before the buffer has enough steps, and trainingIntensity decides how much is", async () => {
  let updates = 0;
  class Counting extends DQNLearner {
    override update(...given: Parameters<DQNLearner["update"]>): Float32Array {
      updates += 1;
      return super.update(...given);
    }
  }
  await using algorithm = await config()
    .envRunners({ numEnvsPerEnvRunner: 4 })
    .learners({ learnerClass: Counting })
    .training({ numStepsSampledBeforeLearningStarts: 200, trainBatchSizePerLearner: 8, trainingIntensity: 4 })
    .reporting({ minSampleTimestepsPerIteration: 100 })
    .buildAlgo();
  expect((await algorithm.train()).learners).toEqual({});
  await algorithm.train();
  await algorithm.train();
  // From the step 200 on, 101 steps in 26 rounds: 4 rows of 8 for each.
  expect(updates).toBe(52);
});

test.each<[string, () => unknown, string]>([
  [
    "an option of PPO",
    () => config().training({ clipParam: 0.2 } as object),
    'Cannot set options of training() of DQN: there is no option "clipParam"',
  ],
  ["an old name", () => config().training({ bufferSize: 5 } as object), "it is capacity of replayBufferConfig"],
  [
    "an unknown type of buffer",
    () => config().training({ replayBufferConfig: { type: "Ring" as never } }),
    "Cannot set type of replayBufferConfig: ",
  ],
  ["a misspelt option of the buffer", () => config().training({ replayBufferConfig: { capcity: 5 } as object }), "did you mean capacity?"],
  [
    "no steps",
    () => config().training({ nStep: 0 }),
    "Cannot set nStep of training() of DQN: a whole number from 1, or two such as [2, 5]",
  ],
  ["a range that falls", () => config().training({ nStep: [5, 2] }), "two such as [2, 5], is needed"],
  ["an epsilon above 1", () => config().training({ epsilon: [[0, 2]] }), "Cannot set epsilon of training() of DQN: a number from 0 to 1"],
])("%s is refused when it is set", (_, run, reason) => {
  expect(run).toThrow(reason);
});

test.each<[string, () => DQNConfig, string]>([
  [
    "an action space of numbers",
    () => config().environment(Numbers),
    "Cannot choose actions by their values: the action space is Discrete: received ",
  ],
  [
    "an empty support",
    () => config().training({ numAtoms: 51, vMin: 5, vMax: 5 }),
    "Cannot build DQN: vMin is below vMax: received 5 and 5",
  ],
])("%s is refused by buildAlgo", async (_, make, reason) => {
  await expect(make().buildAlgo()).rejects.toThrow(reason);
});
