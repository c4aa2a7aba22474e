/**
 * The options of deployments: the allowed values and defaults.
 *
 * Turns them into plain configuration (`deployment-config.ts`), and takes out the functions, which travel as code. `deployment` and `options` call it, so that a
 * mistake is reported before anything starts.
 */
import { bundleOf, resolveActorOptionsFor } from "./actor-options.ts";
import {
  BUNDLES_MAX,
  count,
  custom,
  describeValue,
  flag,
  isPlainObject,
  milliseconds,
  number,
  oneOf,
  readOptions,
  resolvePlacementGroupOptions,
  text,
  timeLimit,
} from "../../core/internal.ts";
import type { LoggingConfig } from "../replica/context/replica-log.ts";
import type { TracingSetup } from "../tracing.ts";
import type { ActorOptions, LabelSelector } from "../../core/index.ts";
import type { AutoscalingContext } from "../controller/capacity/autoscaling-policy.ts";
import type { AutoscalingConfig, DeploymentConfig, GangConfig } from "./deployment-config.ts";
import type { RequestRouter, RequestRouterClass } from "../routing/request-router.ts";

/**
 * Says how many replicas there are to be; the bounds and delays of `autoscalingConfig` hold all the same. It travels to the controller and runs there
 * every 100 ms, so it is quick.
 */
export type AutoscalingPolicy = (context: AutoscalingContext, args?: any) => number;

type Optional<T> = { readonly [K in keyof T]?: T[K] | undefined };

/** The fields of `loggingConfig`, all optional. */
export type LoggingOptions = Optional<LoggingConfig>;

/** Options of the replicas' actors that users can set; Serve sets all others. */
export type ReplicaActorOptions = Pick<
  ActorOptions,
  "numCpus" | "numGpus" | "memoryBytes" | "resources" | "runtimeEnv" | "labelSelector" | "fallbackStrategy"
> & {
  /** A kind of GPU, such as `"H100"`: replicas run on nodes that have it. Default: any. */
  readonly acceleratorType?: string | undefined;
};

/** How many requests may wait, and what a client is told of one more. */
export interface BackpressureConfig {
  /** Default: 503. */
  readonly statusCode?: 503 | 429 | undefined;
  /** `Retry-After`, in milliseconds. Default: none. */
  readonly retryAfterMs?: number | undefined;
}

/** `autoscalingConfig`: Ray's, and a policy of one's own. */
export type AutoscalingOptions = Optional<Omit<AutoscalingConfig, "policyId">> & {
  /** Says how many replicas the load asks for. Default: the load divided by `targetOngoingRequests`. */
  readonly policy?: AutoscalingPolicy | undefined;
};

/** Functions of a deployment that run elsewhere than in its replicas. */
export interface DeploymentFunctions {
  readonly policy: AutoscalingPolicy | undefined;
  readonly requestRouter: RequestRouterClass | undefined;
  readonly tracing: TracingOptions["setup"] | undefined;
}

/** `tracing` of a deployment. */
export interface TracingOptions {
  /** Runs once in each replica, before its code is loaded: registers an SDK of OpenTelemetry, or returns span processors for one. Travels as code. */
  setup: (options: TracingSetup) => unknown;
  /** Part of the traces that begin here which are kept; only where `setup` returns span processors. Default: 1. */
  samplingRatio?: number | undefined;
}

/** The options of `deployment`. */
export interface DeploymentOptions {
  /** The deployment's name within an application. Default: the name of the class or function. */
  name?: string | undefined;
  /** Names the version of the code and of the arguments of `bind`: as long as it stays, replicas that run are not replaced for a change of these. Default: each change is a new version. */
  version?: string | undefined;
  /** Replicas, at least 1; `"auto"`: between 1 and 100, by the load. Default: 1. */
  numReplicas?: number | "auto" | undefined;
  /** How the number of replicas follows the load. */
  autoscalingConfig?: AutoscalingOptions | undefined;
  /** Chooses replicas instead of Serve; made once in each process that sends requests. Default: power of two choices. */
  requestRouter?: RequestRouterClass | undefined;
  /** Given to the constructor of `requestRouter`, which is made anew when it changes: JSON. Default: none. */
  requestRouterArgs?: unknown;
  /** Requests that one replica has under way at a time. Default: 5. */
  maxOngoingRequests?: number | undefined;
  /** Requests that may wait in each process that calls; -1 is without limit. Default: 2,048 at each proxy, and without limit for handles. */
  maxQueuedRequests?: number | undefined;
  /** Response that HTTP clients get when the queue is full. */
  backpressureConfig?: BackpressureConfig | undefined;
  /** Given to `reconfigure` of each replica, and again when it changes: JSON. Default: none. */
  userConfig?: unknown;
  /** Resources and environment of each replica. Default: one CPU to be placed. */
  actorOptions?: ReplicaActorOptions | undefined;
  /** Default: 10,000. */
  healthCheckPeriodMs?: number | undefined;
  /** Default: 30,000. */
  healthCheckTimeoutMs?: number | undefined;
  /** The time that `reconfigure` may take in a replica that runs, which is replaced where it has not returned by then. Default: 600,000. */
  reconfigureTimeoutMs?: number | undefined;
  /** How long requests that are under way may take when their replica is to end. Default: 20,000. */
  gracefulShutdownTimeoutMs?: number | undefined;
  /** Failures to start before the deployment counts as failed, but three a replica at most. Default: 20. */
  maxConstructorRetryCount?: number | undefined;
  /** Default: without limit. */
  maxReplicasPerNode?: number | undefined;
  /** Resources of each replica that are reserved as bundles; its own actor runs in the first. */
  placementGroupBundles?: readonly Readonly<Record<string, number>>[] | undefined;
  /** Labels of the nodes on which the bundles are reserved: one selector for each bundle, or one for all. Default: any node. */
  placementGroupBundleLabelSelector?: readonly LabelSelector[] | undefined;
  /** Default: "PACK". */
  placementGroupStrategy?: "PACK" | "SPREAD" | "STRICT_PACK" | "STRICT_SPREAD" | undefined;
  /** Replicas that start, restart and end together. Default: none. */
  gangConfig?: { readonly gangSize: number; readonly strategy?: GangConfig["strategy"] | undefined } | undefined;
  /** Part of the replicas that an update may have away at a time, where no more fit beside them. Default: 0.2. */
  rollingUpdatePercentage?: number | undefined;
  /** Part of the replicas that an update may have in excess, at least one. Default: 0.25. */
  maxSurgePercent?: number | undefined;
  /** How replicas print: levels, JSON, a line for each request. Default: the console as it is. */
  loggingConfig?: LoggingOptions | undefined;
  /** A function that sets OpenTelemetry up in each replica: it registers an SDK itself, or returns span processors. Default: none. */
  tracing?: TracingOptions | undefined;
  /** Methods that may run twice, by name, and methods of HTTP such as "GET": a request whose replica dies is sent to another one. Default: none. */
  idempotentMethods?: readonly string[] | undefined;
  /**
   * Leaves the `routePrefix` in the URLs that an ingress gets, for an application whose own routes have it: its redirects and relative links then keep it. Default:
   * false; the prefix is taken off, and `x-forwarded-prefix` has it.
   */
  keepRoutePrefix?: boolean | undefined;
}

const STRATEGIES = ["PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD"] as const;
const AUTO_MAX_REPLICAS = 100;
const REPLICAS_MAX = 100_000;

const object = <T extends object>(what: string): ReturnType<typeof custom<T | undefined>> =>
  custom<T | undefined>(`an object of ${what} is needed`, undefined, (value) => (isPlainObject(value) ? "ok" : "wrong type"));
const factor = (fallback: number): ReturnType<typeof number<number>> =>
  number("a number above 0 is needed", fallback, (value) => value > 0);
const texts = custom<readonly string[]>("an array of names is needed", [], (value) =>
  Array.isArray(value) && value.every((item) => typeof item === "string") ? "ok" : "wrong type",
);
const JSON_VALUE = custom<unknown>("a value for JSON is needed", undefined, (value) => (isJson(value) ? "ok" : "wrong type"));

const DEPLOYMENT = {
  of: "a deployment",
  otherNames: {
    num_replicas: "it is numReplicas",
    ray_actor_options: "it is actorOptions",
    autoscaling: "it is autoscalingConfig",
    health_check_period_s: "it is healthCheckPeriodMs, in milliseconds",
    graceful_shutdown_wait_loop_s: "it is not needed: a replica ends as soon as nothing runs on it",
  },
  options: {
    name: text(undefined),
    version: text(undefined),
    numReplicas: custom<number | "auto" | undefined>(
      `a whole number from 1 to ${REPLICAS_MAX}, or "auto", is needed`,
      undefined,
      (value) => {
        if (value === "auto") return "ok";
        if (typeof value !== "number") return typeof value === "string" ? "out of range" : "wrong type";
        return Number.isInteger(value) && value >= 1 && value <= REPLICAS_MAX ? "ok" : "out of range";
      },
    ),
    autoscalingConfig: object<AutoscalingOptions>("options"),
    requestRouter: custom<RequestRouterClass | undefined>(
      "a class with chooseReplicas(request, candidates) is needed",
      undefined,
      (value) =>
        typeof value === "function" && typeof (value.prototype as Partial<RequestRouter> | undefined)?.chooseReplicas === "function"
          ? "ok"
          : "wrong type",
    ),
    requestRouterArgs: JSON_VALUE,
    maxOngoingRequests: count({ min: 1 }, 5),
    maxQueuedRequests: count({ min: -1 }, undefined),
    backpressureConfig: object<BackpressureConfig>("options"),
    userConfig: JSON_VALUE,
    actorOptions: object<ReplicaActorOptions>("options"),
    healthCheckPeriodMs: milliseconds(10_000),
    healthCheckTimeoutMs: milliseconds(30_000),
    reconfigureTimeoutMs: milliseconds(600_000),
    gracefulShutdownTimeoutMs: milliseconds(20_000),
    maxConstructorRetryCount: count({ min: 1 }, 20),
    maxReplicasPerNode: count({ min: 1 }, undefined),
    placementGroupBundles: custom<readonly Readonly<Record<string, number>>[] | undefined>(
      "an array of bundles is needed",
      undefined,
      (value) => (Array.isArray(value) && value.length > 0 && value.every(isPlainObject) ? "ok" : "wrong type"),
    ),
    placementGroupBundleLabelSelector: custom<readonly LabelSelector[] | undefined>(
      "an array of label selectors is needed",
      undefined,
      (value) => (Array.isArray(value) && value.length > 0 ? "ok" : "wrong type"),
    ),
    placementGroupStrategy: oneOf(STRATEGIES, "PACK"),
    gangConfig: object<{ gangSize: number; strategy?: GangConfig["strategy"] }>("options"),
    rollingUpdatePercentage: number("a number above 0 and up to 1 is needed", 0.2, (value) => value > 0 && value <= 1),
    maxSurgePercent: number("a number from 0 to 1 is needed", 0.25, (value) => value >= 0 && value <= 1),
    loggingConfig: object<Optional<LoggingConfig>>("options"),
    tracing: object<TracingOptions>("options"),
    idempotentMethods: texts,
    keepRoutePrefix: flag(false),
  },
};

const AUTOSCALING = {
  of: "autoscalingConfig",
  otherNames: { upscale_delay_s: "it is upscaleDelayMs, in milliseconds" },
  options: {
    minReplicas: count({ min: 0 }, 1),
    maxReplicas: count({ min: 1 }, undefined),
    initialReplicas: count({ min: 0 }, undefined),
    targetOngoingRequests: factor(2),
    upscaleDelayMs: milliseconds(30_000),
    downscaleDelayMs: milliseconds(600_000),
    downscaleToZeroDelayMs: timeLimit(),
    lookBackPeriodMs: milliseconds(30_000),
    upscalingFactor: factor(1),
    downscalingFactor: factor(1),
    aggregationFunction: oneOf(["mean", "max", "min"], "mean"),
    policyArgs: JSON_VALUE,
    policy: custom<AutoscalingPolicy | undefined>("a function is needed", undefined, (value) =>
      typeof value === "function" ? "ok" : "wrong type",
    ),
  },
};

const BACKPRESSURE = {
  of: "backpressureConfig",
  options: {
    statusCode: custom<503 | 429>("503 or 429 is needed", 503, (value) => (value === 503 || value === 429 ? "ok" : "out of range")),
    retryAfterMs: timeLimit(),
  },
};

const LOGGING = {
  of: "loggingConfig",
  otherNames: { log_level: "it is level", enable_access_log: "it is accessLog" },
  options: {
    encoding: oneOf(["TEXT", "JSON"], "TEXT"),
    level: oneOf(["DEBUG", "INFO", "WARNING", "ERROR"], "DEBUG"),
    accessLog: flag(false),
  },
};

/** @throws TypeError, RangeError that name the option */
export function resolveLogging(given: LoggingOptions | undefined): LoggingConfig | undefined {
  return given === undefined ? undefined : readOptions(given, LOGGING);
}

const TRACING = {
  of: "tracing",
  otherNames: { exporter_import_path: "it is setup, a function", sampling_ratio: "it is samplingRatio" },
  options: {
    setup: custom<TracingOptions["setup"] | undefined>("a function is needed", undefined, (value) =>
      typeof value === "function" ? "ok" : "wrong type",
    ),
    samplingRatio: number("a number from 0 to 1 is needed", 1, (value) => value >= 0 && value <= 1),
  },
};

/** @returns undefined where nothing is set up @throws TypeError, RangeError that name the option */
export function resolveTracing(
  given: TracingOptions | undefined,
): { readonly setup: TracingOptions["setup"]; readonly samplingRatio: number } | undefined {
  const { setup, samplingRatio } = readOptions(given, TRACING);
  return setup === undefined ? undefined : { setup, samplingRatio };
}

const GANG = { of: "gangConfig", options: { gangSize: count({ min: 1 }, 1), strategy: oneOf(STRATEGIES, "PACK") } };

/** Checks options and fills in defaults. @throws TypeError, RangeError with the option, the allowed values and the received one */
export function resolveDeploymentOptions(
  targetName: string,
  given: DeploymentOptions,
): { config: DeploymentConfig; functions: DeploymentFunctions } {
  const read = readOptions(given, DEPLOYMENT);
  const name = read.name ?? targetName;
  if (name === "" || /[#/\s]/.test(name) || name === "__proto__")
    throw new RangeError(
      `Cannot make a deployment: its name is text without spaces, "#" and "/", and other than "__proto__": received ${describeValue(name)}`,
    );
  const autoscaling = autoscalingOf(read.numReplicas, read.autoscalingConfig);
  const gang = read.gangConfig === undefined ? undefined : readOptions(read.gangConfig, GANG);
  const numReplicas = autoscaling?.initialReplicas ?? autoscaling?.minReplicas ?? (read.numReplicas as number | undefined) ?? 1;
  if (gang !== undefined && numReplicas % gang.gangSize !== 0)
    throw new RangeError(
      `Cannot make deployment ${name}: numReplicas is a multiple of gangSize: received ${numReplicas} and ${gang.gangSize}`,
    );
  if (read.requestRouterArgs !== undefined && read.requestRouter === undefined)
    throw new TypeError(
      `Cannot make deployment ${name}: requestRouterArgs are for a requestRouter, and there is none: received ${describeValue(read.requestRouterArgs)}`,
    );
  const tracing = resolveTracing(read.tracing);
  const resolvedActorOptions = resolveActorOptionsFor(name, read.actorOptions);
  const {
    userConfig,
    backpressureConfig,
    actorOptions: _a,
    requestRouter,
    requestRouterArgs,
    numReplicas: _n,
    autoscalingConfig,
    gangConfig: _g,
    loggingConfig,
    tracing: _t,
    placementGroupBundles,
    placementGroupBundleLabelSelector: labels,
    ...rest
  } = read;
  const config = {
    ...rest,
    ...groupOf(name, {
      bundles: placementGroupBundles,
      labels,
      gangSize: gang?.gangSize,
      actorOptions: resolvedActorOptions,
      maxReplicasPerNode: read.maxReplicasPerNode,
    }),
    name,
    numReplicas,
    autoscaling,
    gang,
    backpressure: readOptions(backpressureConfig, BACKPRESSURE),
    userConfig: userConfig === undefined ? undefined : JSON.stringify(userConfig),
    actorOptions: resolvedActorOptions,
    logging: resolveLogging(loggingConfig),
    tracing: tracing === undefined ? undefined : { setupId: undefined, samplingRatio: tracing.samplingRatio },
    routerId: undefined,
    requestRouterArgs: requestRouterArgs === undefined ? undefined : JSON.stringify(requestRouterArgs),
  };
  return { config, functions: { policy: autoscalingConfig?.policy, requestRouter, tracing: tracing?.setup } };
}

/** Returns the bundles of a replica with a selector for each. @throws TypeError, RangeError for bundles that a placement group does not allow */
function groupOf(
  name: string,
  {
    bundles,
    labels,
    gangSize,
    actorOptions,
    maxReplicasPerNode,
  }: {
    bundles: DeploymentConfig["placementGroupBundles"];
    labels: readonly LabelSelector[] | undefined;
    gangSize: number | undefined;
    actorOptions: Readonly<Record<string, unknown>>;
    maxReplicasPerNode: number | undefined;
  },
): Pick<DeploymentConfig, "placementGroupBundles" | "placementGroupBundleLabelSelector"> {
  const refused = (problem: string, received: unknown): TypeError =>
    new TypeError(`Cannot make deployment ${name}: ${problem}: received ${describeValue(received)}`);
  const none = { placementGroupBundles: undefined, placementGroupBundleLabelSelector: undefined };
  if (bundles === undefined) {
    if (labels !== undefined) throw refused("placementGroupBundleLabelSelector is for placementGroupBundles, and there are none", labels);
    if (gangSize === undefined) return none;
  }
  const { fallbackStrategy, labelSelector } = actorOptions;
  const what = gangSize === undefined ? "its replicas run in placement groups" : "replicas of a gang run in a placement group";
  if (fallbackStrategy !== undefined) throw refused(`${what}, which has no fallbackStrategy`, fallbackStrategy);
  if (maxReplicasPerNode !== undefined)
    throw refused(`${what}, whose strategy says how many are on a node: leave maxReplicasPerNode out`, maxReplicasPerNode);
  const each = bundles ?? [bundleOf(actorOptions)];
  if (bundles === undefined && Object.keys(each[0] as object).length === 0)
    throw refused(
      `${what}, which reserves resources, and actorOptions ask for none: give numCpus or another amount above 0, or placementGroupBundles`,
      actorOptions,
    );
  if (bundles !== undefined && labelSelector !== undefined)
    throw refused(`${what}: give placementGroupBundleLabelSelector instead of a labelSelector of actorOptions`, labelSelector);
  requireRoom(name, actorOptions, bundles?.[0]);
  const all = labels?.length === 1 ? each.map(() => labels[0] as LabelSelector) : labels;
  resolvePlacementGroupOptions(each, { bundleLabelSelector: all });
  if (each.length * (gangSize ?? 1) > BUNDLES_MAX)
    throw new RangeError(
      `Cannot make deployment ${name}: ${what}, which has ${BUNDLES_MAX} bundles at most: received ${gangSize} replicas of ${each.length} bundles. Give a smaller gangSize`,
    );
  return bundles === undefined ? none : { placementGroupBundles: bundles, placementGroupBundleLabelSelector: all };
}

/** @throws RangeError where replicas would wait for ever, as the bundle in which they run is too small */
function requireRoom(
  name: string,
  actorOptions: Readonly<Record<string, unknown>>,
  first: Readonly<Record<string, number>> | undefined,
): void {
  if (first === undefined) return;
  for (const [resource, amount] of Object.entries(bundleOf({ ...actorOptions, numCpus: actorOptions["numCpus"] ?? 0 })))
    if (amount > (first[resource] ?? 0))
      throw new RangeError(
        `Cannot make deployment ${name}: its replicas run in the first of placementGroupBundles, which has less ${resource} than actorOptions ask for: received ${first[resource] ?? 0} and ${amount}`,
      );
}

function autoscalingOf(
  numReplicas: number | "auto" | undefined,
  given: Optional<AutoscalingConfig> | undefined,
): AutoscalingConfig | undefined {
  if (given === undefined && numReplicas !== "auto") return undefined;
  if (typeof numReplicas === "number")
    throw new TypeError(
      `Cannot set autoscalingConfig of a deployment: numReplicas is fixed beside it: received ${numReplicas}. Give "auto" or leave it out`,
    );
  const { policy: _kept, ...read } = readOptions(given, AUTOSCALING);
  const maxReplicas = read.maxReplicas ?? (numReplicas === "auto" ? AUTO_MAX_REPLICAS : Math.max(1, read.minReplicas));
  if (read.minReplicas > maxReplicas)
    throw new RangeError(
      `Cannot set autoscalingConfig of a deployment: minReplicas is at most maxReplicas: received ${read.minReplicas} and ${maxReplicas}`,
    );
  return { ...read, maxReplicas, policyId: undefined };
}

/** Whether a value arrives as it is: `JSON.stringify` leaves functions out, and makes null of NaN and {} of a map, without a word. */
function isJson(value: unknown): boolean {
  const refused = (item: unknown): boolean =>
    typeof item === "function" ||
    typeof item === "symbol" ||
    (typeof item === "number" && !Number.isFinite(item)) ||
    item instanceof Map ||
    item instanceof Set ||
    ArrayBuffer.isView(item);
  try {
    return (
      JSON.stringify(value, (_key, item: unknown) => {
        if (refused(item)) throw new TypeError("no JSON");
        return item;
      }) !== undefined
    );
  } catch {
    return false;
  }
}
