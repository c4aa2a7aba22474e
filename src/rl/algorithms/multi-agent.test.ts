import { expect, test } from "vitest";
import type { MultiAgentEnv, MultiAgentResetResult, MultiAgentStepResult } from "../environments/multi-agent/multi-agent-env.ts";
import { makeMultiAgent } from "../environments/registry.ts";
import { DQNConfig } from "../off-policy/dqn.ts";
import { TD3Config } from "../off-policy/td3.ts";
import { Box } from "../spaces/box.ts";
import { Discrete } from "../spaces/discrete.ts";
import { PPOConfig } from "./ppo.ts";

/** Three agents with spaces of three kinds: each earns 1 for the action that its observation names. */
class Mixed implements MultiAgentEnv {
  readonly possibleAgents: readonly string[] = ["left", "right", "dial"];
  readonly observationSpaces = { left: new Discrete(2), right: new Discrete(2), dial: new Box({ low: 0, high: 1, shape: [2] }) };
  readonly actionSpaces = { left: new Discrete(2), right: new Discrete(2), dial: new Discrete(3) };
  #at = 0;

  reset(): MultiAgentResetResult {
    this.#at = 0;
    return { observations: this.#seen() };
  }

  step({ left, right, dial }: Record<string, number>): MultiAgentStepResult {
    const wanted = this.#at % 2;
    this.#at += 1;
    return {
      observations: this.#seen(),
      rewards: { left: Number(left === wanted), right: Number(right === 1 - wanted), dial: Number(dial === 2 - wanted) },
      terminateds: { __all__: this.#at === 4 },
    };
  }

  #seen(): Record<string, unknown> {
    return { left: this.#at % 2, right: this.#at % 2, dial: [this.#at % 2, 1] };
  }
}

function mixed(): PPOConfig {
  return new PPOConfig()
    .environment(Mixed)
    .envRunners({ numEnvsPerEnvRunner: 4 })
    .training({ lr: 5e-3, trainBatchSizePerLearner: 400, minibatchSize: 100, numEpochs: 5 })
    .rlModule({ modelConfig: { fcnetHiddens: [16] } })
    .multiAgent({ policies: ["left", "right", "dial"] })
    .debugging({ seed: 1 });
}

test("policies of several spaces learn side by side, with results for each agent and module", async () => {
  await using algorithm = await mixed()
    .evaluation({ evaluationDuration: 6, evaluationConfig: { explore: false } })
    .buildAlgo();
  let result = await algorithm.train();
  for (let iteration = 0; (result.envRunners.episodeReturnMean ?? 0) < 11 && iteration < 30; iteration += 1)
    result = await algorithm.train();
  const { envRunners, learners } = result;
  expect(envRunners.episodeReturnMean).toBeGreaterThan(11);
  const { agentEpisodeReturnsMean: agents = {}, moduleEpisodeReturnsMean: modules = {} } = envRunners;
  expect(Object.keys(agents)).toEqual(["left", "right", "dial"]);
  expect(modules).toEqual(agents);
  expect(Object.values(agents).reduce((sum, mean) => sum + mean)).toBeCloseTo(envRunners.episodeReturnMean ?? 0, 9);
  expect(Object.keys(learners)).toEqual(["left", "right", "dial"]);
  expect(algorithm.computeAction(1, { moduleId: "right" })).toBe(0);
  expect(
    algorithm.computeActions(
      [
        [0, 1],
        [1, 1],
      ],
      { moduleId: "dial" },
    ),
  ).toEqual([2, 1]);
  expect((await algorithm.evaluate()).envRunners).toMatchObject({
    numEpisodes: 6,
    numEnvStepsSampled: 24,
    episodeReturnMean: 12,
    agentEpisodeReturnsMean: { left: 4, right: 4, dial: 4 },
  });
});

test("agents that share a policy learn one network, and the module's return is their sum", async () => {
  const shared = mixed().multiAgent({ policies: ["hands", "dial"], policyMappingFn: (agent) => (agent === "dial" ? "dial" : "hands") });
  await using algorithm = await shared.buildAlgo();
  const { agentEpisodeReturnsMean: agents = {}, moduleEpisodeReturnsMean: modules = {} } = (await algorithm.train()).envRunners;
  expect(modules["hands"]).toBeCloseTo((agents["left"] ?? 0) + (agents["right"] ?? 0), 9);
  expect(Object.keys(algorithm.getWeights())).toEqual(["hands", "dial"]);
});

test("only the policies to train change, and each may have values of training of its own", async () => {
  const config = mixed().multiAgent({
    policiesToTrain: ["left", "dial"],
    algorithmConfigOverridesPerModule: { dial: { lr: 1e-9, numEpochs: 1 } },
  });
  await using algorithm = await config.buildAlgo();
  const before = algorithm.getWeights();
  const { learners } = await algorithm.train();
  const after = algorithm.getWeights(["left", "right", "dial"]);
  expect(Object.keys(learners)).toEqual(["left", "dial"]);
  expect(learners).toMatchObject({ left: { learningRate: 5e-3 }, dial: { learningRate: 1e-9 } });
  expect(after["right"]).toEqual(before["right"]);
  expect(after["left"]).not.toEqual(before["left"]);
});

test("without multiAgent() all agents share one policy, and equal policies begin with different weights", async () => {
  const twins = new PPOConfig()
    .environment("RockPaperScissors")
    .training({ trainBatchSizePerLearner: 20, minibatchSize: 20, numEpochs: 1 });
  await using shared = await twins.copy().buildAlgo();
  expect(Object.keys((await shared.train()).learners)).toEqual(["default_policy"]);
  expect([0, 1, 2]).toContain(shared.computeAction(0));
  await using several = await twins.multiAgent({ policies: ["player1", "player2"] }).buildAlgo();
  const { player1, player2 } = several.getWeights();
  expect(player1).not.toEqual(player2);
});

test("a batch counts steps of environments, or of agents", async () => {
  const config = mixed().training({ trainBatchSizePerLearner: 120, minibatchSize: 40, numEpochs: 1 });
  await using byEnv = await config.copy().buildAlgo();
  expect((await byEnv.train()).envRunners.numEnvStepsSampled).toBe(120);
  await using byAgent = await config.copy().multiAgent({ countStepsBy: "agent_steps" }).buildAlgo();
  expect((await byAgent.train()).envRunners.numEnvStepsSampled).toBe(40);
});

test("DQN learns several policies, each from a buffer of its own", async () => {
  await using algorithm = await new DQNConfig()
    .environment(Mixed)
    .envRunners({ numEnvsPerEnvRunner: 4 })
    .training({
      lr: 5e-3,
      numStepsSampledBeforeLearningStarts: 100,
      epsilon: [
        [0, 1],
        [1000, 0.05],
      ],
      targetNetworkUpdateFreq: 50,
    })
    .rlModule({ modelConfig: { fcnetHiddens: [16] } })
    .multiAgent({ policies: ["left", "right", "dial"] })
    .debugging({ seed: 1 })
    .buildAlgo();
  let mean = 0;
  for (let iteration = 0; mean < 11 && iteration < 8; iteration += 1) mean = (await algorithm.train()).envRunners.episodeReturnMean ?? 0;
  expect(mean).toBeGreaterThan(11);
  expect(algorithm.computeAction([0, 1], { moduleId: "dial" })).toBe(2);
});

test("TD3 acts with numbers for several agents, with the noise of each", async () => {
  await using algorithm = await new TD3Config()
    .environment(makeMultiAgent("Pendulum-v1"), { envConfig: { numAgents: 2 } })
    .training({ trainBatchSizePerLearner: 16, numStepsSampledBeforeLearningStarts: 50, explorationConfig: { randomTimesteps: 60 } })
    .rlModule({ modelConfig: { fcnetHiddens: [16] } })
    .debugging({ seed: 1 })
    .buildAlgo();
  const { learners } = await algorithm.train();
  expect(learners["default_policy"]).toMatchObject({ qfLoss: expect.any(Number) as number });
});

test.each<[string, () => PPOConfig, string]>([
  [
    "an agent without a policy",
    () => mixed().multiAgent({ policies: ["left", "right"] }),
    "Cannot map agent dial to a policy: there are left, right, and none is called dial. Give multiAgent({ policyMappingFn })",
  ],
  [
    "a mapping to an unknown policy",
    () => mixed().multiAgent({ policyMappingFn: () => "letf" }),
    'policyMappingFn returns one of left, right, dial: received "letf". Did you mean left?',
  ],
  [
    "agents of different spaces in one policy",
    () => mixed().multiAgent({ policyMappingFn: () => "left" }),
    "Cannot make policy left: its observationSpace is",
  ],
  [
    "a policy without agents, where spaces differ",
    () => mixed().multiAgent({ policies: ["left", "right", "dial", "spare"] }),
    'Cannot make policy spare: no agent is mapped to it at first, and the agents have different spaces, so its observationSpace is unknown. Give policies: { "spare": { observationSpace } }',
  ],
  [
    "a space that is not that of the agents",
    () => mixed().multiAgent({ policies: { left: { observationSpace: new Discrete(3) }, right: {}, dial: {} } }),
    'Cannot make policy left: its observationSpace is {"type":"Discrete","n":3,"start":0}, and agent left has',
  ],
  [
    "an unknown policy to train",
    () => mixed().multiAgent({ policiesToTrain: ["rigth"] }),
    'policiesToTrain of multiAgent() has the policy "rigth", which does not exist: did you mean right?',
  ],
  [
    "values of training for an unknown policy",
    () => mixed().multiAgent({ algorithmConfigOverridesPerModule: { nobody: {} } }),
    'algorithmConfigOverridesPerModule of multiAgent() has the policy "nobody", which does not exist: there are left, right, dial',
  ],
  ["a misspelt value of training", () => mixed().multiAgent({ algorithmConfigOverridesPerModule: { left: { lrr: 1 } } }), "lr"],
  [
    "policies for an environment with one agent",
    () => mixed().environment("CartPole-v1"),
    "Cannot build PPO: CartPole-v1 has one agent, as it has no observationSpaces, and multiAgent() has policies. Leave multiAgent() out",
  ],
  [
    "a misspelt option of a policy's network",
    () => mixed().multiAgent({ policies: { left: { modelConfig: { fcnetHidden: [1] } } } }),
    "fcnetHiddens",
  ],
])("%s is refused before anything starts", async (_, config, reason) => {
  await expect((async () => await config().buildAlgo())()).rejects.toThrow(reason);
});

test.each([[[]], [["a", "a"]], [["a/b"]], [[".."]], [[""]], [{ a: { spaces: 1 } }], [{ a: { observationSpace: 3 } }], [7]])(
  "the policies %j are refused when they are set",
  (policies) => {
    expect(() => new PPOConfig().multiAgent({ policies: policies as readonly string[] })).toThrow("Cannot set policies of multiAgent()");
  },
);

test("a call says which policy it means where there are several", async () => {
  await using algorithm = await mixed().buildAlgo();
  expect(() => algorithm.computeAction(1)).toThrow(
    "Cannot compute an action: moduleId is needed, as there are several policies: there are left, right, dial",
  );
  expect(() => algorithm.computeAction(1, { moduleId: "up" })).toThrow('there is no policy "up": there are left, right, dial');
  expect(() => algorithm.getWeights(["up"])).toThrow('Cannot get weights: there is no policy "up"');
  expect(() => algorithm.setWeights({ left: new Float32Array(1) })).toThrow("Cannot set weights: left has ");
});

test("policies may be called like members of objects, and one that nobody plays learns nothing", async () => {
  const policyMappingFn = (agent: string): string => (agent === "dial" ? "toString" : "constructor");
  const config = mixed().multiAgent({
    policies: { toString: {}, constructor: {}, spare: { observationSpace: new Discrete(2), actionSpace: new Discrete(2) } },
    policyMappingFn,
  });
  await using algorithm = await config.buildAlgo();
  const { learners, envRunners } = await algorithm.train();
  expect(Object.keys(learners)).toEqual(["toString", "constructor"]);
  expect(Object.keys(envRunners.moduleEpisodeReturnsMean ?? {}).toSorted()).toEqual(["constructor", "toString"]);
  expect(algorithm.computeAction<number>([0, 1], { moduleId: "toString" })).toBeLessThan(3);
  expect(() => algorithm.computeAction(0, { moduleId: "valueOf" })).toThrow(
    'there is no policy "valueOf": there are toString, constructor, spare',
  );
});

test("with no policy to train nothing changes", async () => {
  await using algorithm = await mixed().multiAgent({ policiesToTrain: [] }).buildAlgo();
  const before = algorithm.getWeights();
  expect((await algorithm.train()).learners).toEqual({});
  expect(algorithm.getWeights()).toEqual(before);
});
