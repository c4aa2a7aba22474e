import { expect, test } from "vitest";
import { EventLoopTime } from "./event-loop-time.ts";

test("counts what passes from tick to tick, and of a standstill as much as of a tick that is a little late", () => {
  let nowMs = 1000;
  const time = new EventLoopTime(() => nowMs, 50);
  const tickAfter = (ms: number): number => {
    nowMs += ms;
    time.tick();
    return time.ms;
  };
  time.begin();
  expect([tickAfter(50), tickAfter(70), tickAfter(10_000), tickAfter(50)]).toEqual([50, 120, 220, 270]);
});

test("counts nothing of the time in which nobody ticked", () => {
  let nowMs = 0;
  const time = new EventLoopTime(() => nowMs, 50);
  nowMs = 90;
  time.begin();
  nowMs = 100;
  time.tick();
  expect(time.ms).toBe(10);
});
