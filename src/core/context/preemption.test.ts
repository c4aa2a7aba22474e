/** How a process takes its daemon's notices of a drain. */
import { expect, test, vi } from "vitest";
import { Preemption } from "./preemption.ts";

test("nothing is known until the daemon tells; then the signal aborts, once, and followers hear of each notice", () => {
  vi.useFakeTimers({ now: 5000 });
  const preemption = new Preemption();
  const heard = vi.fn<() => void>();
  preemption.signal.addEventListener("abort", heard);
  expect([preemption.info, preemption.signal.aborted]).toEqual([undefined, false]);
  const followed = vi.fn<(notice: object) => void>();
  const unfollow = preemption.follow(followed);
  preemption.told({ leftMs: undefined, reason: "preemption" });
  expect(preemption.info).toEqual({ deadlineMs: undefined, reason: "preemption" });
  preemption.told({ leftMs: 1000, reason: "preemption" });
  expect(preemption.info).toEqual({ deadlineMs: 6000, reason: "preemption" });
  expect(preemption.signal.reason).toEqual({ deadlineMs: undefined, reason: "preemption" });
  expect(heard).toHaveBeenCalledTimes(1);
  const late = vi.fn<(notice: object) => void>();
  preemption.follow(late);
  unfollow();
  preemption.told({ leftMs: 500, reason: "idle" });
  expect(followed.mock.calls.map(([notice]) => notice)).toEqual([
    { deadlineMs: undefined, reason: "preemption" },
    { deadlineMs: 6000, reason: "preemption" },
  ]);
  expect(late.mock.calls.map(([notice]) => notice)).toEqual([
    { deadlineMs: 6000, reason: "preemption" },
    { deadlineMs: 5500, reason: "idle" },
  ]);
  vi.useRealTimers();
});
