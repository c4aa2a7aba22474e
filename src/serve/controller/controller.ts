/**
 * The controller: the one actor that knows the wanted applications and keeps them running.
 *
 * A shell around `ServeState`: it turns calls, ends of actors and the clock into events, and carries out the effects. Each accepted request is written to the
 * cluster's store before its answer. A controller that dies is started again, reads the store, and finds the replicas and proxies, which have served meanwhile.
 */
import { SERVE_NAMESPACE } from "../names.ts";
import type { DeployedCode } from "../deployments/deployed-code.ts";
import { forgetCodeExcept, loadCode, saveCode } from "../deployments/code-store.ts";
import { actors, getRuntimeContext, nodes } from "../../core/index.ts";
import { describeValue, messageOf, outsideCalls, prometheusText, runsInProcess, valueOfKept } from "../../core/internal.ts";
import { buildInTask } from "../config/build-in-task.ts";
import { grpcOptionsOf, httpOptionsOf } from "../config/config-options.ts";
import type { ServeConfig } from "../config/read-config.ts";
import { DeployFailedError, ServeConfigError } from "../errors.ts";
import { API_RETRY_MS, CONTROL_EVERY_MS, FOLLOW_NODES_EVERY_MS, PUBLISH_EVERY_MS } from "../limits.ts";
import type { ApplicationTarget } from "../deployments/deployment-config.ts";
import { methodNames } from "../grpc/proto-files.ts";
import { type ResolvedGrpcOptions, resolveGrpcOptions } from "../grpc/grpc-options.ts";
import { metricSnapshots } from "../../metrics/registry.ts";
import { ControllerMetrics, type CountedDeployment } from "../metrics/controller-metrics.ts";
import { measureEventLoop } from "../metrics/serve-metrics.ts";
import { type ResolvedHttpOptions, resolveHttpOptions } from "../proxy/options/http-options.ts";
import { underRoot } from "../proxy/route-table.ts";
import type { ResolvedApiOptions } from "../rest/api-options.ts";
import { ApiServer } from "../rest/api-server.ts";
import { type DescribedApplication, instanceDetails } from "../rest/instance-details.ts";
import { CODE_LOST, type CodeSource } from "../replica/replica.ts";
import type { LoggingConfig } from "../replica/context/replica-log.ts";
import type { TracingConfig } from "../tracing.ts";
import { deploymentKey, type LoadReport, ROUTES_KEY, type RouteTableValue, type UpdateBody } from "../routing/controller-messages.ts";
import type { DeploymentRoutes } from "../routing/deployment-router.ts";
import type { AutoscalingContext } from "./capacity/autoscaling-policy.ts";
import { DeclaredApplications } from "./declared-applications.ts";
import { ProxyStarter, type ProxyStatusInfo } from "./starting/proxy-starter.ts";
import { ReplicaStarter } from "./starting/replica-starter.ts";
import type { ServeEffect, ServeEvent } from "./serve-events.ts";
import { type ApplicationStatusInfo, ServeState } from "./serve-state.ts";
import {
  forgetApplication,
  forgetConfigText,
  forgetEverything,
  forgetUnbuilt,
  loadApi,
  loadApplications,
  loadCapacity,
  loadOptions,
  loadUnbuilt,
  requireKeepable,
  saveApi,
  saveApplication,
  saveConfigText,
  saveOptions,
  saveUnbuilt,
  takeCapacity,
} from "./serve-store.ts";
import { Subscribers } from "./subscribers.ts";

/** Options of `serve.start`, for the whole of Serve. */
export interface ServeOptions {
  readonly http: ResolvedHttpOptions;
  /** Undefined: no gRPC. */
  readonly grpc?: ResolvedGrpcOptions | undefined;
  /** How replicas print whose deployment does not say it. */
  readonly logging?: LoggingConfig | undefined;
  /** Tracing of replicas whose deployment does not say it. */
  readonly tracing?: TracingConfig | undefined;
  /** Clients see what went wrong. */
  readonly showsErrors: boolean;
}

/** The REST API as it was opened. */
export interface OpenedApi {
  /** Address of the REST API, such as `http://127.0.0.1:8265`. */
  readonly address: string;
  /** Clients send it as `authorization: Bearer TOKEN`. */
  readonly token: string;
}

/** Health of the controller. */
export interface ControllerHealth {
  readonly nodeId: string;
  readonly pid: number;
  readonly uptimeMs: number;
  readonly memoryBytes: number;
  /** Delay of the last step of the control loop: above a second the controller has too much to do. */
  readonly delayMs: number;
  readonly applications: number;
  readonly replicas: number;
  /** Where the REST API listens; undefined where it is not open. */
  readonly apiAddress: string | undefined;
}

export interface ServeStatus {
  readonly proxies: Readonly<Record<string, ProxyStatusInfo>>;
  readonly applications: Readonly<Record<string, ApplicationStatusInfo>>;
}

const REPLICA_PREFIX = "SERVE_REPLICA::";

type Policy = (context: AutoscalingContext, args?: unknown) => number;

export class Controller {
  readonly #state = new ServeState({
    newId: newReplicaId,
    policyOf: (app, deployment) => this.#policyOf(app, deployment),
  });
  readonly #policies = new Map<string, Policy>();
  readonly #subscribers: Subscribers;
  readonly #metrics = new ControllerMetrics(getRuntimeContext().actorId ?? "", {
    deployments: () => this.#counted(),
    applications: () => [...this.#applications()].map(([app, { status }]) => [app, status.status] as const),
    // Processes that share this one may ask before this controller has begun.
    proxies: () =>
      Object.entries((this.#proxies as ProxyStarter | undefined)?.statuses ?? {}).map(
        ([name, { nodeId, status }]) => [name, nodeId, status] as const,
      ),
    subscribers: () => this.#subscribers.counts,
    reports: () => this.#reported(),
  });
  /** The last numbers of requests of each process, and how old they were when they came: for the metrics. */
  readonly #reports = new Map<string, { readonly delayMs: number; readonly loads: LoadReport }>();
  readonly #ready: Promise<void>;
  #options: ServeOptions;
  #replicas!: ReplicaStarter;
  /** Undefined until the options are known. */
  #proxies!: ProxyStarter;
  /** By version. */
  /** Functions of deploys that no record names yet. */
  readonly #arriving = new Set<string>();
  readonly #codes = new Map<string, CodeSource>();
  /** Callers that wait for a state. Each function checks the state; once it is reached, it resolves its caller and returns true. */
  #waiters: (() => boolean)[] = [];
  readonly #unpublished = new Set<string>();
  #publishing: NodeJS.Timeout | undefined;
  #publishedMs = 0;
  #saving: Promise<unknown> = Promise.resolve();
  #timers: NodeJS.Timeout[] = [];
  readonly #startMs = performance.now();
  #tickMs = 0;
  #tickEndMs = 0;
  #ticks = 0;
  #sleptMs = 0;
  #delayMs = 0;
  /** All is being ended, and the controller with it: nothing new is taken over. */
  #isEnding = false;
  /** Configurations of the REST API are taken over, and all is ended by it, one after the other. */
  #declaring: Promise<unknown> = Promise.resolve();
  /** All was ended by the REST API, or no proxy could listen: whoever starts Serve next says how. */
  #isCleared = false;
  #reopening: NodeJS.Timeout | undefined;
  #api: { readonly server: ApiServer; readonly opened: OpenedApi } | undefined;
  readonly #declared = new DeclaredApplications({
    build: buildInTask,
    deploy: ({ target, code }, how) => this.#deploy(target, code, how),
    holderOf: ({ routePrefix, name }) => this.#state.holderOf(routePrefix, name),
    apps: () => this.#state.apps,
    delete: (app) => this.#delete(app),
    settled: forgetUnbuilt,
  });

  constructor(options: ServeOptions) {
    this.#options = options;
    this.#subscribers = new Subscribers({
      valueOf: (key) => this.#valueOf(key),
      replicasIn: (value) => (value === null || Array.isArray(value) ? [] : (value as DeploymentRoutes).replicas.map(({ id }) => id)),
      reported: (source, { atMs, loads }) => {
        if (loads.length > 0) this.#reports.set(source, { delayMs: Math.max(0, Date.now() - atMs), loads });
        this.#happened({ kind: "load", source, report: loads });
      },
      told: (key) => this.#metrics.told(key),
      gone: (source) => {
        this.#reports.delete(source);
        this.#happened({ kind: "sourceGone", source });
      },
      flush: () => {
        if (this.#unpublished.size > 0) this.#publish();
      },
    });
    this.#subscribers.listen();
    measureEventLoop("controller", getRuntimeContext().actorId ?? "");
    this.#ready = this.#begin();
    // Each call awaits it.
    this.#ready.catch(() => {});
  }

  /** The options that hold: those of whoever started Serve first. */
  async options(): Promise<ServeOptions> {
    await this.#ready;
    return this.#options;
  }

  /** Resolves with the addresses of one proxy when all proxies listen. @param options apply if no proxies run. @throws the error that keeps a proxy from listening */
  async proxiesReady(options: ServeOptions): Promise<{ address: string | undefined; grpcAddress: string | undefined }> {
    await this.#ready;
    if (this.#isCleared) await this.#startProxies(options);
    try {
      await this.#proxies.ready();
    } catch (error) {
      if (!this.#proxies.hasListened) await this.#clearProxies();
      throw error;
    }
    // A proxy that drains is no place to send anybody to.
    const statuses = Object.values(this.#proxies.statuses).sort((a, b) => Number(b.status === "HEALTHY") - Number(a.status === "HEALTHY"));
    const address = statuses.find((status) => status.address !== undefined)?.address;
    return { address, grpcAddress: statuses.find((status) => status.grpcAddress !== undefined)?.grpcAddress };
  }

  /**
   * Takes over the target of an application; `waitFor` resolves once it runs.
   *
   * @param together paths of all applications that are deployed together, which may exchange them
   * @throws RangeError if another application has the path; DeployFailedError while Serve shuts down
   */
  async deploy(target: ApplicationTarget, code: DeployedCode, together: ReadonlyMap<string, string | null> = new Map()): Promise<void> {
    await this.#ready;
    this.#declared.forget(target.name);
    await this.#deploy(target, code, { together });
  }

  /** @param how `isWanted` is asked when all is ready: the application may have been ended meanwhile */
  async #deploy(
    target: ApplicationTarget,
    { code, functions }: DeployedCode,
    { together, isWanted = () => true }: { together: ReadonlyMap<string, string | null>; isWanted?: () => boolean },
  ): Promise<void> {
    this.#requireTakable(target, together);
    for (const [id] of functions) this.#arriving.add(id);
    try {
      await this.#take(target, { code, functions }, { together, isWanted });
    } finally {
      for (const [id] of functions) this.#arriving.delete(id);
    }
  }

  /** @throws RangeError where another application has the path, or it cannot be kept; DeployFailedError while Serve is shut down */
  #requireTakable(target: ApplicationTarget, together: ReadonlyMap<string, string | null>): void {
    const { name, routePrefix } = target;
    if (this.#isEnding) {
      const reason = "Serve is being shut down";
      throw new DeployFailedError(`Cannot run application ${name}: ${reason}`, { reason, hint: "Run it again once that is over." });
    }
    const holder = this.#state.holderOf(routePrefix, name, together);
    if (holder !== undefined)
      throw new RangeError(
        `Cannot run application ${name}: application ${holder} has the routePrefix already: received ${JSON.stringify(routePrefix)}`,
      );
    requireKeepable(target, this.#state.record(name));
  }

  async #take(
    target: ApplicationTarget,
    { code, functions }: DeployedCode,
    { together, isWanted }: { together: ReadonlyMap<string, string | null>; isWanted: () => boolean },
  ): Promise<void> {
    for (const [id, source] of functions) this.#save(() => saveCode(id, source));
    // Routers are told of their code when it can be read.
    if (functions.length > 0) await this.#saving;
    await this.#loadPolicies(target, new Map(functions));
    const versions = new Map(target.deployments.map(({ name, version }) => [name, version]));
    // The first code of a version stays: in that of another process its classes have other identities, and replicas would not know each other's instances.
    const codes = await Promise.all(
      code.map(async ([deployment, source]) => {
        const version = versions.get(deployment) as string;
        return [version, this.#codes.get(version) ?? (await loadCode(version)) ?? source] as const;
      }),
    );
    if (!isWanted()) return;
    // Meanwhile another application may have taken the path, and Serve may end.
    this.#requireTakable(target, together);
    // From here to the event nothing is awaited: a deploy of another application forgets code that no application is known to need.
    for (const [version, source] of codes) {
      this.#codes.set(version, source);
      if (source instanceof Uint8Array) this.#save(() => saveCode(version, source));
    }
    this.#happened({ kind: "deploy", target });
    await this.#saving;
  }

  /**
   * Resolves when the application runs.
   *
   * @returns what whoever deployed it is to be warned of
   * @throws DeployFailedError where it does not come up
   */
  async waitFor(app: string): Promise<string | undefined> {
    await this.#ready;
    await this.#until(() => {
      const status = this.#state.status(app);
      return status === undefined || status.status === "RUNNING" || status.status === "DEPLOY_FAILED";
    });
    const status = this.#state.status(app);
    if (status?.status === "RUNNING") {
      if (status.routePrefix === null) return undefined;
      await this.#proxies.routesTo(app);
      return this.#warningOf(app, status.routePrefix);
    }
    const reason = status === undefined ? "it was deleted" : status.message;
    const serves = status !== undefined && Object.values(status.deployments).every(({ replicaStates }) => (replicaStates.RUNNING ?? 0) > 0);
    throw new DeployFailedError(`Cannot run application ${app}: ${reason}`, {
      reason,
      hint:
        status === undefined
          ? "Run it again if it is still wanted."
          : serves
            ? "The former version serves on. Mend the deployment and run it again."
            : "Mend the deployment and run it again.",
      details: { app, deployments: status?.deployments },
    });
  }

  #warningOf(app: string, routePrefix: string): string | undefined {
    const ingress = this.#state.application(app)?.ingress ?? "";
    const lacks = this.#state.deployment(app, ingress)?.lacks ?? [];
    if (this.#options.http.location === "disabled" || lacks.length === 0) return undefined;
    const names = [...lacks, ...(this.#options.grpc === undefined ? [] : ["method of a gRPC service"])];
    return `application ${app} answers every request at ${underRoot(this.#options.http.rootPath, routePrefix)} with 501, as its ingress ${ingress} has no ${names.join(" and no ")}: give it one, or run it with routePrefix: null where handles alone call it`;
  }

  async status(): Promise<ServeStatus> {
    await this.#ready;
    const applications: Record<string, ApplicationStatusInfo> = {};
    for (const [app, { status }] of this.#applications()) applications[app] = status;
    return { proxies: this.#proxies.statuses, applications };
  }

  /** The metrics of the controller, of proxies, of replicas and of other processes with handles, in Prometheus' text format. */
  async metrics(): Promise<string> {
    await this.#ready;
    const own = { tags: {}, metrics: runsInProcess() ? [] : metricSnapshots() };
    const others = await Promise.all([this.#proxies.metrics(), this.#replicas.metrics(), this.#subscribers.metrics()]);
    return prometheusText([own, ...others.flat()]);
  }

  /** The facts that a handle of a deployment needs; undefined where there is no such deployment. Default: the ingress. */
  async describe(app: string, deployment?: string): Promise<{ deployment: string; streaming: readonly string[] } | undefined> {
    await this.#ready;
    const name = deployment ?? this.#state.application(app)?.ingress;
    const found = name === undefined ? undefined : this.#state.deployment(app, name);
    return found === undefined ? undefined : { deployment: found.name, streaming: found.target.streaming };
  }

  /** Deletes an application. Resolves when nothing is left, or when it was deployed again. @returns whether the application existed */
  async delete(app: string): Promise<boolean> {
    await this.#ready;
    const wasDeclared = this.#declared.forget(app);
    return (await this.#delete(app)) || wasDeclared;
  }

  async #delete(app: string): Promise<boolean> {
    if (this.#state.status(app) === undefined) return false;
    this.#happened({ kind: "delete", app });
    await this.#until(() => this.#state.status(app)?.status !== "DELETING");
    await this.#saving;
    return true;
  }

  /** A replica has loaded or dropped models. */
  models(replica: string, models: readonly string[]): void {
    this.#happened({ kind: "models", replica, models });
  }

  /**
   * Opens the REST API, unless it is open: then it stays as it is.
   *
   * @throws where the port is taken
   */
  async openApi(options: ResolvedApiOptions): Promise<OpenedApi> {
    await this.#ready;
    if (this.#api !== undefined) return this.#api.opened;
    const opened = await this.#listen(options);
    clearInterval(this.#reopening);
    await saveApi({ ...options, port: Number(new URL(opened.address).port) });
    return opened;
  }

  /** The REST API; undefined where it is not open. */
  async restApi(): Promise<OpenedApi | undefined> {
    await this.#ready;
    return this.#api?.opened;
  }

  /** Health of the controller, for `shoal serve controller-health`. */
  async health(): Promise<ControllerHealth> {
    await this.#ready;
    const { apps } = this.#state;
    const replicas = apps.flatMap((app) =>
      (this.#state.record(app)?.deployments ?? []).map(({ target }) => this.#state.deployment(app, target.name)?.replicas.size ?? 0),
    );
    return {
      nodeId: getRuntimeContext().nodeId,
      pid: process.pid,
      uptimeMs: Math.round(performance.now() - this.#startMs),
      memoryBytes: process.memoryUsage.rss(),
      delayMs: Math.round(this.#delayMs),
      applications: this.#applications().size,
      replicas: replicas.reduce((sum, count) => sum + count, 0),
      apiAddress: this.#api?.opened.address,
    };
  }

  /** Ends all applications and proxies. The caller then ends the controller itself. */
  async shutdown(): Promise<void> {
    await this.#ready;
    this.#isEnding = true;
    this.#declared.clear();
    await Promise.all(this.#state.apps.map((app) => this.#delete(app)));
    await this.#proxies.shutdown(5_000);
    clearInterval(this.#reopening);
    this.#api?.server.close();
    for (const timer of this.#timers) clearInterval(timer);
    await this.#saving;
    await forgetEverything();
  }

  async #begin(): Promise<void> {
    const kept = await loadOptions<ServeOptions>();
    if (kept === undefined) await saveOptions(this.#options);
    else this.#options = kept;
    const { http, grpc } = this.#options;
    this.#replicas = new ReplicaStarter({
      happened: (event) => this.#happened(event),
      subscribers: this.#subscribers,
      options: () => this.#options,
      grpcMethods: () => methodNames(this.#options.grpc?.services ?? []),
    });
    this.#proxies = new ProxyStarter(http, grpc);
    await Promise.all([this.#recover().then(() => this.#subscribers.open()), this.#proxies.follow()]);
    this.#timers.push(
      setInterval(() => this.#tick(), CONTROL_EVERY_MS),
      setInterval(() => void this.#proxies.follow().catch(() => {}), FOLLOW_NODES_EVERY_MS),
    );
    await this.#recoverApi();
  }

  /** Builds the applications that an earlier controller had accepted over the API and not built yet, and opens the API at its former address. */
  async #recoverApi(): Promise<void> {
    const [api, unbuilt, capacity] = await Promise.all([loadApi<ResolvedApiOptions>(), loadUnbuilt(), loadCapacity()]);
    if (unbuilt !== undefined) this.#declared.put((await readDeclared(unbuilt)).applications, capacity);
    if (api === undefined) return;
    try {
      await this.#listen(api);
    } catch (error) {
      console.error(`Cannot open the REST API of Serve again, and try on: ${messageOf(error)}`);
      this.#reopening = setInterval(() => void this.#reopen(api), API_RETRY_MS).unref();
    }
  }

  /** Tries again to open a port, which another program may have taken for a moment. */
  async #reopen(options: ResolvedApiOptions): Promise<void> {
    try {
      const { address } = await this.#listen(options);
      console.error(`The REST API of Serve listens again at ${address}`);
      clearInterval(this.#reopening);
    } catch {
      // The port is not free yet.
    }
  }

  /** Requests of the API run outside of any call: they outlive the call that has opened the API. */
  async #listen(options: ResolvedApiOptions): Promise<OpenedApi> {
    return await outsideCalls(async () => {
      const server = new ApiServer(options, {
        details: (source) => this.#details(source),
        put: (config) => this.#inTurn(() => this.#put(config)),
        clear: () => this.#inTurn(() => this.#clear()),
        metrics: () => this.metrics(),
      });
      const { address } = await server.listen();
      // Both the next try and a program's call may have opened one meanwhile.
      if (this.#api !== undefined || this.#isEnding) {
        server.close();
        return this.#api?.opened ?? { address, token: options.token };
      }
      const opened = { address, token: options.token };
      this.#api = { server, opened };
      return opened;
    });
  }

  /** Else a configuration that comes while all is ended would run without proxies, and the text of one be kept with the applications of another. */
  #inTurn(declare: () => Promise<void>): Promise<void> {
    const declared = this.#declaring.then(declare);
    this.#declaring = declared.catch(() => {});
    return declared;
  }

  /** Takes over a configuration without waiting for its applications. @throws ServeConfigError with the problem */
  async #put(text: string): Promise<void> {
    const config = await readDeclared(text);
    const http = resolveHttpOptions(httpOptionsOf(config));
    const grpc = await resolveGrpcOptions(grpcOptionsOf(config, "/"));
    if (this.#isCleared) await this.#startProxies({ ...this.#options, http, ...(grpc !== undefined && { grpc }) });
    const [capacity] = await Promise.all([takeCapacity(config), saveConfigText(text), saveUnbuilt(text)]);
    this.#declared.put(config.applications, capacity);
  }

  /** Ends all applications and proxies; the controller and the API stay, for the next configuration. */
  async #clear(): Promise<void> {
    this.#declared.clear();
    await Promise.all(this.#state.apps.map((app) => this.#delete(app)));
    await this.#clearProxies();
    await Promise.all([forgetConfigText(), forgetUnbuilt()]);
  }

  /** Without proxies, whoever starts Serve next says where they listen. */
  async #clearProxies(): Promise<void> {
    this.#isCleared = true;
    const ending = this.#proxies;
    this.#proxies = new ProxyStarter({ ...this.#options.http, location: "disabled" }, undefined);
    await ending.shutdown(5_000);
  }

  async #startProxies(options: ServeOptions): Promise<void> {
    this.#isCleared = false;
    this.#options = options;
    this.#proxies = new ProxyStarter(options.http, options.grpc);
    await Promise.all([saveOptions(options), this.#proxies.follow()]);
  }

  async #details(source: string | undefined): Promise<object> {
    const [all, capacity] = await Promise.all([nodes(), loadCapacity()]);
    const applications = [...this.#applications()].filter(
      ([, { config }]) => source === undefined || (source === "declarative") === (config !== undefined),
    );
    return instanceDetails({
      nodeId: getRuntimeContext().nodeId,
      hosts: new Map(all.map(({ nodeId, address, hostname }) => [nodeId, /^([\d.]+|\[.*\]):\d+$/.exec(address)?.[1] ?? hostname])),
      http: this.#options.http,
      grpc: this.#options.grpc,
      proxies: this.#proxies.statuses,
      applications: new Map(applications),
      capacity,
      originMs: Date.now() - performance.now(),
      health: {
        nowMs: performance.now(),
        startMs: this.#startMs,
        stepMs: this.#tickMs,
        steps: this.#ticks,
        sleptMs: this.#sleptMs,
        delayMs: this.#delayMs,
        memoryBytes: process.memoryUsage.rss(),
      },
    });
  }

  /** All applications, those that are still built among them. */
  #applications(): Map<string, DescribedApplication> {
    const found = new Map<string, DescribedApplication>();
    for (const app of new Set([...this.#state.apps, ...this.#declared.names])) {
      const status = this.#declared.statusOf(app, this.#state.status(app));
      if (status === undefined) continue;
      const record = this.#state.record(app);
      const declared = this.#declared.find(app);
      found.set(app, {
        status,
        record,
        config: declared?.fields ?? record?.target.config,
        deployedMs: declared?.deployedMs ?? record?.target.deployedMs ?? Date.now(),
        deployment: (name) => this.#state.deployment(app, name),
      });
    }
    return found;
  }

  *#counted(): Generator<CountedDeployment> {
    for (const app of this.#state.apps)
      for (const { target } of this.#state.record(app)?.deployments ?? []) {
        const found = this.#state.deployment(app, target.name);
        if (found === undefined) continue;
        const healthy = [...found.replicas.values()].map(
          ({ id, phase, healthFailures }) => [id, (phase === "running" || phase === "updating") && healthFailures === 0] as const,
        );
        const { name, status, count, decision } = found;
        const targetOngoing = found.target.config.autoscaling?.targetOngoingRequests;
        yield { app, name, status, count, decision, targetOngoing, healthy };
      }
  }

  *#reported(): Generator<readonly [string, string, string, number]> {
    for (const [source, { delayMs, loads }] of this.#reports)
      for (const [app, deployment] of loads)
        if (this.#state.deployment(app, deployment) !== undefined) yield [source, app, deployment, delayMs];
  }

  #tick(): void {
    const nowMs = performance.now();
    this.#sleptMs = this.#tickEndMs === 0 ? 0 : nowMs - this.#tickEndMs;
    this.#ticks += 1;
    if (this.#tickMs > 0) this.#delayMs = Math.max(0, nowMs - this.#tickMs - CONTROL_EVERY_MS);
    this.#tickMs = nowMs;
    this.#happened({ kind: "tick" });
    this.#tickEndMs = performance.now();
    this.#metrics.looped({ tookMs: this.#tickEndMs - nowMs, sleptMs: this.#sleptMs });
  }

  /** Restores the state of an earlier controller: applications from the store, replicas by their actors' names. */
  async #recover(): Promise<void> {
    const records = await loadApplications();
    for (const record of records) {
      this.#state.restore(record);
      await this.#loadPolicies(record.target, new Map());
    }
    const running = (await actors({ namespace: SERVE_NAMESPACE })).filter(
      ({ name, phase }) => name?.startsWith(REPLICA_PREFIX) === true && phase !== "dead",
    );
    const ids = running.map(({ name }) => (name as string).slice(REPLICA_PREFIX.length));
    const asked = await Promise.allSettled(ids.map((id) => this.#replicas.adopt(id)));
    // Nothing happens between these events: a step that knew a part of the replicas would start others in place of the rest.
    for (const [index, id] of ids.entries()) {
      const answer = asked[index];
      // The replica has ended, or does not answer: the next steps start another one.
      if (answer?.status !== "fulfilled") continue;
      const { code, isStarted, ...description } = answer.value;
      const [app, deployment] = id.split("#") as [string, string];
      if (!(code instanceof Uint8Array)) this.#codes.set(description.version, code);
      if (isStarted) this.#happened({ kind: "found", replica: { ...description, id, app, deployment } });
      else this.#replicas.kill(id);
      this.#replicas.follow(id);
    }
    this.#happened({ kind: "tick" });
    void this.#replicas.removeOrphanedGroups().catch(() => {});
  }

  /** Loads the users' policies, the only user code in this process. */
  async #loadPolicies({ name, deployments }: ApplicationTarget, given: ReadonlyMap<string, Uint8Array>): Promise<void> {
    for (const { name: deployment, config } of deployments) {
      const id = config.autoscaling?.policyId;
      if (id === undefined || this.#policies.has(id)) continue;
      const code = given.get(id) ?? (await loadCode(id));
      if (code === undefined) continue;
      const policy = (await valueOfKept(code)) as Policy;
      this.#policies.set(id, (context, args) => {
        try {
          const wanted = policy(context, args);
          if (Number.isFinite(wanted)) return wanted;
          throw new TypeError(`a number is needed: received ${describeValue(wanted)}`);
        } catch (error) {
          console.error(`The autoscaling policy of deployment ${deployment} of application ${name} failed, so nothing changes:`, error);
          return context.currentReplicas;
        }
      });
    }
  }

  #policyOf(app: string, deployment: string): ((context: AutoscalingContext) => number) | undefined {
    const { policyId = "", policyArgs } = this.#state.deployment(app, deployment)?.target.config.autoscaling ?? {};
    const policy = this.#policies.get(policyId);
    if (policy === undefined) return undefined;
    return (context) => {
      const startMs = performance.now();
      const wanted = policy(context, policyArgs);
      this.#metrics.policyRan(app, deployment, performance.now() - startMs);
      return wanted;
    };
  }

  #happened(event: ServeEvent): void {
    const effects = this.#state.apply(event, performance.now());
    for (const effect of effects) {
      if (effect.kind === "publishRoutes") this.#unpublished.add(ROUTES_KEY);
      else if (effect.kind === "publishReplicas") this.#unpublished.add(deploymentKey(effect.app, effect.deployment));
    }
    // Routers hear of a replica's end before it is to end.
    if (effects.some(({ kind }) => kind === "retire" || kind === "kill")) this.#publish();
    else this.#publishSoon();
    for (const effect of effects) this.#carryOut(effect);
    if (this.#waiters.length > 0) this.#waiters = this.#waiters.filter((isDone) => !isDone());
  }

  /** A thousand replicas that start are a few messages to each router, and not a thousand. */
  #publishSoon(): void {
    if (this.#unpublished.size === 0 || this.#publishing !== undefined) return;
    const sinceMs = performance.now() - this.#publishedMs;
    if (sinceMs >= PUBLISH_EVERY_MS) this.#publish();
    else this.#publishing = setTimeout(() => this.#publish(), PUBLISH_EVERY_MS - sinceMs);
  }

  #publish(): void {
    clearTimeout(this.#publishing);
    this.#publishing = undefined;
    this.#publishedMs = performance.now();
    for (const key of this.#unpublished) this.#subscribers.publish(key);
    this.#unpublished.clear();
  }

  #carryOut(effect: ServeEffect): void {
    switch (effect.kind) {
      case "start":
        void this.#start(effect.start);
        break;
      case "retire":
        void this.#replicas.retire(effect.replica, effect.withinMs);
        break;
      case "kill":
        this.#replicas.kill(effect.replica);
        break;
      case "explain":
        void this.#replicas.explain(effect.replica);
        break;
      case "reconfigure":
        this.#replicas.reconfigure(effect.replica, effect.settings, effect.withinMs);
        break;
      case "checkHealth":
        this.#replicas.checkHealth(effect.replica, effect.withinMs);
        break;
      case "save": {
        const record = this.#state.record(effect.app);
        if (record !== undefined) this.#save(() => saveApplication(record));
        this.#forgetCode();
        break;
      }
      case "died":
        console.error(
          `Replica ${effect.replica} of deployment ${effect.deployment} of application ${effect.app} died: ${effect.reason}. Another is started in its place.`,
        );
        break;
      case "publishRoutes":
      case "publishReplicas":
        break;
      case "forget":
        this.#save(() => forgetApplication(effect.app));
        this.#forgetCode();
        break;
    }
  }

  async #start(start: Extract<ServeEffect, { kind: "start" }>["start"]): Promise<void> {
    const code = this.#codes.get(start.version) ?? (await loadCode(start.version));
    if (code === undefined) {
      this.#happened({ kind: "startFailed", replica: start.id, reason: CODE_LOST });
      this.#happened({ kind: "ended", replica: start.id, reason: CODE_LOST });
      return;
    }
    this.#codes.set(start.version, code);
    const { app, deployment, id } = start;
    // The replica may have been given up while its code was read.
    if (this.#state.deployment(app, deployment)?.replicas.get(id)?.phase === "starting") this.#replicas.start(start, code);
    else this.#happened({ kind: "ended", replica: id, reason: "it was not needed any more" });
  }

  /** In the order of the changes. */
  #save(write: () => Promise<unknown>): void {
    this.#saving = this.#saving.then(write, write);
    this.#saving.catch((error: unknown) => console.error("Cannot write the state of Serve to the cluster's store:", error));
  }

  #forgetCode(): void {
    const needed = new Set(this.#arriving);
    if (this.#options.tracing?.setupId !== undefined) needed.add(this.#options.tracing.setupId);
    const deployments = this.#state.apps.flatMap((app) => {
      const record = this.#state.record(app);
      const ran = record?.former?.deployments.filter((one) => typeof one !== "string") ?? [];
      return [...(record?.deployments ?? []), ...ran.map((target) => ({ target, former: undefined }))];
    });
    for (const { target, former } of deployments)
      for (const { version, config } of former === undefined ? [target] : [target, former])
        for (const id of [version, config.routerId, config.autoscaling?.policyId, config.tracing?.setupId])
          if (id !== undefined) needed.add(id);
    let isLess = false;
    for (const version of this.#codes.keys()) if (!needed.has(version)) isLess = this.#codes.delete(version) || isLess;
    if (isLess) this.#save(() => forgetCodeExcept(needed));
  }

  #valueOf(key: string): UpdateBody["value"] {
    if (key === ROUTES_KEY) {
      const { rootPath } = this.#options.http;
      return this.#state.routes.map((route) => ({ ...route, prefix: underRoot(rootPath, route.prefix) })) satisfies RouteTableValue;
    }
    const [, app, deployment] = key.split("/") as [string, string, string];
    return this.#state.deployment(app, deployment)?.routes() ?? null;
  }

  #until(isDone: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      if (isDone()) {
        resolve();
        return;
      }
      this.#waiters.push(() => {
        if (!isDone()) return false;
        resolve();
        return true;
      });
    });
  }
}

function newReplicaId(): string {
  return Math.random().toString(36).slice(2, 10).padEnd(8, "0");
}

/** A configuration that came by the REST API. Its folders are those of the controller's machine, where nobody knows what a relative path is relative to. */
async function readDeclared(text: string): Promise<ServeConfig> {
  const { readConfig } = await import("../config/read-config.ts");
  const config = readConfig(text, "the configuration");
  const relative = config.grpcServices.find(({ protoFile }) => !protoFile.startsWith("/"));
  if (relative !== undefined) {
    const reason = "a .proto file is named by its whole path, as there is no folder to begin from";
    const received = describeValue(relative.protoFile);
    throw new ServeConfigError(`Cannot read the configuration: grpc_options.grpc_servicer_functions: ${reason}: received ${received}`, {
      reason,
    });
  }
  for (const [index, { importPath, runtimeEnv }] of config.applications.entries()) {
    const folder = String(runtimeEnv["working_dir"] ?? "").replace(/^local:\/\//, "");
    if (folder.startsWith("/") || (folder === "" && importPath.startsWith("/"))) continue;
    const key = folder === "" ? "import_path" : "runtime_env.working_dir";
    const reason =
      "a whole path is needed, as there is no folder to begin from: give runtime_env.working_dir as /FOLDER or local:///FOLDER";
    const received = describeValue(folder === "" ? importPath : runtimeEnv["working_dir"]);
    throw new ServeConfigError(`Cannot read the configuration: applications[${index}].${key}: ${reason}: received ${received}`, { reason });
  }
  return config;
}
