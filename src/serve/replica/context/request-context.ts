/**
 * The context of the request that a replica runs. `getRequestContext`, handles and `serve.multiplexed` find it anywhere in the code of that request.
 *
 * The context is kept with the core's call in which the code runs (`callData`), so no second async context is needed.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { callData } from "../../../core/internal.ts";

/** Context of a request or call on its way through deployments. */
export interface RequestContext {
  readonly requestId: string;
  readonly app: string;
  readonly deployment: string;
  /** The model that was asked for; empty where none was. */
  readonly modelId: string;
  /** Names and values in turn; the trace of OpenTelemetry and the session may be among them. */
  readonly headers: readonly string[];
  /** Deadline of the answer, by this machine's `Date.now()`; undefined without limit, and once an answer that streams has begun. Between machines the remaining time travels, not the time of day. */
  deadlineMs: number | undefined;
  /** Called when the request is over; undefined where nothing is to be. */
  endings?: (() => void)[] | "over";
}

const KEY = Symbol.for("shoal.serve.request-context.1");

interface Held {
  readonly [KEY]: RequestContext;
}

export function contextData(context: RequestContext): Held {
  return { [KEY]: context };
}

/** Context of the request in which the calling code runs; undefined outside of requests. */
export function currentRequest(): RequestContext | undefined {
  const data = callData() as Partial<Held> | undefined;
  return data?.[KEY] ?? local.getStore();
}

/** Holds the context in local testing mode, which has no calls of the core. */
const local = new AsyncLocalStorage<RequestContext>();

/** Runs code of a request in local testing mode. */
export function asRequest<T>(request: RequestContext, body: () => T): T {
  return local.run(request, body);
}

/** @returns whether it will be called, once: code of a request may run on behind its end */
export function whenRequestEnds(request: RequestContext, ended: () => void): boolean {
  if (request.endings === "over") return false;
  request.endings ??= [];
  request.endings.push(ended);
  return true;
}

/** Called by the replica, when the answer has gone out or nobody wants it any more. */
export function endRequest(request: RequestContext): void {
  const { endings } = request;
  request.endings = "over";
  if (typeof endings === "object") for (const ended of endings) ended();
}
