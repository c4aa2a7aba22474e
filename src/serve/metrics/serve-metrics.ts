/**
 * Serve's own metrics, under Ray's names.
 *
 * Each process counts its own, and the controller gathers them. Proxies count each request that they have answered, replicas each request and call that they have ended.
 * Both hold the series that they use most, as counting is part of every request.
 */
import { LOOP_EVERY_MS } from "../limits.ts";
import { beforeSnapshots, LATENCY_BOUNDARIES, type MetricKind, metricOf, type Series } from "../../metrics/registry.ts";

const HTTP_TAGS = ["application", "route", "method", "status_code"];
const GRPC_TAGS = ["application", "method", "status_code"];
const DEPLOYMENT_TAGS = ["application", "deployment", "replica"];

/** Metrics of a proxy: its answered requests. */
export class HttpMetrics {
  readonly #requests = metricOf("counter", {
    name: "serve_num_http_requests",
    description: "HTTP requests that were answered",
    tagKeys: HTTP_TAGS,
  });
  readonly #errors = metricOf("counter", {
    name: "serve_num_http_error_requests",
    description: "HTTP requests answered with a status from 400 on",
    tagKeys: HTTP_TAGS,
  });
  readonly #latency = metricOf(
    "histogram",
    { name: "serve_http_request_latency_ms", description: "Time from the head of a request to the end of its answer", tagKeys: HTTP_TAGS },
    LATENCY_BOUNDARIES,
  );
  /** The series of the last request: the next one often has the same tags. */
  #last: { key: string; requests: Series; errors: Series | undefined; latency: Series } | undefined;

  served({
    app,
    route,
    method,
    status,
    durationMs,
  }: {
    app: string;
    route: string;
    method: string;
    status: number;
    durationMs: number;
  }): void {
    const key = `${app} ${method} ${status}`;
    let last = this.#last;
    if (last?.key !== key) {
      const tags = [app, route, METHODS.has(method) ? method : "other", String(status)];
      const errors = status >= 400 ? this.#errors.series(tags) : undefined;
      last = { key, requests: this.#requests.series(tags), errors, latency: this.#latency.series(tags) };
      this.#last = last;
    }
    last.requests.add(1);
    last.errors?.add(1);
    last.latency.observe(durationMs);
  }
}

/** Metrics of a proxy: its calls of gRPC. */
export class GrpcMetrics {
  readonly #requests = metricOf("counter", {
    name: "serve_num_grpc_requests",
    description: "Calls of gRPC that have ended",
    tagKeys: GRPC_TAGS,
  });
  readonly #errors = metricOf("counter", {
    name: "serve_num_grpc_error_requests",
    description: "Calls of gRPC that ended with another status than OK",
    tagKeys: GRPC_TAGS,
  });
  readonly #latency = metricOf(
    "histogram",
    { name: "serve_grpc_request_latency_ms", description: "Time from the metadata of a call to its status", tagKeys: GRPC_TAGS },
    LATENCY_BOUNDARIES,
  );

  served({ app, method, code, durationMs }: { app: string; method: string; code: number; durationMs: number }): void {
    const tags = [app, method, String(code)];
    this.#requests.series(tags).add(1);
    if (code !== 0) this.#errors.series(tags).add(1);
    this.#latency.series(tags).observe(durationMs);
  }
}

/** A client may send any method, and each would be a series. */
const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** Tag values of a replica's metrics. */
type ReplicaTags = readonly [application: string, deployment: string, replica: string];

/** Metrics of a replica. */
export interface ReplicaMetrics {
  readonly requests: Series;
  readonly errors: Series;
  readonly latency: Series;
  readonly slowest: Series;
  readonly ongoing: Series;
  readonly utilization: Series;
}

export function replicaMetrics(tags: ReplicaTags): ReplicaMetrics {
  const facts = (name: string, description: string): { name: string; description: string; tagKeys: readonly string[] } => ({
    name,
    description,
    tagKeys: DEPLOYMENT_TAGS,
  });
  metricOf("counter", facts("serve_deployment_replica_starts", "Replicas that were started")).series(tags).add(1);
  return {
    requests: metricOf("counter", facts("serve_deployment_request_counter", "Requests and calls that a replica has ended")).series(tags),
    errors: metricOf("counter", facts("serve_deployment_error_counter", "Requests and calls whose code threw")).series(tags),
    latency: metricOf(
      "histogram",
      facts("serve_deployment_processing_latency_ms", "Time that a replica took for a request or call"),
      LATENCY_BOUNDARIES,
    ).series(tags),
    slowest: metricOf(
      "gauge",
      facts("serve_deployment_max_processing_latency_ms", "The longest time that a replica took for a request or call of the last minute"),
    ).series(tags),
    ongoing: metricOf("gauge", facts("serve_replica_processing_queries", "Requests and calls under way")).series(tags),
    utilization: metricOf(
      "gauge",
      facts("serve_replica_utilization_percent", "Requests and calls under way over the last minute, of maxOngoingRequests"),
    ).series(tags),
  };
}

const BATCH_SIZES: readonly number[] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
const PERCENTS: readonly number[] = [5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 100];

/** Metrics of a function that works in batches. */
export interface BatchMetrics {
  readonly queued: Series;
  readonly batches: Series;
  readonly size: Series;
  readonly utilization: Series;
  readonly waitedMs: Series;
  readonly tookMs: Series;
}

export function batchMetrics(replica: ReplicaTags, functionName: string): BatchMetrics {
  const series = (kind: MetricKind, [name, description]: [string, string], boundaries?: readonly number[]): Series =>
    metricOf(kind, { name, description, tagKeys: [...DEPLOYMENT_TAGS, "function_name"] }, boundaries).series([...replica, functionName]);
  return {
    queued: series("gauge", ["serve_batch_queue_length", "Items that wait for a batch"]),
    batches: series("counter", ["serve_batches_processed", "Batches that have ended"]),
    size: series("histogram", ["serve_actual_batch_size", "Items of a batch"], BATCH_SIZES),
    utilization: series("histogram", ["serve_batch_utilization_percent", "Size of a batch, of the largest that may be"], PERCENTS),
    waitedMs: series("histogram", ["serve_batch_wait_time_ms", "Time that an item waited for its batch"], LATENCY_BOUNDARIES),
    tookMs: series("histogram", ["serve_batch_execution_time_ms", "Time that a batch took"], LATENCY_BOUNDARIES),
  };
}

/** Metrics of a replica's models. */
export interface ModelMetrics {
  readonly requests: Series;
  readonly loads: Series;
  readonly unloads: Series;
  readonly loadMs: Series;
  readonly unloadMs: Series;
  readonly loaded: Series;
  /** 1 while the model is loaded, otherwise 0. */
  isLoaded(modelId: string): Series;
}

export function modelMetrics(replica: ReplicaTags): ModelMetrics {
  const series = (kind: MetricKind, [name, description]: [string, string]): Series =>
    metricOf(kind, { name, description, tagKeys: DEPLOYMENT_TAGS }, kind === "histogram" ? LATENCY_BOUNDARIES : undefined).series(replica);
  const registered = metricOf("gauge", {
    name: "serve_registered_multiplexed_model_id",
    description: "1 for a model that a replica has loaded, 0 for one that it had",
    tagKeys: [...DEPLOYMENT_TAGS, "model_id"],
  });
  return {
    requests: series("counter", ["serve_multiplexed_get_model_requests_counter", "Times that a model was asked for"]),
    loads: series("counter", ["serve_multiplexed_models_load_counter", "Models that were loaded"]),
    unloads: series("counter", ["serve_multiplexed_models_unload_counter", "Models that made room for others"]),
    loadMs: series("histogram", ["serve_multiplexed_model_load_latency_ms", "Time to load a model"]),
    unloadMs: series("histogram", ["serve_multiplexed_model_unload_latency_ms", "Time to dispose of a model"]),
    loaded: series("gauge", ["serve_num_multiplexed_models", "Models that a replica has loaded"]),
    isLoaded: (modelId) => registered.series([...replica, modelId]),
  };
}

let isLoopMeasured = false;

/** How late timers of this process are: a process that computes answers nobody. The first component of a process counts. */
export function measureEventLoop(component: "controller" | "proxy" | "replica", actorId: string): void {
  if (isLoopMeasured) return;
  isLoopMeasured = true;
  const facts = (name: string, description: string): { name: string; description: string; tagKeys: readonly string[] } => ({
    name,
    description,
    tagKeys: ["component", "loop_type", "actor_id"],
  });
  const tags = [component, "main", actorId];
  const latency = metricOf("histogram", facts("serve_event_loop_scheduling_latency_ms", "How late a timer was"), LATENCY_BOUNDARIES).series(
    tags,
  );
  const iterations = metricOf("counter", facts("serve_event_loop_monitoring_iterations", "How often that was measured")).series(tags);
  let dueMs = performance.now() + LOOP_EVERY_MS;
  setInterval(() => {
    const nowMs = performance.now();
    latency.observe(Math.max(0, nowMs - dueMs));
    iterations.add(1);
    dueMs = nowMs + LOOP_EVERY_MS;
  }, LOOP_EVERY_MS).unref();
}

/** Requests of this process that wait for a replica, by application and deployment: read when the metrics are. */
export function measureQueues(
  queues: () => Iterable<{ readonly app: string; readonly deployment: string; readonly queued: number }>,
): void {
  const queued = metricOf("gauge", {
    name: "serve_deployment_queued_queries",
    description: "Requests and calls of a process that wait for a replica",
    tagKeys: ["application", "deployment"],
  });
  beforeSnapshots(() => {
    queued.clear();
    for (const { app, deployment, queued: count } of queues()) queued.series([app, deployment]).set(count);
  });
}
