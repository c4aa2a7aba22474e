/**
 * Objects of a program on several nodes: values, arguments, definitions and items of streams that are stored on one node and read on another.
 *
 * The nodes are real daemons with separate stores; the tests ask the stores for their objects.
 */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ActorHandle, get, init, ObjectLostError, type ObjectRef, put, remote, shutdown, wait } from "shoal";
import { TestCluster, type TestNode } from "shoal/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { collectGarbage, driverRuntime, failureOf, until } from "./session.ts";

const MEGABYTE = 1_048_576;
const LINES: string[] = [];

let cluster: TestCluster;
let program: string;
let second: TestNode;
let third: TestNode;

const at = (node: TestNode): { schedulingStrategy: { nodeId: string; soft: boolean } } => ({
  schedulingStrategy: { nodeId: node.nodeId, soft: false },
});

class Keeper {
  #kept: ObjectRef<Uint8Array>[] = [];
  make(bytes: number, fill: number): { ref: ObjectRef<Uint8Array> } {
    const ref = put(new Uint8Array(bytes).fill(fill));
    this.#kept.push(ref);
    return { ref };
  }
  forget(): void {
    this.#kept = [];
  }
  async read(box: { ref: ObjectRef<Uint8Array> }): Promise<[number, number]> {
    const value = await box.ref;
    return [value.length, value[value.length - 1] as number];
  }
  take(value: Uint8Array): [number, number] {
    return [value.length, value[value.length - 1] as number];
  }
  value(bytes: number, fill: number): Uint8Array {
    return new Uint8Array(bytes).fill(fill);
  }
  *values(bytes: number, count: number): Generator<Uint8Array> {
    for (let index = 0; index < count; index += 1) yield new Uint8Array(bytes).fill(index);
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    // The session of somebody else, which has just ended.
    return [];
  }
}

function keeperAt(node: TestNode): ActorHandle<Keeper> {
  return remote(Keeper).options(at(node)).remote();
}

beforeAll(async () => {
  program = mkdtempSync(join(tmpdir(), "shoal-program-"));
  cluster = await TestCluster.start({ head: { numCpus: 1 }, onLine: (line) => void LINES.push(line) });
  second = await cluster.addNode({ numCpus: 2 });
  third = await cluster.addNode({ numCpus: 2 });
});
afterAll(async () => {
  await cluster.shutdown();
  rmSync(program, { recursive: true });
  if (LINES.length > 0) throw new Error(`the processes of the cluster printed:\n${LINES.join("\n")}`);
});
beforeEach(async () => {
  // A separate folder: the repository would be packed for the other nodes.
  await init({ address: cluster.address, runtimeEnv: { workingDir: program } });
});
afterEach(shutdown);

describe("an object of another node", () => {
  test.each([100_000, 3 * MEGABYTE, 70 * MEGABYTE])("a result of %d bytes is read by the driver", async (bytes) => {
    const value = await keeperAt(second).value.remote(bytes, 7);
    expect(value).toHaveLength(bytes);
    expect([value[0], value[bytes - 1]]).toEqual([7, 7]);
  });

  test("is the argument of an actor's methods, itself and inside others", async () => {
    const mine = put(new Uint8Array(5 * MEGABYTE).fill(3));
    const theirs = keeperAt(second).value.remote(2 * MEGABYTE, 2);
    const keeper = keeperAt(third);
    expect(await keeper.read.remote({ ref: mine })).toEqual([5 * MEGABYTE, 3]);
    expect(await keeper.take.remote(mine)).toEqual([5 * MEGABYTE, 3]);
    expect(await keeper.take.remote(theirs)).toEqual([2 * MEGABYTE, 2]);
    expect(await keeper.take.remote(new Uint8Array(2 * MEGABYTE).fill(9))).toEqual([2 * MEGABYTE, 9]);
  });

  test("that an actor put there is read by others, as often as they like", async () => {
    const keeper = keeperAt(second);
    const { ref } = await keeper.make.remote(3 * MEGABYTE, 5);
    const [first, again] = await get([ref, ref]);
    expect([first?.length, again?.[0]]).toEqual([3 * MEGABYTE, 5]);
    const reader = keeperAt(third);
    expect(await reader.read.remote({ ref })).toEqual([3 * MEGABYTE, 5]);
  });

  test("many at once come from both nodes", async () => {
    const keepers = [keeperAt(second), keeperAt(third)];
    const refs = Array.from({ length: 12 }, (_, index) => (keepers[index % 2] as (typeof keepers)[0]).value.remote(MEGABYTE, index));
    const values = await get(refs);
    expect(values.map((value) => value[MEGABYTE - 1])).toEqual(refs.map((_, index) => index));
  });

  test("is ready for wait when it is here, and at once where that is not asked for", async () => {
    const ref = keeperAt(second).value.remote(20 * MEGABYTE, 1);
    const [settled] = await wait([ref], { fetchLocal: false });
    expect(settled).toEqual([ref]);
    expect(driverRuntime().store.copies.size).toBe(0);
    const [ready] = await wait([ref]);
    expect(ready).toEqual([ref]);
    expect(driverRuntime().store.copies.size).toBe(1);
  });

  test("captured by a class is read where the class is used", async () => {
    const table = new Uint8Array(4 * MEGABYTE).fill(6);
    class Table {
      at(index: number): number | undefined {
        return table[index];
      }
    }
    expect(
      await remote(Table)
        .options(at(second))
        .remote()
        .at.remote(4 * MEGABYTE - 1),
    ).toBe(6);
  });

  test("of more text than the head keeps in a record is captured by a function that runs there", async () => {
    const text = "x".repeat(9 * MEGABYTE);
    const lengthOf = remote(() => text.length);
    expect(await lengthOf.options(at(second)).remote()).toBe(9 * MEGABYTE);
    expect(await lengthOf.options(at(third)).remote()).toBe(9 * MEGABYTE);
  });

  test("is an item of a stream", async () => {
    const seen: (number | undefined)[] = [];
    for await (const item of keeperAt(third).values.remote(MEGABYTE, 4)) seen.push(item[5]);
    expect(seen).toEqual([0, 1, 2, 3]);
  });

  test("is let go of when nobody needs it", async () => {
    const keeper = keeperAt(second);
    await (async () => {
      using ref = keeper.value.remote(8 * MEGABYTE, 1);
      expect((await ref).length).toBe(8 * MEGABYTE);
    })();
    await collectGarbage();
    await until(async () => {
      await collectGarbage();
      return driverRuntime().store.copies.size === 0;
    }, "the driver lets its copy go");
  });
});

describe("when its node dies", () => {
  test("what was put there is lost, and a copy that somebody has is read on", async () => {
    const victim = await cluster.addNode({ numCpus: 1 });
    const keeper = keeperAt(victim);
    const { ref } = await keeper.make.remote(2 * MEGABYTE, 5);
    const { ref: read } = await keeper.make.remote(2 * MEGABYTE, 6);
    const value = await read;
    await victim.kill();
    expect(value[0]).toBe(6);
    expect(await failureOf(ref)).toBeInstanceOf(ObjectLostError);
  });
});

test("no files are left in the stores of ended nodes", async () => {
  const extra = await cluster.addNode({ numCpus: 1 });
  expect((await keeperAt(extra).value.remote(MEGABYTE, 1)).length).toBe(MEGABYTE);
  await extra.kill();
  const own = readdirSync("/dev/shm").flatMap((name) => (name.startsWith("shoal") ? namesIn(`/dev/shm/${name}`) : []));
  expect(own.filter((name) => name.startsWith(extra.nodeId.slice(0, 16)))).toEqual([]);
});
