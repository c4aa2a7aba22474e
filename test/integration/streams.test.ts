/**
 * Generators as tasks and as methods: items arrive as they are produced, no further ahead than allowed, and an early end stops the generator and leaves
 * nothing behind.
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  cancel,
  get,
  getActor,
  getRuntimeContext,
  type ObjectRefGenerator,
  put,
  type RemoteFunction,
  remote,
  shutdown,
  TaskError,
  wait,
  init,
} from "shoal";
import { describe, expect, test } from "vitest";
import { collectGarbage, driverRuntime, failureOf, isAlive, Log, storeUsedBytes, until, useFolder, useSession } from "./session.ts";

const folder = useFolder();

async function all<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const values: T[] = [];
  for await (const value of stream) values.push(value);
  return values;
}

/** Steps of a generator in a file, so that a test can see how far it is. */
const counted = remote(function* (count: number, file: string) {
  try {
    for (let index = 0; index < count; index += 1) {
      appendFileSync(file, `${index}\n`);
      yield index;
    }
  } finally {
    appendFileSync(file, "finally\n");
  }
});

const countedAsync = remote(async function* (count: number, file: string) {
  try {
    for (let index = 0; index < count; index += 1) {
      appendFileSync(file, `${index}\n`);
      yield index;
      await new Promise(setImmediate);
    }
  } finally {
    await new Promise(setImmediate);
    appendFileSync(file, "finally\n");
  }
});

const upTo = remote(function* (count: number) {
  for (let index = 0; index < count; index += 1) yield index;
});

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

/** The tests for every mode. */
function suite(): void {
  test("for await gives the values of a generator in order", async () => {
    expect(await all(upTo.remote(5))).toEqual([0, 1, 2, 3, 4]);
    const slow = remote(async function* () {
      for (const word of ["a", "b", "c"]) {
        await new Promise((resolve) => setTimeout(resolve, 2));
        yield { word };
      }
    });
    expect(await all(slow.remote())).toEqual([{ word: "a" }, { word: "b" }, { word: "c" }]);
    expect(await all(upTo.remote(0))).toEqual([]);
  });

  test("a stream of many items, and many streams at once", async () => {
    expect(await all(upTo.remote(10_000))).toEqual(numbers(10_000));
    const streams = numbers(20).map(() => upTo.remote(300));
    for (const values of await Promise.all(streams.map(all))) expect(values).toEqual(numbers(300));
  });

  test("an item arrives before the next is made", async () => {
    const file = join(folder, `go-${Math.random()}`);
    const gated = remote(async function* (path: string) {
      yield "first";
      while (!existsSync(path)) await new Promise((resolve) => setTimeout(resolve, 2));
      yield "second";
    });
    const stream = gated.remote(file);
    expect(await stream.next()).toEqual({ value: "first", done: false });
    writeFileSync(file, "");
    expect(await all(stream)).toEqual(["second"]);
    expect(await stream.next()).toEqual({ value: undefined, done: true });
  });

  test("overlapping calls of next are answered in order", async () => {
    const stream = upTo.remote(3);
    const steps = await Promise.all([stream.next(), stream.next(), stream.next(), stream.next()]);
    expect(steps.map((step) => step.value)).toEqual([0, 1, 2, undefined]);
    expect(steps.map((step) => step.done === true)).toEqual([false, false, false, true]);
  });

  test("refs() gives a reference to each item", async () => {
    const double = remote((value: number) => value * 2);
    const doubled: PromiseLike<number>[] = [];
    for await (const { ref } of upTo.remote(4).refs()) doubled.push(double.remote(ref));
    expect(await Promise.all(doubled)).toEqual([0, 2, 4, 6]);
    const ids = new Set<string>();
    for await (const { ref } of upTo.remote(4).refs()) ids.add(ref.id);
    expect(ids.size).toBe(4);
  });

  test("refs and promises that are yielded are their values, of sync and async generators; in an array they stay", async () => {
    const square = remote((value: number) => value * value);
    const sync = remote(function* () {
      yield square.remote(2);
      yield Promise.resolve("p");
      yield [square.remote(3)] as const;
    });
    const values: unknown[] = [];
    for await (const value of sync.remote()) values.push(Array.isArray(value) ? await value[0] : value);
    expect(values).toEqual([4, "p", 9]);
    const async = remote(async function* () {
      yield square.remote(4);
    });
    expect(await all(async.remote())).toEqual([16]);
  });

  test("an error comes after the items before it, and ends the stream", async () => {
    const fails = remote(function* () {
      yield 1;
      yield 2;
      throw new RangeError("third");
    });
    const stream = fails.remote();
    expect([(await stream.next()).value, (await stream.next()).value]).toEqual([1, 2]);
    const failure = await failureOf(stream.next());
    expect(failure).toBeInstanceOf(TaskError);
    expect(failure.cause).toBeInstanceOf(RangeError);
    expect(await stream.next()).toEqual({ value: undefined, done: true });

    const refs: PromiseLike<number>[] = [];
    for await (const { ref } of fails.remote().refs()) refs.push(ref);
    expect(refs).toHaveLength(3);
    expect(await get(refs.slice(0, 2) as never)).toEqual([1, 2]);
    expect((await failureOf(refs[2] as PromiseLike<number>)).cause).toMatchObject({ message: "third" });
  });

  test("a generator that fails before its first item, and an item that cannot be sent", async () => {
    const early = remote(async function* (count: number) {
      if (count > 0) throw new Error("early");
      yield count;
    });
    expect((await failureOf(early.remote(1).next())).cause).toMatchObject({ message: "early" });
    const unsendable = remote(function* () {
      yield 1;
      yield new AbortController();
    });
    const stream = unsendable.remote();
    await stream.next();
    expect((await failureOf(stream.next())).message).toContain("AbortController");
  });

  test("a failed argument fails the stream", async () => {
    const fail = remote((): number => {
      throw new Error("argument");
    });
    expect((await failureOf(upTo.remote(fail.remote()).next())).message).toContain("argument");
  });

  test("numReturns: streaming is for what is no native generator", async () => {
    const array = remote(() => ["a", "b"], { numReturns: "streaming" });
    expect(await all(array.remote())).toEqual(["a", "b"]);
    const inner = function* () {
      yield 1;
      yield 2;
    };
    const returned = remote(() => inner(), { numReturns: "streaming" });
    expect(await all(returned.remote())).toEqual([1, 2]);
    const promised = remote(async () => new Set([1, 2]));
    expect(await all(promised.options({ numReturns: "streaming" }).remote())).toEqual([1, 2]);
    const nothing = remote(() => 5 as unknown as number[], { numReturns: "streaming" });
    expect((await failureOf(nothing.remote().next())).message).toContain("an iterator or iterable must be returned: received number");
  });

  test("a function that returns a generator without the option fails with its name", async () => {
    const inner = function* () {
      yield 1;
    };
    const plain = remote((): unknown => inner());
    expect((await failureOf(plain.remote() as PromiseLike<unknown>)).message).toContain('set numReturns: "streaming"');
    const stream = remote(() => inner()).remote();
    const iterate = async (): Promise<unknown> => all(stream);
    expect((await failureOf(iterate())).message).toContain('set numReturns: "streaming"');
  });

  test("a generator is no further ahead than its highWaterMark", async () => {
    for (const generator of [counted, countedAsync]) {
      const log = new Log(folder);
      const stream = generator.options({ highWaterMark: 2 }).remote(100, log.file);
      await until(() => log.lines.length === 2, "two items to be made");
      await new Promise((resolve) => setTimeout(resolve, 30));
      expect(log.lines).toEqual(["0", "1"]);
      await stream.next();
      await until(() => log.lines.length === 3, "another item");
      await new Promise((resolve) => setTimeout(resolve, 30));
      expect(log.lines).toHaveLength(3);
      expect(await all(stream)).toEqual(numbers(100).slice(1));
    }
  });

  test("the end of the loop by break ends the generator at its next yield", async () => {
    for (const generator of [counted, countedAsync]) {
      const log = new Log(folder);
      const stream = generator.options({ highWaterMark: 4 }).remote(1000, log.file);
      for await (const value of stream) if (value === 2) break;
      expect(await stream.next()).toEqual({ value: undefined, done: true });
      await until(() => log.lines.at(-1) === "finally", "the finally block");
      expect(log.lines.length).toBeLessThan(12);
    }
  });

  test("await using and return() end it too, also while next() waits", async () => {
    const log = new Log(folder);
    {
      await using stream = counted.options({ highWaterMark: 1 }).remote(10, log.file);
      await stream.next();
    }
    await until(() => log.lines.at(-1) === "finally", "the finally block");
    const gate = join(folder, `return-${Math.random()}`);
    const held = remote(async function* (path: string): AsyncGenerator<number> {
      yield 1;
      while (!existsSync(path)) await new Promise((resolve) => setTimeout(resolve, 2));
      yield 2;
    });
    const stream = held.remote(gate);
    await stream.next();
    const waiting = stream.next();
    await stream.return();
    expect(await waiting).toEqual({ value: undefined, done: true });
    writeFileSync(gate, "");
  });

  test("an early end between two yields aborts the signal of the task", async () => {
    const log = new Log(folder);
    const listening = remote(async function* (file: string) {
      const { signal } = getRuntimeContext();
      yield 1;
      const aborted = new Promise((resolve) => signal.addEventListener("abort", resolve));
      appendFileSync(file, "listens\n");
      await aborted;
      appendFileSync(file, "aborted\n");
      yield 2;
    });
    const stream = listening.remote(log.file);
    await stream.next();
    // The generator goes on by itself, as nothing holds it back, and awaits the signal.
    await until(() => log.lines.includes("listens"), "the generator to await the signal");
    await stream.return();
    await until(() => log.lines.includes("aborted"), "the signal");
  });

  test("cancel, timeoutMs and signal end a stream with their error after the items that came", async () => {
    const waits = remote(async function* () {
      yield 1;
      await new Promise((_resolve, reject) => {
        const { signal } = getRuntimeContext();
        signal.addEventListener("abort", () => reject(signal.reason as Error));
      });
    });
    const cancelled = waits.remote();
    expect((await cancelled.next()).value).toBe(1);
    cancel(cancelled);
    expect((await failureOf(cancelled.next())).name).toBe("TaskCancelledError");
    expect(await cancelled.next()).toEqual({ value: undefined, done: true });
    // Long enough for the first item on a machine that is busy.
    const late = waits.options({ timeoutMs: 3000 }).remote();
    expect((await late.next()).value).toBe(1);
    expect((await failureOf(late.next())).name).toBe("TaskTimeoutError");
    const controller = new AbortController();
    const aborted = waits.options({ signal: controller.signal }).remote();
    expect((await aborted.next()).value).toBe(1);
    controller.abort();
    expect((await failureOf(aborted.next())).name).toBe("TaskCancelledError");
    // A stream that waits for room.
    const log = new Log(folder);
    const full = counted.options({ highWaterMark: 1 }).remote(9, log.file);
    await until(() => log.lines.length === 1, "the first item");
    cancel(full);
    await until(() => log.lines.at(-1) === "finally", "the finally block");
    await until(() => driverRuntime().pendingTaskCount === 0, "the calls to end");
  });

  test("a stream that is dropped unread ends its generator", async () => {
    const log = new Log(folder);
    await (async () => {
      const stream = counted.options({ highWaterMark: 1 }).remote(10, log.file);
      await stream.next();
    })();
    await until(async () => {
      await collectGarbage();
      return log.lines.at(-1) === "finally";
    }, "the finally block");
  });

  test("a stream that is ended before its task begins never begins", async () => {
    const log = new Log(folder);
    const gate = remote(async () => {
      await new Promise((resolve) => setTimeout(resolve, 30));
      return 3;
    });
    const stream = counted.remote(gate.remote(), log.file);
    await stream.return();
    expect(await stream.next()).toEqual({ value: undefined, done: true });
    await until(() => driverRuntime().pendingTaskCount === 0, "the call to end");
    expect(log.lines).toEqual([]);
  });

  test("large items lie in the store until they are taken, and nothing is left", async () => {
    const before = await storeUsedBytes();
    const arrays = remote(function* (count: number) {
      for (let index = 0; index < count; index += 1) yield new Float64Array(20_000).fill(index);
    });
    // In separate functions: the read values are garbage when the functions have returned.
    const readAll = async (): Promise<number> => {
      let sum = 0;
      for await (const array of arrays.remote(20)) sum += array[19_999] as number;
      return sum;
    };
    const readSome = async (): Promise<void> => {
      for await (const array of arrays.remote(20)) if (array[0] === 3) break;
    };
    const readRefs = async (): Promise<void> => {
      for await (const { ref } of arrays.remote(5).refs()) ref[Symbol.dispose]();
    };
    expect(await readAll()).toBe(190);
    await readSome();
    await readRefs();
    await until(async () => {
      await collectGarbage();
      return (await storeUsedBytes()) === before && driverRuntime().pendingTaskCount === 0;
    }, "the store to be as it was");
  });

  test("items with refs in them keep what they refer to", async () => {
    const lists = remote(function* () {
      for (let index = 0; index < 3; index += 1) yield [put(new Uint8Array(100_000).fill(index))];
    });
    const firsts: number[] = [];
    for await (const [ref] of lists.remote()) firsts.push((await (ref as PromiseLike<Uint8Array>))[99_999] as number);
    expect(firsts).toEqual([0, 1, 2]);
  });

  test("wait counts a stream as ready when its next item is there, or its end", async () => {
    const file = join(folder, `wait-${Math.random()}`);
    const gated = remote(async function* (path: string) {
      while (!existsSync(path)) await new Promise((resolve) => setTimeout(resolve, 2));
      yield 1;
    });
    const empty = upTo.remote(0);
    expect(await wait([empty])).toEqual([[empty], []]);
    const slow = gated.remote(file);
    const [ready, pending] = await wait([slow, empty]);
    expect([ready[0] === empty, pending[0] === slow]).toEqual([true, true]);
    expect((await wait([slow], { timeoutMs: 10 }))[0]).toEqual([]);
    writeFileSync(file, "");
    expect((await wait([slow]))[0]).toHaveLength(1);
    expect(await all(slow)).toEqual([1]);
    await expect(wait([slow, slow])).rejects.toThrow("a stream twice");
  });

  test("a stream is no value", async () => {
    const stream = upTo.remote(1);
    await expect(get(stream as never)).rejects.toThrow("Cannot get a stream");
    await expect(get([stream] as never)).rejects.toThrow("a stream");
    expect(() => put(stream)).toThrow("Cannot put a stream");
    const identity = remote((value: unknown) => value);
    expect(() => identity.remote(stream)).toThrow("Cannot send a stream");
    expect(() => identity.remote([stream])).toThrow("Cannot send a stream");
    expect(() => remote(function* () {}, { numReturns: 2 as 1 })).toThrow("it is a generator");
    expect(() => upTo.options({ highWaterMark: 0 })).toThrow(RangeError);
    await stream.return();
  });

  test("generator methods of actors stream, one call after the other", async () => {
    class Reader {
      #calls = 0;
      *upTo(count: number) {
        this.#calls += 1;
        for (let index = 0; index < count; index += 1) yield index;
      }
      async *slowly(count: number) {
        for (let index = 0; index < count; index += 1) {
          await new Promise((resolve) => setTimeout(resolve, 1));
          yield `${index}`;
        }
        this.#calls += 1;
      }
      listed() {
        return ["x", "y"];
      }
      calls() {
        return this.#calls;
      }
    }
    const name = `reader-${Math.random()}`;
    using reader = remote(Reader, { name }).remote();
    expect(await all(reader.upTo.remote(3))).toEqual([0, 1, 2]);
    const slow = reader.slowly.remote(3);
    const after = reader.calls.remote();
    expect(await all(slow)).toEqual(["0", "1", "2"]);
    expect(await after).toBe(2);
    expect(await all(reader.listed.options({ numReturns: "streaming" }).remote())).toEqual(["x", "y"]);
    const found = await getActor<Reader>(name);
    expect(await all(found.upTo.options({ highWaterMark: 1 }).remote(3))).toEqual([0, 1, 2]);
    const passed = remote(async (box: { reader: typeof reader }) => {
      const values: number[] = [];
      for await (const value of box.reader.upTo.remote(2)) values.push(value);
      return values;
    });
    expect(await passed.remote({ reader })).toEqual([0, 1]);
    const stopped = reader.upTo.options({ highWaterMark: 1 }).remote(1000);
    for await (const value of stopped) if (value === 1) break;
    expect(await reader.calls.remote()).toBe(5);
  });
}

describe("on one CPU", () => {
  useSession({ numCpus: 1 });

  test("a generator that computes without end after many quick items is ended by a bare break, once, and one that cleans up is not", async () => {
    const log = new Log(folder);
    // Beside the other, which has the CPU, and in a separate worker: a worker whose generator waits to be read may be given to the next
    // task, which then stays behind the cleanup.
    const tidy = remote(
      async function* (file: string) {
        try {
          for (let index = 0; ; index += 1) yield index;
        } finally {
          await new Promise((resolve) => setTimeout(resolve, 8000));
          appendFileSync(file, "tidy\n");
        }
      },
      { numCpus: 0, runtimeEnv: { envVars: { ALONE: "yes" } } },
    );
    for await (const value of tidy.remote(log.file)) if (value === 20) break;

    const endless = remote(function* (file: string) {
      appendFileSync(file, `began\n`);
      for (let index = 0; index < 20; index += 1) yield index;
      for (;;);
    });
    for await (const value of endless.remote(log.file)) if (value === 15) break;
    expect(await remote(() => 1).remote()).toBe(1);
    await until(() => log.lines.includes("tidy"), "the generator to have cleaned up");
    expect(log.lines).toEqual(["began", "tidy"]);
  });
  suite();

  test("a task that reads another's stream does not deadlock, however little is produced ahead", async () => {
    const consumer = remote(async (highWaterMark: number) => {
      let sum = 0;
      for await (const value of upTo.options({ highWaterMark }).remote(50)) sum += value;
      return sum;
    });
    expect(await consumer.remote(1)).toBe(1225);
    expect(await get(numbers(8).map((index) => consumer.remote(1 + (index % 3))))).toEqual(numbers(8).map(() => 1225));
    const relay: RemoteFunction<[number], AsyncGenerator<number>> = remote(async function* (depth: number): AsyncGenerator<number> {
      if (depth === 0) yield* [1, 2, 3];
      else for await (const value of relay.options({ highWaterMark: 1 }).remote(depth - 1)) yield value * 2;
    });
    expect(await all(relay.remote(4))).toEqual([16, 32, 48]);
  });

  test("a generator that waits to be read leaves its CPU to others", async () => {
    const log = new Log(folder);
    const stream = counted.options({ highWaterMark: 1 }).remote(3, log.file);
    await until(() => log.lines.length === 1, "the first item");
    expect(await remote(() => "ran").remote()).toBe("ran");
    expect(await all(stream)).toEqual([0, 1, 2]);
  });

  test("an actor that reads its own stream is told", async () => {
    class Selfish {
      *items() {
        yield 1;
      }
      async read(box: { self: { items: { remote(): ObjectRefGenerator<number> } } }) {
        for await (const value of box.self.items.remote()) return value;
        return undefined;
      }
    }
    using actor = remote(Selfish).remote();
    expect((await failureOf(actor.read.remote({ self: actor }))).name).toBe("DeadlockError");
  });
});

describe("on two CPUs", () => {
  useSession({ numCpus: 2 });

  test("a worker that dies in mid-stream: items are made again and each is delivered once", async () => {
    const marker = join(folder, `died-${Math.random()}`);
    const dies = remote(function* (file: string) {
      for (let index = 0; index < 6; index += 1) {
        if (index === 4 && !existsSync(file)) {
          writeFileSync(file, "");
          process.kill(process.pid, "SIGKILL");
        }
        yield index;
      }
    });
    expect(await all(dies.options({ highWaterMark: 1 }).remote(marker))).toEqual([0, 1, 2, 3, 4, 5]);
  });

  test("without a retry left, the death of the worker is the error after the items that came", async () => {
    const dies = remote(
      function* () {
        yield 1;
        yield 2;
        process.exit(3);
      },
      { maxRetries: 0, highWaterMark: 1 },
    );
    const stream = dies.remote();
    expect([(await stream.next()).value, (await stream.next()).value]).toEqual([1, 2]);
    expect(await failureOf(stream.next())).toMatchObject({ name: "WorkerCrashedError", exitCode: 3 });
    expect(await stream.next()).toEqual({ value: undefined, done: true });
  });

  test("retryOn makes a failed generator begin again behind what was delivered", async () => {
    const log = new Log(folder);
    const flaky = remote(
      function* (file: string) {
        appendFileSync(file, "begin\n");
        yield 1;
        yield 2;
        // The third attempt goes through.
        if (readFileSync(file, "utf8").length < 18) throw new Error("flaky");
        yield 3;
      },
      { retryOn: true },
    );
    expect(await all(flaky.remote(log.file))).toEqual([1, 2, 3]);
    expect(log.lines).toHaveLength(3);
  });

  test("an actor that dies in mid-stream fails it; with restarts and maxTaskRetries it goes on", async () => {
    class Fragile {
      *items(file: string) {
        for (let index = 0; index < 4; index += 1) {
          if (index === 2 && !existsSync(file)) {
            writeFileSync(file, "");
            process.kill(process.pid, "SIGKILL");
          }
          yield index;
        }
      }
    }
    using once = remote(Fragile).remote();
    const stream = once.items.options({ highWaterMark: 1 }).remote(join(folder, `actor-${Math.random()}`));
    expect([(await stream.next()).value, (await stream.next()).value]).toEqual([0, 1]);
    expect((await failureOf(stream.next())).name).toBe("ActorDiedError");
    using again = remote(Fragile, { maxRestarts: 1, maxTaskRetries: 1 }).remote();
    expect(await all(again.items.options({ highWaterMark: 1 }).remote(join(folder, `actor-${Math.random()}`)))).toEqual([0, 1, 2, 3]);
  });

  test("when the reader's process dies, the generator is ended", async () => {
    const log = new Log(folder);
    const file = log.file;
    const begun = remote(function* () {
      appendFileSync(file, `${process.pid}\n`);
      try {
        for (let index = 0; ; index += 1) yield index;
      } finally {
        appendFileSync(file, "finally\n");
      }
    });
    const reader = remote(
      async () => {
        for await (const value of begun.options({ highWaterMark: 1 }).remote()) {
          if (value === 3) process.kill(process.pid, "SIGKILL");
        }
      },
      { maxRetries: 0 },
    );
    await failureOf(reader.remote());
    // At its next yield, or with a worker that nobody else uses.
    await until(() => log.lines.at(-1) === "finally" || !isAlive(Number(log.lines[0])), "the generator to end");
  });
});

describe("in one process", () => {
  useSession({ mode: "inProcess", numCpus: 2 });
  suite();
});

test("shutdown ends a stream that is being read with an error", async () => {
  await init({ numCpus: 1, logToDriver: false });
  const endless = remote(async function* () {
    yield 1;
    await new Promise((resolve) => setTimeout(resolve, 60_000));
  });
  const stream = endless.remote();
  await stream.next();
  const waiting = failureOf(stream.next());
  await shutdown();
  expect((await waiting).message).toContain("shut down");
});
