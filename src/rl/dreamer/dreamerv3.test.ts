import { expect, test } from "vitest";
import { Random, scope, tensor, withRandom } from "../../tensor/index.ts";
import { Box } from "../spaces/box.ts";
import { Dict } from "../spaces/composite.ts";
import { Discrete } from "../spaces/discrete.ts";
import type { Env } from "../environments/env.ts";
import type { Space } from "../spaces/space.ts";
import { buildModule } from "../modules/module-spec.ts";
import type { Fragment } from "../sequences/fragment.ts";
import { DreamerModule } from "./dreamer-module.ts";
import { DreamerV3Learner } from "./dreamer-learner.ts";
import { DreamerV3Config } from "./dreamerv3.ts";
import { lambdaReturns, percentile } from "./returns.ts";
import { SequenceReplay } from "./sequence-replay.ts";
import { mixedLogp, symexp, symlog } from "./world-model.ts";

/** Shows a sign; one of the choices, or the side of a number, earns 1 a step. An episode has three steps. */
class Signs implements Env {
  readonly observationSpace: Space = new Box({ low: -1, high: 1, shape: [1] });
  readonly actionSpace: Space = new Discrete(2);
  #at = 0;

  reset(): { observation: unknown } {
    this.#at = 0;
    return { observation: this.#seen() };
  }

  step(action: unknown): ReturnType<Env["step"]> {
    const side = typeof action === "number" ? 2 * action - 1 : ((action as readonly number[])[0] as number);
    const reward = side * this.#sign > 0 ? 1 : 0;
    this.#at += 1;
    return { observation: this.#seen(), reward, terminated: this.#at === 3, truncated: false };
  }

  get #sign(): number {
    return this.#at % 2 === 0 ? 1 : -1;
  }

  #seen(): Float32Array {
    return Float32Array.of(this.#sign);
  }
}

class Dial extends Signs {
  override readonly actionSpace: Space = new Box({ low: -3, high: 3 });
}

class Masked extends Signs {
  override readonly observationSpace: Space = new Dict({
    observations: new Box({ low: -1, high: 1, shape: [1] }),
    actionMask: new Box({ low: 0, high: 1, shape: [2], dtype: "int8" }),
  });
}

const signs = (): DreamerV3Config =>
  new DreamerV3Config()
    .environment(Signs)
    .envRunners({ numEnvsPerEnvRunner: 2 })
    .training({ modelSize: "nano", trainingRatio: 24, batchSizeB: 8, batchLengthT: 4, horizonH: 3, gamma: 0.9 })
    .training({ worldModelLr: 3e-3, actorLr: 2e-3, criticLr: 2e-3, entropyScale: 1e-2 })
    .reporting({ minSampleTimestepsPerIteration: 800, metricsNumEpisodesForSmoothing: 20 })
    .debugging({ seed: 1 });

test.each([
  ["choices", Signs],
  ["numbers", Dial],
] as const)("a model of the world is learnt, and %s by what it imagines", async (_, env) => {
  await using algorithm = await signs().environment(env).buildAlgo();
  const { learners, envRunners } = await algorithm.train();
  expect(envRunners.episodeReturnMean).toBeGreaterThan(2.2);
  expect(learners["default_policy"]).toMatchObject({ rewardLoss: expect.any(Number) as number, entropy: expect.any(Number) as number });
  const { state } = algorithm.computeAction<{ action: unknown; state: { h: Float32Array } }>([1]);
  expect(state.h).toHaveLength(16);
});

test("the action before reaches the policy in its own range, also through a checkpoint's policy", async () => {
  await using algorithm = await signs().environment(Dial).reporting({ minSampleTimestepsPerIteration: 100 }).buildAlgo();
  await algorithm.train();
  const first = algorithm.computeAction<{ action: Float32Array; state: never }>([1]);
  const next = (action?: readonly number[]): Float32Array =>
    algorithm.computeAction<{ action: Float32Array }>([-1], { state: first.state, previous: [{ observation: [1], action }] }).action;
  expect(next([3])).not.toEqual(next([-3]));
  expect(next([0])).toEqual(next());
  expect(() => next([4])).toThrow("a previous action is not in the action space");
});

test("lambda returns mix rewards and values, and end with a discount of 0", () => {
  const random = new Random(2);
  const drawn = (count: number): Float32Array => Float32Array.from({ length: count }, () => random.normal());
  const [rows, steps, lambda] = [3, 5, 0.8];
  const [rewards, values] = [drawn(rows * steps), drawn(rows * (steps + 1))];
  const discounts = Float32Array.from({ length: rows * steps }, (_, at) => (at === 4 ? 0 : 0.9));
  /** The sum over all lengths of the returns of so many steps, each with its share. */
  const slow = (row: number, step: number): number => {
    let [total, weight] = [0, 1];
    for (let last = step; last < steps; last += 1) {
      let [sum, discount] = [0, 1];
      for (let at = step; at <= last; at += 1) {
        sum += discount * (rewards[at * rows + row] as number);
        discount *= discounts[at * rows + row] as number;
      }
      sum += discount * (values[(last + 1) * rows + row] as number);
      const share = last === steps - 1 ? weight : weight * (1 - lambda);
      total += share * sum;
      weight *= lambda;
    }
    return total;
  };
  const returns = lambdaReturns({ rows, steps, rewards, discounts, values }, lambda);
  for (let step = 0; step < steps; step += 1)
    for (let row = 0; row < rows; row += 1) expect(returns[step * rows + row]).toBeCloseTo(slow(row, step), 4);
  expect(percentile(Float32Array.of(0, 1, 2, 3, 4), 0.05)).toBeCloseTo(0.2, 6);
  expect(percentile(Float32Array.of(0, 1, 2, 3, 4), 0.95)).toBeCloseTo(3.8, 6);
  expect(percentile(Float32Array.of(7), 0.5)).toBe(7);
});

test("symlog has its inverse, and each class keeps its part of a percent", () => {
  const numbers = [-300, -1, -0.01, 0, 0.5, 20];
  const logs = scope(() => symlog(tensor(numbers)).toArray());
  for (const [at, number] of numbers.entries()) expect(symexp(logs[at] as number)).toBeCloseTo(number, 2);
  const logp = scope(() => mixedLogp(tensor([[50, 0, 0, 0]])).toArray());
  expect(logp.reduce((sum, each) => sum + Math.exp(each), 0)).toBeCloseTo(1, 5);
  expect(Math.exp(logp[1] as number)).toBeCloseTo(0.0025, 5);
});

/** Rows of one number: the environment, then the place in its stream. */
function fragmentOf(environment: number, from: number, ends: readonly (readonly [length: number, end: number])[]): Fragment {
  const rows = ends.reduce((sum, [length]) => sum + length, 0);
  let [row, place] = [0, from];
  const [obs, sequences]: [number[], number[]] = [[], []];
  for (const [length, end] of ends) {
    sequences.push(row, length, end);
    for (let at = 0; at <= length; at += 1) obs.push(100 * environment + place + at);
    row += length;
    place += length + 1;
  }
  return {
    rows,
    obs: Float32Array.from(obs),
    actions: new Int32Array(rows),
    rewards: Float32Array.from({ length: rows }, (_, at) => at + 1),
    actionLogp: new Float32Array(rows),
    actionDistInputs: new Float32Array(0),
    sequences: Int32Array.from(sequences),
    environments: Int32Array.from(ends, () => environment),
    states: new Float32Array(0),
  };
}

test("sequences go from one episode into the next, with marks where episodes begin and end", () => {
  const replay = new SequenceReplay({ capacity: 100, width: 1 }, new Random(1));
  // An episode of three steps in two fragments, whose world ends; then one that goes on.
  replay.add(fragmentOf(0, 0, [[1, 0]]));
  replay.add(
    fragmentOf(0, 1, [
      [2, 1],
      [1, 0],
    ]),
  );
  expect(replay.steps).toBe(4);
  expect(replay.starts(6)).toBe(1);
  expect(replay.sample(1, 6)).toEqual({
    count: 1,
    length: 6,
    obs: Float32Array.of(0, 1, 2, 3, 4, 5),
    rewards: Float32Array.of(0, 1, 1, 2, 0, 3),
    firsts: Float32Array.of(1, 0, 0, 0, 1, 0),
    lasts: Float32Array.of(0, 0, 0, 1, 0, 0),
  });
  expect(replay.starts(7)).toBe(0);
});

test("a runner that begins anew begins an episode, and a truncation is no end of the world", () => {
  const replay = new SequenceReplay({ capacity: 100, width: 1 }, new Random(1));
  replay.add(fragmentOf(0, 0, [[1, 0]]));
  replay.add(fragmentOf(0, 50, [[1, 2]]));
  expect(replay.sample(1, 4)).toMatchObject({ firsts: Float32Array.of(1, 0, 1, 0), lasts: new Float32Array(4) });
});

test("the oldest rows are overwritten, sequences stay within an environment, and a saved buffer goes on", () => {
  const replay = new SequenceReplay({ capacity: 6, width: 1 }, new Random(1));
  for (let at = 0; at < 9; at += 1) for (const environment of [1, 2]) replay.add(fragmentOf(environment, at, [[1, 0]]));
  expect(replay.starts(4)).toBe(6);
  const other = new SequenceReplay({ capacity: 6, width: 1 }, new Random(5));
  const state = replay.getState();
  const seen = new Set<number>();
  for (let draw = 0; draw < 50; draw += 1) {
    const { obs } = replay.sample(2, 4);
    for (const sequence of [0, 1]) {
      const own = [0, 1, 2, 3].map((step) => obs[2 * step + sequence] as number);
      expect(own).toEqual([0, 1, 2, 3].map((step) => (own[0] as number) + step));
      seen.add(own[0] as number);
    }
  }
  expect(Array.from(seen).toSorted((a, b) => a - b)).toEqual([104, 105, 106, 204, 205, 206]);
  other.setState(state);
  const again = new SequenceReplay({ capacity: 6, width: 1 }, new Random(7));
  again.setState(state);
  expect(other.sample(3, 4)).toEqual(again.sample(3, 4));
  for (const each of [other, again]) each.add(fragmentOf(1, 9, [[1, 1]]));
  expect(other.sample(8, 5)).toEqual(again.sample(8, 5));
  expect(() => new SequenceReplay({ capacity: 6, width: 2 }, new Random(1)).setState(state)).toThrow(
    "the buffer would have 2 numbers a row",
  );
});

/** Shows the states of the model behind a batch. */
class Open extends DreamerV3Learner {
  posteriors(obs: Float32Array, firsts: Float32Array): Float32Array {
    return scope(() =>
      this.observe({
        count: 1,
        length: firsts.length,
        obs,
        firsts,
        rewards: new Float32Array(0),
        lasts: new Float32Array(0),
      }).posterior.toArray(),
    );
  }
}

test("an episode that begins within a sequence knows nothing of the one before", () => {
  const { training } = signs().values;
  const spec = { ...signs().moduleSpec, policyKind: "squashed" as const };
  const spaces = { observationSpace: new Box({ low: -1, high: 1, shape: [1] }), actionSpace: new Discrete(2) };
  const built = withRandom(new Random(1), () => buildModule(spec, spaces, 1));
  expect(built.module).toBeInstanceOf(DreamerModule);
  const setup = { moduleId: "default_policy", built, buildTwin: () => built, config: { ...training, gradClip: undefined }, seed: 1 };
  const learner = new Open(setup);
  const row = (seen: number, action: number): number[] => [seen, Number(action === 0), Number(action === 1)];
  const classes = 16;
  const behind = learner.posteriors(Float32Array.from([row(1, 1), row(-1, 0), row(0.5, 1)].flat()), Float32Array.of(1, 0, 1));
  const alone = learner.posteriors(Float32Array.from(row(0.5, 0)), Float32Array.of(1));
  for (let at = 0; at < classes; at += 1) expect(behind[2 * classes + at]).toBeCloseTo(alone[at] as number, 5);
  const goesOn = learner.posteriors(Float32Array.from([row(1, 1), row(-1, 0), row(0.5, 1)].flat()), Float32Array.of(1, 0, 0));
  expect(Math.max(...alone.map((logp, at) => Math.abs(logp - (goesOn[2 * classes + at] as number))))).toBeGreaterThan(1e-4);
});

test.each<[string, () => DreamerV3Config, string]>([
  ["a network of one's own size", () => signs().rlModule({ modelConfig: { fcnetHiddens: [8] } }), "Set modelSize of training()"],
  [
    "draws by priority",
    () => signs().training({ replayBufferConfig: { type: "PrioritizedEpisodeReplayBuffer" } }),
    "its buffer draws sequences equally often",
  ],
  [
    "a buffer shorter than a sequence",
    () => signs().training({ replayBufferConfig: { capacity: 7 } }),
    "at least batchLengthT, 4: received 3",
  ],
  ["an action mask", () => signs().environment(Masked), "without action masks"],
])("%s is refused by buildAlgo", async (_, make, reason) => {
  await expect(make().buildAlgo()).rejects.toThrow(reason);
});

test.each<[string, object, string]>([
  ["an unknown size", { modelSize: "giant" }, 'Cannot set modelSize of training() of DreamerV3: "nano" or "micro"'],
  ["one learning rate", { lr: 1 }, "there are worldModelLr, actorLr and criticLr"],
  ["a sequence of one step", { batchLengthT: 1 }, "a whole number from 2"],
])("%s is refused when it is set", (_, training, reason) => {
  expect(() => signs().training(training)).toThrow(reason);
});
