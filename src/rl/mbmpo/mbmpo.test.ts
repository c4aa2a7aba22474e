import { expect, test } from "vitest";
import { Random } from "../../tensor/index.ts";
import type { Env } from "../environments/env.ts";
import { SEQUENCE_END, type Fragment } from "../sequences/fragment.ts";
import { Box } from "../spaces/box.ts";
import { Dict } from "../spaces/composite.ts";
import { Discrete } from "../spaces/discrete.ts";
import type { Space } from "../spaces/space.ts";
import { DynamicsModel, scaleOf } from "./dynamics-model.ts";
import { baselineOf, solved } from "./linear-baseline.ts";
import { MBMPOConfig } from "./mbmpo.ts";
import { RealSteps } from "./real-steps.ts";

/** A point on a line walks to 0; each step costs the distance. An episode has eight steps. */
class Line implements Env {
  readonly observationSpace: Space = new Box({ low: -9, high: 9, shape: [1] });
  readonly actionSpace: Space = new Box({ low: -2, high: 2 });
  #place = 0;
  #at = 0;
  #begun = 0;

  reset(): { observation: unknown } {
    this.#begun += 1;
    this.#place = this.#begun % 2 === 0 ? 1 : -1;
    this.#at = 0;
    return { observation: Float32Array.of(this.#place) };
  }

  step(action: unknown): ReturnType<Env["step"]> {
    this.#place += 0.2 * (typeof action === "number" ? action - 1 : ((action as readonly number[])[0] as number));
    this.#at += 1;
    return { observation: Float32Array.of(this.#place), reward: -Math.abs(this.#place), terminated: false, truncated: this.#at === 8 };
  }
}

/** Left, stay, or right. */
class Ways extends Line {
  override readonly actionSpace: Space = new Discrete(3);
}

class Masked extends Ways {
  override readonly observationSpace: Space = new Dict({
    observations: new Box({ low: -9, high: 9, shape: [1] }),
    actionMask: new Box({ low: 0, high: 1, shape: [3], dtype: "int8" }),
  });
}

const line = (): MBMPOConfig =>
  new MBMPOConfig()
    .environment(Line)
    .envRunners({ numEnvsPerEnvRunner: 2 })
    .training({ trainBatchSizePerLearner: 160, horizon: 8, numImaginedEpisodes: 8, innerLr: 0.01, lr: 3e-3, gamma: 0.95, numMamlSteps: 6 })
    .training({ dynamicsModel: { ensembleSize: 3, fcnetHiddens: [16], trainEpochs: 60, batchSize: 32, lr: 5e-3 } })
    .rlModule({ modelConfig: { fcnetHiddens: [16] } })
    .debugging({ seed: 1 });

// Straight to 0: -1.2 with numbers (three steps: 0.6, 0.2, 0 and then 0), -2 with choices. Random walks earn less than -7.
test.each([
  ["numbers", Line, -3],
  ["choices", Ways, -4],
] as const)("a policy of %s learns in models of the world", async (_, env, goal) => {
  await using algorithm = await line()
    .environment(env)
    .evaluation({ evaluationDuration: 4, evaluationConfig: { explore: false } })
    .buildAlgo();
  let learners = (await algorithm.train()).learners["default_policy"];
  for (let iteration = 0; iteration < 4; iteration += 1) learners = (await algorithm.train()).learners["default_policy"];
  expect((await algorithm.evaluate()).envRunners.episodeReturnMean).toBeGreaterThan(goal);
  expect(learners).toMatchObject({ dynamicsLoss: expect.any(Number) as number, meanKl: expect.any(Number) as number });
  // The step within a task is one upwards.
  expect(learners?.["adaptedReturnMean"]).toBeGreaterThan((learners?.["imaginedReturnMean"] ?? 0) - 0.5);
});

test("the meta-gradient is taken behind the step within each task, and repeats with the seed", async () => {
  const weightsAfter = async (innerLr: number): Promise<Float32Array> => {
    await using algorithm = await line().training({ innerLr, numMamlSteps: 1, mamlOptimizerSteps: 1 }).buildAlgo();
    await algorithm.train();
    return algorithm.getWeights()["default_policy"] as Float32Array;
  };
  const [still, again, moved] = [await weightsAfter(0), await weightsAfter(0), await weightsAfter(0.5)];
  expect(again).toEqual(still);
  expect(moved).not.toEqual(still);
});

test("equations are solved, also where a pivot is 0", () => {
  const random = new Random(1);
  const [size, wanted] = [5, Float64Array.from({ length: 5 }, () => random.normal())];
  const rows = Array.from({ length: size }, (_, at) => {
    const row = Float64Array.from({ length: size + 1 }, (__, column) => (at === 0 && column === 0 ? 0 : random.normal()));
    row[size] = wanted.reduce((sum, value, column) => sum + value * (row[column] as number), 0);
    return row;
  });
  for (const [at, value] of solved(rows).entries()) expect(value).toBeCloseTo(wanted[at] as number, 8);
});

test("the baseline fits returns that are linear in its features, and ends with 0", () => {
  const [count, steps, random] = [30, 4, new Random(2)];
  const obs = Float32Array.from({ length: count * (steps + 1) }, () => random.normal());
  const valueAt = (episode: number, step: number): number => {
    const seen = obs[episode * (steps + 1) + step] as number;
    return step === steps ? 0 : 2 * seen - 0.5 * seen ** 2 + 30 * (step / 100) + 1;
  };
  const rewards = Float32Array.from({ length: count * steps }, (_, at) => {
    const [episode, step] = [Math.floor(at / steps), at % steps];
    return valueAt(episode, step) - 0.9 * valueAt(episode, step + 1);
  });
  const values = baselineOf({ count, steps, obs, rewards }, 0.9);
  for (let episode = 0; episode < count; episode += 1)
    for (let step = 0; step <= steps; step += 1) expect(values[episode * (steps + 1) + step]).toBeCloseTo(valueAt(episode, step), 2);
});

test("a model of the world learns what follows, whatever the units, and a column that never changes", async () => {
  const [rows, random] = [600, new Random(3)];
  const inputs = Float32Array.from({ length: rows * 3 }, (_, at) => (at % 3 === 2 ? 7 : 100 * random.normal()));
  const outputs = new Float32Array(rows * 2);
  for (let row = 0; row < rows; row += 1) {
    outputs[2 * row] = 0.001 * (inputs[3 * row] as number);
    outputs[2 * row + 1] = Math.abs(inputs[3 * row + 1] as number);
  }
  const values = {
    ensembleSize: 1,
    fcnetHiddens: [32],
    lr: 5e-3,
    trainEpochs: 100,
    batchSize: 50,
    validSplitRatio: 0.2,
    normalizeData: true,
  };
  const model = new DynamicsModel({ inputs: 3, outputs: 2 }, values, new Random(1));
  const scales = { inputs: scaleOf(inputs, 3, true), outputs: scaleOf(outputs, 2, true) };
  const error = await model.train({ rows, inputs, outputs }, scales, async () => {});
  expect(error).toBeLessThan(0.02);
  const [change, reward] = model.predict(Float32Array.of(50, -80, 7), scales) as unknown as [number, number];
  expect(change).toBeCloseTo(0.05, 1);
  expect(Math.abs(reward - 80)).toBeLessThan(10);
});

test("real steps know the changes, the rewards and where episodes begin; the oldest are overwritten", () => {
  const steps = new RealSteps({ capacity: 3, obsSize: 1, actionSize: 1 });
  const fragment = (obs: readonly number[], end: number): Fragment => ({
    rows: obs.length - 1,
    obs: Float32Array.from(obs),
    actions: new Float32Array(obs.length - 1),
    rewards: Float32Array.from({ length: obs.length - 1 }, (_, at) => at + 1),
    actionLogp: new Float32Array(0),
    actionDistInputs: new Float32Array(0),
    sequences: Int32Array.of(0, obs.length - 1, end),
    environments: Int32Array.of(0),
    states: new Float32Array(0),
  });
  steps.add(fragment([1, 3], SEQUENCE_END.CUT), Float32Array.of(8));
  steps.add(fragment([3, 2], SEQUENCE_END.TRUNCATED), Float32Array.of(9));
  steps.add(fragment([5, 6, 8], SEQUENCE_END.CUT), Float32Array.of(6, 7));
  expect(steps.starts.map(([start]) => start)).toEqual([1, 5]);
  expect(steps.columns).toEqual({ rows: 3, inputs: Float32Array.of(6, 7, 3, 9, 5, 6), outputs: Float32Array.of(2, 2, -1, 1, 1, 1) });
  const { numbers, arrays } = steps.getState();
  const other = new RealSteps({ capacity: 3, obsSize: 1, actionSize: 1 });
  other.setState(numbers, arrays);
  for (const each of [steps, other]) each.add(fragment([8, 9], SEQUENCE_END.CUT), Float32Array.of(5));
  expect(other.columns).toEqual(steps.columns);
  expect(other.starts).toEqual(steps.starts);
  expect(() => new RealSteps({ capacity: 3, obsSize: 2, actionSize: 1 }).setState(numbers, arrays)).toThrow("the real steps would have");
});

test.each<[string, () => MBMPOConfig, string]>([
  ["many agents", () => line().environment("TwoStepGame"), "Cannot build MBMPO: its models know one agent: TwoStepGame has 2"],
  ["an LSTM", () => line().rlModule({ modelConfig: { useLstm: true } }), "do not go with imagined steps"],
  ["an action mask", () => line().environment(Masked), "its models of the world know no action masks"],
])("%s is refused by buildAlgo", async (_, make, reason) => {
  await expect(make().buildAlgo()).rejects.toThrow(reason);
});

test.each<[string, object, string]>([
  ["an ensemble of none", { dynamicsModel: { ensembleSize: 0 } }, "Cannot set ensembleSize of dynamicsModel"],
  ["a misspelt option of models", { dynamicsModel: { trainEpoch: 5 } }, "did you mean trainEpochs"],
  ["all steps for validation", { dynamicsModel: { validSplitRatio: 1 } }, "a number from 0 to below 1 is needed"],
  ["a coefficient of values", { vfLossCoeff: 1 }, "the baseline is linear"],
])("%s is refused when it is set", (_, training, reason) => {
  expect(() => line().training(training)).toThrow(reason);
});
