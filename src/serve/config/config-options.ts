/**
 * From Ray's keys and seconds to the options of `start`, of deployments and of environments. Pure.
 *
 * Decides which keys have another name here and which have no effect; values are checked where the options are read.
 * Called by `deploy-config.ts`, `load-application.ts` and the controller.
 */
import type { DeploymentOptions, TracingOptions } from "../deployments/deployment-options.ts";
import { resolve } from "node:path";
import type { GrpcOptions } from "../grpc/grpc-options.ts";
import type { HttpOptions } from "../proxy/options/http-options.ts";
import type { RequestRouterClass } from "../routing/request-router.ts";
import type { Fields, ServeConfig } from "./read-config.ts";

const LOCATIONS = { EveryNode: "everyNode", HeadOnly: "headOnly", Disabled: "disabled" } as const;

/** Names that are not the same word in camel case. */
const RENAMED: Readonly<Record<string, string>> = {
  ray_actor_options: "actorOptions",
  memory: "memoryBytes",
  pip: "python",
  log_level: "level",
  enable_access_log: "accessLog",
  enable_reflection: "reflection",
  gang_scheduling_config: "gangConfig",
  gang_placement_strategy: "strategy",
};
/** Ray's, without a meaning here. */
const WITHOUT_EFFECT: ReadonlySet<string> = new Set([
  "graceful_shutdown_wait_loop_s",
  "metrics_interval_s",
  "logs_dir",
  "additional_log_standard_attrs",
  "runtime_failure_policy",
]);
/** Their keys are the user's own. */
const AS_THEY_ARE: ReadonlySet<string> = new Set([
  "user_config",
  "resources",
  "env_vars",
  "label_selector",
  "placement_group_bundles",
  "placement_group_bundle_label_selector",
  "policy",
  "policy_args",
]);
/** Python's numbers of levels. */
const LEVELS = { DEBUG: 10, INFO: 20, WARNING: 30, ERROR: 40 } as const;

export function httpOptionsOf({ proxyLocation, http, accessLog }: ServeConfig): HttpOptions {
  const { root_path: _root, ...rest } = http;
  return {
    ...(listenerOptionsOf(rest) as HttpOptions),
    ...(proxyLocation !== undefined && { location: LOCATIONS[proxyLocation] }),
    ...(accessLog !== undefined && { accessLog }),
  };
}

/** @param folder of relative `.proto` files. @returns undefined where no service is named: as with Ray, nothing speaks gRPC then */
export function grpcOptionsOf({ grpc, grpcServices }: ServeConfig, folder: string): GrpcOptions | undefined {
  if (grpcServices.length === 0) return undefined;
  const { grpc_servicer_functions: _entries, ...rest } = grpc;
  const services = grpcServices.map(({ protoFile, service }) => ({ protoFile: resolve(folder, protoFile), service }));
  return { ...(listenerOptionsOf(rest) as GrpcOptions), services };
}

/** The keys that both have. */
function listenerOptionsOf(fields: Fields): Fields {
  const { request_timeout_s: timeout, ssl_keyfile: key, ssl_certfile: cert, ...others } = fields;
  const { ssl_ca_certs: ca, ssl_keyfile_password: passphrase, ...rest } = others;
  const tls = Object.fromEntries(Object.entries({ key, cert, ca, passphrase }).filter(([, value]) => typeof value === "string"));
  return {
    ...translated(rest),
    ...(Object.keys(tls).length > 0 && { tls }),
    ...(timeout !== undefined && { requestTimeoutMs: timeout === null ? Number.POSITIVE_INFINITY : (timeout as number) * 1000 }),
  };
}

/** An application's settings, which its deployments' settings override. */
export interface ApplicationSettings {
  readonly runtimeEnv: Fields;
  readonly logging: Fields;
  readonly tracing: TracingOptions | undefined;
}

/**
 * Turns a configuration's fields into options of a deployment.
 *
 * @param fields of a deployment, whose named modules have been loaded
 * @param inCode the `actorOptions` of the deployment in code, which hold unless the configuration has its own
 */
export function deploymentOptionsOf(
  fields: Fields,
  { runtimeEnv, logging, tracing }: ApplicationSettings,
  inCode: NonNullable<DeploymentOptions["actorOptions"]>,
): DeploymentOptions {
  const { name: _name, logging_config: own, max_surge_percent: surge, request_router_config: router, ...rest } = fields;
  const loggingConfig = loggingOf({ ...logging, ...(own as Fields | undefined) });
  const options: DeploymentOptions = {
    ...translated(rest),
    ...(loggingConfig !== undefined && { loggingConfig }),
    ...(tracing !== undefined && { tracing }),
    ...(typeof surge === "number" && { maxSurgePercent: surge / 100 }),
    ...(router !== undefined && router !== null && routerOptionsOf(router as Fields)),
  };
  if (Object.keys(runtimeEnv).length === 0) return options;
  const { runtimeEnv: over, ...others } = options.actorOptions ?? inCode;
  const under: Fields = translated(runtimeEnv);
  const environment = { ...under, ...over, envVars: { ...under["envVars"], ...over?.envVars } };
  return { ...options, actorOptions: { ...others, runtimeEnv: environment } };
}

function routerOptionsOf({ request_router_class: requestRouter, request_router_kwargs: args }: Fields): DeploymentOptions {
  return { requestRouter: requestRouter as RequestRouterClass, requestRouterArgs: args ?? undefined };
}

function loggingOf(fields: Fields): DeploymentOptions["loggingConfig"] {
  const { log_level: level, ...rest } = fields;
  const read = translated(rest);
  const number = level === "CRITICAL" ? 50 : level;
  const named = typeof number !== "number" ? number : (Object.entries(LEVELS).findLast(([, least]) => number >= least)?.[0] ?? "DEBUG");
  const all = { ...read, ...(named !== undefined && named !== null && { level: named as "INFO" }) };
  return Object.keys(all).length === 0 ? undefined : all;
}

function translated(fields: Fields): Fields {
  const entries = Object.entries(fields).filter(([name, value]) => !WITHOUT_EFFECT.has(name) && value !== null);
  return Object.fromEntries(
    entries.map(([name, value]): [string, unknown] => {
      if (name.endsWith("_s") && typeof value === "number") return [camelCase(`${name.slice(0, -2)}_ms`), value * 1000];
      const isNested = typeof value === "object" && value !== null && !Array.isArray(value) && !AS_THEY_ARE.has(name);
      if (name === "fallback_strategy") return ["fallbackStrategy", (value as Fields[]).map(translated)];
      return [RENAMED[name] ?? camelCase(name), isNested ? translated(value as Fields) : value];
    }),
  );
}

function camelCase(name: string): string {
  return name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}
