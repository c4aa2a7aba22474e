/** Metrics of one batched function in a replica, under Ray's names. Made at its first batch, as the replica is known by then. */
import { findReplicaContext } from "../replica/replica-context.ts";
import { LATENCY_BOUNDARIES, type MetricKind, metricOf, type Series } from "./registry.ts";

const TAG_KEYS = ["application", "deployment", "replica", "function_name"];
const SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
const PERCENTS = [5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 100];

export class BatchMetrics {
  readonly #waits: Series;
  readonly #runs: Series;
  readonly #queue: Series;
  readonly #utilization: Series;
  readonly #sizes: Series;
  readonly #processed: Series;

  constructor(functionName: string) {
    const { appName = "", deployment = "", replicaId = "" } = findReplicaContext() ?? {};
    const seriesOf = (kind: MetricKind, name: string, description: string, boundaries?: readonly number[]): Series =>
      metricOf(kind, { name: `serve_${name}`, description, tagKeys: TAG_KEYS }, boundaries).series([
        appName,
        deployment,
        replicaId,
        functionName,
      ]);
    this.#waits = seriesOf("histogram", "batch_wait_time_ms", "Time that an item waited for its batch", LATENCY_BOUNDARIES);
    this.#runs = seriesOf("histogram", "batch_execution_time_ms", "Time that a batch took", LATENCY_BOUNDARIES);
    this.#queue = seriesOf("gauge", "batch_queue_length", "Items that wait for a batch");
    this.#utilization = seriesOf("histogram", "batch_utilization_percent", "Size of a batch, of the largest that it may have", PERCENTS);
    this.#sizes = seriesOf("histogram", "actual_batch_size", "Items of a batch", SIZES);
    this.#processed = seriesOf("counter", "batches_processed", "Batches that have run");
  }

  waiting(items: number): void {
    this.#queue.set(items);
  }

  /** @param size of the batch, and how large it may be: items, or what `batchSizeFn` says */
  begun(waitsMs: readonly number[], { size, max }: { size: number; max: number }): void {
    for (const waitMs of waitsMs) this.#waits.observe(waitMs);
    this.#sizes.observe(waitsMs.length);
    this.#utilization.observe((100 * size) / max);
  }

  ended(durationMs: number): void {
    this.#runs.observe(durationMs);
    this.#processed.add(1);
  }
}
