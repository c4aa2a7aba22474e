import { expect, test } from "vitest";
import type { DeploymentRoutes } from "./deployment-router.ts";
import { closeRouters, processRouters } from "./process-routers.ts";

const routes: DeploymentRoutes = {
  replicas: [{ id: "a", actorName: "actor a", nodeId: "n", models: [] }],
  maxOngoingRequests: 1,
  maxQueuedRequests: -1,
  backpressure: { statusCode: 503, retryAfterMs: undefined },
  idempotentMethods: [],
  routerId: undefined,
  requestRouterArgs: undefined,
};

test("a router goes with its deployment, and its watchers with it; a deployment of the same name has another", () => {
  const seen: string[] = [];
  const watch = (name: string): ReturnType<ReturnType<typeof processRouters>["router"]> =>
    processRouters().watch("app", "model", {
      added: ({ id }) => seen.push(`${name} has ${id}`),
      released: ({ id }) => seen.push(`${name} lets go of ${id}`),
      over: () => seen.push(`${name} is over`),
    });
  const first = watch("first");
  first.update(routes);
  first.update(null);
  expect([...processRouters().all]).toEqual([]);
  const second = watch("second");
  expect(second).not.toBe(first);
  // The former one's last word changes nothing for the next one.
  first.update(null);
  expect([...processRouters().all]).toEqual([second]);
  second.update(routes);
  expect(seen).toEqual(["first has a", "first lets go of a", "first is over", "second has a"]);
  closeRouters();
});
