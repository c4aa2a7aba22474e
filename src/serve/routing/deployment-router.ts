/**
 * Assigns a replica to each request of one deployment, in one process: the replica set, and the queue of requests that wait for room.
 *
 * Used by handles and by proxies. A request that finds room is placed at once, without a promise. The others wait in their order, up to `maxQueuedRequests`; with no replica at
 * all they wait, too, and the controller is told, so that a deployment that is scaled to zero wakes up. The controller sends the list of replicas
 * (`controller-link.ts`); the router tells it when a replica that is to end has no more requests of this process.
 */
import { Fifo } from "../../core/internal.ts";
import { BackPressureError, DeploymentUnavailableError } from "../errors.ts";
import { BUSY_RETRY_MAX_MS, BUSY_RETRY_MIN_MS, CALL_ATTEMPTS_MAX, LONG_WAIT_AGAIN_MS, LONG_WAIT_MS, LOST_FOR_MS } from "../limits.ts";
import { LATENCY_BOUNDARIES, Series } from "../../metrics/registry.ts";
import { loadRequestRouter } from "./load-request-router.ts";
import type { RequestToRoute } from "./request-router.ts";
import { type ReplicaInfo, ReplicaSet, type RoutedReplica } from "./replica-set.ts";

/** The routes of a deployment, as the controller sends them to routers. */
export interface DeploymentRoutes {
  readonly replicas: readonly ReplicaInfo[];
  readonly maxOngoingRequests: number;
  /** -1 is without limit; undefined: as the caller has it. */
  readonly maxQueuedRequests: number | undefined;
  readonly backpressure: { readonly statusCode: number; readonly retryAfterMs: number | undefined };
  /** Methods of the class, and methods of HTTP, that may run twice. */
  readonly idempotentMethods: readonly string[];
  /** Where the code of a router of the user's is kept. */
  readonly routerId: string | undefined;
  /** JSON. */
  readonly requestRouterArgs: string | undefined;
}

interface Waiting {
  readonly request: RequestToRoute;
  isGone: boolean;
  readonly sinceMs: number;
  resolve(replica: RoutedReplica): void;
  reject(error: Error): void;
}

interface RouterPorts {
  /** Replicas there go first; undefined: all are the same. */
  readonly preferredNodeId?: string | undefined;
  /** Called for a new replica, so that callers may connect. */
  added(replica: RoutedReplica): void;
  /** The replica ends by plan or is gone, while requests of this process are under way there. */
  retired(replica: RoutedReplica): void;
  /** Nothing of this process runs there any more, and nothing will. */
  released(replica: RoutedReplica): void;
  /** A request begins to wait, and there is no replica. */
  needed(): void;
  /** Requests have waited for a long time. */
  warn(text: string): void;
  /** The deployment does not exist, and nothing of this process waits or runs there any more. */
  over(): void;
}

export class DeploymentRouter {
  readonly app: string;
  readonly deployment: string;
  /** Milliseconds that requests waited for a replica which were not placed at once. */
  readonly waits = new Series([], LATENCY_BOUNDARIES);
  readonly #ports: RouterPorts;
  readonly #set = new ReplicaSet(1);
  readonly #waiting = new Fifo<Waiting>();
  readonly #retiring = new Set<RoutedReplica>();
  #routes: DeploymentRoutes | undefined;
  /** The router that is in use, by its code and its arguments; empty: power of two choices. */
  #routerKey = "";
  /** The controller's last word; its router may be on its way. */
  #latest: DeploymentRoutes | null | undefined;
  /** Settles when the last router that was to be loaded is here. */
  #loading: Promise<void> = Promise.resolve();
  #isDeleted = false;
  #waitingCount = 0;
  #ongoing = 0;
  #requests = 0;
  #handleCalls = 0;
  #notPlacedAtOnce = 0;
  #retry: NodeJS.Timeout | undefined;
  /** Looks at the first request that waits, while one does. */
  #watch: NodeJS.Timeout | undefined;
  #warnedMs = Number.NEGATIVE_INFINITY;
  #retryMs = BUSY_RETRY_MIN_MS;

  constructor(app: string, deployment: string, ports: RouterPorts) {
    this.app = app;
    this.deployment = deployment;
    this.#ports = ports;
    this.#set.preferredNodeId = ports.preferredNodeId;
  }

  get queued(): number {
    return this.#waitingCount;
  }

  get ongoing(): number {
    return this.#ongoing;
  }

  /** Requests that were to be placed, and of these the calls of handles, since the process has begun. */
  get counts(): { requests: number; handleCalls: number; placedAtOnce: number } {
    return { requests: this.#requests, handleCalls: this.#handleCalls, placedAtOnce: this.#requests - this.#notPlacedAtOnce };
  }

  /** Requests of this process at each replica. */
  get loads(): (readonly [replica: string, ongoing: number])[] {
    return [...this.#set.all].map(({ id, ongoing }) => [id, ongoing] as const);
  }

  /** A handle of this process is called. */
  called(): void {
    this.#handleCalls += 1;
  }

  /** Whether a request would be placed at once. */
  get hasRoom(): boolean {
    return this.#waitingCount === 0 && this.#set.hasRoom;
  }

  get routes(): DeploymentRoutes | undefined {
    return this.#routes;
  }

  /** Replicas that one request may meet which are gone before it has begun: a node takes many along, and the controller may be away. */
  get attemptsMax(): number {
    return Math.max(CALL_ATTEMPTS_MAX, (this.#routes?.replicas.length ?? 0) + 1);
  }

  /** Replicas on which something of this process may run. */
  get held(): string[] {
    return [...this.#set.all, ...this.#retiring].map((replica) => replica.id);
  }

  /** The controller's word; `null`: there is no such deployment. */
  update(routes: DeploymentRoutes | null): void {
    this.#latest = routes;
    // Until the router is here nothing changes.
    if (routes !== null && routerKey(routes) !== this.#routerKey) this.#loading = this.#loadRouter(routes);
    else this.#apply(routes);
  }

  /** Resolves when the controller's last word holds: its router may be on its way. */
  get settled(): Promise<void> {
    return this.#loading;
  }

  #apply(routes: DeploymentRoutes | null): void {
    this.#isDeleted = routes === null;
    const isFirst = this.#routes === undefined;
    this.#routes = routes ?? undefined;
    const { added, retired } = this.#set.update(routes?.replicas ?? [], routes?.maxOngoingRequests ?? 1);
    for (const replica of retired) {
      if (replica.ongoing === 0) this.#ports.released(replica);
      else {
        this.#retiring.add(replica);
        this.#ports.retired(replica);
      }
    }
    for (const replica of added) this.#ports.added(replica);
    if (routes === null) this.#refuseAll(() => unavailable(this.app, this.deployment));
    else this.#pump();
    this.#tellIfOver();
    // Requests that came before the limit was known.
    const max = routes?.maxQueuedRequests ?? -1;
    if (isFirst && max >= 0) this.#refuseAll(() => full(this.deployment, max), { after: max });
  }

  /**
   * A replica with room, which counts as taken; whoever took it calls `ended`, `refused` or `lost` once.
   *
   * @param queuedMax requests that may wait where the deployment does not say how many; -1 is without limit
   * @throws BackPressureError, DeploymentUnavailableError at once or by the promise
   */
  assign(request: RequestToRoute, signal?: AbortSignal, queuedMax = -1): RoutedReplica | Promise<RoutedReplica> {
    this.#requests += 1;
    const replica = this.#waitingCount === 0 ? this.#set.choose(request) : undefined;
    if (replica !== undefined) {
      this.#begin(replica);
      return replica;
    }
    return this.#wait(request, signal, queuedMax);
  }

  /** A request is over. @param reported requests under way on the replica, by its own count */
  ended(replica: RoutedReplica, reported?: number): void {
    this.#ongoing -= 1;
    this.#set.end(replica, reported);
    this.#retryMs = BUSY_RETRY_MIN_MS;
    this.#letGo(replica);
    if (this.#waitingCount > 0) this.#pump();
  }

  /** The replica was full and has not begun. */
  refused(replica: RoutedReplica, ongoing: number): void {
    this.#ongoing -= 1;
    this.#set.refused(replica, ongoing);
    this.#letGo(replica);
    this.#retryLater();
  }

  /** Notes an unreachable replica. It gets no requests until the controller reports its state. */
  lost(replica: RoutedReplica): void {
    this.#ongoing -= 1;
    this.#set.end(replica);
    if (!replica.isRetired) {
      this.#set.remove(replica);
      this.#retiring.add(replica);
    }
    this.#letGo(replica);
    if (this.#waitingCount > 0) this.#pump();
    // Perhaps only the connection broke.
    setTimeout(() => {
      if (this.#routes !== undefined) this.#apply(this.#routes);
    }, LOST_FOR_MS).unref();
  }

  /** All replicas that there are, once there is one, also those without room. They count as taken, as by `assign`. */
  async everyReplica(signal?: AbortSignal): Promise<RoutedReplica[]> {
    if (this.#set.size === 0) this.ended(await this.assign({ modelId: "", sessionId: "", method: "" }, signal));
    const replicas = [...this.#set.all];
    for (const replica of replicas) this.#begin(replica);
    return replicas;
  }

  /** A model was loaded there: requests for it prefer the replica. */
  loaded(replica: RoutedReplica, modelId: string): void {
    if (!replica.isRetired) this.#set.loaded(replica, modelId);
  }

  close(): void {
    clearTimeout(this.#retry);
    clearTimeout(this.#watch);
    this.#refuseAll(() => unavailable(this.app, this.deployment));
  }

  async #loadRouter(routes: DeploymentRoutes): Promise<void> {
    const { routerId, requestRouterArgs } = routes;
    const router = routerId === undefined ? undefined : await loadRequestRouter(routerId, requestRouterArgs);
    // Newer routes may have arrived meanwhile.
    if (this.#latest !== routes) return;
    this.#routerKey = routerKey(routes);
    this.#set.router = router;
    this.#apply(routes);
  }

  #begin(replica: RoutedReplica): void {
    this.#ongoing += 1;
    this.#set.begin(replica);
  }

  #letGo(replica: RoutedReplica): void {
    if (replica.ongoing > 0 || !this.#retiring.delete(replica)) return;
    this.#ports.released(replica);
    this.#tellIfOver();
  }

  #tellIfOver(): void {
    if (this.#isDeleted && this.#ongoing === 0) this.#ports.over();
  }

  async #wait(request: RequestToRoute, signal: AbortSignal | undefined, queuedMax: number): Promise<RoutedReplica> {
    this.#notPlacedAtOnce += 1;
    if (this.#isDeleted) throw unavailable(this.app, this.deployment);
    const max = this.#routes === undefined ? -1 : (this.#routes.maxQueuedRequests ?? queuedMax);
    if (max >= 0 && this.#waitingCount >= max) throw full(this.deployment, max);
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<RoutedReplica>();
    const waiting: Waiting = { request, isGone: false, sinceMs: performance.now(), resolve, reject };
    this.#waiting.push(waiting);
    this.#waitingCount += 1;
    this.#watch ??= setTimeout(() => this.#lookAtWaits(), LONG_WAIT_MS).unref();
    if (this.#set.size === 0) this.#ports.needed();
    else if (!this.#set.hasRoom) this.#retryLater();
    const leave = (): void => {
      if (waiting.isGone) return;
      waiting.isGone = true;
      this.#waitingCount -= 1;
      reject(signal?.reason as Error);
    };
    signal?.addEventListener("abort", leave, { once: true });
    try {
      return await promise;
    } finally {
      signal?.removeEventListener("abort", leave);
    }
  }

  #pump(): void {
    while (this.#waiting.size > 0) {
      const first = this.#waiting.peek() as Waiting;
      if (first.isGone) {
        this.#waiting.shift();
        continue;
      }
      const replica = this.#set.choose(first.request);
      if (replica === undefined) return;
      this.#waiting.shift();
      first.isGone = true;
      this.#waitingCount -= 1;
      this.#begin(replica);
      this.waits.observe(performance.now() - first.sinceMs);
      first.resolve(replica);
    }
  }

  #lookAtWaits(): void {
    this.#watch = undefined;
    let first = this.#waiting.peek();
    for (; first?.isGone === true; first = this.#waiting.peek()) this.#waiting.shift();
    if (first === undefined) return;
    const nowMs = performance.now();
    const waitedMs = nowMs - first.sinceMs;
    this.#watch = setTimeout(() => this.#lookAtWaits(), Math.max(LONG_WAIT_MS - waitedMs, 1000)).unref();
    if (waitedMs < LONG_WAIT_MS || nowMs - this.#warnedMs < LONG_WAIT_AGAIN_MS) return;
    this.#warnedMs = nowMs;
    this.#ports.warn(
      `${this.#waitingCount} requests wait for deployment ${this.deployment} of application ${this.app}, the first for ${Math.round(waitedMs / 1000)} s: ${waitCause(this.#set.size, this.#routes?.maxOngoingRequests ?? 0)}`,
    );
  }

  /** Asks full replicas again after a pause, because this process or others have taken all known room. */
  #retryLater(): void {
    if (this.#retry !== undefined || this.#waitingCount === 0) return;
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      this.#set.forgetBusy();
      this.#pump();
      this.#retryLater();
    }, this.#retryMs);
    this.#retryMs = Math.min(BUSY_RETRY_MAX_MS, this.#retryMs * 2);
  }

  /** Refuses waiting requests. @param options `after`: the first so many requests stay */
  #refuseAll(error: () => Error, { after = 0 }: { after?: number } = {}): void {
    const stay: Waiting[] = [];
    for (let waiting = this.#waiting.shift(); waiting !== undefined; waiting = this.#waiting.shift()) {
      if (waiting.isGone) continue;
      if (stay.length < after) {
        stay.push(waiting);
        continue;
      }
      waiting.isGone = true;
      this.#waitingCount -= 1;
      waiting.reject(error());
    }
    for (const waiting of stay) this.#waiting.push(waiting);
  }
}

/** Why requests wait, with the remedy: for the log and for the status. */
export function waitCause(replicas: number, maxOngoingRequests: number): string {
  if (replicas === 0) return "no replica runs";
  const busy = replicas === 1 ? "its replica has" : `its ${replicas} replicas have`;
  return `${busy} maxOngoingRequests (${maxOngoingRequests}) under way. Raise that limit, as open streams and sockets hold a place each, or add replicas`;
}

function routerKey({ routerId, requestRouterArgs = "" }: DeploymentRoutes): string {
  return routerId === undefined ? "" : `${routerId} ${requestRouterArgs}`;
}

function unavailable(app: string, deployment: string): DeploymentUnavailableError {
  const reason = "it does not exist, or was deleted";
  return new DeploymentUnavailableError(`Cannot call deployment ${deployment} of application ${app}: ${reason}`, {
    reason,
    hint: "Deploy the application with serve.run().",
    details: { app, deployment },
  });
}

function full(deployment: string, max: number): BackPressureError {
  return new BackPressureError(`Cannot call deployment ${deployment}: ${max} requests of this process wait for it already`, {
    reason: `maxQueuedRequests is ${max}`,
    hint: "Try again later, add replicas, or raise maxQueuedRequests.",
    details: { deployment, maxQueuedRequests: max },
  });
}
