/** Python code that exits, forks, closes, and takes the worker's own files: the code gets its wish, and the worker lives on. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { cancel, python, TaskError } from "shoal";
import { describe, expect, test } from "vitest";
import { unless, WITHOUT_PYTHON } from "./python-places.ts";
import { failureOf, until, useFolder, useSession } from "./session.ts";

const folder = useFolder();
const WILD = new URL("python/wild.py", import.meta.url);

async function call(name: string, ...args: unknown[]): Promise<unknown> {
  return await python.task<(...values: unknown[]) => unknown>(WILD, name, { maxRetries: 0 }).remote(...args);
}

interface Forks {
  forks(): (number | string)[];
}

describe.skipIf(WITHOUT_PYTHON !== undefined)(`wild Python${unless(WITHOUT_PYTHON)}`, () => {
  useSession({ numCpus: 1, logToDriver: false });

  test("a task that closes the output costs no other its life", async () => {
    const worker = await call("process_id");
    expect(await call("prints_a_huge_line")).toBe(true);
    expect(await call("closes_its_output")).toBe(true);
    expect(await call("prints")).toBe(true);
    expect(await call("process_id")).toBe(worker);
  });

  test("what is printed after a task has closed the output goes to no connection", async () => {
    expect(await call("closes_its_output")).toBe(true);
    // Each actor is a worker that has run a task before, and gets a new connection.
    using actor = python.actor<{ prints(): boolean }, []>(WILD, "Prints", { numCpus: 0 }).remote();
    expect(await actor.prints.remote()).toBe(true);
    expect(await actor.prints.remote()).toBe(true);
  });

  test("an exit or an interruption of its own is an error of the task", async () => {
    const worker = await call("process_id");
    for (const [name, text] of [
      ["exits", "SystemExit: 3"],
      ["interrupts_itself", "KeyboardInterrupt: mine"],
      ["raises_evil", "Evil"],
      ["raises_with_hostile", "ValueError: with company"],
      ["raises_in_a_circle", "ValueError: one"],
      ["raises_after_many", "ValueError: try 100"],
    ] as const) {
      const failure = await failureOf(call(name, ...(name === "exits" ? [3] : name === "raises_after_many" ? [100] : [])));
      expect(failure).toBeInstanceOf(TaskError);
      expect(failure.message).toContain(text);
    }
    expect((await failureOf(call("returns_hostile"))).message).toContain("SystemExit: 4");
    expect((await failureOf(call("raises_at_length"))).message.length).toBeLessThan(20_000);
    expect(await call("process_id")).toBe(worker);
  });

  test("an exit or an interruption of a method that is a coroutine ends no other call of its actor", async () => {
    interface Coroutines {
      waits(): string;
      exits(code: number): void;
      interrupts_itself(): void;
      opens(): void;
    }
    using actor = python.actor<Coroutines, []>(WILD, "Coroutines", { numCpus: 0, maxConcurrency: 4 }).remote();
    const waits = actor.waits.remote();
    for (const [ends, text] of [
      [() => actor.exits.remote(3), "SystemExit: 3"],
      [() => actor.interrupts_itself.remote(), "KeyboardInterrupt: mine"],
    ] as const) {
      const failure = await failureOf(ends());
      expect(failure).toBeInstanceOf(TaskError);
      expect(failure.message).toContain(text);
    }
    await actor.opens.remote();
    expect(await waits).toBe("waited");
  });

  test("a task that takes the signal of cancellation keeps it no longer than it runs", async () => {
    const worker = await call("process_id");
    expect(await call("takes_the_signal")).toBe(true);
    const mark = join(folder, "computes");
    const running = python.task<(file: string) => void>(WILD, "computes").remote(mark);
    await until(() => existsSync(mark) && readFileSync(mark, "utf8") === `${String(worker)}\n`, "the task to compute in the same worker");
    cancel(running);
    await failureOf(running);
    // The interrupted worker takes no other task.
    expect(await call("process_id")).not.toBe(worker);
    expect(readFileSync(mark, "utf8")).toBe(`${String(worker)}\ninterrupted\n`);
  });

  test("a forked child ends where the task does, and is no worker", async () => {
    const worker = await call("process_id");
    expect(await call("forks")).toEqual([5, 6, 0, 7, 1]);
    expect(await call("process_id")).toBe(worker);
    using actor = python.actor<Forks, []>(WILD, "Forks", { numCpus: 0 }).remote();
    expect(await actor.forks.remote()).toEqual([5, 6, 0, 7, 1]);
  });

  test("multiprocessing works with all of its ways to start", async () => {
    expect(await call("pools")).toEqual([
      [1, 4, 9],
      [1, 4, 9],
      [1, 4, 9],
    ]);
  });
});
