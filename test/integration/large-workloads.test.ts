/**
 * Much of everything: many refs in one argument, a very large argument, many queued tasks.
 */
import { get, type ObjectRef, put, remote } from "shoal";
import { describe, expect, test } from "vitest";
import { collectGarbage, storeUsedBytes, until, useSession } from "./session.ts";

const MEGABYTE = 1_000_000;

describe("with two CPUs", () => {
  useSession({ numCpus: 2, objectStoreMemoryBytes: 1000 * MEGABYTE });

  const increment = remote((value: number) => value + 1);

  test("10,000 refs in one argument arrive and can be waited for", async () => {
    const total = remote(async (refs: readonly ObjectRef<number>[]) => {
      const values = await get(refs as ObjectRef<number>[]);
      return values.reduce((left, right) => left + right, 0);
    });
    const refs = Array.from({ length: 10_000 }, (_, index) => put(index));
    expect(await total.remote(refs)).toBe((10_000 * 9_999) / 2);
  });

  test("10,000 refs of tasks come back in one result", async () => {
    const spread = remote((count: number) => Array.from({ length: count }, (_, index) => increment.remote(index)));
    const refs = await spread.remote(10_000);
    const values = await get(refs);
    expect(values.length).toBe(10_000);
    expect(values.every((value, index) => value === index + 1)).toBe(true);
  });

  test("1,000 refs as arguments of their own", async () => {
    const total = remote((...values: number[]) => values.reduce((left, right) => left + right, 0));
    const refs = Array.from({ length: 1000 }, (_, index) => (index % 2 === 0 ? put(index) : increment.remote(index - 1)));
    expect(await total.remote(...refs)).toBe((1000 * 999) / 2);
  });

  test("an argument of 200 MB arrives whole and is freed after the call", async () => {
    const bytes = new Uint8Array(200 * MEGABYTE);
    for (let index = 0; index < bytes.length; index += 4096) bytes[index] = index % 251;
    const check = remote((received: Uint8Array) => {
      for (let index = 0; index < received.length; index += 4096) if (received[index] !== index % 251) return `wrong at ${index}`;
      return received.length;
    });
    expect(await check.remote(bytes)).toBe(bytes.length);
    await until(async () => {
      await collectGarbage();
      return (await storeUsedBytes()) === 0;
    }, "the argument to be freed");
  });

  test("a string of 50 MB goes there and back", async () => {
    const text = "0123456789".repeat(5 * MEGABYTE);
    const mirror = remote((value: string) => value);
    expect((await mirror.remote(text)) === text).toBe(true);
  });

  test("100,000 tasks can be queued at once, at less than 1.5 KB of driver memory each", async () => {
    const count = 100_000;
    expect(await increment.remote(0)).toBe(1);
    await collectGarbage();
    const before = memoryInUse();
    const refs: ObjectRef<number>[] = [];
    for (let index = 0; index < count; index += 1) refs.push(increment.remote(index));
    await collectGarbage();
    expect((memoryInUse() - before) / count).toBeLessThan(1500);
    const values = await get(refs);
    let wrong = 0;
    for (let index = 0; index < count; index += 1) if (values[index] !== index + 1) wrong += 1;
    expect(wrong).toBe(0);
  });

  test("100,000 values that were put cost less than 1 KB each", async () => {
    const before = memoryInUse();
    const refs = Array.from({ length: 100_000 }, (_, index) => put({ index }));
    await collectGarbage();
    expect((memoryInUse() - before) / refs.length).toBeLessThan(1000);
    expect(await refs[99_999]).toEqual({ index: 99_999 });
  });
});

/** Heap and buffers of this process in bytes. */
function memoryInUse(): number {
  const { heapUsed, external, arrayBuffers } = process.memoryUsage();
  return heapUsed + external + arrayBuffers;
}
