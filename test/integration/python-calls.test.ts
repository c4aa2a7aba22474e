/** Python code that uses the cluster: waits for references, puts values, calls actors; and the tasks that run while it waits. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { cancel, kill, type ObjectRef, put, python, ready, remote, TaskCancelledError } from "shoal";
import { listTasks } from "shoal/state";
import { describe, expect, test } from "vitest";
import { unless, WITHOUT_PYTHON } from "./python-places.ts";
import { collectGarbage, failureOf, storeUsedBytes, until, useFolder, useSession } from "./session.ts";

const folder = useFolder();
const NESTED = new URL("python/nested.py", import.meta.url);

async function call(name: string, ...args: unknown[]): Promise<unknown> {
  return await python.task<(...values: unknown[]) => unknown>(NESTED, name).remote(...args);
}

/** A separate function: V8 keeps the former references of a frame. */
async function readWhatWasPut(): Promise<void> {
  const [size, ref, inner] = (await call("put_and_pass", 5_000_000)) as [number, ObjectRef<Uint8Array>, [ObjectRef<unknown>]];
  expect(size).toBe(5_000_000);
  expect((await ref).length).toBe(5_000_000);
  expect(await inner[0]).toEqual({ a: 1 });
  // The writer tells the node over another connection than it answers by.
  await until(async () => (await storeUsedBytes()) >= 5_000_000, "the store to know the object");
}

class Sum {
  #sum = 0;
  add(by: number): number {
    return (this.#sum += by);
  }
  fail(text: string): never {
    throw new RangeError(text);
  }
  echo<T>(value: T): T {
    return value;
  }
  hang(): Promise<void> {
    return new Promise(() => {});
  }
  async slow(value: number): Promise<number> {
    await new Promise((resolve) => setTimeout(resolve, 100));
    return value;
  }
}

describe.skipIf(WITHOUT_PYTHON !== undefined)(`calls from Python${unless(WITHOUT_PYTHON)}`, () => {
  useSession({ numCpus: 1 });
  const later = remote(async (value: unknown) => {
    await new Promise((resolve) => setTimeout(resolve, 100));
    return value;
  });

  test("calls of Python are listed as they run and end, with the error, the parent and the attempt", async () => {
    const named = async (name: string) => (await listTasks({ filters: [["name", "=", name]], detail: true })).rows;
    const gate = later.remote(1);
    const slow = call("value_of", [gate]);
    await slow;
    await until(async () => (await named("value_of")).some(({ state }) => state === "FINISHED"), "the call to be recorded");
    const [finished] = await named("value_of");
    expect(finished).toMatchObject({ state: "FINISHED", type: "NORMAL_TASK", attemptNumber: 0, parentTaskId: null, errorMessage: null });
    expect(finished?.durationMs).toBeGreaterThanOrEqual(0);
    await expect(call("no_such_name_here")).rejects.toThrow("no_such_name_here");
    await until(async () => (await named("no_such_name_here"))[0]?.state === "FAILED", "the failure to be recorded");
    const [failed] = await named("no_such_name_here");
    expect(failed?.errorType).toBe("TASK_EXECUTION_EXCEPTION");
    expect(failed?.errorMessage).toMatch(/no_such_name_here/);
    const inner = python.task<(values: unknown[]) => unknown>(NESTED, "value_of").options({ name: "from-outer" });
    const outer = remote(async function outer() {
      return await inner.remote([put(1)]);
    });
    await outer.remote();
    await until(async () => (await named("from-outer"))[0]?.state === "FINISHED", "the nested call to be recorded");
    expect((await named("from-outer"))[0]?.parentTaskId).toBe((await named("outer"))[0]?.taskId);
  });

  test("get gives values that are there, and waits for those that are not, on one CPU", async () => {
    expect(await call("value_of", [put({ a: [1] })])).toEqual({ a: [1] });
    expect(await call("value_of", [later.remote("late")])).toBe("late");
    expect(await call("values_of", [put(1), later.remote(2), put("x".repeat(100_000))])).toEqual([1, 2, "x".repeat(100_000)]);
    expect(
      await call("failure_of", [
        remote(() => {
          throw new TypeError("no");
        }).remote(),
      ]),
    ).toEqual([expect.stringMatching(/failed: TypeError: no$/), "TypeError", "no"]);
    const sum = remote(Sum).remote();
    const never = sum.hang.remote();
    expect(await call("timed_out", [never])).toMatch(/1 of 1 values were not there after 0.05 s/);
    await kill(sum);
    await failureOf(never);
  });

  test("a worker whose task waits runs others, which may need that task's result", async () => {
    const slow = python.task<(box: unknown[]) => [number, unknown]>(NESTED, "slow_value");
    let inner: ObjectRef<unknown> = later.remote("deepest");
    for (let depth = 0; depth < 5; depth += 1) inner = slow.remote([inner]);
    const flat: unknown[] = [];
    for (let value = await inner; Array.isArray(value); value = value[1] as unknown) flat.push(value[0]);
    expect(flat).toHaveLength(5);
    expect(new Set(flat).size).toBeLessThan(5);
  });

  test("wait splits what is ready from what is not", async () => {
    const sum = remote(Sum).remote();
    const pending = sum.hang.remote();
    expect(await call("ready_of", [put(1), put(2), pending], 2, 30)).toEqual([2, 1]);
    // Long enough to hear from a driver that is busy.
    expect(await call("ready_of", [put(1), pending], 2, 2)).toEqual([1, 1]);
    await kill(sum);
    await failureOf(pending);
  });

  test("what is put outlives its task, and is freed with its last reference", async () => {
    await readWhatWasPut();
    await until(async () => {
      await collectGarbage();
      return (await storeUsedBytes()) < 5_000_000;
    }, "the object to be freed");
  });

  test("actors of TypeScript are called by handle and by name", async () => {
    const sum = remote(Sum).options({ name: "the sum" }).remote();
    expect(await call("call_actor", sum, 1, 2, 3)).toEqual([1, 3, 6]);
    expect(await call("call_named", "the sum", 10)).toBe(16);
    expect((await failureOf(call("call_named", "nobody", 1))).message).toContain("Cannot get actor 'nobody'");
    expect(await call("call_wrong", sum)).toBe("actor Sum has no method nothing: there are add, fail, echo, hang, slow");
    expect(await call("actor_failure", sum)).toEqual([expect.stringContaining("RangeError: from TypeScript"), "RangeError"]);
    expect(await call("large_through", sum, 300_000)).toEqual([300_000, 300_000]);
    const [ref] = (await call("ref_of_call", sum, 5)) as [ObjectRef<number>];
    expect(await ref).toBe(5);
    await kill(sum);
    expect(await call("dead_actor", sum)).toEqual(expect.any(String));
  });

  test("actors of Python call others", async () => {
    interface Relay {
      add(value: number): number;
    }
    const sum = remote(Sum).remote();
    const relay = python.actor<Relay, [target: object]>(NESTED, "Relay").remote(sum);
    const outer = python.actor<Relay, [target: object]>(NESTED, "Relay").remote(relay);
    await ready(outer);
    expect(await outer.add.remote(1)).toBe(2001);
    await Promise.all([kill(outer), kill(relay), kill(sum)]);
  });

  test("a task that waits is cancelled at its wait", async () => {
    const file = join(folder, "waits");
    const sum = remote(Sum).remote();
    const never = sum.hang.remote();
    const ref = python.task<(box: unknown[], file: string) => void>(NESTED, "waits_for_ever").remote([never], file);
    await until(() => existsSync(file), "the task to begin");
    cancel(ref);
    expect(await failureOf(ref)).toBeInstanceOf(TaskCancelledError);
    await until(() => readFileSync(file, "utf8").includes("ended"), "the task to end");
    await kill(sum);
    await failureOf(never);
  });

  test("threads of the user's own are refused", async () => {
    expect(await call("from_thread")).toContain("not from one that it started");
  });
});
