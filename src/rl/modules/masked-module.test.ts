import { expect, test } from "vitest";
import { PPOConfig } from "../algorithms/ppo.ts";
import { DQNConfig } from "../off-policy/dqn.ts";
import { Policy } from "../algorithms/policy.ts";
import type { Env } from "../environments/env.ts";
import { Box } from "../spaces/box.ts";
import { Dict } from "../spaces/composite.ts";
import { Discrete } from "../spaces/discrete.ts";
import { MultiBinary } from "../spaces/multi-binary.ts";
import { MultiDiscrete } from "../spaces/multi-discrete.ts";
import type { Space } from "../spaces/space.ts";
import { buildModule } from "./module-spec.ts";

const OPTIONS = { moduleClass: undefined, modelConfig: { fcnetHiddens: [8] }, normalizeActions: true, clipActions: false };
const space = (mask: number): Dict =>
  new Dict({ actionMask: new Box({ low: 0, high: 1, shape: [mask], dtype: "int8" }), observations: new Discrete(3) });

function policyOf(mask: number, actionSpace: Space): Policy {
  return new Policy(buildModule(OPTIONS, { observationSpace: space(mask), actionSpace }));
}

test("neither draws nor greedy choices are forbidden ones, and all allowed ones are drawn", () => {
  const policy = policyOf(4, new Discrete(4));
  const observation = { observations: 1, actionMask: [0, 1, 0, 1] };
  const drawn = Array.from({ length: 300 }, () => policy.computeAction<number>(observation, { explore: true }));
  expect(new Set(drawn)).toEqual(new Set([1, 3]));
  expect(policy.computeAction({ observations: 1, actionMask: [0, 0, 1, 0] })).toBe(2);
});

test("masks of several choices hold for each of them", () => {
  const policy = policyOf(5, new MultiDiscrete([2, 3]));
  const observation = { observations: 0, actionMask: [0, 1, 1, 0, 0] };
  for (let draw = 0; draw < 50; draw += 1) expect(policy.computeAction(observation, { explore: true })).toEqual(Int32Array.of(1, 0));
  expect(() => policy.computeAction({ observations: 0, actionMask: [0, 1, 0, 0, 0] })).toThrow(
    "Cannot act: the action mask forbids every choice of part 1",
  );
});

test.each<[() => unknown, string]>([
  [
    () => policyOf(4, new Discrete(4)).computeAction({ observations: 0, actionMask: [0, 0, 0, 0] }),
    "the action mask forbids every choice: received ",
  ],
  [() => policyOf(4, new Discrete(4)).computeAction({ observations: 0, actionMask: [1, 1] }), "actionMask: int8 numbers of the shape [4]"],
  [
    () => policyOf(3, new Discrete(4)),
    "actionMask has one entry for each choice of a Discrete or MultiDiscrete action space: received 3 entries",
  ],
  [() => policyOf(2, new Box({ low: 0, high: 1, shape: [2] })), "received 2 entries for "],
])("%s is refused", (use, reason) => {
  expect(use).toThrow(reason);
});

/** One door in four is right, and half of them are locked. A locked one ends the program. The last observation allows nothing. */
class Doors implements Env {
  readonly observationSpace: Dict = new Dict({ observations: new Discrete(4), actionMask: new MultiBinary(4) });
  readonly actionSpace: Discrete = new Discrete(4);
  #right = 0;
  #at = 0;

  reset(): { observation: object } {
    this.#at = 0;
    return { observation: this.#look() };
  }

  step(action: unknown): ReturnType<Env["step"]> {
    if (((action as number) - this.#right) % 2 !== 0) throw new Error("the door is locked");
    const reward = action === this.#right ? 1 : 0;
    this.#right = (this.#right + 1) % 4;
    this.#at += 1;
    const terminated = this.#at === 4;
    return { observation: terminated ? { ...this.#look(), actionMask: [0, 0, 0, 0] } : this.#look(), reward, terminated, truncated: false };
  }

  #look(): { observations: number; actionMask: number[] } {
    return { observations: this.#right, actionMask: [0, 1, 2, 3].map((door) => ((door - this.#right) % 2 === 0 ? 1 : 0)) };
  }
}

test("PPO learns with masks, never takes a forbidden action, and bears a last observation without one", async () => {
  await using algorithm = await new PPOConfig()
    .environment(Doors)
    .envRunners({ numEnvsPerEnvRunner: 4 })
    .training({ lr: 1e-2, trainBatchSizePerLearner: 400, minibatchSize: 100, numEpochs: 5 })
    .rlModule({ modelConfig: { fcnetHiddens: [16] } })
    .evaluation({ evaluationConfig: { explore: false } })
    .debugging({ seed: 1 })
    .buildAlgo();
  let mean = 0;
  for (let iteration = 0; mean < 3.6 && iteration < 20; iteration += 1) mean = (await algorithm.train()).envRunners.episodeReturnMean ?? 0;
  expect(mean).toBeGreaterThan(3.6);
  expect((await algorithm.evaluate()).envRunners.episodeReturnMean).toBe(4);
  const { entropy, meanKl } = (await algorithm.train()).learners["default_policy"] as { entropy: number; meanKl: number };
  expect(entropy).toBeLessThan(Math.log(2));
  expect(Number.isFinite(meanKl)).toBe(true);
});

test("DQN learns with masks, and never explores a forbidden action", async () => {
  await using algorithm = await new DQNConfig()
    .environment(Doors)
    .training({ lr: 5e-3, numStepsSampledBeforeLearningStarts: 100, epsilon: 0.5, targetNetworkUpdateFreq: 50 })
    .rlModule({ modelConfig: { fcnetHiddens: [16] } })
    .debugging({ seed: 1 })
    .buildAlgo();
  await algorithm.train();
  expect((await algorithm.evaluate()).envRunners.episodeReturnMean).toBeGreaterThan(0);
  const choices = [0, 1, 2, 3].map((right) =>
    algorithm.computeAction<number>({ observations: right, actionMask: [0, 1, 2, 3].map((door) => ((door - right) % 2 === 0 ? 1 : 0)) }),
  );
  expect(choices).toEqual([0, 1, 2, 3]);
});

/** Forgets to allow anything. */
class Locked extends Doors {
  override reset(): { observation: object } {
    return { observation: { observations: 0, actionMask: [0, 0, 0, 0] } };
  }
}

test("an empty mask on which the agent has to act ends training", async () => {
  await using algorithm = await new PPOConfig().environment(Locked).buildAlgo();
  await expect(algorithm.train()).rejects.toThrow("Cannot act: the action mask forbids every choice");
});
