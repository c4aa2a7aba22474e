/**
 * Objects beyond the memory of the store: moved to disk, read from there by several processes, gone when nobody needs them.
 */
import { readdirSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { get, type ObjectRef, objectStoreStatistics, put, remote, wait } from "shoal";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { isAlive, Sandbox } from "./sandbox.ts";
import { collectGarbage, driverRuntime, shoalProcesses, until, useSession } from "./session.ts";

const MEGABYTE = 1_000_000;
const QUOTA = 24 * MEGABYTE;

/** Bytes that differ at every place and in every object, so that a mistake of a page shows. */
const pattern = (seed: number, length: number): Uint32Array => {
  const words = new Uint32Array(length / 4);
  for (let index = 0; index < words.length; index += 1) words[index] = (index * 2_654_435_761 + seed * 40_503) >>> 0;
  return words;
};
const isPattern = (words: Uint32Array, seed: number): boolean =>
  words.every((word, index) => word === (index * 2_654_435_761 + seed * 40_503) >>> 0);

function filesIn(folder: string): string[] {
  return readdirSync(folder).filter((name) => name !== "owner");
}

function memoryFilesBytes(): number {
  const { memoryDirectory } = driverRuntime().options;
  return filesIn(memoryDirectory).reduce((total, name) => {
    return total + (statSync(join(memoryDirectory, name), { throwIfNoEntry: false })?.blocks ?? 0) * 512;
  }, 0);
}

async function untilSpilled(objects: number): Promise<void> {
  await until(async () => (await objectStoreStatistics()).spilledObjects >= objects, `${objects} objects to be spilled`);
}

async function untilNothingIsLeft(): Promise<void> {
  await until(async () => {
    await collectGarbage();
    const { usedBytes, diskBytes, objects, spillFiles, spillFileBytes } = await objectStoreStatistics();
    const files = filesIn(driverRuntime().options.spillDirectory);
    return usedBytes + diskBytes + objects + spillFiles + spillFileBytes + files.length === 0;
  }, "the store and its disk to be empty");
}

describe("a store that is much smaller than its objects", () => {
  useSession({ numCpus: 2, objectStoreMemoryBytes: QUOTA });

  test("holds ten times its size, read correctly and in any order by several processes", async () => {
    const check = remote(
      async (boxes: { ref: PromiseLike<Uint32Array>; seed: number }[]): Promise<boolean[]> =>
        Promise.all(boxes.map(async ({ ref, seed }) => isPattern(await ref, seed))),
    );
    const refs: ObjectRef<Uint32Array>[] = [];
    for (let seed = 0; seed < 240; seed += 1) {
      refs.push(put(pattern(seed, MEGABYTE)));
      // A program that lets the node make room now and then: otherwise new objects go to disk by themselves.
      if (seed % 8 === 7) await until(async () => (await objectStoreStatistics()).usedBytes <= 0.8 * QUOTA, "the node to make room");
    }
    const order = refs.map((_, seed) => (seed * 149) % refs.length);
    const checks: ObjectRef<boolean[]>[] = [];
    for (let start = 0; start < order.length; start += 25) {
      checks.push(check.remote(order.slice(start, start + 25).map((seed) => ({ ref: refs[seed] as ObjectRef<Uint32Array>, seed }))));
    }
    for (const seed of order.slice(0, 60)) expect(isPattern(await (refs[seed] as ObjectRef<Uint32Array>), seed)).toBe(true);
    expect((await get(checks)).flat().filter(Boolean).length).toBe(240);
    const statistics = await objectStoreStatistics();
    expect(statistics.spilledBytes).toBeGreaterThan(QUOTA);
    expect(statistics.restoredObjects).toBeGreaterThan(0);
    expect(statistics.usedBytes).toBeLessThanOrEqual(QUOTA);
    expect(statistics.objects).toBe(240);
    // Fused: far fewer files than objects.
    expect(statistics.spillFiles).toBeLessThan(statistics.spilledObjects / 5);
    for (const ref of refs) ref[Symbol.dispose]();
    await untilNothingIsLeft();
  });

  test("runs a loop of put and get over a hundred times its size without growing", { timeout: 180_000 }, async () => {
    const rssBefore = process.memoryUsage().rss;
    let largest = 0;
    // A separate function: a suspended function keeps the variables of blocks that it has left.
    const putAndGet = async (value: number): Promise<number | undefined> => (await put(new Uint8Array(4 * MEGABYTE).fill(value)))[MEGABYTE];
    for (let round = 0; round < 600; round += 1) {
      const read = await putAndGet(round % 251);
      if (read !== round % 251) throw new Error(`round ${round} read ${read}`);
      if (round % 50 === 0) largest = Math.max(largest, memoryFilesBytes());
    }
    expect(largest).toBeLessThanOrEqual(QUOTA * 1.25);
    expect(process.memoryUsage().rss - rssBefore).toBeLessThan(6 * QUOTA);
    await untilNothingIsLeft();
  });

  test("serves readers while it spills", async () => {
    const read = remote(async (box: { refs: PromiseLike<Uint32Array>[] }) => {
      let rounds = 0;
      for (let round = 0; round < 15; round += 1) {
        for (const [seed, ref] of box.refs.entries()) {
          const words = await ref;
          for (let at = 0; at < words.length; at += 1000) {
            if (words[at] !== (at * 2_654_435_761 + seed * 40_503) >>> 0) return `object ${seed} is wrong at ${at}`;
          }
          rounds += 1;
        }
      }
      return rounds;
    });
    const refs = Array.from({ length: 20 }, (_, seed) => put(pattern(seed, MEGABYTE)));
    const readers = [read.remote({ refs }), read.remote({ refs })];
    const others: ObjectRef<Uint8Array>[] = [];
    for (let round = 0; round < 100; round += 1) {
      others.push(put(new Uint8Array(MEGABYTE).fill(round)));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(await get(readers)).toEqual([300, 300]);
    for (const [round, ref] of others.entries()) expect((await ref)[round]).toBe(round);
    for (const ref of [...refs, ...others]) ref[Symbol.dispose]();
    await untilNothingIsLeft();
  });

  test("a value in use stays as it is when its object is spilled, and is not moved before", async () => {
    const before = (await objectStoreStatistics()).spilledObjects;
    const ref = put(new Uint8Array(8 * MEGABYTE).fill(7));
    const kept = await ref;
    const others = Array.from({ length: 60 }, (_, index) => index);
    const refs: ObjectRef<Uint8Array>[] = [];
    for (const index of others) {
      refs.push(put(new Uint8Array(MEGABYTE).fill(index)));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await untilSpilled(before + 1);
    expect(kept.every((byte) => byte === 7)).toBe(true);
    for (const other of [ref, ...refs]) other[Symbol.dispose]();
    kept.fill(1);
  });
});

describe("workers that are killed", () => {
  useSession({ numCpus: 2, objectStoreMemoryBytes: QUOTA });

  test("keeps what a worker made that is killed while it spills", async () => {
    const make = remote((seed: number) => ({ pid: process.pid, words: new Uint8Array(4 * MEGABYTE).fill(seed) }));
    const before = (await objectStoreStatistics()).spilledObjects;
    const refs = Array.from({ length: 30 }, (_, seed) => make.remote(seed));
    const pids = new Set<number>();
    for (const [seed, ref] of refs.entries()) {
      const { pid } = await ref;
      pids.add(pid);
      if (seed === 12) process.kill(pid, "SIGKILL");
    }
    await untilSpilled(before + 1);
    for (const pid of pids) if (isAlive(pid)) process.kill(pid, "SIGKILL");
    for (const [seed, ref] of refs.entries()) expect((await ref).words[MEGABYTE]).toBe(seed);
  });
});

describe("a damaged spill disk", () => {
  useSession({ numCpus: 1, objectStoreMemoryBytes: QUOTA });

  const make = remote((index: number) => new Uint8Array(MEGABYTE).fill(index));

  async function spillSome(one: (index: number) => ObjectRef<Uint8Array>): Promise<ObjectRef<Uint8Array>[]> {
    const refs = Array.from({ length: 36 }, (_, index) => one(index));
    await wait(refs, { numReturns: refs.length });
    await until(async () => (await objectStoreStatistics()).diskBytes >= 4 * MEGABYTE, "objects to lie on disk");
    return refs;
  }

  /** Fused ones, and those of objects for which there was no room in memory. */
  function spillFiles(): string[] {
    const { spillDirectory } = driverRuntime().options;
    return filesIn(spillDirectory)
      .filter((name) => !name.includes("."))
      .map((name) => join(spillDirectory, name));
  }

  async function outcomes(refs: readonly ObjectRef<Uint8Array>[]): Promise<Set<string>> {
    const seen = refs.map((ref, index) =>
      ref.then(
        (bytes) => (bytes[9] === index ? "read" : "wrong"),
        (error: Error) => error.name,
      ),
    );
    return new Set(await Promise.all(seen));
  }

  describe.each([
    ["is gone", (file: string) => rmSync(file)],
    ["is cut short", (file: string) => truncateSync(file, 0)],
    ["holds something else", (file: string) => writeFileSync(file, Buffer.alloc(statSync(file).size, 1))],
  ])("whose file %s", (_what, damage) => {
    test("loses what was put there, and nothing else", async () => {
      const refs = await spillSome((index) => put(new Uint8Array(MEGABYTE).fill(index)));
      for (const file of spillFiles()) damage(file);
      const seen = await outcomes(refs);
      // Objects that were in memory are read, if there were any.
      seen.delete("read");
      expect(seen).toEqual(new Set(["ObjectReconstructionFailedError"]));
      for (const ref of refs) ref[Symbol.dispose]();
      await untilNothingIsLeft();
    });

    test("has the results of tasks made again", async () => {
      const refs = await spillSome((index) => make.remote(index));
      for (const file of spillFiles()) damage(file);
      expect(await outcomes(refs)).toEqual(new Set(["read"]));
      for (const ref of refs) ref[Symbol.dispose]();
      await untilNothingIsLeft();
    });
  });
});

describe("in-process mode", () => {
  useSession({ mode: "inProcess", numCpus: 1, objectStoreMemoryBytes: QUOTA });

  test("spills as well", async () => {
    const refs = Array.from({ length: 36 }, (_, index) => put(new Uint8Array(MEGABYTE).fill(index)));
    await untilSpilled(1);
    for (const [index, ref] of refs.entries()) expect((await ref)[5]).toBe(index);
    for (const ref of refs) ref[Symbol.dispose]();
    await untilNothingIsLeft();
  });
});

describe("the end of a program", () => {
  const sandbox = new Sandbox();
  afterEach(() => sandbox.mustBeEmpty());
  afterAll(() => sandbox.remove());

  const SPILLING = `
    import { init, objectStoreStatistics, put } from "shoal";
    await init({ numCpus: 1, objectStoreMemoryBytes: ${QUOTA} });
    const refs = [];
    for (let round = 0; round < 60; round += 1) {
      refs.push(put(new Uint8Array(${MEGABYTE}).fill(round)));
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    while ((await objectStoreStatistics()).spilledObjects === 0);
    console.log("spilled now");
  `;

  test("in the middle of spilling leaves nothing behind", async () => {
    expect((await sandbox.run(SPILLING)).stdout).toContain("spilled now");
  });

  test("kill -9 of the driver while it spills leaves nothing behind", async () => {
    const program = sandbox.start(
      `${SPILLING} for (;;) { refs.push(put(new Uint8Array(${MEGABYTE}))); await 0; if (refs.length > 200) refs.shift(); }`,
    );
    await program.printed(/(spilled) now/);
    program.kill("SIGKILL");
    await program.ended;
  });
});

test("no daemon of these sessions is left", async () => {
  await until(() => shoalProcesses().length === 0, "all processes to be gone");
});
