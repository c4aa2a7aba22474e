import { getEventListeners } from "node:events";
import { afterEach, expect, test } from "vitest";
import { ActorDiedError, type AnyActorHandle } from "../../core/index.ts";
import { TaskContext, taskContext } from "../../runtime/worker/tasks/task-context.ts";
import { contextData } from "../replica/context/request-context.ts";
import type { DeploymentRouter } from "../routing/deployment-router.ts";
import { closeRouters, processRouters } from "../routing/process-routers.ts";
import { newHandle } from "./deployment-handle.ts";
import { DeploymentResponse } from "./deployment-response.ts";

afterEach(closeRouters);

/** The router of a deployment with idle replicas that take one request each and may be called twice. */
function routerOf(...ids: readonly string[]): DeploymentRouter {
  const router = processRouters().router("app", "Model");
  router.update({
    replicas: ids.map((id) => ({ id, actorName: `actor ${id}`, nodeId: "n", models: [] })),
    maxOngoingRequests: 1,
    maxQueuedRequests: -1,
    backpressure: { statusCode: 503, retryAfterMs: undefined },
    idempotentMethods: ["run"],
    routerId: undefined,
    requestRouterArgs: undefined,
  });
  return router;
}

interface Callable {
  remote(...args: unknown[]): PromiseLike<unknown> & AsyncIterable<unknown> & { cancel(): void };
  options(more: object): Callable;
}

function runOf(): Callable {
  return (newHandle({ app: "app", deployment: "Model", streaming: [], options: {} }) as unknown as { run: Callable }).run;
}

/** A response of another deployment, whose outcome the test decides. */
function responseOf(value: Promise<unknown>): DeploymentResponse<unknown> {
  value.catch(() => {});
  return new DeploymentResponse({ value, reference: () => value.then((ref) => ({ ref })), cancel: () => {} });
}

test("a response among the arguments that fails is its caller's failure, and no replica of the deployment that waits for it is blamed", async () => {
  const router = routerOf("a", "b");
  const died = new ActorDiedError("The replica of another deployment died", { reason: "it was ended by SIGKILL" });
  await expect(runOf().remote(1, responseOf(Promise.reject(died)))).rejects.toBe(died);
  expect(router.held).toEqual(["a", "b"]);
  expect(router.ongoing).toBe(0);
});

test("no place is taken while an argument is being computed, and the call ends meanwhile when it is cancelled or late", async () => {
  const router = routerOf("a");
  const pending = responseOf(new Promise(() => {}));
  const response = runOf().remote(pending);
  const late = runOf().options({ timeoutMs: 1 }).remote(pending);
  await expect(late).rejects.toThrow("Call Model.run failed: the responses among its arguments were not there in time");
  expect([router.hasRoom, router.queued]).toEqual([true, 0]);
  response.cancel();
  await expect(response).rejects.toMatchObject({ code: "REQUEST_CANCELLED" });
});

test("a signal keeps no call that is over, and cancels the one that waits", async () => {
  routerOf("a");
  const { signal } = new AbortController();
  const failing = responseOf(Promise.reject(new RangeError("no")));
  await expect(runOf().options({ signal }).remote(failing)).rejects.toThrow("no");
  const stop = new AbortController();
  const waiting = runOf()
    .options({ signal: stop.signal })
    .remote(responseOf(new Promise(() => {})));
  expect(getEventListeners(stop.signal, "abort").length).toBe(1);
  stop.abort(new Error("enough"));
  await expect(waiting).rejects.toMatchObject({ code: "REQUEST_CANCELLED", cause: { message: "enough" } });
  await expect(runOf().options({ signal: stop.signal }).remote(1)).rejects.toMatchObject({ code: "REQUEST_CANCELLED" });
  for (const used of [signal, stop.signal]) expect(getEventListeners(used, "abort")).toEqual([]);
});

/** A replica whose connection is made when the test says so, and the calls that reach it. */
function coldReplica(): { calls: unknown[]; connect: () => void } {
  const calls: unknown[] = [];
  const { promise, resolve } = Promise.withResolvers<AnyActorHandle>();
  processRouters().findActor = () => promise;
  const methodOf = (answer: unknown): object => {
    const method = {
      options: () => method,
      remote: (...args: unknown[]) => {
        calls.push(args);
        return answer;
      },
    };
    return method;
  };
  const replica = { call: methodOf(Promise.resolve("late")), stream: methodOf([]), callInTurn: methodOf(Promise.resolve("late")) };
  return { calls, connect: () => resolve(replica as unknown as AnyActorHandle) };
}

/** A request in this process, with the context that a replica gives to its requests. */
function requestHere(deadlineMs?: number): { run: <T>(body: () => T) => T; cancel: (reason: Error) => void } {
  const place = { actor: undefined, shape: "", resources: {} } as unknown as TaskContext["place"];
  const context = new TaskContext({ name: "fetch", taskIdPrefix: "", callId: 0, place });
  const request = { requestId: "r", app: "app", deployment: "Front", modelId: "", headers: [], deadlineMs };
  context.data = contextData(request);
  return { run: (body) => taskContext.run(context, body), cancel: (reason) => context.cancellation.cancel(reason) };
}

const read = async (items: AsyncIterable<unknown>): Promise<void> => {
  for await (const item of items) expect(item).toBe("no item");
};

test.each(["a call", "a stream", "a broadcast"] as const)(
  "%s whose request is cancelled while the connection to the replica is made does not reach it",
  async (kind) => {
    const router = routerOf("a");
    const { calls, connect } = coldReplica();
    const request = requestHere();
    const handle = newHandle({ app: "app", deployment: "Model", streaming: [], options: {} }) as unknown as {
      broadcast(method: string): Promise<unknown>;
    };
    const ended = request.run(() =>
      kind === "a call"
        ? runOf().remote(1)
        : kind === "a stream"
          ? read(runOf().options({ stream: true }).remote(1))
          : handle.broadcast("run"),
    );
    await new Promise((resolve) => setImmediate(resolve));
    request.cancel(new Error("the client has left"));
    connect();
    await expect(ended).rejects.toThrow("the client has left");
    expect([calls, router.ongoing]).toEqual([[], 0]);
    // Cleanup code may still call after the cancellation.
    await expect(request.run(() => runOf().remote(2))).resolves.toBe("late");
    expect(calls.length).toBe(1);
  },
);

test("a stream that is cancelled while the connection to the replica is made does not reach it", async () => {
  const router = routerOf("a");
  const { calls, connect } = coldReplica();
  const items = runOf().options({ stream: true }).remote(1);
  const ended = read(items);
  await new Promise((resolve) => setImmediate(resolve));
  items.cancel();
  connect();
  await expect(ended).rejects.toMatchObject({ code: "REQUEST_CANCELLED" });
  expect([calls, router.ongoing]).toEqual([[], 0]);
});

test("a stream does not end with the deadline of its request's head; a call does, and a stream with a limit of its own", async () => {
  routerOf("a", "b", "c");
  const limits: unknown[] = [];
  const methodOf = (answer: unknown): object => {
    const method = {
      options: ({ timeoutMs }: { timeoutMs: number }) => {
        limits.push(timeoutMs > 50_000 ? "the request's" : "its own");
        return method;
      },
      remote: ([, , , leftMs]: readonly [string, string, string, number]) => {
        limits.push(leftMs > 0);
        return answer;
      },
    };
    return method;
  };
  processRouters().findActor = async () => ({ call: methodOf(Promise.resolve("done")), stream: methodOf([]) }) as unknown as AnyActorHandle;
  const { run } = requestHere(Date.now() + 60_000);
  await run(() => read(runOf().options({ stream: true }).remote()));
  expect(limits.splice(0)).toEqual([false]);
  await run(() => read(runOf().options({ stream: true, timeoutMs: 5_000 }).remote()));
  expect(limits.splice(0)).toEqual(["its own", true]);
  await run(async () => expect(await runOf().remote()).toBe("done"));
  expect(limits).toEqual(["the request's", true]);
});
