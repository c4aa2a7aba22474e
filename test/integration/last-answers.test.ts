/**
 * What a process has answered arrives, also when its next call ends it, or blocks it for long, before it comes to a rest.
 */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { remote } from "shoal";
import { expect, test } from "vitest";
import { failureOf, useFolder, useSession } from "./session.ts";

const folder = useFolder();
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
  /** Computes for so long, and until the file is there; for half a minute at most. */
  block(ms: number, file: string): boolean {
    const since = performance.now();
    while (performance.now() < since + ms);
    while (!existsSync(file)) if (performance.now() > since + 30_000) return false;
    return true;
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
  const [before, go] = [join(folder, "before"), join(folder, "go")];
  writeFileSync(before, "");
  // It is known to be long from then on.
  await actor.block.remote(20, before);
  const short = actor.count.remote();
  const long = actor.block.remote(20, go);
  await short;
  // The long one ends by this alone.
  writeFileSync(go, "");
  expect(await long).toBe(true);
});
