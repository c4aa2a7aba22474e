/**
 * Metrics of the controller, under Ray's names: its loop, its subscribers, its decisions about load, and the state of applications.
 *
 * Events are counted as they happen. The state is read together with the metrics, so deleted deployments leave nothing behind. Statuses are numbers, for Ray's
 * Grafana dashboards.
 */
import type { ApplicationStatus, DeploymentStatus } from "../controller/serve-events.ts";
import type { ProxyStatus } from "../controller/starting/proxy-starter.ts";
import { beforeSnapshots, type Metric, metricOf, type Series } from "../../metrics/registry.ts";

/** 0 is Ray's for a status that is not known. */
const APPLICATION_NUMBERS: Readonly<Record<ApplicationStatus, number>> = {
  DEPLOY_FAILED: 1,
  UNHEALTHY: 2,
  NOT_STARTED: 3,
  DELETING: 4,
  DEPLOYING: 5,
  RUNNING: 6,
};
const DEPLOYMENT_NUMBERS: Readonly<Record<DeploymentStatus, number>> = {
  DEPLOY_FAILED: 1,
  UNHEALTHY: 2,
  UPDATING: 3,
  UPSCALING: 4,
  DOWNSCALING: 5,
  HEALTHY: 6,
};
const PROXY_NUMBERS: Readonly<Record<ProxyStatus, number>> = { STARTING: 1, HEALTHY: 2, UNHEALTHY: 3, DRAINING: 4, DRAINED: 5 };

const DEPLOYMENT = ["application", "deployment"];

/** An autoscaled deployment's last decision. */
interface CountedDecision {
  /** The requests that the policy has seen. */
  readonly requests: number;
  /** Replicas that the policy asked for, before the bounds. */
  readonly wanted: number;
}

/** A deployment as the controller has it. */
export interface CountedDeployment {
  readonly app: string;
  readonly name: string;
  readonly status: DeploymentStatus;
  readonly count: number;
  readonly decision: CountedDecision | undefined;
  /** Requests for each replica that autoscaling aims at; undefined where the number is fixed. */
  readonly targetOngoing: number | undefined;
  readonly healthy: Iterable<readonly [replica: string, isHealthy: boolean]>;
}

/** The controller's state that the metrics read. */
interface CountedState {
  deployments(): Iterable<CountedDeployment>;
  applications(): Iterable<readonly [app: string, status: ApplicationStatus]>;
  proxies(): Iterable<readonly [proxy: string, nodeId: string, status: ProxyStatus]>;
  /** Processes that want to hear of a key. */
  subscribers(): Iterable<readonly [key: string, count: number]>;
  /** How old the last numbers of requests of each process were when they came. */
  reports(): Iterable<readonly [source: string, app: string, deployment: string, delayMs: number]>;
}

export class ControllerMetrics {
  readonly #loopSeconds = gauge("serve_controller_control_loop_duration_s", "How long the last step of the control loop took").series([]);
  readonly #sleepSeconds = gauge("serve_controller_sleep_duration_s", "How long the control loop slept before its last step").series([]);
  readonly #loops: Series;
  /** How long the last run of a policy of the user's took, by `application/deployment`. */
  readonly #policyTimes = new Map<string, number>();
  readonly #told = metricOf("counter", {
    name: "serve_long_poll_host_transmission_counter",
    description: "How often a process was told of a key",
    tagKeys: ["namespace_or_state"],
  });

  constructor(actorId: string, state: CountedState) {
    this.#loops = gauge("serve_controller_num_control_loops", "Steps of the control loop", ["actor_id"]).series([actorId]);
    beforeSnapshots(stateGauges(state, this.#policyTimes));
  }

  looped({ tookMs, sleptMs }: { tookMs: number; sleptMs: number }): void {
    this.#loopSeconds.set(tookMs / 1000);
    this.#sleepSeconds.set(sleptMs / 1000);
    this.#loops.add(1);
  }

  policyRan(app: string, deployment: string, tookMs: number): void {
    this.#policyTimes.set(`${app}/${deployment}`, tookMs);
  }

  told(key: string): void {
    this.#told.series([key]).add(1);
  }
}

function gauge(name: string, description: string, tagKeys: readonly string[] = []): Metric {
  return metricOf("gauge", { name, description, tagKeys });
}

/** Makes the gauges of the state, and returns how they are set. Times of policies are forgotten with their deployments. */
function stateGauges(state: CountedState, policyTimes: Map<string, number>): () => void {
  const applications = gauge(
    "serve_application_status",
    "1 DEPLOY_FAILED, 2 UNHEALTHY, 3 NOT_STARTED, 4 DELETING, 5 DEPLOYING, 6 RUNNING",
    ["application"],
  );
  const statuses = gauge(
    "serve_deployment_status",
    "1 DEPLOY_FAILED, 2 UNHEALTHY, 3 UPDATING, 4 UPSCALING, 5 DOWNSCALING, 6 HEALTHY",
    DEPLOYMENT,
  );
  const targets = gauge("serve_autoscaling_target_replicas", "Replicas that a deployment is to have", DEPLOYMENT);
  const wanted = gauge("serve_autoscaling_desired_replicas", "Replicas that the load asks for, before the bounds and delays", DEPLOYMENT);
  const requests = gauge("serve_autoscaling_total_requests", "Requests that wait or are under way, as scaling sees them", DEPLOYMENT);
  const aims = gauge("serve_autoscaling_target_ongoing_requests", "Requests for each replica that scaling aims at", DEPLOYMENT);
  const policyMs = gauge("serve_autoscaling_policy_execution_time_ms", "How long the last run of a policy of the user's took", [
    ...DEPLOYMENT,
    "policy_scope",
  ]);
  const healthy = gauge("serve_deployment_replica_healthy", "1 for a replica that runs and passes its health check, otherwise 0", [
    ...DEPLOYMENT,
    "replica",
  ]);
  const proxies = gauge("serve_proxy_status", "1 STARTING, 2 HEALTHY, 3 UNHEALTHY, 4 DRAINING, 5 DRAINED", ["proxy", "node_id"]);
  const subscribers = gauge("serve_long_poll_pending_clients", "Processes that are told of a key when it changes", ["namespace"]);
  const delays = gauge("serve_autoscaling_handle_metrics_delay_ms", "Age of a process' numbers of requests when they came", [
    ...DEPLOYMENT,
    "handle",
  ]);
  return () => {
    for (const metric of [applications, statuses, targets, wanted, requests, aims, policyMs, healthy, proxies, subscribers, delays])
      metric.clear();
    const times = new Map(policyTimes);
    policyTimes.clear();
    for (const [app, status] of state.applications()) applications.series([app]).set(APPLICATION_NUMBERS[status]);
    for (const { app, name, status, count, decision, targetOngoing, healthy: replicas } of state.deployments()) {
      const tags = [app, name];
      statuses.series(tags).set(DEPLOYMENT_NUMBERS[status]);
      targets.series(tags).set(count);
      if (targetOngoing !== undefined) aims.series(tags).set(targetOngoing);
      if (decision !== undefined) {
        wanted.series(tags).set(decision.wanted);
        requests.series(tags).set(decision.requests);
      }
      const tookMs = times.get(`${app}/${name}`);
      if (decision !== undefined && tookMs !== undefined) {
        policyTimes.set(`${app}/${name}`, tookMs);
        policyMs.series([...tags, "deployment"]).set(tookMs);
      }
      for (const [replica, isHealthy] of replicas) healthy.series([...tags, replica]).set(isHealthy ? 1 : 0);
    }
    for (const [proxy, nodeId, status] of state.proxies()) proxies.series([proxy, nodeId]).set(PROXY_NUMBERS[status]);
    for (const [key, count] of state.subscribers()) subscribers.series([key]).set(count);
    for (const [source, app, deployment, delayMs] of state.reports()) delays.series([app, deployment, source]).set(delayMs);
  };
}
