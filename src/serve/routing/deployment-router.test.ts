import { expect, test, vi } from "vitest";
import { BackPressureError } from "../errors.ts";
import { metricSnapshots } from "../../metrics/registry.ts";
import { measureRouters } from "../metrics/router-metrics.ts";
import { type DeploymentRoutes, DeploymentRouter } from "./deployment-router.ts";
import type { RoutedReplica } from "./replica-set.ts";

const ports = { added: () => {}, retired: () => {}, released: () => {}, needed: () => {}, warn: () => {}, over: () => {} };
const request = { modelId: "", sessionId: "", method: "GET" };

function routes(maxQueuedRequests: number | undefined, replicas: readonly string[]): DeploymentRoutes {
  return {
    replicas: replicas.map((id) => ({ id, actorName: `actor ${id}`, nodeId: "n", models: [] })),
    maxOngoingRequests: 1,
    maxQueuedRequests,
    backpressure: { statusCode: 503, retryAfterMs: undefined },
    idempotentMethods: [],
    routerId: undefined,
    requestRouterArgs: undefined,
  };
}

/** Returns the outcome of each request: the replica's id, "full", or that it waits. */
async function outcomes(assigned: readonly unknown[]): Promise<string[]> {
  const found = assigned.map(() => "waits");
  assigned.forEach((one, index) => {
    Promise.resolve(one).then(
      (replica) => (found[index] = (replica as { id: string }).id),
      (error: unknown) => (found[index] = error instanceof BackPressureError ? "full" : String(error)),
    );
  });
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
  return found;
}

test("requests that came before the first routes are held to maxQueuedRequests, the first come first", async () => {
  const router = new DeploymentRouter("app", "model", ports);
  const assigned = Array.from({ length: 6 }, () => router.assign(request));
  expect(await outcomes(assigned)).toEqual(["waits", "waits", "waits", "waits", "waits", "waits"]);
  router.update(routes(2, ["a", "b"]));
  const [first, second, ...others] = await outcomes(assigned);
  expect(new Set([first, second])).toEqual(new Set(["a", "b"]));
  expect(others).toEqual(["waits", "waits", "full", "full"]);
  expect([router.queued, router.ongoing]).toEqual([2, 2]);
  // The limit holds for new requests: a smaller one refuses no waiting request.
  router.update(routes(0, ["a", "b"]));
  expect(router.queued).toBe(2);
  await expect(router.assign(request)).rejects.toThrow("0 requests of this process wait for it already");
  router.close();
  await outcomes(assigned);
});

test("one request more than maxQueuedRequests is sent away", async () => {
  const router = new DeploymentRouter("app", "model", ports);
  router.update(routes(2, ["a"]));
  const assigned = Array.from({ length: 4 }, () => router.assign(request));
  expect(await outcomes(assigned)).toEqual(["a", "waits", "waits", "full"]);
  router.close();
  await outcomes(assigned);
});

test("a replica that ends is released with the last request there", () => {
  const released: string[] = [];
  const router = new DeploymentRouter("app", "model", { ...ports, released: ({ id }) => void released.push(id) });
  router.update({ ...routes(-1, ["a"]), maxOngoingRequests: 2 });
  const [first, second] = [router.assign(request), router.assign(request)] as [RoutedReplica, RoutedReplica];
  router.update(routes(-1, []));
  router.ended(first);
  expect(released).toEqual([]);
  router.ended(second);
  expect(released).toEqual(["a"]);
  router.close();
});

test("without a limit nobody is sent away by the first routes", async () => {
  const router = new DeploymentRouter("app", "model", ports);
  const assigned = Array.from({ length: 3 }, () => router.assign(request));
  router.update(routes(-1, ["a"]));
  expect(await outcomes(assigned)).toEqual(["a", "waits", "waits"]);
  router.close();
  await outcomes(assigned);
});

test("is counted: what was placed at once, how long the others waited, and what is at each replica", async () => {
  const router = new DeploymentRouter("counted", "model", ports);
  measureRouters(() => [router]);
  router.update(routes(-1, ["a"]));
  const assigned = [router.assign(request), router.assign(request), router.assign(request)] as const;
  router.ended(assigned[0] as RoutedReplica);
  await assigned[1];
  const seriesOf = (name: string): { tags: readonly string[]; value: number; counts: readonly number[] }[] =>
    (metricSnapshots().find((metric) => metric.name === name)?.series ?? []) as ReturnType<typeof seriesOf>;
  const countOf = ({ counts }: { counts: readonly number[] }): number => counts.reduce((sum, count) => sum + count, 0);
  expect(seriesOf("serve_request_router_fulfillment_time_ms").map(countOf)).toEqual([2]);
  expect(seriesOf("serve_request_router_queue_len")).toMatchObject([{ tags: ["counted", "model", "a"], value: 1 }]);
  router.close();
  await outcomes(assigned);
  // A refused request was not placed, and reading again counts none twice.
  expect(seriesOf("serve_request_router_fulfillment_time_ms").map(countOf)).toEqual([2]);
});

test("all replicas are given out, the full one too, and count as taken until they are given back", async () => {
  const released: string[] = [];
  const router = new DeploymentRouter("app", "model", { ...ports, released: ({ id }) => released.push(id) });
  const every = router.everyReplica();
  router.update(routes(-1, ["a"]));
  const [only] = await every;
  expect([only?.id, router.ongoing, router.hasRoom]).toEqual(["a", 1, false]);
  router.update(routes(-1, ["a", "b"]));
  const all = await router.everyReplica();
  expect(all.map(({ id }) => id)).toEqual(["a", "b"]);
  router.update(routes(-1, []));
  expect(released).toEqual([]);
  for (const replica of [...all, only as (typeof all)[number]]) router.ended(replica);
  expect(released.sort()).toEqual(["a", "b"]);
  router.close();
});

test("a router whose deployment is deleted is over when its last request is", async () => {
  let overs = 0;
  const router = new DeploymentRouter("app", "model", { ...ports, over: () => (overs += 1) });
  router.update(routes(-1, ["a", "b"]));
  const [first, second] = [router.assign(request), router.assign(request)] as [RoutedReplica, RoutedReplica];
  const waiting = router.assign(request);
  router.update(null);
  await expect(waiting).rejects.toThrow("it does not exist, or was deleted");
  router.ended(first);
  expect(overs).toBe(0);
  router.lost(second);
  expect(overs).toBe(1);
  const idle = new DeploymentRouter("app", "other", { ...ports, over: () => (overs += 1) });
  idle.update(routes(-1, ["a"]));
  idle.update(null);
  expect(overs).toBe(2);
});

test("a router is settled once routes hold whose own router was to be loaded, also where that fails", async () => {
  const failed = vi.spyOn(console, "error").mockImplementation(() => {});
  const router = new DeploymentRouter("app", "model", ports);
  router.update(routes(-1, ["a"]));
  await router.settled;
  const next = { ...routes(-1, ["b"]), routerId: "no such code" };
  router.update(next);
  expect(router.held).toEqual(["a"]);
  await router.settled;
  expect([router.held, router.routes]).toEqual([["b"], next]);
  expect(failed.mock.calls.map(([message]) => message)).toEqual([
    "Cannot make the requestRouter of a deployment, so power of two choices is used:",
  ]);
  failed.mockRestore();
});

test("a request that waits for a place is reported after five seconds, with the deployment and the limit, and not again for a minute", async () => {
  vi.useFakeTimers();
  try {
    const warned: string[] = [];
    const router = new DeploymentRouter("room", "Chat", { ...ports, warn: (text) => void warned.push(text) });
    router.update(routes(-1, ["a"]));
    const held = router.assign(request) as RoutedReplica;
    const waits = [router.assign(request), router.assign(request)];
    vi.advanceTimersByTime(4_900);
    expect(warned).toEqual([]);
    vi.advanceTimersByTime(1_200);
    expect(warned).toEqual([
      expect.stringMatching(
        /^2 requests wait for deployment Chat of application room, the first for [56] s: its replica has maxOngoingRequests \(1\) under way\. Raise /,
      ),
    ]);
    vi.advanceTimersByTime(50_000);
    expect(warned.length).toBe(1);
    vi.advanceTimersByTime(12_000);
    expect(warned.length).toBe(2);
    router.ended(held);
    router.close();
    await outcomes(waits);
    vi.advanceTimersByTime(120_000);
    expect([warned.length, vi.getTimerCount()]).toEqual([2, 0]);
  } finally {
    vi.useRealTimers();
  }
});

test("the limit of a proxy holds where the deployment sets none, and no handle has it", async () => {
  const router = new DeploymentRouter("app", "model", ports);
  router.update(routes(undefined, ["a"]));
  const proxied = Array.from({ length: 4 }, () => router.assign(request, undefined, 2));
  const called = router.assign(request);
  expect(await outcomes([...proxied, called])).toEqual(["a", "waits", "waits", "full", "waits"]);
  router.update(routes(-1, ["a"]));
  expect(await outcomes([router.assign(request, undefined, 2)])).toEqual(["waits"]);
  router.close();
  await outcomes([...proxied, called]);
});
