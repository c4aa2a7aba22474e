/**
 * Answers arrive even where the next call ends their process, or blocks it for long, before the process comes to a rest; and so does the
 * reason for the end.
 */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { remote } from "shoal";
import { describe, expect, test } from "vitest";
import { failureOf, shoalProcesses, until, useFolder, useSession } from "./session.ts";

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
  // From then on the method is known to be long.
  await actor.block.remote(20, before);
  const short = actor.count.remote();
  const long = actor.block.remote(20, go);
  await short;
  // The long one ends by this alone.
  writeFileSync(go, "");
  expect(await long).toBe(true);
});

describe("how a process died is known although its node is late to tell it", () => {
  /** The node's daemon stands still for three seconds, from before until after the death. */
  async function late<T>(work: () => Promise<T>): Promise<T> {
    const [daemon = 0] = shoalProcesses({ kind: "daemon" });
    process.kill(daemon, "SIGSTOP");
    setTimeout(() => process.kill(daemon, "SIGCONT"), 3000);
    return await work();
  }

  test("of an actor", async () => {
    const actor = remote(Fragile).remote();
    await actor.count.remote();
    const failure = await late(() => failureOf(actor.die.remote()));
    expect(failure).toMatchObject({ code: "ACTOR_DIED", signal: "SIGKILL" });
  });

  test("of a worker", async () => {
    const [begun, go] = [join(folder, "begun"), join(folder, "die")];
    const dieOnce = remote(
      async (): Promise<void> => {
        writeFileSync(begun, "");
        while (!existsSync(go)) await new Promise((resolve) => setTimeout(resolve, 5));
        process.kill(process.pid, "SIGKILL");
      },
      { maxRetries: 0 },
    );
    const ref = dieOnce.remote();
    await until(() => existsSync(begun), "the task to begin");
    const failure = await late(() => {
      writeFileSync(go, "");
      return failureOf(ref);
    });
    expect(failure).toMatchObject({ code: "WORKER_CRASHED", signal: "SIGKILL" });
  });
});
