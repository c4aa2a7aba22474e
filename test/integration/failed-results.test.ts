/**
 * Failed calls leave nothing in the store, however large the failure is and whatever refs are in it.
 */
import { put, remote, TaskError } from "shoal";
import { describe, expect, test } from "vitest";
import { collectGarbage, driverRuntime, failureOf, storeUsedBytes, until, useSession } from "./session.ts";

useSession({ numCpus: 1 });

const LARGE = 300_000;

class LargeError extends Error {
  readonly data = new Uint8Array(300_000).fill(1);
}

const failLargely = remote((): number => {
  throw new LargeError("large");
});

/** Collects in the only worker, too: an object put by a task lives until the task's process has noticed that the object has no holder. */
const collect = remote(async (): Promise<void> => {
  process.getBuiltinModule("node:v8").setFlagsFromString("--expose-gc");
  (process.getBuiltinModule("node:vm").runInNewContext("gc") as () => void)();
  await new Promise((resolve) => setTimeout(resolve, 5));
});

async function untilStoreIsEmpty(): Promise<void> {
  await until(async () => {
    await collectGarbage();
    await collect.remote();
    return (await storeUsedBytes()) === 0;
  }, "the store to be empty");
}

describe("nothing is left in the store by", () => {
  test("a large failure", async () => {
    const failure = await failureOf(failLargely.remote());
    expect(failure).toBeInstanceOf(TaskError);
    expect((failure.cause as LargeError).data.length).toBe(LARGE);
    await untilStoreIsEmpty();
  });

  test("large failures that are tried again, or have several results, or come from an argument", async () => {
    await failureOf(failLargely.options({ retryOn: true, maxRetries: 2 }).remote());
    const pair = remote((): [number, number] => {
      throw new LargeError("both");
    });
    const [first, second] = pair.options({ numReturns: 2 }).remote();
    await failureOf(first);
    await failureOf(second);
    const increment = remote((x: number) => x + 1);
    const failure = await failureOf(increment.remote(increment.remote(failLargely.remote())));
    expect((failure.cause as LargeError).data.length).toBe(LARGE);
    await untilStoreIsEmpty();
  });

  test("results that were stored before one that cannot be sent", async () => {
    const task = remote((): unknown[] => [new Uint8Array(LARGE), new Uint8Array(LARGE), Promise.resolve(1)], { numReturns: 3 });
    expect((await failureOf(task.remote()[0] as PromiseLike<unknown>)).code).toBe("SERIALIZATION_FAILED");
    await untilStoreIsEmpty();
  });
});

describe("a ref in a failure", () => {
  const failWithRef = remote((): [number, number] => {
    throw Object.assign(new Error("with a ref"), { held: [put(new Uint8Array(LARGE).fill(3))] });
  });

  test("of an attempt that is repeated goes with it", async () => {
    const before = driverRuntime().table.publishedCount;
    const attempts = failWithRef.options({ numReturns: 1, retryOn: true, maxRetries: 20 });
    await failureOf(attempts.remote());
    await until(async () => {
      await collectGarbage();
      return driverRuntime().table.publishedCount <= before + 2;
    }, "the refs of the attempts to be let go of");
  });
});

test("an error beyond all sense says so", async () => {
  const task = remote((): number => {
    throw Object.assign(new Error("vast"), { data: new Uint8Array(65 * 1024 * 1024) });
  });
  const failure = await failureOf(task.remote());
  expect(failure.message).toContain("vast");
  expect(failure.message).toMatch(/it takes 68\d+ bytes, and an error may take 67108864/);
});
