/**
 * Many agents with real processes: the same curve with any number of runners, checkpoints of several modules, lost runners.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { actors, init, shutdown } from "shoal";
import {
  A3CConfig,
  Algorithm,
  type AlgorithmConfig,
  type AlgorithmHandle,
  Discrete,
  DQNConfig,
  MADDPGConfig,
  makeMultiAgent,
  MeanStdFilter,
  type ModuleInput,
  type ModuleOutput,
  Policy,
  type PolicyMappingFn,
  PPOConfig,
  QMixConfig,
  RLModule,
} from "shoal/rl";
import { Linear } from "shoal/tensor";
import { afterAll, beforeAll, expect, test } from "vitest";
import { curveOf, timeless } from "./learning-curve.ts";

const folder = mkdtempSync(join(tmpdir(), "test-shoal-rl-agents-"));
beforeAll(() => init({ numCpus: 4, logToDriver: false }));
afterAll(async () => {
  await shutdown();
  rmSync(folder, { recursive: true });
});

type Make = (numEnvRunners: number, numEnvsPerEnvRunner: number) => AlgorithmConfig;

/** A short run of each kind: turns with random policies, agents that go with a filter, and a buffer. */
const CONFIGS: Readonly<Record<string, Make>> = {
  "tic-tac-toe with PPO": (numEnvRunners, numEnvsPerEnvRunner) =>
    new PPOConfig()
      .environment("TicTacToe")
      .envRunners({ numEnvRunners, numEnvsPerEnvRunner })
      .training({ trainBatchSizePerLearner: 400, minibatchSize: 64, numEpochs: 2 })
      .rlModule({ modelConfig: { fcnetHiddens: [16] } })
      .multiAgent({ policies: ["one", "two"], policyMappingFn: (_, { random }) => (random() < 0.5 ? "one" : "two") })
      .debugging({ seed: 1 }),
  "two CartPoles with a filter": (numEnvRunners, numEnvsPerEnvRunner) =>
    new PPOConfig()
      .environment(makeMultiAgent("CartPole-v1"))
      .envRunners({ numEnvRunners, numEnvsPerEnvRunner, envToModuleConnector: () => new MeanStdFilter() })
      .training({ trainBatchSizePerLearner: 400, minibatchSize: 64, numEpochs: 2 })
      .rlModule({ modelConfig: { fcnetHiddens: [16] } })
      .multiAgent({ policies: ["agent0", "agent1"] })
      .debugging({ seed: 1 }),
  "tic-tac-toe with DQN": (numEnvRunners, numEnvsPerEnvRunner) =>
    new DQNConfig()
      .environment("TicTacToe")
      .envRunners({ numEnvRunners, numEnvsPerEnvRunner })
      .training({ trainBatchSizePerLearner: 16, numStepsSampledBeforeLearningStarts: 50, nStep: 2, replayBufferConfig: { capacity: 150 } })
      .rlModule({ modelConfig: { fcnetHiddens: [16] } })
      .multiAgent({ policies: ["player1", "player2"] })
      .checkpointing({ storeBufferInCheckpoints: true })
      .reporting({ minSampleTimestepsPerIteration: 100 })
      .debugging({ seed: 1 }),
  "the two-step game with QMIX": (numEnvRunners, numEnvsPerEnvRunner) =>
    new QMixConfig()
      .environment("TwoStepGame")
      .envRunners({ numEnvRunners, numEnvsPerEnvRunner })
      .training({ trainBatchSizePerLearner: 16, numStepsSampledBeforeLearningStarts: 50, replayBufferConfig: { capacity: 150 } })
      .rlModule({ modelConfig: { fcnetHiddens: [16] } })
      .checkpointing({ storeBufferInCheckpoints: true })
      .reporting({ minSampleTimestepsPerIteration: 100 })
      .debugging({ seed: 1 }),
  "two pendulums with MADDPG": (numEnvRunners, numEnvsPerEnvRunner) =>
    new MADDPGConfig()
      .environment(makeMultiAgent("Pendulum-v1"))
      .envRunners({ numEnvRunners, numEnvsPerEnvRunner })
      .training({ trainBatchSizePerLearner: 16, numStepsSampledBeforeLearningStarts: 50, explorationConfig: { randomTimesteps: 60 } })
      .rlModule({ modelConfig: { fcnetHiddens: [16] } })
      .multiAgent({ policies: ["agent0", "agent1"] })
      .checkpointing({ storeBufferInCheckpoints: true })
      .reporting({ minSampleTimestepsPerIteration: 100 })
      .debugging({ seed: 1 }),
};
const KINDS = Object.keys(CONFIGS);

function made(kind: string, numEnvRunners: number, numEnvsPerEnvRunner: number): AlgorithmConfig {
  return (CONFIGS[kind] as Make)(numEnvRunners, numEnvsPerEnvRunner);
}

test.each(KINDS)("%s: one seed gives one curve, bit by bit, with 0, 1 and 2 runners; another seed gives another", async (kind) => {
  const here = await curveOf(made(kind, 0, 4), 3);
  expect(await curveOf(made(kind, 1, 4), 3)).toEqual(here);
  expect(await curveOf(made(kind, 2, 2), 3)).toEqual(here);
  expect(await curveOf(made(kind, 0, 4).debugging({ seed: 2 }), 3)).not.toEqual(here);
});

test.each(KINDS)("%s: a restored run goes on as one without interruption", async (kind) => {
  const path = join(folder, kind.replaceAll(" ", "-"));
  const config = made(kind, 0, 4);
  await using algorithm = (await config.buildAlgo()) as Algorithm;
  await algorithm.train();
  await algorithm.evaluate();
  await algorithm.save(path);
  const expected = [timeless(await algorithm.train()), timeless(await algorithm.train())];
  await using restored = await Algorithm.fromCheckpoint(path, { config });
  expect([timeless(await restored.train()), timeless(await restored.train())]).toEqual(expected);
  await algorithm.restore(path);
  expect(timeless(await algorithm.train())).toEqual(expected[0]);
});

test("the policies of a checkpoint are read one by one", async () => {
  const path = join(folder, "policies");
  await using algorithm = (await made("two CartPoles with a filter", 0, 4).buildAlgo()) as Algorithm;
  await algorithm.train();
  await algorithm.save(path);
  await using whole = await Algorithm.fromCheckpoint(path);
  expect(whole.getWeights()).toEqual(algorithm.getWeights());
  const observations = Array.from({ length: 50 }, (_, index) => [0, Math.sin(index), 0.1 * Math.cos(index), Math.sin(2 * index)]);
  for (const moduleId of ["agent0", "agent1"]) {
    const policy = await Policy.fromCheckpoint(path, { moduleId });
    expect(policy.computeActions(observations)).toEqual(algorithm.computeActions(observations, { moduleId }));
  }
  await expect(Policy.fromCheckpoint(path, { moduleId: "agent2" })).rejects.toThrow(
    `the checkpoint has agent0, agent1. Give one of them: { moduleId }`,
  );
  await expect(Policy.fromCheckpoint(path)).rejects.toThrow('Cannot read policy "default_policy"');
  await using other = (await made("two CartPoles with a filter", 0, 4)
    .multiAgent({ policies: ["agent0", "agent1", "third"] })
    .buildAlgo()) as Algorithm;
  await expect(other.restore(path)).rejects.toThrow("has the policies agent0, agent1, and the configuration agent0, agent1, third");
});

test("a mapping is code, which a checkpoint does not have; its policies need none", async () => {
  const path = join(folder, "mapped");
  await using algorithm = await made("tic-tac-toe with PPO", 0, 4).buildAlgo();
  await algorithm.save(path);
  await expect(Algorithm.fromCheckpoint(path)).rejects.toThrow(
    "multiAgent.policyMappingFn are missing. Give the configuration: { config }",
  );
  const field = (await Policy.fromCheckpoint(path, { moduleId: "two" })).computeAction<number>(new Float32Array(9));
  expect(field).toBeGreaterThanOrEqual(0);
});

test("a checkpoint of version 1, which had one module, is read", async () => {
  const path = join(folder, "version-1");
  const config = new PPOConfig()
    .environment("CartPole-v1")
    .training({ trainBatchSizePerLearner: 100, minibatchSize: 50 })
    .debugging({ seed: 1 });
  await using algorithm = await config.buildAlgo();
  await algorithm.train();
  await algorithm.save(path);
  const expected = timeless(await algorithm.train());
  const file = join(path, "algorithm.json");
  const { modules, ...others } = JSON.parse(readFileSync(file, "utf8")) as { modules: Record<string, object> };
  writeFileSync(file, JSON.stringify({ ...others, formatVersion: 1, ...modules["default_policy"] }));
  await using restored = await Algorithm.fromCheckpoint(path);
  expect(timeless(await restored.train())).toEqual(expected);
});

test("a killed runner of many agents is replaced, and training goes on", async () => {
  await using algorithm = await made("tic-tac-toe with PPO", 2, 4).faultTolerance({ delayBetweenEnvRunnerRestartsMs: 50 }).buildAlgo();
  await algorithm.train();
  const [first] = (await actors()).filter(({ className, pid }) => className === "RunnerActor" && pid !== undefined);
  process.kill(first?.pid as number, "SIGKILL");
  expect(await algorithm.train()).toMatchObject({ trainingIteration: 2, faults: { numEnvRunnerRestarts: 1 } });
  expect((await algorithm.train()).trainingIteration).toBe(3);
});

test("an observation outside of its agent's space ends training with a name, also from a runner", async () => {
  class Stray {
    readonly possibleAgents = ["a"];
    readonly observationSpaces = { a: new Discrete(2) };
    readonly actionSpaces = { a: new Discrete(2) };
    reset(): { observations: Record<string, number> } {
      return { observations: { a: 0 } };
    }
    step(): { observations: Record<string, number>; rewards: Record<string, number>; terminateds: Record<string, boolean> } {
      return { observations: { a: 2 }, rewards: { a: 0 }, terminateds: { __all__: false } };
    }
  }
  await using algorithm = await new PPOConfig().environment(Stray).envRunners({ numEnvRunners: 1 }).buildAlgo();
  await expect(algorithm.train()).rejects.toThrow("Cannot use Stray: the observation of a is not in the observation space");
});

/** A run in which policies come and go: a copy joins, and the one that it replaces leaves. */
async function changing(config: AlgorithmConfig, between?: (algorithm: AlgorithmHandle) => Promise<void>): Promise<unknown[]> {
  await using algorithm = await config.buildAlgo();
  const results = [timeless(await algorithm.train())];
  await between?.(algorithm);
  await algorithm.addModule("copy", {
    weightsOf: "one",
    policyMappingFn: (_, { random }) => (random() < 0.5 ? "one" : "copy"),
    policiesToTrain: ["one"],
  });
  results.push(timeless(await algorithm.train()));
  await algorithm.removeModule("two");
  results.push(timeless(await algorithm.train()), timeless(await algorithm.train()));
  return results;
}

test("policies come and go in all runners: one seed gives one curve with 0, 1 and 2 of them, and with a learner in a process", async () => {
  const kind = "tic-tac-toe with PPO";
  const here = await changing(made(kind, 0, 4));
  expect(await changing(made(kind, 1, 4))).toEqual(here);
  expect(await changing(made(kind, 2, 2))).toEqual(here);
  expect(await changing(made(kind, 0, 4).learners({ numLearners: 1 }))).toEqual(here);
});

test("a runner that dies after a change is replaced by one with the policies of today", async () => {
  const config = made("tic-tac-toe with PPO", 2, 2).faultTolerance({ delayBetweenEnvRunnerRestartsMs: 50 });
  await using algorithm = (await config.buildAlgo()) as Algorithm;
  await algorithm.train();
  await algorithm.addModule("copy", { weightsOf: "one", policyMappingFn: () => "copy" });
  await algorithm.removeModule("two");
  for (const { className, pid } of await actors()) if (className === "RunnerActor" && pid !== undefined) process.kill(pid, "SIGKILL");
  expect(await algorithm.train()).toMatchObject({ trainingIteration: 2, faults: { numEnvRunnerRestarts: 2 } });
  expect(Object.keys((await algorithm.train()).learners)).toEqual(["copy"]);
});

test("runners that learn and runners of evaluations have added policies, and forget removed ones", async () => {
  const config = new A3CConfig()
    .environment("TicTacToe")
    .envRunners({ numEnvRunners: 1, numEnvsPerEnvRunner: 2 })
    .evaluation({ evaluationNumEnvRunners: 1, evaluationDuration: 4 })
    .rlModule({ modelConfig: { fcnetHiddens: [8] } })
    .multiAgent({ policies: ["player1", "player2"] })
    .reporting({ minTimeMsPerIteration: 50, minSampleTimestepsPerIteration: 200 });
  await using algorithm = await config.buildAlgo();
  await algorithm.train();
  await algorithm.addModule("new", { policyMappingFn: (agent) => (agent === "player1" ? "player1" : "new") });
  await algorithm.removeModule("player2");
  expect(Object.keys((await algorithm.train()).learners)).toEqual(["player1", "new"]);
  expect(Object.keys((await algorithm.evaluate()).envRunners.moduleEpisodeReturnsMean ?? {})).toEqual(["player1", "new"]);
});

test("a checkpoint has the added policies, and a restored run goes on as one without interruption", async () => {
  const path = join(folder, "changed");
  const config = made("tic-tac-toe with PPO", 0, 4);
  await using algorithm = (await config.buildAlgo()) as Algorithm;
  await algorithm.train();
  const policyMappingFn: PolicyMappingFn = (_, { random }) => (random() < 0.5 ? "one" : "late");
  await algorithm.addModule("late", { modelConfig: { fcnetHiddens: [5] }, policyMappingFn, configOverrides: { lr: 0.01 } });
  await algorithm.removeModule("two", { policiesToTrain: ["late"] });
  await algorithm.train();
  await algorithm.save(path);
  const expected = [timeless(await algorithm.train()), timeless(await algorithm.train())];

  // The configuration of the first day, with the mapping of today.
  await using restored = await Algorithm.fromCheckpoint(path, { config: config.copy().multiAgent({ policyMappingFn }) });
  expect([timeless(await restored.train()), timeless(await restored.train())]).toEqual(expected);
  const policy = await Policy.fromCheckpoint(path, { moduleId: "late" });
  await algorithm.restore(path);
  const board = new Float32Array(9);
  expect(policy.computeAction(board)).toBe(algorithm.computeAction(board, { moduleId: "late" }));

  // The second generation keeps the difference to the first configuration.
  const second = join(folder, "changed-again");
  await restored.save(second);
  await using third = await Algorithm.fromCheckpoint(second, { config: config.copy().multiAgent({ policyMappingFn }) });
  expect(Object.keys(third.getWeights())).toEqual(["one", "late"]);
  await expect(Algorithm.fromCheckpoint(path, { config: made("two CartPoles with a filter", 0, 4) })).rejects.toThrow(
    "has the policies one, late, and the configuration agent0, agent1",
  );
});

test("restoring an earlier checkpoint drops policies that were added since, and brings back removed ones", async () => {
  const path = join(folder, "earlier");
  await using algorithm = (await made("tic-tac-toe with PPO", 0, 4).buildAlgo()) as Algorithm;
  await algorithm.train();
  await algorithm.save(path);
  const weights = algorithm.getWeights();
  await algorithm.addModule("new", { policyMappingFn: () => "new" });
  await algorithm.removeModule("two");
  await algorithm.addModule("two", { policyMappingFn: (agent) => (agent === "player1" ? "one" : "two") });
  await algorithm.train();
  await algorithm.restore(path);
  expect(algorithm.getWeights()).toEqual(weights);
  expect((await algorithm.train()).trainingIteration).toBe(2);
});

test("an added policy with a class of one's own needs the class again, by name", async () => {
  class Own extends RLModule {
    readonly body: Linear = this.add("body", new Linear(9, 10));
    forward({ obs }: ModuleInput): ModuleOutput {
      const out = this.body.forward(obs);
      return { actionDistInputs: out.slice({ axis: 1, start: 0, end: 9 }), vfPreds: out.slice({ axis: 1, start: 9, end: 10 }) };
    }
  }
  const path = join(folder, "own-class");
  const config = made("tic-tac-toe with PPO", 0, 4).multiAgent({ policyMappingFn: () => "one" });
  await using algorithm = (await config.buildAlgo()) as Algorithm;
  await algorithm.addModule("own", { moduleClass: Own });
  await algorithm.train();
  await algorithm.save(path);
  await expect(Algorithm.fromCheckpoint(path, { config })).rejects.toThrow(
    'policy own has the class Own, and a checkpoint has no classes. Give it in policies of multiAgent(): { "own": { moduleClass: Own } }',
  );
  const whole = config.copy().multiAgent({ policies: { one: {}, two: {}, own: { moduleClass: Own } } });
  await using restored = await Algorithm.fromCheckpoint(path, { config: whole });
  expect(restored.getWeights()).toEqual(algorithm.getWeights());
});
