/** What a reader of changes gets when it is slower than they come. */
import { expect, test } from "vitest";
import { ChangeQueue } from "./change-queue.ts";
import type { StoreChange } from "./control-store.ts";

function put(key: string, revision: number): StoreChange {
  return { kind: "put", entry: { key, value: new Uint8Array(), revision } };
}

test("a newer change of a key takes the place of an older one, at its own place in the order", async () => {
  const queue = new ChangeQueue(() => {});
  for (const change of [put("a", 1), put("b", 2), put("a", 3), { kind: "delete", key: "c", revision: 4 } as const, put("c", 5)])
    queue.push(change);
  const reader = queue[Symbol.asyncIterator]();
  expect([(await reader.next()).value, (await reader.next()).value, (await reader.next()).value]).toEqual([
    put("b", 2),
    put("a", 3),
    put("c", 5),
  ]);
});

test("a reader that waits gets the next change, and the end", async () => {
  let closed = 0;
  const queue = new ChangeQueue(() => (closed += 1));
  const reader = queue[Symbol.asyncIterator]();
  const next = reader.next();
  queue.push(put("a", 1));
  expect(await next).toEqual({ done: false, value: put("a", 1) });
  const end = reader.next();
  queue.close();
  queue.close();
  expect(await end).toEqual({ done: true, value: undefined });
  queue.push(put("a", 2));
  expect(await queue[Symbol.asyncIterator]().next()).toEqual({ done: true, value: undefined });
  expect(closed).toBe(1);
});

test("what came before a failure is read first", async () => {
  const queue = new ChangeQueue(() => {});
  queue.push(put("a", 1));
  queue.fail(new Error("gone"));
  const reader = queue[Symbol.asyncIterator]();
  expect((await reader.next()).value).toEqual(put("a", 1));
  await expect(reader.next()).rejects.toThrow("gone");
});

test("leaving the loop closes the watch", async () => {
  let isClosed = false;
  const queue = new ChangeQueue(() => {
    isClosed = true;
  });
  queue.push(put("a", 1));
  for await (const change of queue) {
    expect(change).toEqual(put("a", 1));
    break;
  }
  expect(isClosed).toBe(true);
});
