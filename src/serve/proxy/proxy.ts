/**
 * The actor of one proxy: listens for clients, and gets the routes of all applications from the controller.
 *
 * The proxy serves on while the controller is away. The proxies of a node share a port (`reusePort`). When its node is drained, the proxy answers `/-/healthz` with 503 and serves
 * on, until load balancers have left it; then it takes no new connections and finishes the open requests.
 */
import { getRuntimeContext } from "../../core/index.ts";
import { within } from "../../core/internal.ts";
import type { AddressInfo } from "node:net";
import { listenAt } from "../listening.ts";
import { processRouters, routersSynced } from "../routing/process-routers.ts";
import type { DeploymentRouter } from "../routing/deployment-router.ts";
import { type MetricSnapshot, metricSnapshots } from "../../metrics/registry.ts";
import { GrpcMetrics, HttpMetrics, measureEventLoop } from "../metrics/serve-metrics.ts";
import { logAccess } from "./access-log.ts";
import { AllowedHosts } from "./options/allowed-hosts.ts";
import { Exchange, type IncomingRequest, type ReplyPort } from "./exchange.ts";
import type { HttpPorts, RoutedTarget } from "./fronts/client-exchange.ts";
import { createHttpFront, type HttpFront } from "./fronts/http-front.ts";
import { type ClientLimits, clientLimits, type ResolvedHttpOptions } from "./options/http-options.ts";
import { COMPONENT_START_WITHIN_MS, DRAIN_GRACE_PART, DRAIN_WITHIN_PART } from "../limits.ts";
import { ReplicaLinks } from "./replica-links.ts";
import { GrpcFront } from "../grpc/grpc-front.ts";
import type { ResolvedGrpcOptions } from "../grpc/grpc-options.ts";
import type { RouteEntry } from "../routing/controller-messages.ts";
import { RouteTable } from "./route-table.ts";
import { SlowClients } from "./fronts/slow-clients.ts";
import { readTlsContext } from "./options/tls-options.ts";
import { WebSocketFront } from "./fronts/websocket-front.ts";

interface Ingress {
  readonly router: DeploymentRouter;
  readonly links: ReplicaLinks;
}

interface OpenGrpc {
  readonly front: GrpcFront;
  readonly port: number;
}

export class ServeProxy {
  readonly #options: ResolvedHttpOptions;
  readonly #table = new RouteTable();
  readonly #limits: ClientLimits;
  readonly #clients = new SlowClients((app) => this.#hasWaiting(app));
  /** By application and deployment. */
  readonly #ingresses = new Map<string, Ingress>();
  #fronts: (HttpFront & { readonly webSockets: WebSocketFront }) | undefined;
  #grpc: OpenGrpc | undefined;
  #opening: Promise<void> | undefined;
  #openingGrpc: Promise<OpenGrpc> | undefined;
  readonly #unwatch: () => void;
  /** The address where the proxy listens, or has listened. */
  #listening: AddressInfo | undefined;
  #isDraining = false;
  #drained: Promise<void> | undefined;
  readonly #graceOver = Promise.withResolvers<void>();
  #onRoutes: (() => void)[] = [];
  /** Fulfilled with the first routes. */
  readonly #routed = Promise.withResolvers<void>();
  readonly #metrics = new HttpMetrics();
  #openRequests = 0;

  readonly #grpcOptions: ResolvedGrpcOptions | undefined;
  readonly #grpcMetrics = new GrpcMetrics();

  constructor(options: ResolvedHttpOptions, grpc?: ResolvedGrpcOptions) {
    this.#options = options;
    this.#limits = clientLimits(options);
    this.#grpcOptions = grpc;
    measureEventLoop("proxy", getRuntimeContext().actorId ?? "");
    const routers = processRouters();
    if (options.preferLocalNode) routers.preferredNodeId = getRuntimeContext().nodeId;
    this.#unwatch = routers.watchRoutes((routes) => {
      this.#table.update(routes);
      for (const { app, ingress } of routes) this.#ingress(app, ingress);
      for (const resolve of this.#onRoutes.splice(0)) resolve();
      this.#routed.resolve();
    });
  }

  /** Listens, once the routes are known. @returns the address, with the port that was free where it was to be any. @throws where the port is taken, or the controller cannot be reached */
  async start(port: number): Promise<{ host: string; port: number; pid: number }> {
    // Clients that came before would be told that there is no such application.
    await this.#haveRoutes();
    // The next controller may ask before the answer to the last one.
    this.#opening ??= this.#open(port).finally(() => (this.#opening = undefined));
    await this.#opening;
    // The next controller asks a proxy that may have stopped listening.
    const listening = this.#listening as AddressInfo;
    return { host: listening.address, port: listening.port, pid: process.pid };
  }

  async #haveRoutes(): Promise<void> {
    const isRouted = await within(
      this.#routed.promise.then(() => true),
      { timeoutMs: COMPONENT_START_WITHIN_MS, signal: undefined },
    );
    if (isRouted) return;
    const { unreachable = "it does not answer" } = processRouters();
    throw new Error(
      `Cannot start a proxy of Serve: it has not got the routes from the controller within ${COMPONENT_START_WITHIN_MS / 1000} s: ${unreachable}`,
    );
  }

  async #open(port: number): Promise<void> {
    if (this.#fronts !== undefined) return;
    const { host, proxies, tls, allowedHosts } = this.#options;
    const ports: HttpPorts = {
      hosts: new AllowedHosts(host, allowedHosts),
      clients: this.#clients,
      limits: this.#limits,
      route: (target) => this.#route(target),
      routes: () => Object.fromEntries(this.#table.entries.map(({ prefix, app }) => [prefix, app])),
      isDraining: () => this.#isDraining,
      served: (entry) => {
        this.#openRequests -= 1;
        this.#metrics.served(entry);
        if (this.#options.accessLog) logAccess(entry);
      },
    };
    const front = createHttpFront(this.#options, ports, tls === undefined ? undefined : await readTlsContext(tls, "httpOptions"));
    const { server } = front;
    const webSockets = new WebSocketFront(server, this.#options, ports);
    const count = (): void => {
      this.#openRequests += 1;
    };
    server.on("request", count).on("upgrade", count);
    if (front.http2 !== undefined) front.http2.onRequest = count;
    await listenAt(server, { host, port, reusePort: proxies > 1, backlog: 1024 });
    this.#fronts = { ...front, webSockets };
    this.#listening = server.address() as AddressInfo;
  }

  /** Listens for gRPC as well. @returns the address @throws where the port is taken, or a package is missing */
  async startGrpc(port: number): Promise<{ host: string; port: number } | undefined> {
    const options = this.#grpcOptions;
    if (options === undefined) return undefined;
    // As in `start`.
    const opening = (): Promise<OpenGrpc> =>
      (this.#openingGrpc ??= this.#openGrpc(options, port).finally(() => (this.#openingGrpc = undefined)));
    const { port: bound } = this.#grpc ?? (await opening());
    return { host: options.host, port: bound };
  }

  async #openGrpc(options: ResolvedGrpcOptions, port: number): Promise<OpenGrpc> {
    const front = await GrpcFront.create(options, {
      applications: () => this.#table.entries.map(({ app }) => app),
      isDraining: () => this.#isDraining,
      clients: this.#clients,
      limits: this.#limits,
      begin: (app, request, reply) => {
        const { ingress } = this.#table.entries.find((entry) => entry.app === app) as RouteEntry;
        this.#openRequests += 1;
        return new Exchange(request, reply, this.#ingress(app, ingress));
      },
      served: ({ isBegun, ...entry }) => {
        if (isBegun) this.#openRequests -= 1;
        this.#grpcMetrics.served(entry);
        const { app, method, code, durationMs, requestId } = entry;
        if (this.#options.accessLog) logAccess({ method: "gRPC", target: method, app, route: method, status: code, durationMs, requestId });
      },
    });
    this.#grpc = { front, port: await front.listen(port, { isShared: this.#options.proxies > 1 }) };
    return this.#grpc;
  }

  /** Resolves once the proxy routes to an application, and to the replicas that it has now. */
  async routesTo(app: string): Promise<void> {
    await routersSynced();
    while (!this.#table.entries.some((entry) => entry.app === app)) await new Promise<void>((resolve) => this.#onRoutes.push(resolve));
  }

  checkHealth(): { openRequests: number; isDraining: boolean } {
    return { openRequests: this.#openRequests, isDraining: this.#isDraining };
  }

  /** The metrics of this process. */
  metrics(): MetricSnapshot[] {
    return metricSnapshots();
  }

  /**
   * Resolves when the proxy takes no new connections and every request has been answered. WebSockets are closed: their clients go elsewhere.
   *
   * @param graceMs serves on for so long first, as a proxy that is ending; the shortest counts where it is asked again
   * @param withinMs requests that are open then have so long; those that are left are ended
   */
  drain(graceMs: number, withinMs: number): Promise<void> {
    const { deadlineMs = Number.POSITIVE_INFINITY } = getRuntimeContext().preemption ?? {};
    const leftMs = Math.max(0, deadlineMs - Date.now());
    setTimeout(this.#graceOver.resolve, Math.min(graceMs, DRAIN_GRACE_PART * leftMs));
    setTimeout(() => this.#endOpen(), Math.min(2 ** 31 - 1, graceMs + withinMs, DRAIN_WITHIN_PART * leftMs));
    this.#isDraining = true;
    this.#drained ??= this.#drain();
    return this.#drained;
  }

  async #drain(): Promise<void> {
    const ended = this.#grpc?.front.drain(this.#graceOver.promise);
    // Clients of connections that are open already connect again, to another proxy once a balancer knows.
    this.#fronts?.http2?.close();
    await this.#graceOver.promise;
    // The process may go on, with other proxies.
    this.#unwatch();
    if (this.#fronts === undefined) return ended;
    const { server, http2, webSockets } = this.#fronts;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeIdleConnections();
    http2?.close();
    webSockets.close();
    await Promise.all([closed, ended]);
  }

  /** The time is over: clients are told where their protocol allows it. */
  #endOpen(): void {
    this.#grpc?.front.endCalls();
    this.#fronts?.server.closeAllConnections();
  }

  /** Answers when its node is to be drained; its failure is the end of the proxy. */
  async preempted(): Promise<void> {
    const { preemptionSignal } = getRuntimeContext();
    if (!preemptionSignal.aborted) await new Promise((resolve) => preemptionSignal.addEventListener("abort", resolve, { once: true }));
  }

  #route(target: string): RoutedTarget | undefined {
    const match = this.#table.match(target);
    if (match === undefined) return undefined;
    const { entry, rest } = match;
    const route = this.#ingress(entry.app, entry.ingress);
    const { app, prefix, keepsPrefix } = entry;
    const begin = (request: IncomingRequest, reply: ReplyPort): Exchange => new Exchange(request, reply, route);
    return { prefix, isStripped: prefix !== "/" && !keepsPrefix, rest: keepsPrefix ? target : rest, app, begin };
  }

  /** Whether requests of this proxy wait for a place of an application. */
  #hasWaiting(app: string): boolean {
    const entry = this.#table.entries.find((one) => one.app === app);
    return entry !== undefined && this.#ingress(app, entry.ingress).router.queued > 0;
  }

  #ingress(app: string, deployment: string): Ingress {
    const key = `${app}/${deployment}`;
    let ingress = this.#ingresses.get(key);
    if (ingress === undefined) {
      const links = new ReplicaLinks(() => this.#ingresses.delete(key));
      ingress = { links, router: processRouters().watch(app, deployment, links) };
      this.#ingresses.set(key, ingress);
    }
    return ingress;
  }
}
