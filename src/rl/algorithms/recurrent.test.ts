/** PPO with a module that remembers, and with pictures. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { Linear, tensor } from "../../tensor/index.ts";
import type { Env } from "../environments/env.ts";
import type { ModuleState, StateTensors } from "../modules/module-memory.ts";
import type { ModelConfig } from "../modules/model-config.ts";
import { type ModuleInput, type ModuleOutput, RLModule } from "../modules/rl-module.ts";
import { DQNConfig } from "../off-policy/dqn.ts";
import { SACConfig } from "../off-policy/sac.ts";
import { Box } from "../spaces/box.ts";
import { Discrete } from "../spaces/discrete.ts";
import { Algorithm } from "./algorithm.ts";
import { type ActionWithState, Policy } from "./policy.ts";
import { PPOConfig } from "./ppo.ts";

const folder = mkdtempSync(join(tmpdir(), "test-shoal-recurrent-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Shows a sign in the first step alone; three steps later the agent earns 1 if it repeats it. Without memory a half is the most. */
class Recall implements Env<Float32Array, number> {
  readonly observationSpace: Box = new Box({ low: -1, high: 1, shape: [2] });
  readonly actionSpace: Discrete = new Discrete(2);
  #step = 0;
  #sign = 0;
  #draws = 1;

  reset({ seed }: { seed?: number | undefined } = {}): { observation: Float32Array } {
    if (seed !== undefined) this.#draws = (seed % 65_521) + 1;
    this.#draws = (this.#draws * 17_364) % 65_521;
    this.#sign = this.#draws % 2;
    this.#step = 0;
    return { observation: Float32Array.of(2 * this.#sign - 1, 0) };
  }

  step(action: number): ReturnType<Env<Float32Array>["step"]> {
    this.#step += 1;
    const terminated = this.#step === 4;
    const reward = terminated && action === this.#sign ? 1 : 0;
    return { observation: Float32Array.of(0, this.#step / 4), reward, terminated, truncated: false };
  }

  getState(): readonly number[] {
    return [this.#step, this.#sign, this.#draws];
  }

  setState([step, sign, draws]: readonly [number, number, number]): void {
    [this.#step, this.#sign, this.#draws] = [step, sign, draws];
  }
}

function recall(modelConfig: ModelConfig): PPOConfig {
  return new PPOConfig()
    .environment(Recall)
    .envRunners({ numEnvsPerEnvRunner: 8 })
    .training({ lr: 5e-3, trainBatchSizePerLearner: 800, minibatchSize: 200, numEpochs: 6, gamma: 0.95, lambda: 0.9 })
    .rlModule({ modelConfig: { fcnetHiddens: [16], ...modelConfig } })
    .debugging({ seed: 1 });
}

const LSTM = { useLstm: true, lstmCellSize: 16, maxSeqLen: 4 };

async function learn(algorithm: Algorithm, iterations: number): Promise<number[]> {
  const means: number[] = [];
  for (let iteration = 0; iteration < iterations; iteration += 1) means.push((await algorithm.train()).envRunners.episodeReturnMean ?? 0);
  return means;
}

test("with an LSTM it learns to remember, and without it cannot", async () => {
  await using forgetful = await recall({}).buildAlgo();
  const without = await learn(forgetful, 25);
  expect(Math.max(...without.slice(5))).toBeLessThan(0.75);
  await using algorithm = await recall(LSTM).buildAlgo();
  const means = await learn(algorithm, 25);
  expect(means.at(-1)).toBeGreaterThan(0.95);
  const { envRunners } = await algorithm.evaluate();
  expect(envRunners.episodeReturnMean).toBeGreaterThan(0.9);
  await algorithm.save(join(folder, "recall"));
  // Acting by hand: the state goes from call to call.
  for (const policy of [algorithm, await Policy.fromCheckpoint(join(folder, "recall"))])
    for (const sign of [-1, 1]) {
      let answer = policy.computeAction<ActionWithState<number>>([sign, 0]);
      for (const at of [0.25, 0.5, 0.75]) answer = policy.computeAction<ActionWithState<number>>([0, at], { state: answer.state });
      expect(answer.action).toBe(sign === 1 ? 1 : 0);
    }
});

test("a restored run with an LSTM has the curve of one that was not interrupted", async () => {
  const path = join(folder, "continued");
  // 10 steps an environment: the checkpoint lies inside of an episode.
  const config = recall(LSTM).training({ trainBatchSizePerLearner: 80, minibatchSize: 40, numEpochs: 2 });
  await using algorithm = await config.buildAlgo();
  await learn(algorithm, 3);
  await algorithm.save(path);
  const expected = await learn(algorithm, 4);
  await using restored = await Algorithm.fromCheckpoint(path, { config });
  expect(await learn(restored, 4)).toEqual(expected);
  expect(restored.getWeights()).toEqual(algorithm.getWeights());
});

test("states of computeAction are checked", async () => {
  await using algorithm = await recall({ ...LSTM, lstmCellSize: 2 }).buildAlgo();
  const { state } = algorithm.computeAction<ActionWithState>([1, 0]);
  expect(Object.keys(state)).toEqual(["h", "c"]);
  const refused = (given: unknown): unknown => algorithm.computeAction([1, 0], { state: given as ModuleState });
  expect(() => refused({ h: state["h"] })).toThrow("Cannot compute an action: c of the state has 2 finite numbers: received undefined");
  expect(() => refused({ ...state, h: [0, Number.NaN] })).toThrow("h of the state has 2 finite numbers");
  expect(() => refused({ ...state, x: [1] })).toThrow("Cannot compute an action: a state has h and c: received ");
  const two = [
    [1, 0],
    [-1, 0],
  ];
  expect(algorithm.computeActions<ActionWithState>(two, { states: [state, undefined] }).map((each) => Object.keys(each))).toEqual([
    ["action", "state"],
    ["action", "state"],
  ]);
  expect(() => algorithm.computeActions(two, { state })).toThrow("there is one state for each observation: received 1 for 2");
  await using forgetful = await recall({}).buildAlgo();
  expect(() => forgetful.computeAction([1, 0], { state })).toThrow("Cannot compute an action: the module has no state: received ");
});

test.each([DQNConfig, SACConfig])("%o refuses an LSTM before anything starts", async (Config) => {
  await expect(
    new Config()
      .environment("CartPole-v1")
      .rlModule({ modelConfig: { useLstm: true } })
      .buildAlgo(),
  ).rejects.toThrow("useLstm, and modules with an initialState, go with PPO");
});

/** A module whose state adds up the first observation of each call. */
class Adder extends RLModule {
  readonly policy: Linear = this.add("policy", new Linear(2, 2));
  readonly value: Linear = this.add("value", new Linear(2, 1));

  override initialState(): ModuleState {
    return { sum: Float32Array.of(0, 0) };
  }

  forward({ obs, stateIn }: ModuleInput): ModuleOutput & { stateOut: StateTensors } {
    const before = stateIn?.["sum"] ?? tensor([[0, 0]]);
    const sequences = before.shape[0] as number;
    const steps = (obs.shape[0] as number) / sequences;
    const first = obs.reshape([sequences, steps, 2]).slice({ axis: 1, start: 0, end: 1 }).reshape([sequences, 2]);
    return { actionDistInputs: this.policy.forward(obs), vfPreds: this.value.forward(obs), stateOut: { sum: before.add(first) } };
  }
}

class Careless extends Adder {
  override forward(input: ModuleInput): never {
    const { actionDistInputs, vfPreds } = super.forward(input);
    return { actionDistInputs, vfPreds } as never;
  }
}

test("a module of one's own may remember; one that returns no state is named", async () => {
  await using algorithm = await recall({}).rlModule({ moduleClass: Adder, modelConfig: {} }).buildAlgo();
  await algorithm.train();
  const { state } = algorithm.computeAction<ActionWithState>([1, 0]);
  const next = algorithm.computeAction<ActionWithState>([0.5, 0.25], { state });
  expect(next.state).toEqual({ sum: Float32Array.of(1.5, 0.25) });
  await using careless = await recall({}).rlModule({ moduleClass: Careless, modelConfig: {} }).buildAlgo();
  await expect(careless.train()).rejects.toThrow("returns stateOut.sum with 2 numbers a row, as initialState() has it: received none");
  await expect(new DQNConfig().environment(Recall).rlModule({ moduleClass: Adder }).buildAlgo()).rejects.toThrow("go with PPO");
});

/** A dot on the left or on the right of a picture: the agent says where. */
class Dot implements Env<Uint8Array, number> {
  readonly observationSpace: Box<"uint8"> = new Box<"uint8">({ low: 0, high: 255, shape: [10, 10, 1], dtype: "uint8" });
  readonly actionSpace: Discrete = new Discrete(2);
  #at = 0;
  #draws = 1;
  #steps = 0;

  reset({ seed }: { seed?: number | undefined } = {}): { observation: Uint8Array } {
    if (seed !== undefined) this.#draws = (seed % 65_521) + 1;
    this.#steps = 0;
    return { observation: this.#look() };
  }

  step(action: number): ReturnType<Env<Uint8Array>["step"]> {
    const reward = action === (this.#at % 10 < 5 ? 0 : 1) ? 1 : 0;
    this.#steps += 1;
    return { observation: this.#look(), reward, terminated: false, truncated: this.#steps === 10 };
  }

  #look(): Uint8Array {
    this.#draws = (this.#draws * 17_364) % 65_521;
    this.#at = this.#draws % 100;
    const picture = new Uint8Array(100);
    picture[this.#at] = 255;
    return picture;
  }
}

test("learns from pictures", async () => {
  await using algorithm = await new PPOConfig()
    .environment(Dot)
    .envRunners({ numEnvsPerEnvRunner: 8 })
    .training({ lr: 2e-3, trainBatchSizePerLearner: 800, minibatchSize: 200, numEpochs: 4, gamma: 0.5 })
    .debugging({ seed: 1 })
    .buildAlgo();
  let mean = 0;
  for (let iteration = 0; mean < 9 && iteration < 40; iteration += 1) mean = (await algorithm.train()).envRunners.episodeReturnMean ?? 0;
  expect(mean).toBeGreaterThanOrEqual(9);
});
