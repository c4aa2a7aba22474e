/**
 * Tasks as a user meets them: arguments that are refs, several results, options, direct calls, resources.
 */
import { appendFileSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { clusterResources, get, getRuntimeContext, type ObjectRef, put, remote, TaskError } from "shoal";
import { describe, expect, test, vi } from "vitest";
import { failureOf, Log, until, useFolder, useSession } from "./session.ts";

const folder = useFolder();
useSession({ numCpus: 2, resources: { token: 1 } });

const add = remote((left: number, right: number) => left + right);

describe("refs as arguments", () => {
  test("a ref stands for its value, whoever made it", async () => {
    expect(await add.remote(add.remote(1, 2), put(10))).toBe(13);
  });

  test("the same ref may be passed twice", async () => {
    const one = add.remote(0, 1);
    expect(await add.remote(one, one)).toBe(2);
  });

  test("the failure of the first of 5,000 tasks in a chain is the failure of the last", async () => {
    const fail = remote((): number => {
      throw new RangeError("at the bottom");
    });
    let last: ObjectRef<number> = fail.remote();
    for (let index = 0; index < 5000; index += 1) last = add.remote(last, 1);
    const error = await failureOf(last);
    expect(error).toBeInstanceOf(TaskError);
    expect(error.cause).toBeInstanceOf(RangeError);
  });

  test("a chain of 100 tasks is submitted at once and gives the last value", async () => {
    let last: ObjectRef<number> = put(0);
    for (let step = 0; step < 100; step += 1) last = add.remote(last, 1);
    expect(await last).toBe(100);
  });

  test("a large result goes from task to task by reference", async () => {
    const make = remote((length: number) => new Float64Array(length).fill(1));
    const sum = remote((values: Float64Array) => values.reduce((left, right) => left + right, 0));
    expect(await sum.remote(make.remote(100_000))).toBe(100_000);
  });

  test("a failed argument fails the task with the failure of what made it, and the task does not run", async () => {
    const log = new Log(folder);
    const fail = remote((): number => {
      throw new RangeError("no number");
    });
    const file = log.file;
    const record = remote((value: number) => appendFileSync(file, `${value}\n`));
    const failure = await failureOf(record.remote(fail.remote()));
    expect(failure).toBeInstanceOf(TaskError);
    expect(failure.cause).toBeInstanceOf(RangeError);
    expect((failure.cause as Error).message).toBe("no number");
    expect(log.lines).toEqual([]);
  });

  test("a ref that a task returns is its value", async () => {
    const outer = remote(() => add.remote(20, 22));
    expect(await outer.remote()).toBe(42);
  });
});

describe("several results", () => {
  test("each item of the returned array has a ref of its own", async () => {
    const divide = remote((left: number, right: number) => [Math.floor(left / right), left % right] as const, { numReturns: 2 });
    const [quotient, rest] = divide.remote(17, 5);
    expect(await rest).toBe(2);
    expect(await quotient).toBe(3);
  });

  test("of several results one may be large and one may hold refs", async () => {
    const make = remote(() => [new Uint8Array(200_000).fill(7), { inner: put("inside") }, "small"] as const, { numReturns: 3 });
    const [large, nested, small] = await get(make.remote());
    expect([large.length, large[199_999], await nested.inner, small]).toEqual([200_000, 7, "inside", "small"]);
  });

  test("numReturns: 0 gives nothing, and the task runs", async () => {
    const log = new Log(folder);
    const file = log.file;
    const record = remote((text: string) => appendFileSync(file, `${text}\n`), { numReturns: 0 });
    const nothing: void = record.remote("ran");
    expect(nothing).toBeUndefined();
    await until(() => log.lines.length > 0, "the task to run");
    expect(log.lines).toEqual(["ran"]);
  });

  test.each([
    ["fewer", () => [1, 2]],
    ["more", () => [1, 2, 3, 4]],
    ["no array", () => 1],
  ])("%s than numReturns fails every ref and says what was returned", async (_what, body) => {
    const wrong = remote(body as () => [number, number, number], { numReturns: 3 });
    const refs = wrong.remote();
    expect(refs).toHaveLength(3);
    for (const ref of refs) {
      const failure = await failureOf(ref);
      expect(failure.cause).toBeInstanceOf(TypeError);
      expect(failure.message).toContain("numReturns is 3");
    }
  });

  test("a task that fails fails all of its refs", async () => {
    const fail = remote(
      (): [number, number] => {
        throw new Error("both");
      },
      { numReturns: 2 },
    );
    const [first, second] = fail.remote();
    expect((await failureOf(first)).message).toContain("both");
    expect((await failureOf(second)).message).toContain("both");
  });
});

describe("names and direct calls", () => {
  test("the name option is in errors and in the task's own context", async () => {
    const whoAmI = remote(() => getRuntimeContext().taskName);
    const fail = remote(() => {
      throw new Error("oh");
    });
    expect(await whoAmI.options({ name: "resize:7" }).remote()).toBe("resize:7");
    expect((await failureOf(fail.options({ name: "resize:8" }).remote())).message).toContain("resize:8");
  });

  test("without a name option the function's own name counts", async () => {
    const named = remote(function measure() {
      return getRuntimeContext().taskName;
    });
    expect(await named.remote()).toBe("measure");
  });

  test("options makes a copy and leaves the function as it was", async () => {
    const pair = remote(() => [1, 2] as const);
    const split = pair.options({ numReturns: 2 });
    expect(await pair.remote()).toEqual([1, 2]);
    expect(await get(split.remote())).toEqual([1, 2]);
  });

  test("calling a remote function directly says what to do", () => {
    expect(() => (add as unknown as (left: number, right: number) => number)(1, 2)).toThrow(/\.remote\(\)/);
  });

  test("what cannot be sent is an error of the call, and the session goes on", async () => {
    const size = remote((value: unknown) => String(value).length);
    expect(() => size.remote(new WeakRef({}))).toThrow(/cannot be sent|Cannot send/);
    expect(await size.remote("abc")).toBe(3);
  });
});

describe("resources", () => {
  /** Tells its arrival and waits until as many others have arrived, or gives up. */
  const meet = remote(async (place: string, self: string, others: readonly string[]) => {
    writeFileSync(join(place, self), "");
    for (let round = 0; round < 1000; round += 1) {
      if (others.every((other) => existsSync(join(place, other)))) return true;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return false;
  });

  test("tasks of half a CPU run four at a time on two CPUs", async () => {
    const names = ["a", "b", "c", "d"].map((name) => `half-${name}`);
    const half = meet.options({ numCpus: 0.5 });
    expect(await get(names.map((name) => half.remote(folder, name, names)))).toEqual([true, true, true, true]);
  });

  test("one unit of a custom resource is held by one task at a time", async () => {
    const log = new Log(folder);
    const file = log.file;
    const hold = remote(
      async (name: string) => {
        appendFileSync(file, `begin ${name}\n`);
        await new Promise((resolve) => setTimeout(resolve, 30));
        appendFileSync(file, `end ${name}\n`);
      },
      { resources: { token: 1 } },
    );
    await get(["a", "b", "c"].map((name) => hold.remote(name)));
    const { lines } = log;
    for (let index = 0; index < lines.length; index += 2) expect(lines[index + 1]).toBe(lines[index]?.replace("begin", "end"));
  });

  test("the smallest share is 0.0001 and less is an error", async () => {
    const one = remote(() => 1);
    expect(await one.options({ numCpus: 0.0001 }).remote()).toBe(1);
    expect(() => one.options({ numCpus: 0.00001 })).toThrow(RangeError);
  });

  test("a task sees what it was given", async () => {
    const given = remote(() => getRuntimeContext().assignedResources, { numCpus: 1.5, resources: { token: 0.25 } });
    expect(await given.remote()).toEqual({ CPU: 1.5, token: 0.25 });
  });

  test("a task that no node could ever run stays pending, and a warning says what is missing", async () => {
    const written: string[] = [];
    const stderr = vi.spyOn(process.stderr, "write").mockImplementation((text) => {
      written.push(String(text));
      return true;
    });
    try {
      const greedy = remote(() => 1, { numCpus: 64 });
      const ref = greedy.remote();
      await until(() => written.some((text) => text.includes("64 CPU")), "the warning");
      expect(written.join("")).toContain("has 2 in all");
      expect((await failureOf(get(ref, { timeoutMs: 0 }))).name).toBe("GetTimeoutError");
    } finally {
      stderr.mockRestore();
    }
    expect(await add.remote(1, 1)).toBe(2);
  });

  test("the cluster has what init was given", async () => {
    expect(await clusterResources()).toMatchObject({ CPU: 2, token: 1 });
  });
});
