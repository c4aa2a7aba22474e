/**
 * A user's view of a failed task: the class and the place of the error, and how a worker died.
 */
import { get, init, remote, SerializationError, shutdown, TaskError, WorkerCrashedError } from "shoal";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Sandbox } from "./sandbox.ts";
import { failureOf } from "./session.ts";

const sandbox = new Sandbox();

beforeAll(async () => {
  await init({ numCpus: 2, logToDriver: false });
});
afterAll(async () => {
  await shutdown();
  sandbox.remove();
});

test("the error of a task shows the user's own file and line first", async () => {
  const run = await sandbox.run(`
    import { init, remote, shutdown } from "shoal";
    await init({ numCpus: 1 });
    function inner(text: string): never {
      throw new RangeError("bad " + text); // line 5
    }
    const outer = remote(function outer(text: string): number {
      return inner(text);
    });
    await outer.remote("input").then(() => {}, (error) => console.log(error.stack));
    await shutdown();
  `);
  const [message, first, second] = run.stdout.split("\n");
  expect(message).toBe("TaskError: Task outer failed: RangeError: bad input");
  expect(first).toMatch(/at inner .*program-\d+\.ts:5:13/);
  expect(second).toMatch(/program-\d+\.ts:8:14/);
  expect(run.stdout).not.toContain("shoal/src");
});

test("the stack of a failure ends with the lines that made the call, and has none of Shoal's", async () => {
  const run = await sandbox.run(`
    import { init, remote, shutdown } from "shoal";
    await init({ numCpus: 1, logToDriver: false });
    class Actor {
      method(): never {
        throw new Error("in a method", { cause: new Error("inner") });
      }
    }
    const actor = remote(Actor).remote();
    const inner = remote(async function inner() { throw new RangeError("nested"); });
    const outer = remote(async function outer() {
      await inner.remote(); // line 12
    });
    const die = remote(function die() { process.kill(process.pid, "SIGKILL"); }, { maxRetries: 0 });
    function callsMethod() {
      return actor.method.remote(); // line 16
    }
    for (const call of [callsMethod, () => outer.remote(), () => die.remote()]) {
      await call().then(() => {}, (error) => {
        console.log(error.stack);
        console.log("cause", error.cause?.stack, error.cause?.cause?.stack);
      });
    }
    await shutdown();
  `);
  expect(run.stdout).toMatch(
    /in a method\n +at Actor\.method .*:6:15\)\n +--- ran in process \d+ on node \w+, submitted from ---\n +at callsMethod .*:16:27/,
  );
  expect(run.stdout).toMatch(
    /at inner .*:10:.*\n +--- ran in .*submitted from ---\n +at outer .*:12:.*\n +--- ran in .*submitted from ---\n.*:18:/,
  );
  expect(run.stdout).toMatch(/WorkerCrashedError: Task die failed: .*\n +at .*:18:/);
  expect(run.stdout.match(/^cause /gm)).toHaveLength(3);
  expect(run.stdout).not.toMatch(/shoal\/(src|dist)|node:internal|AsyncContext/);
});

test("a task's own error keeps its stack while it is sent without Shoal's frames", async () => {
  class Keeper {
    #error = new Error("kept");
    fail(): never {
      throw this.#error;
    }
    stackLines(): number {
      return String(this.#error.stack).split("\n").length;
    }
  }
  const keeper = remote(Keeper).remote();
  const before = await keeper.stackLines.remote();
  const error = await failureOf(keeper.fail.remote());
  expect(String((error.cause as Error).stack).split("\n").length).toBeLessThan(before);
  expect(await keeper.stackLines.remote()).toBe(before);
});

test("the cause of a failure has its class, its properties and its own cause", async () => {
  class TooLarge extends RangeError {
    readonly size: number;
    constructor(size: number, options?: ErrorOptions) {
      super(`${size} is too large`, options);
      this.size = size;
    }
  }
  const fail = remote((size: number) => {
    throw new TooLarge(size, { cause: new SyntaxError("because") });
  });
  const error = await failureOf(fail.remote(7));
  expect(error).toBeInstanceOf(TaskError);
  expect(error).toMatchObject({
    code: "TASK_FAILED",
    name: "TaskError",
    pid: expect.any(Number) as number,
    nodeId: expect.any(String) as string,
  });
  const cause = error.cause as TooLarge;
  expect(cause).toBeInstanceOf(TooLarge);
  expect(cause.size).toBe(7);
  expect(cause.message).toBe("7 is too large");
  expect(cause.cause).toBeInstanceOf(SyntaxError);
});

test("an async task that rejects fails in the same way", async () => {
  const fail = remote(async () => {
    await Promise.resolve();
    throw new TypeError("later");
  });
  const error = await failureOf(fail.remote());
  expect(error).toBeInstanceOf(TaskError);
  expect(error.cause).toBeInstanceOf(TypeError);
});

test.each([["a string"], [42], [null], [undefined], [{ status: 500 }], [Symbol.for("thrown")]])("a task may throw %s", async (thrown) => {
  const fail = remote((value: unknown) => {
    throw value;
  });
  const error = await failureOf(fail.remote(thrown));
  expect(error).toBeInstanceOf(TaskError);
  expect(error.cause).toEqual(thrown);
});

test("a frozen error, an error with a getter that throws, and one with a function arrive", async () => {
  const fail = remote((kind: string) => {
    const error = new Error(kind);
    if (kind === "frozen") throw Object.freeze(error);
    if (kind === "getter")
      Object.defineProperty(error, "detail", {
        enumerable: true,
        get: () => {
          throw new Error("no detail");
        },
      });
    if (kind === "function") Object.assign(error, { retry: () => 1, handle: process.stdout });
    throw error;
  });
  for (const kind of ["frozen", "getter", "function"]) {
    const error = await failureOf(fail.remote(kind));
    expect(error).toBeInstanceOf(TaskError);
    expect(error.message).toContain(kind);
    expect((error.cause as Error).message).toMatch(new RegExp(`^${kind}`));
  }
});

test("a huge error arrives, and its message is cut where it is printed", async () => {
  const fail = remote(() => {
    throw Object.assign(new Error("x".repeat(2_000_000)), { table: new Array(100_000).fill("row") });
  });
  const error = await failureOf(fail.remote());
  expect(error.message.length).toBeLessThan(20_000);
  expect((error.cause as Error).message.length).toBe(2_000_000);
});

test("the failure of a nested task arrives with the class of its cause", async () => {
  const inner = remote((): number => {
    throw new RangeError("deep");
  });
  const outer = remote(async () => await inner.remote());
  const error = await failureOf(outer.remote());
  expect(error).toBeInstanceOf(TaskError);
  expect(error.cause).toBeInstanceOf(RangeError);
  expect(error.message).toContain("deep");
});

test("the option name of an actor's call is the name in its error", async () => {
  class Model {
    predict(): number {
      throw new RangeError("no weights");
    }

    *stream(): Generator<number> {
      yield this.predict();
    }
  }
  using model = remote(Model).remote();
  expect((await failureOf(model.predict.remote())).message).toBe("Task Model.predict failed: RangeError: no weights");
  expect((await failureOf(model.predict.options({ name: "embed" }).remote())).message).toBe("Task embed failed: RangeError: no weights");
  const stream = model.stream.options({ name: "embed all" }).remote();
  expect((await failureOf(stream.next())).message).toBe("Task embed all failed: RangeError: no weights");
});

test("a task whose argument failed fails with that failure and does not run", async () => {
  const broken = remote((): number => {
    throw new RangeError("first");
  });
  const use = remote((value: number) => value + 1);
  const error = await failureOf(use.remote(use.remote(broken.remote())));
  expect(error).toBeInstanceOf(TaskError);
  expect(error.cause).toBeInstanceOf(RangeError);
});

test("the first failure of several rejects at once", async () => {
  const fail = remote((): number => {
    throw new RangeError("now");
  });
  const never = remote(async () => await new Promise<number>(() => setInterval(() => {}, 1000)), { numCpus: 0 });
  const error = await failureOf(get([never.remote(), fail.remote()]));
  expect(error.cause).toBeInstanceOf(RangeError);
});

test("a result that cannot be sent fails the task and names the way to it", async () => {
  const fail = remote(() => ({ open: { stream: process.stdout } }));
  const error = await failureOf(fail.remote());
  const cause = error instanceof SerializationError ? error : (error.cause as Error);
  expect(cause.message).toContain(".open");
});

test("a task that calls process.exit fails with the exit code and its last output", async () => {
  const leave = remote(
    (code: number) => {
      console.log("about to leave");
      console.error("really");
      process.exit(code);
    },
    { maxRetries: 0 },
  );
  const error = (await failureOf(leave.remote(7))) as WorkerCrashedError;
  expect(error).toBeInstanceOf(WorkerCrashedError);
  expect(error.exitCode).toBe(7);
  expect(error.signal).toBeUndefined();
  expect(error.lastOutput).toEqual(expect.arrayContaining(["about to leave", "really"]));
  expect(error.message).toContain("code 7");
  expect(error.hint).toContain("process.exit");
});

test("a worker that is killed in a task fails it with the signal, or has it repeated", async () => {
  const endure = remote((file: string) => {
    const { existsSync, writeFileSync } = process.getBuiltinModule("node:fs");
    if (!existsSync(file)) {
      writeFileSync(file, "");
      process.kill(process.pid, "SIGKILL");
    }
    return "endured";
  });
  const error = await failureOf(endure.options({ maxRetries: 0 }).remote(`${sandbox.temporary}/once`));
  expect(error).toBeInstanceOf(WorkerCrashedError);
  expect(error).toMatchObject({ signal: "SIGKILL", code: "WORKER_CRASHED", pid: expect.any(Number) as number });
  expect(await endure.remote(`${sandbox.temporary}/twice`)).toBe("endured");
});

test("an exception outside of the task's promise ends its worker, and its text is in the error", async () => {
  const stray = remote(
    async () => {
      setTimeout(() => {
        throw new Error("nobody catches this");
      }, 0);
      await new Promise(() => setInterval(() => {}, 1000));
    },
    { maxRetries: 0 },
  );
  const error = (await failureOf(stray.remote())) as WorkerCrashedError;
  expect(error).toBeInstanceOf(WorkerCrashedError);
  expect(error.lastOutput?.join("\n")).toContain("nobody catches this");
  expect(error.message).toContain("Error: nobody catches this");
});

test("a task that fills the heap of its worker fails with OutOfMemoryError", async () => {
  const run = await sandbox.run(
    `
    import { init, remote, OutOfMemoryError, shutdown } from "shoal";
    await init({ numCpus: 1, logToDriver: false });
    const fill = remote(function fill() {
      const kept: number[][] = [];
      for (;;) kept.push(new Array<number>(10_000).fill(kept.length));
    }, { maxRetries: 0 });
    await fill.remote().then(() => {}, (error) => console.log(error instanceof OutOfMemoryError, error.message));
    const next = remote(() => "the session goes on");
    console.log(await next.remote());
    await shutdown();
  `,
    { env: { NODE_OPTIONS: "--max-old-space-size=48" } },
  );
  expect(run.stdout).toMatch(/^true Task fill failed: its worker \(pid \d+\) died/);
  expect(run.stdout).toContain("heap out of memory");
  expect(run.stdout).toContain("the session goes on");
});

test("a failure that nobody awaits is reported once and does not end the driver", async () => {
  const run = await sandbox.run(`
    import { init, remote, shutdown, wait } from "shoal";
    await init({ numCpus: 1 });
    const fail = remote(function unloved(): number { throw new RangeError("unseen"); });
    const seen = fail.options({ name: "seen" }).remote();
    await wait([fail.remote(), seen], { numReturns: 2 });
    await seen.then(() => {}, () => {});
    console.log("the driver goes on");
    await shutdown();
    console.log("to its end");
  `);
  expect(run.stdout).toBe("the driver goes on\nto its end\n");
  expect(run.exitCode).toBe(0);
  expect(run.stderr.split("nobody awaited")).toHaveLength(2);
  expect(run.stderr).toContain("Task unloved failed: RangeError: unseen");
  expect(run.stderr).toMatch(/program-\d+\.ts:4:/);
});

test("a failure that is awaited late, or only in a promise that is handled, is no unhandled rejection", async () => {
  const run = await sandbox.run(`
    import { init, remote, get, wait, shutdown } from "shoal";
    await init({ numCpus: 1 });
    const fail = remote(function fail(text: string): number { throw new RangeError(text); });
    const refs = ["a", "b"].map((text) => fail.remote(text));
    await wait(refs, { numReturns: 2 });
    await new Promise((resolve) => setImmediate(resolve));
    for (const ref of refs) await ref.then(() => {}, (error) => console.log(error.cause.message));
    await Promise.allSettled([fail.remote("c"), get(fail.remote("d"))]);
    await shutdown();
  `);
  expect(run).toMatchObject({ stdout: "a\nb\n", stderr: "", exitCode: 0 });
});

test("failures that were got together with the one that rejected count as seen", async () => {
  const run = await sandbox.run(`
    import { get, init, remote, shutdown } from "shoal";
    await init({ numCpus: 1 });
    const fail = remote((text: string): number => { throw new Error(text); });
    const split = remote((): any => 5, { numReturns: 3 });
    await get([fail.remote("first"), fail.remote("second")]).catch((error) => console.log(error.message));
    await get(split.remote()).catch((error) => console.log(error.message.includes("numReturns is 3")));
    await shutdown();
  `);
  expect(run).toMatchObject({ exitCode: 0, stderr: "", stdout: "Task fail failed: Error: first\ntrue\n" });
});
