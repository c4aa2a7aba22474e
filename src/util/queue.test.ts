import { expect, test } from "vitest";
import { TaskCancelledError } from "../core/index.ts";
import { adoptQueue } from "./queue.ts";

/** A reference as far as a queue uses one. */
function refOf(value: Promise<unknown>): unknown {
  return Object.assign(value, { [Symbol.dispose]: () => {} });
}

test("a getter that is cancelled gives back what was on its way, and says later what it has received", async () => {
  const calls: unknown[][] = [];
  const cancelled = new TaskCancelledError("Call get was cancelled", { reason: "cancel was called" });
  const answers = [Promise.reject(cancelled), Promise.resolve([["one"]]), Promise.resolve("empty"), Promise.resolve([["two"]])];
  const holder = {
    get: {
      remote: (_timeoutMs: unknown, { id, received }: { id: string; received: string[] }) => {
        calls.push([id, received]);
        return refOf(answers.shift() as Promise<unknown>);
      },
    },
    giveBack: {
      remote: (id: string) => {
        calls.push(["back", id]);
        return refOf(Promise.reject(new Error("the queue has ended")));
      },
    },
  };
  const queue = adoptQueue([0, holder as never]);
  await expect(queue.get()).rejects.toBe(cancelled);
  expect(await queue.get()).toBe("one");
  await expect(queue.getNowait()).rejects.toMatchObject({ code: "QUEUE_EMPTY" });
  expect(await queue.get()).toBe("two");
  const [first, back, second, third, fourth] = calls as [string, unknown][];
  expect(back).toEqual(["back", first?.[0]]);
  expect([first?.[1], second?.[1], third?.[1], fourth?.[1]]).toEqual([[], [], [second?.[0]], []]);
  expect(new Set(calls.map(([id]) => id)).size).toBe(5);
});
