import { expect, test } from "vitest";
import type { AutoscalingConfig } from "../../deployments/deployment-config.ts";
import { Autoscaler, type AutoscalingContext, desiredReplicas, loadOf } from "./autoscaling-policy.ts";

const config: AutoscalingConfig = {
  minReplicas: 1,
  maxReplicas: 10,
  initialReplicas: undefined,
  targetOngoingRequests: 2,
  upscaleDelayMs: 3000,
  downscaleDelayMs: 10_000,
  downscaleToZeroDelayMs: undefined,
  lookBackPeriodMs: 2000,
  upscalingFactor: 1,
  downscalingFactor: 1,
  aggregationFunction: "mean",
  policyArgs: undefined,
  policyId: undefined,
};

function context(more: Partial<AutoscalingContext>): AutoscalingContext {
  return { app: "app", deployment: "D", currentReplicas: 1, runningReplicas: 1, totalRequests: 0, samples: [], config, ...more };
}

test("the load divided by what one replica is to carry, rounded up", () => {
  expect(desiredReplicas(context({ currentReplicas: 4, totalRequests: 8 }))).toBe(4);
  expect(desiredReplicas(context({ currentReplicas: 4, totalRequests: 9 }))).toBe(5);
  expect(desiredReplicas(context({ currentReplicas: 4, totalRequests: 2 }))).toBe(1);
  expect(desiredReplicas(context({ currentReplicas: 4, totalRequests: 0 }))).toBe(0);
});

test("factors make steps smaller, and never so small that there is none", () => {
  const half = { ...config, upscalingFactor: 0.5, downscalingFactor: 0.1 };
  expect(desiredReplicas(context({ currentReplicas: 4, totalRequests: 16, config: half }))).toBe(6);
  expect(desiredReplicas(context({ currentReplicas: 4, totalRequests: 7, config: half }))).toBe(3);
});

test("from zero the newest sample decides", () => {
  const samples = [
    { atMs: 0, requests: 0 },
    { atMs: 1, requests: 5 },
  ];
  expect(desiredReplicas(context({ currentReplicas: 0, samples }))).toBe(3);
  expect(desiredReplicas(context({ currentReplicas: 0, samples: [] }))).toBe(0);
});

test("samples are aggregated over the time looked at", () => {
  const samples = [
    { atMs: 0, requests: 100 },
    { atMs: 3000, requests: 2 },
    { atMs: 4000, requests: 4 },
  ];
  expect(loadOf(samples, config, 4000)).toBe(3);
  expect(loadOf(samples, { ...config, aggregationFunction: "max" }, 4000)).toBe(4);
  expect(loadOf(samples, { ...config, aggregationFunction: "min" }, 4000)).toBe(2);
  expect(loadOf([], config, 0)).toBe(0);
});

test("a change waits for its delay, and one in the other direction begins anew", () => {
  const scaler = new Autoscaler();
  const at = (nowMs: number, wanted: number, current: number): number =>
    scaler.decide(wanted, context({ currentReplicas: current }), nowMs);
  expect(at(0, 5, 2)).toBe(2);
  expect(at(2999, 5, 2)).toBe(2);
  expect(at(3000, 6, 2)).toBe(6);
  expect(at(4000, 1, 6)).toBe(6);
  expect(at(9000, 7, 6)).toBe(6);
  expect(at(13_000, 1, 6)).toBe(6);
  expect(at(23_000, 1, 6)).toBe(1);
  // A number outside the bounds is corrected at once, without a delay.
  expect(at(23_001, 50, 20)).toBe(10);
});

test("the step to zero has a delay of its own, and the last step before it has not", () => {
  const scaler = new Autoscaler();
  const toZero = { ...config, minReplicas: 0, downscaleToZeroDelayMs: 60_000 };
  const at = (nowMs: number, wanted: number, current: number): number =>
    scaler.decide(wanted, context({ currentReplicas: current, config: toZero }), nowMs);
  expect([at(0, 1, 3), at(10_000, 1, 3)]).toEqual([3, 1]);
  expect([at(20_000, 0, 1), at(79_999, 0, 1), at(80_000, 0, 1)]).toEqual([1, 1, 0]);
});

test("samples that are too old are let go of", () => {
  const scaler = new Autoscaler();
  for (let atMs = 0; atMs <= 100_000; atMs += 100) scaler.observe({ atMs, requests: 1 }, 2000);
  expect(scaler.samples.length).toBeLessThan(25);
});
