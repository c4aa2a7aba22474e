import { describe, expect, test } from "vitest";
import type { FinishedTrial } from "../trials/live-trial.ts";
import { ResultGrid } from "./result-grid.ts";
import type { Metrics, Mode } from "../trials/trial.ts";

function trial(index: number, metrics: Metrics | undefined, more: Partial<FinishedTrial> = {}): FinishedTrial {
  return {
    id: `t_${index}`,
    index,
    name: `t_${index}`,
    dirname: `t_${index}`,
    status: "terminated",
    config: { index },
    resources: { bundles: [{ CPU: 1 }], strategy: "PACK" },
    metrics,
    iteration: 1,
    timeTotalMs: 1,
    timestampMs: 0,
    failures: 0,
    failure: undefined,
    checkpoints: [],
    nextCheckpoint: 0,
    aggregates: {},
    ...more,
  };
}

const grid = (losses: readonly (number | undefined)[], modes: Mode[] = []): ResultGrid =>
  new ResultGrid({
    path: "/runs/mine",
    trials: losses.map((loss, i) => trial(i, loss === undefined ? undefined : { loss })),
    metrics: modes.length === 0 ? [] : ["loss"],
    modes,
  });

describe("getBestResult", () => {
  const losses = [Number.NaN, Number.POSITIVE_INFINITY, 3, Number.NEGATIVE_INFINITY, undefined, 2];

  test.each([
    ["min", true, 5],
    ["max", true, 2],
    ["min", false, 3],
    ["max", false, 1],
  ] as const)("of mode %s, with filterNanAndInf %s", (mode, filterNanAndInf, best) => {
    expect(grid(losses, [mode]).getBestResult(undefined, undefined, { filterNanAndInf }).trialId).toBe(`t_${best}`);
    expect(grid(losses).getBestResult("loss", mode, { scope: "last", filterNanAndInf }).trialId).toBe(`t_${best}`);
  });

  test("NaN is the best result only where there is no other, and where it counts at all", () => {
    expect(grid([undefined, Number.NaN], ["min"]).getBestResult("loss", "min", { filterNanAndInf: false }).trialId).toBe("t_1");
    expect(grid([Number.POSITIVE_INFINITY, Number.NaN], ["min"]).getBestResult("loss", "min", { filterNanAndInf: false }).trialId).toBe(
      "t_0",
    );
    expect(() => grid([Number.NaN], ["min"]).getBestResult()).toThrow('none of 1 trials has a finite value of "loss"');
    expect(() => grid([undefined], ["min"]).getBestResult("loss", "min", { filterNanAndInf: false })).toThrow(
      'none of 1 trials has a value of "loss"',
    );
  });

  test("takes the mode of tuneConfig for a metric where tuneConfig has no metric", () => {
    const results = new ResultGrid({
      path: "/runs/mine",
      trials: [1, 3, 2].map((loss, i) => trial(i, { loss })),
      metrics: [],
      modes: ["max"],
    });
    expect(results.getBestResult("loss").trialId).toBe("t_1");
    expect(() => results.getBestResult()).toThrow("by which metric?");
    expect(() => grid([1]).getBestResult("loss")).toThrow('the mode of "loss" is "min" or "max": received undefined');
  });

  test("by the scope alone, or among options", () => {
    const trials = [
      trial(0, { loss: 5 }, { aggregates: { loss: [1, 5, 6, 2, [1, 5]] } }),
      trial(1, { loss: 2 }, { aggregates: { loss: [2, 3, 5, 2, [3, 2]] } }),
    ];
    const results = new ResultGrid({ path: "/runs/mine", trials, metrics: ["loss"], modes: ["min"] });
    expect(results.getBestResult().trialId).toBe("t_1");
    expect(results.getBestResult("loss", "min", "all").trialId).toBe("t_0");
    expect(results.getBestResult("loss", "min", { scope: "all" }).trialId).toBe("t_0");
  });

  test("other options are refused by their names", () => {
    const results = grid([1], ["min"]);
    expect(() => results.getBestResult("loss", "min", "best" as never)).toThrow(RangeError);
    expect(() => results.getBestResult("loss", "min", "best" as never)).toThrow('Cannot set scope of getBestResult: "last" or "all"');
    expect(() => results.getBestResult("loss", "min", { filter_nan_and_inf: false } as never)).toThrow("filterNanAndInf");
    expect(() => results.getBestResult("loss", "min", { filterNanAndInf: "no" } as never)).toThrow(TypeError);
  });
});
