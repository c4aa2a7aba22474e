/**
 * Metrics of the routers of a process, under Ray's names, and who tells them to the controller.
 *
 * Proxies and replicas are called by the controller for all of their metrics. Other processes with handles, such as drivers, cannot be called: the controller asks them over the link
 * that they have (`routing/controller-link.ts`). Routers count by themselves, and are read when the metrics are.
 */
import { isProcessOfReplica } from "../replica/context/replica-context.ts";
import {
  beforeSnapshots,
  LATENCY_BOUNDARIES,
  type Metric,
  metricOf,
  type MetricSnapshot,
  metricSnapshots,
  type Series,
} from "../../metrics/registry.ts";

/** A router of this process with its counts. */
interface CountedRouter {
  readonly app: string;
  readonly deployment: string;
  readonly ongoing: number;
  readonly counts: { readonly requests: number; readonly handleCalls: number; readonly placedAtOnce: number };
  /** Milliseconds that requests waited for a replica which were not placed at once. */
  readonly waits: Series;
  /** Requests of this process at each replica. */
  readonly loads: Iterable<readonly [replica: string, ongoing: number]>;
}

/** Requests of this process by application and deployment: those at replicas, and how many there were. */
export function measureRouters(routers: () => Iterable<CountedRouter>): void {
  const of = (kind: "counter" | "gauge", name: string, description: string): Metric =>
    metricOf(kind, { name, description, tagKeys: ["application", "deployment"] });
  const ongoing = of("gauge", "serve_num_ongoing_requests_at_replicas", "Requests and calls of a process that are at a replica");
  const requests = of("counter", "serve_num_router_requests", "Requests and calls of a process that were to be placed");
  const handleCalls = of("counter", "serve_handle_request_counter", "Calls of handles of a process");
  const loads = metricOf("gauge", {
    name: "serve_request_router_queue_len",
    description: "Requests and calls of a process that are at a replica",
    tagKeys: ["application", "deployment", "replica_id"],
  });
  const waits = metricOf(
    "histogram",
    {
      name: "serve_request_router_fulfillment_time_ms",
      description: "Time that a request or call of a process waited for a replica",
      tagKeys: ["application", "deployment"],
    },
    LATENCY_BOUNDARIES,
  );
  beforeSnapshots(() => {
    for (const metric of [ongoing, requests, handleCalls, loads, waits]) metric.clear();
    for (const { app, deployment, ongoing: under, counts, waits: waited, loads: found } of routers()) {
      const tags = [app, deployment];
      const series = waits.series(tags);
      series.add(waited.value);
      const counted = [counts.placedAtOnce + (waited.counts[0] ?? 0), ...waited.counts.slice(1)];
      for (const [index, count] of counted.entries()) series.counts[index] = (series.counts[index] ?? 0) + count;
      for (const [replica, atReplica] of found) loads.series([...tags, replica]).set(atReplica);
      ongoing.series(tags).set(under);
      requests.series(tags).set(counts.requests);
      handleCalls.series(tags).set(counts.handleCalls);
    }
  });
}

/** Metrics of a process that has handles and is neither a proxy nor a replica; of others none, as the controller has theirs already. */
export function metricsOfHandles(isProxy: boolean): MetricSnapshot[] {
  return isProxy || isProcessOfReplica() ? [] : metricSnapshots().filter(({ series }) => series.length > 0);
}

/** A change of a key has come here. The clocks of two machines may differ by more than it took. */
export function updateTook(key: string, tookMs: number): void {
  metricOf(
    "histogram",
    {
      name: "serve_long_poll_latency_ms",
      description: "Time from a change at the controller until a process knew",
      tagKeys: ["namespace"],
    },
    LATENCY_BOUNDARIES,
  )
    .series([key])
    .observe(Math.max(0, tookMs));
}
