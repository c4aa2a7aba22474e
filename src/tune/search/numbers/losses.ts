/** Losses of results for searchers: a number for each metric, smaller for better in either mode. */
import { metricAt } from "../../../runs/checkpoints/kept-checkpoints.ts";
import type { Metrics, Mode, TrialResult } from "../../trials/trial.ts";

export interface Objectives {
  readonly metrics: readonly string[];
  /** 1 where less is better, -1 where more is. */
  readonly signs: readonly number[];
}

/** @throws TypeError without a metric or a mode, RangeError for more metrics than modes, or than the searcher takes */
export function readObjectives(given: {
  searcher: string;
  objectivesMax: number;
  metric: string | readonly string[];
  mode: Mode | readonly Mode[];
}): Objectives {
  const metrics = [given.metric].flat();
  const modes = [given.mode].flat();
  if (metrics.length === 0 || metrics.some((metric) => metric === undefined || metric === ""))
    throw new TypeError(
      `Cannot search with ${given.searcher}: it learns from a metric: set metric and mode of tuneConfig, such as { metric: "loss", mode: "min" }`,
    );
  if (modes.every((mode) => mode === undefined))
    throw new TypeError(
      `Cannot search with ${given.searcher}: whether less or more of ${JSON.stringify(metrics[0])} is better is needed: set mode of tuneConfig, "min" or "max"`,
    );
  if (metrics.length > given.objectivesMax)
    throw new RangeError(
      `Cannot search with ${given.searcher}: it takes ${given.objectivesMax} metric: use TPESearch or OptunaSearch for several: received ${metrics.join(", ")}`,
    );
  if (metrics.length > 1 && modes.length !== metrics.length)
    throw new RangeError(`Cannot search with ${given.searcher}: each of ${metrics.length} metrics needs a mode: received ${modes.length}`);
  return { metrics, signs: metrics.map((_, index) => ((modes[index] ?? modes[0]) === "max" ? -1 : 1)) };
}

/** Undefined if a result lacks a metric or has one that is no finite number: such a trial teaches nothing. */
export function lossesOf({ metrics, signs }: Objectives, result: TrialResult | undefined): number[] | undefined {
  const losses = metrics.map((metric, index) => {
    const value = result && metricAt(result as unknown as Metrics, metric);
    return typeof value === "number" ? value * (signs[index] as number) : Number.NaN;
  });
  return losses.every(Number.isFinite) ? losses : undefined;
}
