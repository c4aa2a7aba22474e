/** What a process makes of what its daemon tells of a drain. */
import { expect, test, vi } from "vitest";
import { Preemption } from "./preemption.ts";

test("nothing is known until the daemon tells; then the signal aborts, once", () => {
  vi.useFakeTimers({ now: 5000 });
  const preemption = new Preemption();
  const heard = vi.fn<() => void>();
  preemption.signal.addEventListener("abort", heard);
  expect([preemption.info, preemption.signal.aborted]).toEqual([undefined, false]);
  preemption.told({ leftMs: undefined, reason: "preemption" });
  expect(preemption.info).toEqual({ deadlineMs: undefined, reason: "preemption" });
  preemption.told({ leftMs: 1000, reason: "preemption" });
  expect(preemption.info).toEqual({ deadlineMs: 6000, reason: "preemption" });
  expect(preemption.signal.reason).toEqual({ deadlineMs: undefined, reason: "preemption" });
  expect(heard).toHaveBeenCalledTimes(1);
  vi.useRealTimers();
});
