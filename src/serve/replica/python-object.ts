/**
 * The user's object of a deployment in Python: an actor of Python beside the replica, which this file calls as `user-object.ts` calls an object of its own process.
 *
 * The replica keeps its limits, its routes and its wire; Python has the object alone (`python/shoal/_serve_replica.py`). The actor runs on the replica's node, takes
 * no resources beside those that the replica holds, and ends with the replica; its end is the end of the replica. Bound deployments are numbered marks for it, whose calls come
 * back to `PythonHandles`.
 */
import { type ActorHandle, getActor, getRuntimeContext, kill, TaskError } from "../../core/index.ts";
import { type PythonCode, pythonClass } from "../../core/internal.ts";
import { withHandles } from "../build/handle-marks.ts";
import type { HandleOptions } from "../handle/handle-types.ts";
import { adoptHandle } from "../handle/deployment-handle.ts";
import { REPLICA_CONCURRENCY } from "../limits.ts";
import { replicaActorName, SERVE_NAMESPACE } from "../names.ts";
import { sessionHeaders, sessionOf } from "../routing/sessions.ts";
import type { ReplicaContext } from "./replica-context.ts";
import { currentRequest } from "./request-context.ts";
import type { AnyFunction, UserCode } from "./user-object.ts";

/** The request whose code calls, as Python keeps it. */
export type PythonMeta = readonly [requestId: string, modelId: string, leftMs: number, ...headers: string[]];

interface PythonReplica {
  start(): { hasCall: boolean; hasReconfigure: boolean };
  alive(): never;
  check_health(): void;
  reconfigure(userConfig: unknown): void;
  close(): void;
  call(meta: PythonMeta, name: string, ...args: unknown[]): unknown;
  stream(meta: PythonMeta, name: string, ...args: unknown[]): AsyncGenerator;
  http(
    meta: PythonMeta,
    request: object,
  ): [status: number, headers: string[], body: string | Uint8Array<ArrayBuffer> | null, stream: number];
  read(meta: PythonMeta, stream: number): AsyncGenerator<Uint8Array>;
  drop(stream: number): void;
}

const NODE_LABEL = "shoal.io/node-id";
const MARK = "$shoal.serve.handle";
/** Statuses whose answer has no body. */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/** Code of a deployment in Python, with the arguments of its constructor. */
interface PythonObjectOptions {
  readonly code: PythonCode;
  readonly args: readonly unknown[];
  readonly context: ReplicaContext;
  /** Methods that are no coroutines run on so many threads. */
  readonly threads: number;
  readonly handles: PythonHandles;
  /** The actor has ended. */
  readonly onEnd: (error: Error) => void;
}

export class PythonObject implements UserCode {
  readonly #actor: ActorHandle<PythonReplica>;
  readonly #name: string;
  readonly #streaming: ReadonlySet<string>;
  readonly #offers: { hasCall: boolean; hasReconfigure: boolean };
  readonly websocket = undefined;

  private constructor(
    actor: ActorHandle<PythonReplica>,
    options: PythonObjectOptions,
    offers: { hasCall: boolean; hasReconfigure: boolean },
  ) {
    this.#actor = actor;
    this.#name = options.context.deployment;
    this.#streaming = new Set(streamingMethods(options.code));
    this.#offers = offers;
  }

  /** @throws what Python throws for the module, the class and its constructor */
  static async start(options: PythonObjectOptions): Promise<PythonObject> {
    const { code, context, threads, handles, onEnd } = options;
    const args = withHandles(options.args, (state) => ({ [MARK]: handles.add(state) })) as unknown[];
    const gateway = handles.isEmpty ? null : await getActor(replicaActorName(context.replicaId), { namespace: SERVE_NAMESPACE });
    const actor = pythonReplicaClass().remote(code.place, code.name, args, context, gateway, threads);
    actor.alive.remote().then(undefined, (error: unknown) => onEnd(error as Error));
    const offers = await ofPython(actor.start.remote());
    return new PythonObject(actor, options, offers);
  }

  get fetch(): AnyFunction | undefined {
    return this.#offers.hasCall ? (request) => this.#fetch(request as Request) : undefined;
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
    if (name === undefined || streamsIn) return undefined;
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

  async dispose(): Promise<void> {
    await this.#actor.close.remote();
    await kill(this.#actor);
  }

  async *#stream(name: string, args: readonly unknown[]): AsyncGenerator<unknown, void, undefined> {
    yield* itemsOf(this.#actor.stream.remote(metaNow(), name, ...args));
  }

  async #fetch(request: Request): Promise<Response> {
    const { method, url, headers: given } = request;
    const headers: string[] = [];
    for (const [name, value] of given) headers.push(name, value);
    const body = new Uint8Array(await request.arrayBuffer());
    const meta = metaNow();
    const [status, flat, whole, stream] = await ofPython(
      this.#actor.http.remote(meta, { method, url, headers, body: body.byteLength === 0 ? null : body }),
    );
    const answered = new Headers();
    for (let index = 0; index < flat.length; index += 2) answered.append(flat[index] as string, flat[index + 1] as string);
    const content = stream === 0 ? whole : this.#body(meta, stream);
    return new Response(WITHOUT_BODY.has(status) ? null : content, { status, headers: answered });
  }

  /** A body that Python gives piece by piece; its generator is closed where nobody reads on. */
  #body(meta: PythonMeta, stream: number): ReadableStream<Uint8Array> {
    let pieces: AsyncGenerator<Uint8Array> | undefined;
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          pieces ??= itemsOf(this.#actor.read.remote(meta, stream));
          const { done, value } = await pieces.next();
          if (done === true) controller.close();
          else controller.enqueue(value);
        },
        cancel: async () => {
          if (pieces === undefined) await this.#actor.drop.remote(stream);
          else await pieces.return(undefined);
        },
      },
      { highWaterMark: 0 },
    );
  }
}

/** The handles that a deployment in Python was bound to, and the calls that it makes by them. */
export class PythonHandles {
  readonly #handles: object[] = [];

  get isEmpty(): boolean {
    return this.#handles.length === 0;
  }

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

/** Within the replica's resources and environment: the replica holds them, and shows its GPUs to its child. */
function pythonReplicaClass(): { remote(...args: unknown[]): ActorHandle<PythonReplica> } {
  const gpus = process.env["CUDA_VISIBLE_DEVICES"];
  return pythonClass("shoal._serve_replica", "Replica", {
    numCpus: 0,
    labelSelector: { [NODE_LABEL]: getRuntimeContext().nodeId },
    maxConcurrency: REPLICA_CONCURRENCY,
    ...(gpus !== undefined && { runtimeEnv: { envVars: { CUDA_VISIBLE_DEVICES: gpus } } }),
    methods: { stream: { numReturns: "streaming" }, read: { numReturns: "streaming" } },
  } as never) as never;
}

function metaNow(): PythonMeta {
  const request = currentRequest();
  const leftMs = request?.deadlineMs === undefined ? 0 : Math.max(1, request.deadlineMs - Date.now());
  const session = request === undefined ? "" : sessionOf(request.headers);
  return [request?.requestId ?? "", request?.modelId ?? "", leftMs, ...sessionHeaders(session)];
}

/** The error that Python raised, without the error of the call around it: its `stack` is the traceback. */
async function ofPython<T>(call: PromiseLike<T>): Promise<Awaited<T>> {
  try {
    return await call;
  } catch (error) {
    throw raisedBy(error);
  }
}

async function* itemsOf<T>(items: unknown): AsyncGenerator<T, void, undefined> {
  try {
    yield* items as AsyncIterable<T>;
  } catch (error) {
    throw raisedBy(error);
  }
}

function raisedBy(error: unknown): unknown {
  return error instanceof TaskError && error.cause instanceof Error ? error.cause : error;
}
