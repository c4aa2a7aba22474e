/**
 * The actor of one replica: the user's object, the limit on its requests, and the orders of the controller.
 *
 * Requests come by the wire (from proxies) and as calls (from handles); both count against `maxOngoingRequests`, and what is above is refused before it begins, so that it
 * goes elsewhere. Orders of the controller never wait behind requests. The process is the replica's alone.
 */
import { REQUEST_SERVICE } from "../names.ts";
import { getRuntimeContext, type ObjectRef } from "../../core/index.ts";
import { type LibraryCall, libraryCalls, offerConnections, setCallData, valueOfKept } from "../../core/internal.ts";
import { adoptHandle } from "../handle/deployment-handle.ts";
import type { HandleOptions } from "../handle/handle-types.ts";
import { changedFiles, changeWarning, unpackCode } from "../build/code-files.ts";
import { withHandles } from "../build/handle-marks.ts";
import { GrpcRequests } from "../grpc/grpc-requests.ts";
import { FRAME } from "../wire/frames.ts";
import { type MetricSnapshot, metricSnapshots } from "../../metrics/registry.ts";
import { Slowest } from "../metrics/slowest.ts";
import { measureEventLoop, type ReplicaMetrics, replicaMetrics } from "../metrics/serve-metrics.ts";
import { RequestServer, type ServedStream } from "../wire/request-server.ts";
import { HttpRequests, errorBody, type RequestFailures } from "./http/http-requests.ts";
import { useLazyRequest } from "./http/lazy-request.ts";
import { useLazyResponse } from "./http/lazy-response.ts";
import { tellController } from "./multiplexed.ts";
import { type ReplicaContext, setReplicaContext } from "./context/replica-context.ts";
import { type CallMeta, ReplicaBusyError } from "./replica-calls.ts";
import { contextData, endRequest, type RequestContext } from "./context/request-context.ts";
import { Utilization } from "../metrics/utilization.ts";
import { beginSpan, loadTracing, type ServedSpan, setUpTracing, type TracingConfig } from "../tracing.ts";
import type { PythonMeta } from "./python/python-actor.ts";
import { type FeedItem, PythonFeeds } from "./python/python-feeds.ts";
import { PythonHandles, PythonObject } from "./python/python-object.ts";
import { accessLine, lineOf, type LoggingConfig, useReplicaLog } from "./context/replica-log.ts";
import { useStreamSources } from "./http/stream-source.ts";
import { type ReplicaSettings, TakenSettings } from "./taken-settings.ts";
import { type DeploymentCode, type UserCode, UserObject } from "./user-object.ts";
import { WebSocketRequests } from "./http/websocket-requests.ts";

/** The placement group of a replica, which members of a gang share. */
export interface ReplicaGroup {
  /** By which the controller knows it: the gang, or the replica alone. */
  readonly key: string;
  /** By which the cluster knows it, in whichever namespace it was made. */
  readonly id: string;
}

/** Start options of a replica, besides its code. */
interface ReplicaSpec {
  readonly context: ReplicaContext;
  readonly version: string;
  readonly maxOngoingRequests: number;
  readonly userConfig: string | undefined;
  readonly group: ReplicaGroup | undefined;
  readonly showsErrors: boolean;
  /** Undefined: the console is left as it is. */
  readonly logging: LoggingConfig | undefined;
  readonly tracing: TracingConfig | undefined;
  /** Other replicas share this process: globals are left as they are. */
  readonly isInProcess: boolean;
}

/** The facts of a replica that the next controller needs. */
export interface ReplicaDescription {
  readonly version: string;
  readonly userConfig: string | undefined;
  /** The replica has not taken that configuration yet, or failed to. */
  readonly isMisconfigured: boolean;
  /** The user's code is busy with that configuration. */
  readonly isReconfiguring: boolean;
  readonly maxOngoing: number;
  readonly rank: number;
  readonly worldSize: number;
  /** False where the user's code may not have taken that rank: a call that tells it is under way, or has failed. */
  readonly isRankTold: boolean;
  readonly gang: string | undefined;
  readonly group: ReplicaGroup | undefined;
  readonly isStarted: boolean;
  readonly isDraining: boolean;
  readonly nodeId: string;
  readonly pid: number;
  readonly code: CodeSource;
}

/** Why a replica of code that captured references does not start, with the remedy. */
export const CODE_LOST =
  "its code captured references, actors or remote functions, which ended with the program that deployed it or with its last replica: deploy it again. Code that is to outlive its program finds actors by their names, with getActor(), and imports functions from modules";

/** A deployment's code: what `packCode` gave, or a reference to it where something in it is counted. */
export type CodeSource = Uint8Array | { readonly ref: ObjectRef<DeploymentCode> };

export class Replica {
  readonly #spec: ReplicaSpec;
  readonly #fetchName: string;
  readonly #newCall: (name: string, data: unknown) => LibraryCall;
  #code: CodeSource;
  #user: UserCode | undefined;
  readonly #pythonHandles = new PythonHandles();
  readonly #pythonFeeds = new PythonFeeds();
  readonly #failed = Promise.withResolvers<never>();
  #http: HttpRequests | undefined;
  #webSockets: WebSocketRequests | undefined;
  #grpc: GrpcRequests | undefined;
  #maxOngoing: number;
  #ongoing = 0;
  /** Calls that wait for their turn, the first come first: each begins when it is called. */
  readonly #inTurn = new Set<() => void>();
  readonly #settings: TakenSettings;
  readonly #metrics: ReplicaMetrics;
  readonly #utilization = new Utilization(performance.now());
  readonly #slowest = new Slowest();
  /** Undefined until the replica is told to end. */
  #drained: Promise<void> | undefined;
  #onIdle: (() => void) | undefined;

  constructor(spec: ReplicaSpec, code: CodeSource) {
    this.#spec = spec;
    this.#code = code;
    this.#maxOngoing = spec.maxOngoingRequests;
    this.#settings = new TakenSettings(spec.userConfig, spec.context);
    this.#newCall = libraryCalls();
    const { appName, deployment, replicaId } = spec.context;
    this.#fetchName = `${deployment}.fetch`;
    this.#metrics = replicaMetrics([appName, deployment, replicaId]);
    measureEventLoop("replica", replicaId);
    // The start may fail before any caller asks.
    this.#failed.promise.catch(() => {});
    setReplicaContext(spec.context, spec);
    if (!spec.isInProcess) {
      useLazyRequest();
      useLazyResponse();
      useStreamSources();
    }
    offerConnections(REQUEST_SERVICE, (connection) => {
      const server: RequestServer = new RequestServer(connection, (stream) => this.#admit(stream, server));
    });
  }

  /**
   * Makes the user's object, configures it and checks its health.
   *
   * @param grpcMethods names of methods of the services that the proxies offer
   * @returns the place, the time of the user's code, and the members that the object lacks, without which a proxy's clients get 501
   * @throws the error of the user's code
   */
  async start(grpcMethods: readonly string[]): Promise<{ nodeId: string; pid: number; codeTookMs: number; lacks: readonly string[] }> {
    const { context, userConfig, logging, tracing } = this.#spec;
    if (logging !== undefined && !this.#spec.isInProcess) useReplicaLog(logging, context);
    if (tracing !== undefined)
      await setUpTracing(tracing, { application: context.appName, deployment: context.deployment, replicaId: context.replicaId });
    const loadedMs = Date.now();
    const code = await this.#readCode();
    const startMs = performance.now();
    const user = await this.#userCode(code);
    if (userConfig !== undefined) await user.reconfigure(JSON.parse(userConfig));
    await user.checkHealth();
    const codeTookMs = performance.now() - startMs;
    await loadTracing();
    this.#user = user;
    const { fetch, websocket } = user;
    const failures: RequestFailures = {
      ongoing: () => this.#ongoing,
      showsErrors: this.#spec.showsErrors,
      onError: (error, stream) => this.#logError(error, stream),
    };
    if (fetch !== undefined) this.#http = new HttpRequests({ ...failures, fetch });
    this.#grpc = new GrpcRequests({ ...failures, user });
    if (websocket !== undefined) this.#webSockets = new WebSocketRequests({ ...failures, websocket });
    const isGrpcServer = grpcMethods.some((name) => user.grpcMethod([name], { streamsIn: false, streamsOut: false }) !== undefined);
    const answersClients = fetch !== undefined || websocket !== undefined || isGrpcServer;
    const lacks = answersClients ? [] : Object.values(user.clientMethods);
    void this.#tellChangedFiles(loadedMs);
    return { nodeId: getRuntimeContext().nodeId, pid: process.pid, codeTookMs, lacks };
  }

  /** A call of a handle. @throws ReplicaBusyError where it has not begun */
  call(meta: CallMeta, ...args: unknown[]): Promise<unknown> {
    return this.#run(meta, args, this.#begin());
  }

  /** A call that is meant for this very replica: where it is full, the next place is this call's. @throws ReplicaBusyError where the replica is to end */
  async callInTurn(meta: CallMeta, ...args: unknown[]): Promise<unknown> {
    return this.#run(meta, args, await this.#turn());
  }

  async #run(meta: CallMeta, args: readonly unknown[], startMs: number): Promise<unknown> {
    const span = this.#spanOf(meta);
    const context = this.#contextOf(meta);
    let isFailed = true;
    try {
      setCallData(contextData(context));
      const method = this.#method(meta[0]);
      const value = await (span === undefined ? method(...args) : span.run(() => method(...args)));
      isFailed = false;
      return value;
    } finally {
      span?.end(isFailed);
      this.#end(startMs, isFailed);
      endRequest(context);
      this.#logAccess(meta[0] || "call", meta[1], { startMs, isFailed });
    }
  }

  /** A call of a handle whose answer is a stream. */
  async *stream(meta: CallMeta, ...args: unknown[]): AsyncGenerator<unknown, void, undefined> {
    const startMs = this.#begin();
    const span = this.#spanOf(meta);
    const context = this.#contextOf(meta);
    let isFailed = false;
    try {
      setCallData(contextData(context));
      const stream = (): unknown => this.#user?.stream(meta[0])(...args);
      const items = await (span === undefined ? stream() : span.run(stream));
      if (typeof items !== "object" || items === null || !(Symbol.asyncIterator in items || Symbol.iterator in items))
        throw new TypeError(
          `Cannot stream ${this.#spec.context.deployment}.${meta[0]}: an async iterable is needed, such as a generator gives`,
        );
      // The body of a generator runs in its steps.
      yield* span === undefined ? (items as AsyncIterable<unknown>) : stepsIn(span, items as AsyncIterable<unknown>);
    } catch (error) {
      isFailed = true;
      throw error;
    } finally {
      span?.end(isFailed);
      this.#end(startMs, isFailed);
      endRequest(context);
      this.#logAccess(meta[0] || "call", meta[1], { startMs, isFailed });
    }
  }

  /** Checks the replica's health. @throws the error of the user's `checkHealth` */
  async checkHealth(): Promise<void> {
    await this.#user?.checkHealth();
  }

  /**
   * Changes settings that need no new replica.
   *
   * @throws the error of the user's `reconfigure`
   */
  reconfigure(settings: ReplicaSettings): Promise<void> {
    this.#maxOngoing = settings.maxOngoingRequests;
    this.#giveTurns();
    return this.#settings.take(settings, this.#user);
  }

  /** Describes the replica for a new controller that adopts it. */
  describe(): ReplicaDescription {
    const { version, group, context } = this.#spec;
    const { userConfig, isMisconfigured, isReconfiguring, isRankTold } = this.#settings;
    return {
      version,
      userConfig,
      isMisconfigured,
      isReconfiguring,
      maxOngoing: this.#maxOngoing,
      rank: context.rank,
      worldSize: context.worldSize,
      isRankTold,
      gang: context.gangContext?.gangId,
      group,
      isStarted: this.#user !== undefined,
      isDraining: this.#drained !== undefined,
      nodeId: getRuntimeContext().nodeId,
      pid: process.pid,
      code: this.#code,
    };
  }

  /**
   * Refuses new calls, and resolves when all running ones have ended. No process sends calls any more. The next controller may call this again; the user's object
   * is disposed of once.
   */
  drain(): Promise<void> {
    this.#drained ??= this.#drain();
    return this.#drained;
  }

  async #drain(): Promise<void> {
    if (this.#ongoing > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
    await this.#user?.dispose();
  }

  /** Returns the metrics of this replica, its process and its Python process. */
  async metrics(): Promise<MetricSnapshot[]> {
    const nowMs = performance.now();
    this.#metrics.utilization.set(this.#utilization.percent(this.#maxOngoing, nowMs));
    this.#metrics.slowest.set(this.#slowest.valueAt(nowMs));
    return [...metricSnapshots(), ...((await this.#user?.metrics()) ?? [])];
  }

  /** Answers when its node is to be drained. */
  async preempted(): Promise<void> {
    const { preemptionSignal } = getRuntimeContext();
    if (!preemptionSignal.aborted) await new Promise((resolve) => preemptionSignal.addEventListener("abort", resolve, { once: true }));
  }

  /** Never answers: the end of this call is the end of the replica. */
  alive(): Promise<never> {
    return this.#failed.promise;
  }

  /** A call of the deployment's code in Python to a deployment that it was bound to. */
  async callHandle(number: number, method: string, options: HandleOptions, meta: PythonMeta, ...args: unknown[]): Promise<unknown> {
    setCallData(contextData(this.#contextOf([method, ...meta])));
    return this.#pythonHandles.call(number, method, { ...options, stream: false }, args);
  }

  /** The same where the answer is a stream. */
  async *streamHandle(
    number: number,
    method: string,
    options: HandleOptions,
    meta: PythonMeta,
    ...args: unknown[]
  ): AsyncGenerator<unknown, void, undefined> {
    setCallData(contextData(this.#contextOf([method, ...meta])));
    yield* this.#pythonHandles.call(number, method, { ...options, stream: true }, args) as AsyncIterable<unknown>;
  }

  /** Returns the next piece from a client for the deployment's Python code. @throws if the client is gone */
  readFeed(number: number): Promise<FeedItem> {
    return this.#pythonFeeds.read(number);
  }

  /** The deployment's code in Python has loaded or dropped models. */
  tellModels(models: readonly string[]): void {
    tellController(models);
  }

  /** Reads the code. @throws Error if the deploying program has ended, and with it the captured values of the code */
  async #readCode(): Promise<DeploymentCode> {
    if (this.#code instanceof Uint8Array) return (await valueOfKept(unpackCode(this.#code).code)) as DeploymentCode;
    try {
      return await this.#code.ref;
    } catch (cause) {
      throw new Error(CODE_LOST, { cause });
    }
  }

  async #tellChangedFiles(loadedMs: number): Promise<void> {
    if (!(this.#code instanceof Uint8Array)) return;
    const warning = changeWarning(await changedFiles(unpackCode(this.#code).files, loadedMs), this.#spec.context.replicaId);
    if (warning !== undefined) console.warn(warning);
  }

  async #userCode({ target, args }: DeploymentCode): Promise<UserCode> {
    const { context } = this.#spec;
    if (typeof target === "function")
      return new UserObject(context.deployment, { target, args: withHandles(args, adoptHandle) as unknown[] });
    return PythonObject.start({
      code: target,
      args,
      context,
      threads: this.#maxOngoing,
      handles: this.#pythonHandles,
      feeds: this.#pythonFeeds,
      onEnd: (error) => this.#failed.reject(error),
      onLateFailure: () => this.#metrics.errors.add(1),
    });
  }

  /** @returns when it began */
  #begin(): number {
    if (this.#drained !== undefined || this.#ongoing >= this.#maxOngoing) throw ReplicaBusyError.with(this.#ongoing);
    return this.#enter();
  }

  #enter(): number {
    this.#ongoing += 1;
    this.#metrics.ongoing.set(this.#ongoing);
    const nowMs = performance.now();
    this.#utilization.changed(this.#ongoing, nowMs);
    return nowMs;
  }

  /** @returns when it began @throws the reason where the call is cancelled before */
  async #turn(): Promise<number> {
    if (this.#drained !== undefined || this.#ongoing < this.#maxOngoing) return this.#begin();
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const { signal } = getRuntimeContext();
    const enter = (): void => resolve(this.#enter());
    const leave = (): void => {
      if (this.#inTurn.delete(enter)) reject(signal.reason as Error);
    };
    this.#inTurn.add(enter);
    signal.addEventListener("abort", leave, { once: true });
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }

  #giveTurns(): void {
    for (const enter of this.#inTurn) {
      if (this.#ongoing >= this.#maxOngoing) return;
      this.#inTurn.delete(enter);
      enter();
    }
  }

  #end(startMs: number, isFailed: boolean): void {
    this.#ongoing -= 1;
    const { ongoing, requests, errors, latency } = this.#metrics;
    ongoing.set(this.#ongoing);
    requests.add(1);
    if (isFailed) errors.add(1);
    const nowMs = performance.now();
    this.#utilization.changed(this.#ongoing, nowMs);
    latency.observe(nowMs - startMs);
    this.#slowest.observe(nowMs - startMs, nowMs);
    if (this.#inTurn.size > 0) this.#giveTurns();
    if (this.#ongoing === 0) this.#onIdle?.();
  }

  #method(name: string): (...args: unknown[]) => unknown {
    if (this.#user === undefined) throw new TypeError("Cannot call a replica: it has not started");
    return this.#user.method(name);
  }

  #spanOf([method, requestId, , , ...trace]: CallMeta): ServedSpan | undefined {
    const { appName, deployment } = this.#spec.context;
    return beginSpan(`${deployment}.${method || "call"}`, trace, () => attributesOf({ appName, deployment, requestId }));
  }

  #logAccess(what: string, requestId: string, { startMs, isFailed }: { startMs: number; isFailed: boolean }): void {
    const { logging, context } = this.#spec;
    if (logging?.accessLog !== true) return;
    const message = accessLine({ what, requestId, isFailed, durationMs: performance.now() - startMs });
    process.stdout.write(`${logging.encoding === "JSON" ? lineOf("INFO", message, context) : message}\n`);
  }

  #contextOf([, requestId, modelId, leftMs, ...headers]: CallMeta): RequestContext {
    const { appName, deployment } = this.#spec.context;
    return { headers, requestId, modelId, app: appName, deployment, deadlineMs: leftMs === 0 ? undefined : Date.now() + leftMs };
  }

  #admit(stream: ServedStream, _server: RequestServer): void {
    const { method, url, headers, requestId, modelId, timeoutMs } = stream.head;
    if (this.#drained !== undefined || this.#ongoing >= this.#maxOngoing) {
      stream.refuse(this.#ongoing);
      return;
    }
    const requests = stream.kind === FRAME.GRPC ? this.#grpc : stream.kind === FRAME.SOCKET ? this.#webSockets : this.#http;
    if (requests === undefined) {
      const missing = this.#user?.clientMethods[stream.kind === FRAME.SOCKET ? "websocket" : "fetch"];
      stream.respond(
        { status: 501, statusText: "", headers: ["content-type", "application/json"], ongoing: this.#ongoing },
        errorBody(501, requestId, `the deployment has no ${missing}`),
      );
      return;
    }
    const startMs = this.#begin();
    if (stream.messages === undefined) stream.accept();
    const { appName: app, deployment } = this.#spec.context;
    const deadlineMs = timeoutMs === 0 ? undefined : Date.now() + timeoutMs;
    const context: RequestContext = { requestId, modelId, app, deployment, deadlineMs, headers };
    const call = this.#newCall(this.#fetchName, contextData(context));
    const span = beginSpan(this.#fetchName, headers, () => ({
      ...attributesOf({ appName: app, deployment, requestId }),
      "http.request.method": method,
    }));
    const over = (isFailed: boolean): void => {
      span?.end(isFailed);
      this.#end(startMs, isFailed);
      endRequest(context);
      if (this.#spec.logging?.accessLog === true)
        this.#logAccess(`${method} ${url.replace(/^\w+:\/\/[^/]*/, "").split("?", 1)[0]}`, requestId, { startMs, isFailed });
    };
    if (span === undefined) requests.serve(stream, call, over);
    else span.run(() => requests.serve(stream, call, over));
  }

  #logError(error: unknown, stream: ServedStream): void {
    const { method, url, requestId } = stream.head;
    // Without the query: clients put secrets there.
    console.error(`Request ${requestId} failed: ${method} ${url.split("?", 1)[0]}:`, error);
  }
}

function attributesOf({
  appName,
  deployment,
  requestId,
}: {
  appName: string;
  deployment: string;
  requestId: string;
}): Record<string, string> {
  return { "serve.application": appName, "serve.deployment": deployment, "serve.request_id": requestId };
}

async function* stepsIn(span: ServedSpan, items: AsyncIterable<unknown> | Iterable<unknown>): AsyncGenerator<unknown, void, undefined> {
  const iterator = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
  let isDone = false;
  try {
    for (;;) {
      const step = await span.run(() => iterator.next());
      isDone = step.done === true;
      if (isDone) return;
      yield step.value;
    }
  } finally {
    if (!isDone) await iterator.return?.();
  }
}
