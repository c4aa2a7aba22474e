import { expect, test, vi } from "vitest";
import { QueueActor } from "./queue-actor.ts";

/** The signal of a call without cancellation. */
const never = new AbortController().signal;

test("who is cancelled, or dead, takes no item from those who wait", async () => {
  const controller = new AbortController();
  const signals = [controller.signal, never];
  const queue = new QueueActor<number>(0, () => signals.shift() ?? never);
  const cancelled = queue.get();
  const patient = queue.get();
  controller.abort();
  expect(await cancelled).toBe("empty");
  expect(queue.put(1)).toBe("done");
  expect(await patient).toEqual([1]);
});

test("an item that comes in the turn of a getter's cancellation stays in the queue", async () => {
  const controller = new AbortController();
  const queue = new QueueActor<number>(0, () => controller.signal);
  const cancelled = queue.get();
  expect(queue.putAll([1, 2])).toBe("done");
  controller.abort();
  expect(await cancelled).toBe("empty");
  expect(queue.getMany(2)).toEqual([1, 2]);
});

test("items come out in order, and so do those who wait for them", async () => {
  const queue = new QueueActor<number>(0, () => never);
  const waiting = Promise.all([Promise.resolve(queue.get()), Promise.resolve(queue.get())]);
  for (const item of [1, 2, 3, 4]) expect(queue.put(item)).toBe("done");
  expect(await waiting).toEqual([[1], [2]]);
  expect(queue.get()).toEqual([3]);
  expect(queue.size()).toBe(1);
});

test("who puts into a full queue waits, and is let in in order", async () => {
  const queue = new QueueActor<number>(1, () => never);
  expect(queue.put(1)).toBe("done");
  const waiting = [queue.put(2), queue.put(3)];
  expect(queue.put(4, 0)).toBe("full");
  expect(queue.get()).toEqual([1]);
  expect(await waiting[0]).toBe("done");
  expect([queue.get(), queue.get(), queue.size()]).toEqual([[2], [3], 0]);
  expect(await waiting[1]).toBe("done");
});

test("a time limit ends a wait, and the item goes to the next", async () => {
  const queue = new QueueActor<number>(1, () => never);
  const late = queue.get(1);
  const patient = queue.get();
  expect(await late).toBe("empty");
  void queue.put(1);
  expect(await patient).toEqual([1]);
  void queue.put(2);
  expect(await queue.put(3, 1)).toBe("full");
  expect([queue.get(0), queue.get(0)]).toEqual([[2], "empty"]);
});

test("batches are all or nothing", () => {
  const queue = new QueueActor<number>(3, () => never);
  expect(queue.putAll([1, 2])).toBe("done");
  expect(queue.putAll([3, 4])).toBe("full");
  expect(queue.getMany(3)).toBe("empty");
  expect(queue.getMany(2)).toEqual([1, 2]);
  expect(queue.getMany(0)).toEqual([]);
});

test("a batch goes to those who wait first", async () => {
  const queue = new QueueActor<number>(0, () => never);
  const waiting = queue.get();
  queue.putAll([1, 2]);
  expect(await waiting).toEqual([1]);
  expect(queue.size()).toBe(1);
});

test("closing tells those who wait, refuses what comes, and lets what is there be taken", async () => {
  const empty = new QueueActor<number>(0, () => never);
  const getter = empty.get();
  expect(await empty.close(1000)).toBe(0);
  expect(await getter).toBe("closed");
  expect(empty.put(1)).toBe("closed");
  expect(empty.putAll([1])).toBe("closed");

  const full = new QueueActor<number>(1, () => never);
  void full.put(1);
  const putter = full.put(2);
  const closed = full.close(10_000);
  expect(await putter).toBe("closed");
  expect(full.get()).toEqual([1]);
  expect(await closed).toBe(0);
  expect(full.get()).toBe("closed");
});

test("what is not taken within the grace period is counted as lost", async () => {
  const queue = new QueueActor<number>(0, () => never);
  queue.putAll([1, 2]);
  expect(await queue.close(1)).toBe(2);
});

test("items of an answer that its cancelled caller has not received are the first again, once", async () => {
  const queue = new QueueActor<number>(0, () => never);
  queue.putAll([1, 2, 3, 4, 5]);
  expect(queue.getMany(3, { id: "a", received: [] })).toEqual([1, 2, 3]);
  const patient = [queue.getMany(2), queue.get(), queue.get()];
  expect(patient[0]).toEqual([4, 5]);
  queue.giveBack("a");
  expect([await patient[1], await patient[2], queue.size()]).toEqual([[1], [2], 1]);
  queue.giveBack("a");
  expect([queue.get(0), queue.get(0)]).toEqual([[3], "empty"]);
});

test("a caller that has its items, or took none, gives nothing back; one that waits takes nothing any more", async () => {
  const queue = new QueueActor<number>(0, () => never);
  queue.putAll([1, 2]);
  expect(queue.get(0, { id: "a", received: [] })).toEqual([1]);
  expect(queue.get(0, { id: "b", received: ["a"] })).toEqual([2]);
  queue.giveBack("a");
  expect(queue.get(0, { id: "c", received: [] })).toBe("empty");
  queue.giveBack("c");
  const waiting = queue.get(undefined, { id: "d", received: [] });
  queue.giveBack("d");
  expect(await waiting).toBe("empty");
  void queue.put(3);
  expect(queue.size()).toBe(1);
});

test("an answer that nobody gives back is forgotten after a while", () => {
  vi.useFakeTimers();
  const queue = new QueueActor<number>(0, () => never);
  queue.putAll([1, 2]);
  void queue.get(0, { id: "a", received: [] });
  vi.advanceTimersByTime(5_000);
  void queue.get(0, { id: "b", received: [] });
  vi.advanceTimersByTime(5_000);
  queue.giveBack("a");
  expect(queue.size()).toBe(0);
  queue.giveBack("b");
  expect(queue.size()).toBe(1);
  vi.advanceTimersByTime(20_000);
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});
