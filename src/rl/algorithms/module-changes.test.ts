import { expect, test } from "vitest";
import { APPOConfig } from "../asynchronous/appo.ts";
import { MeanStdFilter } from "../connectors/mean-std-filter.ts";
import type { MultiAgentEnv, MultiAgentResetResult, MultiAgentStepResult } from "../environments/multi-agent/multi-agent-env.ts";
import { makeMultiAgent } from "../environments/registry.ts";
import { DQNConfig } from "../off-policy/dqn.ts";
import { Box } from "../spaces/box.ts";
import { Discrete } from "../spaces/discrete.ts";
import { QMixConfig } from "../teams/qmix.ts";
import { type PPO, PPOConfig } from "./ppo.ts";

function ticTacToe(): PPOConfig {
  return new PPOConfig()
    .environment("TicTacToe")
    .envRunners({ numEnvsPerEnvRunner: 4 })
    .training({ trainBatchSizePerLearner: 200, minibatchSize: 50, numEpochs: 2, lr: 1e-3 })
    .rlModule({ modelConfig: { fcnetHiddens: [16] } })
    .multiAgent({
      policies: ["main", "first"],
      policyMappingFn: (agent) => (agent === "player1" ? "main" : "first"),
      policiesToTrain: ["main"],
    })
    .debugging({ seed: 1 });
}

/** Two agents whose observations have different spaces. */
class Unequal implements MultiAgentEnv {
  readonly possibleAgents: readonly string[] = ["eye", "ear"];
  readonly observationSpaces = { eye: new Box({ low: 0, high: 1, shape: [3] }), ear: new Discrete(4) };
  readonly actionSpaces = { eye: new Discrete(2), ear: new Discrete(2) };

  reset(): MultiAgentResetResult {
    return { observations: { eye: [0, 1, 0], ear: 3 } };
  }

  step(): MultiAgentStepResult {
    return { observations: { eye: [1, 0, 0], ear: 1 }, rewards: { eye: 1, ear: 1 }, terminateds: { __all__: true } };
  }
}

const weights = (algorithm: PPO, id: string): Float32Array => algorithm.getWeights([id])[id] as Float32Array;

test("an added policy begins as a copy, plays from the next episodes on, and learns where it is said", async () => {
  await using algorithm = await ticTacToe().buildAlgo();
  await algorithm.train();
  await algorithm.addModule("copy", { weightsOf: "main" });
  expect(weights(algorithm, "copy")).toEqual(weights(algorithm, "main"));
  expect(Object.keys((await algorithm.train()).envRunners.moduleEpisodeReturnsMean ?? {})).not.toContain("copy");
  expect(weights(algorithm, "copy")).not.toEqual(weights(algorithm, "main"));
  const before = weights(algorithm, "copy");

  await algorithm.addModule("pupil", {
    configOverrides: { lr: 0.5 },
    modelConfig: { fcnetHiddens: [8] },
    policyMappingFn: (agent) => (agent === "player1" ? "copy" : "pupil"),
    policiesToTrain: ["pupil"],
  });
  const { learners } = await algorithm.train();
  expect(learners).toMatchObject({ pupil: { learningRate: 0.5 } });
  expect(Object.keys(learners)).toEqual(["pupil"]);
  expect(Object.keys((await algorithm.train()).envRunners.moduleEpisodeReturnsMean ?? {})).toContain("pupil");
  expect(weights(algorithm, "copy")).toEqual(before);
  expect(algorithm.computeAction<number>(new Float32Array(9), { moduleId: "pupil" })).toBeLessThan(9);
  expect(algorithm.config.values.multiAgent.policiesToTrain).toEqual(["pupil"]);
});

test("all policies learn, added ones too, where none are named", async () => {
  await using algorithm = await new PPOConfig()
    .environment(makeMultiAgent("CartPole-v1"))
    .training({ trainBatchSizePerLearner: 100, minibatchSize: 50, numEpochs: 1 })
    .rlModule({ modelConfig: { fcnetHiddens: [8] } })
    .envRunners({ envToModuleConnector: () => new MeanStdFilter() })
    .debugging({ seed: 1 })
    .buildAlgo();
  await algorithm.train();
  await algorithm.addModule("second", { policyMappingFn: (agent) => (agent === "agent0" ? "default_policy" : "second") });
  expect(Object.keys((await algorithm.train()).learners)).toEqual(["default_policy", "second"]);
  await algorithm.addModule("third", { weightsOf: "second" });
  const observations = Array.from({ length: 40 }, (_, index) => [0, Math.sin(index), Math.cos(index) / 9, Math.sin(2 * index)]);
  // The filter is copied with the weights.
  expect(algorithm.computeActions(observations, { moduleId: "third" })).toEqual(
    algorithm.computeActions(observations, { moduleId: "second" }),
  );
});

test("a removed policy is gone everywhere, and episodes in which it acts are dropped", async () => {
  await using algorithm = await ticTacToe().evaluation({ evaluationDuration: 4 }).buildAlgo();
  await algorithm.train();
  await algorithm.removeModule("first", { policyMappingFn: () => "main" });
  const { envRunners, learners } = await algorithm.train();
  expect(Object.keys(learners)).toEqual(["main"]);
  expect(envRunners.numEpisodes).toBeGreaterThan(4);
  const { moduleEpisodeReturnsMean } = (await algorithm.evaluate()).envRunners;
  expect(Object.keys(moduleEpisodeReturnsMean ?? {})).toEqual(["main"]);
  expect(() => algorithm.getWeights(["first"])).toThrow('there is no policy "first": there are main');
  // The only one left is the policy of calls that name none.
  expect(algorithm.computeAction<number>(new Float32Array(9))).toBeLessThan(9);
});

test("a policy that learns is removed from those that are trained", async () => {
  await using algorithm = await ticTacToe()
    .multiAgent({ policiesToTrain: ["main", "first"] })
    .buildAlgo();
  await algorithm.train();
  await algorithm.removeModule("first", { policyMappingFn: () => "main" });
  expect(algorithm.config.values.multiAgent.policiesToTrain).toEqual(["main"]);
  await algorithm.addModule("first", { policyMappingFn: (agent) => (agent === "player1" ? "main" : "first") });
  expect(Object.keys((await algorithm.train()).learners)).toEqual(["main"]);
});

test("a copy has the spaces of its origin, also where agents differ", async () => {
  await using algorithm = await new PPOConfig()
    .environment(Unequal)
    .training({ trainBatchSizePerLearner: 40, minibatchSize: 20, numEpochs: 1 })
    .rlModule({ modelConfig: { fcnetHiddens: [4] } })
    .multiAgent({ policies: ["eye", "ear"] })
    .buildAlgo();
  await algorithm.addModule("eye2", { weightsOf: "eye" });
  expect(algorithm.computeActions([[0, 1, 0]], { moduleId: "eye2" })).toEqual(algorithm.computeActions([[0, 1, 0]], { moduleId: "eye" }));
  await expect(algorithm.addModule("nose")).rejects.toThrow("Cannot make policy nose: no agent is mapped to it at first");
  await expect(algorithm.addModule("eye3", { weightsOf: "ear", observationSpace: new Discrete(9) })).rejects.toThrow(
    "Cannot add module eye3: it has encoder.hidden",
  );
});

test.each<[string, (algorithm: PPO) => Promise<void>, string]>([
  ["an id that exists", async (it) => await it.addModule("main"), "Cannot add module main: there is one of this id"],
  ["an id that is no name of a folder", async (it) => await it.addModule("../x"), "Cannot add a module: an id has letters"],
  ["a copy of nobody", async (it) => await it.addModule("x", { weightsOf: "mian" }), 'received "mian". Did you mean main?'],
  ["a misspelt option", async (it) => await it.addModule("x", { weightOf: "main" } as object), "weightsOf"],
  ["Ray's name of an option", async (it) => await it.addModule("x", { moduleSpec: {} } as object), "it is moduleClass, modelConfig"],
  ["a misspelt option of the network", async (it) => await it.addModule("x", { modelConfig: { fcnetHidden: [1] } }), "fcnetHiddens"],
  ["a misspelt value of training", async (it) => await it.addModule("x", { configOverrides: { lrr: 1 } }), "lr"],
  [
    "training of nobody",
    async (it) => await it.addModule("x", { policiesToTrain: ["y"] }),
    'policiesToTrain of multiAgent() has the policy "y"',
  ],
  [
    "a mapping to nobody",
    async (it) => await it.addModule("x", { policyMappingFn: () => "z" }),
    "Cannot map agent player1 to a policy: policyMappingFn returns one of main, first, x",
  ],
  [
    "a copy into another network",
    async (it) => await it.addModule("x", { weightsOf: "main", modelConfig: { fcnetHiddens: [3] } }),
    "Cannot add module x: it has",
  ],
  ["an unknown id to remove", async (it) => await it.removeModule("frist"), "Cannot remove a module: there is none of this id"],
  [
    "a policy that agents are mapped to",
    async (it) => await it.removeModule("first"),
    'Cannot map agent player2 to a policy: policyMappingFn returns one of main: received "first"',
  ],
  [
    "training of the removed one",
    async (it) => await it.removeModule("first", { policyMappingFn: () => "main", policiesToTrain: ["first"] }),
    "does not exist",
  ],
])("%s is refused, and nothing changes", async (_, call, reason) => {
  await using algorithm = await ticTacToe().buildAlgo();
  const before = algorithm.getWeights();
  await expect((async () => await call(algorithm))()).rejects.toThrow(reason);
  expect(algorithm.getWeights()).toEqual(before);
  expect(Object.keys((await algorithm.train()).learners)).toEqual(["main"]);
});

test("the only policy, one agent and a team that learns together are refused", async () => {
  await using single = await new PPOConfig().environment("CartPole-v1").buildAlgo();
  await expect(single.addModule("x")).rejects.toThrow("Cannot add a module: CartPole-v1 has one agent, which has one policy");
  await using team = await new QMixConfig().environment("TwoStepGame").buildAlgo();
  await expect(team.removeModule("default_policy")).rejects.toThrow("the agents of QMIX learn together, and their policies are fixed");
  await using alone = await ticTacToe()
    .multiAgent({ policies: ["main"], policyMappingFn: () => "main" })
    .buildAlgo();
  await expect(alone.removeModule("main")).rejects.toThrow("Cannot remove module main: it is the only one");
});

test("onTrainResult may change the policies, and may not train", async () => {
  let refused: unknown;
  await using algorithm = await ticTacToe()
    .callbacks({
      onTrainResult: async ({ algorithm: it, result }) => {
        if (result.trainingIteration !== 1) return;
        await it.addModule("v1", { weightsOf: "main", policyMappingFn: (agent) => (agent === "player1" ? "main" : "v1") });
        await it.removeModule("first");
        refused = await it.train().catch((error: unknown) => error);
      },
    })
    .buildAlgo();
  await algorithm.train();
  expect(String(refused)).toContain("Cannot train: onTrainResult of the last iteration is under way");
  await algorithm.train();
  expect(Object.keys(algorithm.getWeights())).toEqual(["main", "v1"]);
});

test("a policy of an old id has a buffer of its own", async () => {
  await using algorithm = await new DQNConfig()
    .environment("TicTacToe")
    .training({ trainBatchSizePerLearner: 16, numStepsSampledBeforeLearningStarts: 30, replayBufferConfig: { capacity: 150 } })
    .rlModule({ modelConfig: { fcnetHiddens: [8] } })
    .multiAgent({ policies: ["player1", "player2"] })
    .reporting({ minSampleTimestepsPerIteration: 100 })
    .debugging({ seed: 1 })
    .buildAlgo();
  expect(Object.keys((await algorithm.train()).learners)).toEqual(["player1", "player2"]);
  await algorithm.removeModule("player2", { policyMappingFn: () => "player1" });
  expect(Object.keys((await algorithm.train()).learners)).toEqual(["player1"]);
  await algorithm.addModule("player2", { modelConfig: { fcnetHiddens: [5] }, policyMappingFn: (agent) => agent });
  expect(Object.keys((await algorithm.train()).learners)).toEqual(["player1", "player2"]);
});

test("batches that APPO keeps are forgotten with a policy", async () => {
  await using algorithm = await new APPOConfig()
    .environment("TicTacToe")
    .training({ trainBatchSizePerLearner: 60, circularBufferNumBatches: 2 })
    .rlModule({ modelConfig: { fcnetHiddens: [8] } })
    .multiAgent({ policies: ["player1", "player2"] })
    .reporting({ minTimeMsPerIteration: 0 })
    .debugging({ seed: 1 })
    .buildAlgo();
  await algorithm.train();
  await algorithm.removeModule("player2", { policyMappingFn: () => "player1" });
  await algorithm.addModule("player2", { modelConfig: { fcnetHiddens: [3] }, policyMappingFn: (agent) => agent });
  for (let iteration = 0; iteration < 4; iteration += 1) expect((await algorithm.train()).trainingIteration).toBe(iteration + 2);
});

test("environments of the algorithm's process get another task, which a time limit does not hide", async () => {
  await using algorithm = await new PPOConfig()
    .environment("FrozenLake-v1")
    .envRunners({ numEnvsPerEnvRunner: 2 })
    .training({ trainBatchSizePerLearner: 20, minibatchSize: 20, numEpochs: 1 })
    .buildAlgo();
  const answers = await algorithm.forEachEnvRunner(({ env, workerIndex }) => [
    workerIndex,
    "envs" in env ? env.envs?.map((each) => each.constructor.name) : undefined,
  ]);
  expect(answers).toEqual([[0, ["FrozenLake", "FrozenLake"]]]);
  await expect(algorithm.forEachEnvRunner(3 as never)).rejects.toThrow(
    "Cannot call runners: a function of { env, workerIndex } is needed: received 3",
  );
});
