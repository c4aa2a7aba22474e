/**
 * `shoal/metrics`: counters, gauges and histograms of any task, actor or program, for Prometheus.
 *
 * A node keeps the totals of living and ended processes. The cluster's HTTP server writes those of all nodes at `/metrics`. A process
 * reports changes once a second, and at its end.
 */
import { registerExports } from "../core/internal.ts";
import { Counter, Gauge, Histogram } from "./user-metrics.ts";

export { Counter, Gauge, Histogram } from "./user-metrics.ts";
export type { HistogramOptions, MetricInfo, MetricOptions } from "./user-metrics.ts";
export type { Tags } from "./registry.ts";

registerExports("shoal/metrics", { Counter, Gauge, Histogram });
