/** Tests that delays grow to a bound while a program fails, and restart after it ran well. */
import { expect, test } from "vitest";
import { RestartBackoff } from "./restart-backoff.ts";

test("delays double up to five seconds and begin anew after half a minute of work", () => {
  const backoff = new RestartBackoff();
  const delays = Array.from({ length: 9 }, () => backoff.afterExit(10));
  expect(delays).toEqual([100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000]);
  expect(backoff.afterExit(29_999)).toBe(5_000);
  expect(backoff.afterExit(30_000)).toBe(100);
  expect(backoff.afterExit(0)).toBe(200);
});
