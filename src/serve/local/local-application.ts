/**
 * Local testing mode: an application in this process, one instance of each deployment, no controller, no proxy and nothing to start.
 *
 * Its handles look like those of `serve.run` and call the instances directly. Arguments and results are passed as they are; nothing is encoded, so a test sees the very
 * objects. `fetch` of the ingress is called as `handle.fetch.remote(new Request(...))`.
 */
import { TaskTimeoutError } from "../../core/index.ts";
import { RequestCancelledError } from "../errors.ts";
import { buildApplication } from "../build/application-graph.ts";
import { withHandles } from "../build/handle-marks.ts";
import type { Application } from "../deployments/deployment.ts";
import { readHandleOptions } from "../handle/deployment-handle.ts";
import { DeploymentResponse, DeploymentResponseGenerator } from "../handle/deployment-response.ts";
import type { HandleOptions, HandleOptionsInput } from "../handle/handle-types.ts";
import { withAnswers } from "../handle/nested-responses.ts";
import { newRequestId } from "../proxy/fronts/request-headers.ts";
import { asReplica } from "../replica/context/replica-context.ts";
import { asRequest, currentRequest, type RequestContext } from "../replica/context/request-context.ts";
import { sessionHeaders } from "../routing/sessions.ts";
import { type DeploymentCode, UserObject } from "../replica/user-object.ts";

const NOT_METHODS: ReadonlySet<string> = new Set(["then", "catch", "finally", "toJSON", "asymmetricMatch"]);

export async function runLocally(application: Application<any>, name: string): Promise<object> {
  const { target, local } = buildApplication(application, { name, routePrefix: null, keepsCode: false });
  const handles = new Map<string, object>();
  // Bound deployments come before those that take them, so their handles exist by then.
  for (const { name: deployment, config, streaming } of target.deployments) {
    const { target: code, args } = local.get(deployment) as DeploymentCode;
    if (typeof code !== "function")
      throw new TypeError(
        `Cannot run ${name} in local testing mode: deployment ${deployment} is written in Python, which needs a process of its own`,
      );
    const context = { appName: name, deployment, replicaId: `${name}#${deployment}#local`, rank: 0, worldSize: 1, gangContext: undefined };
    const bound = withHandles(args, (state) => handles.get((state as { deployment: string }).deployment)) as unknown[];
    const user = asReplica(context, () => new UserObject(deployment, { target: code, args: bound }));
    if (config.userConfig !== undefined) await asReplica(context, () => user.reconfigure(JSON.parse(config.userConfig as string)));
    handles.set(
      deployment,
      localHandle((method, given, options) => {
        const request = requestOf({ app: name, deployment }, options);
        const call = async (): Promise<unknown> => {
          // As between processes: a response that is passed on unawaited arrives as its value.
          const values = (await withAnswers(given)) ?? given;
          return await asReplica(context, () => asRequest(request, () => user.method(method)(...values)));
        };
        if (options.stream === true || streaming.includes(method)) return localStream(call);
        return localResponse(call, `${deployment}.${method}`, options);
      }),
    );
  }
  return handles.get(target.ingress) as object;
}

type Call = (method: string, args: readonly unknown[], options: HandleOptions) => object;

function localHandle(call: Call, options: HandleOptions = {}): object {
  const method = (name: string, own: HandleOptions): object => ({
    remote: (...args: unknown[]) => call(name, args, own),
    options: (more: HandleOptionsInput) => method(name, { ...own, ...readHandleOptions(more) }),
  });
  return new Proxy(Object.create(null) as object, {
    get: (_target, name) => {
      if (typeof name === "symbol" || NOT_METHODS.has(name)) return undefined;
      if (name === "remote") return (...args: unknown[]) => call("", args, options);
      if (name === "options") return (more: HandleOptionsInput) => localHandle(call, { ...options, ...readHandleOptions(more) });
      if (name === "broadcast")
        return async (called: string, ...args: unknown[]) => [await (call(called, args, options) as DeploymentResponse<unknown>)];
      return method(name, options);
    },
  });
}

/** The context of a call; model, session and deadline go on to the calls that are made in it. */
function requestOf(place: Pick<RequestContext, "app" | "deployment">, options: HandleOptions): RequestContext {
  const outer = currentRequest();
  const headers = options.sessionId === undefined ? (outer?.headers ?? []) : sessionHeaders(options.sessionId);
  const deadlineMs = options.timeoutMs === undefined ? outer?.deadlineMs : Date.now() + options.timeoutMs;
  return {
    ...place,
    requestId: outer?.requestId ?? newRequestId(),
    modelId: options.multiplexedModelId ?? outer?.modelId ?? "",
    headers,
    deadlineMs,
  };
}

function localResponse(call: () => Promise<unknown>, name: string, { timeoutMs, signal }: HandleOptions): DeploymentResponse<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const abort = (): void => reject(signal?.reason);
  const late = (): void =>
    reject(
      new TaskTimeoutError(`Call ${name} failed: it took longer than ${timeoutMs} ms`, {
        reason: "the time limit was reached",
        hint: "Raise timeoutMs.",
        details: { timeoutMs },
      }),
    );
  const timer = timeoutMs === undefined ? undefined : setTimeout(late, timeoutMs);
  signal?.addEventListener("abort", abort, { once: true });
  if (signal?.aborted === true) abort();
  else call().then(resolve, reject);
  const ended = (): void => {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  };
  promise.then(ended, ended);
  return new DeploymentResponse({
    value: promise,
    reference: () => promise.then((ref) => ({ ref })),
    cancel: () => reject(new RequestCancelledError("The call was cancelled", { reason: "it was cancelled" })),
  });
}

function localStream(call: () => Promise<unknown>): DeploymentResponseGenerator<unknown> {
  async function* items(): AsyncGenerator<unknown, void, undefined> {
    yield* (await call()) as AsyncIterable<unknown>;
  }
  const generator = items();
  return new DeploymentResponseGenerator(generator, () => void generator.return(undefined));
}
