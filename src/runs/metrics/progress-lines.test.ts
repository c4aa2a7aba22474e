import { expect, test } from "vitest";
import { durationText, metricsLine, tableLines, valueText } from "./progress-lines.ts";

test("metrics in a line: named ones first, automatic ones left out", () => {
  const metrics = { step: 3, loss: 0.123456, eval: { acc: 0.5 }, trainingIteration: 7, config: { lr: 1 } };
  expect(metricsLine(metrics)).toBe("step 3, loss 0.1235, eval/acc 0.5");
  expect(metricsLine(metrics, { first: ["eval/acc", "gone"], max: 2 })).toBe("eval/acc 0.5, step 3");
});

test("values take little room, and no control character passes", () => {
  expect([1234567.5, 0.00001234, 0.1, 3, Number.NaN, true, null].map(valueText)).toEqual([
    "1.235e+6",
    "1.234e-5",
    "0.1",
    "3",
    "NaN",
    "true",
    "",
  ]);
  expect(valueText("a\u001b[2Jb\nc")).toBe("a [2Jb c");
});

test("tables are aligned, numbers to the right", () => {
  expect(tableLines([["trial", "state", "loss"], ["a_1", "RUNNING", "0.5"], ["long_2", "DONE", "12"], ["b"]])).toEqual([
    "trial   state    loss",
    "a_1     RUNNING   0.5",
    "long_2  DONE       12",
    "b",
  ]);
  expect(tableLines([])).toEqual([]);
});

test("times are for people", () => {
  expect([8200, 200_000, 7_500_000].map(durationText)).toEqual(["8.2 s", "3 min 20 s", "2 h 5 min"]);
});
