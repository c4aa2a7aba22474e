import { afterEach, beforeEach, expect, type MockInstance, test, vi } from "vitest";
import { PPOConfig } from "../algorithms/ppo.ts";
import { DQNConfig } from "../off-policy/dqn.ts";

let warn: MockInstance;
beforeEach(() => void (warn = vi.spyOn(console, "warn").mockImplementation(() => {})));
afterEach(() => warn.mockRestore());

test("a program in old spellings runs, and each of them says today's name once", async () => {
  const config = new PPOConfig()
    .environment("CartPole-v1")
    .rollouts({ numRolloutWorkers: 0, numEnvsPerEnvRunner: 2 })
    .training({ numSgdIter: 2, sgdMinibatchSize: 50, trainBatchSize: 400 })
    .resources({ numGpus: 0 });
  config.copy().training({ numSgdIter: 3 }).rollouts({ numRolloutWorkers: 0 });
  await using algorithm = await config.build();
  expect(algorithm.config.values).toMatchObject({
    envRunners: { numEnvRunners: 0, numEnvsPerEnvRunner: 2 },
    training: { numEpochs: 2, minibatchSize: 50, trainBatchSizePerLearner: 400 },
  });
  const result = await algorithm.train();
  expect(result.envRunners.episodeReturnMean).toBeGreaterThan(0);
  expect(result.episodeRewardMean).toBe(result.envRunners.episodeReturnMean);
  expect(result.episodeRewardMean).toBe(result.envRunners.episodeReturnMean);
  expect(JSON.stringify(result)).not.toContain("episodeRewardMean");
  const lines = warn.mock.calls.map(([line]) => line as string);
  expect(
    lines
      .filter((line) => line.includes("old spelling"))
      .map((line) => line.replace("Shoal: ", "").replace(" is an old spelling: today it is ", " = ")),
  ).toEqual([
    "rollouts() = envRunners()",
    "numRolloutWorkers = numEnvRunners",
    "numSgdIter = numEpochs",
    "sgdMinibatchSize = minibatchSize",
    "trainBatchSize = trainBatchSizePerLearner",
    "resources({ numGpus }) = learners({ numGpusPerLearner })",
    "build() = buildAlgo()",
    "episodeRewardMean = envRunners.episodeReturnMean",
  ]);
  expect(lines.filter((line) => !line.includes("old spelling"))).toEqual([]);
});

test("algorithms without epochs have no old name of them", () => {
  expect(new DQNConfig().training({ trainBatchSize: 16 }).values.training.trainBatchSizePerLearner).toBe(16);
  expect(() => new DQNConfig().training({ numSgdIter: 2 })).toThrow('there is no option "numSgdIter"');
});

test.each<[() => unknown, string]>([
  [
    () => new PPOConfig().training({ numSgdIter: 2, numEpochs: 2 }),
    "Cannot set numEpochs of training(): numSgdIter has set it, as numEpochs has both names: received 2. Give one of them",
  ],
  [
    () => new PPOConfig().training({ numEpochs: 2 }).training({ numSgdIter: 2 }),
    "Cannot set numSgdIter of training(): numEpochs has set it",
  ],
  [
    () => new PPOConfig().envRunners({ numEnvRunners: 1 }).rollouts({ numWorkers: 1 }),
    "Cannot set numWorkers of rollouts(): numEnvRunners has set it",
  ],
  [
    () => new PPOConfig().rollouts({ numWorkers: 1, numRolloutWorkers: 1 }),
    "Cannot set numRolloutWorkers of rollouts(): numWorkers has set it",
  ],
  [() => new PPOConfig().envRunners({ numWorkers: 1 } as object), 'there is no option "numWorkers": it is numEnvRunners'],
  [() => new PPOConfig().training({ numSgdIter: 0 }), "Cannot set numEpochs of training() of PPO"],
  [() => new PPOConfig().resources({ numGpus: -1 }), "Cannot set numGpus of resources(): a number from 0 is needed: received -1"],
  [() => new PPOConfig().resources({ numGpu: 1 } as object), 'there is no option "numGpu"'],
  [() => new PPOConfig().framework("tf2" as "torch"), 'Cannot set name of framework(): "torch" is the only one: received "tf2"'],
  [
    () => new PPOConfig().framework("torch", { runtimeEnv: "venv" as never }),
    'Cannot set runtimeEnv of framework(): an object such as { python: "venv" } is needed: received "venv"',
  ],
  [
    () => new PPOConfig().environment("CartPole-v1").resources({ numGpus: 1 }).validate(),
    'numGpusPerLearner of learners() needs PyTorch, since the kernels of shoal/tensor use no GPU: received 1. Add framework("torch")',
  ],
  [() => new DQNConfig().environment("CartPole-v1").framework("torch").validate(), 'Cannot build DQN: framework("torch") goes with PPO'],
  [
    () => new PPOConfig().environment("CartPole-v1").framework("torch").learners({ numLearners: 2 }).validate(),
    'Cannot build PPO: with framework("torch") there is one learner: numLearners of learners() is 2. Leave it out',
  ],
])("%s is refused", (use, reason) => {
  expect(use).toThrow(reason);
});
