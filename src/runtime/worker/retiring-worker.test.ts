import { expect, test } from "vitest";
import { RetiringWorker } from "./retiring-worker.ts";

test("a process retires when the last call begins that a function may have there, and says so once", () => {
  let told = 0;
  const worker = new RetiringWorker(() => (told += 1));
  worker.begins("f", 3);
  worker.begins("g", 2);
  worker.begins("f", 3);
  expect([worker.isRetiring, told]).toEqual([false, 0]);
  worker.begins("g", 2);
  expect([worker.isRetiring, told]).toEqual([true, 1]);
  // What was under way when it began to retire may begin still: it is told once.
  worker.begins("f", 3);
  expect(told).toBe(1);
});

test("calls of one function under two limits are counted together", () => {
  const worker = new RetiringWorker(() => {});
  worker.begins("f", 5);
  worker.begins("f", 2);
  expect(worker.isRetiring).toBe(true);
});
