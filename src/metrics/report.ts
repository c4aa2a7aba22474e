/**
 * Reports the metrics of this process to its daemon: those that have changed, once a second.
 *
 * A change is seen by comparing with the last report, so recording a value costs nothing more. The timer keeps no process alive. A new
 * session gets everything, as its daemon knows nothing of the last one.
 */
import { type MetricSnapshot, reportMetrics, setMetricSource } from "../core/internal.ts";
import { REPORT_EVERY_MS, SERIES_OF_REPORT_MAX } from "./limits.ts";

/** Last reports by receiver: the text of each metric. */
const told = new WeakMap<object, Map<string, string>>();
let timer: NodeJS.Timeout | undefined;

/** Called with each new metric. */
export function beginReports(read: () => readonly MetricSnapshot[]): void {
  if (timer !== undefined) return;
  setMetricSource((receiver) => changedSince(receiver, read()));
  timer = setInterval(reportMetrics, REPORT_EVERY_MS).unref();
}

function changedSince(receiver: object, metrics: readonly MetricSnapshot[]): MetricSnapshot[] {
  const last = told.get(receiver) ?? new Map<string, string>();
  told.set(receiver, last);
  const changed: MetricSnapshot[] = [];
  let room = SERIES_OF_REPORT_MAX;
  for (const metric of metrics) {
    const finite = { ...metric, series: metric.series.filter(isFinite) };
    const text = JSON.stringify(finite.series);
    if (last.get(metric.name) === text || finite.series.length > room) continue;
    room -= finite.series.length;
    last.set(metric.name, text);
    changed.push(finite);
  }
  return changed;
}

/** A sum that has become infinite would make the daemon refuse the whole report. */
function isFinite({ value, counts }: MetricSnapshot["series"][number]): boolean {
  return Number.isFinite(value) && counts.every(Number.isSafeInteger);
}
