import { expect, test } from "vitest";
import { Random, scope, tensor, withRandom } from "../../tensor/index.ts";
import type { MultiAgentEnv, MultiAgentResetResult, MultiAgentStepResult } from "../environments/multi-agent/multi-agent-env.ts";
import { makeMultiAgent } from "../environments/registry.ts";
import { DQNConfig } from "../off-policy/dqn.ts";
import type { Fragment } from "../sequences/fragment.ts";
import { Dict } from "../spaces/composite.ts";
import { Discrete } from "../spaces/discrete.ts";
import { MultiBinary } from "../spaces/multi-binary.ts";
import type { Space } from "../spaces/space.ts";
import { joinAgents } from "./joint-fragment.ts";
import { MonotonicMixer } from "./mixers.ts";
import { QMixConfig } from "./qmix.ts";

const twoStep = (): QMixConfig =>
  new QMixConfig()
    .environment("TwoStepGame")
    .envRunners({ numEnvsPerEnvRunner: 8 })
    .training({ lr: 2e-3, epsilon: 1, targetNetworkUpdateFreq: 200, numStepsSampledBeforeLearningStarts: 500 })
    .reporting({ minSampleTimestepsPerIteration: 6000 })
    .evaluation({ evaluationDuration: 1, evaluationConfig: { explore: false } })
    .debugging({ seed: 1 });

/** With random actions the second matrix pays less than 7 to an agent that does not know the other's action. */
test.each([
  ["qmix", 8],
  ["vdn", 7],
  [null, 7],
] as const)("in the two-step game the mixer %s earns %s", async (mixer, earned) => {
  await using algorithm = await twoStep().training({ mixer }).buildAlgo();
  const { learners } = await algorithm.train();
  expect((await algorithm.evaluate()).envRunners.episodeReturnMean).toBe(earned);
  expect(learners["default_policy"]).toMatchObject({ qfLoss: expect.any(Number) as number, gradientsNorm: expect.any(Number) as number });
});

test("a team's value is that of the formula, and never falls when an agent's value grows", () => {
  const [agents, stateSize, width, rows] = [3, 4, 5, 6];
  const mixer = withRandom(new Random(3), () => new MonotonicMixer({ agents, stateSize, width }));
  const random = new Random(4);
  const drawn = (count: number): Float32Array => Float32Array.from({ length: count }, () => random.normal());
  const [values, states] = [drawn(rows * agents), drawn(rows * stateSize)];
  const weights = new Map(Array.from(mixer.namedParameters(), ([name, node]) => [name, node.toArray()]));
  /** Returns an output of a linear layer for a row. */
  const unit = (name: string, input: ArrayLike<number>, at: number): number => {
    const [matrix, bias] = [weights.get(`${name}.weight`) as Float32Array, weights.get(`${name}.bias`) as Float32Array];
    return Array.from(input).reduce((sum, x, index) => sum + x * (matrix[index * bias.length + at] as number), bias[at] as number);
  };
  const oracle = (row: number, own: ArrayLike<number>): number => {
    const state = states.subarray(row * stateSize, (row + 1) * stateSize);
    let total = unit(
      "V.2",
      Array.from({ length: width }, (_, at) => Math.max(0, unit("V.0", state, at))),
      0,
    );
    for (let at = 0; at < width; at += 1) {
      let sum = unit("hyper_b_1", state, at);
      for (let agent = 0; agent < agents; agent += 1)
        sum += (own[agent] as number) * Math.abs(unit("hyper_w_1", state, agent * width + at));
      total += (sum > 0 ? sum : Math.expm1(sum)) * Math.abs(unit("hyper_w_final", state, at));
    }
    return total;
  };
  const mixed = (given: Float32Array): Float32Array =>
    scope(() => mixer.mix(tensor(given, { shape: [rows, agents] }), tensor(states, { shape: [rows, stateSize] })).toArray());
  const before = mixed(values);
  for (let row = 0; row < rows; row += 1)
    expect(before[row]).toBeCloseTo(oracle(row, values.subarray(row * agents, (row + 1) * agents)), 4);
  for (let agent = 0; agent < agents; agent += 1) {
    const after = mixed(values.map((value, at) => (at % agents === agent ? value + 0.5 : value)));
    for (let row = 0; row < rows; row += 1) expect(after[row]).toBeGreaterThanOrEqual(before[row] as number);
  }
});

/** Two agents with observations of 1 and 2 numbers: an episode that ends, and one that is cut. */
function fragmentOf(size: number, agent: number, changes: Partial<Fragment> = {}): Fragment {
  return {
    rows: 3,
    obs: Float32Array.from({ length: 5 * size }, (_, at) => 100 * agent + at),
    actions: Int32Array.of(agent, 2, 3),
    rewards: Float32Array.of(1, 2, 3 + agent),
    actionLogp: new Float32Array(3),
    actionDistInputs: new Float32Array(0),
    sequences: Int32Array.of(0, 2, 1, 2, 1, 0),
    environments: Int32Array.of(4 + agent, 4 + agent),
    states: new Float32Array(0),
    ...changes,
  };
}
const SEATS = [
  { agent: "a", moduleId: "one", obsSize: 1, actionSize: 1 },
  { agent: "b", moduleId: "two", obsSize: 2, actionSize: 1 },
];
const rewardOf = (rewards: readonly number[]): number => rewards.reduce((sum, reward) => sum + reward);

test("a joint row has the observations, the actions and the reward of all agents", () => {
  const fragments = new Map([
    ["two", fragmentOf(2, 1)],
    ["one", fragmentOf(1, 0)],
  ]);
  expect(joinAgents(fragments, { seats: SEATS, rewardOf })).toMatchObject({
    rows: 3,
    obs: Float32Array.of(0, 100, 101, 1, 102, 103, 2, 104, 105, 3, 106, 107, 4, 108, 109),
    actions: Float32Array.of(0, 1, 2, 2, 3, 3),
    rewards: Float32Array.of(2, 4, 7),
    sequences: Int32Array.of(0, 2, 1, 2, 1, 0),
    environments: Int32Array.of(2, 2),
  });
});

test.each<[string, Fragment, string]>([
  ["ends earlier", fragmentOf(2, 1, { sequences: Int32Array.of(0, 1, 1, 1, 2, 0) }), "received 2 and 1 steps of a and 1 and 2 of b"],
  ["ends in another way", fragmentOf(2, 1, { sequences: Int32Array.of(0, 2, 2, 2, 1, 0) }), "the agents of a team act at once"],
  ["has another policy", fragmentOf(2, 1, { environments: Int32Array.of(4, 4) }), "agent a keeps its policy one in all episodes of a team"],
])("an agent that %s is refused", (_, other, reason) => {
  const fragments = new Map([
    ["one", fragmentOf(1, 0)],
    ["two", other],
  ]);
  expect(() => joinAgents(fragments, { seats: SEATS, rewardOf })).toThrow(reason);
});

/** Has one agent, two agents whose spaces differ, or two that act in turns. */
class Odd implements MultiAgentEnv {
  readonly possibleAgents: readonly string[];
  readonly observationSpaces: Readonly<Record<string, Space>>;
  readonly actionSpaces: Readonly<Record<string, Space>>;
  #turn = 0;

  constructor({ agents = ["a", "b"], last = new Discrete(2) }: { agents?: readonly string[]; last?: Space } = {}) {
    this.possibleAgents = agents;
    this.observationSpaces = Object.fromEntries(agents.map((agent) => [agent, new Discrete(2)]));
    this.actionSpaces = Object.fromEntries(agents.map((agent, at) => [agent, at === agents.length - 1 ? last : new Discrete(2)]));
  }

  reset(): MultiAgentResetResult {
    return { observations: { [this.possibleAgents[0] as string]: 0 } };
  }

  step(): MultiAgentStepResult {
    this.#turn = (this.#turn + 1) % this.possibleAgents.length;
    return { observations: { [this.possibleAgents[this.#turn] as string]: 0 }, rewards: {}, terminateds: { __all__: false } };
  }
}

test.each<[string, () => QMixConfig, string]>([
  [
    "an environment of one agent",
    () => twoStep().environment("CartPole-v1"),
    "Cannot build QMIX: it trains a team of two agents or more: CartPole-v1 has one agent",
  ],
  ["a team of one", () => twoStep().environment(Odd, { envConfig: { agents: ["a"] } }), "Odd has one agent. Use DQN"],
  [
    "agents with different actions",
    () => twoStep().environment(Odd, { envConfig: { last: new Discrete(3) } }),
    "Map agents of different spaces to different policies",
  ],
  [
    "numbers as actions",
    () => twoStep().environment(makeMultiAgent("Pendulum-v1"), { envConfig: { numAgents: 2 } }),
    "Cannot choose actions by their values: the action space is Discrete",
  ],
  [
    "a policy for each agent",
    () => twoStep().multiAgent({ policies: ["agent1", "agent2"] }),
    "all agents share one policy: received agent1, agent2",
  ],
  [
    "a learner of another algorithm",
    () => twoStep().learners({ learnerClass: new DQNConfig().defaultLearner }),
    "learnerClass extends QMixLearner",
  ],
])("%s is refused by buildAlgo", async (_, make, reason) => {
  await expect(make().buildAlgo()).rejects.toThrow(reason);
});

/** Two agents that may not choose the action 2, and earn 1 each if both choose 1. The last observations allow nothing, as games that are over do. */
class Forbidden implements MultiAgentEnv {
  readonly possibleAgents: readonly string[] = ["a", "b"];
  readonly observationSpaces: Readonly<Record<string, Space>>;
  readonly actionSpaces: Readonly<Record<string, Space>> = { a: new Discrete(3), b: new Discrete(3) };
  #steps = 0;

  constructor() {
    const space = (): Space => new Dict({ observations: new Discrete(2), actionMask: new MultiBinary(3) });
    this.observationSpaces = { a: space(), b: space() };
  }

  reset(): MultiAgentResetResult {
    this.#steps = 0;
    return { observations: this.#seen(1) };
  }

  step({ a, b }: Record<string, unknown>): MultiAgentStepResult {
    if (a === 2 || b === 2) throw new RangeError("a forbidden action was chosen");
    this.#steps += 1;
    const isOver = this.#steps === 2;
    const reward = a === 1 && b === 1 ? 1 : 0;
    return { observations: this.#seen(isOver ? 0 : 1), rewards: { a: reward, b: reward }, terminateds: { __all__: isOver } };
  }

  #seen(allowed: number): Record<string, unknown> {
    return Object.fromEntries(["a", "b"].map((agent, at) => [agent, { observations: at, actionMask: [allowed, allowed, 0] }]));
  }
}

// ray-project/ray#4693 and oxwhirl/smac#12: values of forbidden actions were mixed into targets, and nothing allowed at the end was an error.
test("masks hold in draws and in targets, and last observations may allow nothing", async () => {
  await using algorithm = await twoStep().environment(Forbidden).training({ epsilon: 0.5 }).buildAlgo();
  const { learners } = await algorithm.train();
  expect(learners["default_policy"]?.["qfMean"]).toBeLessThan(10);
  expect(learners["default_policy"]?.["qfMean"]).toBeGreaterThan(-10);
  expect((await algorithm.evaluate()).envRunners.episodeReturnMean).toBe(4);
});

test("agents that act in turns end training with their names", async () => {
  await using algorithm = await twoStep().environment(Odd).buildAlgo();
  await expect(algorithm.train()).rejects.toThrow("the agents of a team act at once");
});

test.each<[string, object, string]>([
  ["an unknown mixer", { mixer: "sum" }, 'Cannot set mixer of training() of QMIX: "qmix", "vdn" or null is needed: received "sum"'],
  ["no numbers in the mixer", { mixingEmbedDim: 0 }, "Cannot set mixingEmbedDim"],
  ["Ray's old name of the clipping", { gradNormClipping: 1 }, "it is gradClip"],
])("%s is refused when it is set", (_, training, reason) => {
  expect(() => twoStep().training(training)).toThrow(reason);
});
