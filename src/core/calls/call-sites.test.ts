/** How many calls get the stack that made them; the clock is played. */
import { beforeEach, expect, test } from "vitest";
import { CALL_SITES_BURST, CALL_SITES_PER_SECOND } from "../limits.ts";
import { CallSites } from "./call-sites.ts";

let nowMs: number;
let sites: CallSites;

beforeEach(() => {
  nowMs = 0;
  sites = new CallSites(() => nowMs);
});

function call(): string | undefined {
  return sites.above(call);
}

function captured(calls: number): number {
  let count = 0;
  for (let index = 0; index < calls; index += 1) count += call() === undefined ? 0 : 1;
  return count;
}

test("a stack begins above the function that makes the call", () => {
  const stack = (function program(): string | undefined {
    return call();
  })();
  expect(stack?.split("\n")[1]).toMatch(/at program .*call-sites\.test\.ts/);
});

test("a burst of calls gets stacks, and then a share of each second's", () => {
  expect(captured(100_000)).toBe(CALL_SITES_BURST);
  nowMs = 1000;
  expect(captured(100_000)).toBe(CALL_SITES_PER_SECOND);
  nowMs = 1000 * 3600;
  expect(captured(100_000)).toBe(CALL_SITES_BURST);
});

test("a program that switches stacks off gets none", () => {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  try {
    expect(call() ?? "").not.toContain("    at ");
  } finally {
    Error.stackTraceLimit = limit;
  }
});
