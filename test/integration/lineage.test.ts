/**
 * Objects whose bytes are lost are made again: readers wait and get the value, and an object that cannot come back fails with its reason.
 *
 * The tests lose objects as an accident would: they delete the files of the store behind everybody's back.
 */
import { appendFileSync, readdirSync, readFileSync, truncateSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import {
  ActorDiedError,
  get,
  init,
  ObjectLostError,
  ObjectReconstructionFailedError,
  put,
  remote,
  shutdown,
  terminate,
  type ObjectRef,
  wait,
} from "shoal";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { storeTagOf } from "../../src/runtime/objects/store/local-store.ts";
import {
  collectGarbage,
  driverRuntime,
  failureOf,
  isAlive,
  Log,
  shoalProcesses,
  storeUsedBytes,
  until,
  useFolder,
  useSession,
} from "./session.ts";

const folder = useFolder();
const COUNT = 100_000;

/**
 * Empties and deletes the files of the store: a process that has a file open still reads one that was only deleted. `ofWorkers`: keeps the
 * driver's own files.
 *
 * @returns how many files that were
 */
function loseStore(options: { ofWorkers?: boolean } = {}): number {
  const { memoryDirectory, spillDirectory, processId } = driverRuntime().options;
  let files = 0;
  for (const directory of [memoryDirectory, spillDirectory]) {
    for (const name of readdirSync(directory)) {
      if (!/^[0-9a-f]{28}-\d+$/.test(name)) continue;
      if (options.ofWorkers === true && name.startsWith(storeTagOf(processId))) continue;
      truncateSync(join(directory, name));
      unlinkSync(join(directory, name));
      files += 1;
    }
  }
  return files;
}

/** A large result that tells each run in a log. */
const make = remote((log: string, fill: number) => {
  appendFileSync(log, `${fill}\n`);
  return new Float64Array(COUNT).fill(fill);
});
const add = remote((log: string, array: Float64Array, more: number) => {
  appendFileSync(log, `+${more}\n`);
  return array.map((value) => value + more);
});
const first = remote((array: Float64Array) => array[0]);
const firstOf = remote(async (box: { ref: PromiseLike<Float64Array> }) => (await box.ref)[0]);

/** Resolves when the objects are complete; they have not been read here then. */
async function settled(...refs: ObjectRef<unknown>[]): Promise<void> {
  await wait(refs, { numReturns: refs.length });
}

describe("on two CPUs", () => {
  useSession({ numCpus: 2 });

  test("a driver's get runs the task again and gives the value", async () => {
    const log = new Log(folder);
    const ref = make.remote(log.file, 7);
    await settled(ref);
    expect(loseStore()).toBeGreaterThan(0);
    const array = await ref;
    expect([array.length, array[0], array[COUNT - 1]]).toEqual([COUNT, 7, 7]);
    expect(log.lines).toEqual(["7", "7"]);
    expect((await get([ref]))[0][1]).toBe(7);
    expect(log.lines).toHaveLength(2);
  });

  test("a task that gets it as an argument waits for it", async () => {
    const log = new Log(folder);
    const ref = make.remote(log.file, 5);
    await settled(ref);
    loseStore();
    expect(await first.remote(ref)).toBe(5);
    expect(log.lines).toHaveLength(2);
  });

  test("a task that reads it through a ref inside its argument waits for it", async () => {
    const log = new Log(folder);
    const ref = make.remote(log.file, 6);
    await settled(ref);
    loseStore();
    expect(await firstOf.remote({ ref })).toBe(6);
    expect(log.lines).toHaveLength(2);
  });

  test("many readers at once cause one run", async () => {
    const log = new Log(folder);
    const ref = make.remote(log.file, 3);
    await settled(ref);
    loseStore();
    const reads = [get(ref).then((array) => array[0]), ref.then((array) => array[0])];
    const tasks = Array.from({ length: 6 }, (_, index) => (index % 2 === 0 ? first.remote(ref) : firstOf.remote({ ref })));
    expect(await Promise.all([...reads, get(tasks)])).toEqual([3, 3, [3, 3, 3, 3, 3, 3]]);
    expect(log.lines).toHaveLength(2);
  });

  test("lost and freed arguments are made again first, through several tasks", async () => {
    const log = new Log(folder);
    const { lineage } = driverRuntime().objects;
    const before = lineage.size;
    let ref = make.remote(log.file, 1);
    for (let step = 1; step <= 4; step += 1) {
      const next = add.remote(log.file, ref, step);
      await settled(next);
      ref[Symbol.dispose]();
      ref = next;
    }
    expect(lineage.size).toBeGreaterThanOrEqual(5);
    loseStore();
    expect((await ref)[0]).toBe(11);
    expect(log.lines).toEqual(["1", "+1", "+2", "+3", "+4", "1", "+1", "+2", "+3", "+4"]);
    ref[Symbol.dispose]();
    await until(() => {
      void collectGarbage();
      return lineage.size <= before;
    }, "the lineage of five calls to be forgotten");
  });

  test("of several results the lost ones come back by one run", async () => {
    const log = new Log(folder);
    const both = remote(
      (file: string) => {
        appendFileSync(file, "run\n");
        return [new Float64Array(COUNT).fill(1), new Float64Array(COUNT).fill(2), "small"] as const;
      },
      { numReturns: 3, maxRetries: 1 },
    );
    const [one, two, small] = both.remote(log.file);
    await wait([one, two, small], { numReturns: 3 });
    loseStore();
    expect([(await one)[0], (await two)[0], await small]).toEqual([1, 2, "small"]);
    expect(log.lines).toHaveLength(2);
  });

  test("an object is made again as often as its task may run, then it fails for good", async () => {
    const log = new Log(folder);
    const ref = make.options({ maxRetries: 2 }).remote(log.file, 4);
    await settled(ref);
    for (let round = 0; round < 2; round += 1) {
      loseStore();
      expect(await first.remote(ref)).toBe(4);
    }
    loseStore();
    const failure = await failureOf(first.remote(ref));
    expect(failure).toBeInstanceOf(ObjectReconstructionFailedError);
    expect(failure).toMatchObject({ reason: expect.stringContaining("used up"), code: "OBJECT_RECONSTRUCTION_FAILED" });
    expect(await failureOf(ref)).toBeInstanceOf(ObjectReconstructionFailedError);
    expect(log.lines).toHaveLength(3);
  });

  test("maxRetries: -1 makes it again without end", async () => {
    const ref = make.options({ maxRetries: -1 }).remote(new Log(folder).file, 2);
    await settled(ref);
    for (let round = 0; round < 6; round += 1) {
      loseStore();
      expect(await first.remote(ref)).toBe(2);
    }
  });

  test.each([
    ["maxRetries: 0", () => make.options({ maxRetries: 0 }).remote(new Log(folder).file, 1), "maxRetries is 0"],
    ["put", () => put(new Float64Array(COUNT)), "made by put"],
  ])("%s: it fails with the reason", async (_, makeRef, reason) => {
    const ref = makeRef();
    await settled(ref);
    loseStore();
    const failure = await failureOf(ref);
    expect(failure).toBeInstanceOf(ObjectLostError);
    expect(failure).toMatchObject({ code: "OBJECT_RECONSTRUCTION_FAILED", reason: expect.stringContaining(reason) });
    // How the bytes were found missing.
    expect(failure.cause).toMatchObject({ code: "OBJECT_LOST", message: expect.stringContaining("Cannot read an object") });
    expect(await failureOf(first.remote(ref))).toMatchObject({ code: "OBJECT_RECONSTRUCTION_FAILED" });
  });

  test("a task runs again with the large values that it was given, for as long as its result is kept", async () => {
    const log = new Log(folder);
    const isStoreEmpty = async (): Promise<boolean> => {
      await collectGarbage();
      return (await storeUsedBytes()) === 0;
    };
    await until(isStoreEmpty, "the objects of earlier tests to be freed");
    let ref: ObjectRef<Float64Array> | undefined = add.remote(log.file, new Float64Array(COUNT).fill(3), 4);
    await settled(ref);
    await until(async () => (await storeUsedBytes()) >= 2 * COUNT * 8, "the node to know the result, which it would remove else");
    // The worker still has the argument mapped, and would keep it.
    const workers = shoalProcesses({ kind: "worker" });
    for (const pid of workers) process.kill(pid, "SIGKILL");
    await until(() => workers.every((pid) => !isAlive(pid)), "the workers to be gone");
    await remote(() => 0).remote();
    await collectGarbage();
    expect(loseStore({ ofWorkers: true })).toBeGreaterThan(0);
    expect((await ref)[1]).toBe(7);
    expect(log.lines).toEqual(["+4", "+4"]);
    ref = undefined;
    await until(isStoreEmpty, "the argument to be freed with the result");
  });

  describe("items of a stream", () => {
    /** Tells each item that it makes in a log. */
    const makeMany = remote(function* (log: string, count: number) {
      for (let index = 0; index < count; index += 1) {
        appendFileSync(log, `${index}\n`);
        yield new Float64Array(COUNT).fill(index);
      }
      appendFileSync(log, "end\n");
    });

    async function refsOf<T>(stream: { refs(): AsyncIterable<{ ref: ObjectRef<T> }> }, count: number): Promise<ObjectRef<T>[]> {
      const refs: ObjectRef<T>[] = [];
      for await (const { ref } of stream.refs()) if (refs.push(ref) === count) break;
      return refs;
    }

    test("are made again by one run of the generator, up to the last that was lost", async () => {
      const log = new Log(folder);
      const refs = await refsOf(makeMany.remote(log.file, 6), 7);
      expect(log.lines).toEqual(["0", "1", "2", "3", "4", "5", "end"]);
      const kept = refs.slice(1, 5);
      for (const ref of [refs[0], refs[5]]) ref?.[Symbol.dispose]();
      loseStore();
      expect((await get(kept)).map((array) => array[COUNT - 1])).toEqual([1, 2, 3, 4]);
      await until(() => log.lines.length > 11, "the run to be seen");
      expect(log.lines.slice(7, 12)).toEqual(["0", "1", "2", "3", "4"]);
      expect(log.lines.filter((line) => line === "0")).toHaveLength(2);
      expect(await first.remote(kept[2] as ObjectRef<Float64Array>)).toBe(3);
    });

    test("come back while the stream is still being read, and when it has been left early", async () => {
      const log = new Log(folder);
      const stream = makeMany.options({ highWaterMark: 2 }).remote(log.file, 100);
      const early = await refsOf(stream, 3);
      loseStore();
      expect((await get(early)).map((array) => array[0])).toEqual([0, 1, 2]);

      const second = makeMany.options({ highWaterMark: 2 }).remote(log.file, 5)[Symbol.asyncIterator]();
      const refs: ObjectRef<Float64Array>[] = [];
      const read = makeMany.options({ highWaterMark: 2 }).remote(log.file, 5).refs();
      for (let index = 0; index < 2; index += 1) refs.push((await read.next()).value?.ref as ObjectRef<Float64Array>);
      loseStore();
      expect((await refs[1])?.[0]).toBe(1);
      for await (const { ref } of read) refs.push(ref);
      expect((await get(refs)).map((array) => array[0])).toEqual([0, 1, 2, 3, 4]);
      await second.return?.();
    });

    test("fail with the reason where the generator gives fewer, throws, or may not run again", async () => {
      const log = new Log(folder);
      const changing = remote(function* (file: string, fails: boolean) {
        appendFileSync(file, "run\n");
        const isFirst = readFileSync(file, "utf8") === "run\n";
        yield new Float64Array(COUNT).fill(1);
        if (!isFirst && fails) throw new RangeError("not this time");
        if (isFirst) yield new Float64Array(COUNT).fill(2);
      });
      const shorter = await refsOf(changing.remote(log.file, false), 3);
      loseStore();
      const [one, two] = await Promise.allSettled(shorter);
      expect(one).toMatchObject({ status: "fulfilled" });
      expect(two).toMatchObject({ reason: { reason: "its generator ended before it when it ran again" } });

      const other = new Log(folder);
      const thrown = await refsOf(changing.remote(other.file, true), 3);
      loseStore();
      expect(await failureOf(thrown[1] as ObjectRef<Float64Array>)).toMatchObject({ code: "TASK_FAILED", cause: expect.any(RangeError) });

      const once = await refsOf(makeMany.options({ maxRetries: 0 }).remote(new Log(folder).file, 1), 2);
      loseStore();
      expect(await failureOf(once[0] as ObjectRef<Float64Array>)).toMatchObject({ reason: expect.stringContaining("must not run again") });
    });

    test("are forgotten with their refs", async () => {
      const { lineage } = driverRuntime().objects;
      await until(async () => {
        await collectGarbage();
        return lineage.size === 0;
      }, "earlier lineage to be forgotten");
      const log = new Log(folder);
      const refs = await refsOf(makeMany.remote(log.file, 3), 4);
      expect(lineage.size).toBe(1);
      for (const ref of refs) ref[Symbol.dispose]();
      expect([lineage.size, lineage.bytes]).toEqual([0, 0]);
    });
  });

  test("a task whose large argument is gone with it cannot run again", async () => {
    const sum = remote((values: Float64Array) => values.map((value) => value + 1));
    const ref = sum.remote(new Float64Array(COUNT));
    await settled(ref);
    loseStore();
    expect(await failureOf(ref)).toMatchObject({ reason: expect.stringContaining("argument") });
  });

  test("refs that a task made and returned are made again by it, while its process lives", async () => {
    const log = new Log(folder);
    const nested = remote((file: string) => [make.remote(file, 9)]);
    const [inner] = (await nested.remote(log.file)) as [ObjectRef<Float64Array>];
    await settled(inner);
    loseStore();
    expect((await inner)[0]).toBe(9);
    expect(log.lines).toHaveLength(2);
  });

  /** Makes objects, gives them away, and reads them when they come back. */
  class Giver {
    one(file: string): ObjectRef<Float64Array>[] {
      return [make.remote(file, 9)];
    }
    several(file: string): ObjectRef<Float64Array>[] {
      const several = remote(
        (log: string) => {
          appendFileSync(log, "run\n");
          return [1, 2, 3, 4].map((fill) => new Float64Array(COUNT).fill(fill));
        },
        { numReturns: 4, maxRetries: 1 },
      );
      return several.remote(file);
    }
    put(): ObjectRef<Float64Array>[] {
      return [put(new Float64Array(COUNT))];
    }
    async items(file: string): Promise<ObjectRef<Float64Array>[]> {
      const items = remote(
        function* (log: string) {
          appendFileSync(log, "run\n");
          for (let fill = 1; fill <= 4; fill += 1) yield new Float64Array(COUNT).fill(fill);
        },
        { maxRetries: 1 },
      );
      const refs: ObjectRef<Float64Array>[] = [];
      for await (const { ref } of items.remote(file).refs()) if (refs.push(ref) === 4) break;
      return refs;
    }
    /** Lets go of the worker's own refs, which are others' alone from then on. */
    async forget(): Promise<void> {
      process.getBuiltinModule("node:v8").setFlagsFromString("--expose-gc");
      (process.getBuiltinModule("node:vm").runInNewContext("gc") as () => void)();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    async read(given: ObjectRef<Float64Array>[]): Promise<(number | undefined)[]> {
      return (await get(given)).map((array) => array[0]);
    }
  }

  test.each([
    ["results of a call", "several"],
    ["items of a stream", "items"],
  ] as const)("%s that a process has handed on come back by one run", async (_, method) => {
    const log = new Log(folder);
    using giver = remote(Giver).remote();
    const refs = await giver[method].remote(log.file);
    await settled(...refs);
    await giver.forget.remote();
    loseStore();
    expect((await get(refs)).map((array) => array[0])).toEqual([1, 2, 3, 4]);
    expect(log.lines).toEqual(["run", "run"]);
  });

  test("a process that gets back what it has handed on makes it again, and says of what it had put that it cannot", async () => {
    const log = new Log(folder);
    using giver = remote(Giver).remote();
    const refs = await giver.one.remote(log.file);
    await settled(...refs);
    await giver.forget.remote();
    loseStore();
    expect(await giver.read.remote(refs)).toEqual([9]);
    expect((await get(refs)).map((array) => array[0])).toEqual([9]);
    expect(log.lines).toEqual(["9", "9"]);
    const ofPut = await giver.put.remote();
    await giver.forget.remote();
    loseStore();
    for (const failure of [await failureOf(giver.read.remote(ofPut)), await failureOf(get(ofPut))]) {
      expect(failure).toMatchObject({ code: "OBJECT_RECONSTRUCTION_FAILED", reason: expect.stringContaining("made by put") });
    }
  });

  test("a get's time limit holds while the object is made again", async () => {
    const log = new Log(folder);
    const slowAgain = remote((file: string) => {
      if (readFileSync(file, "utf8") !== "") Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
      appendFileSync(file, "run\n");
      return new Float64Array(COUNT);
    });
    const ref = slowAgain.remote(log.file);
    await settled(ref);
    loseStore();
    expect(await failureOf(get(ref, { timeoutMs: 1 }))).toMatchObject({ code: "GET_TIMEOUT" });
    expect((await ref).length).toBe(COUNT);
  });

  class Maker {
    #runs = 0;
    big(fill: number) {
      this.#runs += 1;
      return new Float64Array(COUNT).fill(fill * 10 + this.#runs);
    }
  }

  test("an actor's result is made again under maxTaskRetries, and not without", async () => {
    const maker = remote(Maker, { maxTaskRetries: 1 }).remote();
    const ref = maker.big.remote(1);
    await settled(ref);
    loseStore();
    expect((await ref)[0]).toBe(12);
    const once = remote(Maker).remote();
    const other = once.big.remote(1);
    await settled(other);
    loseStore();
    expect(await failureOf(other)).toMatchObject({ reason: expect.stringContaining("maxTaskRetries") });
    await terminate(maker);
    const late = remote(Maker, { maxTaskRetries: 1 }).remote();
    const last = late.big.remote(1);
    await settled(last);
    await terminate(late);
    await until(async () => (await failureOf(late.big.remote(1))) instanceof ActorDiedError, "the actor's end");
    loseStore();
    expect(await failureOf(last)).toMatchObject({ reason: expect.stringContaining("dead") });
  });
});

describe("in a session of its own", () => {
  useSession({ numCpus: 2 });

  test("what a dead worker wrote is still read", async () => {
    const log = new Log(folder);
    const makeAndTell = remote((file: string) => {
      appendFileSync(file, `${process.pid}\n`);
      return new Float64Array(COUNT).fill(8);
    });
    const ref = makeAndTell.remote(log.file);
    await settled(ref);
    // The node learns of the object on another connection: a worker killed before would take the object along, and the task would run
    // again.
    await until(async () => (await storeUsedBytes()) >= COUNT * 8, "the node to know the object");
    const [pid] = log.lines;
    process.kill(Number(pid), "SIGKILL");
    await until(() => !readdirSync("/proc").includes(pid as string), "the worker's end");
    expect(await first.remote(ref)).toBe(8);
    expect((await ref)[0]).toBe(8);
    expect(log.lines).toHaveLength(1);
  });
});

describe.each([
  { name: "on one CPU", options: { numCpus: 1 } },
  { name: "in one process", options: { numCpus: 1, mode: "inProcess" as const } },
])("$name", ({ options }) => {
  beforeEach(async () => {
    await init({ logToDriver: false, ...options });
  });
  afterEach(() => shutdown());

  test("a task that waits for a lost argument lets the task run that makes it", async () => {
    const log = new Log(folder);
    const ref = make.remote(log.file, 5);
    await settled(ref);
    const box = make.remote(log.file, 6);
    await settled(box);
    loseStore();
    expect(await get([first.remote(ref), firstOf.remote({ ref: box })])).toEqual([5, 6]);
    expect(log.lines.sort()).toEqual(["5", "5", "6", "6"]);
  });
});
