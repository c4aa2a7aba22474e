import { expect, test } from "vitest";
import { PPOConfig } from "../algorithms/ppo.ts";
import { RLModule } from "../modules/rl-module.ts";

const config = (): PPOConfig => new PPOConfig().environment("CartPole-v1");

test.each<[string, (made: PPOConfig) => unknown, string]>([
  [
    "a misspelt option",
    (made) => made.training({ minibatchsize: 5 } as object),
    'there is no option "minibatchsize": it is spelled minibatchSize',
  ],
  ["another name of Ray's", (made) => made.training({ lambda_: 1 } as object), 'there is no option "lambda_": it is lambda'],
  [
    "an option of another algorithm",
    (made) => made.training({ targetNetworkUpdateFreq: 5 } as object),
    'Cannot set options of training() of PPO: there is no option "targetNetworkUpdateFreq"',
  ],
  ["an option of another method", (made) => made.envRunners({ numEnvRuners: 5 } as object), "did you mean numEnvRunners"],
  ["an unknown callback", (made) => made.callbacks({ onEpisode: () => {} } as object), 'there is no option "onEpisode"'],
  [
    "an impossible value",
    (made) => made.training({ lr: -1 }),
    "Cannot set lr of training() of PPO: a number from 0, or a list of [step, value] with rising steps from 0, is needed: received -1",
  ],
  [
    "a schedule that does not rise",
    (made) =>
      made.training({
        lr: [
          [0, 1],
          [5, 0.5],
          [5, 0.1],
        ],
      }),
    "with rising steps from 0, is needed",
  ],
  ["a schedule that begins late", (made) => made.training({ entropyCoeff: [[10, 1]] }), "with rising steps from 0, is needed"],
  [
    "a seed in words",
    (made) => made.debugging({ seed: "one" as never }),
    'Cannot set seed of debugging(): a whole number is needed: received "one"',
  ],
  ["a function as module", (made) => made.rlModule({ moduleClass: (() => {}) as never }), "a class that extends RLModule is needed"],
  ["an unknown environment", (made) => made.environment("CartPole-v9"), "did you mean CartPole-v1?"],
])("%s is refused when it is set", (_, set, reason) => {
  expect(() => set(config())).toThrow(reason);
});

test.each<[string, () => PPOConfig, string]>([
  ["no environment", () => new PPOConfig(), 'Cannot build PPO: it has no environment. Set one: .environment("CartPole-v1")'],
  [
    "a minibatch larger than the batch",
    () => config().training({ trainBatchSizePerLearner: 100 }),
    "minibatchSize is at most trainBatchSizePerLearner, 100: received 128",
  ],
  [
    "a misspelt modelConfig",
    () => config().rlModule({ modelConfig: { fcnetHidden: [5] } }),
    'Cannot set options of modelConfig: there is no option "fcnetHidden": did you mean fcnetHiddens or',
  ],
  [
    "a learner of another algorithm",
    () => config().learners({ learnerClass: class Other {} as never }),
    "Cannot build PPO: learnerClass extends PPOLearner: received ",
  ],
])("%s is refused by buildAlgo", async (_, make, reason) => {
  await expect(make().buildAlgo()).rejects.toThrow(reason);
});

test("values are set over several calls, and copies change alone", () => {
  const first = config().training({ lr: 1e-3 }).training({ gamma: 0.9 });
  const other = first.copy().training({ lr: 1e-4 });
  expect([first.values.training.lr, first.values.training.gamma, first.values.training.clipParam]).toEqual([1e-3, 0.9, 0.3]);
  expect([other.values.training.lr, other.values.training.gamma]).toEqual([1e-4, 0.9]);
});

test("a frozen configuration takes no values, its copy does", () => {
  const frozen = config().freeze();
  expect(() => frozen.training({ lr: 1 })).toThrow("Cannot set training of PPOConfig: it is frozen. Change a copy: config.copy()");
  expect(frozen.copy().training({ lr: 1 }).values.training.lr).toBe(1);
});

test("toDict shows the data by part, and classes by their names", () => {
  class Net extends RLModule {
    forward(): object {
      return {};
    }
  }
  expect(config().rlModule({ moduleClass: Net }).toDict()).toMatchObject({
    algorithm: "PPO",
    environment: { env: "CartPole-v1" },
    training: { numEpochs: 30, minibatchSize: 128, klTarget: 0.01 },
    rlModule: { moduleClass: "Net" },
  });
});

test("an algorithm keeps the configuration that it was built with", async () => {
  const made = config().training({ numEpochs: 2 });
  await using algorithm = await made.buildAlgo();
  made.training({ numEpochs: 7 });
  expect(algorithm.config.values.training).toMatchObject({ numEpochs: 2 });
  expect(() => algorithm.config.training({})).toThrow("it is frozen");
});
