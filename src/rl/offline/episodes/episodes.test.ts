import { expect, test } from "vitest";
import { playEpisodes } from "../../algorithms/play-episodes.ts";
import { PPOConfig } from "../../algorithms/ppo.ts";
import { MeanStdFilter } from "../../connectors/mean-std-filter.ts";
import type { Env, VectorContext } from "../../environments/env.ts";
import { LoopedEnv } from "../../environments/looped-env.ts";
import type { EnvClass } from "../../environments/registry.ts";
import { RLError } from "../../errors.ts";
import { type BuiltModule, buildModule, type ModuleSpec } from "../../modules/module-spec.ts";
import { EnvRunner, type RunnerSpec } from "../../runners/env-runner.ts";
import { Box } from "../../spaces/box.ts";
import { Dict, Tuple } from "../../spaces/composite.ts";
import { Discrete } from "../../spaces/discrete.ts";
import { MultiBinary } from "../../spaces/multi-binary.ts";
import { MultiDiscrete } from "../../spaces/multi-discrete.ts";
import { Text } from "../../spaces/text.ts";
import type { Space } from "../../spaces/space.ts";
import { SEQUENCE_END } from "../../sequences/fragment.ts";
import { rowOfEpisode, rowsOfSteps } from "./episode-columns.ts";
import { episodeFragment } from "./episode-fragment.ts";
import type { RecordedEpisode } from "./episode-recorder.ts";
import { type EncodedEpisode, episodesOf, type ReadOptions } from "./read-episodes.ts";
import { fromStored, toStored } from "./stored-values.ts";

/** Counts to three: the observation is the count, the reward ten times that. */
class Counter implements Env<Float32Array, number> {
  readonly observationSpace: Box = new Box({ low: 0, high: 9, shape: [1] });
  readonly actionSpace: Discrete = new Discrete(2, { start: 5 });
  #at = 0;

  reset(): { observation: Float32Array } {
    this.#at = 0;
    return { observation: Float32Array.of(0) };
  }

  step(): ReturnType<Env<Float32Array>["step"]> {
    this.#at += 1;
    return { observation: Float32Array.of(this.#at), reward: 10 * this.#at, terminated: this.#at === 3, truncated: this.#at === 3 };
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

/** An environment whose episodes have one step, with an action of numbers. */
class Target implements Env<Float32Array, Float32Array> {
  readonly observationSpace: Box = new Box({ low: 0, high: 1, shape: [1] });
  readonly actionSpace: Box = new Box({ low: 0, high: 10, shape: [1] });

  reset(): { observation: Float32Array } {
    return { observation: Float32Array.of(1) };
  }

  step(action: Float32Array): ReturnType<Env<Float32Array>["step"]> {
    return { observation: Float32Array.of(0.5), reward: -Math.abs((action[0] as number) - 7), terminated: false, truncated: true };
  }
}

const moduleSpec: ModuleSpec = { moduleClass: undefined, modelConfig: { fcnetHiddens: [4] }, normalizeActions: true, clipActions: false };

const spec = (envClass: EnvClass, numEnvs = 1): RunnerSpec => ({
  env: { name: envClass.name, envClass, maxEpisodeSteps: undefined },
  envConfig: {},
  numEnvs,
  workerIndex: 0,
  firstEnv: 0,
  seed: 1,
  isChecked: true,
  module: moduleSpec,
  isRecorded: true,
});

/** Rows as a dataset has them, in the order that they are given. */
function reading(rows: readonly object[], built: BuiltModule, options: ReadOptions = {}): Promise<EncodedEpisode[]> {
  const [first = {}] = rows;
  const dataset = {
    schema: () => {
      const types = Object.values(first).map((value) => (Array.isArray(value) || ArrayBuffer.isView(value) ? "list<float32>" : "float32"));
      return Promise.resolve({ names: Object.keys(first), types });
    },
    // oxlint-disable-next-line typescript/require-await -- rows of a dataset arrive like this
    async *iterRows() {
      yield* rows as readonly Record<string, unknown>[];
    },
  };
  return episodesOf(dataset, built, { ...options, refusal: (reason) => new RLError(reason) });
}

async function recorded(
  envClass: EnvClass,
  steps: number,
  numEnvs = 1,
): Promise<{ episodes: readonly RecordedEpisode[]; built: BuiltModule }> {
  const runner = new EnvRunner(spec(envClass, numEnvs));
  const { recorded: episodes = [] } = await runner.sample({ steps, explore: true });
  return { episodes, built: runner.built };
}

test.each([Counter, NextStepCounter])("a runner of %o records whole episodes, in the environment's terms", async (envClass) => {
  const runner = new EnvRunner(spec(envClass));
  const first = (await runner.sample({ steps: 5, explore: true })).recorded ?? [];
  const second = (await runner.sample({ steps: 2, explore: true })).recorded ?? [];
  expect([first.length, second.length]).toEqual([1, 1]);
  for (const { obs, rewards, actions, actionLogp, terminated, truncated } of [...first, ...second]) {
    expect(obs).toEqual([0, 1, 2, 3].map((count) => Float32Array.of(count)));
    expect(rewards).toEqual([10, 20, 30]);
    expect(actions.every((action) => action === 5 || action === 6)).toBe(true);
    for (const logp of actionLogp) expect(logp).toBeCloseTo(Math.log(0.5), 1);
    expect([terminated, truncated]).toEqual([true, false]);
  }
  expect(first[0]?.epsId).not.toBe(second[0]?.epsId);
});

test("an episode that a checkpoint goes on with is not recorded, and the next one is", async () => {
  const before = new EnvRunner(spec(Restorable));
  await before.sample({ steps: 2, explore: true });
  const after = new EnvRunner(spec(Restorable));
  after.setState(before.getState());
  expect((await after.sample({ steps: 1, explore: true })).recorded).toEqual([]);
  expect((await after.sample({ steps: 3, explore: true })).recorded).toMatchObject([{ rewards: [10, 20, 30] }]);
});

class Restorable extends Counter {
  #steps = 0;

  override step(): ReturnType<Counter["step"]> {
    this.#steps += 1;
    return super.step();
  }

  getState(): number {
    return this.#steps;
  }

  setState(steps: number): void {
    super.reset();
    while (this.#steps < steps) void this.step();
  }
}

test("evaluations record the episodes that count", async () => {
  const { built } = new EnvRunner(spec(Counter));
  const share = { firstEnv: 0, seed: 1, episodes: [2, 1], steps: undefined };
  const request = { ...spec(Counter), built, share, explore: false, callbacks: undefined, signal: undefined };
  const { recorded: episodes = [] } = await playEpisodes(request);
  expect(episodes).toHaveLength(3);
  for (const { rewards, actionLogp } of episodes)
    expect([rewards, actionLogp]).toEqual([
      [10, 20, 30],
      [0, 0, 0],
    ]);
  expect((await playEpisodes({ ...request, isRecorded: false })).recorded).toBeUndefined();
});

test("the density of a draw that was cut at the bounds is not known", async () => {
  const { episodes } = await recorded(Target, 200);
  const isCut = (action: unknown): boolean => [0, 10].includes((action as Float32Array)[0] as number);
  const unknown = episodes.filter(({ actionLogp }) => Number.isNaN(actionLogp[0]));
  expect(unknown.length).toBeGreaterThan(10);
  expect(unknown.every(({ actions }) => isCut(actions[0]))).toBe(true);
  // A draw next to a bound may be cut by less than rounding.
  expect(episodes.filter(({ actions }) => isCut(actions[0])).length - unknown.length).toBeLessThan(3);
});

test.each([
  ["one row an episode", (episode: RecordedEpisode): object[] => [rowOfEpisode(episode)]],
  ["one row a step", (episode: RecordedEpisode): object[] => Array.from(rowsOfSteps(episode))],
])("episodes are read as they were recorded: %s", async (_, rowsOf) => {
  for (const envClass of [Counter, Target]) {
    const runner = new EnvRunner(spec(envClass, 2));
    const { recorded: episodes = [], modules } = await runner.sample({ steps: 30, explore: true });
    const read = await reading(episodes.flatMap(rowsOf), runner.built);
    expect(read.map(({ epsId }) => epsId)).toEqual(episodes.map(({ epsId }) => epsId));
    const fragment = episodeFragment(read, runner.built);
    const drawn = modules["default_policy"]?.fragment;
    const byValue = (a: number, b: number): number => a - b;
    expect(Array.from(fragment.rewards).sort(byValue)).toEqual(Array.from(drawn?.rewards ?? []).sort(byValue));
    expect(fragment.rows).toBe(drawn?.rows);
    for (const [index, episode] of episodes.entries()) {
      const { obs, end, actionLogp } = read[index] as EncodedEpisode;
      expect(Array.from(obs)).toEqual(episode.obs.map((each) => (each as Float32Array)[0]));
      expect(end).toBe(episode.terminated ? SEQUENCE_END.TERMINATED : SEQUENCE_END.TRUNCATED);
      expect(actionLogp).toEqual(Float32Array.from(episode.actionLogp));
    }
  }
});

test("actions are read in the policy's range, and those of RLlib as they are", async () => {
  const built = buildModule(moduleSpec, new Target());
  const row = { epsId: "1", obs: [[0], [1]], actions: [2.5], rewards: [1], terminated: false, truncated: true };
  expect((await reading([row], built))[0]?.actions).toEqual(Float32Array.of(-0.5));
  const normalized = { ...row, actions: [[-0.5]] };
  expect((await reading([normalized], built, { actionsInInputNormalized: true }))[0]?.actions).toEqual(Float32Array.of(-0.5));
  const discrete = buildModule(moduleSpec, new Counter());
  expect((await reading([{ ...row, actions: [6n] }], discrete))[0]?.actions).toEqual(Int32Array.of(1));
});

const step = { eps_id: "a", t: 0, obs: [1], new_obs: [2], actions: 5, rewards: 1, terminateds: false, truncateds: false };

test("steps of RLlib's names are joined by episode and agent in the order of their times", async () => {
  const built = buildModule(moduleSpec, new Counter());
  const rows = [
    { ...step, t: 1, obs: [2], new_obs: [3], rewards: 2, truncateds: true, agent_id: "x" },
    { ...step, eps_id: "b", t: 7, agent_id: "x" },
    { ...step, t: 0, agent_id: "y", terminateds: true },
    { ...step, t: 0, agent_id: "x" },
  ];
  const read = await reading(rows, built);
  expect(read.map(({ epsId, rewards, obs, end }) => [epsId, Array.from(rewards), Array.from(obs), end])).toEqual([
    ["a", [1, 2], [1, 2, 3], SEQUENCE_END.TRUNCATED],
    ["b", [1], [1, 2], SEQUENCE_END.CUT],
    ["a", [1], [1, 2], SEQUENCE_END.TERMINATED],
  ]);
});

const episode = { epsId: "a", obs: [[1], [2]], actions: [5], rewards: [1], terminated: true, truncated: false };

test.each<[string, object[], ReadOptions, string]>([
  ["no rows", [], {}, "the columns epsId, obs, newObs, actions, rewards, terminateds, truncateds are missing"],
  ["a missing column", [{ ...step, new_obs: undefined, obs: undefined }], {}, "row 0, column obs"],
  ["both spellings", [{ ...step, epsId: "a" }], {}, "there are the columns epsId and eps_id"],
  ["the other form", [step], { inputReadEpisodes: true }, "inputReadEpisodes is true, and the files have one row a step"],
  ["a wrong shape", [{ ...step, obs: [1, 2] }], {}, "row 0, column obs: the value is not in the observation space"],
  ["a value beyond the bounds", [{ ...step, obs: [10] }], {}, "element 0 is a number from 0 to 9: received 10"],
  ["text", [{ ...step, obs: ["1"] }], {}, "row 0, column obs"],
  ["an action of another space", [{ ...step, actions: 4 }], {}, "row 0, column actions: the value is not in the action space"],
  ["a reward that is NaN", [{ ...step, rewards: Number.NaN }], {}, "row 0, column rewards: a finite number is needed: received NaN"],
  ["no flag", [{ ...step, terminateds: null }], {}, "row 0, column terminateds: true or false is needed"],
  ["no id", [{ ...step, eps_id: null }], {}, "row 0, column epsId: an id, text or a number, is needed: received null"],
  ["a gap", [step, { ...step, t: 2 }], {}, "row 1, column t: steps of episode a follow each other: 1 is needed behind 0: received 2"],
  [
    "steps behind the end",
    [
      { ...step, terminateds: true },
      { ...step, t: 1 },
    ],
    {},
    "row 0, column terminateds or truncateds",
  ],
  ["no last observation", [{ ...step, new_obs: null }], {}, "row 0, column newObs"],
  ["too few observations", [{ ...episode, obs: [[1]] }], {}, "row 0, column obs: 2 values are needed for 1 rewards"],
  ["too many actions", [{ ...episode, actions: [5, 5] }], {}, "row 0, column actions: 1 values are needed for 1 rewards"],
  ["an empty episode", [{ ...episode, rewards: [] }], {}, "row 0, column rewards: an episode has one step or more"],
  ["no list", [episode, { ...episode, obs: 3 }], {}, "row 1, column obs: a list is needed: received 3"],
])("files with %s are refused with the row and the column", async (_, rows, options, text) => {
  await expect(reading(rows, buildModule(moduleSpec, new Counter()), options)).rejects.toThrow(text);
});

test("normalized actions are finite numbers of the right count", async () => {
  const built = buildModule(moduleSpec, new Target());
  const row = { ...episode, obs: [[0], [1]] };
  for (const actions of [[[Number.NaN]], [[1, 2]], ["a"]])
    await expect(reading([{ ...row, actions }], built, { actionsInInputNormalized: true })).rejects.toThrow("1 finite numbers are needed");
});

const spaces: readonly (readonly [Space, unknown])[] = [
  [new Box({ low: 0, high: 255, shape: [2, 2], dtype: "uint8" }), Uint8Array.of(1, 2, 3, 255)],
  [new Discrete(4, { start: -2 }), -1],
  [new MultiDiscrete([2, 9]), Int32Array.of(1, 8)],
  [new MultiBinary(3), Int8Array.of(1, 0, 1)],
  [new Text({ maxLength: 5 }), "ab"],
  [new Dict({ a: new Discrete(2), b: new Tuple([new Discrete(3), new Text({ maxLength: 3 })]) }), { a: 1, b: [2, "x"] }],
];

test("a stored value gives the value of its space back, also where other programs nest its numbers", () => {
  for (const [space, value] of spaces) {
    const stored = toStored(space, value);
    expect(fromStored(space, stored)).toEqual(value);
    expect(space.misfit(fromStored(space, stored))).toBeUndefined();
  }
  expect(
    fromStored(spaces[0]?.[0] as Space, [
      [1, 2n],
      [3, 255],
    ]),
  ).toEqual(Uint8Array.of(1, 2, 3, 255));
  expect(fromStored(spaces[1]?.[0] as Space, -1n)).toBe(-1);
});

test("a stored value that its space cannot hold stays as it is, and is no value of the space", () => {
  for (const stored of [[1, 2, 3, 256], [1, 2, 3, 0.5], [1, 2, 3], [1, 2, 3, 4, 5], "abcd", null]) {
    const space = spaces[0]?.[0] as Space;
    expect(space.misfit(fromStored(space, stored))).toEqual(expect.any(String));
  }
});

test("connectors learn from all episodes first, so equal observations become equal numbers", async () => {
  const built = buildModule({ ...moduleSpec, connectors: () => new MeanStdFilter() }, new Counter());
  const { episodes } = await recorded(Counter, 12, 2);
  const { obs, rows } = episodeFragment(await reading(episodes.map(rowOfEpisode), built), built);
  expect(rows).toBe(12);
  const [first, second] = [obs.subarray(0, 4), obs.subarray(4, 8)];
  expect(second).toEqual(first);
  const sum = first.reduce((total, value) => total + value);
  expect(sum).toBeCloseTo(0, 5);
});

test("a recorded action that the mask of its observation forbids is refused", async () => {
  const observationSpace = new Dict({ observations: new Box({ low: 0, high: 1, shape: [1] }), actionMask: new MultiBinary(2) });
  const built = buildModule(moduleSpec, { observationSpace, actionSpace: new Discrete(2) });
  const obs = [
    { observations: [0], actionMask: [1, 0] },
    { observations: [1], actionMask: [0, 0] },
  ];
  const masked = { epsId: "a", obs, actions: [0], rewards: [1], terminated: true, truncated: false };
  expect(episodeFragment(await reading([masked], built), built).rows).toBe(1);
  const forbidden = await reading([{ ...masked, actions: [1] }], built);
  expect(() => episodeFragment(forbidden, built)).toThrow("the action mask of step 0 forbids the recorded action 1");
});

test.each<[object, string]>([
  [{ output: "" }, "output"],
  [{ output: 3 }, "output"],
  [{ input: [] }, "input"],
  [{ input: ["a", 3] }, "input"],
  [{ datasetNumItersPerLearner: 0 }, "datasetNumItersPerLearner"],
  [{ outputWriteEpisode: true }, "outputWriteEpisodes"],
  [{ input_: "a" }, "it is input"],
])("offlineData() refuses %j", (options, text) => {
  expect(() => new PPOConfig().offlineData(options)).toThrow(text);
});

test("an algorithm that samples refuses input, and one with several agents output", async () => {
  const config = new PPOConfig().environment("CartPole-v1").offlineData({ input: "episodes" });
  await expect(config.buildAlgo()).rejects.toThrow("Cannot build PPO: it samples its environment, and reads no input");
  const game = new PPOConfig().environment("TicTacToe").offlineData({ output: "episodes" });
  await expect(game.buildAlgo()).rejects.toThrow("Cannot build PPO: episodes of TicTacToe have several agents");
});
