/** Callbacks in the processes of runners, and evaluations in processes of their own. */
import { actors, init, shutdown } from "shoal";
import { Box, type Callbacks, Discrete, type Env, type EvaluationResult, MeanStdFilter, PPOConfig } from "shoal/rl";
import { afterAll, beforeAll, expect, test } from "vitest";

beforeAll(() => init({ numCpus: 6, logToDriver: false }));
afterAll(shutdown);

function cartPole(): PPOConfig {
  return new PPOConfig()
    .environment("CartPole-v1")
    .envRunners({ numEnvRunners: 2, numEnvsPerEnvRunner: 2 })
    .training({ trainBatchSizePerLearner: 400, minibatchSize: 100, numEpochs: 2, lr: 1e-3 })
    .rlModule({ modelConfig: { fcnetHiddens: [16] } })
    .debugging({ seed: 1 });
}

test("values that are logged in runners arrive, and are equal with any number of runners", async () => {
  const found: unknown[] = [];
  for (const [numEnvRunners, numEnvsPerEnvRunner] of [
    [0, 4],
    [2, 2],
  ] as const) {
    await using algorithm = await cartPole()
      .envRunners({ numEnvRunners, numEnvsPerEnvRunner })
      .callbacks({
        onEpisodeStep: ({ episode }) => void (episode.custom["steps"] = ((episode.custom["steps"] as number | undefined) ?? 0) + 1),
        onEpisodeEnd: ({ episode, metricsLogger }) => {
          metricsLogger.logValue("longest", episode.custom["steps"] as number, { reduce: "max" });
          metricsLogger.logValue("returns", episode.return, { reduce: "sum" });
        },
      })
      .buildAlgo();
    await algorithm.train();
    const { envRunners } = await algorithm.train();
    expect(envRunners["longest"]).toBeGreaterThan(8);
    found.push([envRunners["longest"], envRunners["returns"], envRunners.episodeReturnMean]);
  }
  expect(found[1]).toEqual(found[0]);
});

class Watching implements Callbacks {
  readonly prefix = "of";
  samples = 0;
  onEnvironmentCreated({ metricsLogger, workerIndex }: Parameters<NonNullable<Callbacks["onEnvironmentCreated"]>>[0]): void {
    metricsLogger.logValue("made", workerIndex, { reduce: "sum" });
  }
  onSampleEnd({ metricsLogger, workerIndex }: Parameters<NonNullable<Callbacks["onSampleEnd"]>>[0]): void {
    this.samples += 1;
    metricsLogger.logValue(`${this.prefix}${workerIndex}`, this.samples, { reduce: "max" });
  }
}

test("each runner has an instance of a class of callbacks", async () => {
  await using algorithm = await cartPole().callbacks(Watching).buildAlgo();
  expect((await algorithm.train()).envRunners).toMatchObject({ made: 3, of1: 1, of2: 1 });
  expect((await algorithm.train()).envRunners).toMatchObject({ of1: 2, of2: 2 });
});

test("an error in a callback of a runner ends training with that error", async () => {
  await using algorithm = await cartPole()
    .callbacks({
      onEpisodeEnd: () => {
        throw new RangeError("no such shelf");
      },
    })
    .buildAlgo();
  await expect(algorithm.train()).rejects.toThrow("no such shelf");
});

test("an evaluation in processes has the numbers of one here, and changes nothing of training", async () => {
  const results: EvaluationResult[] = [];
  const curves: unknown[] = [];
  for (const evaluationNumEnvRunners of [0, 1, 2]) {
    await using algorithm = await cartPole()
      .envRunners({
        numEnvRunners: 0,
        numEnvsPerEnvRunner: evaluationNumEnvRunners === 2 ? 2 : 4,
        envToModuleConnector: () => new MeanStdFilter(),
      })
      .evaluation({ evaluationInterval: 2, evaluationDuration: 7, evaluationNumEnvRunners, evaluationConfig: { explore: true } })
      .buildAlgo();
    if (evaluationNumEnvRunners === 2) {
      // With two environments the numbers differ, so the test compares the form alone.
      expect("evaluation" in (await algorithm.train())).toBe(false);
      expect((await algorithm.train()).evaluation?.envRunners.numEpisodes).toBe(7);
      continue;
    }
    expect("evaluation" in (await algorithm.train())).toBe(false);
    const { evaluation, envRunners } = await algorithm.train();
    results.push(evaluation as EvaluationResult);
    curves.push([envRunners.episodeReturnMean, (await algorithm.train()).envRunners.episodeReturnMean]);
  }
  expect(results[1]).toEqual(results[0]);
  expect(curves[1]).toEqual(curves[0]);
});

test("an evaluation beside training has the weights from before the iteration", async () => {
  const config = cartPole().envRunners({ numEnvRunners: 1, numEnvsPerEnvRunner: 2 });
  await using before = await config
    .copy()
    .evaluation({ evaluationDuration: 4, evaluationConfig: { explore: false } })
    .buildAlgo();
  const expected = await before.evaluate();
  await using algorithm = await config
    .copy()
    .evaluation({
      evaluationInterval: 1,
      evaluationDuration: 4,
      evaluationNumEnvRunners: 1,
      evaluationParallelToTraining: true,
      evaluationConfig: { explore: false },
    })
    .buildAlgo();
  const { evaluation } = await algorithm.train();
  expect(evaluation).toEqual(expected);
});

/** Counts to `length`. */
class Counter implements Env<Float32Array, number> {
  readonly observationSpace: Box = new Box({ low: 0, high: 1000, shape: [1] });
  readonly actionSpace: Discrete = new Discrete(2);
  readonly #length: number;
  #at = 0;

  constructor({ length = 3 }: { length?: number }) {
    this.#length = length;
  }

  reset(): { observation: Float32Array } {
    this.#at = 0;
    return { observation: Float32Array.of(0) };
  }

  step(): ReturnType<Env<Float32Array>["step"]> {
    this.#at += 1;
    return { observation: Float32Array.of(this.#at), reward: 1, terminated: this.#at >= this.#length, truncated: false };
  }
}

test("a killed evaluation runner is replaced, and its share is played", async () => {
  await using algorithm = await cartPole()
    .environment(Counter)
    .envRunners({ numEnvRunners: 0 })
    .evaluation({ evaluationDuration: 4, evaluationNumEnvRunners: 2, evaluationConfig: { envConfig: { length: 5 } } })
    .buildAlgo();
  expect((await algorithm.evaluate()).envRunners).toMatchObject({ episodeReturnMean: 5, numEpisodes: 4, numEnvStepsSampled: 20 });
  const alive = (await actors()).filter(({ className, pid }) => className === "EvaluationActor" && pid !== undefined);
  expect(alive).toHaveLength(2);
  process.kill(alive[0]?.pid as number, "SIGKILL");
  expect((await algorithm.evaluate()).envRunners).toMatchObject({ episodeReturnMean: 5, numEpisodes: 4 });
  await algorithm.stop();
  const left = async (): Promise<number> =>
    (await actors()).filter(({ className, pid }) => className === "EvaluationActor" && pid !== undefined).length;
  await expect.poll(left, { timeout: 10_000 }).toBe(0);
});

test("several agents have callbacks and evaluation runners, too", async () => {
  await using algorithm = await new PPOConfig()
    .environment("RockPaperScissors")
    .envRunners({ numEnvRunners: 1, numEnvsPerEnvRunner: 2 })
    .training({ trainBatchSizePerLearner: 40, minibatchSize: 20, numEpochs: 1 })
    .evaluation({ evaluationDuration: 4, evaluationNumEnvRunners: 1 })
    .callbacks({
      onEpisodeEnd: ({ episode, metricsLogger }) => {
        metricsLogger.logValue("agents", episode.agents.length, { reduce: "max" });
        metricsLogger.logValue("length", episode.length);
      },
    })
    .buildAlgo();
  expect((await algorithm.train()).envRunners).toMatchObject({ agents: 2, length: 10 });
  expect((await algorithm.evaluate()).envRunners).toMatchObject({ agents: 2, length: 10, numEpisodes: 4 });
});

test("a function reaches the environments of all runners, and its error the caller", async () => {
  class Tasked implements Env<Float32Array, number> {
    readonly observationSpace = new Box({ low: 0, high: 10, shape: [1] });
    readonly actionSpace = new Discrete(2);
    task = 1;
    reset(): { observation: Float32Array } {
      return { observation: Float32Array.of(this.task) };
    }
    step(): { observation: Float32Array; reward: number; terminated: boolean; truncated: boolean } {
      return { observation: Float32Array.of(this.task), reward: this.task, terminated: true, truncated: false };
    }
  }
  const task = 7;
  await using algorithm = await cartPole().environment(Tasked).buildAlgo();
  expect((await algorithm.train()).envRunners.episodeReturnMean).toBe(1);
  const answers = await algorithm.forEachEnvRunner(({ env, workerIndex }) => {
    const envs = ("envs" in env ? env.envs : undefined) ?? [];
    for (const each of envs) (each as Tasked).task = task;
    return [workerIndex, envs.length];
  });
  expect(answers).toEqual([
    [1, 2],
    [2, 2],
  ]);
  await algorithm.train();
  expect((await algorithm.train()).envRunners.episodeReturnMax).toBe(7);
  await expect(
    algorithm.forEachEnvRunner(() => {
      throw new Error("no task");
    }),
  ).rejects.toThrow("no task");
});
