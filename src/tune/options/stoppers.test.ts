import { expect, test } from "vitest";
import {
  CombinedStopper,
  ExperimentPlateauStopper,
  FunctionStopper,
  MaximumIterationStopper,
  readStop,
  TimeoutStopper,
  TrialPlateauStopper,
} from "./stoppers.ts";
import type { TrialResult } from "../trials/trial.ts";

const result = (metrics: object, trainingIteration = 1): TrialResult => ({
  ...metrics,
  trialId: "a",
  trainingIteration,
  timeThisIterMs: 500,
  timeTotalMs: 500 * trainingIteration,
  timestampMs: 0,
  pid: 7,
  hostname: "node",
  nodeIp: "10.0.0.7",
  done: false,
  config: {},
});

test("bounds are reached upwards, for a metric that is minimized downwards", () => {
  const stop = readStop({ loss: 0.1, accuracy: 0.9, trainingIteration: 10, finished: true }, new Map([["loss", "min" as const]]));
  expect(stop?.shouldStop("a", result({ loss: 0.2, accuracy: 0.5 }))).toBe(false);
  expect(() => stop?.shouldStop("a", result({ loss: 0.2, acuracy: 0.5 }))).toThrow('Cannot stop by "accuracy": the report lacks it');
  expect(stop?.shouldStop("a", result({ loss: 0.1 }))).toBe(true);
  expect(stop?.shouldStop("a", result({ accuracy: 0.9 }))).toBe(true);
  expect(stop?.shouldStop("a", result({}, 10))).toBe(true);
  expect(stop?.shouldStop("a", result({ finished: true }))).toBe(true);
  expect(stop?.shouldStop("a", result({ loss: "low", accuracy: 0 }))).toBe(false);
});

test("Ray's names of what every result has are taken", () => {
  const stop = readStop({ training_iteration: 3, time_total_s: 100 }, new Map());
  expect(stop?.shouldStop("a", result({}, 2))).toBe(false);
  expect(stop?.shouldStop("a", result({}, 3))).toBe(true);
});

test.each([[5], [{ loss: "low" }], [{ loss: Number.NaN }], ["loss"]])("%o is no condition", (stop) => {
  expect(() => readStop(stop, new Map())).toThrow("Cannot set stop of runConfig");
});

test("functions and lists of stoppers are conditions", async () => {
  expect(await readStop((id: string) => id === "a", new Map())?.shouldStop("a", result({}))).toBe(true);
  const several = readStop([new MaximumIterationStopper(2), new FunctionStopper((_, { loss }) => loss === 0)], new Map());
  expect(await several?.shouldStop("a", result({ loss: 1 }))).toBe(false);
  expect(await several?.shouldStop("a", result({ loss: 0 }))).toBe(true);
  expect(await several?.shouldStop("a", result({ loss: 1 }, 2))).toBe(true);
  expect(() => new CombinedStopper({} as never)).toThrow("Cannot combine stoppers");
});

test("a trial whose metric stands still ends, after its grace and beyond its threshold, also from a saved state", () => {
  const stopper = new TrialPlateauStopper({ metric: "loss", numResults: 3, gracePeriod: 4, metricThreshold: 0.5, mode: "min" });
  const losses = [0.9, 0.9, 0.9, 0.9, 0.3, 0.3];
  expect(losses.map((loss) => stopper.shouldStop("a", result({ loss })))).toEqual(losses.map(() => false));
  const restored = new TrialPlateauStopper({ metric: "loss", numResults: 3, gracePeriod: 4, metricThreshold: 0.5, mode: "min" });
  restored.restore(JSON.parse(JSON.stringify(stopper.save())));
  expect(restored.shouldStop("a", result({ loss: 0.3 }))).toBe(true);
  expect(restored.shouldStop("b", result({ loss: 0.3 }))).toBe(false);
});

test("an experiment whose best results are alike ends", () => {
  const stopper = new ExperimentPlateauStopper({ metric: "loss", mode: "min", top: 3, std: 0.01, patience: 1 });
  for (const loss of [1, 0.5, 0.5]) stopper.shouldStop("a", result({ loss }));
  expect(stopper.stopAll()).toBe(false);
  for (const loss of [0.5, 0.9]) stopper.shouldStop("a", result({ loss }));
  expect(stopper.stopAll()).toBe(true);
});

test("a timeout counts from the first result to the last, over restores", () => {
  const stopper = new TimeoutStopper(1000);
  const isOver = (timestampMs: number): boolean => {
    stopper.shouldStop("a", { ...result({}), timestampMs });
    return stopper.stopAll();
  };
  expect([stopper.stopAll(), isOver(5000), isOver(5700)]).toEqual([false, false, false]);
  stopper.restore(JSON.parse(JSON.stringify(stopper.save())));
  expect([isOver(90_000), isOver(90_299), isOver(90_300)]).toEqual([false, false, true]);
});
