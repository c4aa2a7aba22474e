/**
 * `Pool`: functions mapped over values in separate processes, with failures, replaced processes and the ends of a pool.
 */
import { TaskError, ActorDiedError } from "shoal";
import { Pool } from "shoal/util";
import { describe, expect, test } from "vitest";
import { failureOf, useFolder, Log, until, shoalProcesses, useSession } from "./session.ts";

const folder = useFolder();

async function collect<T>(results: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const result of results) found.push(result);
  return found;
}

const hundred = Array.from({ length: 100 }, (_, index) => index);

describe.each(["process", "inProcess"] as const)("mode %s", (mode) => {
  useSession({ numCpus: 2, mode });

  test("map, starmap, imap, imapUnordered and apply give the results of the function", async () => {
    const offset = 10;
    await using pool = new Pool({ processes: 2 });
    const doubled = hundred.map((value) => value * 2 + offset);
    const double = (value: number): number => value * 2 + offset;
    expect(await pool.map(double, hundred)).toEqual(doubled);
    expect(await pool.map(double, hundred, { chunkSize: 7 })).toEqual(doubled);
    expect(await pool.map(async (value: number) => String(value), new Set([1, 2]))).toEqual(["1", "2"]);
    expect(await pool.map(double, [])).toEqual([]);
    expect(
      await pool.starmap(
        (left: number, right: string) => `${left}${right}`,
        [
          [1, "a"],
          [2, "b"],
        ],
      ),
    ).toEqual(["1a", "2b"]);
    expect(await collect(pool.imap(double, hundred))).toEqual(doubled);
    expect(await collect(pool.imap(double, hundred, { chunkSize: 8 }))).toEqual(doubled);
    expect((await collect(pool.imapUnordered(double, hundred))).toSorted((a, b) => a - b)).toEqual(doubled);
    expect(await pool.apply((left: number, right: number) => left - right, [5, 3])).toBe(2);
    expect(await pool.apply(() => "nothing given")).toBe("nothing given");
  });

  test("imap takes an async source, and only so much of it ahead", async () => {
    await using pool = new Pool({ processes: 1 });
    let taken = 0;
    async function* values(): AsyncGenerator<number> {
      for (;;) yield (taken += 1);
    }
    for await (const value of pool.imap((given: number) => given, values())) if (value === 10) break;
    expect(taken).toBeLessThan(20);
  });

  test("the initializer runs once a process, before its first work", async () => {
    const log = new Log(folder);
    const { file } = log;
    const initializer = async (name: string): Promise<void> => {
      const { appendFileSync } = await import("node:fs");
      appendFileSync(file, `${name}\n`);
      (globalThis as Record<string, unknown>)["poolTestName"] = name;
    };
    await using pool = new Pool({ processes: 2, initializer, initializerArgs: ["ready"] });
    const seen = await pool.map(() => (globalThis as Record<string, unknown>)["poolTestName"], hundred, { chunkSize: 1 });
    expect(new Set(seen)).toEqual(new Set(["ready"]));
    expect(log.lines).toEqual(["ready", "ready"]);
  });

  test("what a function throws is the cause of a TaskError, and the process goes on", async () => {
    await using pool = new Pool({ processes: 1 });
    const refuse = (value: number): number => {
      if (value === 3) throw new RangeError("not three");
      return value;
    };
    const error = await failureOf(pool.map(refuse, [1, 2, 3], { chunkSize: 1 }));
    expect(error).toBeInstanceOf(TaskError);
    expect(error.cause).toBeInstanceOf(RangeError);
    expect(error.stack).toContain("refuse");
    expect(await pool.map(refuse, [4])).toEqual([4]);
  });

  test("close and join do what was given and no more", async () => {
    const pool = new Pool({ processes: 2 });
    await expect(pool.join()).rejects.toThrow("still takes work");
    const mapped = pool.map((value: number) => value + 1, hundred);
    pool.close();
    await expect(pool.map((value: number) => value, [1])).rejects.toThrow("has ended");
    expect(() => pool.imap((value: number) => value, [1])).toThrow("has ended");
    await pool.join();
    expect(await mapped).toEqual(hundred.map((value) => value + 1));
  });

  test("join computes the accepted calls of an imap, and keeps their results for a later reader", async () => {
    const pool = new Pool({ processes: 2 });
    const refuse = (value: number): number => {
      if (value === 3) throw new Error("not 3");
      return value * 2;
    };
    const unread = pool.imap(refuse, hundred.slice(10, 60));
    const begun = pool.imap(refuse, hundred.slice(10, 60), { chunkSize: 4 });
    expect((await begun.next()).value).toBe((hundred[10] as number) * 2);
    const failing = pool.imap(refuse, [1, 2, 3, 4]);
    pool.close();
    await pool.join();
    expect(await collect(unread)).toEqual(hundred.slice(10, 60).map((value) => value * 2));
    expect(await collect(begun)).toEqual(hundred.slice(11, 60).map((value) => value * 2));
    expect([(await failing.next()).value, (await failing.next()).value]).toEqual([2, 4]);
    await expect(failing.next()).rejects.toThrow("not 3");
  });

  test("terminate fails what is under way", async () => {
    const pool = new Pool({ processes: 1 });
    const hanging = failureOf(pool.map(() => new Promise(() => {}), [1, 2]));
    await pool.terminate();
    await pool.join();
    expect((await hanging).message).toMatch(/died|ended/);
  });

  test("bad options and arguments are refused", async () => {
    expect(() => new Pool({ processes: 0 })).toThrow(RangeError);
    expect(() => new Pool({ maxtasksperchild: 1 } as never)).toThrow("maxTasksPerChild");
    await using pool = new Pool({ processes: 1 });
    await expect(pool.map(5 as never, [1])).rejects.toThrow(TypeError);
    await expect(pool.map(() => 1, 5 as never)).rejects.toThrow(TypeError);
    await expect(pool.map(() => 1, [1], { chunkSize: -1 })).rejects.toThrow(RangeError);
    await expect(pool.apply(() => 1, 5 as never)).rejects.toThrow(TypeError);
  });
});

describe("processes", () => {
  useSession({ numCpus: 2 });

  test("by default there are as many as CPUs, and none when it has ended", async () => {
    const before = shoalProcesses({ kind: "worker" });
    {
      await using pool = new Pool();
      const pids = new Set(await pool.map(() => process.pid, hundred, { chunkSize: 5 }));
      expect(pool.processes).toBe(2);
      expect(pids.size).toBe(2);
    }
    await until(() => shoalProcesses({ kind: "worker" }).length <= Math.max(2, before.length), "the pool's processes to end");
  });

  test("after maxTasksPerChild chunks a process is replaced", async () => {
    await using pool = new Pool({ processes: 1, maxTasksPerChild: 2 });
    const pids = await pool.map(() => process.pid, [1, 2, 3, 4, 5, 6], { chunkSize: 1 });
    expect(new Set(pids).size).toBe(3);
    expect(pids[0]).toBe(pids[1]);
  });

  test("a process that dies fails its chunk and is replaced", async () => {
    await using pool = new Pool({ processes: 1 });
    const fragile = (value: number): number => (value === 0 ? process.exit(3) : process.pid);
    const first = await pool.apply(() => process.pid);
    expect(await failureOf(pool.apply(fragile, [0]))).toBeInstanceOf(ActorDiedError);
    const second = await pool.apply(fragile, [1]);
    expect(second).not.toBe(first);
  });

  test("an initializer that fails fails the work, and does not start processes for ever", async () => {
    await using pool = new Pool({
      processes: 1,
      initializer: () => {
        throw new RangeError("cannot begin");
      },
    });
    for (let attempt = 0; attempt < 6; attempt += 1) {
      const error = await failureOf(pool.apply(() => 1));
      expect(error).toBeInstanceOf(ActorDiedError);
      expect(error.message).toContain("cannot begin");
    }
  });
});
