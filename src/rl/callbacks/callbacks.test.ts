/** Callbacks of runners in this process, the numbers that they log, and evaluations. */
import { expect, test } from "vitest";
import { sharesOf } from "../algorithms/evaluation.ts";
import { PPOConfig } from "../algorithms/ppo.ts";
import type { Callbacks } from "../config/callbacks.ts";
import type { Env, EnvContext } from "../environments/env.ts";
import { Box } from "../spaces/box.ts";
import { Discrete } from "../spaces/discrete.ts";
import { LoggedMetrics, type LogOptions, ValueLog } from "./metrics-logger.ts";

/** Episodes of two steps, or of `length`; environment `i` earns `i + 1` a step. */
class Pair implements Env<Float32Array, number> {
  readonly observationSpace: Box = new Box({ low: 0, high: 9, shape: [1] });
  readonly actionSpace: Discrete = new Discrete(2);
  readonly #earns: number;
  readonly #length: number;
  #at = 0;

  constructor({ length = 2 }: { length?: number }, { vectorIndex }: EnvContext) {
    this.#earns = vectorIndex + 1;
    this.#length = length;
  }

  reset(): { observation: Float32Array; info: { isFirst: boolean } } {
    this.#at = 0;
    return { observation: Float32Array.of(0), info: { isFirst: true } };
  }

  step(): ReturnType<Env<Float32Array>["step"]> {
    this.#at += 1;
    return {
      observation: Float32Array.of(this.#at),
      reward: this.#earns,
      terminated: this.#at === this.#length,
      truncated: false,
      info: { at: this.#at },
    };
  }
}

function pairs(callbacks: Callbacks | (new () => Callbacks)): PPOConfig {
  return new PPOConfig()
    .environment(Pair)
    .envRunners({ numEnvsPerEnvRunner: 2 })
    .training({ trainBatchSizePerLearner: 6, minibatchSize: 6, numEpochs: 1 })
    .rlModule({ modelConfig: { fcnetHiddens: [4] } })
    .callbacks(callbacks)
    .debugging({ seed: 1 });
}

test("callbacks follow the episodes of all environments, in the order of their events", async () => {
  const seen: unknown[] = [];
  await using algorithm = await pairs({
    onEnvironmentCreated: ({ env, workerIndex }) => void seen.push(["made", "numEnvs" in env && env.numEnvs, workerIndex]),
    onEpisodeCreated: ({ episode, envIndex }) => void seen.push(["created", envIndex, episode.id, episode.length]),
    onEpisodeStart: ({ episode, info }) => void seen.push(["start", episode.id, info]),
    onEpisodeStep: ({ episode, reward, info }) => void seen.push(["step", episode.id, episode.return, reward, info]),
    onEpisodeEnd: ({ episode, terminated, info }) =>
      void seen.push(["end", episode.id, episode.length, episode.agentReturn("default_agent"), terminated, info]),
    onSampleEnd: ({ steps, episodes }) => void seen.push(["sampled", steps, episodes]),
  }).buildAlgo();
  await algorithm.train();
  const ofFirst = seen.filter((event) => JSON.stringify(event).includes('"0-'));
  expect(seen[0]).toEqual(["made", 2, 0]);
  expect(seen.at(-1)).toEqual(["sampled", 6, 2]);
  expect(ofFirst).toEqual([
    ["created", 0, "0-0", 0],
    ["start", "0-0", { isFirst: true }],
    ["step", "0-0", 1, 1, { at: 1 }],
    ["step", "0-0", 2, 1, { at: 2 }],
    ["end", "0-0", 2, 2, true, { at: 2 }],
    ["created", 0, "0-1", 0],
    // The first info of an episode that begins within a step is in infos itself.
    ["start", "0-1", expect.objectContaining({ isFirst: true })],
    ["step", "0-1", 1, 1, { at: 1 }],
  ]);
  seen.length = 0;
  await algorithm.train();
  expect(seen.filter((event) => JSON.stringify(event).includes("made"))).toEqual([]);
  expect(seen.find((event) => JSON.stringify(event).startsWith('["end","0-1"'))).toEqual(["end", "0-1", 2, 2, true, { at: 2 }]);
});

test("logged values are in envRunners, those of an iteration or of a window", async () => {
  await using algorithm = await pairs({
    onEpisodeStart: ({ episode }) => void (episode.custom["doubled"] = 0),
    onEpisodeStep: ({ episode, reward }) => void (episode.custom["doubled"] = (episode.custom["doubled"] as number) + 2 * reward),
    onEpisodeEnd: ({ episode, metricsLogger }) => {
      metricsLogger.logValue("doubled", episode.custom["doubled"] as number, { reduce: "max" });
      metricsLogger.logValue("episodes", 1, { reduce: "sum" });
      metricsLogger.logValue("lastTwo", episode.return, { window: 2 });
    },
    onTrainResult: ({ metricsLogger }) => metricsLogger.logValue("results", 1, { reduce: "sum", window: 100 }),
  }).buildAlgo();
  expect((await algorithm.train()).envRunners).toMatchObject({ doubled: 8, episodes: 2, lastTwo: 3 });
  const { envRunners } = await algorithm.train();
  expect(envRunners).toMatchObject({ episodes: 4, results: 1 });
  expect([2, 3, 4]).toContain(envRunners["lastTwo"]);
  const { envRunners: evaluated } = await algorithm.evaluate();
  expect(evaluated).toMatchObject({ numEpisodes: 10, episodes: 10, doubled: 8 });
  expect((await algorithm.train()).envRunners["episodes"]).toBe(2);
});

test("promises of callbacks are awaited, and an error in one ends the call", async () => {
  let ends = 0;
  await using slow = await pairs({
    onEpisodeEnd: async () => {
      await new Promise((resolve) => void setImmediate(resolve));
      ends += 1;
    },
    onSampleEnd: ({ episodes }) => {
      // When a sample ends, all callbacks but the last step's have been awaited.
      if (episodes > 0 && ends > episodes) throw new Error("more ends than episodes");
    },
  }).buildAlgo();
  const { envRunners } = await slow.train();
  expect(ends).toBe(envRunners.numEpisodes);
  await using failing = await pairs({ onEpisodeStep: () => Promise.reject(new Error("no disk")) }).buildAlgo();
  await expect(failing.train()).rejects.toThrow("no disk");
});

class Counting implements Callbacks {
  ends = 0;
  onEpisodeEnd({ metricsLogger }: Parameters<NonNullable<Callbacks["onEpisodeEnd"]>>[0]): void {
    this.ends += 1;
    metricsLogger.logValue("ends", this.ends, { reduce: "max" });
  }
  onTrainResult({ result }: Parameters<NonNullable<Callbacks["onTrainResult"]>>[0]): void {
    Object.assign(result, { ends: this.ends });
  }
}

test("a class of callbacks has one instance in this process", async () => {
  await using algorithm = await pairs(Counting).buildAlgo();
  expect(await algorithm.train()).toMatchObject({ ends: 2, envRunners: { ends: 2 } });
});

test.each<[string, () => unknown, string]>([
  ["an unknown event", () => pairs({ onEpisodeEnded: () => {} } as Callbacks), "onEpisodeEnd"],
  [
    "a method of a class that is no event",
    () =>
      pairs(
        class Misspelt {
          onEpisodeStrat(): void {}
        } as new () => Callbacks,
      ),
    "Misspelt has onEpisodeStrat(), which is no event: did you mean onEpisodeStart",
  ],
  ["a taken name", () => new ValueLog().logValue("numEpisodes", 1), "a name is needed that results do not have"],
  ["no number", () => new ValueLog().logValue("a", Number.NaN), "Cannot log a: a finite number is needed: received NaN"],
  [
    "an unknown option",
    () => new ValueLog().logValue("a", 1, { windw: 3 } as LogOptions),
    'there is no option "windw": did you mean window?',
  ],
  ["an unknown reduction", () => new ValueLog().logValue("a", 1, { reduce: "median" as "mean" }), "reduce is one of mean, sum, min, max"],
  ["an empty window", () => new ValueLog().logValue("a", 1, { window: 0 }), "window is a whole number from 1"],
  ["an average of a window", () => new ValueLog().logValue("a", 1, { ema: 0.5, window: 3 }), "ema is a mean without a window"],
])("%s is refused", (_, run, reason) => {
  expect(run).toThrow(reason);
});

test("values are reduced over windows and averages, and what belongs to an iteration is forgotten", () => {
  const metrics = new LoggedMetrics();
  const log = new ValueLog();
  const iteration = (...values: number[]): Record<string, number> => {
    for (const value of values) {
      log.logValue("mean", value);
      log.logValue("least", value, { reduce: "min", window: 3 });
      log.logValue("average", value, { ema: 0.5 });
    }
    metrics.add(log.take());
    return metrics.take();
  };
  expect(iteration(1, 2, 3)).toEqual({ mean: 2, least: 1, average: 2.25 });
  expect(iteration(4)).toEqual({ mean: 4, least: 2, average: 3.125 });
  const restored = new LoggedMetrics();
  restored.setState(JSON.parse(JSON.stringify(metrics.getState())) as ReturnType<LoggedMetrics["getState"]>);
  expect(restored.take()).toEqual({ least: 2, average: 3.125 });
  for (let name = 0; name < 1000; name += 1) log.logValue(`n${name}`, 1);
  expect(() => log.logValue("n1000", 1)).toThrow("there are 1000 names at most");
});

test("each environment has its share of the episodes, whatever the runners", () => {
  const given = { duration: 10, unit: "episodes" as const, seed: 1 };
  expect(sharesOf({ ...given, runners: 1, envsPerRunner: 4 }).map(({ episodes }) => episodes)).toEqual([[3, 3, 2, 2]]);
  expect(sharesOf({ ...given, runners: 2, envsPerRunner: 2 }).map(({ firstEnv, episodes }) => [firstEnv, episodes])).toEqual([
    [0, [3, 3]],
    [2, [2, 2]],
  ]);
  expect(sharesOf({ ...given, duration: 3, runners: 2, envsPerRunner: 2 }).map(({ episodes }) => episodes)).toEqual([[1, 1], [1]]);
  expect(sharesOf({ ...given, duration: 1, runners: 4, envsPerRunner: 2 })).toHaveLength(1);
  expect(sharesOf({ ...given, unit: "timesteps", duration: 11, runners: 2, envsPerRunner: 2 }).map(({ steps }) => steps)).toEqual([6, 6]);
});

test("an evaluation of steps counts the episodes that have ended, and one of episodes exactly these", async () => {
  await using algorithm = await pairs({}).evaluation({ evaluationDuration: 7, evaluationDurationUnit: "timesteps" }).buildAlgo();
  expect((await algorithm.evaluate()).envRunners).toMatchObject({ numEpisodes: 4, numEnvStepsSampled: 8, episodeReturnMean: 3 });
  await using exact = await pairs({}).evaluation({ evaluationDuration: 3 }).buildAlgo();
  // Environment 0 has two of the three, which earn 2 each, and environment 1 one, which earns 4.
  const { envRunners } = await exact.evaluate();
  expect(envRunners).toMatchObject({ numEpisodes: 3, numEnvStepsSampled: 6 });
  expect(envRunners.episodeReturnMean).toBeCloseTo(8 / 3, 10);
});

test("a function of one's own evaluates with the runners: several rounds, environments of its own, numbers of its own", async () => {
  const rounds: (number | undefined)[] = [];
  const config = pairs({}).evaluation({
    evaluationInterval: 1,
    evaluationDuration: 3,
    customEvaluationFunction: async ({ algorithm, envRunners }) => {
      const first = await envRunners.evaluate();
      const second = await envRunners.evaluate({ evaluationDuration: 2, evaluationConfig: { envConfig: { length: 5 } } });
      for (const { envRunners: numbers } of [first, second]) rounds.push(numbers.episodeLenMean, numbers.numEpisodes);
      expect(Object.keys(algorithm.getWeights())).toEqual(["default_policy"]);
      return { envRunners: { ...first.envRunners, longMean: second.envRunners.episodeReturnMean } };
    },
  });
  await using algorithm = await config.buildAlgo();
  await using plain = await pairs({}).evaluation({ evaluationInterval: 1, evaluationDuration: 3 }).buildAlgo();
  const { evaluation } = await algorithm.train();
  // The first round has the numbers of an evaluation without the function.
  expect(evaluation?.envRunners).toMatchObject({ ...(await plain.train()).evaluation?.envRunners, longMean: expect.any(Number) as number });
  expect(rounds).toEqual([2, 3, 5, 2]);
});

test.each<[object, string]>([
  [{ customEvaluationFunction: () => ({ mean: 3 }) }, "customEvaluationFunction returns a result such as that of envRunners.evaluate()"],
  [
    {
      customEvaluationFunction: ({ envRunners }: never) =>
        (envRunners as { evaluate(given: object): unknown }).evaluate({ evaluationDurations: 1 }),
    },
    "evaluationDuration",
  ],
])("a function that evaluates otherwise is refused: %#", async (options, text) => {
  await using algorithm = await pairs({}).evaluation(options).buildAlgo();
  await expect(algorithm.evaluate()).rejects.toThrow(text);
});

test("evaluation beside training needs runners of its own", async () => {
  await expect(pairs({}).evaluation({ evaluationParallelToTraining: true }).buildAlgo()).rejects.toThrow(
    "evaluationParallelToTraining needs runners for evaluation: evaluationNumEnvRunners is 0. Set it to 1 or more",
  );
});
