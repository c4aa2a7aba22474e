/** The losses of MARWIL and behaviour cloning against PyTorch's (test/vectors/rl/record_offline_losses.py), and what each of them learns from mixed episodes. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { scope } from "../../tensor/index.ts";
import { type BuiltModule, buildModule } from "../modules/module-spec.ts";
import { type Fragment, SEQUENCE_END } from "../sequences/fragment.ts";
import { Box } from "../spaces/box.ts";
import { Discrete } from "../spaces/discrete.ts";
import { BCConfig, MARWILConfig, MARWILLearner, type MARWILTraining } from "./marwil.ts";
import { RecordedSteps } from "./recorded-steps.ts";

type Numbers = readonly number[];
interface Recorded {
  readonly beta: number;
  readonly module: Numbers;
  readonly batch: { readonly obs: Numbers; readonly actions: Numbers; readonly rewards: Numbers };
  readonly losses: Readonly<Record<string, number>>;
  readonly gradient: Numbers;
}
const recorded = JSON.parse(readFileSync(new URL("../../../test/vectors/rl/offline-losses.json", import.meta.url), "utf8")) as {
  readonly marwil: readonly Recorded[];
};

function built(inputs: number): BuiltModule {
  const spec = { moduleClass: undefined, modelConfig: { fcnetHiddens: [5] }, normalizeActions: true, clipActions: false };
  return buildModule(spec, { observationSpace: new Box({ low: -9, high: 9, shape: [inputs] }), actionSpace: new Discrete(2) });
}

interface Columns {
  readonly obs: Numbers;
  readonly actions: Numbers;
  readonly rewards: Numbers;
  readonly sequences: Numbers;
}

function fragmentOf({ obs, actions, rewards, sequences }: Columns): Fragment {
  return {
    rows: rewards.length,
    obs: Float32Array.from(obs),
    actions: Int32Array.from(actions),
    rewards: Float32Array.from(rewards),
    actionLogp: new Float32Array(rewards.length),
    actionDistInputs: new Float32Array(0),
    sequences: Int32Array.from(sequences),
    environments: new Int32Array(sequences.length / 3),
    states: new Float32Array(0),
  };
}

function learnerOf(module: BuiltModule, config: MARWILTraining): MARWILLearner {
  return new MARWILLearner({ moduleId: "default_policy", built: module, buildTwin: () => module, config, seed: 1 });
}

test.each(recorded.marwil)("a beta of $beta", (wanted) => {
  const module = built(3);
  expect(module.module.parameters.size).toBe(wanted.module.length);
  module.module.parameters.data.set(wanted.module);
  const options = { lr: 0, gamma: 0.9, beta: wanted.beta, vfCoeff: 0.5 };
  const average = { movingAverageSqdAdvNormStart: 4, movingAverageSqdAdvNormUpdateRate: 0.25 };
  const learner = learnerOf(module, new MARWILConfig().training({ ...options, ...average }).values.training);
  // Three steps until the world ends, and two until the episode is truncated.
  const sequences = [0, 3, SEQUENCE_END.TERMINATED, 3, 2, SEQUENCE_END.TRUNCATED];
  const steps = new RecordedSteps(fragmentOf({ ...wanted.batch, sequences }), { built: module, gamma: 0.9 });
  scope(() => learner.learnFrom(steps, Int32Array.of(0, 1, 2, 3, 4), 7));
  for (const [name, loss] of Object.entries(wanted.losses)) expect(learner.result?.[name]).toBeCloseTo(loss, 4);
  expect(learner.result).toMatchObject({ learningRate: 0, numModuleStepsTrainedLifetime: 12 });
  // Adam's first moment has a tenth of the first gradient.
  const found = Array.from(learner.getState().arrays["expAvg"] as Float32Array, (moment) => 10 * moment);
  for (const [at, value] of wanted.gradient.entries()) expect(found[at]).toBeCloseTo(value, 4);
});

/** Two thirds of the steps take action 0 and earn 0, the others take action 1 and earn 10. */
function mixed(module: BuiltModule): RecordedSteps {
  const rewards = Array.from({ length: 90 }, (_, row) => (row % 3 === 0 ? 10 : 0));
  const sequences = rewards.flatMap((_, row) => [row, 1, SEQUENCE_END.TERMINATED]);
  const columns = { obs: new Array<number>(180).fill(1), actions: rewards.map((reward) => reward / 10), rewards, sequences };
  return new RecordedSteps(fragmentOf(columns), { built: module, gamma: 0.99 });
}

test.each([
  { beta: 0, likeliest: 0 },
  { beta: 1, likeliest: 1 },
])("with a beta of $beta the likeliest action becomes $likeliest: what most steps did, or what earned more", ({ beta, likeliest }) => {
  const module = built(1);
  const training = { lr: 0.02, beta, movingAverageSqdAdvNormStart: 25 };
  const learner = learnerOf(module, new MARWILConfig().training(training).values.training);
  const steps = mixed(module);
  const all = Int32Array.from({ length: steps.rows }, (_, row) => row);
  for (let update = 0; update < 150; update += 1) scope(() => learner.learnFrom(steps, all, 0));
  const [first = 0, second = 0] = scope(() => {
    const { obs } = steps.returnsOf(Int32Array.of(0));
    return module.module.forward({ obs }).actionDistInputs?.toArray() ?? [];
  });
  expect(Number(second > first)).toBe(likeliest);
});

test("advantages far beyond the average give finite weights", () => {
  const module = built(1);
  const learner = learnerOf(module, new MARWILConfig().training({ lr: 1e-3 }).values.training);
  const columns = { obs: [1, 1], actions: [1], rewards: [1e6], sequences: [0, 1, SEQUENCE_END.TERMINATED] };
  scope(() => learner.learnFrom(new RecordedSteps(fragmentOf(columns), { built: module, gamma: 0.99 }), Int32Array.of(0), 0));
  expect(learner.result?.["totalLoss"]).toBeGreaterThan(0);
  expect(Array.from(module.module.parameters.data).every(Number.isFinite)).toBe(true);
});

test("a state gives the learner back", () => {
  const config = new MARWILConfig().training({ lr: 0.01, movingAverageSqdAdvNormUpdateRate: 0.5 }).values.training;
  const module = built(1);
  const steps = mixed(module);
  const chosen = Int32Array.of(0, 1, 2);
  const learner = learnerOf(module, config);
  scope(() => learner.learnFrom(steps, chosen, 0));
  const state = structuredClone(learner.getState());
  const weights = module.module.parameters.data.slice();
  scope(() => learner.learnFrom(steps, chosen, 3));
  const wanted = module.module.parameters.data.slice();
  module.module.parameters.data.set(weights);
  const restored = learnerOf(module, config);
  restored.setState(state);
  scope(() => restored.learnFrom(steps, chosen, 3));
  expect(module.module.parameters.data).toEqual(wanted);
});

const bc = (): BCConfig => new BCConfig().environment("CartPole-v1").offlineData({ input: "episodes" });

test.each<[string, () => unknown, string]>([
  ["no input", () => new BCConfig().environment("CartPole-v1"), "Cannot build BC: it learns from recorded episodes, and has no input"],
  ["runners", () => bc().envRunners({ numEnvRunners: 1 }), "nothing is sampled, so numEnvRunners is 0: received 1"],
  ["steps to sample", () => bc().reporting({ minSampleTimestepsPerIteration: 5 }), "so minSampleTimestepsPerIteration is 0: received 5"],
  ["policies", () => bc().multiAgent({ policies: ["a"] }), "recorded episodes have one agent, and multiAgent() has policies"],
  ["a game", () => bc().environment("TicTacToe"), "recorded episodes have one agent, and TicTacToe has several"],
  ["an LSTM", () => bc().rlModule({ modelConfig: { useLstm: true } }), "BC learns from single steps. Leave useLstm out"],
])("%s is refused before anything starts", async (_, make, text) => {
  await expect((make() as BCConfig).buildAlgo()).rejects.toThrow(text);
});

test("BC has no beta but 0, and MARWIL none below", () => {
  expect(() => new BCConfig().training({ beta: 1 })).toThrow("0 is needed, as MARWIL has another");
  expect(new BCConfig().values.training.beta).toBe(0);
  expect(() => new MARWILConfig().training({ beta: -1 })).toThrow("beta");
  expect(new MARWILConfig().values.training).toMatchObject({ beta: 1, lr: 1e-4, trainBatchSizePerLearner: 2000 });
});
