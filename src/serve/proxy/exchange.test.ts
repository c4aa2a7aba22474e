import { expect, test } from "vitest";
import { DeploymentRouter, type DeploymentRoutes } from "../routing/deployment-router.ts";
import type { RoutedReplica } from "../routing/replica-set.ts";
import { FRAME } from "../wire/frames.ts";
import { Exchange, type IncomingRequest, type ReplyPort } from "./exchange.ts";
import type { ReplicaLinks } from "./replica-links.ts";

const ports = { added: () => {}, retired: () => {}, released: () => {}, needed: () => {}, warn: () => {}, over: () => {} };
const request = (method: string): IncomingRequest => ({
  kind: FRAME.REQUEST,
  head: { method, url: "/", requestId: "one", timeoutMs: 0, modelId: "", client: "", headers: [] },
  body: new Uint8Array(0),
  sessionId: "",
});

function routerOf(ids: readonly string[], idempotentMethods: readonly string[] = []): DeploymentRouter {
  const router = new DeploymentRouter("app", "model", ports);
  const routes: DeploymentRoutes = {
    replicas: ids.map((id) => ({ id, actorName: `actor ${id}`, nodeId: "n", models: [] })),
    maxOngoingRequests: 1,
    maxQueuedRequests: -1,
    backpressure: { statusCode: 503, retryAfterMs: undefined },
    idempotentMethods,
    routerId: undefined,
    requestRouterArgs: undefined,
  };
  router.update(routes);
  return router;
}

/** Sends a request. @returns the status that the client gets, and the replicas that were tried */
async function send(router: DeploymentRouter, method: string, clientOf: (id: string) => unknown): Promise<[number, Set<string>]> {
  const tried = new Set<string>();
  const status = await new Promise<number>((resolve) => {
    const reply: ReplyPort = { respond: (head) => resolve(head.status), refuse: (code) => resolve(code), abort: () => resolve(-1) };
    const links = {
      clientOf: ({ id }: RoutedReplica) => {
        tried.add(id);
        return clientOf(id);
      },
    } as unknown as ReplicaLinks;
    new Exchange(request(method), reply, { router, links }).start();
  });
  return [status, tried];
}

test("a request that has not begun meets any number of replicas that are gone", async () => {
  const dead = Array.from({ length: 9 }, (_, index) => `dead ${index}`);
  const answers = {
    open: (_head: unknown, _body: unknown, events: { responded(head: object, body: Uint8Array): void }) => {
      queueMicrotask(() => events.responded({ status: 200, headers: [] }, new Uint8Array(0)));
      return {};
    },
  };
  for (let round = 0; round < 5; round += 1) {
    const router = routerOf([...dead, "alive"]);
    const [status, tried] = await send(router, "POST", (id) => (id === "alive" ? answers : Promise.reject(new Error("it is gone"))));
    expect([status, tried.has("alive")]).toEqual([200, true]);
    router.close();
  }
});

test("a request that replicas die of takes four of them along at most, and one where it may not run twice", async () => {
  const ids = Array.from({ length: 9 }, (_, index) => `replica ${index}`);
  const dies = {
    open: (_head: unknown, _body: unknown, events: { failed(error: Error, mayHaveBegun: boolean): void }) => {
      queueMicrotask(() => events.failed(new Error("it died"), true));
      return {};
    },
  };
  const router = routerOf(ids, ["PUT"]);
  const [repeated, once] = [await send(router, "PUT", () => dies), await send(router, "POST", () => dies)];
  expect([repeated[0], repeated[1].size]).toEqual([500, 4]);
  expect([once[0], once[1].size]).toEqual([500, 1]);
  router.close();
});
