import { expect, test, vi } from "vitest";
import { timeoutAfterIo } from "./timeout-after-io.ts";

test("calls back in the turn after its time was over, so that what had come is read before", async () => {
  const order: string[] = [];
  await new Promise<void>((resolve) => {
    timeoutAfterIo(0, () => {
      order.push("limit");
      resolve();
    });
    setTimeout(() => order.push("timer"), 0);
    // Both are over when the loop looks next, so it runs both timers in one turn.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
  });
  expect(order).toEqual(["timer", "limit"]);
});

test("is taken back before its time and in the turn after it", () => {
  vi.useFakeTimers();
  try {
    let calls = 0;
    timeoutAfterIo(5, () => (calls += 1))();
    const takeBack = timeoutAfterIo(5, () => (calls += 1));
    // The timeout is over; the next turn is still ahead.
    vi.advanceTimersToNextTimer();
    expect(vi.getTimerCount()).toBe(1);
    takeBack();
    vi.runAllTimers();
    expect(calls).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});
