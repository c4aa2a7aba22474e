/**
 * The metrics of a node's processes: the last totals of each living one, and sums of those that have ended.
 *
 * Counters and histograms are summed over living and ended processes, so they never fall; gauges belong to a process and go with it. Totals
 * come from user code: names, tags and numbers are checked and bounded here, and refusals are counted. Pure.
 */
import type { ProcessId } from "../base/ids.ts";
import type { MetricSnapshot, ProcessMetrics } from "../wire/observing/metric-messages.ts";
import {
  METRIC_BOUNDARIES_MAX,
  METRIC_SERIES_OF_NODE_MAX,
  METRIC_SERIES_OF_PROCESS_MAX,
  METRIC_TAG_CHARACTERS_MAX,
  METRIC_TAGS_MAX,
} from "./limits.ts";

type Series = MetricSnapshot["series"][number];

/** A metric with its series by their tags. */
interface Sum {
  readonly facts: Omit<MetricSnapshot, "series">;
  readonly series: Map<string, Series>;
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]{0,199}$/;
const KEY = /^[a-zA-Z_][a-zA-Z0-9_]{0,199}$/;
const OTHER = "other";

export class NodeMetrics {
  readonly #nodeId: string;
  readonly #processes = new Map<ProcessId, Map<string, MetricSnapshot>>();
  readonly #ended = new Map<string, Sum>();
  #refused = 0;

  constructor(nodeId: string) {
    this.#nodeId = nodeId;
  }

  report(process: ProcessId, metrics: readonly MetricSnapshot[]): void {
    const known = this.#processes.get(process) ?? new Map<string, MetricSnapshot>();
    this.#processes.set(process, known);
    for (const metric of metrics) {
      const series = isMetric(metric) ? metric.series.filter((each) => isSeriesOf(metric, each)) : [];
      let count = series.length;
      for (const [name, { series: others }] of known) if (name !== metric.name) count += others.length;
      const room = Math.max(0, METRIC_SERIES_OF_PROCESS_MAX - (count - series.length));
      this.#refused += metric.series.length - Math.min(room, series.length);
      if (!isMetric(metric) || (room === 0 && !known.has(metric.name))) continue;
      known.set(metric.name, { ...metric, series: series.slice(0, room) });
    }
  }

  ended(process: ProcessId): void {
    const metrics = this.#processes.get(process);
    if (metrics === undefined) return;
    this.#processes.delete(process);
    for (const metric of metrics.values()) if (metric.kind !== "gauge") add(this.#ended, metric);
  }

  snapshot(): ProcessMetrics[] {
    const sums = new Map(Array.from(this.#ended, ([key, { facts, series }]) => [key, { facts, series: new Map(series) }]));
    const gauges: ProcessMetrics[] = [];
    let gaugeRoom = METRIC_SERIES_OF_NODE_MAX;
    for (const [process, metrics] of this.#processes) {
      const own: MetricSnapshot[] = [];
      for (const metric of metrics.values()) {
        if (metric.kind !== "gauge") add(sums, metric);
        else if (metric.series.length <= gaugeRoom) {
          own.push(metric);
          gaugeRoom -= metric.series.length;
        }
      }
      if (own.length > 0) gauges.push({ tags: { node_id: this.#nodeId, worker_id: process }, metrics: own });
    }
    const summed = Array.from(sums.values(), ({ facts, series }) => ({ ...facts, series: Array.from(series.values()) }));
    return [{ tags: { node_id: this.#nodeId }, metrics: [...summed, this.#refusedMetric()] }, ...gauges];
  }

  #refusedMetric(): MetricSnapshot {
    return {
      name: "metrics_refused_total",
      description: "Series that processes reported and that were not kept: wrong, or beyond the limits",
      isSystem: true,
      kind: "counter",
      tagKeys: [],
      boundaries: [],
      series: [{ tags: [], value: this.#refused, counts: [] }],
    };
  }
}

/** Adds a total to the sums with the same name, kind and tags. Beyond the limit the tag values are `other`. */
function add(sums: Map<string, Sum>, { series, ...facts }: MetricSnapshot): void {
  const key = JSON.stringify([facts.name, facts.kind, facts.tagKeys, facts.boundaries]);
  const sum: Sum = sums.get(key) ?? { facts, series: new Map() };
  sums.set(key, sum);
  let count = 0;
  for (const each of sums.values()) count += each.series.size;
  for (const { tags, value, counts } of series) {
    let place = JSON.stringify(tags);
    let shown = tags;
    if (!sum.series.has(place) && count >= METRIC_SERIES_OF_NODE_MAX) {
      shown = tags.map(() => OTHER);
      place = JSON.stringify(shown);
    }
    const known = sum.series.get(place);
    if (known === undefined) count += 1;
    sum.series.set(place, {
      tags: shown,
      value: (known?.value ?? 0) + value,
      counts: counts.map((each, at) => each + (known?.counts[at] ?? 0)),
    });
  }
}

function isMetric({ name, tagKeys, boundaries, kind }: MetricSnapshot): boolean {
  const isOrdered = boundaries.every((boundary, at) => at === 0 || boundary > (boundaries[at - 1] as number));
  const hasKeys =
    tagKeys.length <= METRIC_TAGS_MAX && new Set(tagKeys).size === tagKeys.length && tagKeys.every((key) => KEY.test(key) && key !== "le");
  return (
    NAME.test(name) &&
    hasKeys &&
    boundaries.length <= METRIC_BOUNDARIES_MAX &&
    isOrdered &&
    (kind === "histogram" || boundaries.length === 0)
  );
}

function isSeriesOf({ tagKeys, kind, boundaries }: MetricSnapshot, { tags, counts, value }: Series): boolean {
  const wanted = kind === "histogram" ? boundaries.length + 1 : 0;
  const isCount = counts.length === wanted && counts.every((count) => Number.isSafeInteger(count) && count >= 0);
  const isShort = tags.every((tag) => tag.length <= METRIC_TAG_CHARACTERS_MAX);
  return isShort && tags.length === tagKeys.length && isCount && (kind !== "counter" || value >= 0);
}
