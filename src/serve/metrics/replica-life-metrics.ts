/**
 * Times of the life of replicas, under Ray's names: how long they take to start, to change their configuration, to pass a health check and to end.
 * The ends of proxies are among them.
 *
 * Counted by the controller, which gives the orders. An end that nobody has ordered has no time.
 */
import { LATENCY_BOUNDARIES, type Metric, metricOf } from "../../metrics/registry.ts";

/** Milliseconds, as Ray has them for starts and ends. */
const LIFE_BOUNDARIES: readonly number[] = [5, 20, 50, 100, 250, 500, 1000, 2000, 5000, 10_000, 20_000, 30_000, 60_000, 120_000, 240_000];

export class ReplicaLifeMetrics {
  readonly #startup = histogram(
    "serve_replica_startup_latency_ms",
    "Time from the order to start a replica until it is ready",
    LIFE_BOUNDARIES,
  );
  readonly #initialization = histogram(
    "serve_replica_initialization_latency_ms",
    "Part of it that the deployment's code took: its constructor, its first configuration and its first health check",
    LIFE_BOUNDARIES,
  );
  readonly #reconfigure = histogram("serve_replica_reconfigure_latency_ms", "Time that a replica took to change its configuration");
  readonly #health = histogram("serve_health_check_latency_ms", "Time until a health check was answered, passed or not");
  readonly #failures = metricOf("counter", {
    name: "serve_health_check_failures_total",
    description: "Health checks that failed or were not answered in time",
    tagKeys: ["application", "deployment", "replica"],
  });
  readonly #shutdown = histogram(
    "serve_replica_shutdown_duration_ms",
    "Time from the order to end a replica until it is gone",
    LIFE_BOUNDARIES,
  );
  /** By replica, when its end was ordered. */
  readonly #endingMs = new Map<string, number>();

  started(replica: string, { tookMs, codeTookMs }: { tookMs: number; codeTookMs: number }): void {
    this.#startup.series(tagsOf(replica)).observe(tookMs);
    this.#initialization.series(tagsOf(replica)).observe(codeTookMs);
  }

  reconfigured(replica: string, tookMs: number): void {
    this.#reconfigure.series(tagsOf(replica)).observe(tookMs);
  }

  checked(replica: string, { tookMs, isHealthy }: { tookMs: number; isHealthy: boolean }): void {
    this.#health.series(tagsOf(replica)).observe(tookMs);
    if (!isHealthy) this.#failures.series([...tagsOf(replica), replica]).add(1);
  }

  /** The first order counts: a replica that does not drain in time is killed, too. */
  ending(replica: string, nowMs: number): void {
    if (!this.#endingMs.has(replica)) this.#endingMs.set(replica, nowMs);
  }

  ended(replica: string, nowMs: number): void {
    const sinceMs = this.#endingMs.get(replica);
    if (sinceMs === undefined) return;
    this.#endingMs.delete(replica);
    this.#shutdown.series(tagsOf(replica)).observe(nowMs - sinceMs);
  }
}

/** Records that a proxy has finished its requests. */
export function proxyEnded(nodeId: string, tookMs: number): void {
  const facts = {
    name: "serve_proxy_shutdown_duration_ms",
    description: "Time from the order to end a proxy until it has answered what it had",
    tagKeys: ["node_id"],
  };
  metricOf("histogram", facts, LIFE_BOUNDARIES).series([nodeId]).observe(tookMs);
}

/** The id of a replica begins with its application and its deployment. */
function tagsOf(replica: string): [application: string, deployment: string] {
  const [application = "", deployment = ""] = replica.split("#");
  return [application, deployment];
}

function histogram(name: string, description: string, boundaries = LATENCY_BOUNDARIES): Metric {
  return metricOf("histogram", { name, description, tagKeys: ["application", "deployment"] }, boundaries);
}
