import { expect, test } from "vitest";
import type { ProgressReporter } from "./progress-reporter.ts";
import { readReporter, ResultLines } from "./progress-reporter.ts";
import type { Trial, TrialResult } from "./trial.ts";
import { trialLines } from "./trial-table.ts";

const result = (loss: number, more: object = {}): TrialResult => ({
  loss,
  eval: { acc: 1 - loss },
  ...more,
  trialId: "",
  trainingIteration: 2,
  timeThisIterMs: 1,
  timeTotalMs: 1500,
  timestampMs: 0,
  pid: 7,
  hostname: "node",
  nodeIp: "10.0.0.7",
  done: false,
  config: {},
});

const linesWith = (reporter: ProgressReporter | undefined, endedBefore = 0): string[] =>
  trialLines(
    [
      { id: "a", status: "terminated", config: { x: 1, act: "relu" }, result: result(0.5) },
      { id: "b", status: "running", config: { x: 2, act: "tanh" }, result: undefined },
      { id: "c", status: "terminated", config: { x: 3, act: "tanh" }, result: result(0.25) },
    ],
    { name: "mine", metrics: ["loss"], modes: ["min"], trialsMax: 4, elapsedMs: 4000, endedBefore, reporter: readReporter(reporter) },
  );

test("the table has the best first, and says how much is left", () => {
  expect(linesWith(undefined)).toEqual([
    "mine: 3 of 4 trials (2 terminated, 1 running), about 4.0 s left",
    "trial  status      loss  iteration  time   x  act",
    "c      terminated  0.25          2  1.5 s  3  tanh",
    "a      terminated   0.5          2  1.5 s  1  relu",
    "b      running                             2  tanh",
  ]);
});

test("trials of earlier sessions do not make a restored run look fast", () => {
  expect(linesWith(undefined, 1)[0]).toBe("mine: 3 of 4 trials (2 terminated, 1 running), about 8.0 s left");
  expect(linesWith(undefined, 2)[0]).toBe("mine: 3 of 4 trials (2 terminated, 1 running)");
});

test("the table has the columns and rows that are asked for", () => {
  const metricColumns = { "eval/acc": "accuracy", time_total_s: "took" };
  expect(linesWith({ metricColumns, parameterColumns: ["act"], maxProgressRows: 2 }).slice(1)).toEqual([
    "trial  status      accuracy  took   act",
    "c      terminated      0.75  1.5 s  tanh",
    "a      terminated       0.5  1.5 s  relu",
    "and 1 more",
  ]);
  expect(
    linesWith({ metricColumns: ["training_iteration", "timeThisIterMs"], parameterColumns: [], sortByMetric: false }).slice(1),
  ).toEqual([
    "trial  status      iteration  last step",
    "b      running",
    "a      terminated          2  0.0 s",
    "c      terminated          2  0.0 s",
  ]);
  expect(linesWith({ maxProgressRows: 0 })).toHaveLength(1);
});

test.each<[object, string]>([
  [{ metricColumns: "loss" }, "a list of names, or an object of names and headings, is needed"],
  [{ parameterColumns: { x: 1 } }, "Cannot set parameterColumns of progressReporter"],
  [{ maxProgressRows: -1 }, "a whole number from 0 is needed"],
  [{ reportIntervalMs: 0 }, "Cannot set reportIntervalMs of progressReporter"],
  [{ max_report_frequency: 5 }, "it is reportIntervalMs, in milliseconds"],
  [{ metric_columns: [] }, "it is spelled metricColumns"],
])("%j is refused", (given, message) => {
  expect(() => readReporter(given)).toThrow(message);
});

test("results and failures as lines have the tuned metrics first", () => {
  const lines: string[] = [];
  const told = new ResultLines(["loss"], (line) => lines.push(line));
  const trial = { id: "t_0" } as Trial;
  told.onTrialResult({ trial, result: result(0.5, { batch: 3 }) });
  told.onTrialResult({ trial, result: { ...result(0.25), done: true } });
  told.onTrialError({ error: new Error("Trial t_0 failed: Error: no") });
  expect(lines).toEqual([
    "trial t_0: iteration 2, 1.5 s: loss 0.5, eval/acc 0.5, batch 3",
    "trial t_0: iteration 2, 1.5 s, its last: loss 0.25, eval/acc 0.75",
    "Trial t_0 failed: Error: no",
  ]);
});
