import { expect, test } from "vitest";
import { readAhead } from "./read-ahead.ts";

/** Work whose ends the test decides. */
class Work {
  readonly begun: number[] = [];
  readonly dropped: number[] = [];
  readonly #gates = new Map<number, PromiseWithResolvers<string>>();

  begin = (value: number): { result: Promise<string>; drop: () => void } => {
    this.begun.push(value);
    const gate = this.gate(value);
    gate.promise.catch(() => {});
    return { result: gate.promise, drop: () => this.dropped.push(value) };
  };

  gate(value: number): PromiseWithResolvers<string> {
    const known = this.#gates.get(value) ?? Promise.withResolvers<string>();
    this.#gates.set(value, known);
    return known;
  }

  end(value: number): void {
    this.gate(value).resolve(`result ${value}`);
  }
}

test("begins a window of values and no more, and nothing before the first next", async () => {
  const work = new Work();
  const results = readAhead([1, 2, 3, 4, 5], { begin: work.begin, window: () => 2, ordered: true });
  expect(work.begun).toEqual([]);
  const first = results.next();
  expect(work.begun).toEqual([1, 2]);
  work.end(1);
  expect(await first).toEqual({ done: false, value: "result 1" });
  void results.next();
  expect(work.begun).toEqual([1, 2, 3]);
});

test("in order, a result waits for those before it; unordered, it does not", async () => {
  for (const ordered of [true, false]) {
    const work = new Work();
    const results = readAhead([1, 2, 3], { begin: work.begin, window: () => 3, ordered });
    const first = results.next();
    work.end(3);
    work.end(2);
    await new Promise(setImmediate);
    work.end(1);
    const values = [(await first).value, (await results.next()).value, (await results.next()).value];
    expect(values[0]).toBe(ordered ? "result 1" : "result 2");
    expect(new Set(values)).toEqual(new Set(["result 1", "result 2", "result 3"]));
    expect((await results.next()).done).toBe(true);
  }
});

test("a slow async source does not hold back results that are there", async () => {
  const work = new Work();
  const more = Promise.withResolvers<void>();
  async function* source(): AsyncGenerator<number> {
    yield 1;
    await more.promise;
    yield 2;
  }
  const results = readAhead(source(), { begin: work.begin, window: () => 8, ordered: true });
  work.end(1);
  expect((await results.next()).value).toBe("result 1");
  more.resolve();
  work.end(2);
  expect((await results.next()).value).toBe("result 2");
  expect((await results.next()).done).toBe(true);
});

test("an early end drops what has begun and closes the source", async () => {
  const work = new Work();
  let isClosed = false;
  function* source(): Generator<number> {
    try {
      for (let value = 1; ; value += 1) yield value;
    } finally {
      isClosed = true;
    }
  }
  work.end(1);
  for await (const result of readAhead(source(), { begin: work.begin, window: () => 3, ordered: true })) {
    expect(result).toBe("result 1");
    break;
  }
  expect(work.dropped).toEqual([2, 3]);
  expect(isClosed).toBe(true);
});

test("a failure ends it at its place", async () => {
  const work = new Work();
  const results = readAhead([1, 2, 3], { begin: work.begin, window: () => 3, ordered: true });
  work.gate(2).reject(new RangeError("two"));
  work.end(1);
  expect((await results.next()).value).toBe("result 1");
  await expect(results.next()).rejects.toThrow("two");
  expect((await results.next()).done).toBe(true);
  expect(work.dropped).toEqual([3]);
});

test("a failure of the source comes after the results of its values", async () => {
  const work = new Work();
  async function* source(): AsyncGenerator<number> {
    yield 1;
    throw new RangeError("the source broke");
  }
  work.end(1);
  const results = readAhead(source(), { begin: work.begin, window: () => 3, ordered: true });
  expect((await results.next()).value).toBe("result 1");
  await expect(results.next()).rejects.toThrow("the source broke");
});
