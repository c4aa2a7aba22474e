/**
 * Objects whose owner dies: complete values outlive their maker, incomplete ones fail at once with the cause, and tasks that only a dead
 * process wanted are ended.
 */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  get,
  getRuntimeContext,
  init,
  kill,
  type ObjectRef,
  OwnerDiedError,
  put,
  remote,
  shutdown,
  WorkerCrashedError,
  wait as waitForAny,
} from "shoal";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { collectGarbage, driverRuntime, failureOf, isAlive, Log, storeUsedBytes, until, useFolder } from "./session.ts";

const folder = useFolder();
// A session for each test, as uncollected objects and leases of an earlier test would be seen.
beforeEach(async () => {
  await init({ numCpus: 2, logToDriver: false });
});
afterEach(async () => {
  await shutdown();
});

const COUNT = 100_000;

let names = 0;
function newFile(): string {
  names += 1;
  return join(folder, `file-${names}`);
}

/** Ends a process and waits until the node knows: another task has run since. */
async function endProcess(pid: number): Promise<void> {
  process.kill(pid, "SIGKILL");
  await until(() => !isAlive(pid), "the process to end");
  await remote(() => 1).remote();
}

/** Opens when a file exists; its waiting costs no CPU. */
class Gate {
  async whenExists(file: string): Promise<boolean> {
    while (!existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 5));
    return true;
  }
}

interface Made {
  pid: number;
  small: ObjectRef<string>;
  large: ObjectRef<Float64Array>;
  result: ObjectRef<Float64Array>;
  nested: ObjectRef<{ inner: ObjectRef<string> }>;
}

const make = remote(async (): Promise<Made> => {
  const task = remote((fill: number) => new Float64Array(100_000).fill(fill));
  const result = task.remote(3);
  await get(result);
  return {
    pid: process.pid,
    small: put("small"),
    large: put(new Float64Array(100_000).fill(2)),
    result,
    nested: put({ inner: put("inner") }),
  };
});

describe("refs that a worker made", () => {
  test("keep their values after it has died, small, large, of tasks, and refs inside refs", async () => {
    const made = await make.remote();
    await endProcess(made.pid);
    expect(await made.small).toBe("small");
    expect((await made.large)[COUNT - 1]).toBe(2);
    expect((await made.result)[0]).toBe(3);
    expect(await (await made.nested).inner).toBe("inner");
    const read = remote(async (box: { large: ObjectRef<Float64Array> }) => (await box.large)[0]);
    expect(await read.remote({ large: made.large })).toBe(2);
  });

  test("of which the value had not come fail at once, for all who hold them", async () => {
    const never = remote(() => 1, { resources: { nowhere: 1 } });
    const makePending = remote(() => ({ pid: process.pid, pending: never.remote() }));
    const { pid, pending } = await makePending.remote();
    const readers = [failureOf(pending), failureOf(get([pending])), remote((value: number) => value).remote(pending)];
    await endProcess(pid);
    for (const failure of [await readers[0], await readers[1], await failureOf(readers[2] as PromiseLike<unknown>)]) {
      expect(failure).toBeInstanceOf(OwnerDiedError);
      expect(failure).toMatchObject({ code: "OWNER_DIED", reason: expect.stringContaining("ended before"), hint: expect.any(String) });
    }
  });
});

describe("what only a dead process wanted", () => {
  /** Appends to a log for as long as it runs. */
  const beat = remote(async (log: string, heeds: boolean) => {
    const { signal } = getRuntimeContext();
    for (;;) {
      if (heeds && signal.aborted) return;
      appendFileSync(log, `${process.pid}\n`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  });
  /** Starts a task and dies, once that runs. */
  const startAndDie = remote(
    async (log: string, die: string, heeds: boolean) => {
      void beat.remote(log, heeds);
      while (!existsSync(die)) await new Promise((resolve) => setTimeout(resolve, 5));
      process.kill(process.pid, "SIGKILL");
    },
    { maxRetries: 0 },
  );

  async function expectToEnd(log: Log): Promise<void> {
    let count = -1;
    await until(async () => {
      const before = count;
      count = log.lines.length;
      await new Promise((resolve) => setTimeout(resolve, 50));
      return log.lines.length === before;
    }, "the task of the dead worker to end");
  }

  test("is ended: a task runs on a worker that nobody else uses", async () => {
    const log = new Log(folder);
    const die = newFile();
    const dying = startAndDie.remote(log.file, die, false);
    await until(() => log.lines.length > 2, "the nested task to run");
    appendFileSync(die, "");
    expect(await failureOf(dying)).toBeInstanceOf(WorkerCrashedError);
    await expectToEnd(log);
    expect(await remote((value: number) => value + 1).remote(1)).toBe(2);
  });

  test.each([
    ["is ended on a worker that others use, too, and their tasks there go on", true],
    ["does not keep others from going on, where it does not heed its signal", false],
  ])("%s", async (_, heeds) => {
    await shutdown();
    await init({ numCpus: 2, logToDriver: false, waitingProcessesPerCpu: 0 });
    const log = new Log(folder);
    const die = newFile();
    const open = newFile();
    using gate = remote(Gate).remote();
    const others = new Log(folder);
    const wait = remote(
      async (box: { gate: typeof gate }, file: string, pids: string) => {
        appendFileSync(pids, `${process.pid}\n`);
        // Computing until the other has begun puts them on two workers.
        while (readFileSync(pids, "utf8").split("\n").length < 3);
        await box.gate.whenExists.remote(file);
        return process.pid;
      },
      { maxRetries: 0 },
    );
    // Both workers have a parked task of the driver's; whichever takes the nested task is shared.
    const waiting = [wait.remote({ gate }, open, others.file), wait.remote({ gate }, open, others.file)];
    await until(() => others.lines.length === 2, "both to wait");
    const dying = startAndDie.remote(log.file, die, heeds);
    await until(() => log.lines.length > 2, "the nested task to run");
    const shared = Number(log.lines[0]);
    appendFileSync(die, "");
    expect(await failureOf(dying)).toBeInstanceOf(WorkerCrashedError);
    if (heeds) await expectToEnd(log);
    expect(isAlive(shared)).toBe(true);
    appendFileSync(open, "");
    const ended = await Promise.allSettled(waiting);
    // One of the tasks may have been on the worker that was killed; the other never noticed.
    expect(ended.filter((each) => each.status === "fulfilled").map((each) => each.value)).toContain(shared);
  });
});

describe("borrowed refs", () => {
  const settledBytes = async (): Promise<number> => {
    await collectGarbage();
    return storeUsedBytes();
  };

  test("are let go of when their borrower dies", async () => {
    const before = await settledBytes();
    class Keeper {
      #kept: unknown;
      keep(box: { ref: ObjectRef<Float64Array> }): number {
        this.#kept = box;
        return process.pid;
      }
      get kept(): unknown {
        return this.#kept;
      }
    }
    const keeper = remote(Keeper).remote();
    const kept = put(new Float64Array(COUNT));
    await keeper.keep.remote({ ref: kept });
    kept[Symbol.dispose]();
    await until(async () => (await storeUsedBytes()) >= before + COUNT * 8, "the object to be counted");
    await kill(keeper);
    await until(async () => (await settledBytes()) <= before, "the object to be freed with the actor");
  });

  test("in the state of an actor that died stay good elsewhere", async () => {
    class Maker {
      readonly made = put(new Float64Array(100_000).fill(4));
      share(): { ref: ObjectRef<Float64Array>; pid: number } {
        return { ref: this.made, pid: process.pid };
      }
    }
    const maker = remote(Maker).remote();
    const { ref, pid } = await maker.share.remote();
    await kill(maker);
    await until(() => !isAlive(pid), "the actor's end");
    expect((await ref)[7]).toBe(4);
  });

  test("of a task that died leave nothing counted", async () => {
    const ref = put({ some: "value" });
    const dies = remote(
      async (box: { ref: ObjectRef<{ some: string }> }) => {
        await box.ref;
        process.kill(process.pid, "SIGKILL");
      },
      { maxRetries: 1 },
    );
    expect(await failureOf(dies.remote({ ref }))).toBeInstanceOf(WorkerCrashedError);
    expect(await ref).toEqual({ some: "value" });
    const { id } = ref;
    expect(driverRuntime().table.lookup(id)).toBeDefined();
    ref[Symbol.dispose]();
    await until(async () => {
      await collectGarbage();
      return driverRuntime().table.lookup(id) === undefined;
    }, "the ref to be forgotten");
  });
});

test("a ref that is waited for may be disposed of: the wait goes on", async () => {
  const slow = remote(async (ms: number) => {
    await new Promise((resolve) => setTimeout(resolve, ms));
    return "late";
  });
  const waitFor = remote(async ([ref]: [ObjectRef<string>]) => {
    const one = get(ref);
    const many = get([ref]);
    const split = waitForAny([ref]);
    ref[Symbol.dispose]();
    return [await one, (await many)[0], (await split)[0].length];
  });
  expect(await waitFor.remote([slow.remote(150)])).toEqual(["late", "late", 1]);
});
