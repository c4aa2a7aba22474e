import { expect, test } from "vitest";
import { Box } from "../spaces/box.ts";
import { Discrete } from "../spaces/discrete.ts";
import { LoopedEnv } from "../environments/looped-env.ts";
import { playEpisodes } from "../algorithms/play-episodes.ts";
import type { Env, VectorContext, VectorEnv, VectorResetResult, VectorStepResult } from "../environments/env.ts";
import type { EnvClass } from "../environments/registry.ts";
import { DEFAULT_MODULE_ID } from "../modules/policy-mapping.ts";
import { type Fragment, SEQUENCE_END } from "../sequences/fragment.ts";
import { EnvRunner, type ModuleSample, type RunnerSpec, type Sample } from "./env-runner.ts";

/** Counts to two, then the episode is over: the observation is the count, the reward ten times that. */
class Counter implements Env<Float32Array, number> {
  readonly observationSpace: Box = new Box({ low: 0, high: 9, shape: [1] });
  readonly actionSpace: Discrete = new Discrete(2);
  #at = 0;

  reset(): { observation: Float32Array } {
    this.#at = 0;
    return { observation: Float32Array.of(0) };
  }

  step(): ReturnType<Env<Float32Array>["step"]> {
    this.#at += 1;
    return { observation: Float32Array.of(this.#at), reward: 10 * this.#at, terminated: this.#at === 2, truncated: this.#at === 2 };
  }
}

/** The same, as a vector class that begins episodes in the next step. */
class NextStepCounter extends LoopedEnv {
  constructor(_config: object, { numEnvs = 1 }: VectorContext) {
    super(
      Array.from({ length: numEnvs }, () => new Counter()),
      { autoresetMode: "nextStep", isChecked: true, name: "NextStepCounter" },
    );
  }
}

const spec = (envClass: EnvClass): RunnerSpec => ({
  env: { name: envClass.name, envClass, maxEpisodeSteps: undefined },
  envConfig: {},
  numEnvs: 1,
  workerIndex: 0,
  firstEnv: 0,
  seed: 1,
  isChecked: true,
  module: { moduleClass: undefined, modelConfig: { fcnetHiddens: [4] }, normalizeActions: true, clipActions: false },
});

function fragmentOf(modules: Sample["modules"]): Fragment {
  return (modules[DEFAULT_MODULE_ID] as ModuleSample).fragment;
}

test.each([Counter, NextStepCounter])("rows of %o end where episodes end, without the step that resets", async (envClass) => {
  const runner = new EnvRunner(spec(envClass));
  const { modules, returns, lengths } = await runner.sample({ steps: 5, explore: true });
  const fragment = fragmentOf(modules);
  expect(Array.from(fragment.obs)).toEqual([0, 1, 2, 0, 1, 2, 0, 1]);
  expect(Array.from(fragment.rewards)).toEqual([10, 20, 10, 20, 10]);
  const { CUT, TERMINATED } = SEQUENCE_END;
  expect(Array.from(fragment.sequences)).toEqual([0, 2, TERMINATED, 2, 2, TERMINATED, 4, 1, CUT]);
  expect([Array.from(returns), Array.from(lengths)]).toEqual([
    [30, 30],
    [2, 2],
  ]);
  const next = await runner.sample({ steps: 1, explore: true });
  expect([Array.from(fragmentOf(next.modules).obs), Array.from(next.returns)]).toEqual([[1, 2], [30]]);
});

test("the log-probability is that of the drawn action", async () => {
  const { modules } = await new EnvRunner(spec(Counter)).sample({ steps: 200, explore: true });
  const fragment = fragmentOf(modules);
  for (let row = 0; row < fragment.rows; row += 1) {
    const [first, second] = fragment.actionDistInputs.subarray(2 * row, 2 * row + 2) as unknown as [number, number];
    const chosen = fragment.actions[row] === 0 ? first : second;
    expect(fragment.actionLogp[row]).toBeCloseTo(chosen - Math.log(Math.exp(first) + Math.exp(second)), 5);
  }
  expect(new Set(fragment.actions)).toEqual(new Set([0, 1]));
});

/** A vector environment whose results have one fault. */
class Faulty implements VectorEnv {
  readonly autoresetMode: "sameStep" = "sameStep" as const;
  readonly observationSpace: Box = new Box({ low: 0, high: 9, shape: [1] });
  readonly actionSpace: Discrete = new Discrete(2);
  readonly numEnvs: number;
  readonly #fault: object;

  constructor({ fault }: { fault: object }, { numEnvs = 1 }: VectorContext) {
    this.numEnvs = numEnvs;
    this.#fault = fault;
  }

  reset(): VectorResetResult {
    return { observations: new Float32Array(this.numEnvs), infos: Array.from({ length: this.numEnvs }, () => ({})) };
  }

  step(): VectorStepResult {
    const flags = { terminateds: new Uint8Array(this.numEnvs), truncateds: new Uint8Array(this.numEnvs) };
    return { ...this.reset(), ...flags, rewards: new Float64Array(this.numEnvs), ...this.#fault };
  }
}

test.each<[object, string]>([
  [{ rewards: Float64Array.of(1, Number.NaN) }, "step() returns finite rewards: received NaN"],
  [{ rewards: Float64Array.of(1) }, "step() returns rewards, 2 numbers: received "],
  [{ rewards: undefined }, "step() returns rewards, 2 numbers: received undefined"],
  [{ truncateds: new Uint8Array(1) }, "step() returns truncateds, 2 numbers"],
  [{ observations: new Float32Array(3) }, "step() returns observations, a column of the length 2: received "],
  [{ observations: Float32Array.of(0, Number.NaN) }, "an observation of step() is not in the observation space"],
  [{ infos: undefined }, "step() returns infos, a list of 2 objects: received undefined"],
])("a vector environment with a fault is named, and so is the field: %o", async (fault, text) => {
  const runner = new EnvRunner({ ...spec(Faulty), numEnvs: 2, envConfig: { fault } });
  await expect(runner.sample({ steps: 4, explore: true })).rejects.toThrow(`Cannot use Faulty: ${text}`);
  const built = runner.built;
  const share = { firstEnv: 0, seed: 1, episodes: [1, 1], steps: undefined };
  const request = { ...spec(Faulty), envConfig: { fault }, built, share, explore: true, callbacks: undefined, signal: undefined };
  await expect(playEpisodes(request)).rejects.toThrow(`Cannot use Faulty: ${text}`);
});

test("disableEnvChecking leaves the checks of a vector environment out", async () => {
  const runner = new EnvRunner({
    ...spec(Faulty),
    numEnvs: 2,
    envConfig: { fault: { observations: Float32Array.of(99, 99) } },
    isChecked: false,
  });
  expect((await runner.sample({ steps: 4, explore: true })).steps).toBe(4);
});
