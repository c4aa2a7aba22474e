/**
 * Workers that end after so many calls of a function: which worker runs a call, that nothing runs twice or is lost, and that nothing is
 * left.
 */
import { readFileSync, appendFileSync } from "node:fs";
import { availableResources, get, init, type ObjectRef, put, remote, shutdown } from "shoal";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { driverRuntime, isAlive, Log, shoalProcesses, until, useFolder, useSession } from "./session.ts";

const folder = useFolder();

/** Writes a line to tell that the call ran, and returns the process. */
function pidOf(file?: string): number {
  if (file !== undefined) appendFileSync(file, `${process.pid}\n`);
  return process.pid;
}

function counts(values: readonly number[]): number[] {
  const found = new Map<number, number>();
  for (const value of values) found.set(value, (found.get(value) ?? 0) + 1);
  return Array.from(found.values());
}

describe("on two CPUs", () => {
  useSession({ numCpus: 2 });

  test("a worker that has run so many calls ends, after its answers", async () => {
    const limited = remote(pidOf, { maxCalls: 3 });
    const pids: number[] = [];
    for (let call = 0; call < 9; call += 1) pids.push(await limited.remote());
    expect(counts(pids).every((count) => count <= 3)).toBe(true);
    expect(counts(pids).filter((count) => count === 3).length).toBeGreaterThanOrEqual(1);
    const retiring = Array.from(new Set(pids)).filter((pid) => pids.filter((other) => other === pid).length === 3);
    await until(() => retiring.every((pid) => !isAlive(pid)), "the retiring workers to end");
  });

  test("with a limit of one, each call has a process of its own, and runs once", async () => {
    const log = new Log(folder);
    const limited = remote(pidOf, { maxCalls: 1, maxRetries: 0 });
    const pids = await get(Array.from({ length: 12 }, () => limited.remote(log.file)));
    expect(new Set(pids).size).toBe(12);
    expect(new Set(log.lines.map(Number))).toEqual(new Set(pids));
    expect(log.lines).toHaveLength(12);
  });

  test("calls that were sent ahead run elsewhere, once, without using up a retry, and in their order at one worker", async () => {
    const log = new Log(folder);
    const quick = remote(pidOf, { maxRetries: 0 });
    // So quick that thousands of calls are sent ahead to each worker.
    await get(Array.from({ length: 2000 }, () => quick.remote()));
    const limited = remote(pidOf, { maxCalls: 50, maxRetries: 0 });
    const both: ObjectRef<number>[] = [];
    for (let call = 0; call < 600; call += 1) {
      both.push(quick.remote(log.file));
      both.push(limited.remote(log.file));
    }
    await get(both);
    expect(log.lines.length).toBe(1200);
  });

  test("what has begun on the worker ends there, while what has not goes elsewhere", async () => {
    const slow = remote(async (ref: [ObjectRef<number>]) => [await ref[0], process.pid] as const, { maxRetries: 0 });
    const limited = remote(pidOf, { maxCalls: 1, maxRetries: 0 });
    const gate = remote(async (file: string) => {
      while (readFileSync(file, "utf8") === "") await new Promise((resolve) => setTimeout(resolve, 5));
      return 7;
    });
    const log = new Log(folder);
    const held = gate.remote(log.file);
    const waiting = [slow.remote([held]), slow.remote([held]), slow.remote([held])];
    const pids = await get([limited.remote(), limited.remote(), limited.remote()]);
    expect(new Set(pids).size).toBe(3);
    appendFileSync(log.file, "open\n");
    for (const [value] of await get(waiting)) expect(value).toBe(7);
    await until(() => pids.every((pid) => !isAlive(pid)), "the retiring workers to end");
  });

  test("nested calls are counted on the worker of their parent, which ends after them", async () => {
    const limited = remote(pidOf, { maxCalls: 1 });
    const parent = remote(async () => {
      const pids = [await limited.remote(), await limited.remote(), await limited.remote()];
      return { own: process.pid, pids };
    });
    const { pids } = await parent.remote();
    expect(new Set(pids).size).toBe(3);
    await until(() => pids.every((pid) => !isAlive(pid)), "the retiring workers to end");
  });

  test("large results, refs and what the task has called and not awaited outlive the worker", async () => {
    const child = remote(async () => {
      await new Promise((resolve) => setTimeout(resolve, 100));
      return "from the child";
    });
    const limited = remote(
      () => ({
        pid: process.pid,
        bytes: new Uint8Array(300_000).fill(7),
        own: put(new Uint8Array(200_000).fill(8)),
        small: put("small"),
        child: child.remote(),
      }),
      { maxCalls: 1 },
    );
    const { pid, bytes, own, small, child: called } = await limited.remote();
    expect(await called).toBe("from the child");
    await until(() => !isAlive(pid), "the retiring worker to end");
    expect(bytes.every((byte) => byte === 7)).toBe(true);
    expect((await own).every((byte) => byte === 8)).toBe(true);
    expect(await small).toBe("small");
  });

  test("a stream counts once, when it begins, and is read to its end", async () => {
    const items = remote(
      function* (count: number) {
        for (let item = 0; item < count; item += 1) yield [item, process.pid] as const;
      },
      { maxCalls: 1 },
    );
    const seen: number[] = [];
    const pids = new Set<number>();
    for (let stream = 0; stream < 2; stream += 1)
      for await (const [item, pid] of items.remote(500)) {
        seen.push(item);
        pids.add(pid);
      }
    expect(seen).toEqual([...Array(500).keys(), ...Array(500).keys()]);
    expect(pids.size).toBe(2);
    await until(() => Array.from(pids).every((pid) => !isAlive(pid)), "the retiring workers to end");
  });

  test("a call that throws counts, too, and is tried again in another process", async () => {
    const log = new Log(folder);
    const failing = remote(
      (file: string) => {
        appendFileSync(file, `${process.pid}\n`);
        if (readFileSync(file, "utf8").split("\n").length < 4) throw new RangeError("again");
        return process.pid;
      },
      { maxCalls: 1, retryOn: true },
    );
    await failing.remote(log.file);
    expect(new Set(log.lines).size).toBe(3);
  });

  test("the limit travels with the function", async () => {
    const limited = remote(pidOf, { maxCalls: 1 });
    const parent = remote(async (inner: typeof limited) => [await inner.remote(), await inner.remote()]);
    const [first, second] = await parent.remote(limited);
    expect(first).not.toBe(second);
  });

  test("nothing is left: CPUs, leases and processes are as before", async () => {
    await until(async () => (await availableResources())["CPU"] === 2, "both CPUs to be free");
    await until(() => shoalProcesses({ kind: "worker" }).length <= 4, "the retiring workers to have ended");
    expect(driverRuntime().pendingTaskCount).toBe(0);
  });

  test("what is no limit is refused", () => {
    expect(() => remote(pidOf, { maxCalls: -1 })).toThrow(RangeError);
    expect(() => remote(pidOf, { maxCalls: 1.5 })).toThrow("a whole number from 0 is needed");
    expect(() => remote(pidOf, { maxCalls: "3" as never })).toThrow(TypeError);
    expect(() => remote(pidOf).options({ maxCalls: 2 })).toThrow("it belongs to the function: use remote(fn, { maxCalls: ... })");
    class Counter {}
    expect(() => remote(Counter, { maxCalls: 1 } as object)).toThrow("it is an option of tasks");
    expect(() => remote(Counter, { methods: { any: { maxCalls: 1 } } } as object)).toThrow("it is an option of tasks");
  });
});

describe("on one CPU", () => {
  useSession({ numCpus: 1 });

  test("a task and its nested calls end all the same", async () => {
    const limited = remote((value: number) => value + 1, { maxCalls: 1 });
    const parent = remote(async (value: number) => (await limited.remote(value)) + (await limited.remote(value)), { maxCalls: 2 });
    expect(await get([parent.remote(1), parent.remote(2), parent.remote(3)])).toEqual([4, 6, 8]);
  });
});

describe("in-process mode", () => {
  beforeAll(async () => {
    await init({ mode: "inProcess", numCpus: 2, logToDriver: false });
  });
  afterAll(async () => {
    await shutdown();
  });

  test("the limit is accepted and without effect", async () => {
    const limited = remote((value: number) => value * 2, { maxCalls: 1 });
    expect(await get([1, 2, 3, 4].map((value) => limited.remote(value)))).toEqual([2, 4, 6, 8]);
  });
});
