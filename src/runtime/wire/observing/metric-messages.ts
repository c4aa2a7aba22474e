/**
 * The headers of messages about metrics; the numbers are in `messages.ts`.
 *
 * A process reports totals to its daemon, so a report that comes twice changes nothing. A question names one node, whose daemon answers
 * with sums over the processes there and the use of the machine.
 */
import { exactly, fields, flag, leaf, list, named, number, type Of, optional, readonlyList, record, text } from "../header-shape.ts";

/** Tag values in the order of the metric's keys; a histogram's `value` is the sum, and `counts` has a number for each bucket. */
const metricSeries = fields({ tags: readonlyList(text), value: number, counts: readonlyList(number) });

const metricSnapshot = named(
  "metric",
  fields({
    name: text,
    description: text,
    /** Made by Shoal: its name is exported with a prefix. */
    isSystem: optional(flag),
    kind: exactly("counter", "gauge", "histogram"),
    tagKeys: readonlyList(text),
    boundaries: readonlyList(number),
    series: readonlyList(metricSeries),
  }),
);
/** A metric with the totals of all its series. */
export type MetricSnapshot = Of<typeof metricSnapshot>;
/** How values of a metric are put together. */
export type MetricKind = MetricSnapshot["kind"];

/** The metrics of the sender that have changed since its last report. */
export const metricsReport = list(metricSnapshot);

export const nodeMetricsAsked = fields({ node: text });

const processMetrics = fields({
  /** Tags of all series. */
  tags: record(text),
  metrics: list(metricSnapshot),
});

/** Metrics, and the tags of all their series. */
export interface ProcessMetrics {
  readonly tags: Readonly<Record<string, string>>;
  readonly metrics: readonly MetricSnapshot[];
}

/** Asks for points of a node's numbers from a time on, in milliseconds since 1970. */
export const nodeSeriesAsked = fields({ node: text, names: list(text), sinceMs: number });

const measured = leaf<number | null>("a finite number or null", (value) => value === null || number(value), "number or null");

/** Values in the order of the times; null: not measured. */
export const nodeSeriesAnswer = fields({
  t: list(number),
  series: list(fields({ name: text, v: list(measured) })),
});

export const nodeMetricsAnswer = fields({ processes: list(processMetrics) });
