import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ProcessId } from "../../base/ids.ts";
import { CANCEL_GRACE_MS } from "../../base/limits.ts";
import { CallDeadlines } from "./call-deadlines.ts";
import { CALLER_ACTS_WITHIN_MS } from "./limits.ts";

const CALLER = "caller" as ProcessId;
const call = { caller: CALLER, callId: 3 };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function fixture(): { deadlines: CallDeadlines; log: string[] } {
  const log: string[] = [];
  const note =
    (what: string) =>
    ({ callId }: { callId: number }): void =>
      void log.push(`${what} ${callId}`);
  return { deadlines: new CallDeadlines({ interrupt: note("interrupt"), kill: note("kill") }), log };
}

test("a call whose caller acts in time is left alone", () => {
  const { deadlines, log } = fixture();
  deadlines.set(call, 500);
  vi.advanceTimersByTime(500 + CALLER_ACTS_WITHIN_MS - 1);
  deadlines.set(call, 0);
  vi.advanceTimersByTime(60_000);
  expect(log).toEqual([]);
});

test("a call that goes on is interrupted, and its worker ended after a while", () => {
  const { deadlines, log } = fixture();
  deadlines.set(call, 500);
  vi.advanceTimersByTime(500 + CALLER_ACTS_WITHIN_MS);
  expect(log).toEqual(["interrupt 3"]);
  vi.advanceTimersByTime(CANCEL_GRACE_MS);
  expect(log.at(-1)).toBe("kill 3");
  deadlines.set(call, 0);
  const { length } = log;
  vi.advanceTimersByTime(60_000);
  expect(log.length).toBe(length);
});

test("the deadlines of a process end with it", () => {
  const { deadlines, log } = fixture();
  deadlines.set(call, 500);
  deadlines.set({ caller: CALLER, callId: 4 }, 500);
  deadlines.callerGone(CALLER);
  deadlines.set({ caller: "other" as ProcessId, callId: 5 }, 500);
  deadlines.close();
  vi.advanceTimersByTime(60_000);
  expect(log).toEqual([]);
});

test("a limit that no timer can keep is left to the caller", () => {
  const { deadlines, log } = fixture();
  deadlines.set(call, 2 ** 31);
  vi.advanceTimersByTime(1000);
  expect(log).toEqual([]);
});
