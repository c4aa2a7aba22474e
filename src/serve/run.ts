/**
 * The API that runs applications: `start`, `run`, `delete`, `status`, `shutdown`, and the handles of running applications.
 *
 * Decides what becomes of this process: one that started its own node is held as a listening server holds it, until `shutdown`; one that joined a cluster leaves its
 * applications there. Everything else is the controller's, which is found by its name, or started.
 */
import { CONTROLLER_NAME, SERVE_NAMESPACE } from "./names.ts";
import { ActorDiedError, type ActorHandle, getActor, kill, remote, TaskError } from "../core/index.ts";
import { describeValue, flag, isWorker, readOptions, runsInProcess, startedHere } from "../core/internal.ts";
import { buildApplication, keptFunction, requireApplication, streamingMethodsOf } from "./build/application-graph.ts";
import { saveCode } from "./deployments/code-store.ts";
import { type ControllerHealth, Controller, type OpenedApi, type ServeOptions, type ServeStatus } from "./controller/controller.ts";
import type { ConfigApplication } from "./config/read-config.ts";
import { type Application, applicationParts, type Deployable, type Handle } from "./deployments/deployment.ts";
import type { DeployedCode } from "./deployments/deployed-code.ts";
import type { ApplicationTarget, TargetCapacity } from "./deployments/deployment-config.ts";
import { type LoggingOptions, resolveLogging, resolveTracing, type TracingOptions } from "./deployments/deployment-options.ts";
import { DeploymentUnavailableError } from "./errors.ts";
import { type DeploymentHandle, newHandle } from "./handle/deployment-handle.ts";
import type { HandleOf } from "./handle/handle-types.ts";
import { ineffectiveOptions } from "./ineffective-options.ts";
import { REPLICA_CONCURRENCY, SLOW_START_AGAIN_MS } from "./limits.ts";
import { type GrpcOptions, resolveGrpcOptions } from "./grpc/grpc-options.ts";
import { runLocally } from "./local/local-application.ts";
import { type HttpOptions, resolveHttpOptions } from "./proxy/options/http-options.ts";
import { isPath } from "./proxy/route-table.ts";
import { type ApiOptions, resolveApiOptions } from "./rest/api-options.ts";
import { closeRouters, routersSynced } from "./routing/process-routers.ts";
import { loadTracing, type TracingConfig } from "./tracing.ts";

/** The options of `start`. */
export interface StartOptions {
  httpOptions?: HttpOptions | undefined;
  /** Open Ray's REST API and `/metrics`. Default: they are not opened. */
  apiOptions?: ApiOptions | undefined;
  /** Offers gRPC as well, through the packages `@grpc/grpc-js` and `@grpc/proto-loader`. Default: none. */
  grpcOptions?: GrpcOptions | undefined;
  /** How all replicas print, where neither their application nor their deployment says it. Default: the console as it is. */
  loggingConfig?: LoggingOptions | undefined;
  /** Sets OpenTelemetry up in all replicas whose deployment does not say it. Default: none. */
  tracing?: TracingOptions | undefined;
  /** Show clients the errors of user code, with their stacks. Default: false; what went wrong is in the log, by the id that clients get. */
  development?: boolean | undefined;
}

/** Result of `start`. */
export interface StartedServe {
  /** Where a proxy listens, such as `http://127.0.0.1:8000`; undefined where there is none. */
  readonly address: string | undefined;
  /** The REST API, where there is one: such as `http://127.0.0.1:8265`, and the token that it asks for. */
  readonly api?: OpenedApi | undefined;
  /** Address of a proxy for gRPC, such as `127.0.0.1:9000`; undefined where there is none. */
  readonly grpcAddress: string | undefined;
}

/** The options of `run`. */
export interface RunOptions {
  /** Default: "default". */
  name?: string | undefined;
  /** Requests of this path and all below it; `null`: none, it is reached by handles alone. Default: "/". */
  routePrefix?: string | null | undefined;
  /** How its replicas print, where their deployment does not say it. Default: that of `serve.start`. */
  loggingConfig?: LoggingOptions | undefined;
  /** Run it in this process, without any other: for tests of an application. Default: false. */
  localTestingMode?: boolean | undefined;
  /** Resolve when `shutdown` is called, or the application is deleted. Default: false. */
  blocking?: boolean | undefined;
}

const START = {
  of: "serve.start",
  otherNames: { logging_config: "it is loggingConfig", tracing_config: "it is tracing" },
  options: {
    httpOptions: anyObject(),
    grpcOptions: anyObject(),
    apiOptions: anyObject(),
    loggingConfig: anyObject(),
    tracing: anyObject(),
    development: flag(false),
  },
};
const RUN = {
  of: "serve.run",
  otherNames: { route_prefix: "it is routePrefix", logging_config: "it is loggingConfig" },
  options: {
    name: { allowed: 'text without "/" and "#", and other than "__proto__", is needed', fallback: "default", check: checkName },
    routePrefix: {
      allowed: 'a path such as "/api" without a slash at its end, or null, is needed',
      fallback: "/" as string | null,
      check: checkPrefix,
    },
    loggingConfig: anyObject(),
    localTestingMode: flag(false),
    blocking: flag(false),
  },
};

/** An application for `runMany`. */
export interface RunTarget<T extends Deployable = any> {
  readonly application: Application<T>;
  /** Default: "default". */
  readonly name?: string | undefined;
  /** Requests of this path and all below it; `null`: none. Default: "/". */
  readonly routePrefix?: string | null | undefined;
}

/** Handles of the ingresses, in the order of the targets. */
export type HandlesOf<T extends readonly RunTarget[]> = {
  readonly [K in keyof T]: T[K] extends RunTarget<infer D> ? HandleOf<D> : never;
};

const TARGET = {
  of: "a target of serve.runMany",
  options: { name: RUN.options.name, routePrefix: RUN.options.routePrefix, application: anyObject() },
};

type ControllerHandle = ActorHandle<Controller>;

/** Keeps this process alive while it serves. */
let held: NodeJS.Timeout | undefined;
const blocked = new Set<() => void>();

/**
 * Starts Serve: the controller and the HTTP proxies. `run` does it with defaults where it was not called.
 *
 * @throws TypeError, RangeError for options; ListenError where no proxy can listen: another call may say other options
 * @example
 * const { address } = await serve.start({ httpOptions: { port: 0 } }); // http://127.0.0.1:40123
 */
export async function start(options?: StartOptions): Promise<StartedServe> {
  const { httpOptions, grpcOptions, apiOptions, loggingConfig, tracing: given, development } = readOptions(options, START);
  const logging = resolveLogging(loggingConfig);
  const api = apiOptions === undefined ? undefined : resolveApiOptions(apiOptions);
  // Nothing is awaited without need: a `run` right after this call would start Serve with the defaults.
  const grpc = grpcOptions === undefined ? undefined : await resolveGrpcOptions(grpcOptions);
  const tracing = given === undefined ? undefined : await keptTracing(given as TracingOptions);
  const wanted = { http: resolveHttpOptions(httpOptions), grpc, logging, tracing, showsErrors: development };
  const controller = controllerWith(wanted);
  const started = await unwrapped(begun(controller, wanted));
  await warnOfOptions(controller, options ?? {}, wanted);
  return { ...started, ...(api !== undefined && { api: await unwrapped(controller.openApi.remote(api)) }) };
}

/**
 * Runs an application, or updates its changed deployments, and resolves with the ingress's handle once it answers.
 *
 * @throws DeployFailedError if it does not start; the former version of a running application then serves on
 * @throws RangeError if another application has the path
 * @example
 * const handle = await serve.run(Api.bind(Model.bind("small")), { name: "shop", routePrefix: "/shop" });
 */
export async function run<T extends Deployable>(application: Application<T>, options?: RunOptions): Promise<HandleOf<T>> {
  requireApplication(application);
  const { name, routePrefix, loggingConfig, localTestingMode, blocking } = readOptions(options, RUN);
  const logging = resolveLogging(loggingConfig);
  if (localTestingMode) return (await runLocally(application, name)) as HandleOf<T>;
  const deployment = await deployed(application, { name, routePrefix, logging });
  if (blocking) await new Promise<void>((resolve) => blocked.add(resolve));
  await loadTracing();
  return ingressHandle(application, name, deployment);
}

/**
 * Runs several applications at the same time, and resolves with the handles of their ingresses when all answer.
 *
 * @throws RangeError for names and paths that two of them share, before any is deployed; DeployFailedError where one does not come up, once it is known of all
 * @example
 * const [shop, search] = await serve.runMany([
 *   { application: Shop.bind(), name: "shop", routePrefix: "/shop" },
 *   { application: Search.bind(), name: "search", routePrefix: "/search" },
 * ]);
 */
export async function runMany<const T extends readonly RunTarget[]>(targets: T): Promise<HandlesOf<T>> {
  if (!Array.isArray(targets) || targets.length === 0)
    throw new TypeError(
      `Cannot run applications: an array of { application, name, routePrefix } is needed: received ${describeValue(targets)}`,
    );
  const wanted = (targets as readonly RunTarget[]).map((target) => ({ ...readOptions(target, TARGET), application: target.application }));
  for (const { application } of wanted) requireApplication(application);
  for (const key of ["name", "routePrefix"] as const) {
    const given = wanted.map((target) => target[key]).filter((value) => value !== null);
    const twice = given.find((value, index) => given.indexOf(value) !== index);
    if (twice !== undefined)
      throw new RangeError(`Cannot run applications: two of them have the same ${key}: received ${describeValue(twice)}`);
  }
  await start();
  const together = new Map(wanted.map(({ name, routePrefix }) => [name, routePrefix]));
  const settled = await Promise.allSettled(
    wanted.map(async ({ application, name, routePrefix }) => {
      const deployment = await deployed(application, { name, routePrefix }, together);
      return ingressHandle(application, name, deployment);
    }),
  );
  await loadTracing();
  const handles = settled.map((outcome) => {
    if (outcome.status === "rejected") throw outcome.reason;
    return outcome.value;
  });
  return handles as unknown as HandlesOf<T>;
}

function ingressHandle<T extends Deployable>(application: Application<T>, app: string, deployment: string): HandleOf<T> {
  const streaming = streamingMethodsOf(applicationParts(application).deployment);
  return newHandle({ app, deployment, streaming, options: {} }) as unknown as HandleOf<T>;
}

/** The same for the applications of a configuration. */
export async function runConfigured(
  loaded: readonly { readonly application: Application; readonly given: ConfigApplication }[],
  capacity: TargetCapacity | undefined,
): Promise<void> {
  const read = loaded.map(({ application, given: { name, routePrefix, fields } }) => ({
    application,
    place: { ...readPlace({ name, routePrefix }), config: fields, capacity },
  }));
  const together = new Map(read.map(({ place }) => [place.name, place.routePrefix]));
  await Promise.all(read.map(({ application, place }) => deployed(application, place, together)));
}

/** Reads the name and the route of an application that is to be built elsewhere. @throws TypeError, RangeError that name the option */
export function readPlace(options: Pick<RunOptions, "name" | "routePrefix">): { name: string; routePrefix: string | null } {
  const { name, routePrefix } = readOptions(options, RUN);
  return { name, routePrefix };
}

/** Runs applications that were built elsewhere, and resolves when they answer. @throws DeployFailedError where one does not come up */
export async function runBuilt(built: readonly { readonly target: ApplicationTarget; readonly code: DeployedCode }[]): Promise<void> {
  const wanted = { http: resolveHttpOptions(undefined), showsErrors: false };
  const controller = controllerWith(wanted);
  const together = new Map(built.map(({ target }) => [target.name, target.routePrefix]));
  await Promise.all(built.map(({ target, code }) => deployWith(controller, wanted, { target, code, together })));
}

/** Waits for an application. @returns the name of its ingress, once it answers */
async function deployed(
  application: Application<any>,
  place: Omit<Parameters<typeof buildApplication>[1], "keepsCode">,
  together?: ReadonlyMap<string, string | null>,
): Promise<string> {
  // The code is captured while the controller starts.
  const wanted = { http: resolveHttpOptions(undefined), showsErrors: false };
  const controller = controllerWith(wanted);
  const { target, code, functions } = buildApplication(application, { ...place, keepsCode: true });
  await deployWith(controller, wanted, { target, code: { code: [...code], functions: [...functions] }, together });
  return target.ingress;
}

async function deployWith(
  controller: ControllerHandle,
  wanted: ServeOptions,
  { target, code, together }: { target: ApplicationTarget; code: DeployedCode; together: ReadonlyMap<string, string | null> | undefined },
): Promise<void> {
  const starting = begun(controller, wanted);
  starting.catch(() => {});
  await unwrapped(controller.deploy.remote(target, code, together));
  const telling = setInterval(tellOfWaits(controller, target.name), SLOW_START_AGAIN_MS);
  try {
    const [, warning] = await unwrapped(Promise.all([starting, controller.waitFor.remote(target.name)]));
    // Handles of this process that were used before know the replicas of now.
    await routersSynced();
    if (warning !== undefined) process.stderr.write(`shoal: ${warning}.\n`);
  } finally {
    clearInterval(telling);
  }
}

/** Prints on stderr why an application waits, whenever the reason changes. */
function tellOfWaits(controller: ControllerHandle, app: string): () => void {
  let told = "";
  return () => {
    controller.status.remote().then(
      ({ applications }) => {
        const message = applications[app]?.message ?? "";
        if (message === told || message === "") return;
        told = message;
        process.stderr.write(`shoal: application ${app} does not run yet: ${message}\n`);
      },
      () => {
        // The call that waits has the error of a controller that does not answer.
      },
    );
  };
}

/** Status of the proxies and applications, in Ray's terms. */
export async function status(): Promise<ServeStatus> {
  const controller = await findController();
  return controller === undefined ? { proxies: {}, applications: {} } : await controller.status.remote();
}

/** Health of the controller; undefined where Serve does not run. */
export async function controllerHealth(): Promise<ControllerHealth | undefined> {
  return await (await findController())?.health.remote();
}

/** Where the REST API listens, and the token that its clients show; undefined where Serve or the API is not open. */
export async function restApi(): Promise<OpenedApi | undefined> {
  return await (await findController())?.restApi.remote();
}

/** Ends an application after its running requests. @returns whether the application existed */
async function deleteApplication(name: string): Promise<boolean> {
  if (typeof name !== "string") throw new TypeError(`Cannot delete an application: its name is needed: received ${describeValue(name)}`);
  const controller = await findController();
  return controller === undefined ? false : await controller.delete.remote(name);
}

export { deleteApplication as delete };

/** Ends all applications, the proxies and the controller. */
export async function shutdown(): Promise<void> {
  const controller = await findController();
  if (controller !== undefined) {
    await controller.shutdown.remote();
    await kill(controller);
  }
  closeRouters();
  clearInterval(held);
  held = undefined;
  for (const resolve of blocked) resolve();
  blocked.clear();
}

/** The handle of an application's ingress. @throws DeploymentUnavailableError where there is none */
export async function getAppHandle<D = any>(name = "default"): Promise<Handle<D>> {
  return (await handleOf(name, undefined)) as unknown as Handle<D>;
}

/** The handle of a deployment of an application; inside a deployment, by default of the same application. @throws DeploymentUnavailableError where there is none */
export async function getDeploymentHandle<D = any>(deployment: string, app = "default"): Promise<Handle<D>> {
  return (await handleOf(app, deployment)) as unknown as Handle<D>;
}

async function handleOf(app: string, deployment: string | undefined): Promise<DeploymentHandle> {
  await loadTracing();
  const controller = await findController();
  const found = await controller?.describe.remote(app, deployment);
  if (found === undefined) {
    const what = deployment === undefined ? `application ${app}` : `deployment ${deployment} of application ${app}`;
    throw new DeploymentUnavailableError(`Cannot get a handle: there is no ${what}`, {
      reason: "it does not exist",
      hint: "Run it with serve.run(), and see serve.status().",
      details: { app, deployment },
    });
  }
  return newHandle({ app, deployment: found.deployment, streaming: found.streaming, options: {} });
}

function controllerWith(options: ServeOptions): ControllerHandle {
  return remote(Controller, {
    name: CONTROLLER_NAME,
    namespace: SERVE_NAMESPACE,
    getIfExists: true,
    lifetime: "detached",
    maxRestarts: -1,
    // Each call may be made again: a question that a dying controller leaves open goes to the next one.
    maxTaskRetries: -1,
    numCpus: 0,
    maxConcurrency: REPLICA_CONCURRENCY,
  }).remote(options);
}

/** Keeps the code that sets tracing up where replicas find it. */
async function keptTracing(given: TracingOptions): Promise<TracingConfig | undefined> {
  const tracing = resolveTracing(given);
  if (tracing === undefined) return undefined;
  const { id, code } = keptFunction(tracing.setup, "tracing", "start Serve: its");
  await saveCode(id, code);
  return { setupId: id, samplingRatio: tracing.samplingRatio };
}

/** Serve that runs already keeps the options that it was started with. */
async function warnOfOptions(controller: ControllerHandle, given: StartOptions, wanted: ServeOptions): Promise<void> {
  const ignored = ineffectiveOptions(given, { wanted, held: await controller.options.remote() });
  if (ignored.length > 0)
    process.stderr.write(
      `shoal: Serve runs already and keeps its options: ${ignored.join(", ")} of this start() have no effect. serve.shutdown() ends what runs.\n`,
    );
}

/** @returns where a proxy listens */
async function begun(controller: ControllerHandle, options: ServeOptions): Promise<Omit<StartedServe, "api">> {
  const addresses = await controller.proxiesReady.remote(options);
  // A process that has its own node is the server: it lives until it is told to end.
  if (held === undefined && !isWorker() && (startedHere() || runsInProcess())) held = setInterval(() => {}, 2 ** 30);
  return addresses;
}

/** Rethrows the error of the controller or of the user's code instead of the `TaskError` around it. */
export async function unwrapped<R>(call: PromiseLike<R>): Promise<R> {
  try {
    return await call;
  } catch (error) {
    throw error instanceof TaskError && error.cause instanceof Error ? error.cause : error;
  }
}

/** Undefined where Serve does not run. Whatever else keeps the controller from being found is an error: "no applications" would be a wrong answer. */
async function findController(): Promise<ControllerHandle | undefined> {
  try {
    return await getActor<Controller>(CONTROLLER_NAME, { namespace: SERVE_NAMESPACE });
  } catch (error) {
    if (error instanceof ActorDiedError) return undefined;
    throw error;
  }
}

function anyObject(): { allowed: string; fallback: object | undefined; check: (value: unknown) => "ok" | "wrong type" } {
  return {
    allowed: "an object of options is needed",
    fallback: undefined,
    check: (value) => (typeof value === "object" && value !== null ? "ok" : "wrong type"),
  };
}

function checkName(value: unknown): "ok" | "wrong type" | "out of range" {
  if (typeof value !== "string") return "wrong type";
  return value.length >= 1 && value.length <= 200 && !/[/#]/.test(value) && value !== "__proto__" ? "ok" : "out of range";
}

function checkPrefix(value: unknown): "ok" | "wrong type" | "out of range" {
  if (value === null || value === "/") return "ok";
  if (typeof value !== "string") return "wrong type";
  return isPath(value) ? "ok" : "out of range";
}
