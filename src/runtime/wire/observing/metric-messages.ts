/**
 * The headers of messages about metrics; the numbers are in `messages.ts`.
 *
 * A process reports totals to its daemon, so a report that comes twice changes nothing. A question names one node, whose daemon answers
 * with sums over the processes there and the use of the machine.
 */
import { exactly, fields, flag, list, named, number, type Of, optional, readonlyList, record, text } from "../header-shape.ts";

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

export const nodeMetricsAnswer = fields({ processes: list(processMetrics) });
