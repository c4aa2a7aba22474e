/**
 * References that code has dropped, in processes that get no pause: the garbage collector sees a few bytes, and the cluster a row for each in three processes.
 */
import { get, put, remote } from "shoal";
import { expect, test } from "vitest";
import { HANDLES_BEFORE_COLLECTION } from "../../src/runtime/objects/limits.ts";
import { driverRuntime, until, useSession } from "./session.ts";

useSession({ numCpus: 1 });

const REFS_PER_CALL = 100;

class Taker {
  #most = 0;
  take(refs: unknown[]): number {
    const runtimes = globalThis as unknown as Record<symbol, { table: { handleCount: number } }>;
    this.#most = Math.max(this.#most, runtimes[Symbol.for("shoal.runtime.1")]?.table.handleCount ?? 0);
    return refs.length;
  }
  most(): number {
    return this.#most;
  }
}

test("references inside values that go to a busy actor do not add up, there or here", async () => {
  const { table } = driverRuntime();
  const taker = remote(Taker).remote();
  let most = 0;
  // As many as eight collections end.
  for (let made = 0; made < 8 * HANDLES_BEFORE_COLLECTION; made += 10 * REFS_PER_CALL) {
    const calls = Array.from({ length: 10 }, () => taker.take.remote(Array.from({ length: REFS_PER_CALL }, (_, index) => put(index))));
    await get(calls);
    most = Math.max(most, table.handleCount);
  }
  // Handles of one round, and those that arrived during the collection and its finalizers.
  expect(await taker.most.remote()).toBeLessThan(2 * HANDLES_BEFORE_COLLECTION);
  // The test runner's heap is larger, so it takes more to weigh as much.
  expect(most).toBeLessThan(4 * HANDLES_BEFORE_COLLECTION);
  await until(() => table.publishedCount < 3 * HANDLES_BEFORE_COLLECTION, "the daemon to let the objects go");
});
