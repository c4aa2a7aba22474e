/** Scheduling over many nodes in virtual time: everybody is served, in time, and by other nodes where the own one is full. */
import { expect, test } from "vitest";
import { SchedulingSimulation } from "../sim/scheduling.ts";

const LOADS = [0.5, 0.95] as const;

for (const load of LOADS) {
  test(`100 nodes at a load of ${load}: what waits is spread over the nodes and begins soon`, () => {
    const result = new SchedulingSimulation({
      nodes: 100,
      slots: 16,
      drivers: 10,
      taskMs: 1000,
      load,
      durationMs: 3000,
      seed: 3,
    }).run();
    expect(result.left).toBe(0);
    expect(result.tasks).toBeGreaterThan(load * 100 * 16 * 2);
    // Most of a driver's work has to leave its node, which has a tenth of the resources.
    expect(result.remotePart).toBeGreaterThan(0.8);
    expect(result.waitP50Ms).toBeLessThan(10);
    expect(result.waitP99Ms).toBeLessThan(load < 0.9 ? 20 : 500);
  });
}

test("more work than the cluster has: nobody starves, and what was left is done in the end", () => {
  const result = new SchedulingSimulation({ nodes: 20, slots: 4, drivers: 10, taskMs: 200, load: 1.5, durationMs: 5000, seed: 5 }).run();
  expect(result.left).toBe(0);
  expect(result.unfairness).toBeLessThan(1.6);
});

test("the same seed gives the same run", () => {
  const run = () => {
    const { decisionUs: _real, ...result } = new SchedulingSimulation({
      nodes: 30,
      slots: 4,
      drivers: 6,
      taskMs: 100,
      load: 0.9,
      durationMs: 1000,
      seed: 9,
    }).run();
    return result;
  };
  expect(run()).toEqual(run());
});
