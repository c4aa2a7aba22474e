import { expect, test } from "vitest";
import { ControllerMetrics, type CountedDeployment } from "./controller-metrics.ts";
import { metricSnapshots } from "../../metrics/registry.ts";

function scaled(name: string): CountedDeployment {
  return { app: "shop", name, status: "HEALTHY", count: 1, decision: { requests: 0, wanted: 1 }, targetOngoing: 2, healthy: [] };
}

test("the time of a policy goes with its deployment, and does not come back with another one of its name", () => {
  let deployments = [scaled("Cart"), scaled("Search")];
  const metrics = new ControllerMetrics("actor", {
    deployments: () => deployments,
    applications: () => [],
    proxies: () => [],
    subscribers: () => [],
    reports: () => [],
  });
  const times = (): unknown[] | undefined =>
    metricSnapshots()
      .find(({ name }) => name === "serve_autoscaling_policy_execution_time_ms")
      ?.series.map(({ tags, value }) => [...tags, value]);
  metrics.policyRan("shop", "Cart", 3);
  metrics.policyRan("shop", "Search", 5);
  expect(times()).toEqual([
    ["shop", "Cart", "deployment", 3],
    ["shop", "Search", "deployment", 5],
  ]);
  deployments = [scaled("Search")];
  expect(times()).toEqual([["shop", "Search", "deployment", 5]]);
  deployments = [scaled("Cart")];
  expect(times()).toEqual([]);
});
