/**
 * An actor that is killed again and again under the calls of several callers: every call is answered, and each caller's order is kept.
 */
import { appendFileSync } from "node:fs";
import { type ActorHandle, actors, get, kill, ready, remote } from "shoal";
import { describe, expect, test } from "vitest";
import { driverRuntime, Log, until, useFolder, useSession } from "./session.ts";

class Ledger {
  readonly #file: string;
  constructor(file: string) {
    this.#file = file;
  }
  add(caller: string, entry: number): number {
    appendFileSync(this.#file, `${caller} ${entry}\n`);
    return entry;
  }
  async addSlowly(caller: string, entry: number): Promise<number> {
    await new Promise((resolve) => setTimeout(resolve, 1));
    return this.add(caller, entry);
  }
}

/** The entries of one caller as they were first written: a call may run again, and then all that came after it in flight. */
function firstsOf(lines: readonly string[], caller: string): number[] {
  const entries = lines.filter((line) => line.startsWith(`${caller} `)).map((line) => Number(line.split(" ")[1]));
  return entries.filter((entry, index) => entries.indexOf(entry) === index);
}

describe.each(["process", "inProcess"] as const)("in mode %s", (mode) => {
  useSession({ numCpus: 2, mode });
  const folder = useFolder();

  test("calls that may run again all end, in each caller's order", async () => {
    const log = new Log(folder);
    const ledger = remote(Ledger, { maxRestarts: -1, maxTaskRetries: -1 }).remote(log.file);
    // A kill with a restart does not touch an actor that is being made.
    await ready(ledger);
    const call = remote(async (target: ActorHandle<Ledger>, caller: string) => {
      const refs = Array.from({ length: 150 }, (_, entry) => target.addSlowly.remote(caller, entry));
      return await Promise.all(refs);
    });
    const callers = ["a", "b"].map((caller) => call.remote(ledger, caller));
    const mine: PromiseLike<number>[] = [];
    for (let entry = 0; entry < 300; entry += 1) {
      mine.push(entry % 3 === 0 ? ledger.addSlowly.remote("mine", entry) : ledger.add.remote("mine", entry));
      if (entry % 100 === 50) await kill(ledger, { noRestart: false });
      if (entry % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 2));
    }
    expect(await Promise.all(mine)).toEqual(Array.from({ length: 300 }, (_, entry) => entry));
    for (const entries of await get(callers)) expect(entries).toEqual(Array.from({ length: 150 }, (_, entry) => entry));
    for (const [caller, count] of [
      ["mine", 300],
      ["a", 150],
      ["b", 150],
    ] as const) {
      expect(firstsOf(log.lines, caller)).toEqual(Array.from({ length: count }, (_, entry) => entry));
    }
    const [info] = await actors();
    expect(info?.restarts).toBeGreaterThanOrEqual(1);
    await kill(ledger);
  });

  test("many actors that are made and dropped leave nothing behind", async () => {
    const log = new Log(folder);
    const RemoteLedger = remote(Ledger);
    const before = driverRuntime().table.publishedCount;
    for (let round = 0; round < 5; round += 1) {
      const made = Array.from({ length: 8 }, () => RemoteLedger.remote(log.file));
      await get(made.map((ledger, index) => ledger.add.remote(`round ${round}`, index)));
      for (const ledger of made) ledger[Symbol.dispose]();
    }
    await until(async () => (await actors()).length === 0, "the actors to be gone");
    await until(() => driverRuntime().table.publishedCount <= before, "what they were given to be let go of");
  });
});
