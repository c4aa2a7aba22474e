import { expect, test } from "vitest";
import { Utilization } from "./utilization.ts";

test("is the part of the requests that a replica may have, since it began or over the last minute", () => {
  const used = new Utilization(1000);
  expect(used.percent(4, 1000)).toBe(0);
  used.changed(2, 1000);
  expect(used.percent(4, 11_000)).toBeCloseTo(50);
  used.changed(0, 11_000);
  expect(used.percent(4, 21_000)).toBeCloseTo(25);
  // The busy time leaves the minute.
  expect(used.percent(4, 66_000)).toBeCloseTo((100 * 2 * 5) / (60 * 4));
  expect(used.percent(4, 71_000)).toBeCloseTo(0);
});

test("is near for what changes seldom, and for what changes often", () => {
  const used = new Utilization(0);
  used.changed(1, 0);
  used.changed(0, 500);
  // A request for a second, after an hour.
  used.changed(1, 3_600_000);
  used.changed(0, 3_601_000);
  expect(used.percent(1, 3_601_000)).toBeCloseTo(100 / 60, 1);
  const busy = new Utilization(0);
  for (let atMs = 0; atMs < 600_000; atMs += 10) busy.changed((atMs / 10) % 2, atMs);
  expect(busy.percent(1, 600_000)).toBeCloseTo(50, 0);
});
