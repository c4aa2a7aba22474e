/**
 * Lost objects are made again although those that need them and those that make them want the same scarce resource.
 *
 * The nodes are real daemons; one is killed with everything that it holds, and one like it joins. A lost result can be made again only if
 * no task that waits for the result holds the resource meanwhile.
 */
import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ActorHandle, get, init, type ObjectRef, placementGroup, python, remote, shutdown, wait } from "shoal";
import { type NodeOptions, TestCluster, type TestNode } from "shoal/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { unless, WITHOUT_PYTHON } from "./python-places.ts";
import { Log, until, useFolder } from "./session.ts";

const LENGTH = 20_000;
const MEGABYTE = 1_048_576;
const RECOVERS = new URL("python/recovers.py", import.meta.url);
const SUBMITS = new URL("python/submits.py", import.meta.url);

const folder = useFolder();
let cluster: TestCluster;
let program: string;
let node: TestNode;

const make = remote((fill: number) => new Float64Array(LENGTH).fill(fill));
const plus = remote((array: Float64Array, more: number) => array.map((value) => value + more));
const sum = remote((...arrays: Float64Array[]) => arrays.map((array) => array[0] as number).reduce((one, other) => one + other));

class Keeper {
  readonly #first: number;
  constructor(array?: Float64Array) {
    this.#first = array?.[0] ?? 0;
  }
  first(): number {
    return this.#first;
  }
  make(fill: number): Float64Array {
    return new Float64Array(LENGTH).fill(fill);
  }
  plus(array: Float64Array, more: number): Float64Array {
    return array.map((value) => value + more);
  }
}

/** The node dies with all that is on it, and another one like it joins. */
async function replaceNode(options: NodeOptions): Promise<void> {
  await node.kill();
  node = await cluster.addNode(options);
}

async function settled(...refs: ObjectRef<unknown>[]): Promise<void> {
  await wait(refs, { numReturns: refs.length, fetchLocal: false });
}

beforeAll(async () => {
  program = mkdtempSync(join(tmpdir(), "shoal-program-"));
  // The scarce resource is missing here.
  cluster = await TestCluster.start({ head: { numCpus: 1, resources: { memory: MEGABYTE } }, onLine: () => {} });
});
afterAll(async () => {
  await cluster.shutdown();
  rmSync(program, { recursive: true });
});
beforeEach(async () => {
  await init({ address: cluster.address, runtimeEnv: { workingDir: program } });
});
afterEach(async () => {
  await shutdown();
  await cluster.removeNode(node);
});

describe.each([
  { what: "a GPU", offer: { numCpus: 2, numGpus: 1 }, needs: { numGpus: 1 }, length: 3 },
  { what: "half a GPU", offer: { numCpus: 2, numGpus: 1 }, needs: { numGpus: 0.5 }, length: 5 },
  { what: "a custom resource", offer: { numCpus: 2, resources: { slot: 1 } }, needs: { resources: { slot: 0.1 } }, length: 20 },
  { what: "memory", offer: { numCpus: 2, resources: { memory: 64 * MEGABYTE } }, needs: { memoryBytes: 40 * MEGABYTE }, length: 3 },
])("tasks that need $what", ({ offer, needs, length }) => {
  test("are made again, one after the other", async () => {
    node = await cluster.addNode(offer);
    let ref = make.options(needs).remote(1);
    for (let index = 1; index < length; index += 1) ref = plus.options(needs).remote(ref, 1);
    await settled(ref);
    await replaceNode(offer);
    expect(await sum.options(needs).remote(ref)).toBe(length);
  });
});

const GPU = { numCpus: 3, numGpus: 1 };

test("tasks in a bundle of a placement group are made again", async () => {
  node = await cluster.addNode(GPU);
  const group = placementGroup([{ CPU: 1, GPU: 1 }]);
  await group.ready();
  const inGroup = { numGpus: 1, schedulingStrategy: { placementGroup: group, bundleIndex: 0 } };
  const made = plus.options(inGroup).remote(make.options(inGroup).remote(1), 1);
  await settled(made);
  await replaceNode(GPU);
  expect(await sum.options(inGroup).remote(made)).toBe(2);
});

test("an argument that a task needs beside others that are lost, too, is made again with them", async () => {
  node = await cluster.addNode(GPU);
  const made = Array.from({ length: 6 }, (_, index) => make.options({ numGpus: 0.5 }).remote(index));
  await settled(...made);
  await replaceNode(GPU);
  expect(await sum.options({ numGpus: 1 }).remote(...made)).toBe(15);
});

test("an actor's constructor waits for a lost argument without the GPU that its maker needs", async () => {
  node = await cluster.addNode(GPU);
  const made = make.options({ numGpus: 1 }).remote(7);
  const keeper = remote(Keeper).options({ numGpus: 1, maxRestarts: -1, maxTaskRetries: -1 }).remote(made);
  expect(await keeper.first.remote()).toBe(7);
  await replaceNode(GPU);
  expect(await keeper.first.remote()).toBe(7);
});

describe.each([1, 2])("an actor with maxConcurrency %d", (maxConcurrency) => {
  test("makes again what its own methods need", async () => {
    node = await cluster.addNode(GPU);
    const keeper: ActorHandle<Keeper> = remote(Keeper)
      .options({ numGpus: 1, maxRestarts: -1, maxTaskRetries: -1, maxConcurrency })
      .remote();
    const made = keeper.plus.remote(keeper.plus.remote(keeper.make.remote(1), 1), 1);
    await settled(made);
    await replaceNode(GPU);
    const calls = [keeper.plus.remote(made, 1), keeper.first.remote(), sum.remote(made)] as const;
    const [array, first, total] = await get([...calls]);
    expect([array[0], first, total]).toEqual([4, 0, 3]);
  });
});

test("what waits for an actor's method waits behind no call that needs it", async () => {
  node = await cluster.addNode(GPU);
  const keeper = remote(Keeper).options({ numGpus: 1, maxRestarts: -1, maxTaskRetries: -1 }).remote();
  const made = keeper.make.remote(1);
  await settled(made);
  await replaceNode(GPU);
  const doubled = plus.remote(made, 1);
  const again = keeper.plus.remote(doubled, 1);
  expect((await again)[0]).toBe(3);
});

describe.skipIf(WITHOUT_PYTHON !== undefined)(`with Python${unless(WITHOUT_PYTHON)}`, () => {
  test("tasks that need a GPU are made again, one after the other", async () => {
    node = await cluster.addNode(GPU);
    const echo = python.task<(value: unknown) => unknown>(new URL("python/things.py", import.meta.url), "echo", { numGpus: 1 });
    const length = python.task<(data: Float64Array) => number>(SUBMITS, "length", { numGpus: 1 });
    const made = echo.remote(echo.remote(make.options({ numGpus: 1 }).remote(1)));
    await settled(made);
    await replaceNode(GPU);
    expect(await length.remote(made as ObjectRef<Float64Array>)).toBe(LENGTH);
  });

  test("an actor waits for arguments of its constructor and its methods, and makes again what they need", async () => {
    node = await cluster.addNode(GPU);
    const made = make.options({ numGpus: 1 }).remote(7);
    const Holder = python.actor<{ get(): Float64Array; pass_on(value: unknown): Float64Array }, [unknown]>(RECOVERS, "Holder", {
      numGpus: 1,
      maxRestarts: -1,
      maxTaskRetries: -1,
    });
    const holder = Holder.remote(made);
    const got = holder.pass_on.remote(holder.pass_on.remote(holder.get.remote()));
    await settled(got);
    await replaceNode(GPU);
    expect((await sum.remote(got)) + (await sum.remote(holder.pass_on.remote(got)))).toBe(14);
  });

  test("a task that submits others sends those again whose arguments were lost", async () => {
    node = await cluster.addNode({ ...GPU, resources: { slot: 1 } });
    const chain = python.task<(log: string, size: number) => number>(RECOVERS, "chain", { numCpus: 1, resources: { here: 1 } });
    const other = await cluster.addNode({ numCpus: 1, resources: { here: 1 } });
    const log = new Log(folder);
    const total = chain.remote(log.file, 200_000);
    await until(() => log.lines.length > 0, "the chain was made");
    await replaceNode({ ...GPU, resources: { slot: 1 } });
    appendFileSync(log.file, "replaced\n");
    expect(await total).toBe(200_002);
    await cluster.removeNode(other);
  });
});
