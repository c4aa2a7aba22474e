/**
 * Aggregates of a trial's metrics, kept in memory instead of their history: enough to compare trials by their best, their mean, or the mean of their last results.
 *
 * Histories themselves are on disk: memory must not hold those of 10,000 trials. A trial keeps a few numbers for each metric.
 * Tuned metrics always count; others are added up to `AGGREGATED_METRICS_MAX` metrics in all.
 */
import { metricAt } from "../../runs/checkpoints/kept-checkpoints.ts";
import { AGGREGATED_METRICS_MAX } from "../limits.ts";
import type { JsonValue, Metrics, Mode } from "../trials/trial.ts";

/** Part of a metric's history by which trials are compared. */
export type Scope = "last" | "all" | "avg" | "last-5-avg" | "last-10-avg";

export const SCOPES: readonly Scope[] = ["last", "all", "avg", "last-5-avg", "last-10-avg"];

/** Minimum, maximum, sum and count of a metric's values, and its last ten values. NaN is left out. */
export type MetricAggregate = readonly [min: number, max: number, sum: number, count: number, last: readonly number[]];

const LAST_VALUES = 10;

export class Aggregates {
  readonly #ofMetric: Map<string, MetricAggregate>;

  constructor(saved: Readonly<Record<string, MetricAggregate>> = {}) {
    this.#ofMetric = new Map(Object.entries(saved));
  }

  /** @param tuned - metrics that count whatever else there is; nested ones by their path with slashes */
  add(metrics: Metrics, tuned: readonly string[]): void {
    for (const name of tuned) this.#add(name, metricAt(metrics, name));
    for (const [name, value] of Object.entries(metrics)) {
      if (tuned.includes(name)) continue;
      if (this.#ofMetric.has(name) || this.#ofMetric.size < AGGREGATED_METRICS_MAX) this.#add(name, value);
    }
  }

  /** The value of a metric in a scope other than "last"; undefined where the metric was not kept. */
  value(metric: string, { scope, mode }: { scope: Scope; mode: Mode }): number | undefined {
    const aggregate = this.#ofMetric.get(metric);
    if (aggregate === undefined) return undefined;
    const [min, max, sum, count, last] = aggregate;
    if (scope === "all") return mode === "max" ? max : min;
    if (scope === "avg") return sum / count;
    const window = last.slice(scope === "last-5-avg" ? -5 : -LAST_VALUES);
    return window.reduce((total, value) => total + value, 0) / window.length;
  }

  /** Whether a metric was reported more than once: else the last value says it all. */
  get isWorthKeeping(): boolean {
    return this.#ofMetric.values().some(([, , , count]) => count > 1);
  }

  save(): Record<string, MetricAggregate> {
    return Object.fromEntries(this.#ofMetric);
  }

  #add(name: string, value: JsonValue | undefined): void {
    if (typeof value !== "number" || Number.isNaN(value)) return;
    const before = this.#ofMetric.get(name);
    if (before === undefined) {
      this.#ofMetric.set(name, [value, value, value, 1, [value]]);
      return;
    }
    const [min, max, sum, count, last] = before;
    this.#ofMetric.set(name, [Math.min(min, value), Math.max(max, value), sum + value, count + 1, [...last.slice(1 - LAST_VALUES), value]]);
  }
}
