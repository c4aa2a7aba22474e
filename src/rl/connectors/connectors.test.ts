import { expect, test } from "vitest";
import { PPOConfig } from "../algorithms/ppo.ts";
import type { Env } from "../environments/env.ts";
import { Box } from "../spaces/box.ts";
import { Discrete } from "../spaces/discrete.ts";
import { ClipRewards } from "./clip-rewards.ts";
import { Connector, type ConnectorColumns } from "./connector.ts";
import { FrameStack } from "./frame-stack.ts";
import { MeanStdFilter } from "./mean-std-filter.ts";
import { ObservationPipeline, type ConnectorMaker } from "./observation-pipeline.ts";
import { PreviousActions } from "./previous-actions.ts";

const SPACES = { observationSpace: new Box({ low: -100, high: 100, shape: [1] }), actionSpace: new Discrete(2) };

function observerOf(connectors: ConnectorMaker, numEnvs = 1) {
  const pipeline = new ObservationPipeline(SPACES, { connectors });
  return { pipeline, observer: pipeline.observe(numEnvs, { training: true }), into: new Float32Array(numEnvs * pipeline.size) };
}

const step = (actions: number[], rewards: number[], finals: { env: number; observation: unknown }[] = []) => ({
  actions: Int32Array.from(actions),
  rewards: Float64Array.from(rewards),
  starts: new Uint8Array(actions.length),
  finals,
});

test("frames are stacked by environment, the newest last, and an episode begins with equal ones", () => {
  const { observer, into } = observerOf(() => new FrameStack({ numFrames: 3 }), 2);
  observer.begin(Float32Array.of(1, 10), into);
  expect(Array.from(into)).toEqual([1, 1, 1, 10, 10, 10]);
  observer.step(Float32Array.of(2, 20), step([0, 0], [0, 0]), into);
  // The second environment ends with 30 and begins again with 40.
  observer.step(Float32Array.of(3, 40), step([0, 0], [0, 0], [{ env: 1, observation: [30] }]), into);
  expect(Array.from(into)).toEqual([1, 2, 3, 40, 40, 40]);
  expect(Array.from(observer.finals.subarray(3))).toEqual([10, 20, 30]);
});

test("pictures are stacked along their channels", () => {
  const observationSpace = new Box({ low: 0, high: 255, shape: [1, 2, 2] });
  const pipeline = new ObservationPipeline({ ...SPACES, observationSpace }, { connectors: () => new FrameStack({ numFrames: 2 }) });
  const observer = pipeline.observe(1, { training: false });
  const into = new Float32Array(8);
  observer.begin(Float32Array.of(1, 2, 3, 4), into);
  observer.step(Float32Array.of(5, 6, 7, 8), step([0], [0]), into);
  expect([pipeline.space.shape, Array.from(into)]).toEqual([
    [1, 2, 4],
    [1, 2, 5, 6, 3, 4, 7, 8],
  ]);
});

test("previous actions are one-hot, rewards are those that ClipRewards before them has clipped", () => {
  const { observer, into } = observerOf(() => [new ClipRewards(), new PreviousActions({ actions: 2 })]);
  observer.begin(Float32Array.of(1), into);
  expect(Array.from(into)).toEqual([1, 0, 0, 0, 0, 0]);
  observer.step(Float32Array.of(2), step([1], [7]), into);
  expect(Array.from(observer.step(Float32Array.of(3), step([0], [-4]), into))).toEqual([-1]);
  expect(Array.from(into)).toEqual([3, 0, 1, 1, 0, -1]);
  const { pipeline } = observerOf(() => new ClipRewards({ limit: 2 }));
  expect(Array.from(pipeline.observe(1, { training: true }).step(Float32Array.of(2), step([1], [7]), new Float32Array(1)))).toEqual([2]);
});

test("a mean-std filter merges increments of several observers into the moments of all numbers", () => {
  const numbers = Array.from({ length: 60 }, (_, index) => ((index * 37) % 23) + 50);
  const pipeline = new ObservationPipeline(SPACES, { connectors: () => new MeanStdFilter({ clip: 1 }) });
  for (const from of [0, 1, 2]) {
    const observer = pipeline.observe(1, { training: true });
    const into = new Float32Array(1);
    for (let at = from; at < 60; at += 3) observer.step(Float32Array.of(numbers[at] as number), step([0], [0]), into);
    pipeline.merge(observer.increments());
    expect(observer.increments()[0]).toEqual([]);
  }
  const mean = numbers.reduce((sum, value) => sum + value, 0) / 60;
  const squares = numbers.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  const [state] = pipeline.getStates() as [{ count: number; mean: number[]; squares: number[] }];
  expect([state.count, state.mean[0], state.squares[0]]).toEqual([60, expect.closeTo(mean, 9), expect.closeTo(squares, 6)]);
  const into = new Float32Array(1);
  const evaluating = pipeline.observe(1, { training: false });
  evaluating.step(Float32Array.of(mean + 0.5 * Math.sqrt(squares / 59)), step([0], [0]), into);
  expect(into[0]).toBeCloseTo(0.5, 5);
  evaluating.step(Float32Array.of(1000), step([0], [0]), into);
  expect(into[0]).toBe(1);
  expect(evaluating.increments()[0]).toEqual([]);
});

/** Shows a light once, then asks which it was. */
class Recall implements Env {
  readonly observationSpace: Box = new Box({ low: -1000, high: 1000, shape: [1] });
  readonly actionSpace: Discrete = new Discrete(2);
  #light = 0;
  #count = 0;

  reset(): { observation: Float32Array } {
    this.#count += 1;
    this.#light = this.#count % 2;
    return { observation: Float32Array.of(this.#light === 1 ? 1000 : -1000) };
  }

  step(action: unknown): ReturnType<Env["step"]> {
    const isAsked = this.#light >= 0;
    const reward = isAsked ? 0 : action === -1 - this.#light ? 100 : 0;
    if (!isAsked) return { observation: [0], reward, terminated: true, truncated: false };
    this.#light = -1 - this.#light;
    return { observation: [0], reward, terminated: false, truncated: false };
  }
}

test("an observation that is not finite does not stay in a mean-std filter", () => {
  const pipeline = new ObservationPipeline(SPACES, { connectors: () => new MeanStdFilter() });
  const observer = pipeline.observe(1, { training: true });
  for (const value of [1, Number.NaN, 3, Number.POSITIVE_INFINITY])
    observer.step(Float32Array.of(value), step([0], [0]), new Float32Array(1));
  pipeline.merge(observer.increments());
  expect(pipeline.getStates()).toEqual([{ count: 2, mean: [2], squares: [2] }]);
});

test("PPO learns what is only seen before through FrameStack, a filter and clipped rewards, and evaluates and acts alike", async () => {
  await using algorithm = await new PPOConfig()
    .environment(Recall, { clipRewards: true })
    .envRunners({ numEnvsPerEnvRunner: 4, envToModuleConnector: () => [new MeanStdFilter(), new FrameStack({ numFrames: 2 })] })
    .training({ lr: 1e-2, trainBatchSizePerLearner: 400, minibatchSize: 100, numEpochs: 5 })
    .rlModule({ modelConfig: { fcnetHiddens: [16] } })
    .evaluation({ evaluationConfig: { explore: false } })
    .debugging({ seed: 1 })
    .buildAlgo();
  let mean = 0;
  for (let iteration = 0; mean < 95 && iteration < 25; iteration += 1) mean = (await algorithm.train()).envRunners.episodeReturnMean ?? 0;
  expect(mean).toBeGreaterThanOrEqual(95);
  expect((await algorithm.evaluate()).envRunners.episodeReturnMean).toBe(100);
  for (const [light, answer] of [
    [1000, 1],
    [-1000, 0],
  ])
    expect(algorithm.computeAction([0], { previous: [{ observation: [light], action: 0 }] })).toBe(answer);
});

class Forgetful extends Connector {
  call(columns: ConnectorColumns): ConnectorColumns {
    return { ...columns, obs: columns.obs.subarray(1) };
  }
}

test.each<[() => unknown, string]>([
  [() => new MeanStdFilter({ clip: 0 }), "Cannot make a MeanStdFilter: clip is a number above 0: received 0"],
  [() => new FrameStack({} as { numFrames: number }), "Cannot make a FrameStack: numFrames is a whole number from 1: received undefined"],
  [() => new PreviousActions({ actions: -1 }), "Cannot make PreviousActions: actions is a whole number from 0: received -1"],
  [() => new ClipRewards({ limit: -1 }), "Cannot make ClipRewards: limit is a number above 0: received -1"],
  [() => observerOf(() => ({}) as Connector), "Cannot use envToModuleConnector: it returns a connector"],
  [
    () => {
      const { observer, into } = observerOf(() => new Forgetful());
      observer.begin(Float32Array.of(1), into);
    },
    "Cannot use the connectors Forgetful: 1 rows of 1 numbers are needed, as prepare() says: received 0 numbers",
  ],
  [() => new PPOConfig().environment("CartPole-v1", { clipRewards: -1 }), "Cannot set clipRewards of environment()"],
])("%s is refused", (use, reason) => {
  expect(use).toThrow(reason);
});
