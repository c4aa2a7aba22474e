/**
 * Calls whose actor dies and comes back: order, repetition, counts, and how fast the actor comes back.
 */
import { appendFileSync } from "node:fs";
import { ActorDiedError, actors, ActorUnavailableError, get, getRuntimeContext, kill, remote } from "shoal";
import { describe, expect, test } from "vitest";
import { failureOf, Log, until, useFolder, useSession } from "./session.ts";

class Journal {
  readonly #file: string;
  readonly #entries: number[] = [];
  constructor(file: string) {
    this.#file = file;
    appendFileSync(file, `${getRuntimeContext().wasCurrentActorReconstructed ? "again" : "first"}\n`);
  }
  add(entry: number): number {
    this.#entries.push(entry);
    return entry;
  }
  entries(): number[] {
    return this.#entries;
  }
  /** Dies under the first call that comes in the actor's first life. */
  dieOnce(entry: number): number {
    if (!getRuntimeContext().wasCurrentActorReconstructed) process.kill(process.pid, "SIGKILL");
    return this.add(entry);
  }
  die(): void {
    appendFileSync(this.#file, "died\n");
    process.kill(process.pid, "SIGKILL");
  }
  async slowly(entry: number): Promise<number> {
    await new Promise((resolve) => setTimeout(resolve, 30));
    return this.add(entry);
  }
  pid(): number {
    return process.pid;
  }
}

describe("actors that restart", () => {
  useSession({ numCpus: 2 });
  const folder = useFolder();

  test("calls in flight and calls that wait are run again in each caller's order", async () => {
    const journal = remote(Journal, { maxRestarts: 1, maxTaskRetries: 1 }).remote(new Log(folder).file);
    await journal.pid.remote();
    const bump = remote(async (target: { add: { remote(entry: number): PromiseLike<number> } }, from: number) => {
      const refs = Array.from({ length: 100 }, (_, index) => target.add.remote(from + index));
      return await Promise.all(refs);
    });
    const mine = [journal.dieOnce.remote(0), ...Array.from({ length: 100 }, (_, index) => journal.add.remote(index + 1))];
    const others = [bump.remote(journal, 1000), bump.remote(journal, 2000)];
    expect(await get(mine)).toEqual(Array.from({ length: 101 }, (_, index) => index));
    await get(others);
    const entries = await journal.entries.remote();
    for (const from of [0, 1000, 2000]) {
      const own = entries.filter((entry) => entry >= from && entry < from + 1000);
      expect(own).toEqual([...own].sort((a, b) => a - b));
    }
    expect(entries.filter((entry) => entry < 1000).length).toBe(101);
    await kill(journal);
  });

  test("a call may be run again without end where others fail, as their methods say", async () => {
    const journal = remote(Journal, { maxRestarts: -1, methods: { slowly: { maxTaskRetries: -1 } } }).remote(new Log(folder).file);
    const before = journal.slowly.remote(1);
    const end = journal.die.remote();
    const after = journal.slowly.remote(2);
    const lost = journal.add.remote(3);
    expect(await before).toBe(1);
    expect(await failureOf(end)).toBeInstanceOf(ActorUnavailableError);
    expect(await after).toBe(2);
    expect((await failureOf(lost)).message).toContain("Journal.add");
    // The first may have run twice: its answer was on the way when the process died.
    expect((await journal.entries.remote()).at(-1)).toBe(2);
    await kill(journal);
  });

  test("a constructor that throws in a later life ends the actor with its error", async () => {
    class Once {
      constructor() {
        if (getRuntimeContext().wasCurrentActorReconstructed) throw new RangeError("only once");
      }
      die(): void {
        process.exit(3);
      }
    }
    const actor = remote(Once, { maxRestarts: 5 }).remote();
    const error = await failureOf(actor.die.remote());
    expect(error).toBeInstanceOf(ActorUnavailableError);
    expect(error).toMatchObject({ exitCode: 3 });
    const later = await failureOf(actor.die.remote());
    expect(later).toBeInstanceOf(ActorDiedError);
    expect(later.cause).toBeInstanceOf(RangeError);
  });

  test("an actor that dies again and again is started more and more slowly, and is not lost", async () => {
    const log = new Log(folder);
    const journal = remote(Journal, { maxRestarts: -1, maxTaskRetries: 4 }).remote(log.file);
    const begun = performance.now();
    await failureOf(journal.die.remote());
    // Five lives: the second comes at once, then after 100, 200 and 400 ms.
    expect(log.lines.filter((line) => line === "died").length).toBe(5);
    expect(performance.now() - begun).toBeGreaterThan(700);
    expect(await journal.add.remote(1)).toBe(1);
    const [info] = (await actors()).filter(({ className }) => className === "Journal");
    expect(info).toMatchObject({ phase: "alive", restarts: 5, incarnation: 5 });
    await kill(journal);
  });

  test("kill with a restart of an actor that is being made leaves it alone", async () => {
    const journal = remote(Journal, { maxRestarts: 1 }).remote(new Log(folder).file);
    await kill(journal, { noRestart: false });
    await until(
      async () =>
        await journal.pid.remote().then(
          (pid) => pid > 0,
          () => false,
        ),
      "the actor to answer",
    );
    await kill(journal);
  });

  test("the error of a call that waited at the actor names the call before it", async () => {
    const journal = remote(Journal).remote(new Log(folder).file);
    await journal.pid.remote();
    const [running, behind] = [journal.die.remote(), journal.add.remote(1)];
    expect((await failureOf(running)).message).toContain("while the call was with it: its process ended (it was ended by SIGKILL)");
    expect((await failureOf(behind)).message).toContain("while the call was with it, behind Journal.die");
  });
});
