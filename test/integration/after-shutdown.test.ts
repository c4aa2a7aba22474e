/** Things left in a program's hands after its session: handles, pools, awaited ends. None of them may hang. */
import { init, isInitialized, kill, ready, remote, shutdown, terminate } from "shoal";
import { Pool } from "shoal/util";
import { describe, expect, test } from "vitest";

describe("after shutdown", () => {
  class Greeter {
    hello(): string {
      return "hello";
    }
  }

  test("the handle of an actor says that its session has ended, and ending it is nothing", async () => {
    await init({ numCpus: 1 });
    const greeter = remote(Greeter).remote();
    expect(await greeter.hello.remote()).toBe("hello");
    await shutdown();
    expect(() => greeter.hello.remote()).toThrow("Cannot call Greeter.hello: the session of the actor has ended");
    await expect(ready(greeter)).rejects.toThrow("the session of the actor has ended");
    await terminate(greeter);
    await kill(greeter);
    expect(isInitialized()).toBe(false);
  });

  test("an end that was asked for before it resolves with it", async () => {
    await init({ numCpus: 1 });
    class Stuck {
      async wait(): Promise<void> {
        await new Promise(() => {});
      }
    }
    const stuck = remote(Stuck).remote();
    await ready(stuck);
    stuck.wait.remote().then(undefined, () => {});
    const terminated = terminate(stuck);
    await shutdown();
    await terminated;
  });

  test("a pool can still be disposed of", async () => {
    await init({ numCpus: 1 });
    const pool = new Pool({ processes: 1 });
    expect(await pool.map((x: number) => x + 1, [1, 2])).toEqual([2, 3]);
    await shutdown();
    await pool[Symbol.asyncDispose]();
  });

  test("a ref rejects and does not throw", async () => {
    await init({ numCpus: 1 });
    const ref = remote(() => 1).remote();
    await ref;
    await shutdown();
    const seen = ref.then(
      () => "a value",
      (error: unknown) => (error as Error).message,
    );
    expect(await seen).toContain("its session has ended");
  });
});
