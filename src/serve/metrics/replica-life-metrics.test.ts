/** Counts and times of replicas' starts, health checks and ends. */
import { expect, test } from "vitest";
import { metricSnapshots } from "../../metrics/registry.ts";
import { proxyEnded, ReplicaLifeMetrics } from "./replica-life-metrics.ts";

/** Tags, sum or number, and how many were counted. */
function seriesOf(name: string): unknown[] {
  const found = metricSnapshots().find((metric) => metric.name === name);
  return (found?.series ?? []).map(({ tags, value, counts }) => [tags, value, counts.reduce((sum, count) => sum + count, 0)]);
}

test("times of starts, configurations and health checks", () => {
  const life = new ReplicaLifeMetrics();
  life.started("shop#Cart#1", { tookMs: 90, codeTookMs: 40 });
  life.started("shop#Cart#2", { tookMs: 110, codeTookMs: 60 });
  life.reconfigured("shop#Cart#1", 7);
  life.checked("shop#Cart#1", { tookMs: 2, isHealthy: true });
  life.checked("shop#Cart#2", { tookMs: 500, isHealthy: false });
  const cart = ["shop", "Cart"];
  expect(seriesOf("serve_replica_startup_latency_ms")).toEqual([[cart, 200, 2]]);
  expect(seriesOf("serve_replica_initialization_latency_ms")).toEqual([[cart, 100, 2]]);
  expect(seriesOf("serve_replica_reconfigure_latency_ms")).toEqual([[cart, 7, 1]]);
  expect(seriesOf("serve_health_check_latency_ms")).toEqual([[cart, 502, 2]]);
  expect(seriesOf("serve_health_check_failures_total")).toEqual([[[...cart, "shop#Cart#2"], 1, 0]]);
});

test("an end counts from its first order, and one that nobody ordered does not", () => {
  const life = new ReplicaLifeMetrics();
  life.ended("shop#Till#1", 50);
  expect(seriesOf("serve_replica_shutdown_duration_ms")).toEqual([]);
  life.ending("shop#Till#2", 100);
  life.ending("shop#Till#2", 140);
  life.ended("shop#Till#2", 150);
  life.ended("shop#Till#2", 170);
  expect(seriesOf("serve_replica_shutdown_duration_ms")).toEqual([[["shop", "Till"], 50, 1]]);
});

test("the end of a proxy counts for its node", () => {
  proxyEnded("n1", 30);
  proxyEnded("n1", 50);
  expect(seriesOf("serve_proxy_shutdown_duration_ms")).toEqual([[["n1"], 80, 2]]);
});
