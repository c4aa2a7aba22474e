/** Calls that Python code submits itself: tasks and actors by `shoal.remote`, streams that it reads, retries, cancellation. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { cancel, type ActorHandle, get, getActor, kill, type ObjectRef, python } from "shoal";
import { describe, expect, test } from "vitest";
import { unless, WITHOUT_PYTHON } from "./python-places.ts";
import { collectGarbage, isAlive, storeUsedBytes, until, useFolder, useSession } from "./session.ts";

const folder = useFolder();
const SUBMITS = new URL("python/submits.py", import.meta.url);

async function call(name: string, ...args: unknown[]): Promise<unknown> {
  return await python.task<(...values: unknown[]) => unknown>(SUBMITS, name).remote(...args);
}

interface Caller {
  call(name: string, ...args: unknown[]): unknown;
}

/** From an actor, whose process no task shares: one that exits takes nobody else along. */
async function callFromActor(name: string, ...args: unknown[]): Promise<unknown> {
  using caller = python.actor<Caller, []>(SUBMITS, "Caller", { numCpus: 0 }).remote();
  return await caller.call.remote(name, ...args);
}

/** A separate function: V8 keeps the former references of a frame. */
async function useHandle(): Promise<number> {
  const counter = (await call("passed_on", 7)) as ActorHandle<Counter>;
  expect(await counter.add.remote(1)).toBe(8);
  return await counter.pid.remote();
}

interface Counter {
  add(by?: number): number;
  pid(): number;
}

describe.skipIf(WITHOUT_PYTHON !== undefined)(`calls that Python submits${unless(WITHOUT_PYTHON)}`, () => {
  useSession({ numCpus: 2 });

  test("tasks are submitted, many at once and nested, on two CPUs", async () => {
    expect(await call("doubled", [1, 2.5, "a"])).toEqual([2, 5, "aa"]);
    expect(
      await call(
        "doubled",
        Array.from({ length: 500 }, (_, index) => index),
      ),
    ).toEqual(Array.from({ length: 500 }, (_, index) => index * 2));
    expect(await call("chained", 1)).toBe(8);
    expect(await call("fib", 7)).toBe(13);
  });

  test("a function with a limit of calls: no process runs more of them, none runs twice, and the processes end", async () => {
    const [pids, refused] = (await call("limited_calls", 9)) as [number[], string];
    expect(pids).toHaveLength(9);
    for (const pid of pids) expect(pids.filter((other) => other === pid).length).toBeLessThanOrEqual(2);
    expect(refused).toContain("it belongs to the function: use @shoal.remote(max_calls=3)");
    const retiring = pids.filter((pid) => pids.filter((other) => other === pid).length === 2);
    await until(() => retiring.every((pid) => !isAlive(pid)), "the retiring workers to end");
  });

  test("a function of Python that TypeScript limits", async () => {
    const once = python.task<() => number>(SUBMITS, "process", { maxCalls: 1, maxRetries: 0 });
    const pids = await get(Array.from({ length: 5 }, () => once.remote()));
    expect(new Set(pids).size).toBe(5);
    await until(() => pids.every((pid) => !isAlive(pid)), "the retiring workers to end");
  });

  test("labels to fall back on", async () => {
    const [values, refused] = (await call("fallen_back")) as [number[], string];
    expect(values).toEqual([2, 4]);
    expect(refused).toContain('a list such as [{"label_selector": {"region": "us"}}] is needed');
  });

  test("arguments by name find their places", async () => {
    expect(await call("by_names")).toEqual([11, 3, 6, 15]);
  });

  test("references that a task returns outlive it", async () => {
    const [ref, kept] = (await call("returned", 21)) as [ObjectRef<number>, ObjectRef<string>];
    expect(await get([ref, kept])).toEqual([42, "kept"]);
  });

  test("actors are created, by handle and by name", async () => {
    expect(await call("count_up", 3)).toEqual([101, 102, 103]);
    expect(await call("named", "detached-from-python")).toBe(6);
    const found = await getActor<Counter>("detached-from-python");
    expect(await found.add.remote(1)).toBe(7);
    await kill(found);
    expect(await call("got_or_made", "made-once")).toEqual([2, 3]);
  });

  test("a handle as a result keeps its actor, whose end follows the handle's", async () => {
    const pid = await useHandle();
    await until(async () => {
      await collectGarbage();
      return !existsSync(`/proc/${pid}`);
    }, "the end of the actor");
  });

  test("what cannot be found by its name, and wrong options, are errors that say what to do", async () => {
    expect(await call("errors_of")).toEqual([
      expect.stringMatching(/^TypeError: Cannot make a remote function of a lambda: .* top level of a module/),
      expect.stringMatching(/^TypeError: Cannot make a remote function of inner, which is made inside a function/),
      expect.stringMatching(/^TypeError: .*a function or a class is needed: received int/),
      expect.stringMatching(/^TypeError: .*there is no option 'num_cpu': did you mean num_cpus/),
      expect.stringMatching(/^ValueError: Cannot set num_cpus of a task: .*received -1/),
      expect.stringMatching(/^TypeError: .*environment of its caller/),
      expect.stringMatching(/^TypeError: Cannot call double directly/),
      expect.stringMatching(/^TypeError: .*'a'/),
      expect.stringMatching(/^\w+: Cannot send a value at \[0\]/),
    ]);
  });

  test("streams are read as references, to their end or not", async () => {
    expect(await call("read_items", 1000)).toEqual([1, "two", Array.from({ length: 1000 }, (_, index) => index)]);
    expect(await call("read_actor_items", 10)).toEqual(Array.from({ length: 10 }, (_, index) => index));
    const [found, made] = (await call("read_some", join(folder, "some"))) as [number[], number];
    expect(found).toEqual([0, 1, 2]);
    expect(made).toBeLessThan(10);
    expect(await call("read_failing", join(folder, "failing"))).toEqual([50, "fifty"]);
    expect(await call("read_async", 20)).toEqual(Array.from({ length: 20 }, (_, index) => index));
  });

  test("tasks are tried again when their worker dies, and for errors that they name", async () => {
    expect(await callFromActor("retried", join(folder, "exits"), "exit")).toBe(3);
    expect(await callFromActor("retried", join(folder, "raises"), "error")).toBe(3);
    expect(await callFromActor("not_retried", join(folder, "once"))).toEqual(["WorkerCrashedError", "WORKER_CRASHED", true]);
  });

  test("of tasks that were sent ahead to a worker that dies none runs twice, and those that had not begun run elsewhere", async () => {
    const file = join(folder, "ahead");
    const found = (await callFromActor("sent_ahead", file)) as unknown[];
    const runs = readFileSync(file, "utf8").trim().split("\n").map(Number);
    // Answers of quick tasks may lie in the worker when it dies: those tasks have run, and are lost.
    expect(runs.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(found[3]).toBe("crashed");
    expect(found.slice(4)).toEqual([4, 5, 6, 7]);
  });

  test("the same of tasks that TypeScript has sent ahead to a worker of Python", async () => {
    const file = join(folder, "ahead-of-typescript");
    const marked = python.task<(file: string, number: number, fatal: number) => number>(SUBMITS, "marked", { maxRetries: 0 });
    await get(Array.from({ length: 50 }, (_, number) => marked.remote("/dev/null", number, -1)));
    const refs = Array.from({ length: 8 }, (_, number) => marked.remote(file, number, 3));
    const failed = await Promise.all(
      refs.map((ref) =>
        get(ref).then(
          () => false,
          () => true,
        ),
      ),
    );
    expect(
      readFileSync(file, "utf8")
        .trim()
        .split("\n")
        .map(Number)
        .toSorted((a, b) => a - b),
    ).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(failed.slice(3)).toEqual([true, false, false, false, false]);
  });

  test("calls of an actor that dies are sent to its next life as max_task_retries says, and fail otherwise", async () => {
    const [again, found] = (await callFromActor("actor_retries", join(folder, "mortal"))) as [unknown[], string[]];
    expect(again).toEqual([1, "second life", 2]);
    expect(found).toEqual(["ACTOR_UNAVAILABLE", "second life", "ACTOR_DIED", expect.stringContaining("kill")]);
  });

  test("cancel ends a task, and what that has submitted", async () => {
    expect(await callFromActor("cancels", join(folder, "cancelled"))).toBe("TASK_CANCELLED");
    expect(await callFromActor("cancels_parent", join(folder, "child"))).toBe(true);
    const file = join(folder, "grandchild");
    const running = python.task<(file: string) => void>(SUBMITS, "parent_of").remote(file);
    await until(() => existsSync(`${file}.began`), "the child to begin");
    cancel(running);
    await until(() => existsSync(file), "the child to end");
  });

  test("large arguments and results go through the store, and leave it", async () => {
    expect(await call("large", 1_000_000)).toEqual([[1_000_000], [1_000_000, 1], 1_000_000]);
    await until(async () => (await storeUsedBytes()) === 0, "the store to be empty");
  });
});

describe.skipIf(WITHOUT_PYTHON !== undefined)(`on one CPU${unless(WITHOUT_PYTHON)}`, () => {
  useSession({ numCpus: 1 });

  test("tasks that wait for others give their CPU to them, nested and as coroutines", async () => {
    expect(await call("fib", 6)).toBe(8);
    expect(await call("coroutines", 4)).toEqual([0, 4, 8, 12, 0, 4, 8, 12]);
  });
});
