/**
 * `Queue` between the driver, tasks and actors: order, waiting without holding back others, limits, and its ends.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ActorDiedError, cancel, get, remote, TaskCancelledError, terminate, WorkerCrashedError } from "shoal";
import { Queue, QueueEmptyError, QueueFullError, QueueShutdownError } from "shoal/util";
import { describe, expect, test } from "vitest";
import { failureOf, shoalProcesses, until, useFolder, useSession } from "./session.ts";

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

const folder = useFolder();
const numbers = Array.from({ length: 200 }, (_, index) => index);

describe.each(["process", "inProcess"] as const)("mode %s", (mode) => {
  useSession({ numCpus: 2, mode });

  test("items come out in the order in which one caller put them", async () => {
    using queue = new Queue<number>();
    void Promise.all(numbers.map((number) => queue.put(number)));
    for (const number of numbers) expect(await queue.get()).toBe(number);
    expect(await queue.empty()).toBe(true);
  });

  test("a full queue holds its putter back until there is room", async () => {
    using queue = new Queue<number>({ maxSize: 2 });
    await queue.put(1);
    expect(await queue.full()).toBe(false);
    await queue.put(2);
    expect([await queue.size(), await queue.full(), queue.maxSize]).toEqual([2, true, 2]);
    expect(await failureOf(queue.putNowait(3))).toBeInstanceOf(QueueFullError);
    expect(await failureOf(queue.put(3, { timeoutMs: 10 }))).toMatchObject({ code: "QUEUE_FULL", details: { maxSize: 2, timeoutMs: 10 } });
    const waiting = queue.put(3);
    expect(await queue.get()).toBe(1);
    await waiting;
    expect([await queue.get(), await queue.get()]).toEqual([2, 3]);
    expect(await failureOf(queue.getNowait())).toBeInstanceOf(QueueEmptyError);
    expect(await failureOf(queue.get({ timeoutMs: 10 }))).toBeInstanceOf(QueueEmptyError);
  });

  test("batches are all or nothing", async () => {
    using queue = new Queue<string>({ maxSize: 3 });
    await queue.putNowaitBatch(["a", "b"]);
    expect(await failureOf(queue.putNowaitBatch(["c", "d"]))).toBeInstanceOf(QueueFullError);
    expect(await failureOf(queue.getNowaitBatch(3))).toBeInstanceOf(QueueEmptyError);
    expect(await queue.getNowaitBatch(2)).toEqual(["a", "b"]);
  });

  test("tasks and actors put and get: producers and consumers", async () => {
    using queue = new Queue<number>({ maxSize: 4 });
    using results = new Queue<number>();
    const produce = remote(async (out: Queue<number>, from: number) => {
      for (let number = from; number < from + 50; number += 1) await out.put(number);
    });
    class Consumer {
      async consume(input: Queue<number>, out: Queue<number>): Promise<number> {
        let taken = 0;
        for await (const number of input) {
          taken += 1;
          await out.put(number * 2);
        }
        return taken;
      }
    }
    const consumers = [remote(Consumer, { numCpus: 0 }).remote(), remote(Consumer, { numCpus: 0 }).remote()];
    const taken = consumers.map((consumer) => consumer.consume.remote(queue, results));
    await get([produce.remote(queue, 0), produce.remote(queue, 50)]);
    await queue.shutdown();
    const counts = await get(taken);
    expect(counts.reduce((sum, count) => sum + count)).toBe(100);
    const doubled = await results.getNowaitBatch(100);
    expect(doubled.toSorted((a, b) => a - b)).toEqual(numbers.slice(0, 100).map((number) => number * 2));
    await Promise.all(consumers.map((consumer) => terminate(consumer)));
  });

  test("one who waits holds back nobody", async () => {
    using queue = new Queue<number>();
    const waiting = Array.from({ length: 300 }, () => queue.get());
    expect(await queue.size()).toBe(0);
    await queue.putNowaitBatch(numbers);
    await queue.putNowaitBatch(numbers.slice(0, 100));
    expect(await Promise.all(waiting)).toEqual([...numbers, ...numbers.slice(0, 100)]);
  });

  test("any value can be an item: undefined, functions, promises' values, large arrays", async () => {
    using queue = new Queue<unknown>();
    const large = new Float64Array(100_000).fill(1.5);
    await queue.put(undefined);
    await queue.put([[]]);
    await queue.put(large);
    await queue.put({ reference: 5 });
    await queue.put((x: number) => x + 1);
    expect(await queue.get()).toBe(undefined);
    expect(await queue.get()).toEqual([[]]);
    expect(await queue.get()).toEqual(large);
    expect(await queue.get()).toEqual({ reference: 5 });
    expect(((await queue.get()) as (x: number) => number)(1)).toBe(2);
  });

  test("after shutdown what is there can be taken, and then all hear of the end", async () => {
    const queue = new Queue<number>();
    await queue.putNowaitBatch([1, 2, 3]);
    const ended = queue.shutdown();
    expect(await failureOf(queue.put(4))).toBeInstanceOf(QueueShutdownError);
    expect(await collect(queue)).toEqual([1, 2, 3]);
    await ended;
    expect(await failureOf(queue.get())).toBeInstanceOf(QueueShutdownError);
    expect(await collect(queue)).toEqual([]);
    await queue.shutdown();
  });

  test("items that nobody takes are lost after the grace period, and at once with force", async () => {
    const slow = new Queue<number>();
    await slow.put(1);
    await slow.shutdown({ gracePeriodMs: 20 });
    expect(await failureOf(slow.get())).toBeInstanceOf(QueueShutdownError);
    const killed = new Queue<number>();
    await killed.put(1);
    const waiting = failureOf(new Queue<number>().get({ timeoutMs: 1 }));
    await killed.shutdown({ force: true });
    expect(await failureOf(killed.get())).toBeInstanceOf(ActorDiedError);
    expect(await waiting).toBeInstanceOf(QueueEmptyError);
  });

  test("bad options and arguments are refused", async () => {
    expect(() => new Queue({ maxSize: -1 })).toThrow(RangeError);
    expect(() => new Queue({ maxsize: 1 } as never)).toThrow("maxSize");
    using queue = new Queue<number>();
    await expect(queue.get({ timeout: 1 } as never)).rejects.toThrow("timeoutMs");
    await expect(queue.putNowaitBatch(5 as never)).rejects.toThrow(TypeError);
    await expect(queue.getNowaitBatch(1.5)).rejects.toThrow(RangeError);
  });
});

describe("processes", () => {
  useSession({ numCpus: 2 });

  test("the queue's process ends with the last who has it", async () => {
    const workers = (): number => shoalProcesses({ kind: "worker" }).length;
    const before = workers();
    {
      using queue = new Queue<number>();
      await queue.put(1);
    }
    await until(() => workers() <= Math.max(2, before), "the queue's process to end");
  });

  test("a consumer that is cancelled or killed while it waits takes no item with it", async () => {
    using queue = new Queue<string>();
    const file = join(folder, "consumer");
    const consume = remote(
      async (from: Queue<string>, path: string) => {
        writeFileSync(path, String(process.pid));
        return await from.get();
      },
      { maxRetries: 0 },
    );
    const started = async (): Promise<number> => {
      await until(() => existsSync(file) && readFileSync(file, "utf8") !== "", "the consumer to begin");
      const pid = Number(readFileSync(file, "utf8"));
      rmSync(file);
      // The wait reaches the queue's actor.
      await queue.size();
      await new Promise((resolve) => setTimeout(resolve, 100));
      return pid;
    };
    const cancelled = consume.remote(queue, file);
    await started();
    cancel(cancelled);
    expect(await failureOf(cancelled)).toBeInstanceOf(TaskCancelledError);
    const killed = consume.remote(queue, file);
    process.kill(await started(), "SIGKILL");
    expect(await failureOf(killed)).toBeInstanceOf(WorkerCrashedError);
    // The queue's actor reads of the killed process's end before these questions, and has handled the end when it hears the second.
    await queue.size();
    await queue.size();
    await queue.put("kept");
    expect(await queue.get({ timeoutMs: 20_000 })).toBe("kept");
  });
});
