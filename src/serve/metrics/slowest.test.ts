import { expect, test } from "vitest";
import { Slowest } from "./slowest.ts";

test("is the longest of the last minute", () => {
  const slowest = new Slowest();
  expect(slowest.valueAt(5_000)).toBe(0);
  slowest.observe(30, 5_000);
  slowest.observe(80, 25_000);
  slowest.observe(40, 26_000);
  expect(slowest.valueAt(59_000)).toBe(80);
  slowest.observe(10, 75_000);
  expect(slowest.valueAt(79_000)).toBe(80);
  expect(slowest.valueAt(81_000)).toBe(10);
  // After an hour of rest nothing is left.
  expect(slowest.valueAt(3_600_000)).toBe(0);
});
