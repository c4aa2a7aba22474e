/**
 * The configuration of a deployment with all defaults in place, and what an application consists of.
 *
 * Plain data: it travels to the controller, is kept in the cluster's store as JSON, and is hashed where it needs new replicas. Functions are not in it; their ids are. Made by
 * `deployment-options.ts` and `build/application-graph.ts`.
 */
import type { LabelSelector } from "../../core/index.ts";
import type { LoggingConfig } from "../replica/context/replica-log.ts";
import type { TracingConfig } from "../tracing.ts";

/** How many replicas there are follows the load. */
export interface AutoscalingConfig {
  /** Default: 1. 0: the deployment sleeps without requests, and they wait until it has woken up. */
  readonly minReplicas: number;
  readonly maxReplicas: number;
  /** Default: `minReplicas`. */
  readonly initialReplicas: number | undefined;
  /** Requests for each replica, waiting or under way, that are aimed at. Default: 2. */
  readonly targetOngoingRequests: number;
  /** How long the load must ask for more before there are more. Default: 30,000. */
  readonly upscaleDelayMs: number;
  /** How long the load must ask for fewer before there are fewer. Default: 600,000. */
  readonly downscaleDelayMs: number;
  /** The same for the last replica. Default: `downscaleDelayMs`. */
  readonly downscaleToZeroDelayMs: number | undefined;
  /** Over how long the load is looked at. Default: 30,000. */
  readonly lookBackPeriodMs: number;
  /** Step of an increase: 1 goes directly to the number for the load, 0.5 half of the way. Default: 1. */
  readonly upscalingFactor: number;
  readonly downscalingFactor: number;
  /** How the samples of the look-back period are combined into one load. Default: "mean". */
  readonly aggregationFunction: "mean" | "max" | "min";
  /** The second argument of a policy of the user's, a value for JSON. */
  readonly policyArgs: unknown;
  /** Under which id the code of a policy of the user's is kept. */
  readonly policyId: string | undefined;
}

export interface GangConfig {
  /** Replicas that start and end together, in one placement group. */
  readonly gangSize: number;
  readonly strategy: "PACK" | "SPREAD" | "STRICT_PACK" | "STRICT_SPREAD";
}

export interface DeploymentConfig {
  readonly name: string;
  /** The user's own name for the version; undefined: the code itself is the version. */
  readonly version: string | undefined;
  readonly numReplicas: number;
  readonly autoscaling: AutoscalingConfig | undefined;
  readonly maxOngoingRequests: number;
  /** Undefined: the limit of proxies, and none for handles. */
  readonly maxQueuedRequests: number | undefined;
  readonly backpressure: { readonly statusCode: number; readonly retryAfterMs: number | undefined };
  /** JSON, so that a change can be told; undefined where there is none. */
  readonly userConfig: string | undefined;
  /** Options of the replicas' actors. */
  readonly actorOptions: Readonly<Record<string, unknown>>;
  readonly healthCheckPeriodMs: number;
  readonly healthCheckTimeoutMs: number;
  readonly reconfigureTimeoutMs: number;
  readonly gracefulShutdownTimeoutMs: number;
  readonly maxConstructorRetryCount: number;
  readonly maxReplicasPerNode: number | undefined;
  readonly gang: GangConfig | undefined;
  readonly placementGroupBundles: readonly Readonly<Record<string, number>>[] | undefined;
  /** A selector for each bundle; undefined where no labels are asked for. */
  readonly placementGroupBundleLabelSelector: readonly LabelSelector[] | undefined;
  readonly placementGroupStrategy: "PACK" | "SPREAD" | "STRICT_PACK" | "STRICT_SPREAD";
  /** Part of the replicas that an update may have away at a time. */
  readonly rollingUpdatePercentage: number;
  /** Part of the replicas that an update may have in excess. */
  readonly maxSurgePercent: number;
  readonly idempotentMethods: readonly string[];
  /** URLs of requests keep the route prefix. */
  readonly keepRoutePrefix: boolean;
  /** Undefined: the console of replicas is left as it is. */
  readonly logging: LoggingConfig | undefined;
  readonly tracing: TracingConfig | undefined;
  /** Under which id the code of a router of the user's is kept. */
  readonly routerId: string | undefined;
  /** Argument of the router's constructor as JSON; undefined where there is none. */
  readonly requestRouterArgs: string | undefined;
}

/** A deployment of an application, ready to be started. */
export interface DeploymentTarget {
  readonly name: string;
  readonly config: DeploymentConfig;
  /** Version of the code, the arguments and the part of the configuration whose change needs new replicas. */
  readonly version: string;
  /** Set if the user has named a version: a target with the running key has the running version, whatever its code. */
  readonly versionKey: string | undefined;
  /** Methods that are generators. */
  readonly streaming: readonly string[];
  /** Names of deployments that are bound into its arguments. */
  readonly calls: readonly string[];
}

/** An application that is ready to be deployed; its deployments' code travels beside it. */
export interface ApplicationTarget {
  readonly name: string;
  /** `null`: it has no route and is reached by handles alone. */
  readonly routePrefix: string | null;
  readonly ingress: string;
  readonly deployments: readonly DeploymentTarget[];
  /** When it was deployed, in milliseconds since 1970. */
  readonly deployedMs: number;
  /** The application's part of the configuration, by Ray's keys; undefined for a program's application. */
  readonly config: Readonly<Record<string, unknown>> | undefined;
  /** The wanted part of its replicas; undefined: all. */
  readonly capacity?: TargetCapacity | undefined;
}

/** `target_capacity` of a configuration. */
export interface TargetCapacity {
  readonly percent: number;
  /** On the way up autoscaling keeps to `initialReplicas` at least. */
  readonly direction: "up" | "down";
}
