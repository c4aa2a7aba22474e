/**
 * The user's object of a Python deployment: a Python actor beside the replica. This file has the interface of `user-object.ts`; `python-requests.ts` passes
 * requests.
 *
 * The replica keeps limits, routes and wire; Python holds only the object (`python/shoal/_serve_replica.py`). The actor runs on the replica's node, takes no
 * further resources, and both end together. Python sees bound deployments as numbered marks, whose calls come back to `PythonHandles`.
 */
import { asError } from "../../../core/internal.ts";
import { getActor, kill } from "../../../core/index.ts";
import type { PythonCode } from "../../../core/internal.ts";
import { withHandles } from "../../build/handle-marks.ts";
import { adoptHandle } from "../../handle/deployment-handle.ts";
import type { HandleOptions } from "../../handle/handle-types.ts";
import type { MetricSnapshot } from "../../../metrics/registry.ts";
import { METRICS_WITHIN_MS } from "../../limits.ts";
import { replicaActorName, SERVE_NAMESPACE } from "../../names.ts";
import { itemsOf, metaNow, ofPython, type PythonActor, type PythonOffers, pythonReplicaClass } from "./python-actor.ts";
import type { PythonFeeds } from "./python-feeds.ts";
import { PythonRequests } from "./python-requests.ts";
import type { ReplicaContext } from "../context/replica-context.ts";
import type { ServerWebSocket } from "../http/server-websocket.ts";
import type { AnyFunction, ClientMethods, DeployedPython, UserCode } from "../user-object.ts";

const MARK = "$shoal.serve.handle";

/** A deployment's Python code, with its constructor's arguments. */
interface PythonObjectOptions {
  readonly code: DeployedPython;
  readonly args: readonly unknown[];
  readonly context: ReplicaContext;
  /** Methods that are no coroutines run on so many threads. */
  readonly threads: number;
  readonly handles: PythonHandles;
  readonly feeds: PythonFeeds;
  /** The actor has ended. */
  readonly onEnd: (error: Error) => void;
  /** Code has failed behind the answer to a request, which counted as none that failed. */
  readonly onLateFailure: () => void;
}

/** Requests go to either, WebSockets to an ASGI application alone. */
const CLIENT_METHODS: ClientMethods = { fetch: "__call__(self, request)", websocket: "ASGI application (@serve.ingress(app))" };

export class PythonObject implements UserCode {
  readonly clientMethods = CLIENT_METHODS;
  readonly #actor: PythonActor;
  readonly #name: string;
  readonly #streaming: ReadonlySet<string>;
  readonly #offers: PythonOffers;
  readonly #requests: PythonRequests;

  private constructor(actor: PythonActor, options: PythonObjectOptions, offers: PythonOffers) {
    this.#actor = actor;
    this.#name = options.context.deployment;
    this.#streaming = new Set(streamingMethods(options.code));
    this.#offers = offers;
    this.#requests = new PythonRequests(actor, { feeds: options.feeds, offers, onLateFailure: options.onLateFailure });
  }

  /** @throws what Python throws for the module, the class and its constructor, and for the startup of an ASGI application */
  static async start(options: PythonObjectOptions): Promise<PythonObject> {
    const { code, context, threads, handles, onEnd } = options;
    const args = withHandles(options.args, (state) => ({ [MARK]: handles.add(state) })) as unknown[];
    const gateway = await getActor(replicaActorName(context.replicaId), { namespace: SERVE_NAMESPACE });
    const actor = pythonReplicaClass(code.digest).remote(code.place, code.name, args, context, gateway, threads);
    actor.alive.remote().then(undefined, (error: unknown) => onEnd(asError(error)));
    const offers = await ofPython(actor.start.remote());
    return new PythonObject(actor, options, offers);
  }

  get fetch(): AnyFunction | undefined {
    return this.#offers.isAsgi || this.#offers.hasCall ? (request) => this.#requests.fetch(request as Request) : undefined;
  }

  get websocket(): AnyFunction | undefined {
    return this.#offers.isAsgi ? (socket, request) => this.#requests.websocket(socket as ServerWebSocket, request as Request) : undefined;
  }

  method(name: string): AnyFunction {
    if (this.#streaming.has(name)) return (...args) => this.#stream(name, args);
    return (...args) => ofPython(this.#actor.call.remote(metaNow(), name, ...args));
  }

  /** The items of a method that Python writes as a generator, whether or not it was named as one. */
  stream(name: string): AnyFunction {
    return (...args) => this.#stream(name, args);
  }

  /** By gRPC's own name. Python gets the message alone. */
  grpcMethod([name]: readonly string[], { streamsIn, streamsOut }: { streamsIn: boolean; streamsOut: boolean }): AnyFunction | undefined {
    if (name === undefined || streamsIn || !this.#offers.methods.includes(name)) return undefined;
    return streamsOut ? (message) => this.#stream(name, [message]) : (message) => this.method(name)(message);
  }

  async checkHealth(): Promise<void> {
    await ofPython(this.#actor.check_health.remote());
  }

  async reconfigure(userConfig: unknown): Promise<void> {
    if (!this.#offers.hasReconfigure)
      throw new TypeError(`Cannot set userConfig of deployment ${this.#name}: its class in Python has no method reconfigure`);
    await ofPython(this.#actor.reconfigure.remote(userConfig));
  }

  async setRank(rank: number, worldSize: number): Promise<void> {
    await ofPython(this.#actor.set_rank.remote(rank, worldSize));
  }

  async metrics(): Promise<readonly MetricSnapshot[]> {
    // Code that computes keeps the rest of the replica's metrics from nobody.
    return await this.#actor.metrics
      .options({ timeoutMs: METRICS_WITHIN_MS / 2 })
      .remote()
      .then(undefined, () => []);
  }

  async dispose(): Promise<void> {
    await this.#actor.close.remote();
    await kill(this.#actor);
  }

  async *#stream(name: string, args: readonly unknown[]): AsyncGenerator<unknown, void, undefined> {
    yield* itemsOf(this.#actor.stream.remote(metaNow(), name, ...args));
  }
}

/** The handles that a deployment in Python was bound to, and the calls that it makes by them. */
export class PythonHandles {
  readonly #handles: object[] = [];

  /** @returns the number by which Python names it */
  add(state: object): number {
    return this.#handles.push(adoptHandle(state)) - 1;
  }

  /** Calls a method of a bound deployment, the deployment itself where `method` is empty. */
  call(number: number, method: string, options: HandleOptions, args: readonly unknown[]): unknown {
    const handle = this.#handles[number] as { [name: string]: { options(more: HandleOptions): { remote(...args: unknown[]): unknown } } };
    const own =
      method === "" ? (handle as unknown as { options(more: HandleOptions): { remote(...args: unknown[]): unknown } }) : handle[method];
    if (own === undefined) throw new TypeError(`Cannot call a deployment from Python: ${method} is no name of a method`);
    return own.options(options).remote(...args);
  }
}

/** Methods of a class of Python that are generators, as its options name them. */
export function streamingMethods({ options }: PythonCode): string[] {
  const { methods = {} } = options as { methods?: Readonly<Record<string, { numReturns?: unknown }>> };
  return Object.entries(methods).flatMap(([name, { numReturns }]) => (numReturns === "streaming" ? [name] : []));
}
