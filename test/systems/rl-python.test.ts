/** Environments of Gymnasium and of users in Python: their steps, training with them, and their faults. */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { init, python, shutdown } from "shoal";
import { DQNConfig, type EnvironmentError, gymnasium, makeEnv, makeMultiAgent, makeVectorEnv, PPOConfig } from "shoal/rl";
import { afterAll, beforeAll, expect, test } from "vitest";
import { installed } from "./installed.ts";

const venv = installed("gymnasium-1.4.0", (place) => [
  ["python3", "-m", "venv", place],
  [join(place, "bin", "python3"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "gymnasium==1.4.0"],
]);
const runtimeEnv = { python: venv };
const FILE = new URL("rl_environments.py", import.meta.url);
const folder = mkdtempSync(join(tmpdir(), "test-shoal-rl-python-"));

const own = (name: string) => python.actor(FILE, name, { runtimeEnv });

beforeAll(() => init({ numCpus: 4, logToDriver: false }));
afterAll(async () => {
  await shutdown();
  rmSync(folder, { recursive: true, force: true });
});

test("Gymnasium's CartPole has the spaces of ours, and a seed repeats its start", async () => {
  const theirs = await makeEnv(gymnasium("CartPole-v1", { runtimeEnv }));
  const ours = await makeEnv("CartPole-v1");
  expect(theirs.observationSpace.toJSON()).toEqual(ours.observationSpace.toJSON());
  expect(theirs.actionSpace.toJSON()).toEqual(ours.actionSpace.toJSON());
  const { observation } = await theirs.reset({ seed: 7 });
  const state = Array.from(observation as Float32Array);
  expect((await theirs.reset({ seed: 7 })).observation).toEqual(observation);
  let steps = 0;
  for (let over = false; !over; steps += 1) {
    const step = await theirs.step(steps % 2);
    over = step.terminated || step.truncated;
    expect(step.reward).toBe(1);
  }
  expect(steps).toBeGreaterThan(8);
  expect(Math.max(...state.map(Math.abs))).toBeLessThanOrEqual(0.05);
  await Promise.all([theirs.close?.(), ours.close?.()]);
});

test.each(["nextStep", "sameStep"] as const)("several environments begin episodes anew in mode %s", async (autoresetMode) => {
  const env = await makeVectorEnv(own("Counter"), { numEnvs: 2, autoresetMode, envConfig: { length: 3 } });
  expect(env.observationSpace.toJSON()).toMatchObject({ type: "Box", dtype: "int32", shape: [2], low: 0, high: 100 });
  expect(env.actionSpace.toJSON()).toEqual({ type: "Discrete", n: 3, start: 1 });
  const { observations, infos } = await env.reset({ seed: 4 });
  expect([Array.from(observations as Int32Array), infos]).toEqual([
    [0, 1, 1, 2],
    [{ seed: 4 }, { seed: 5 }],
  ]);
  await env.step(Int32Array.of(1, 3));
  const second = await env.step(Int32Array.of(2, 3));
  expect(Array.from(second.rewards)).toEqual([2, 3]);
  expect(Array.from(second.terminateds)).toEqual([0, 1]);
  const third = await env.step(Int32Array.of(2, 2));
  if (autoresetMode === "sameStep") {
    expect(Array.from(second.observations as Int32Array)).toEqual([2, 3, 0, 1]);
    expect(second.infos[1]).toEqual({ finalObservation: Int32Array.of(3, 4), finalInfo: { at: 3, odd: null }, seed: null });
    expect(Array.from(third.rewards)).toEqual([2, 2]);
  } else {
    expect(Array.from(second.observations as Int32Array)).toEqual([2, 3, 3, 4]);
    expect([Array.from(third.rewards), Array.from(third.observations as Int32Array)]).toEqual([
      [2, 0],
      [3, 4, 0, 1],
    ]);
  }
  await env.close?.();
});

test("Dicts, tuples and numbers of Python come and go", async () => {
  const env = await makeEnv(own("Counter"), { rich: true });
  const { observation } = await env.reset({ seed: 1 });
  expect(observation).toEqual({ at: 1, pair: [Int32Array.of(1, 1), Int8Array.of(1, 0, 1)] });
  expect(env.observationSpace.contains(observation)).toBe(true);
  expect((await env.step(Float32Array.of(1.5))).reward).toBe(1.5);
  await env.close?.();
});

test("PPO learns Gymnasium's CartPole, the same with one process more", async () => {
  const means: (number | undefined)[][] = [];
  for (const numEnvRunners of [0, 2]) {
    await using algorithm = await new PPOConfig()
      .environment(gymnasium("CartPole-v1", { runtimeEnv, numEnvs: numEnvRunners === 0 ? 8 : 4 }))
      .envRunners({ numEnvRunners })
      .training({ lr: 1e-3, trainBatchSizePerLearner: 1600, minibatchSize: 128, numEpochs: 6 })
      .rlModule({ modelConfig: { fcnetHiddens: [32] } })
      .evaluation({ evaluationDuration: 4, evaluationConfig: { explore: false } })
      .debugging({ seed: 1 })
      .buildAlgo();
    const curve: (number | undefined)[] = [];
    for (let iteration = 0; iteration < 9; iteration += 1) curve.push((await algorithm.train()).envRunners.episodeReturnMean);
    means.push(curve);
    expect(curve.at(-1)).toBeGreaterThan(60);
    expect((await algorithm.evaluate()).envRunners.episodeReturnMean).toBeGreaterThan(60);
  }
  expect(means[1]).toEqual(means[0]);
});

test("copies of a Python environment are agents of one game", async () => {
  await using algorithm = await new PPOConfig()
    .environment(makeMultiAgent(own("Counter")), { envConfig: { numAgents: 2, length: 3 } })
    .multiAgent({ policies: ["shared"] })
    .training({ trainBatchSizePerLearner: 60, minibatchSize: 30, numEpochs: 1 })
    .buildAlgo();
  expect((await algorithm.train()).envRunners.episodeLenMean).toBeGreaterThan(2.8);
  expect(algorithm.config.toCheckpoint().code).toContain("environment");
});

test("DQN learns from a class of Python", async () => {
  await using algorithm = await new DQNConfig()
    .environment(own("Counter"), { envConfig: { length: 5 } })
    .training({ numStepsSampledBeforeLearningStarts: 100 })
    .reporting({ minSampleTimestepsPerIteration: 200 })
    .buildAlgo();
  const { envRunners } = await algorithm.train();
  // With an odd seed the first episode is one step shorter.
  expect(envRunners.episodeLenMean).toBeGreaterThan(4.9);
});

test.each([
  ["constructor", "Cannot construct Failing: it threw ", "no display"],
  ["reset", "Cannot reset Failing: it threw ", "no world"],
  ["step", "Cannot step Failing: it threw ", "no floor"],
  [
    "shape",
    "Cannot step Failing: it threw ",
    "the observation of step() is not in Box(0, 100, (2,), int64): received ndarray array([1, 2, 3])",
  ],
  ["reward", "Cannot step Failing: it threw ", "the reward of step() is a finite number: received nan"],
  ["rewards", "Cannot step Failing: it threw ", "the reward of step() is a number: received ndarray array([1., 2.])"],
  ["tuple", "Cannot step Failing: it threw ", "step() returns (observation, reward, terminated, truncated, info)"],
])("a failure in %s arrives with Python's traceback", async (how, start, reason) => {
  for (const numEnvRunners of [0, 1]) {
    const run = async (): Promise<void> => {
      await using algorithm = await new PPOConfig()
        .environment(own("Failing"), { envConfig: { how } })
        .envRunners({ numEnvRunners })
        .buildAlgo();
      await algorithm.train();
    };
    const error = await run().then(
      () => undefined,
      (thrown: unknown) => thrown as EnvironmentError,
    );
    expect(error).toMatchObject({ code: "RL_ENVIRONMENT" });
    expect(error?.message).toContain(start);
    expect(error?.message).toContain(reason);
    if (["constructor", "reset", "step"].includes(how)) expect((error?.cause as Error | undefined)?.stack).toContain("rl_environments.py");
  }
});

test("the death of a Python process replaces its runner; in the algorithm's own process it is an error", async () => {
  const path = join(folder, "died");
  await using algorithm = await new PPOConfig()
    .environment(own("Dying"), { envConfig: { path } })
    .envRunners({ numEnvRunners: 1 })
    .training({ trainBatchSizePerLearner: 100, minibatchSize: 50, numEpochs: 1 })
    .faultTolerance({ delayBetweenEnvRunnerRestartsMs: 10 })
    .buildAlgo();
  expect(await algorithm.train()).toMatchObject({ faults: { numEnvRunnerRestarts: 1 }, envRunners: { numEnvStepsSampled: 100 } });
  expect(existsSync(path)).toBe(true);
  await using local = await new PPOConfig().environment(own("Failing"), { envConfig: { how: "death" } }).buildAlgo();
  await expect(local.train()).rejects.toMatchObject({
    code: "RL_ENVIRONMENT_DIED",
    message: expect.stringContaining("Cannot step Failing: its Python process ended: ") as string,
  });
});

test.each<[string, () => Promise<unknown>, string]>([
  ["an unknown id", () => makeEnv(gymnasium("CratPole-v1", { runtimeEnv })), "Cannot construct CratPole-v1: it threw "],
  [
    "a space without a form",
    () => makeEnv(own("Strange")),
    "the observation space is a Box, Discrete, MultiDiscrete, MultiBinary, Text, Dict or Tuple",
  ],
  ["a Python without Gymnasium", () => makeEnv(gymnasium("CartPole-v1")), "this Python has no gymnasium"],
  [
    "an algorithm with a buffer, of a class that cannot be made",
    () => new DQNConfig().environment(own("Failing"), { envConfig: { how: "constructor" } }).buildAlgo(),
    "no display",
  ],
  ["a missing class", () => makeEnv(own("Missing")), "Cannot construct Missing: it threw "],
  [
    "two numbers of environments",
    async () =>
      await new PPOConfig()
        .environment(gymnasium("CartPole-v1", { numEnvs: 4 }))
        .envRunners({ numEnvsPerEnvRunner: 2 })
        .buildAlgo(),
    "Cannot build PPO: numEnvsPerEnvRunner is 2, and numEnvs of CartPole-v1 is 4. Give one of them",
  ],
])("%s is refused", async (_, make, reason) => {
  await expect(make()).rejects.toThrow(reason);
});

test("options of gymnasium() are checked", () => {
  expect(() => gymnasium("")).toThrow("an id such as");
  expect(() => gymnasium("CartPole-v1", { wraper: "atari" } as object)).toThrow("wrappers");
  expect(() => gymnasium("CartPole-v1", { wrappers: "grey" as never })).toThrow('"atari" is needed');
  expect(() => new PPOConfig().environment(python.task("a.py", "f") as never)).toThrow("a class is needed. Name it by python.actor");
});
