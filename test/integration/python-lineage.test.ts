/** Objects whose bytes are lost, read by Python code and made by it: they are made again, or fail with the reason. */
import { appendFileSync, readdirSync, truncateSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { type ObjectRef, python, remote, wait } from "shoal";
import { describe, expect, test } from "vitest";
import { unless, WITHOUT_PYTHON } from "./python-places.ts";
import { driverRuntime, failureOf, Log, useFolder, useSession } from "./session.ts";

const folder = useFolder();
const SUBMITS = new URL("python/submits.py", import.meta.url);
const SIZE = 300_000;

/** Empties and deletes the files of the store, as an accident would. */
function loseStore(): void {
  const { memoryDirectory, spillDirectory } = driverRuntime().options;
  for (const directory of [memoryDirectory, spillDirectory]) {
    for (const name of readdirSync(directory)) {
      if (!/^[0-9a-f]{28}-\d+$/.test(name)) continue;
      truncateSync(join(directory, name));
      unlinkSync(join(directory, name));
    }
  }
}

interface Keeper {
  make(file: string, size: number): void;
  make_by(made: object, file: string): void;
  put(size: number): void;
  read(): number;
  pass_on(): number[];
  give(): [ObjectRef<Uint8Array>];
  take(refs: [ObjectRef<Uint8Array>]): number;
  drop(): void;
}

const make = remote((log: string) => {
  appendFileSync(log, "run\n");
  return new Uint8Array(SIZE);
});

describe.skipIf(WITHOUT_PYTHON !== undefined)(`lost objects and Python${unless(WITHOUT_PYTHON)}`, () => {
  useSession({ numCpus: 2 });
  const Keeper = python.actor<Keeper, []>(SUBMITS, "Keeper", { numCpus: 0 });

  test("an argument is made again, also inside a box", async () => {
    const log = new Log(folder);
    const ref = make.remote(log.file);
    await wait([ref]);
    loseStore();
    expect(await python.task<(data: Uint8Array) => number>(SUBMITS, "length").remote(ref)).toBe(SIZE);
    expect(log.lines).toHaveLength(2);
    loseStore();
    expect(await python.task<(box: [ObjectRef<Uint8Array>]) => number>(SUBMITS, "length_in").remote([ref])).toBe(SIZE);
    expect(log.lines).toHaveLength(3);
  });

  test("what a task of Python made for the driver is made again", async () => {
    const log = new Log(folder);
    const ref = python.task<(file: string, size: number) => Uint8Array>(SUBMITS, "logged").remote(log.file, SIZE);
    await wait([ref]);
    loseStore();
    expect((await ref).length).toBe(SIZE);
    expect(log.lines).toHaveLength(2);
  });

  test("what Python submitted is made again for itself, for its tasks and for others", async () => {
    const log = new Log(folder);
    using keeper = Keeper.remote();
    await keeper.make.remote(log.file, SIZE);
    loseStore();
    expect(await keeper.read.remote()).toBe(SIZE);
    expect(log.lines).toHaveLength(2);
    loseStore();
    expect(await keeper.pass_on.remote()).toEqual([SIZE]);
    expect(log.lines).toHaveLength(3);
    const [ref] = await keeper.give.remote();
    loseStore();
    expect((await ref).length).toBe(SIZE);
    expect(log.lines).toHaveLength(4);
    // Python finds the loss of an object that it has given away: its daemon asks it, as it would ask for others.
    const second = new Log(folder);
    await keeper.make.remote(second.file, SIZE);
    const [given] = await keeper.give.remote();
    loseStore();
    expect(await keeper.read.remote()).toBe(SIZE);
    expect((await given).length).toBe(SIZE);
    expect(second.lines).toHaveLength(2);
  });

  test("what a function of TypeScript made for Python is made again", async () => {
    const log = new Log(folder);
    using keeper = Keeper.remote();
    await keeper.make_by.remote(make, log.file);
    loseStore();
    expect(await keeper.read.remote()).toBe(SIZE);
    expect(log.lines).toHaveLength(2);
  });

  test("what Python has put, or keeps no more, fails with the reason", async () => {
    const log = new Log(folder);
    using keeper = Keeper.remote();
    await keeper.put.remote(SIZE);
    const [stored] = await keeper.give.remote();
    loseStore();
    expect(await failureOf(stored)).toMatchObject({ code: "OWNER_DIED" });
    expect(await failureOf(keeper.read.remote())).toMatchObject({ code: "OBJECT_LOST" });
    await keeper.make.remote(log.file, SIZE);
    const [made] = await keeper.give.remote();
    await keeper.drop.remote();
    loseStore();
    expect(await failureOf(made)).toMatchObject({ code: "OWNER_DIED" });
    // By a ref that has come back it knows no more.
    await keeper.make.remote(log.file, SIZE);
    const [back] = await keeper.give.remote();
    await keeper.drop.remote();
    loseStore();
    expect(await failureOf(keeper.take.remote([back]))).toMatchObject({ code: "OBJECT_LOST" });
    expect(await failureOf(back)).toMatchObject({ code: "OWNER_DIED" });
  });
});
