/**
 * Local testing mode: an application in this process, one instance of each deployment, no controller, no proxy and nothing to start.
 *
 * Its handles look like those of `serve.run` and call the instances directly. Arguments and results are passed as they are; nothing is encoded, so a test sees the very
 * objects. `fetch` of the ingress is called as `handle.fetch.remote(new Request(...))`.
 */
import { RequestCancelledError } from "../errors.ts";
import { buildApplication } from "../build/application-graph.ts";
import { withHandles } from "../build/handle-marks.ts";
import type { Application } from "../deployment.ts";
import { DeploymentResponse, DeploymentResponseGenerator } from "../handle/deployment-response.ts";
import { withAnswers } from "../handle/nested-responses.ts";
import { asReplica } from "../replica/replica-context.ts";
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
      localHandle((method, given, stream) => {
        const call = async (): Promise<unknown> => {
          // As between processes: a response that is passed on unawaited arrives as its value.
          const values = (await withAnswers(given)) ?? given;
          return await asReplica(context, () => user.method(method)(...values));
        };
        return stream || streaming.includes(method) ? localStream(call) : localResponse(call);
      }),
    );
  }
  return handles.get(target.ingress) as object;
}

type Call = (method: string, args: readonly unknown[], stream: boolean) => object;

function localHandle(call: Call, stream = false): object {
  const method = (name: string, streams: boolean): object => ({
    remote: (...args: unknown[]) => call(name, args, streams),
    options: (options: { stream?: boolean }) => method(name, options.stream ?? streams),
  });
  return new Proxy(Object.create(null) as object, {
    get: (_target, name) => {
      if (typeof name === "symbol" || NOT_METHODS.has(name)) return undefined;
      if (name === "remote") return (...args: unknown[]) => call("", args, stream);
      if (name === "options") return (options: { stream?: boolean }) => localHandle(call, options.stream ?? stream);
      if (name === "broadcast")
        return async (called: string, ...args: unknown[]) => [await (call(called, args, false) as DeploymentResponse<unknown>)];
      return method(name, stream);
    },
  });
}

function localResponse(call: () => Promise<unknown>): DeploymentResponse<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  call().then(resolve, reject);
  promise.catch(() => {});
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
