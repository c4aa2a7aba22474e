/** A worker's clock is moved by hand: what matters is what it held, and since when nothing was touched. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { QuietCollector } from "./quiet-collector.ts";

let isKeeping: boolean;
let collectMs: number;
let collectedMs: number[];
let collector: QuietCollector;

beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
  isKeeping = true;
  collectMs = 0;
  collectedMs = [];
  collector = new QuietCollector({
    collect: () => {
      collectedMs.push(Date.now());
      vi.setSystemTime(Date.now() + collectMs);
    },
    isKeeping: () => isKeeping,
    nowMs: () => Date.now(),
  });
});

afterEach(() => {
  collector.close();
  vi.useRealTimers();
});

test("a worker that was never touched, or has nothing left, does not collect", () => {
  vi.advanceTimersByTime(100_000);
  collector.touched();
  isKeeping = false;
  vi.advanceTimersByTime(100_000);
  expect(collectedMs).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});

test("a worker collects once it has been quiet for a second, and not while it reads", () => {
  for (let ms = 0; ms < 5000; ms += 500) {
    collector.touched();
    vi.advanceTimersByTime(500);
  }
  expect(collectedMs).toEqual([]);
  vi.advanceTimersByTime(1500);
  expect(collectedMs).toHaveLength(1);
});

test("what a long task drops at its end is collected, too, and then nothing more is looked at", () => {
  collector.touched();
  // The task still uses views of its arguments, so a collection frees nothing yet.
  vi.advanceTimersByTime(10_000);
  const fruitless = collectedMs.length;
  vi.advanceTimersByTime(10_000);
  expect(collectedMs.length).toBeGreaterThan(fruitless);
  isKeeping = false;
  vi.advanceTimersByTime(20_000);
  expect(vi.getTimerCount()).toBe(0);
});

test("what is kept for good costs a collection a minute, and the next touch is waited for no longer than at first", () => {
  collector.touched();
  vi.advanceTimersByTime(200_000);
  const before = collectedMs.length;
  vi.advanceTimersByTime(600_000);
  expect(collectedMs.length - before).toBe(10);
  collector.touched();
  vi.advanceTimersByTime(2000);
  expect(collectedMs.length - before).toBe(11);
});

test("collections that are slow take a hundredth of the time", () => {
  collectMs = 5000;
  collector.touched();
  vi.advanceTimersByTime(2000);
  expect(collectedMs).toHaveLength(1);
  vi.advanceTimersByTime(499_000);
  expect(collectedMs).toHaveLength(1);
  vi.advanceTimersByTime(6000);
  expect(collectedMs).toHaveLength(2);
});
