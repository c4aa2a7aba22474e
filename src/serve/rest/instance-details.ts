/**
 * From the controller's state to Ray's `ServeInstanceDetails`, the answer of `GET /api/serve/applications/`. Pure.
 *
 * Called by the controller for each question.
 * Names, units and shapes are Ray's (`serve/schema.py`), whose own models read them. What Ray's schema cannot say is left out: no replica wanted, a `userConfig` that is no object.
 */
import type { DeploymentConfig, TargetCapacity } from "../deployments/deployment-config.ts";
import type { Fields } from "../config/read-config.ts";
import type { ProxyStatusInfo } from "../controller/starting/proxy-starter.ts";
import type { ApplicationRecord, ApplicationStatusInfo } from "../controller/serve-state.ts";
import type { DeploymentState, ReplicaRecord } from "../controller/deployment-state.ts";
import type { ResolvedGrpcOptions } from "../grpc/grpc-options.ts";
import { type ResolvedHttpOptions, timeoutOf } from "../proxy/options/http-options.ts";
import { CONTROL_EVERY_MS, PROXY_QUEUED_MAX } from "../limits.ts";
import { CONTROLLER_NAME, replicaActorName } from "../names.ts";

/** The facts of an application that the details need. */
export interface DescribedApplication {
  readonly status: ApplicationStatusInfo;
  /** Undefined while it is built for the first time. */
  readonly record: ApplicationRecord | undefined;
  /** The application's part of the configuration, by Ray's keys; undefined for a program's application. */
  readonly config: Fields | undefined;
  /** In milliseconds since 1970. */
  readonly deployedMs: number;
  deployment(name: string): DeploymentState | undefined;
}

interface DescribedInstance {
  readonly nodeId: string;
  /** Host names of the nodes, by their ids. */
  readonly hosts: ReadonlyMap<string, string>;
  readonly http: ResolvedHttpOptions;
  readonly grpc: ResolvedGrpcOptions | undefined;
  readonly proxies: Readonly<Record<string, ProxyStatusInfo>>;
  readonly applications: ReadonlyMap<string, DescribedApplication>;
  /** The capacity that the last configuration asks for. */
  readonly capacity: TargetCapacity | undefined;
  /** Milliseconds since 1970 at zero of the clock of the state. */
  readonly originMs: number;
  readonly health: DescribedHealth;
}

/** How the controller is, by the clock of the state. */
interface DescribedHealth {
  readonly nowMs: number;
  readonly startMs: number;
  /** Time at which the last step of its loop began. */
  readonly stepMs: number;
  readonly steps: number;
  readonly sleptMs: number;
  readonly delayMs: number;
  readonly memoryBytes: number;
}

const LOCATIONS = { everyNode: "EveryNode", headOnly: "HeadOnly", disabled: "Disabled" } as const;

export function instanceDetails(instance: DescribedInstance): object {
  const { http, grpc, proxies, applications, nodeId, hosts, capacity } = instance;
  return {
    controller_info: { node_id: nodeId, node_ip: hosts.get(nodeId) ?? null, actor_name: CONTROLLER_NAME },
    proxy_location: LOCATIONS[http.location],
    http_options: {
      host: http.host,
      port: http.port,
      root_path: http.rootPath,
      request_timeout_s: secondsOf(timeoutOf(http.requestTimeoutMs)),
      keep_alive_timeout_s: Math.round(http.keepAliveTimeoutMs / 1000),
    },
    ...(grpc !== undefined && {
      grpc_options: {
        port: grpc.port,
        grpc_servicer_functions: grpc.services.map(({ main, service }) => `${main}:${service}`),
        request_timeout_s: secondsOf(timeoutOf(grpc.requestTimeoutMs)),
        enable_reflection: grpc.reflection,
      },
    }),
    proxies: Object.fromEntries(
      Object.entries(proxies).map(([name, proxy]) => [
        proxy.nodeId,
        { node_id: proxy.nodeId, node_ip: hosts.get(proxy.nodeId) ?? null, actor_name: name, status: proxy.status },
      ]),
    ),
    applications: Object.fromEntries([...applications].map(([name, app]) => [name, applicationDetails(name, app, instance)])),
    target_capacity: capacity?.percent ?? null,
    target_groups: targetGroups(instance),
    controller_health_metrics: controllerHealth(instance),
    // Each configuration is applied over the options in the code.
    restores_unset_config_options: true,
  };
}

function controllerHealth({ health, originMs }: DescribedInstance): object {
  const { nowMs, startMs, stepMs, steps, sleptMs, delayMs, memoryBytes } = health;
  return {
    timestamp: (originMs + nowMs) / 1000,
    controller_start_time: (originMs + startMs) / 1000,
    uptime_s: (nowMs - startMs) / 1000,
    last_control_loop_time: steps === 0 ? 0 : (originMs + stepMs) / 1000,
    num_control_loops: steps,
    loops_per_second: steps / Math.max(1, (nowMs - startMs) / 1000),
    last_sleep_duration_s: sleptMs / 1000,
    expected_sleep_duration_s: CONTROL_EVERY_MS / 1000,
    event_loop_delay_s: delayMs / 1000,
    process_memory_mb: memoryBytes / 1024 / 1024,
  };
}

function applicationDetails(name: string, app: DescribedApplication, instance: DescribedInstance): object {
  const { status, config, deployedMs, record } = app;
  return {
    name,
    route_prefix: status.routePrefix,
    docs_path: null,
    status: status.status,
    message: status.message,
    last_deployed_time_s: deployedMs / 1000,
    deployed_app_config: config === undefined ? null : shownConfig(config),
    source: config === undefined ? "imperative" : "declarative",
    deployments: Object.fromEntries(
      Object.keys(status.deployments).flatMap((deployment) => {
        const state = app.deployment(deployment);
        return state === undefined ? [] : [[deployment, deploymentDetails(state, instance)]];
      }),
    ),
    external_scaler_enabled: false,
    deployment_topology: record === undefined ? null : topology(record),
  };
}

/** The calls between deployments that are bound to each other: handles that a replica gets by a name are not known. */
function topology({ target: { name: app, ingress, deployments } }: ApplicationRecord): object {
  const nodes = deployments.map(({ name, calls }) => [
    name,
    {
      name,
      app_name: app,
      outbound_deployments: calls.map((called) => ({ name: called, app_name: app })),
      is_ingress: name === ingress,
    },
  ]);
  return { app_name: app, ingress_deployment: ingress, nodes: Object.fromEntries(nodes) };
}

function deploymentDetails(state: DeploymentState, { hosts, originMs }: DescribedInstance): object {
  const { config } = state.target;
  const described = ({ id, phase, nodeId, pid, sinceMs }: ReplicaRecord): object => ({
    node_id: nodeId === "" ? null : nodeId,
    node_ip: hosts.get(nodeId) ?? null,
    actor_name: replicaActorName(id),
    replica_id: id,
    state: phase === "retiring" ? "STOPPING" : phase.toUpperCase(),
    pid: pid === 0 ? null : pid,
    start_time_s: (originMs + sinceMs) / 1000,
  });
  const { numCpus = 1, numGpus, resources } = config.actorOptions as { numCpus?: number; numGpus?: number; resources?: Fields };
  return {
    name: state.name,
    status: state.status,
    status_trigger: TRIGGERS[state.status],
    message: state.message,
    deployment_config: deploymentConfig(state.name, config),
    target_num_replicas: state.count,
    required_resources: { CPU: numCpus, ...(numGpus !== undefined && { GPU: numGpus }), ...resources },
    replicas: [...state.replicas.values()].map(described),
    recent_dead_replicas: state.ended.map((replica) => ({ ...described(replica), state: "STOPPED" })),
    autoscaling_detail: autoscalingDetail(state, originMs),
  };
}

function autoscalingDetail({ status, decision, autoscaler, target }: DeploymentState, originMs: number): object | null {
  const { autoscaling } = target.config;
  if (autoscaling === undefined) return null;
  const reasonOf = (requests: number, wanted: number): string =>
    `${round(requests)} requests, waiting or under way, ask for ${round(wanted)} replicas`;
  return {
    scaling_status: status === "UPSCALING" || status === "DOWNSCALING" ? status : "STABLE",
    decisions: autoscaler.decisions.map(({ atMs, requests, wanted, from, to }) => ({
      timestamp_s: (originMs + atMs) / 1000,
      reason: reasonOf(requests, wanted),
      prev_num_replicas: from,
      curr_num_replicas: to,
      policy: autoscaling.policyId ?? "default",
    })),
    metrics: decision === undefined ? null : { total_requests: decision.requests, desired_replicas: decision.wanted },
  };
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

const TRIGGERS = {
  UPDATING: "CONFIG_UPDATE_STARTED",
  HEALTHY: "CONFIG_UPDATE_COMPLETED",
  UNHEALTHY: "HEALTH_CHECK_FAILED",
  DEPLOY_FAILED: "REPLICA_STARTUP_FAILED",
  UPSCALING: "AUTOSCALING",
  DOWNSCALING: "AUTOSCALING",
} as const;

function secondsOf(ms: number | undefined): number | null {
  return ms === undefined ? null : ms / 1000;
}

function deploymentConfig(name: string, config: DeploymentConfig): object {
  const { autoscaling, userConfig, numReplicas, placementGroupBundles, maxReplicasPerNode, actorOptions } = config;
  const { placementGroupBundleLabelSelector: labels } = config;
  const user: unknown = userConfig === undefined ? undefined : JSON.parse(userConfig);
  return {
    name,
    ...(autoscaling === undefined
      ? numReplicas > 0 && { num_replicas: numReplicas }
      : { autoscaling_config: autoscalingConfig(autoscaling) }),
    max_ongoing_requests: config.maxOngoingRequests,
    max_queued_requests: config.maxQueuedRequests ?? PROXY_QUEUED_MAX,
    ...(typeof user === "object" && user !== null && !Array.isArray(user) && { user_config: user }),
    graceful_shutdown_timeout_s: config.gracefulShutdownTimeoutMs / 1000,
    ...(config.healthCheckPeriodMs > 0 && { health_check_period_s: config.healthCheckPeriodMs / 1000 }),
    ...(config.healthCheckTimeoutMs > 0 && { health_check_timeout_s: config.healthCheckTimeoutMs / 1000 }),
    ray_actor_options: rayActorOptions(actorOptions),
    ...(placementGroupBundles !== undefined && {
      placement_group_bundles: placementGroupBundles,
      placement_group_strategy: config.placementGroupStrategy,
      ...(labels !== undefined && { placement_group_bundle_label_selector: labels }),
    }),
    ...(maxReplicasPerNode !== undefined && { max_replicas_per_node: maxReplicasPerNode }),
  };
}

function autoscalingConfig(config: NonNullable<DeploymentConfig["autoscaling"]>): object {
  const { minReplicas, maxReplicas, initialReplicas, targetOngoingRequests, upscaleDelayMs, downscaleDelayMs } = config;
  return {
    min_replicas: minReplicas,
    max_replicas: maxReplicas,
    initial_replicas: initialReplicas ?? null,
    target_ongoing_requests: targetOngoingRequests,
    upscale_delay_s: upscaleDelayMs / 1000,
    downscale_delay_s: downscaleDelayMs / 1000,
    look_back_period_s: config.lookBackPeriodMs / 1000,
    upscaling_factor: config.upscalingFactor,
    downscaling_factor: config.downscalingFactor,
    aggregation_function: config.aggregationFunction,
  };
}

/** Values of the environment may be secrets, so names alone are shown; Ray's dashboard hides them, too. */
function rayActorOptions(options: Readonly<Record<string, unknown>>): object {
  const {
    numCpus = 1,
    numGpus,
    memoryBytes,
    resources,
  } = options as { numCpus?: number; numGpus?: number; memoryBytes?: number; resources?: Fields };
  return {
    num_cpus: numCpus,
    ...(numGpus !== undefined && { num_gpus: numGpus }),
    ...(memoryBytes !== undefined && { memory: memoryBytes }),
    ...(resources !== undefined && { resources }),
  };
}

/** As it was given, without the values of environment variables, at whatever depth. */
function shownConfig(config: Fields): Fields {
  const hidden = (values: object): Fields => Object.fromEntries(Object.keys(values).map((name) => [name, "***"]));
  const text = JSON.stringify(config, (key, value: unknown) =>
    key === "env_vars" && typeof value === "object" && value !== null ? hidden(value) : value,
  );
  const shown = JSON.parse(text) as Fields;
  return { ...shown, runtime_env: withUri(shown["runtime_env"] as Fields | undefined) };
}

/** Ray's schema takes folders as URIs alone. */
function withUri(environment: Fields | undefined): Fields {
  const { working_dir: folder, ...rest } = environment ?? {};
  if (typeof folder !== "string" || folder === "") return rest;
  return { ...rest, working_dir: folder.includes("://") ? folder : `local://${folder.startsWith("/") ? "" : "/"}${folder}` };
}

/** Addresses of the proxies, for a load balancer. */
function targetGroups({ proxies, hosts }: DescribedInstance): object[] {
  const serving = Object.entries(proxies).filter(([, { status }]) => status === "HEALTHY");
  const groupOf = (protocol: "HTTP" | "gRPC", addressOf: (proxy: ProxyStatusInfo) => string | undefined): object[] => {
    const targets = serving.flatMap(([name, proxy]) => {
      const address = addressOf(proxy);
      if (address === undefined) return [];
      const { hostname, port } = new URL(address);
      return [{ ip: hosts.get(proxy.nodeId) ?? hostname, port: Number(port), instance_id: "", name }];
    });
    return targets.length === 0 ? [] : [{ targets, route_prefix: "/", protocol }];
  };
  return [
    ...groupOf("HTTP", ({ address }) => address),
    ...groupOf("gRPC", ({ grpcAddress }) => (grpcAddress === undefined ? undefined : `http://${grpcAddress}`)),
  ];
}
