/**
 * Tasks that submit tasks: they never deadlock, need a bounded number of processes, and interleave only where they wait for refs.
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { get, type ObjectRef, put, type RemoteFunction, remote, TaskError, wait } from "shoal";
import { describe, expect, test } from "vitest";
import { failureOf, Log, shoalProcesses, until, useFolder, useSession } from "./session.ts";

const folder = useFolder();

const square = remote((value: number) => value * value);
const fibonacci: RemoteFunction<[number], Promise<number>> = remote(async (n: number): Promise<number> => {
  if (n < 2) return n;
  const [left, right] = await get([fibonacci.remote(n - 1), fibonacci.remote(n - 2)]);
  return left + right;
});

/** Lives in a separate process, so that waiting for it leaves the CPU free. */
class Gate {
  async whenExists(file: string): Promise<boolean> {
    for (let round = 0; round < 6000 && !existsSync(file); round += 1) await new Promise((resolve) => setTimeout(resolve, 5));
    return existsSync(file);
  }
}

describe("on one CPU", () => {
  useSession({ numCpus: 1 });

  test("a chain of 50 levels, each waiting for the next, ends", async () => {
    const descend: RemoteFunction<[number], Promise<number>> = remote(async (level: number): Promise<number> => {
      return level === 0 ? 0 : 1 + (await descend.remote(level - 1));
    });
    expect(await descend.remote(50)).toBe(50);
  });

  test("many parents that each wait for children end", async () => {
    const parent = remote(async (base: number) => {
      const squares = await get([0, 1, 2, 3].map((step) => square.remote(base + step)));
      return squares.reduce((left, right) => left + right, 0);
    });
    const bases = Array.from({ length: 40 }, (_, base) => base);
    expect(await get(bases.map((base) => parent.remote(base)))).toEqual(
      bases.map((base) => [0, 1, 2, 3].reduce((sum, step) => sum + (base + step) ** 2, 0)),
    );
  });

  test("fib(20) by recursion starts two processes more and no others", async () => {
    expect(await fibonacci.remote(20)).toBe(6765);
    expect(shoalProcesses({ kind: "worker" }).length).toBeLessThanOrEqual(3);
  });

  test("a task waits with await, Promise.all, get and wait", async () => {
    const each = remote(async () => {
      const one = await square.remote(2);
      const several = await Promise.all([square.remote(3), square.remote(4)]);
      const values = await get([square.remote(5), square.remote(6)]);
      const refs = [square.remote(7), square.remote(8), square.remote(9)];
      const [ready, pending] = await wait(refs, { numReturns: 2 });
      const rest = await get([...ready, ...pending]);
      return { one, several, values, rest: rest.sort((left, right) => left - right), split: [ready.length, pending.length] };
    });
    expect(await each.remote()).toEqual({ one: 4, several: [9, 16], values: [25, 36], rest: [49, 64, 81], split: [2, 1] });
  });

  test("the first of Promise.race wins while the others go on", async () => {
    const race = remote(async () => {
      const first = await Promise.race([square.remote(2), square.remote(3)]);
      return [4, 9].includes(first);
    });
    expect(await race.remote()).toBe(true);
  });

  test("a wait inside a task that runs into its time limit gives the task back", async () => {
    using gate = remote(Gate).remote();
    const impatient = remote(async (box: { gate: typeof gate }, file: string) => {
      const ref = box.gate.whenExists.remote(file);
      const [ready] = await wait([ref], { timeoutMs: 20 });
      const name = await get(ref, { timeoutMs: 20 }).catch((error: Error) => error.name);
      writeFileSync(file, "");
      return [ready.length, name, await ref];
    });
    expect(await impatient.remote({ gate }, join(folder, "gate"))).toEqual([0, "GetTimeoutError", true]);
  });

  test("a nested task that nobody waits for runs after its parent has ended", async () => {
    const log = new Log(folder);
    const file = log.file;
    const record = remote((text: string) => appendFileSync(file, `${text}\n`));
    const parent = remote(() => {
      for (const name of ["a", "b", "c"]) record.options({ numReturns: 0 }).remote(name);
      void record.remote("d");
      return "ended";
    });
    expect(await parent.remote()).toBe("ended");
    await until(() => log.lines.length === 4, "the nested tasks to run");
    expect(log.lines.toSorted()).toEqual(["a", "b", "c", "d"]);
  });

  test("a failure of a nested task can be caught by its parent, and arrives at the driver when it is not", async () => {
    const fail = remote((): number => {
      throw new RangeError("inner");
    });
    const catches = remote(async () => {
      try {
        await fail.remote();
        return "fulfilled";
      } catch (error) {
        return `${(error as Error).name}: ${((error as Error).cause as Error).message}`;
      }
    });
    const passesOn = remote(async () => (await fail.remote()) + 1);
    expect(await catches.remote()).toBe("TaskError: inner");
    const failure = await failureOf(passesOn.remote());
    expect(failure).toBeInstanceOf(TaskError);
    expect(failure.stack).toContain("inner");
  });

  test("a task without nested waits is never interrupted by another", async () => {
    const log = new Log(folder);
    const file = log.file;
    const slow = remote(async (name: string) => {
      appendFileSync(file, `begin ${name}\n`);
      for (let step = 0; step < 5; step += 1) await new Promise((resolve) => setTimeout(resolve, 2));
      appendFileSync(file, `end ${name}\n`);
    });
    await get(Array.from({ length: 8 }, (_, index) => slow.remote(String(index))));
    expectNoOverlap(log.lines);
  });

  test("tasks that wait for refs interleave there and nowhere else", async () => {
    const log = new Log(folder);
    const file = log.file;
    const parent = remote(async (name: string) => {
      for (let part = 0; part < 4; part += 1) {
        appendFileSync(file, `begin ${name}${part}\n`);
        await new Promise((resolve) => setTimeout(resolve, 3));
        appendFileSync(file, `end ${name}${part}\n`);
        await square.remote(part);
      }
    });
    await get(["a", "b", "c", "d", "e"].map((name) => parent.remote(name)));
    expect(log.lines).toHaveLength(40);
    expectNoOverlap(log.lines);
  });

  test("while tasks wait for refs, others of the same CPU begin", async () => {
    using gate = remote(Gate).remote();
    const file = join(folder, "meeting");
    // The last to arrive opens the gate that all of them wait for.
    const arrivals = new Log(folder).file;
    const meet = remote(async (box: { gate: typeof gate }) => {
      appendFileSync(arrivals, "x");
      if (readFileSync(arrivals, "utf8").length === 5) writeFileSync(file, "");
      return box.gate.whenExists.remote(file);
    });
    expect(await get([1, 2, 3, 4, 5].map(() => meet.remote({ gate })))).toEqual([true, true, true, true, true]);
  });
});

describe.each([1, 2])("on %i CPUs, a child that never ends", (numCpus) => {
  useSession({ numCpus });

  test("does not keep its parent from going on, which waits for something else", async () => {
    const child = remote((value: number) => value + 1);
    const stop = join(folder, `stop-${numCpus}`);
    const endless = remote(async (file: string) => {
      while (!existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 5));
      return "stopped";
    });
    const parent = remote(async (file: string) => {
      const background = endless.remote(file);
      let sum = 0;
      for (let step = 0; step < 3; step += 1) sum = await child.remote(sum);
      writeFileSync(file, "");
      return [sum, await background];
    });
    // On one CPU the endless child may have taken it before the others: then only they can wait, and they do not begin.
    const limits = { timeoutMs: 30_000 };
    if (numCpus > 1) expect(await get(parent.remote(stop), limits)).toEqual([3, "stopped"]);
    const quick = remote(async (file: string) => {
      const ready = child.remote(1);
      const background = endless.remote(file);
      const value = await ready;
      writeFileSync(file, "");
      return [value, await background];
    });
    expect(await get(quick.remote(`${stop}-quick`), limits)).toEqual([2, "stopped"]);
  });
});

describe("on two CPUs", () => {
  useSession({ numCpus: 2 });

  test("fib(15) uses two processes more for each CPU and no others", async () => {
    expect(await fibonacci.remote(15)).toBe(610);
    expect(shoalProcesses({ kind: "worker" }).length).toBeLessThanOrEqual(6);
  });

  test("a parent that computes does not keep the CPU that its children have left", async () => {
    const child = remote((value: number) => value * 2);
    const parent = remote(async (stop: string) => {
      await get([1, 2, 3, 4].map((value) => child.remote(value)));
      const endMs = Date.now() + 20_000;
      while (!existsSync(stop) && Date.now() < endMs);
      return existsSync(stop);
    });
    const stop = join(folder, "stop");
    const computing = parent.remote(stop);
    const other = remote((file: string) => writeFileSync(file, ""));
    await other.remote(stop);
    expect(await computing).toBe(true);
  });

  test("a ref that was handed on fails with the cause when the worker that made it dies before its value came", async () => {
    class Keeper {
      #kept: PromiseLike<number> | undefined;
      keep(held: { ref: PromiseLike<number> }): void {
        this.#kept = held.ref;
      }
      async value(): Promise<string> {
        return Promise.resolve(this.#kept).then(String, (error: Error) => error.name);
      }
    }
    const keeper = remote(Keeper).remote();
    // Fits nowhere, so it never begins.
    const never = remote(() => 1, { resources: { nowhere: 1 } });
    const dies = remote(
      async (held: { keeper: typeof keeper }) => {
        await held.keeper.keep.remote({ ref: never.remote() });
        process.kill(process.pid, "SIGKILL");
      },
      { maxRetries: 0 },
    );
    expect((await failureOf(dies.remote({ keeper }))).name).toBe("WorkerCrashedError");
    expect(await get(keeper.value.remote(), { timeoutMs: 30_000 })).toBe("OwnerDiedError");
  });

  test("refs of the driver and of the parent can be waited for three levels down", async () => {
    interface Refs {
      driver: ObjectRef<{ from: string }>;
      parent: ObjectRef<string>;
    }
    const outer = put({ from: "driver" });
    const third = remote(async (refs: Refs) => `${(await refs.driver).from} ${await refs.parent}`);
    const second = remote((refs: Refs) => third.remote(refs));
    const first = remote((refs: Pick<Refs, "driver">) => second.remote({ driver: refs.driver, parent: put("parent") }));
    expect(await first.remote({ driver: outer })).toBe("driver parent");
  });

  test("a nested task may define functions and classes of its own", async () => {
    const outer = remote(async (factor: number) => {
      const offset = 5;
      class Scale {
        readonly factor = factor;
        of(value: number): number {
          return value * this.factor + offset;
        }
      }
      const scale = remote((value: number) => new Scale().of(value));
      return get([scale.remote(1), scale.remote(2)]);
    });
    expect(await outer.remote(10)).toEqual([15, 25]);
  });
});

/** Sections that were begun were ended before the next one began. */
function expectNoOverlap(lines: readonly string[]): void {
  for (let index = 0; index < lines.length; index += 2)
    expect(lines.slice(index, index + 2)).toEqual([lines[index], lines[index]?.replace("begin", "end")]);
}
