import { afterEach, expect, test, vi } from "vitest";
import { batch, END_OF_STREAM } from "./batch.ts";
import { ModelCache } from "./multiplexed.ts";
import { endRequest, type RequestContext } from "./context/request-context.ts";

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

afterEach(() => void vi.useRealTimers());

test("a batch begins when it is full, and as many run at a time as may", async () => {
  const sizes: number[] = [];
  let release: (() => void) | undefined;
  const double = batch(
    async (items: number[]) => {
      sizes.push(items.length);
      await new Promise<void>((resolve) => (release = resolve));
      return items.map((item) => item * 2);
    },
    { maxBatchSize: 2, batchWaitTimeoutMs: 60_000 },
  );
  const results = [1, 2, 3, 4].map((item) => double(item));
  expect(sizes).toEqual([2]);
  release?.();
  expect(await Promise.all(results.slice(0, 2))).toEqual([2, 4]);
  await Promise.resolve();
  release?.();
  expect(await Promise.all(results.slice(2))).toEqual([6, 8]);
  expect(sizes).toEqual([2, 2]);
});

test("sizes of items count where they are given; one that is larger than a batch goes alone", async () => {
  const batches: string[][] = [];
  const join = batch(
    (items: string[]) => {
      batches.push(items);
      return items;
    },
    { maxBatchSize: 4, batchWaitTimeoutMs: 0, batchSizeFn: (text) => text.length, maxConcurrentBatches: 9 },
  );
  await Promise.all(["aa", "bbbbbbbb", "c"].map((text) => join(text)));
  expect(batches).toEqual([["aa"], ["bbbbbbbb"], ["c"]]);
});

test("what the function throws is the failure of every item, and a wrong number of results too", async () => {
  const fails = batch(
    (): number[] => {
      throw new RangeError("no");
    },
    { batchWaitTimeoutMs: 0 },
  );
  await expect(fails(1)).rejects.toThrow("no");
  const few = batch((): number[] => [], { batchWaitTimeoutMs: 0 });
  await expect(few(1)).rejects.toThrow("received 0 for 1");
});

test("a batch that streams gives each item its own results", async () => {
  const count = batch(
    async function* (limits: number[]): AsyncGenerator<(number | typeof END_OF_STREAM)[], void, undefined> {
      for (let number = 0; number < Math.max(...limits); number += 1)
        yield limits.map((limit) => (number < limit ? number : END_OF_STREAM));
    },
    { maxBatchSize: 2, batchWaitTimeoutMs: 60_000 },
  );
  expect(await Promise.all([all(count(1)), all(count(3))])).toEqual([[0], [0, 1, 2]]);
});

test("a cache of models shares loads, drops the one that was asked for longest ago, and disposes of it", async () => {
  const log: string[] = [];
  const cache = new ModelCache(
    async (id: string) => {
      log.push(`load ${id}`);
      if (id === "bad") throw new Error("no such model");
      return { id, [Symbol.dispose]: () => log.push(`drop ${id}`) };
    },
    { maxModels: 2, changed: (models) => log.push(models.join()) },
  );
  const [first, again] = await Promise.all([cache.get("a"), cache.get("a")]);
  expect(first).toBe(again);
  await cache.get("b");
  await cache.get("a");
  await cache.get("c");
  await Promise.resolve();
  expect(log).toEqual(["load a", "a", "load b", "a,b", "load c", "drop b", "a,c"]);
  await expect(cache.get("bad")).rejects.toThrow("no such model");
  expect(cache.models).toEqual(["c"]);
});

test("where all places are being loaded the next model waits for one", async () => {
  const release = new Map<string, () => void>();
  const cache = new ModelCache((id: string) => new Promise<string>((resolve) => release.set(id, () => resolve(id))), {
    maxModels: 1,
    changed: () => {},
  });
  const first = cache.get("a");
  const second = cache.get("b");
  await Promise.resolve();
  expect([...release.keys()]).toEqual(["a"]);
  release.get("a")?.();
  expect(await first).toBe("a");
  await new Promise<void>((resolve) => setImmediate(resolve));
  release.get("b")?.();
  expect(await second).toBe("b");
});

test("a model that goes is disposed of when the requests that asked for it are over; one that nobody uses goes first", async () => {
  const log: string[] = [];
  const newRequest = (requestId: string): RequestContext => ({
    requestId,
    app: "",
    deployment: "",
    modelId: "",
    headers: [],
    deadlineMs: undefined,
  });
  let request: RequestContext | undefined;
  const cache = new ModelCache((id: string) => ({ id, [Symbol.dispose]: () => log.push(id) }), {
    maxModels: 2,
    changed: () => {},
    request: () => request,
  });
  const askedBy = (by: RequestContext | undefined, id: string): Promise<unknown> => {
    request = by;
    return cache.get(id);
  };
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const [first, second] = [newRequest("1"), newRequest("2")];
  await askedBy(first, "a");
  await askedBy(first, "a");
  await askedBy(second, "a");
  await askedBy(undefined, "b");
  // Only b is unused.
  await askedBy(second, "c");
  await settle();
  expect([log, cache.models]).toEqual([["b"], ["a", "c"]]);
  await askedBy(undefined, "d");
  await settle();
  expect([log, cache.models]).toEqual([["b"], ["c", "d"]]);
  endRequest(first);
  await settle();
  expect(log).toEqual(["b"]);
  endRequest(second);
  await settle();
  expect(log).toEqual(["b", "a"]);
  // Code that continues after its request's end holds no place.
  await askedBy(second, "d");
  await askedBy(undefined, "e");
  await askedBy(undefined, "f");
  await settle();
  expect(log).toEqual(["b", "a", "c", "d"]);
});

test("an item that has waited for a place does not wait again once one comes free", async () => {
  const sizes: number[] = [];
  const begun: PromiseWithResolvers<void>[] = [];
  const run = batch(
    async (items: number[]) => {
      sizes.push(items.length);
      const release = Promise.withResolvers<void>();
      begun.push(release);
      await release.promise;
      return items;
    },
    { maxBatchSize: 2, batchWaitTimeoutMs: 50 },
  );
  vi.useFakeTimers();
  const full = [run(1), run(2)];
  const later = run(3);
  await vi.advanceTimersByTimeAsync(60);
  expect(sizes).toEqual([2]);
  begun[0]?.resolve();
  await Promise.all(full);
  await vi.advanceTimersByTimeAsync(0);
  expect(sizes).toEqual([2, 1]);
  begun[1]?.resolve();
  expect(await later).toBe(3);
});

test("an Error among the results of a stream fails its item, and the others go on", async () => {
  const count = batch(
    async function* (limits: number[]): AsyncGenerator<(number | Error)[], void, undefined> {
      yield limits.map(() => 1);
      yield limits.map((limit) => (limit === 1 ? new RangeError("enough") : 2));
      yield limits.map(() => 3);
    },
    { maxBatchSize: 2 },
  );
  const [failing, going] = [count(1), count(9)];
  const got: unknown[] = [];
  const failed = (async () => {
    for await (const item of failing) got.push(item);
  })();
  const others = all(going);
  await expect(failed).rejects.toThrow("enough");
  expect([got, await others]).toEqual([[1], [1, 2, 3]]);
});

test("a size that is no number fails its item, and full batches begin at once as before", async () => {
  const join = batch((items: string[]) => items, {
    maxBatchSize: 2,
    batchWaitTimeoutMs: 60_000,
    batchSizeFn: (text) => (text === "bad" ? Number.NaN : text.length),
  });
  await expect(join("bad")).rejects.toThrow("Cannot batch an item: batchSizeFn gives a finite number from 0: received NaN");
  expect(await Promise.all(["a", "b"].map((text) => join(text)))).toEqual(["a", "b"]);
});
