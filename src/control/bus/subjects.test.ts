/** Which subjects a pattern covers: NATS's own rules. */
import { expect, test } from "vitest";
import { matches } from "./subjects.ts";

test.each([
  ["a", "a", true],
  ["a", "b", false],
  ["a", "a.b", false],
  ["a.*", "a.b", true],
  ["a.*", "a", false],
  ["a.*", "a.b.c", false],
  ["*.b", "a.b", true],
  ["a.>", "a.b.c", true],
  ["a.>", "a", false],
  [">", "a.b", true],
  ["a.*.c", "a.b.c", true],
  ["a.*.c", "a.b.d", false],
])("%s and %s: %s", (pattern, subject, expected) => {
  expect(matches(pattern, subject)).toBe(expected);
});
