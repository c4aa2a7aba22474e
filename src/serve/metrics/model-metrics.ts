/** Metrics of the models that a replica keeps, under Ray's names. Made at the first request for one, as the replica is known by then. */
import { findReplicaContext } from "../replica/replica-context.ts";
import { LATENCY_BOUNDARIES, type Metric, type MetricKind, metricOf, type Series } from "./registry.ts";

const TAG_KEYS = ["application", "deployment", "replica"];

export class ModelMetrics {
  readonly #tags: readonly string[];
  readonly #requests: Series;
  readonly #loads: Series;
  readonly #unloads: Series;
  readonly #loadTimes: Series;
  readonly #unloadTimes: Series;
  readonly #count: Series;
  readonly #registered: Metric;

  constructor() {
    const { appName = "", deployment = "", replicaId = "" } = findReplicaContext() ?? {};
    this.#tags = [appName, deployment, replicaId];
    const seriesOf = (kind: MetricKind, name: string, description: string): Series =>
      metricOf(kind, { name, description, tagKeys: TAG_KEYS }, kind === "histogram" ? LATENCY_BOUNDARIES : []).series(this.#tags);
    this.#requests = seriesOf("counter", "serve_multiplexed_get_model_requests_counter", "Requests for a model");
    this.#loads = seriesOf("counter", "serve_multiplexed_models_load_counter", "Models that were loaded");
    this.#unloads = seriesOf("counter", "serve_multiplexed_models_unload_counter", "Models that made way for others");
    this.#loadTimes = seriesOf("histogram", "serve_multiplexed_model_load_latency_ms", "Time that the load of a model took");
    this.#unloadTimes = seriesOf("histogram", "serve_multiplexed_model_unload_latency_ms", "Time that the disposal of a model took");
    this.#count = seriesOf("gauge", "serve_num_multiplexed_models", "Models that a replica has");
    this.#registered = metricOf("gauge", {
      name: "serve_registered_multiplexed_model_id",
      description: "1 for a model that a replica has, 0 for one that it had",
      tagKeys: [...TAG_KEYS, "model_id"],
    });
  }

  requested(): void {
    this.#requests.add(1);
  }

  loaded(modelId: string, durationMs: number): void {
    this.#loads.add(1);
    this.#loadTimes.observe(durationMs);
    this.#registered.series([...this.#tags, modelId]).set(1);
  }

  /** @param durationMs how long its disposal took */
  unloaded(modelId: string, durationMs: number): void {
    this.#unloads.add(1);
    this.#unloadTimes.observe(durationMs);
    this.#registered.series([...this.#tags, modelId]).set(0);
  }

  kept(count: number): void {
    this.#count.set(count);
  }
}
