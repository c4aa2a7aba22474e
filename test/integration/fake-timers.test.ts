/** Test runners replace the clock and the timers of a process: Shoal keeps those that it was loaded with. */
import { init, remote, shutdown, wait } from "shoal";
import { afterEach, expect, test, vi } from "vitest";

afterEach(async () => {
  vi.useRealTimers();
  await shutdown();
});

class Counter {
  #count = 0;
  async increment(): Promise<number> {
    await Promise.resolve();
    this.#count += 1;
    return this.#count;
  }
}

test.each(["inProcess", "process"] as const)("tasks, actors and deadlines go on under fake timers: mode %s", async (mode) => {
  await init({ numCpus: 1, mode });
  vi.useFakeTimers();
  const add = remote((a: number, b: number) => a + b);
  expect(await add.remote(1, 2)).toBe(3);
  const nested = remote(async () => (await add.remote(1, 2)) + 1);
  expect(await nested.remote()).toBe(4);
  const counter = remote(Counter).remote();
  expect(await counter.increment.remote()).toBe(1);
  const [ready] = await wait([add.remote(2, 2)], { timeoutMs: 5000 });
  expect(ready).toHaveLength(1);
  const never = remote(() => new Promise<never>(() => {}), { timeoutMs: 50 });
  await expect(never.remote()).rejects.toThrow("50 ms");
});
