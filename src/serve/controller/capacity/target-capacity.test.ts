import { expect, test } from "vitest";
import type { TargetCapacity } from "../../deployments/deployment-config.ts";
import { type DeploymentOptions, resolveDeploymentOptions } from "../../deployments/deployment-options.ts";
import { configAt, nextCapacity } from "./target-capacity.ts";

function numbersAt(options: DeploymentOptions, percent: number, direction: TargetCapacity["direction"] = "down"): (number | undefined)[] {
  const { numReplicas, autoscaling } = configAt(resolveDeploymentOptions("A", options).config, { percent, direction });
  return autoscaling === undefined ? [numReplicas] : [numReplicas, autoscaling.minReplicas, autoscaling.maxReplicas];
}

test.each([
  [4, 100, 4],
  [4, 50, 2],
  [5, 50, 3],
  [3, 50, 2],
  [10, 12.5, 1],
  [10, 25, 3],
  [3, 1, 1],
  [3, 0, 0],
])("of %i replicas %d percent are %i", (numReplicas, percent, expected) => {
  expect(numbersAt({ numReplicas }, percent)).toEqual([expected]);
});

test("gangs are whole", () => {
  const gangs = { numReplicas: 12, gangConfig: { gangSize: 4 } };
  expect([10, 40, 50, 70].map((percent) => numbersAt(gangs, percent)[0])).toEqual([4, 4, 8, 8]);
});

test("bounds of autoscaling shrink; on the way up the least is the initial number", () => {
  const autoscalingConfig = { minReplicas: 2, initialReplicas: 6, maxReplicas: 10 };
  expect(numbersAt({ autoscalingConfig }, 50)).toEqual([3, 1, 5]);
  expect(numbersAt({ autoscalingConfig }, 50, "up")).toEqual([3, 3, 5]);
  expect(numbersAt({ autoscalingConfig: { minReplicas: 0, maxReplicas: 10 } }, 50, "up")).toEqual([0, 0, 5]);
  expect(numbersAt({ autoscalingConfig }, 0, "up")).toEqual([0, 0, 0]);
});

test("new applications go up; the same ones go where the percentage goes, from all of it where there was none", () => {
  const apps = ["a", "b"];
  const next = (former: TargetCapacity | undefined, percent: number | undefined): TargetCapacity | undefined =>
    nextCapacity({ apps: ["b", "a"], capacity: former }, { apps, percent });
  expect(nextCapacity(undefined, { apps, percent: 50 })).toEqual({ percent: 50, direction: "up" });
  expect(nextCapacity({ apps: ["a"], capacity: { percent: 80, direction: "down" } }, { apps, percent: 50 })?.direction).toBe("up");
  expect(next(undefined, 100)?.direction).toBe("down");
  expect(next({ percent: 20, direction: "up" }, 50)?.direction).toBe("up");
  expect(next({ percent: 50, direction: "up" }, 20)?.direction).toBe("down");
  expect(next({ percent: 50, direction: "up" }, 50)).toEqual({ percent: 50, direction: "up" });
  expect(next({ percent: 50, direction: "up" }, undefined)).toBeUndefined();
});
