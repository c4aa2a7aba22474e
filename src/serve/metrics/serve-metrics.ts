/**
 * Serve's own metrics, under Ray's names.
 *
 * Each process counts its own, and the controller gathers them. Proxies count each request that they have answered, replicas each request and call that they have ended.
 * Both hold the series that they use most, as counting is part of every request.
 */
import { beforeSnapshots, LATENCY_BOUNDARIES, metricOf, type Series } from "./registry.ts";

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

/** Metrics of a replica. */
export interface ReplicaMetrics {
  readonly requests: Series;
  readonly errors: Series;
  readonly latency: Series;
  readonly ongoing: Series;
}

/** Counts the start of the replica, too. */
export function replicaMetrics(tags: readonly [application: string, deployment: string, replica: string]): ReplicaMetrics {
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
    ongoing: metricOf("gauge", facts("serve_replica_processing_queries", "Requests and calls under way")).series(tags),
  };
}

/** A router of this process, which counts what it does. */
interface CountedRouter {
  readonly app: string;
  readonly deployment: string;
  readonly queued: number;
  readonly ongoing: number;
  readonly counts: { readonly requests: number; readonly handleCalls: number };
}

/** Requests of this process by application and deployment: those that wait, those under way, and how many there were. Read when the metrics are. */
export function measureRouters(routers: () => Iterable<CountedRouter>): void {
  const of = (kind: "counter" | "gauge", name: string, description: string) =>
    metricOf(kind, { name, description, tagKeys: ["application", "deployment"] });
  const queued = of("gauge", "serve_deployment_queued_queries", "Requests and calls of a process that wait for a replica");
  const ongoing = of("gauge", "serve_num_ongoing_requests_at_replicas", "Requests and calls of a process that are at a replica");
  const requests = of("counter", "serve_num_router_requests", "Requests and calls of a process that were to be placed");
  const handleCalls = of("counter", "serve_handle_request_counter", "Calls of handles of a process");
  beforeSnapshots(() => {
    for (const metric of [queued, ongoing, requests, handleCalls]) metric.clear();
    for (const { app, deployment, queued: waiting, ongoing: under, counts } of routers()) {
      const tags = [app, deployment];
      queued.series(tags).set(waiting);
      ongoing.series(tags).set(under);
      requests.series(tags).set(counts.requests);
      handleCalls.series(tags).set(counts.handleCalls);
    }
  });
}

/** A deployment as the controller has it. */
export interface CountedDeployment {
  readonly app: string;
  readonly name: string;
  readonly count: number;
  readonly healthy: Iterable<readonly [replica: string, isHealthy: boolean]>;
}

/** Metrics of the controller, read when all are. */
export function measureDeployments(deployments: () => Iterable<CountedDeployment>): void {
  const wanted = metricOf("gauge", {
    name: "serve_autoscaling_target_replicas",
    description: "Replicas that a deployment is to have",
    tagKeys: ["application", "deployment"],
  });
  const healthy = metricOf("gauge", {
    name: "serve_deployment_replica_healthy",
    description: "1 for a replica that runs and passes its health check, otherwise 0",
    tagKeys: DEPLOYMENT_TAGS,
  });
  beforeSnapshots(() => {
    wanted.clear();
    healthy.clear();
    for (const { app, name, count, healthy: replicas } of deployments()) {
      wanted.series([app, name]).set(count);
      for (const [replica, isHealthy] of replicas) healthy.series([app, name, replica]).set(isHealthy ? 1 : 0);
    }
  });
}
