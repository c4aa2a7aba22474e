import { expect, test } from "vitest";
import { afterReading } from "./after-reading.ts";

const untilTimers = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

test("calls back in the turn after its time was over, so that what had come is read before", async () => {
  const order: string[] = [];
  await new Promise<void>((resolve) => {
    afterReading(0, () => {
      order.push("limit");
      resolve();
    });
    setTimeout(() => order.push("timer"), 0);
  });
  expect(order).toEqual(["timer", "limit"]);
});

test("is taken back before its time and in the turn after it", async () => {
  let calls = 0;
  afterReading(0, () => (calls += 1))();
  const takeBack = afterReading(0, () => (calls += 1));
  setTimeout(takeBack, 0);
  await untilTimers();
  await new Promise(setImmediate);
  expect(calls).toBe(0);
});
