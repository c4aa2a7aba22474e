/** When a node that is drained goes; timers are made up. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Drain } from "./drain.ts";

let busy = 0;
let done: string[] = [];

beforeEach(() => {
  vi.useFakeTimers();
  busy = 2;
  done = [];
});
afterEach(() => vi.useRealTimers());

function drain(deadlineMs?: number): Drain {
  return new Drain({
    busy: () => busy,
    deadlineMs,
    reason: "preemption",
    nowMs: () => performance.now(),
    onDone: (reason) => done.push(reason),
  });
}

test("it goes when nothing has run for a moment, and not between two tasks", () => {
  drain();
  vi.advanceTimersByTime(60_000);
  busy = 0;
  vi.advanceTimersByTime(200);
  busy = 1;
  vi.advanceTimersByTime(100);
  busy = 0;
  vi.advanceTimersByTime(200);
  expect(done).toEqual([]);
  vi.advanceTimersByTime(100);
  expect(done).toEqual(["it was drained"]);
  vi.advanceTimersByTime(60_000);
  expect(done).toHaveLength(1);
});

test("at the deadline it goes with what runs", () => {
  drain(1000);
  vi.advanceTimersByTime(900);
  expect(done).toEqual([]);
  vi.advanceTimersByTime(100);
  expect(done).toEqual(["it was drained, and its time was over with 2 tasks, actors and programs on it"]);
});

test("a node that ends meanwhile does not go a second time", () => {
  drain(1000).close();
  vi.advanceTimersByTime(5000);
  expect(done).toEqual([]);
});

test("what it tells of the time that is left shrinks, and is never below nothing", () => {
  const node = drain(1000);
  expect(node.notice).toEqual({ leftMs: 1000, reason: "preemption" });
  vi.advanceTimersByTime(400);
  expect(node.notice.leftMs).toBe(600);
  vi.advanceTimersByTime(5000);
  expect(node.notice.leftMs).toBe(0);
  expect(drain().notice).toEqual({ leftMs: undefined, reason: "preemption" });
});
