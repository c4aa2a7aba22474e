/** The queue of calls to callbacks, which the loop of an experiment does not wait for. */
import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { CallbackQueue, type TuneCallback } from "./callbacks.ts";
import { CALLBACKS_WAITING_MAX } from "../limits.ts";

test("calls wait for a slow callback, in order, and the loop does not until very many wait", async () => {
  const slow = Promise.withResolvers<void>();
  const seen: unknown[] = [];
  const callback: TuneCallback = {
    onTrialResult: async (info) => {
      await slow.promise;
      seen.push((info as unknown as { n: number }).n);
    },
  };
  const queue = new CallbackQueue([callback], expect.unreachable);
  for (let n = 0; n <= CALLBACKS_WAITING_MAX; n += 1) queue.call("onTrialResult", { n });
  // The first call is with the callback.
  expect(queue.pressure).toBeUndefined();
  queue.call("onTrialResult", { n: CALLBACKS_WAITING_MAX + 1 });
  const { pressure } = queue;
  expect(pressure).toBeInstanceOf(Promise);
  await turn();
  expect(seen).toEqual([]);
  slow.resolve();
  await pressure;
  expect(seen).toEqual(Array.from({ length: CALLBACKS_WAITING_MAX + 2 }, (_, n) => n));
  expect(queue.pressure).toBeUndefined();
  await queue.settled();
});

test("a callback that throws synchronously is called again, and so are those after it", async () => {
  const seen: number[] = [];
  const failing: TuneCallback = {
    onTrialStart: (info) => {
      seen.push((info as unknown as { n: number }).n);
      throw new Error("no");
    },
  };
  const queue = new CallbackQueue([failing], () => {});
  for (const n of [1, 2, 3]) {
    queue.call("onTrialStart", { n });
    await turn();
  }
  await queue.settled();
  expect(seen).toEqual([1, 2, 3]);
});

test("a callback that throws is told once, with its name, and goes on being called, as the others do", async () => {
  class Broken implements TuneCallback {
    calls = 0;
    onTrialStart(): never {
      this.calls += 1;
      throw new RangeError("no");
    }
  }
  const broken = new Broken();
  let others = 0;
  const problems: string[] = [];
  const queue = new CallbackQueue([broken, { onTrialStart: () => void (others += 1) }], (text) => problems.push(text));
  for (const _ of [1, 2]) queue.call("onTrialStart", {});
  await queue.settled();
  expect([broken.calls, others]).toEqual([2, 2]);
  expect(problems).toEqual(["Broken.onTrialStart threw, and goes on being called: no"]);
});
