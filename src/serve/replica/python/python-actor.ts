/**
 * The replica's side of the actor that holds a deployment's Python code.
 *
 * Declares the actor's methods (`python/shoal/_serve_replica.py`), its environment, the facts of a request that travel with each call, and the caller's error, which
 * is Python's own. `python-object.ts`, which owns the actor, and `python-requests.ts` use it.
 */
import { type ActorHandle, getRuntimeContext, TaskError } from "../../../core/index.ts";
import { NODE_ID_LABEL, pythonClass } from "../../../core/internal.ts";
import { PYTHON_PIECES_AHEAD, REPLICA_CONCURRENCY } from "../../limits.ts";
import type { MetricSnapshot } from "../../../metrics/registry.ts";
import { sessionHeaders, sessionOf } from "../../routing/sessions.ts";
import { currentRequest } from "../context/request-context.ts";

/** The request whose code calls, as Python keeps it. */
export type PythonMeta = readonly [requestId: string, modelId: string, leftMs: number, ...headers: string[]];

/** A request as it travels to Python. */
export interface PythonRequest {
  readonly method: string;
  readonly url: string;
  /** Names and values in turn, as the client sent them. */
  readonly headers: readonly string[];
  readonly client: string;
  /** All of the body, where it is here and not empty. */
  readonly body: Uint8Array | null;
  /** The number by which Python reads the rest; 0: there is nothing to read. */
  readonly feed: number;
}

/** The members of a user's object that its replica asks for. */
export interface PythonOffers {
  readonly isAsgi: boolean;
  readonly hasCall: boolean;
  /** `__call__` is a coroutine, which reads a body when it wants to. */
  readonly awaitsBody: boolean;
  readonly hasReconfigure: boolean;
  /** The class's methods. */
  readonly methods: readonly string[];
}

/** The head of an answer, with the part of the body that was ready. */
export type AsgiHead = readonly [status: number, headers: readonly string[], body: Uint8Array<ArrayBuffer>, hasMore: boolean];
/** The head, pieces of a body, null at its end, and a note where the application failed behind its whole answer. */
export type AsgiItem = AsgiHead | Uint8Array | null | readonly [kind: "failed"];
export type SocketItem =
  | string
  | Uint8Array
  | readonly [kind: "accept", protocol: string, headers: readonly string[]]
  | readonly [kind: "refuse", status: number, headers: readonly string[], body: Uint8Array<ArrayBuffer>]
  | readonly [kind: "close", code: number, reason: string]
  | readonly [kind: "failed"];

interface PythonReplica {
  start(): PythonOffers;
  alive(): never;
  check_health(): void;
  reconfigure(userConfig: unknown): void;
  set_rank(rank: number, worldSize: number): void;
  close(): void;
  metrics(): MetricSnapshot[];
  call(meta: PythonMeta, name: string, ...args: unknown[]): unknown;
  stream(meta: PythonMeta, name: string, ...args: unknown[]): AsyncGenerator;
  http(
    meta: PythonMeta,
    request: PythonRequest,
  ): [status: number, headers: string[], body: string | Uint8Array<ArrayBuffer> | null, stream: number, isHeadChosen: boolean];
  read(meta: PythonMeta, stream: number): AsyncGenerator<Uint8Array>;
  drop(stream: number): void;
  asgi(meta: PythonMeta, request: PythonRequest): AsyncGenerator<AsgiItem>;
  socket(meta: PythonMeta, request: PythonRequest): AsyncGenerator<SocketItem>;
  closed(feed: number, code: number, reason: string): void;
}

export type PythonActor = ActorHandle<PythonReplica>;

const ANSWERS = ["read", "asgi", "socket"];

/**
 * Makes the actor's class. The actor uses the replica's resources, GPUs and environment.
 *
 * @param digest of the code's files. Calls of one environment share workers, and a worker that has loaded older files must not serve the new version.
 */
export function pythonReplicaClass(digest: string): { remote(...args: unknown[]): PythonActor } {
  const gpus = process.env["CUDA_VISIBLE_DEVICES"];
  const envVars = { ...(gpus !== undefined && { CUDA_VISIBLE_DEVICES: gpus }), ...(digest !== "" && { SHOAL_SERVE_CODE: digest }) };
  return pythonClass("shoal._serve_replica", "Replica", {
    numCpus: 0,
    labelSelector: { [NODE_ID_LABEL]: getRuntimeContext().nodeId },
    maxConcurrency: REPLICA_CONCURRENCY,
    ...(Object.keys(envVars).length > 0 && { runtimeEnv: { envVars } }),
    methods: {
      stream: { numReturns: "streaming" },
      ...Object.fromEntries(ANSWERS.map((name) => [name, { numReturns: "streaming", highWaterMark: PYTHON_PIECES_AHEAD }])),
    },
  } as never) as never;
}

export function metaNow(): PythonMeta {
  const request = currentRequest();
  const leftMs = request?.deadlineMs === undefined ? 0 : Math.max(1, request.deadlineMs - Date.now());
  const session = request === undefined ? "" : sessionOf(request.headers);
  return [request?.requestId ?? "", request?.modelId ?? "", leftMs, ...sessionHeaders(session)];
}

/** The error that Python raised, without the error of the call around it: its `stack` is the traceback. */
export async function ofPython<T>(call: PromiseLike<T>): Promise<Awaited<T>> {
  try {
    return await call;
  } catch (error) {
    throw raisedBy(error);
  }
}

export async function* itemsOf<T>(items: unknown): AsyncGenerator<T, void, undefined> {
  try {
    yield* items as AsyncIterable<T>;
  } catch (error) {
    throw raisedBy(error);
  }
}

function raisedBy(error: unknown): unknown {
  return error instanceof TaskError && error.cause instanceof Error ? error.cause : error;
}
