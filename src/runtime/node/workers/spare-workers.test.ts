/** Spare workers: their start, their takers, and that none is left. */
import { expect, test } from "vitest";
import { SpareWorkers } from "./spare-workers.ts";

function make(count: number): { spares: SpareWorkers<number>; log: string[]; timers: (() => void)[]; gone: Map<number, () => void> } {
  const log: string[] = [];
  const timers: (() => void)[] = [];
  const gone = new Map<number, () => void>();
  let next = 0;
  const spares = new SpareWorkers<number>({
    count,
    start: (ended) => {
      next += 1;
      log.push(`start ${next}`);
      gone.set(next, ended);
      return next;
    },
    end: (spare) => log.push(`end ${spare}`),
    later: (callback) => {
      timers.push(callback);
      return () => timers.splice(timers.indexOf(callback), 1);
    },
  });
  return { spares, log, timers, gone };
}

test("the oldest is taken first, and others start a while after the first was taken, whoever asks in between", () => {
  const { spares, log, timers } = make(2);
  spares.fill();
  expect(spares.take()).toBe(1);
  const [first] = timers;
  expect([spares.take(), spares.take()]).toEqual([2, undefined]);
  expect(timers).toEqual([first]);
  first?.();
  expect(log).toEqual(["start 1", "start 2", "start 3", "start 4"]);
  expect(spares.take()).toBe(3);
  expect(timers).toHaveLength(2);
});

test("who takes one after the other finds one each time, until it takes no more", () => {
  const { spares, log, timers } = make(2);
  spares.fill();
  const taken = Array.from({ length: 6 }, () => spares.take());
  expect(taken).toEqual([1, 2, undefined, undefined, 3, 4]);
  expect(log).toHaveLength(6);
  timers.shift()?.();
  expect([spares.take(), spares.take()]).toEqual([5, 6]);
  expect(log).toHaveLength(8);
  // Few takers: the time of the first work of a job is its own again.
  timers.shift()?.();
  timers.shift()?.();
  expect(timers).toEqual([]);
  spares.take();
  expect(log).toHaveLength(8);
  timers.shift()?.();
  expect(log).toHaveLength(9);
});

test("one that has ended is not given away", () => {
  const { spares, gone } = make(1);
  spares.fill();
  gone.get(1)?.();
  expect(spares.take()).toBeUndefined();
});

test("none is left at the end, and none is started or given away after it", async () => {
  const { spares, log, timers, gone } = make(3);
  spares.fill();
  spares.take();
  void spares.close().then(() => log.push("closed"));
  spares.fill();
  expect(spares.take()).toBeUndefined();
  expect(timers).toEqual([]);
  gone.get(2)?.();
  await Promise.resolve();
  expect(log).toEqual(["start 1", "start 2", "start 3", "end 2", "end 3"]);
  gone.get(3)?.();
  await Promise.resolve();
  expect(log.at(-1)).toBe("closed");
  await make(0).spares.close();
});

test("where none are wanted nothing happens", () => {
  const { spares, timers } = make(0);
  spares.fill();
  expect(spares.take()).toBeUndefined();
  expect(timers).toEqual([]);
});
