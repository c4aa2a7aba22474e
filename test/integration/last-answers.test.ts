/**
 * What a process has answered arrives, also when its next call ends it, or blocks it for long, before it comes to a rest.
 */
import { remote } from "shoal";
import { expect, test } from "vitest";
import { failureOf, useSession } from "./session.ts";

useSession({ numCpus: 2 });

class Fragile {
  #calls = 0;
  async increment(): Promise<number> {
    this.#calls += 1;
    return this.#calls;
  }
  count(): number {
    this.#calls += 1;
    return this.#calls;
  }
  die(): void {
    process.kill(process.pid, "SIGKILL");
  }
  block(ms: number): number {
    const end = performance.now() + ms;
    while (performance.now() < end);
    return ms;
  }
}

test("an actor's answers arrive although the next call kills its process", async () => {
  for (const method of ["count", "increment", "count"] as const) {
    const actor = remote(Fragile).remote();
    await actor[method].remote();
    const calls = [actor[method].remote(), actor[method].remote()];
    const end = actor.die.remote();
    expect(await Promise.all(calls)).toEqual([2, 3]);
    expect((await failureOf(end)).code).toBe("ACTOR_DIED");
  }
});

test("answers of short calls do not wait for a long one behind them", async () => {
  const actor = remote(Fragile).remote();
  await actor.block.remote(20);
  const start = performance.now();
  const short = actor.count.remote();
  const long = actor.block.remote(1000);
  await short;
  expect(performance.now() - start).toBeLessThan(700);
  await long;
});
