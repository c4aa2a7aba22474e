/**
 * Large objects in shared memory: mapped and not copied, isolated between readers, freed when the last ref goes, never above the quota.
 */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { get, type ObjectRef, put, remote, terminate } from "shoal";
import { beforeEach, describe, expect, test } from "vitest";
import { sharedMemory } from "../../src/runtime/os/shared-memory.ts";
import { collectGarbage, driverRuntime, isAlive, shoalProcesses, storeUsedBytes, until, useSession } from "./session.ts";

const LARGE = 1_000_000;
const MEGABYTE = 1_000_000;

/** Bytes that a process has read from the store since its start. */
interface Read {
  copiedBytes: number;
  mappedBytes: number;
}

/** For the driver and for tasks: how much was copied and mapped while the action ran. */
async function readBy(action: () => unknown): Promise<Read> {
  type Counted = { store: { counters: Read } };
  const { counters } = ((globalThis as unknown as Record<symbol, Counted>)[Symbol.for("shoal.runtime.1")] as Counted).store;
  const before = { ...counters };
  await action();
  return { copiedBytes: counters.copiedBytes - before.copiedBytes, mappedBytes: counters.mappedBytes - before.mappedBytes };
}

/** An idle worker collects by itself, but no sooner than a second after its last task. */
const collectInWorker = remote(() => {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  const end = performance.now() + 2;
  while (performance.now() < end);
});

/** Waits until the store keeps nothing in memory or on disk, with the help of every process' garbage collector. */
async function untilEmpty(): Promise<void> {
  await until(async () => {
    await get([1, 2, 3, 4].map(() => collectInWorker.remote()));
    await collectGarbage();
    return (await storeUsedBytes()) === 0 && spilledFiles().length === 0;
  }, "the store to be empty");
}

/** Returns the files in the session's spill folder, without the owner's mark. */
function spilledFiles(): string[] {
  return readdirSync(driverRuntime().options.spillDirectory).filter((name) => name !== "owner");
}

const make = remote((length: number, value: number) => new Uint8Array(length).fill(value));
const sum = remote((bytes: Uint8Array) => {
  let total = 0;
  for (const byte of bytes) total += byte;
  return total;
});

describe("in a store with room", () => {
  useSession({ numCpus: 2, objectStoreMemoryBytes: 400 * MEGABYTE });
  beforeEach(untilEmpty);

  test.runIf(sharedMemory() !== undefined)("64 KB and more are mapped and not copied, in the driver", async () => {
    using ref = put(new Uint8Array(LARGE).fill(1));
    const read = await readBy(async () => expect((await ref).length).toBe(LARGE));
    expect(read.copiedBytes).toBe(0);
    expect(read.mappedBytes).toBeGreaterThanOrEqual(LARGE);
  });

  test.runIf(sharedMemory() !== undefined)("a large argument and a large result are mapped as well", async () => {
    const countReads = remote((box: { ref: PromiseLike<Uint8Array> }) => readBy(async () => (await box.ref)[0]));
    using ref = put(new Uint8Array(LARGE).fill(1));
    expect(await countReads.remote({ ref })).toMatchObject({ copiedBytes: 0, mappedBytes: expect.any(Number) });
    using result = make.remote(LARGE, 2);
    await get(result);
    expect(await readBy(() => result)).toMatchObject({ copiedBytes: 0 });
  });

  test("below 64 KB nothing goes to the store", async () => {
    const ref = put(new Uint8Array(60_000));
    expect((await ref).length).toBe(60_000);
    expect(await sum.remote(ref)).toBe(0);
    expect(await storeUsedBytes()).toBe(0);
  });

  test("the same bytes are read by several workers and the driver, and no writer is seen by another", async () => {
    using ref = put(new Uint8Array(LARGE).fill(1));
    const write = remote((bytes: Uint8Array) => {
      bytes.fill(9);
      return bytes[0];
    });
    const mine = await ref;
    mine.fill(5);
    expect(await get([write.remote(ref), sum.remote(ref), write.remote(ref), sum.remote(ref)])).toEqual([9, LARGE, 9, LARGE]);
    expect((await ref)[LARGE - 1]).toBe(1);
    expect(mine[0]).toBe(5);
  });

  test("several buffers of one value keep their order and alignment", async () => {
    const value = { ints: new Int32Array(50_000).fill(-3), floats: new Float64Array(50_000).fill(0.25), text: "t".repeat(100) };
    using ref = put(value);
    expect(await ref).toEqual(value);
  });

  test("a large value without buffers is stored too", async () => {
    const rows = Array.from({ length: 20_000 }, (_, id) => ({ id, name: `row ${id}` }));
    using ref = put(rows);
    expect(await ref).toEqual(rows);
    await until(async () => (await storeUsedBytes()) > 0, "the store to know it");
  });

  test("the end of a using block frees", async () => {
    {
      using stored = put(new Uint8Array(LARGE));
      using result = make.remote(LARGE, 1);
      expect([(await stored).length, (await result).length]).toEqual([LARGE, LARGE]);
      await until(async () => (await storeUsedBytes()) >= 2 * LARGE, "the store to know both");
    }
    await untilEmpty();
  });

  test("the garbage collector frees what was forgotten", async () => {
    const forget = (): void => {
      for (let round = 0; round < 10; round += 1) put(new Uint8Array(LARGE));
    };
    forget();
    await untilEmpty();
  });

  test("a value that is still used outlives its ref", async () => {
    const kept: Uint8Array = await (async () => {
      using ref = put(new Uint8Array(LARGE).fill(1));
      return ref.then((bytes) => bytes);
    })();
    for (let round = 0; round < 5; round += 1) {
      using _next = put(new Uint8Array(LARGE).fill(2));
    }
    expect(kept.every((byte) => byte === 1)).toBe(true);
  });

  test("refs inside a stored value keep what they refer to", async () => {
    using outer = put({ list: [put(new Uint8Array(LARGE).fill(3)), make.remote(LARGE, 4)], padding: new Uint8Array(LARGE) });
    await collectGarbage();
    const { list } = await outer;
    expect(await get(list.map((ref) => sum.remote(ref)))).toEqual([3 * LARGE, 4 * LARGE]);
  });

  test("what a value holds is freed with it", async () => {
    {
      using outer = put([put(new Uint8Array(LARGE))]);
      const [inner] = await outer;
      expect((await (inner as ObjectRef<Uint8Array>)).length).toBe(LARGE);
      inner?.[Symbol.dispose]();
    }
    await untilEmpty();
  });

  test("a borrowed ref outlives the task that brought it, and the owner's own ref", async () => {
    class Keeper {
      #kept: { ref: PromiseLike<Uint8Array> } | undefined;
      keep(box: { ref: PromiseLike<Uint8Array> }): void {
        this.#kept = box;
      }
      async first(): Promise<number | undefined> {
        return (await this.#kept?.ref)?.[0];
      }
    }
    const keeper = remote(Keeper).remote();
    {
      using stored = put(new Uint8Array(LARGE).fill(6));
      using pending = make.remote(LARGE, 7);
      await keeper.keep.remote({ ref: stored });
      expect(await keeper.first.remote()).toBe(6);
      await keeper.keep.remote({ ref: pending });
    }
    await collectGarbage();
    expect(await keeper.first.remote()).toBe(7);
    await until(async () => (await storeUsedBytes()) >= LARGE, "the store to know it");
    await terminate(keeper);
    await untilEmpty();
  });

  test("a ref that is disposed of before its task has ended frees the result when it comes, also while others hold it", async () => {
    const passes = remote(async (box: { ref: PromiseLike<Uint8Array> }) => (await box.ref)[0]);
    const values: PromiseLike<number | undefined>[] = [];
    for (let round = 0; round < 5; round += 1) {
      using pending = make.remote(LARGE, round);
      values.push(passes.remote({ ref: pending }));
      using _unused = make.remote(LARGE, round);
    }
    expect(await Promise.all(values)).toEqual([0, 1, 2, 3, 4]);
    await untilEmpty();
  });

  test("refs made in a worker are returned and are freed like others", async () => {
    const makeInside = remote(() => ({
      stored: put(new Uint8Array(200_000).fill(8)),
      nested: make.remote(200_000, 9),
      small: put("small"),
    }));
    // A separate function: a suspended function keeps the variables of blocks that it has left.
    const read = async (): Promise<unknown[]> => {
      const { stored, nested, small } = await makeInside.remote();
      return [(await stored)[0], (await nested)[0], await small];
    };
    expect(await read()).toEqual([8, 9, "small"]);
    await untilEmpty();
  });

  test("an idle worker lets go of what its tasks have dropped, of a long one and of one that passed its ref on", async () => {
    // V8 may do it for itself, after eight seconds.
    const withoutReducer = (): void => {
      setFlagsFromString("--no-memory-reducer");
      setFlagsFromString("--no-incremental-marking");
    };
    const holds = remote(async (bytes: Uint8Array, ms: number): Promise<number> => {
      withoutReducer();
      await new Promise((resolve) => setTimeout(resolve, ms));
      return bytes.length;
    });
    const makeInside = remote(() => {
      withoutReducer();
      return { stored: put(new Uint8Array(LARGE).fill(8)) };
    });
    const use = async (): Promise<void> => {
      using ref = put(new Uint8Array(LARGE).fill(1));
      expect(await Promise.all([holds.remote(ref, 1500), makeInside.remote()])).toMatchObject([LARGE, {}]);
    };
    await use();
    await until(async () => {
      await collectGarbage();
      return (await storeUsedBytes()) === 0;
    }, "the workers to let go of everything");
  });

  test("an object survives the worker that made it", async () => {
    const makeInside = remote(() => ({ pid: process.pid, stored: put(new Uint8Array(200_000).fill(8)) }));
    const { pid, stored } = await makeInside.remote();
    process.kill(pid, "SIGKILL");
    await until(() => !isAlive(pid), "the worker to be gone");
    expect(await sum.remote(stored)).toBe(8 * 200_000);
    expect((await stored).length).toBe(200_000);
  });

  test("a ref that was disposed of cannot be used, and says so", async () => {
    const ref = put(new Uint8Array(LARGE));
    ref[Symbol.dispose]();
    ref[Symbol.dispose]();
    expect(() => sum.remote(ref)).toThrow(/disposed/);
    await expect(async () => get(ref)).rejects.toThrow(/disposed/);
  });
});

describe("in a small store", () => {
  const QUOTA = 32 * MEGABYTE;
  useSession({ numCpus: 1, objectStoreMemoryBytes: QUOTA });

  test("a loop that puts ten times the quota in all, and never yields, stays within it and needs no disk", async () => {
    for (let round = 0; round < 80; round += 1) {
      using _ref = put(new Uint8Array(4 * MEGABYTE).fill(round));
    }
    expect(spilledFiles()).toEqual([]);
    expect(sizeOf(driverRuntime().options.memoryDirectory)).toBeLessThanOrEqual(QUOTA * 1.1);
    await untilEmpty();
  });

  // A round is a separate function: a suspended function keeps the variables of blocks that it has left.
  const put4MegabytesAndGet = async (value: number, { dispose }: { dispose: boolean }): Promise<void> => {
    const ref = put(new Uint8Array(4 * MEGABYTE).fill(value));
    const bytes = await ref;
    expect([bytes[0], bytes[4 * MEGABYTE - 1]]).toEqual([value, value]);
    expect(sizeOf(driverRuntime().options.memoryDirectory)).toBeLessThanOrEqual(QUOTA * 1.1);
    if (dispose) ref[Symbol.dispose]();
  };

  test.each([
    ["disposes of the refs", true],
    ["leaves the refs to the garbage collector", false],
  ])("a loop that puts and gets ten times the quota in all and %s stays within it", async (_what, dispose) => {
    for (let round = 0; round < 80; round += 1) await put4MegabytesAndGet(round, { dispose });
    await untilEmpty();
  });

  test("what is kept beyond the quota goes to disk and is read from there", async () => {
    const refs = Array.from({ length: 12 }, (_, index) => put(new Uint8Array(4 * MEGABYTE).fill(index)));
    const { memoryDirectory } = driverRuntime().options;
    expect(spilledFiles().length).toBeGreaterThan(0);
    expect(sizeOf(memoryDirectory)).toBeLessThanOrEqual(QUOTA * 1.1);
    for (const [index, ref] of refs.entries()) {
      expect((await ref)[77]).toBe(index);
      expect(await sum.remote(ref)).toBe(index * 4 * MEGABYTE);
    }
    for (const ref of refs) ref[Symbol.dispose]();
    await untilEmpty();
  });

  test("results of workers beyond the quota are kept as well", async () => {
    const refs = Array.from({ length: 12 }, (_, index) => make.remote(4 * MEGABYTE, index));
    for (const [index, ref] of refs.entries()) expect((await ref)[77]).toBe(index);
    for (const ref of refs) ref[Symbol.dispose]();
    await untilEmpty();
  });
});

/** Bytes of all files in a folder, as they take room. */
function sizeOf(folder: string): number {
  return readdirSync(folder).reduce(
    (total, name) => total + (statSync(join(folder, name), { throwIfNoEntry: false })?.blocks ?? 0) * 512,
    0,
  );
}

class Reader {
  async read(box: { ref: ObjectRef<Uint8Array> }): Promise<number> {
    return (await box.ref)[LARGE - 1] as number;
  }
  make(value: number): { ref: ObjectRef<Uint8Array> } {
    return { ref: put(new Uint8Array(LARGE).fill(value)) };
  }
}

test("a stored object is read through a ref inside a value without a question: the daemon may stand still", async () => {
  const reader = remote(Reader).remote();
  const own = put(new Uint8Array(LARGE).fill(3));
  const made = await reader.make.remote(5);
  // The worker has handed the object over to the daemon before.
  expect((await made.ref)[0]).toBe(5);
  expect(await reader.read.remote({ ref: put(new Uint8Array(LARGE).fill(1)) })).toBe(1);
  const [daemon = 0] = shoalProcesses({ kind: "daemon" });
  process.kill(daemon, "SIGSTOP");
  try {
    expect(await reader.read.remote({ ref: own })).toBe(3);
  } finally {
    process.kill(daemon, "SIGCONT");
  }
});
