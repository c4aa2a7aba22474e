/**
 * OpenTelemetry spans: one for each request and call of a replica, below the sender's span.
 *
 * The context arrives in the W3C headers `traceparent` and `tracestate` and travels with every call of a handle, with or without OpenTelemetry in the process. Spans
 * are made only if the user's code has registered an SDK. `@opentelemetry/api` is the user's package and is loaded only then. Without it a request costs no more.
 */
import type { Context, Span } from "@opentelemetry/api";
import { describeValue, outsideCalls, valueOfKept } from "../core/internal.ts";
import { loadCode } from "./deployments/code-store.ts";
import { currentRequest } from "./replica/context/request-context.ts";

type Api = typeof import("@opentelemetry/api");

/** Flat, names and values in turn; other headers may be among them. */
type TraceHeaders = readonly string[];

/** The user's function that sets tracing up in each replica. */
export interface TracingConfig {
  /** Under which id the code of the function is kept. */
  readonly setupId: string | undefined;
  readonly samplingRatio: number;
}

/** Argument of the user's function of `tracing`, which registers an SDK itself, or returns span processors. */
export interface TracingSetup {
  readonly application: string;
  readonly deployment: string;
  readonly replicaId: string;
  readonly samplingRatio: number;
}

/** The span of a request or call under way. */
export interface ServedSpan {
  /** Runs code below the span. */
  run<T>(body: () => T): T;
  end(isFailed: boolean): void;
}

const NO_HEADERS: TraceHeaders = [];
/** Key of the global in which all versions 1 of `@opentelemetry/api` in a process keep the registered SDK. */
const REGISTERED = Symbol.for("opentelemetry.js.api.1");
let api: Api | undefined;

/** Loads the API where an SDK has been registered. Called where code of users has run. */
export async function loadTracing(): Promise<void> {
  if (api !== undefined || (globalThis as Record<symbol, unknown>)[REGISTERED] === undefined) return;
  try {
    api = await import("@opentelemetry/api");
  } catch (error) {
    console.error("OpenTelemetry is registered, but @opentelemetry/api cannot be loaded, so there are no spans of Serve:", error);
  }
}

/** Runs the user's set-up function, once in a process. @throws the function's error */
export async function setUpTracing({ setupId, samplingRatio }: TracingConfig, told: Omit<TracingSetup, "samplingRatio">): Promise<void> {
  if (setupId === undefined) return;
  const code = await outsideCalls(() => loadCode(setupId));
  if (code === undefined) throw new Error("Cannot set tracing up: its code is not in the cluster's store");
  const setup = (await valueOfKept(code)) as (options: TracingSetup) => unknown;
  const processors = await setup({ ...told, samplingRatio });
  if (processors === undefined) return;
  if (!Array.isArray(processors))
    throw new TypeError(`Cannot set tracing up: the function returns span processors, or nothing: received ${describeValue(processors)}`);
  const sdk = await import("@opentelemetry/sdk-trace-node");
  const sampler = new sdk.ParentBasedSampler({ root: new sdk.TraceIdRatioBasedSampler(samplingRatio) });
  new sdk.NodeTracerProvider({ sampler, spanProcessors: processors as import("@opentelemetry/sdk-trace-node").SpanProcessor[] }).register();
}

/** Begins a span below the headers' context; undefined without an SDK. */
export function beginSpan(name: string, headers: TraceHeaders, attributes: () => Record<string, string>): ServedSpan | undefined {
  if (api === undefined) return undefined;
  const { context, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } = api;
  const parent = propagation.extract(ROOT_CONTEXT, headers, FLAT);
  const span: Span = trace.getTracer("shoal/serve").startSpan(name, { kind: SpanKind.SERVER, attributes: attributes() }, parent);
  const own: Context = trace.setSpan(parent, span);
  return {
    run: (body) => context.with(own, body),
    end: (isFailed) => {
      if (isFailed) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    },
  };
}

/** The trace headers that a call takes along: of the span in which it is made, else those that its request came with. */
export function outgoingTrace(ofRequest: TraceHeaders | undefined): TraceHeaders {
  if (api !== undefined) {
    const carrier: Record<string, string> = {};
    api.propagation.inject(api.context.active(), carrier);
    const found = Object.entries(carrier);
    if (found.length > 0) return found.flat();
  }
  if (ofRequest === undefined || ofRequest.length === 0) return NO_HEADERS;
  const parent = FLAT.get(ofRequest, "traceparent");
  if (parent === undefined) return NO_HEADERS;
  const state = FLAT.get(ofRequest, "tracestate");
  return state === undefined ? ["traceparent", parent] : ["traceparent", parent, "tracestate", state];
}

/**
 * The W3C headers of the trace in which this code runs, to be sent along with requests of one's own; empty where there is none.
 *
 * @example
 * await fetch(url, { headers: serve.getTraceHeaders() });
 */
export function getTraceHeaders(): Record<string, string> {
  const flat = outgoingTrace(currentRequest()?.headers);
  return Object.fromEntries(flat.flatMap((name, index) => (index % 2 === 0 ? [[name, flat[index + 1] as string]] : [])));
}

/** Reads flat headers, as `propagation.extract` wants to. */
const FLAT = {
  keys: (headers: TraceHeaders): string[] => headers.filter((_, index) => index % 2 === 0),
  get: (headers: TraceHeaders, key: string): string | undefined => {
    for (let index = 0; index < headers.length; index += 2)
      if ((headers[index] as string).length === key.length && (headers[index] as string).toLowerCase() === key) return headers[index + 1];
    return undefined;
  },
};
