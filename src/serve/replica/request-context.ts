/**
 * What a replica knows of the request that it is at: wherever its code has got to, `getRequestContext`, handles and `serve.multiplexed` find it.
 *
 * It lies beside the call of the core in which the code runs (`callData`), so no second context has to be carried along.
 */
import { callData } from "../../core/internal.ts";

/** One request or call as it goes through deployments. */
export interface RequestContext {
  readonly requestId: string;
  readonly app: string;
  readonly deployment: string;
  /** The model that was asked for; empty where none was. */
  readonly modelId: string;
  /** When the answer is too late, by `Date.now()` of this machine; undefined without limit. Between machines what is left travels, not the time of day. */
  readonly deadlineMs: number | undefined;
}

const KEY = Symbol.for("shoal.serve.request-context.1");

interface Held {
  readonly [KEY]: RequestContext;
}

export function contextData(context: RequestContext): Held {
  return { [KEY]: context };
}

/** Of the request in which this code runs; undefined outside of requests. */
export function currentRequest(): RequestContext | undefined {
  const data = callData() as Partial<Held> | undefined;
  return data?.[KEY];
}
