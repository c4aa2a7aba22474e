import { expect, test } from "vitest";
import { resourceVector } from "./resources.ts";

test("resource vectors are equal by key whatever the order, and without what is zero", () => {
  expect(resourceVector({ GPU: 0.25, CPU: 1, x: 0 }).key).toBe("CPU:10000,GPU:2500");
  expect(resourceVector({}).key).toBe("");
});
