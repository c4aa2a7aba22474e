/**
 * Turns bound deployments into an application that can be deployed: names, versions, code.
 *
 * Decides the names: a second deployment of a name gets `_1` as in Ray, and a deployment that two others bind stays one. Decides also which configuration needs
 * new replicas, and how code is kept: as bytes, or by a reference if the code contains counted objects. Runs in the process that deploys.
 */
import { createHash } from "node:crypto";
import { put } from "../../core/index.ts";
import { describeValue, isClass, isGeneratorFunction, keptBytesOf } from "../../core/internal.ts";
import { type Application, applicationParts, type Deployment } from "../deployments/deployment.ts";
import type { ApplicationTarget, DeploymentConfig, DeploymentTarget } from "../deployments/deployment-config.ts";
import type { CodeSource } from "../replica/replica.ts";
import type { LoggingConfig } from "../replica/context/replica-log.ts";
import type { AnyFunction, DeployedPython, DeploymentCode } from "../replica/user-object.ts";
import { streamingMethods } from "../replica/python/python-object.ts";
import { filesOfCopy, packCode } from "./code-files.ts";
import { versionsOf } from "./code-version.ts";
import type { FileDigest } from "./file-digest.ts";
import { markOf, replaceIn } from "./handle-marks.ts";
import { LARGE_CODE_BYTES, SLOW_CAPTURE_MS } from "../limits.ts";
import { digestOfPython } from "./python-modules.ts";

/** An application that can be deployed, with its code. */
interface BuiltApplication {
  readonly target: ApplicationTarget;
  /** By deployment. */
  readonly code: ReadonlyMap<string, CodeSource>;
  /** The original code, for replicas in this process. */
  readonly local: ReadonlyMap<string, DeploymentCode>;
  /** By id: policies and routers of the user's. */
  readonly functions: ReadonlyMap<string, Uint8Array>;
}

/** Options that change without new replicas. */
const LIGHT: ReadonlySet<keyof DeploymentConfig> = new Set([
  "numReplicas",
  "autoscaling",
  "userConfig",
  "maxOngoingRequests",
  "maxQueuedRequests",
  "backpressure",
  "healthCheckPeriodMs",
  "healthCheckTimeoutMs",
  "reconfigureTimeoutMs",
  "gracefulShutdownTimeoutMs",
  "maxConstructorRetryCount",
  "rollingUpdatePercentage",
  "maxSurgePercent",
  "idempotentMethods",
  "keepRoutePrefix",
  "routerId",
  "requestRouterArgs",
]);

/**
 * @param keepsCode false where the application runs in this process
 * @throws SerializationError naming what cannot be sent
 */
export function buildApplication(
  application: Application<any>,
  options: {
    name: string;
    routePrefix: string | null;
    keepsCode: boolean;
    config?: ApplicationTarget["config"];
    capacity?: ApplicationTarget["capacity"];
    /** For deployments without a `loggingConfig`. */
    logging?: LoggingConfig | undefined;
  },
): BuiltApplication {
  const { name: app, routePrefix, keepsCode, config: declared, capacity, logging } = options;
  const names = new Map<Application<any>, string>();
  const order: Application<any>[] = [];
  collect(application, names, order);
  const code = new Map<string, CodeSource>();
  const local = new Map<string, DeploymentCode>();
  const functions = new Map<string, Uint8Array>();
  const pythonFiles = new Map<string, readonly FileDigest[]>();
  const unversioned = order.map((bound): Omit<DeploymentTarget, "version"> => {
    const { deployment, args } = applicationParts(bound);
    const name = names.get(bound) as string;
    const calls = new Set<string>();
    const marked = replaceIn(args, (value) => {
      if (!isApplication(value)) return value;
      const called = names.get(value) as string;
      calls.add(called);
      return markOf({ app, deployment: called, streaming: streamingMethodsOf(applicationParts(value).deployment) });
    }) as unknown[];
    const { target } = deployment;
    const inPython = pythonCodeIn(deployment);
    if (inPython !== undefined) pythonFiles.set(name, inPython.files);
    const whole: DeploymentCode = { target: inPython?.code ?? (target as AnyFunction), args: marked };
    local.set(name, whole);
    const kept = keepsCode ? captured(name, whole) : undefined;
    if (kept !== undefined) code.set(name, kept);
    const named = { ...deployment.config, name, logging: deployment.config.logging ?? logging };
    const config = withFunctions(named, deployment, keepsCode ? functions : undefined);
    return {
      name,
      config,
      versionKey: config.version === undefined ? undefined : createHash("sha256").update(heavyOf(config)).digest("hex").slice(0, 16),
      streaming: streamingMethodsOf(deployment),
      calls: [...calls],
    };
  });
  const versions = versionsOf(unversioned.map(({ name: deployed, config }) => ({ code: code.get(deployed), heavy: heavyOf(config) })));
  const deployments = unversioned.map((one, index) => {
    const { version, files } = versions[index] as (typeof versions)[number];
    const kept = code.get(one.name);
    if (kept instanceof Uint8Array) code.set(one.name, packCode(kept, [...files, ...(pythonFiles.get(one.name) ?? [])]));
    return { ...one, version };
  });
  const ingress = names.get(application) as string;
  const target = { name: app, routePrefix, ingress, deployments, deployedMs: Date.now(), config: declared, capacity };
  return { target, code, local, functions };
}

/** Captures a deployment's code. Warns on stderr if most of it is used code, such as a library that a bundler has put beside it. */
function captured(name: string, whole: DeploymentCode): CodeSource {
  const before = process.cpuUsage();
  const kept = keptBytesOf(whole) ?? { ref: put(whole) };
  const { user, system } = process.cpuUsage(before);
  const tookMs = (user + system) / 1000;
  if (tookMs >= SLOW_CAPTURE_MS && kept instanceof Uint8Array && kept.byteLength >= LARGE_CODE_BYTES)
    process.stderr.write(
      `shoal: the code of deployment ${name} is ${Math.round(kept.byteLength / 1000)} KB, taken in ${Math.round(tookMs)} ms at each deploy: it brings along what its variables refer to. ` +
        "Export its class from a module that is not the program's main file, and it goes by name. Leave libraries outside of bundles, and make what the class uses, such as schemas, in its constructor.\n",
    );
  return kept;
}

/** A policy and a router of the user's are kept under the hash of their code, and the configuration has their ids. */
function withFunctions(config: DeploymentConfig, { functions }: Deployment, kept: Map<string, Uint8Array> | undefined): DeploymentConfig {
  const { policy, requestRouter, tracing: setup } = functions;
  if (kept === undefined) return config;
  const keep = (fn: unknown, what: string): string | undefined => {
    if (fn === undefined) return undefined;
    const { id, code } = keptFunction(fn, what, `run deployment ${config.name}: its`);
    kept.set(id, code);
    return id;
  };
  const { autoscaling } = config;
  const scaled = autoscaling === undefined ? autoscaling : { ...autoscaling, policyId: keep(policy, "policy") };
  const tracing = config.tracing === undefined ? undefined : { ...config.tracing, setupId: keep(setup, "tracing") };
  return { ...config, autoscaling: scaled, tracing, routerId: keep(requestRouter, "requestRouter") };
}

/** The code of a function of the user's that is kept under its hash. @param action - for the message @throws TypeError where there is more to it than code */
export function keptFunction(fn: unknown, what: string, action: string): { readonly id: string; readonly code: Uint8Array } {
  const code = keptBytesOf(fn);
  if (code === undefined)
    throw new TypeError(
      `Cannot ${action} ${what} captures references, actors or remote functions, or Shoal runs in process: it is kept as code alone`,
    );
  return { id: `${what}-${createHash("sha256").update(code).digest("hex").slice(0, 16)}`, code };
}

/** The names that the deployments of an application have when it is deployed. */
export function deploymentNames(application: Application<any>): ReadonlyMap<Application<any>, string> {
  const names = new Map<Application<any>, string>();
  collect(application, names, []);
  return names;
}

/** Collects names and an order of deployment: bound arguments come before the deployment that takes them. */
function collect(application: Application<any>, names: Map<Application<any>, string>, order: Application<any>[]): void {
  if (names.has(application)) return;
  const { deployment, args } = applicationParts(application);
  const taken = new Set(names.values());
  let name = deployment.name;
  for (let number = 1; taken.has(name); number += 1) name = `${deployment.name}_${number}`;
  names.set(application, name);
  replaceIn(args, (value) => {
    if (isApplication(value)) collect(value, names, order);
    return value;
  });
  order.push(application);
}

export function isApplication(value: unknown): value is Application<any> {
  return typeof value === "object" && value !== null && value.constructor?.name === "Application" && isOne(value);
}

function isOne(value: object): boolean {
  try {
    applicationParts(value as Application<any>);
    return true;
  } catch {
    return false;
  }
}

/** Checks an application. @throws TypeError for any other value */
export function requireApplication(value: unknown): asserts value is Application<any> {
  if (!isApplication(value))
    throw new TypeError(
      `Cannot run an application: what bind() gives is needed, such as serve.deployment(Model).bind(): received ${describeValue(value)}`,
    );
}

/** Generator methods of a class. Fields that hold generator functions are not known before there is an instance: `options({ stream: true })` is for them. */
export function streamingMethodsOf({ target, python }: Deployment): string[] {
  if (python !== undefined) return streamingMethods(python);
  if (!isClass(target as AnyFunction)) return isGeneratorFunction(target) ? [""] : [];
  const found = new Set<string>();
  for (let at = target.prototype as object | null; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at) as object | null)
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at)))
      if (isGeneratorFunction(value)) found.add(name === "call" ? "" : name).add(name);
  return [...found];
}

/** Names Python code, which is not sent. The digest of its files gives changed code a new version. */
function pythonCodeIn({ python, config }: Deployment): { code: DeployedPython; files: readonly FileDigest[] } | undefined {
  if (python === undefined) return undefined;
  const { workingDir } = (config.actorOptions["runtimeEnv"] ?? {}) as { workingDir?: string };
  const { digest, files } = digestOfPython(python.place, [...(workingDir === undefined ? [] : [workingDir]), process.cwd()]);
  return { code: { ...python, digest }, files: workingDir === undefined ? files : filesOfCopy(files, workingDir) };
}

/** The options whose change needs new replicas. */
function heavyOf(config: DeploymentConfig): string {
  return JSON.stringify(Object.fromEntries(Object.entries(config).filter(([key]) => !LIGHT.has(key as keyof DeploymentConfig))));
}
