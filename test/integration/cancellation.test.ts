/**
 * The end of calls that nobody waits for any more: `cancel`, the options `signal` and `timeoutMs`, and what the work behind them sees.
 */
import { getEventListeners } from "node:events";
import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cancel, get, getRuntimeContext, kill, type ObjectRef, put, remote, TaskCancelledError, TaskTimeoutError, wait } from "shoal";
import { describe, expect, test } from "vitest";
import { CANCEL_GRACE_MS } from "../../src/runtime/base/limits.ts";
import { driverRuntime, failureOf, isAlive, Log, storeUsedBytes, until, useFolder, useSession } from "./session.ts";

const folder = useFolder();
useSession({ numCpus: 2 });

let marks = 0;
function newMark(): string {
  marks += 1;
  return join(folder, `mark-${marks}`);
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Tells that it has begun, and ends when its signal aborts, telling why. */
const untilAborted = remote(async (begun: string, ended: string) => {
  writeFileSync(begun, "");
  const { signal } = getRuntimeContext();
  await new Promise((resolve) => signal.addEventListener("abort", resolve));
  writeFileSync(ended, String(signal.reason));
});
const add = remote((a: number, b: number) => a + b);

/** Every call is known to have ended in its worker, too. */
function untilQuiet(): Promise<void> {
  return until(() => driverRuntime().cancellation.pursuedCount === 0 && driverRuntime().pendingTaskCount === 0, "the workers to be quiet");
}

/** Ignores its signal, and pauses for ever. */
const ignore = remote(async (begun: string) => {
  writeFileSync(begun, String(process.pid));
  await new Promise((resolve) => setTimeout(resolve, 60_000));
});
/** Computes for ever after a pause: nothing can interrupt it there. */
const spinLater = remote(async (begun: string) => {
  await sleep(1);
  writeFileSync(begun, String(process.pid));
  for (;;);
});

function written(mark: string): Promise<void> {
  return until(() => existsSync(mark) && readFileSync(mark, "utf8") !== "", `something to be in ${mark}`);
}

function begins(mark: string): Promise<void> {
  return until(() => existsSync(mark), "the task to begin");
}

/**
 * The failure of a call whose time is over while it runs: on a busy machine a short time may be over before it has begun, so the next one is given more.
 *
 * @param call takes the limit and the file by which it says that it has begun
 */
async function failureInTime(
  call: (timeoutMs: number, begun: string) => PromiseLike<unknown>,
): Promise<{ failure: Error; timeoutMs: number }> {
  for (let timeoutMs = 150; ; timeoutMs *= 2) {
    const begun = newMark();
    const failure = await failureOf(call(timeoutMs, begun));
    if (existsSync(begun) || timeoutMs > 10_000) return { failure, timeoutMs };
  }
}

describe("a task", () => {
  test("that awaits something sees its signal abort; its ref is rejected at once", async () => {
    const begun = newMark();
    const ended = newMark();
    const ref = untilAborted.remote(begun, ended);
    await begins(begun);
    cancel(ref);
    const failure = await failureOf(ref);
    expect(failure).toBeInstanceOf(TaskCancelledError);
    expect(failure).toMatchObject({ code: "TASK_CANCELLED", hint: expect.any(String) });
    await written(ended);
    expect(readFileSync(ended, "utf8")).toMatch(/^TaskCancelledError/);
    await untilQuiet();
    expect(await add.remote(1, 2)).toBe(3);
  });

  test("that waits for its arguments never begins", async () => {
    const slow = remote(async () => {
      await sleep(200);
      return 1;
    });
    const log = new Log(folder);
    const { file } = log;
    const note = remote((_n: number) => appendFileSync(file, "ran\n"));
    const argument = slow.remote();
    const ref = note.remote(argument);
    cancel(ref);
    expect(await failureOf(ref)).toBeInstanceOf(TaskCancelledError);
    expect(await argument).toBe(1);
    await add.remote(1, 2);
    expect(log.lines).toEqual([]);
  });

  test("that waits for a worker never begins; those before and behind it do", async () => {
    const log = new Log(folder);
    const { file } = log;
    const note = remote(async (n: number) => {
      await sleep(50);
      appendFileSync(file, `${n}\n`);
    });
    const refs = Array.from({ length: 9 }, (_, index) => note.remote(index));
    const dropped = refs.filter((_, index) => index % 3 === 2);
    for (const ref of dropped) cancel(ref);
    const outcomes = await Promise.allSettled(refs);
    expect(outcomes.map((outcome) => outcome.status)).toEqual(refs.map((ref) => (dropped.includes(ref) ? "rejected" : "fulfilled")));
    expect(log.lines.map(Number).sort((a, b) => a - b)).toEqual([0, 1, 3, 4, 6, 7]);
  });

  test("that waits for a ref gets the rejection there, and may clean up with further waits", async () => {
    const begun = newMark();
    const ended = newMark();
    const never = ignore.remote(newMark());
    const waitFor = remote(async ([ref]: [ObjectRef<void>], how: string) => {
      writeFileSync(begun, "");
      try {
        if (how === "await") await ref;
        else if (how === "get") await get([ref, add.remote(1, 1)]);
        else await wait([ref]);
      } catch (error) {
        writeFileSync(ended, `${(error as Error).name} ${await add.remote(20, 22)}`);
        throw error;
      }
    });
    for (const how of ["await", "get", "wait"]) {
      const ref = waitFor.remote([never], how);
      await begins(begun);
      await sleep(20);
      cancel(ref);
      await written(ended);
      expect(readFileSync(ended, "utf8")).toBe("TaskCancelledError 42");
      for (const mark of [begun, ended]) rmSync(mark);
    }
    cancel(never, { force: true });
    await untilQuiet();
  });

  test("is not run again, whatever its retries allow", async () => {
    const log = new Log(folder);
    const { file } = log;
    const seen: unknown[] = [];
    const retryOn = (error: unknown): boolean => {
      seen.push(error);
      return true;
    };
    const throwAborted = remote(
      async () => {
        appendFileSync(file, "ran\n");
        const { signal } = getRuntimeContext();
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        signal.throwIfAborted();
      },
      { maxRetries: 5, retryOn },
    );
    const ref = throwAborted.remote();
    await until(() => log.lines.length === 1, "the task to begin");
    cancel(ref);
    expect(await failureOf(ref)).toBeInstanceOf(TaskCancelledError);
    await untilQuiet();
    await sleep(50);
    expect(log.lines).toEqual(["ran"]);
    expect(seen).toEqual([]);
  });

  test("of several refs fails with all of them", async () => {
    const begun = newMark();
    const refs = untilAborted.options({ numReturns: 3 } as const).remote(begun, newMark()) as unknown as ObjectRef<unknown>[];
    await begins(begun);
    cancel(refs[1] as ObjectRef<unknown>);
    for (const ref of refs) expect(await failureOf(ref)).toBeInstanceOf(TaskCancelledError);
  });

  test("that has ended is left alone, and one that was cancelled stays so", async () => {
    const ref = add.remote(1, 2);
    await ref;
    cancel(ref);
    expect(await ref).toBe(3);
    const begun = newMark();
    const other = untilAborted.remote(begun, newMark());
    cancel(other);
    cancel(other, { force: true });
    expect(await failureOf(other)).toBeInstanceOf(TaskCancelledError);
    await untilQuiet();
    cancel(other);
  });

  test("that ends in spite of it leaves nothing of its result in the store", async () => {
    const begun = newMark();
    const go = newMark();
    const usedBytes = await storeUsedBytes();
    const makeLarge = remote(async () => {
      writeFileSync(begun, "");
      while (!existsSync(go)) await sleep(5);
      return new Uint8Array(1_000_000);
    });
    const ref = makeLarge.remote();
    await begins(begun);
    cancel(ref);
    expect(await failureOf(ref)).toBeInstanceOf(TaskCancelledError);
    writeFileSync(go, "");
    await untilQuiet();
    await until(async () => (await storeUsedBytes()) <= usedBytes, "the store to be as it was");
  });

  test("that created an actor takes it along", async () => {
    class Holder {
      pid(): number {
        return process.pid;
      }
    }
    const remoteHolder = remote(Holder);
    const begun = newMark();
    const hold = remote(async () => {
      const holder = remoteHolder.remote();
      writeFileSync(begun, String(await holder.pid.remote()));
      for (;;) await sleep(10);
    });
    const ref = hold.remote();
    await written(begun);
    cancel(ref, { force: true });
    const pid = Number(readFileSync(begun, "utf8"));
    await until(() => !isAlive(pid), "the actor to end");
    await untilQuiet();
  });

  test("whose worker dies under the cancellation is not run again", async () => {
    const begun = newMark();
    const ref = ignore.remote(begun);
    await written(begun);
    cancel(ref);
    process.kill(Number(readFileSync(begun, "utf8")), "SIGKILL");
    expect(await failureOf(ref)).toBeInstanceOf(TaskCancelledError);
    rmSync(begun);
    await untilQuiet();
    expect(await add.remote(1, 2)).toBe(3);
    expect(existsSync(begun)).toBe(false);
  });
});

describe("a worker that does not let go", () => {
  test("is replaced after the time of grace; what was queued there has lost no try", async () => {
    const begun = newMark();
    const ref = spinLater.remote(begun);
    await written(begun);
    const since = performance.now();
    cancel(ref);
    expect(await failureOf(ref)).toBeInstanceOf(TaskCancelledError);
    // At once: its worker has not even been ended for it.
    expect(isAlive(Number(readFileSync(begun, "utf8")))).toBe(true);
    const once = add.options({ maxRetries: 0 });
    const queued = Array.from({ length: 20 }, (_, index) => once.remote(index, 1));
    expect(await get(queued)).toEqual(queued.map((_, index) => index + 1));
    await untilQuiet();
    expect(performance.now() - since).toBeGreaterThan(CANCEL_GRACE_MS);
    // A worker's connections close a moment before the process is gone.
    await until(() => !isAlive(Number(readFileSync(begun, "utf8"))), "the worker to end");
  }, 20_000);

  test("is ended at once by force", async () => {
    const begun = newMark();
    const ref = ignore.remote(begun);
    await written(begun);
    const since = performance.now();
    cancel(ref, { force: true });
    expect(await failureOf(ref)).toBeInstanceOf(TaskCancelledError);
    await until(() => !isAlive(Number(readFileSync(begun, "utf8"))), "the worker to end");
    expect(performance.now() - since).toBeLessThan(CANCEL_GRACE_MS);
    await untilQuiet();
  });

  test("goes on without the task where others have begun", async () => {
    const begun = newMark();
    const log = new Log(folder);
    const { file } = log;
    /** The child runs in the same process while the parent waits, and ignores its end. */
    const parent = remote(
      async () => {
        appendFileSync(file, `${process.pid}\n`);
        const refs = [0, 1, 2].map((index) => ignore.options({ timeoutMs: 500 }).remote(`${begun}-${index}`));
        const outcomes = await Promise.allSettled(refs);
        appendFileSync(file, `${outcomes.map((outcome) => (outcome.status === "rejected" ? outcome.reason.name : "")).join()}\n`);
        // Until the time of grace is over, and the next attempts to end them.
        await sleep(4500);
        return "went on";
      },
      { maxRetries: 0 },
    );
    const ref = parent.remote();
    await until(() => log.lines.length > 0, "the task to begin");
    const since = performance.now();
    await until(() => log.lines.length === 2, "the calls to end by their time limit");
    expect(performance.now() - since).toBeLessThan(CANCEL_GRACE_MS);
    expect(await ref).toBe("went on");
    expect(log.lines.slice(1)).toEqual(["TaskTimeoutError,TaskTimeoutError,TaskTimeoutError"]);
    await untilQuiet();
  }, 20_000);
});

describe("what a task has called", () => {
  /** A tree of tasks; each leaf waits, and all note when they end. */
  const tree = remote(async (depth: number, file: string): Promise<number> => {
    try {
      if (depth === 0) {
        appendFileSync(file, "leaf\n");
        const { signal } = getRuntimeContext();
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        appendFileSync(file, "aborted\n");
        return 0;
      }
      const [left, right] = await get([tree.remote(depth - 1, file), tree.remote(depth - 1, file)]);
      return left + right;
    } finally {
      appendFileSync(file, "ended\n");
    }
  });

  test("is cancelled with it, down to the leaves", async () => {
    const log = new Log(folder);
    const ref = tree.remote(1, log.file);
    await until(() => log.lines.filter((line) => line === "leaf").length >= 1, "a leaf to begin");
    cancel(ref);
    expect(await failureOf(ref)).toBeInstanceOf(TaskCancelledError);
    await untilQuiet();
    await until(() => {
      const count = (what: string): number => log.lines.filter((line) => line === what).length;
      return count("aborted") === count("leaf") && count("ended") === count("leaf") + 1;
    }, "all of them to end");
    expect(await add.remote(1, 2)).toBe(3);
  });

  test("is left alone with recursive: false", async () => {
    const begun = newMark();
    const ended = newMark();
    const finish = newMark();
    const child = remote(async () => {
      writeFileSync(begun, "");
      while (!existsSync(finish)) await sleep(5);
      writeFileSync(ended, getRuntimeContext().signal.aborted ? "aborted" : "by itself");
    });
    const parent = remote(async () => {
      await child.remote();
    });
    const ref = parent.remote();
    await begins(begun);
    cancel(ref, { recursive: false });
    expect(await failureOf(ref)).toBeInstanceOf(TaskCancelledError);
    writeFileSync(finish, "");
    await written(ended);
    expect(readFileSync(ended, "utf8")).toBe("by itself");
    await untilQuiet();
  });

  test("is cancelled when its parent is interrupted, too", async () => {
    const begun = newMark();
    const ended = newMark();
    const parent = remote(() => {
      untilAborted.remote(begun, ended);
      const since = Date.now();
      while (Date.now() - since < 60_000);
    });
    const starter = remote(async () => {
      untilAborted.remote(begun, ended);
      while (!existsSync(begun)) await sleep(5);
      for (;;);
    });
    const ref = parent.remote();
    // The call leaves while its parent computes.
    await begins(begun);
    cancel(ref);
    expect(await failureOf(ref)).toBeInstanceOf(TaskCancelledError);
    await written(ended);
    await untilQuiet();
    rmSync(begun);
    const other = starter.remote();
    await begins(begun);
    cancel(other, { force: true });
    await untilQuiet();
  });
});

describe("a ref in other hands", () => {
  test("cancels at its owner: the driver's in a task", async () => {
    const begun = newMark();
    const ended = newMark();
    const ref = untilAborted.remote(begun, ended);
    await begins(begun);
    await remote(([borrowed]: [ObjectRef<void>]) => cancel(borrowed)).remote([ref]);
    expect(await failureOf(ref)).toBeInstanceOf(TaskCancelledError);
    await written(ended);
  });

  test("cancels at its owner: a task's in the driver", async () => {
    const begun = newMark();
    const ended = newMark();
    const handOut = remote(() => [untilAborted.remote(begun, ended)]);
    const [ref] = (await handOut.remote()) as [ObjectRef<void>];
    await begins(begun);
    cancel(ref);
    expect(await failureOf(ref)).toBeInstanceOf(TaskCancelledError);
    await written(ended);
    await untilQuiet();
  });
});

describe("options", () => {
  test("timeoutMs cancels what runs, and counts from the submission", async () => {
    let ended = "";
    let since = 0;
    const { failure, timeoutMs } = await failureInTime((limitMs, begun) => {
      ended = newMark();
      since = performance.now();
      return untilAborted.options({ timeoutMs: limitMs }).remote(begun, ended);
    });
    expect(failure).toBeInstanceOf(TaskTimeoutError);
    expect(failure).toMatchObject({ code: "TASK_TIMEOUT", details: { timeoutMs } });
    expect(performance.now() - since).toBeGreaterThan(timeoutMs - 10);
    await written(ended);

    const log = new Log(folder);
    const { file } = log;
    const note = remote(() => appendFileSync(file, "ran\n"));
    const go = newMark();
    const both = [newMark(), newMark()];
    const busy = both.map((mark) =>
      remote(async () => {
        writeFileSync(mark, "");
        while (!existsSync(go)) await sleep(5);
      }).remote(),
    );
    for (const mark of both) await begins(mark);
    expect(await failureOf(note.options({ timeoutMs: 50 }).remote())).toBeInstanceOf(TaskTimeoutError);
    writeFileSync(go, "");
    await get(busy);
    await add.remote(1, 1);
    expect(log.lines).toEqual([]);
    expect(await add.options({ timeoutMs: 10_000 }).remote(1, 2)).toBe(3);
    expect(await add.options({ timeoutMs: Number.POSITIVE_INFINITY }).remote(1, 2)).toBe(3);
  });

  test("signal cancels many calls at once, and is let go of when they end", async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const limited = add.options({ signal });
    expect(await get(Array.from({ length: 50 }, () => limited.remote(1, 2)))).toHaveLength(50);
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
    const begun = newMark();
    const refs = [untilAborted.options({ signal }).remote(begun, newMark()), untilAborted.options({ signal }).remote(newMark(), newMark())];
    await begins(begun);
    const why = new Error("no longer wanted");
    controller.abort(why);
    for (const ref of refs) {
      const failure = await failureOf(ref);
      expect(failure).toBeInstanceOf(TaskCancelledError);
      expect(failure.cause).toBe(why);
    }
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
    await untilQuiet();
  });

  test("a signal that has aborted sends nothing", async () => {
    const mark = newMark();
    const note = remote(() => writeFileSync(mark, ""), { signal: AbortSignal.abort() });
    const failure = await failureOf(note.remote());
    expect(failure).toBeInstanceOf(TaskCancelledError);
    expect(driverRuntime().pendingTaskCount).toBe(0);
    await add.remote(1, 1);
    expect(existsSync(mark)).toBe(false);
  });

  test("a remote function with a signal travels without it", async () => {
    const limited = add.options({ signal: new AbortController().signal, name: "limited" });
    expect(await remote(() => limited.remote(1, 2)).remote()).toBe(3);
  });
});

describe("a call of an actor", () => {
  class Worker {
    readonly #log: string[] = [];
    async pause(begun: string): Promise<string> {
      const { signal } = getRuntimeContext();
      writeFileSync(begun, "");
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      this.#log.push("aborted");
      return "ended";
    }
    note(what: string): void {
      this.#log.push(what);
    }
    get(): string[] {
      return this.#log;
    }
    spin(ms: number): void {
      const end = performance.now() + ms;
      while (performance.now() < end);
      this.#log.push("spun");
    }
  }

  test("sees its signal abort; those behind it come next, without the cancelled ones", async () => {
    using worker = remote(Worker).remote();
    const begun = newMark();
    const running = worker.pause.remote(begun);
    const first = worker.note.remote("first");
    const second = worker.note.remote("second");
    const third = worker.note.remote("third");
    await begins(begun);
    cancel(second);
    expect(await failureOf(second)).toBeInstanceOf(TaskCancelledError);
    cancel(running);
    expect(await failureOf(running)).toBeInstanceOf(TaskCancelledError);
    await get([first, third]);
    expect(await worker.get.remote()).toEqual(["aborted", "first", "third"]);
  });

  test("that waits for its arguments, or for the actor to begin, is withdrawn", async () => {
    using worker = remote(Worker).remote();
    const early = worker.note.remote("early");
    const argument = remote(() => sleep(200)).remote();
    const waiting = worker.note.remote(argument as unknown as ObjectRef<string>);
    const behind = worker.note.remote("behind");
    cancel(early);
    cancel(waiting);
    for (const ref of [early, waiting]) expect(await failureOf(ref)).toBeInstanceOf(TaskCancelledError);
    await behind;
    expect(await worker.get.remote()).toEqual(["behind"]);
    await argument;
  });

  test("is not interrupted, and not ended by force", async () => {
    using worker = remote(Worker).remote();
    expect(await worker.get.remote()).toEqual([]);
    const ref = worker.spin.remote(300);
    expect(() => cancel(ref, { force: true })).toThrow(/^Cannot cancel with force: Worker\.spin is a call of an actor.*kill\(actor\)/);
    cancel(ref);
    expect(await failureOf(ref)).toBeInstanceOf(TaskCancelledError);
    expect(await worker.get.remote()).toEqual(["spun"]);
  });

  test("that computes without end blocks its actor until kill restarts it", async () => {
    using worker = remote(Worker, { maxRestarts: 1 }).remote();
    expect(await worker.get.remote()).toEqual([]);
    const ref = worker.spin.remote(1e9);
    const behind = worker.get.options({ timeoutMs: 300 }).remote();
    cancel(ref);
    expect(await failureOf(ref)).toBeInstanceOf(TaskCancelledError);
    expect(await failureOf(behind)).toBeInstanceOf(TaskTimeoutError);
    await kill(worker, { noRestart: false });
    expect(await worker.get.remote()).toEqual([]);
  });

  test("has timeoutMs and signal, too", async () => {
    using worker = remote(Worker).remote();
    const { failure } = await failureInTime((timeoutMs, begun) => worker.pause.options({ timeoutMs }).remote(begun));
    expect(failure).toBeInstanceOf(TaskTimeoutError);
    expect(await failureOf(worker.note.options({ signal: AbortSignal.abort() }).remote("never"))).toBeInstanceOf(TaskCancelledError);
    // Some of the calls whose time was over too early may have begun just then.
    expect(new Set(await worker.get.remote())).toEqual(new Set(["aborted"]));
  });
});

describe("what cannot be cancelled", () => {
  test.each([
    ["a number", () => 5, /^Cannot cancel: an ObjectRef is needed: received/],
    ["a promise", () => Promise.resolve(1), /^Cannot cancel: an ObjectRef is needed: received/],
    [
      "an actor",
      () => remote(class Nothing {}).remote(),
      /^Cannot cancel: an ObjectRef is needed: use kill or terminate to end an actor: received/,
    ],
    ["what was put", () => put(1), /^Cannot cancel: no call computes the object, it was put: received/],
  ])("%s is refused", (_name, make, message) => {
    expect(() => cancel(make() as never)).toThrow(TypeError);
    expect(() => cancel(make() as never)).toThrow(message);
  });

  test("what was put and came from elsewhere is refused", async () => {
    const [ref] = (await remote(() => [put(1)]).remote()) as [ObjectRef<number>];
    expect(() => cancel(ref)).toThrow(/^Cannot cancel: no call computes the object, it was put/);
  });

  test("options that do not exist are refused", () => {
    expect(() => cancel(add.remote(1, 2), { forced: true } as never)).toThrow(
      'Cannot set options of cancel: there is no option "forced": did you mean force?',
    );
  });
});

test("5,000 calls, of which every twentieth is cancelled at some moment, all end", async () => {
  const work = remote(async (n: number) => {
    if (n % 7 === 0) await sleep(n % 3);
    return n;
  });
  const refs = Array.from({ length: 5000 }, (_, index) => work.remote(index));
  const cancelled = new Set<number>();
  for (let index = 0; index < refs.length; index += 20) {
    const at = (index * 7919) % refs.length;
    cancelled.add(at);
    cancel(refs[at] as ObjectRef<number>);
    if (index % 200 === 0) await sleep(1);
  }
  const outcomes = await Promise.allSettled(refs);
  outcomes.forEach((outcome, index) => {
    if (outcome.status === "fulfilled") expect(outcome.value).toBe(index);
    else {
      expect(cancelled.has(index)).toBe(true);
      expect(outcome.reason).toBeInstanceOf(TaskCancelledError);
    }
  });
  await untilQuiet();
  expect(await get(Array.from({ length: 100 }, (_, index) => add.remote(index, 1)))).toHaveLength(100);
}, 60_000);

describe("a task that computes without a pause", () => {
  /** Bodies that never return, and what each catches. They tell first that they have begun. */
  const bodies: Record<string, (begun: string) => unknown> = {
    "an empty loop": (begun) => {
      writeFileSync(begun, String(process.pid));
      for (;;);
    },
    "a loop that catches everything": (begun) => {
      writeFileSync(begun, String(process.pid));
      for (;;) {
        try {
          for (;;) Math.random();
        } catch {
          // Goes on in spite of any interruption.
        }
      }
    },
    "a regular expression that goes back and forth": (begun) => {
      writeFileSync(begun, String(process.pid));
      return /^(a+)+$/.test(`${"a".repeat(40)}b`);
    },
    "Atomics.wait": (begun) => {
      writeFileSync(begun, String(process.pid));
      return Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    },
    "sorting typed arrays": (begun) => {
      writeFileSync(begun, String(process.pid));
      for (;;) Float64Array.from({ length: 100_000 }, Math.random).sort((a, b) => a - b);
    },
    WebAssembly: (begun) => {
      writeFileSync(begun, String(process.pid));
      // (module (func (export "spin") (loop (br 0))))
      const code = [
        0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 7, 8, 1, 4, 115, 112, 105, 110, 0, 0, 10, 9, 1, 7, 0, 3, 64, 12, 0, 11,
        11,
      ];
      const { WebAssembly: wasm } = globalThis as unknown as {
        WebAssembly: Record<string, new (...args: unknown[]) => { exports: { spin(): void } }>;
      };
      new (wasm["Instance"] as never as new (module: unknown) => { exports: { spin(): void } })(
        new (wasm["Module"] as never as new (bytes: unknown) => unknown)(new Uint8Array(code)),
      ).exports.spin();
    },
    "the first part of an async function": async (begun) => {
      writeFileSync(begun, String(process.pid));
      for (;;);
    },
  };

  test.each(Object.keys(bodies))("%s is stopped, and its worker replaced", async (name) => {
    const begun = newMark();
    const ref = remote(bodies[name] as (begun: string) => unknown).remote(begun);
    await written(begun);
    cancel(ref);
    expect(await failureOf(ref)).toBeInstanceOf(TaskCancelledError);
    const since = performance.now();
    await untilQuiet();
    expect(performance.now() - since).toBeLessThan(CANCEL_GRACE_MS);
    expect(await add.remote(1, 2)).toBe(3);
    await until(() => !isAlive(Number(readFileSync(begun, "utf8"))), "the worker to be replaced");
  });
});

test("a context travels without its signal's connection to the task, as a result and in a closure", async () => {
  const here = getRuntimeContext();
  const there = await remote(() => [here, getRuntimeContext()] as const).remote();
  expect(there[0]).toMatchObject({ jobId: here.jobId, workerId: here.workerId, taskName: undefined });
  expect(there[1]).toMatchObject({ jobId: here.jobId, taskId: expect.any(String) });
  for (const context of [here, ...there]) expect(context.signal.aborted).toBe(false);
  expect(Object.keys(here)).not.toContain("signal");
});
