import { expect, test } from "vitest";
import { backward, Random, scope, tensor } from "../../tensor/index.ts";
import type { MultiAgentEnv, MultiAgentResetResult, MultiAgentStepResult } from "../environments/multi-agent/multi-agent-env.ts";
import { Box } from "../spaces/box.ts";
import { Discrete } from "../spaces/discrete.ts";
import { MultiDiscrete } from "../spaces/multi-discrete.ts";
import type { Space } from "../spaces/space.ts";
import { gumbelSoftmax, oneHot } from "./gumbel-softmax.ts";
import { MADDPGConfig } from "./maddpg.ts";

/** The first agent chooses, and the second turns a dial. Both earn for the choice 2 and for a dial at 7, the dial itself earns a little more. */
class Panel implements MultiAgentEnv {
  readonly possibleAgents: readonly string[] = ["choice", "dial"];
  readonly observationSpaces: Readonly<Record<string, Space>> = { choice: new Discrete(2), dial: new Box({ low: 0, high: 1, shape: [2] }) };
  readonly actionSpaces: Readonly<Record<string, Space>> = { choice: new Discrete(3), dial: new Box({ low: 0, high: 10 }) };
  #at = 0;

  reset(): MultiAgentResetResult {
    this.#at = 0;
    return { observations: this.#seen() };
  }

  step({ choice, dial }: Record<string, unknown>): MultiAgentStepResult {
    this.#at += 1;
    const shared = Number(choice === 2) - Math.abs(((dial as readonly number[])[0] as number) - 7) / 3;
    return { observations: this.#seen(), rewards: { choice: shared, dial: shared + 0.5 }, terminateds: { __all__: this.#at === 3 } };
  }

  #seen(): Record<string, unknown> {
    return { choice: this.#at % 2, dial: [0.5, 1] };
  }
}

class ManyChoices extends Panel {
  override readonly actionSpaces: Readonly<Record<string, Space>> = {
    choice: new MultiDiscrete([2, 2]),
    dial: new Box({ low: 0, high: 10 }),
  };
}

class Endless extends Panel {
  override readonly actionSpaces: Readonly<Record<string, Space>> = { choice: new Discrete(3), dial: new Box({ low: 0, high: Infinity }) };
}

const panel = (): MADDPGConfig =>
  new MADDPGConfig()
    .environment(Panel)
    .envRunners({ numEnvsPerEnvRunner: 2 })
    .multiAgent({ policies: ["choice", "dial"] })
    .training({ trainBatchSizePerLearner: 64, numStepsSampledBeforeLearningStarts: 100, actorLr: 3e-3, criticLr: 3e-3, gamma: 0.5 })
    .training({ explorationConfig: { randomTimesteps: 200, stddev: 0.2 } })
    .rlModule({ modelConfig: { fcnetHiddens: [16] } })
    .reporting({ minSampleTimestepsPerIteration: 3000 })
    .evaluation({ evaluationDuration: 2, evaluationConfig: { explore: false } })
    .debugging({ seed: 1 });

test("an agent that chooses and one that turns a dial learn together, each from its own reward", async () => {
  await using algorithm = await panel().buildAlgo();
  const { learners } = await algorithm.train();
  expect(algorithm.computeAction(1, { moduleId: "choice" })).toBe(2);
  const [dial] = algorithm.computeAction<readonly [number]>([0.5, 1], { moduleId: "dial" });
  expect(Math.abs(dial - 7)).toBeLessThan(1);
  const { agentEpisodeReturnsMean: returns = {} } = (await algorithm.evaluate()).envRunners;
  expect((returns["dial"] as number) - (returns["choice"] as number)).toBeCloseTo(1.5, 5);
  // The critic of the dial knows the half that the dial alone earns.
  for (const id of ["choice", "dial"])
    expect(learners[id]).toMatchObject({ qfLoss: expect.any(Number) as number, policyLoss: expect.any(Number) as number });
  expect(learners["dial"]?.["qfMean"]).toBeGreaterThan(learners["choice"]?.["qfMean"] as number);
});

test("relaxed draws are distributed as the choices, and have gradients", () => {
  const [random, rows] = [new Random(1), 20_000];
  const logits = [0.5, -1, 1];
  const total = logits.reduce((sum, logit) => sum + Math.exp(logit), 0);
  scope(() => {
    const inputs = tensor(
      Array.from({ length: rows }, () => logits),
      { requiresGrad: true },
    );
    const draws = gumbelSoftmax(inputs, random);
    const numbers = draws.toArray();
    const counts = [0, 0, 0];
    for (let row = 0; row < rows; row += 1) {
      const own = Array.from(numbers.subarray(3 * row, 3 * row + 3));
      expect(own.reduce((sum, each) => sum + each)).toBeCloseTo(1, 5);
      const best = own.indexOf(Math.max(...own));
      counts[best] = (counts[best] as number) + 1;
    }
    for (const [at, count] of counts.entries()) expect(count / rows).toBeCloseTo(Math.exp(logits[at] as number) / total, 2);
    backward(draws.slice({ axis: 1, start: 0, end: 1 }).sum());
    const gradient = inputs.grad as Float32Array;
    expect(gradient[0]).toBeCloseTo((numbers[0] as number) * (1 - (numbers[0] as number)), 5);
    expect(gradient[1]).toBeCloseTo(-(numbers[0] as number) * (numbers[1] as number), 5);
  });
  expect(Array.from(scope(() => oneHot([2, 0], 3).toArray()))).toEqual([0, 0, 1, 1, 0, 0]);
});

test.each<[string, () => MADDPGConfig, string]>([
  ["an environment of one agent", () => panel().environment("Pendulum-v1"), "multiAgent() has policies"],
  [
    "one agent without policies",
    () => new MADDPGConfig().environment("Pendulum-v1"),
    "Cannot build MADDPG: it trains agents whose critics see all of them: Pendulum-v1 has one agent. Use TD3 or SAC",
  ],
  [
    "a policy of two agents",
    () =>
      panel()
        .environment("TwoStepGame")
        .multiAgent({ policies: ["one"], policyMappingFn: () => "one" }),
    'agent agent2 shares one with another. Give multiAgent({ policies: ["agent1","agent2"] })',
  ],
  [
    "a policy without an agent",
    () =>
      panel().multiAgent({
        policies: { choice: {}, dial: {}, third: { observationSpace: new Discrete(2), actionSpace: new Discrete(2) } },
      }),
    "no agent acts by third",
  ],
  ["several choices at once", () => panel().environment(ManyChoices), "Cannot make a policy of numbers"],
  ["numbers without bounds", () => panel().environment(Endless), "the action space is a Box of floats with finite bounds"],
])("%s is refused by buildAlgo", async (_, make, reason) => {
  await expect(make().buildAlgo()).rejects.toThrow(reason);
});

test.each<[string, object, string]>([
  ["one learning rate", { lr: 1 }, "there are actorLr and criticLr"],
  ["critics of one agent", { useLocalCritic: true }, "critics of one agent are DDPG with a policy for each agent"],
  ["a negative weight", { actorFeatureReg: -1 }, "a number from 0 is needed"],
])("%s is refused when it is set", (_, training, reason) => {
  expect(() => panel().training(training)).toThrow(reason);
});
