/**
 * As answers-of-the-dead.test.ts, for code in Python: answers from before a process's end reach the caller, and Python as a caller gets
 * them, too.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { python } from "shoal";
import { describe, expect, test } from "vitest";
import { unless, WITHOUT_PYTHON } from "./python-places.ts";
import { useFolder, useSession } from "./session.ts";

type Way = "exit" | "kill" | "abort" | "once" | null;
const WAYS = ["exit", "kill", "abort"] as const;
const MODULE = new URL("python/last_answers.py", import.meta.url);

interface Counter {
  call(index: number, way: Way): number;
}

interface Caller {
  tasks(file: string, count: number, last: number): number[];
  actor(file: string, count: number, last: number): number[];
}

const folder = useFolder();
let files = 0;
const newFile = (): string => {
  files += 1;
  const file = join(folder, `ran-${files}`);
  writeFileSync(file, "");
  return file;
};
/** The numbers that were noted more than once, and how many there are. */
function runs(file: string): { twice: string[]; count: number } {
  const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  return { twice: lines.filter((line, at) => lines.indexOf(line) !== at), count: new Set(lines).size };
}
const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

describe.skipIf(WITHOUT_PYTHON !== undefined)(`processes of Python that end${unless(WITHOUT_PYTHON)}`, () => {
  useSession({ numCpus: 2 });

  test.each(WAYS)("%s: of quick tasks the one that ends its worker fails alone", async (way) => {
    const file = newFile();
    const call = python.task<(file: string, index: number, way: Way) => number>(MODULE, "call", { maxRetries: 0 });
    const outcomes = await Promise.allSettled(numbers(500).map((index) => call.remote(file, index, index === 39 ? way : null)));
    expect(outcomes.flatMap(({ status }, index) => (status === "rejected" ? [index] : []))).toEqual([39]);
    expect(runs(file)).toEqual({ twice: [], count: 499 });
  });

  test("a worker that is killed between two calls costs no call", async () => {
    const file = newFile();
    const call = python.task<(file: string, index: number, fatal: number) => number>(MODULE, "ends_behind", { maxRetries: 0 });
    await Promise.all(numbers(50).map((index) => call.remote("/dev/null", index, -1)));
    const outcomes = await Promise.allSettled(numbers(200).map((index) => call.remote(file, index, 39)));
    expect(outcomes.flatMap(({ status }, index) => (status === "rejected" ? [index] : []))).toEqual([]);
    expect(runs(file)).toEqual({ twice: [], count: 200 });
  });

  test.each(WAYS)("%s: calls of an actor that had ended have their answers", async (way) => {
    const file = newFile();
    const actor = python.actor<Counter>(MODULE, "Counter").remote(file);
    await actor.call.remote(-1, null);
    const outcomes = await Promise.allSettled(numbers(1000).map((index) => actor.call.remote(index, index === 500 ? way : null)));
    expect(outcomes.slice(0, 501).flatMap(({ status }, index) => (status === "rejected" ? [index] : []))).toEqual([500]);
    expect(runs(file)).toEqual({ twice: [], count: 501 });
  });

  test("with restarts and retries no call that had ended runs again", async () => {
    const file = newFile();
    const actor = python.actor<Counter>(MODULE, "Counter", { maxRestarts: 1, maxTaskRetries: 1 }).remote(file);
    await actor.call.remote(-1, null);
    const calls = numbers(1000).map((index) => actor.call.remote(index, index === 500 ? "once" : null));
    expect(await Promise.all(calls)).toEqual(numbers(1000));
    expect(runs(file)).toEqual({ twice: [], count: 1001 });
  });

  test.each(WAYS)("%s: a stream gives all items that it had yielded", async (way) => {
    const items = python.task<(way: Way) => Generator<number>>(MODULE, "items", { maxRetries: 0, numReturns: "streaming" });
    const received: number[] = [];
    await expect(
      (async () => {
        for await (const item of items.remote(way)) received.push(item);
      })(),
    ).rejects.toMatchObject({ code: "WORKER_CRASHED" });
    expect(received).toEqual(numbers(100));
  });

  test("a caller in Python gets all answers of tasks and actors that had ended", async () => {
    const [tasks, calls] = [newFile(), newFile()];
    const caller = python.actor<Caller>(MODULE, "Caller").remote();
    expect(await caller.tasks.remote(tasks, 500, 39)).toEqual([39]);
    expect(runs(tasks)).toEqual({ twice: [], count: 499 });
    const failed = await caller.actor.remote(calls, 1000, 500);
    expect(failed[0]).toBe(500);
    expect(runs(calls)).toEqual({ twice: [], count: 501 });
  });
});
