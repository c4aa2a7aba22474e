/** Functions and classes of Python, called from TypeScript: values, errors, streams, cancellation, retries, environments, output, the ends of processes. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  actors,
  cancel,
  get,
  init,
  kill,
  put,
  python,
  ready,
  remote,
  RuntimeEnvError,
  shutdown,
  TaskCancelledError,
  TaskError,
  terminate,
} from "shoal";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { PYTHON_FOLDER, unless, WITHOUT_PYTHON } from "./python-places.ts";
import { failureOf, isAlive, shoalProcesses, until, useFolder, useSession } from "./session.ts";

const folder = useFolder();
let files = 0;
const newFile = (): string => join(folder, `file-${(files += 1)}`);
const lines = (file: string): string[] => (existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : []);

interface Counter {
  add(by?: number): number;
  numbers(count: number): Generator<number>;
  later(value: number): Promise<number>;
  fail(): void;
  pid(): number;
  die(): void;
  leave(): void;
}

/** The file beside this one, wherever the test runs. */
const THINGS = new URL("python/things.py", import.meta.url);

const echo = python.task<(...values: unknown[]) => unknown>(THINGS, "echo");
const double = python.task<(x: number) => number>(THINGS, "double");
const numbers = python.task<(count: number) => Generator<number>>(THINGS, "numbers", { numReturns: "streaming" });
const PyCounter = python.actor<Counter, [start?: number]>(THINGS, "Counter", { methods: { numbers: { numReturns: "streaming" } } });

describe.skipIf(WITHOUT_PYTHON !== undefined)(`Python${unless(WITHOUT_PYTHON)}`, () => {
  const before = process.cwd();
  beforeAll(() => process.chdir(PYTHON_FOLDER));
  afterAll(() => process.chdir(before));
  useSession({ numCpus: 2 });

  describe("tasks", () => {
    test("run and answer", async () => {
      expect(await double.remote(21)).toBe(42);
      expect(await get(Array.from({ length: 300 }, (_, index) => double.remote(index)))).toEqual(
        Array.from({ length: 300 }, (_, index) => index * 2),
      );
      expect(await python.task<() => string>("things.py", "nearby").remote()).toBe("beside");
      expect(await python.task<(x: number) => number>("things", "Outer.inner").remote(1)).toBe(2);
      expect(await python.task<(value: string) => Promise<string>>(THINGS, "later").remote("x")).toBe("x");
    });

    test("carry values of every kind there and back", async () => {
      const cycle: unknown[] = [1];
      cycle.push(cycle);
      for (const value of [
        null,
        undefined,
        true,
        -0,
        1.5,
        Number.NaN,
        2n ** 100n,
        "tëxt\ud800",
        new Date(1700000000123),
        new Uint8Array([1, 2]),
        [1, [2, { a: null }]],
        { a: { b: [1] }, __proto__x: 1 },
        new Map<unknown, unknown>([
          ["a", 1],
          [2, "b"],
        ]),
        new Set([1, "a"]),
        new Float64Array([1.5, -2]),
        /a+/gi,
        cycle,
      ])
        expect(await echo.remote(value)).toEqual(value);
      const names = python.task<(...values: unknown[]) => string[]>(THINGS, "type_names");
      expect(await names.remote(1, 1.5, "x", true, null, [], {}, new Uint8Array(2), new Date(0), 2n ** 80n, new Set())).toEqual(
        "int float str bool NoneType list dict bytes datetime int OrderedSet".split(" "),
      );
    });

    test("take references as arguments, at the top and inside", async () => {
      expect(await double.remote(double.remote(4))).toBe(16);
      const ref = put({ a: 1 });
      const again = (await echo.remote([ref])) as [PromiseLike<unknown>];
      expect(await again[0]).toEqual({ a: 1 });
      const inTypeScript = remote(async (x: number) => x + (await double.remote(x)));
      expect(await inTypeScript.remote(5)).toBe(15);
    });

    test("read large arguments where they lie, and store large results", async () => {
      const big = new Float64Array(1_000_000).fill(0.5);
      expect(await python.task<(values: Float64Array) => number>(THINGS, "total").remote(put(big))).toBe(500_000);
      expect(await echo.remote(big)).toEqual(big);
      const text = "x".repeat(200_000);
      expect(await echo.remote(text)).toBe(text);
    });

    test("return several values", async () => {
      const pair = python.task<() => [string, number]>(THINGS, "pair");
      const [a, b] = pair.options({ numReturns: 2 }).remote();
      expect([await a, await b]).toEqual(["a", 2]);
      const wrong = double.options({ numReturns: 2 }) as unknown as { remote(x: number): PromiseLike<unknown>[] };
      const refs = wrong.remote(1).map(failureOf);
      expect((await Promise.all(refs)).map(({ message }) => message)).toEqual(Array(2).fill(expect.stringContaining("received int")));
    });

    test("fail with the traceback as their cause", async () => {
      const failure = await failureOf(python.task<(text: string) => void>(THINGS, "fail").remote("bad"));
      expect(failure).toBeInstanceOf(TaskError);
      expect(failure.message).toBe("Task fail failed: ValueError: bad");
      expect(failure.stack).toContain("things.py:");
      const cause = failure.cause as Error & { details: unknown };
      expect(cause).toBeInstanceOf(RangeError);
      expect(cause.name).toBe("ValueError");
      expect(cause.details).toEqual({ n: 1 });
      expect("lock" in cause).toBe(false);
      expect(cause.stack).toMatch(/^Traceback \(most recent call last\):\n {2}File ".*things\.py", line \d+, in fail/);
      expect((await failureOf(python.task<() => void>(THINGS, "fail_unprintable").remote())).message).toBe(
        "Task fail_unprintable failed: Unprintable",
      );
    });

    test("say what cannot be sent, and where it is", async () => {
      const failure = await failureOf(python.task<() => unknown>(THINGS, "unsendable").remote());
      expect(failure.code).toBe("SERIALIZATION_FAILED");
      expect(failure.message).toContain("at .inner[1]: it cannot be pickled");
      class Point {}
      expect(() => echo.remote(1, { f: [(): number => 1] })).toThrow(
        /^Cannot call echo: the argument at \[1\]\.f\[0\] has no form in Python/,
      );
      expect(() => PyCounter.remote(new Point() as never)).toThrow(/^Cannot call Counter: the argument at \[0\] has no form/);
      using counter = PyCounter.remote();
      expect(() => counter.add.remote(new Point() as never)).toThrow(/^Cannot call Counter\.add: the argument at \[0\] has no form/);
      expect(() => counter.numbers.remote([new Point()] as never)).toThrow(/Counter\.numbers: the argument at \[0\]\[0\]/);
      expect(await counter.add.remote()).toBe(1);
      // The reader of a put value is not known yet.
      const there = await failureOf(echo.remote(put({ f: () => 1 })));
      expect(there.message).toContain("only JavaScript can read");
    });

    test("say what is not there, and what to do", async () => {
      const task = (place: string, name: string): Promise<Error> => failureOf(python.task<() => void>(place, name).remote());
      const missing = await task("no_such_module", "f");
      expect(missing).toBeInstanceOf(RuntimeEnvError);
      expect(missing.message).toMatch(/finds no module no_such_module.*-m pip install no_such_module/);
      expect((await task("package.module", "f")).message).toMatch(/has no module nowhere_to_be_found, which package.module needs/);
      expect((await task("things.py", "doubl")).message).toContain("things.py has no doubl: did you mean double?");
      expect((await task("nothing.py", "f")).message).toContain(`there is no file ${join(PYTHON_FOLDER, "nothing.py")}`);
    });
  });

  describe("streams", () => {
    test("give their items as they are made", async () => {
      const found: number[] = [];
      for await (const item of numbers.remote(1000)) found.push(item);
      expect(found).toEqual(Array.from({ length: 1000 }, (_, index) => index));
      const asynchronous = python.task<(count: number) => AsyncGenerator<number>>(THINGS, "async_numbers", { numReturns: "streaming" });
      let sum = 0;
      for await (const item of asynchronous.remote(10)) sum += item;
      expect(sum).toBe(45);
    });

    test("are no further ahead than they may be, and end when nobody reads on", async () => {
      const file = newFile();
      const logged = python.task<(count: number, file: string) => Generator<number>>(THINGS, "logged_numbers", { numReturns: "streaming" });
      const stream = logged.options({ highWaterMark: 2 }).remote(1_000_000, file) as AsyncIterable<number>;
      for await (const item of stream) {
        if (item === 5) break;
        await until(() => lines(file).length >= item + 2, "items to be made ahead");
        expect(lines(file).length).toBeLessThanOrEqual(item + 4);
      }
      await until(() => lines(file).at(-1) === "end", "the generator to end");
    });

    test("fail after what they gave", async () => {
      const failing = python.task<() => Generator<number>>(THINGS, "failing_numbers", { numReturns: "streaming" });
      const found: number[] = [];
      const read = (async (): Promise<void> => {
        for await (const item of failing.remote()) found.push(item);
      })();
      expect((await failureOf(read)).message).toContain("ValueError: after one");
      expect(found).toEqual([1]);
      const unasked = await failureOf(python.task<(count: number) => unknown>(THINGS, "numbers").remote(1));
      expect(unasked.message).toContain('set numReturns: "streaming"');
    });
  });

  describe("cancellation", () => {
    test("interrupts what computes, and another worker takes its place", async () => {
      const file = newFile();
      const ref = python.task<(file: string) => void>(THINGS, "spin").remote(file);
      await until(() => lines(file).length > 0, "the task to begin");
      const pid = Number(lines(file)[0]);
      expect(isAlive(pid)).toBe(true);
      cancel(ref);
      expect(await failureOf(ref)).toBeInstanceOf(TaskCancelledError);
      await until(() => lines(file).at(-1) === "interrupted", "the task to be interrupted");
      expect(await double.remote(1)).toBe(2);
      await until(() => !isAlive(pid), "the interrupted worker to end");
    });

    test("withdraws what is queued", async () => {
      const file = newFile();
      const one = python.task<(file: string) => void>(THINGS, "spin", { numCpus: 2 });
      const running = one.remote(file);
      await until(() => lines(file).length > 0, "the first task to begin");
      const queued = one.remote(newFile());
      cancel(queued);
      expect(await failureOf(queued)).toBeInstanceOf(TaskCancelledError);
      cancel(running);
      expect(await failureOf(running)).toBeInstanceOf(TaskCancelledError);
    });

    test("with force ends the worker", async () => {
      const file = newFile();
      const ref = python.task<(file: string) => void>(THINGS, "stubborn").remote(file);
      await until(() => lines(file).length > 0, "the task to begin");
      cancel(ref, { force: true });
      expect(await failureOf(ref)).toBeInstanceOf(TaskCancelledError);
      expect(await double.remote(1)).toBe(2);
    });
  });

  describe("faults", () => {
    test("a worker that ends or crashes is replaced, and its task retried", async () => {
      const die = python.task<(how: string, file: string) => string>(THINGS, "die");
      expect(await die.remote("exit", newFile())).toBe("lived");
      expect(await die.remote("crash", newFile())).toBe("lived");
      const failure = (await failureOf(die.options({ maxRetries: 0 }).remote("crash", newFile()))) as Error & { signal?: string };
      expect(failure).toMatchObject({ code: "WORKER_CRASHED", signal: "SIGSEGV" });
    });

    test("what it raised is retried where the options say so", async () => {
      const once = python.task<(file: string) => string>(THINGS, "fail_once");
      expect(await once.options({ retryOn: true }).remote(newFile())).toBe("then it went well");
      expect((await failureOf(once.remote(newFile()))).message).toContain("LookupError");
    });
  });

  describe("actors", () => {
    test("keep their state, and answer in order", async () => {
      using counter = PyCounter.remote(5);
      expect(await get([counter.add.remote(1), counter.add.remote(), counter.add.remote(10)])).toEqual([6, 7, 17]);
      expect(await counter.later.remote(3)).toBe(3);
      const found: number[] = [];
      for await (const item of counter.numbers.remote(5)) found.push(item);
      expect(found).toEqual([0, 1, 2, 3, 4]);
      const [other, same] = await get([counter.pid.remote(), counter.pid.remote()]);
      expect(other).toBe(same);
    });

    test("fail in a method without ending, and name their methods", async () => {
      using counter = PyCounter.remote();
      expect((await failureOf(counter.fail.remote())).message).toBe("Task Counter.fail failed: KeyError: 'missing'");
      const any = counter as unknown as Record<string, { remote(): PromiseLike<unknown> }>;
      expect((await failureOf((any["ad"] as { remote(): PromiseLike<unknown> }).remote())).message).toContain("did you mean add?");
      expect((await failureOf((any["_private"] as { remote(): PromiseLike<unknown> }).remote())).message).toContain("has no method");
      expect(await counter.add.remote()).toBe(1);
    });

    test("fail in their constructor", async () => {
      const counter = PyCounter.remote(-1);
      const failure = await failureOf(counter.add.remote());
      expect(failure.code).toBe("ACTOR_DIED");
      expect((failure.cause as Error).message).toContain("a counter starts at 0 or above");
    });

    test("restart, are passed on, are found by name, and end", async () => {
      const counter = PyCounter.options({ name: "py", maxRestarts: 1, maxTaskRetries: -1 }).remote(1);
      const pid = await counter.pid.remote();
      await failureOf(counter.die.remote().then(() => counter.die.remote()));
      const died = PyCounter.options({ maxRestarts: 1 }).remote(1);
      await failureOf(died.die.remote());
      expect(await died.add.remote()).toBe(2);
      const call = remote(async (handle: typeof died) => await handle.add.remote(10));
      expect(await call.remote(died)).toBe(12);
      expect(isAlive(pid)).toBe(false);
      await terminate(died);
      await kill(counter);
    });

    test("write their open files at every orderly end", async () => {
      const Notes = python.actor<{ write(text: string): number; leave(): void }, [path: string]>(THINGS, "Notes");
      for (const end of ["terminate", "leave"] as const) {
        const file = newFile();
        const notes = Notes.remote(file);
        await notes.write.remote("kept");
        if (end === "terminate") await terminate(notes);
        else await failureOf(notes.leave.remote());
        await until(() => readFileSync(file, "utf8") === "kept", "the text to be in the file");
      }
    });

    test("start programs of the virtual environment that they run in", async () => {
      const venv = newFile();
      execFileSync("python3", ["-m", "venv", "--without-pip", venv]);
      const found = python.task<() => string[]>(THINGS, "found_python", { runtimeEnv: { python: venv } });
      expect(await found.remote()).toEqual([join(venv, "bin", "python3"), venv]);
    });

    test("leave by themselves and when told to", async () => {
      const counters = async (): Promise<unknown[]> => (await actors()).filter(({ className }) => className === "Counter");
      await until(async () => (await counters()).length === 0, "the counters of the tests before to be gone");
      const counter = PyCounter.remote();
      await ready(counter);
      const pid = await counter.pid.remote();
      expect((await failureOf(counter.leave.remote())).message).toContain("it called exit_actor()");
      await until(() => !isAlive(pid), "the process to end");
      const other = PyCounter.remote();
      const otherPid = await other.pid.remote();
      const last = other.add.remote(4);
      await terminate(other);
      expect(await last).toBe(4);
      expect(isAlive(otherPid)).toBe(false);
      expect(await counters()).toEqual([]);
    });
  });

  describe("environments", () => {
    test("have variables, and workers of their own", async () => {
      const variable = python.task<(name: string) => string | null>(THINGS, "variable");
      expect(await variable.remote("SHOAL_TEST_VARIABLE")).toBeNull();
      expect(await variable.options({ runtimeEnv: { envVars: { SHOAL_TEST_VARIABLE: "set" } } }).remote("SHOAL_TEST_VARIABLE")).toBe("set");
      expect(await remote(() => process.env["SHOAL_TEST_VARIABLE"] ?? "unset").remote()).toBe("unset");
    });

    test("say which Python is missing and how to get it", async () => {
      const away = double.options({ runtimeEnv: { python: join(folder, "no-venv") } });
      const failure = await failureOf(away.remote(1));
      expect(failure).toBeInstanceOf(RuntimeEnvError);
      expect(failure.message).toContain(`Make a virtual environment there with: python3 -m venv ${join(folder, "no-venv")}`);
      const none = await failureOf(double.options({ runtimeEnv: { python: folder } }).remote(1));
      expect(none.message).toContain("is no virtual environment");
    });
  });
});

describe.skipIf(WITHOUT_PYTHON !== undefined)(`without what they need${unless(WITHOUT_PYTHON)}`, () => {
  afterEach(() => shutdown());

  test("workers that compute die with their daemon", async () => {
    await init({ numCpus: 1, logToDriver: false });
    const pid = await python.task<() => number>(THINGS, "process_id").remote();
    expect(shoalProcesses({ kind: "worker" })).toContain(pid);
    const file = newFile();
    const spinning = failureOf(python.task<(file: string) => void>(THINGS, "spin").remote(file));
    await until(() => lines(file).length > 0, "the task to begin");
    for (const daemon of shoalProcesses({ kind: "daemon" })) process.kill(daemon, "SIGKILL");
    await until(() => !isAlive(pid), "the worker to die");
    await spinning;
  });

  test("a session in one process refuses Python", async () => {
    await init({ mode: "inProcess" });
    expect(() => double.remote(1)).toThrow(/Python needs one of its own/);
  });
});
