/**
 * Recorded episodes in real files: algorithms write them as Parquet, with and without runners, and others learn from them.
 */
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { fromItems, readParquet } from "shoal/data";
import { Algorithm, BCConfig, MARWILConfig, Policy, PPOConfig } from "shoal/rl";
import { choice, Tuner } from "shoal/tune";
import { beforeAll, expect, test } from "vitest";
import { timeless } from "./learning-curve.ts";
import { useFolder, useSession } from "./session.ts";

useSession({ numCpus: 4, logToDriver: false });
const folder = useFolder();
const episodes = join(folder, "episodes");

const recording = (output: string): PPOConfig =>
  new PPOConfig()
    .environment("CartPole-v1")
    .envRunners({ numEnvsPerEnvRunner: 4 })
    .training({ lr: 3e-3, trainBatchSizePerLearner: 1000, minibatchSize: 100, numEpochs: 4 })
    .rlModule({ modelConfig: { fcnetHiddens: [16] } })
    .offlineData({ output })
    .debugging({ seed: 1 });

const cloning = (config: BCConfig | MARWILConfig = new BCConfig()): BCConfig | MARWILConfig =>
  config
    .environment("CartPole-v1")
    .training({ lr: 3e-3, trainBatchSizePerLearner: 200 })
    .rlModule({ modelConfig: { fcnetHiddens: [16] } })
    .offlineData({ input: episodes })
    .evaluation({ evaluationDuration: 2, evaluationConfig: { explore: false } })
    .debugging({ seed: 1 });

beforeAll(async () => {
  await using algorithm = await recording(episodes).buildAlgo();
  for (let iteration = 0; iteration < 4; iteration += 1) await algorithm.train();
});

type Row = { epsId: string; obs: Float32Array[]; actions: Int32Array; rewards: Float64Array; terminated: boolean; truncated: boolean };

test.each([0, 2])("whole episodes of training and of evaluations are written, with %i runners", async (numEnvRunners) => {
  const output = join(folder, `by-${numEnvRunners}`);
  let [played, steps] = [0, 0];
  {
    await using algorithm = await recording(output)
      .envRunners({ numEnvRunners, numEnvsPerEnvRunner: 4 })
      .evaluation({ evaluationDuration: 3, evaluationNumEnvRunners: numEnvRunners })
      .buildAlgo();
    const { envRunners } = await algorithm.train();
    const evaluated = await algorithm.evaluate();
    played = envRunners.numEpisodes + evaluated.envRunners.numEpisodes;
    steps = evaluated.envRunners.numEnvStepsSampled + envRunners.numEnvStepsSampled;
  }
  const rows = await readParquet<Row>(output).takeAll();
  expect(rows).toHaveLength(played);
  expect(new Set(rows.map(({ epsId }) => epsId)).size).toBe(played);
  let recorded = 0;
  for (const { obs, actions, rewards, terminated, truncated } of rows) {
    expect([obs.length, actions.length, terminated !== truncated]).toEqual([rewards.length + 1, rewards.length, true]);
    expect(obs[0]).toBeInstanceOf(Float32Array);
    recorded += rewards.length;
  }
  // The rest are the steps of episodes that are under way.
  expect(recorded).toBeLessThanOrEqual(steps);
});

test("one row a step is written and read, and gives the same learning as one row an episode", async () => {
  const output = join(folder, "steps");
  const rows = await readParquet<Row>(episodes).takeAll();
  const bySteps = rows.flatMap(({ obs, actions, rewards, ...episode }) =>
    Array.from(rewards, (reward, t) => ({
      eps_id: episode.epsId,
      t,
      obs: obs[t],
      new_obs: obs[t + 1],
      actions: actions[t],
      rewards: reward,
      terminateds: episode.terminated && t === rewards.length - 1,
      truncateds: episode.truncated && t === rewards.length - 1,
    })),
  );
  await fromItems(bySteps).writeParquet(output);
  const curves: unknown[] = [];
  for (const input of [episodes, output, [output]]) {
    await using algorithm = await cloning(new MARWILConfig()).offlineData({ input }).buildAlgo();
    curves.push(timeless(await algorithm.train()));
  }
  expect(curves[1]).toEqual(curves[0]);
  expect(curves[2]).toEqual(curves[0]);
  await using own = await recording(join(folder, "own-steps")).offlineData({ outputWriteEpisodes: false }).buildAlgo();
  await own.evaluate();
  await own.save(join(folder, "own"));
  const written = await readParquet<{ t: number }>(join(folder, "own-steps")).takeAll();
  expect(written.map(({ t }) => t).filter((t) => t === 0)).toHaveLength(10);
  await using reader = await cloning()
    .offlineData({ input: join(folder, "own-steps"), inputReadEpisodes: false })
    .buildAlgo();
  expect((await reader.train()).learners["default_policy"]?.["policyLoss"]).toBeGreaterThan(0);
});

test.each([() => new BCConfig(), () => new MARWILConfig()])("%o: a restored run goes on as one without interruption", async (make) => {
  const config = cloning(make()).offlineData({ datasetNumItersPerLearner: 7 });
  const path = join(folder, config.name);
  await using algorithm = await config.buildAlgo();
  await algorithm.train();
  await algorithm.save(path);
  const expected = [timeless(await algorithm.train()), timeless(await algorithm.train()), await algorithm.evaluate()];
  await using restored = await Algorithm.fromCheckpoint(path);
  expect([timeless(await restored.train()), timeless(await restored.train()), await restored.evaluate()]).toEqual(expected);
  const policy = await Policy.fromCheckpoint(path);
  expect([0, 1]).toContain(policy.computeAction<number>(Float32Array.of(0, 0, 0.1, 0)));
});

test("an iteration is a pass over all steps, and evaluations may have runners", async () => {
  await using algorithm = await cloning().evaluation({ evaluationInterval: 1, evaluationNumEnvRunners: 1 }).buildAlgo();
  const { learners, evaluation, envRunners, timersMs } = await algorithm.train();
  const rows = await readParquet<Row>(episodes).takeAll();
  const steps = rows.reduce((sum, { rewards }) => sum + rewards.length, 0);
  expect(learners["default_policy"]?.["numModuleStepsTrainedLifetime"]).toBe(200 * Math.ceil(steps / 200));
  expect(evaluation?.envRunners.numEpisodes).toBe(2);
  expect(envRunners).toMatchObject({ numEpisodes: 0, numEnvStepsSampled: 0 });
  expect(timersMs.learn).toBeGreaterThan(0);
});

test("trials of Tune learn from files, and report their evaluations", async () => {
  const config = cloning(new MARWILConfig())
    .training({ beta: choice([1]) })
    .evaluation({ evaluationInterval: 2 });
  const results = await new Tuner(config, {
    tuneConfig: { metric: "evaluation/envRunners/episodeReturnMean", mode: "max" },
    runConfig: { storagePath: folder, name: "trials", stop: { trainingIteration: 2 }, checkpointConfig: { checkpointAtEnd: true } },
  }).fit();
  expect(results.errors).toEqual([]);
  const { metrics, checkpoint } = results.getBestResult();
  expect(metrics?.evaluation?.envRunners.episodeReturnMean).toBeGreaterThan(8);
  expect(checkpoint).toBeDefined();
});

test("input that cannot be learnt from is refused before anything starts", async () => {
  await mkdir(join(folder, "empty"));
  await fromItems([{ epsId: "a", obs: [[0, 0, 0]], actions: [1], rewards: [1], terminated: true, truncated: false }]).writeParquet(
    join(folder, "narrow"),
  );
  await fromItems([{ epsId: "a", obs: [[0, 0, 0]], rewards: [1] }]).writeParquet(join(folder, "lacking"));
  const build = async (input: string): Promise<unknown> =>
    await cloning()
      .offlineData({ input: join(folder, input) })
      .buildAlgo();
  await expect(build("nowhere")).rejects.toThrow(/^Cannot read episodes of .*nowhere: /);
  await expect(build("empty")).rejects.toThrow(/^Cannot read episodes of .*empty: /);
  await expect(build("narrow")).rejects.toThrow("row 0, column obs: ");
  await expect(build("lacking")).rejects.toThrow("the columns actions, terminated, truncated are missing");
  await expect(cloning().offlineData({ inputReadEpisodes: false }).buildAlgo()).rejects.toThrow("the files have one row an episode");
  await expect(cloning().environment("Pendulum-v1").buildAlgo()).rejects.toThrow(
    "row 0, column obs: the value is not in the observation space",
  );
});

test("an output that cannot be written fails the call, and the algorithm ends", async () => {
  await fromItems(["text"]).writeJson(join(folder, "json"));
  const [file = ""] = await readdir(join(folder, "json"));
  const algorithm = await recording(join(folder, "json", file)).buildAlgo();
  await expect(algorithm.evaluate()).rejects.toThrow(/^Cannot write the episodes to .*: /);
  await expect(algorithm.stop()).rejects.toThrow(/^Cannot write the episodes to .*: /);
  await algorithm.stop();
});
