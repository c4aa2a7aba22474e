/**
 * Where the metrics of this process come from, and how a report of them is sent.
 *
 * The metrics belong to `shoal/metrics`, which a process may never load; that library registers as their source. Totals are sent, so a
 * report that comes twice changes nothing. Without a source nothing is ever sent.
 */
import type { MetricSnapshot } from "../../runtime/wire/observing/metric-messages.ts";
import { MESSAGE } from "../../runtime/wire/messages.ts";

/** Receives reports: the connection to the daemon. */
interface Receiver {
  send(type: number, header: unknown): void;
}

/** Returns the metrics that have changed since the last call for this receiver. */
type MetricSource = (receiver: object) => readonly MetricSnapshot[];

let source: MetricSource | undefined;

/** Sets the one source of metrics of this process. It returns the metrics that have changed since its last call for a receiver. */
export function setMetricSource(read: MetricSource): void {
  source = read;
}

/** Sends the changes, if there are any. */
export function tellMetrics(receiver: Receiver): void {
  const changed = source?.(receiver) ?? [];
  if (changed.length > 0) receiver.send(MESSAGE.METRICS, changed);
}
