/**
 * Objects made on a dead node are taken from the copies on other nodes, without being made again; an object without a copy is made again,
 * or lost.
 *
 * The nodes are real daemons that are killed; runs are counted in a file, which is one for all nodes of this machine.
 */
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ActorHandle, get, init, ObjectReconstructionFailedError, type ObjectRef, put, remote, shutdown, wait } from "shoal";
import { TestCluster, type TestNode } from "shoal/testing";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { failureOf } from "./session.ts";

const MEGABYTE = 1_048_576;
const LINES: string[] = [];

let cluster: TestCluster;
let program: string;
let runs: string;
let other: TestNode;
let victim: TestNode;

const at = (node: TestNode, soft = false): { schedulingStrategy: { nodeId: string; soft: boolean } } => ({
  schedulingStrategy: { nodeId: node.nodeId, soft },
});

class Reader {
  async read(box: { ref: ObjectRef<Uint8Array> }): Promise<[number, number]> {
    const value = await box.ref;
    return [value.length, value[value.length - 1] as number];
  }
  /** The worker owns the task's result, and so does its node's daemon once the ref has gone to another process. */
  call(nodeId: string, file: string): { ref: ObjectRef<Uint8Array> } {
    const made = remote(make).options({ schedulingStrategy: { nodeId, soft: true } });
    return { ref: made.remote(file, 4) };
  }
}

/** Owns its puts and its calls' results until it has given them away. */
class Giver {
  several(nodeId: string, file: string): ObjectRef<Uint8Array>[] {
    const several = remote(makeThree).options({ numReturns: 3, maxRetries: 1, schedulingStrategy: { nodeId, soft: true } });
    return several.remote(file);
  }
  put(): ObjectRef<Uint8Array>[] {
    return [put(new Uint8Array(MEGABYTE))];
  }
  async forget(): Promise<void> {
    process.getBuiltinModule("node:v8").setFlagsFromString("--expose-gc");
    (process.getBuiltinModule("node:vm").runInNewContext("gc") as () => void)();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  async read(given: ObjectRef<Uint8Array>[]): Promise<(number | undefined)[]> {
    return (await get(given)).map((value) => value[0]);
  }
}

function makeThree(file: string): Uint8Array[] {
  appendFileSync(file, "run\n");
  return [1, 2, 3].map((fill) => new Uint8Array(MEGABYTE).fill(fill));
}

function make(file: string, fill: number): Uint8Array {
  appendFileSync(file, "run\n");
  return new Uint8Array(3 * MEGABYTE).fill(fill);
}

const readerAt = (node: TestNode): ActorHandle<Reader> => remote(Reader).options(at(node)).remote();
const runCount = (): number => readFileSync(runs, "utf8").split("\n").length - 1;

beforeAll(async () => {
  program = mkdtempSync(join(tmpdir(), "shoal-program-"));
  cluster = await TestCluster.start({ head: { numCpus: 1 }, onLine: (line) => void LINES.push(line) });
  other = await cluster.addNode({ numCpus: 2 });
});
afterAll(async () => {
  await cluster.shutdown();
  rmSync(program, { recursive: true });
  if (LINES.length > 0) throw new Error(`the processes of the cluster printed:\n${LINES.join("\n")}`);
});
beforeEach(async () => {
  runs = join(mkdtempSync(join(program, "runs-")), "runs");
  writeFileSync(runs, "");
  victim = await cluster.addNode({ numCpus: 2 });
  await init({ address: cluster.address, runtimeEnv: { workingDir: program } });
});
afterEach(shutdown);

test("a result that another node has read is there after its node's death, and is not made again", async () => {
  const ref = remote(make).options(at(victim, true)).remote(runs, 7);
  const reader = readerAt(other);
  expect(await reader.read.remote({ ref })).toEqual([3 * MEGABYTE, 7]);
  await victim.kill();
  const value = await ref;
  expect([value.length, value[0], runCount()]).toEqual([3 * MEGABYTE, 7, 1]);
  // A worker of the same node that has not read it, an argument at top level, and one that comes later.
  expect(await readerAt(other).read.remote({ ref })).toEqual([3 * MEGABYTE, 7]);
  const later = await cluster.addNode({ numCpus: 1 });
  expect(await readerAt(later).read.remote({ ref })).toEqual([3 * MEGABYTE, 7]);
  expect(runCount()).toBe(1);
  // The driver's own copy and the later node's are left.
  await later.kill();
  expect((await get(ref))[5]).toBe(7);
  expect(runCount()).toBe(1);
});

test("also where it must not run again, and without a copy it is lost then, as the error says", async () => {
  const once = remote(make).options({ ...at(victim, true), maxRetries: 0 });
  const [copied, alone] = [once.remote(runs, 1), once.remote(runs, 2)];
  const reader = readerAt(other);
  expect(await reader.read.remote({ ref: copied })).toEqual([3 * MEGABYTE, 1]);
  await wait([alone], { fetchLocal: false });
  await victim.kill();
  expect((await copied)[0]).toBe(1);
  const failure = await failureOf(alone);
  expect(failure).toBeInstanceOf(ObjectReconstructionFailedError);
  expect((failure as Error).message).toContain("maxRetries is 0");
  expect(runCount()).toBe(2);
});

test("a result without a copy is made again", async () => {
  const ref = remote(make).options(at(victim, true)).remote(runs, 7);
  await wait([ref], { fetchLocal: false });
  await victim.kill();
  expect((await ref)[0]).toBe(7);
  expect(runCount()).toBe(2);
});

test("what a worker owns is had from the copy of the driver's node", async () => {
  const caller = readerAt(other);
  const { ref } = await caller.call.remote(victim.nodeId, runs);
  expect((await ref)[0]).toBe(4);
  await victim.kill();
  expect(await caller.read.remote({ ref })).toEqual([3 * MEGABYTE, 4]);
  expect(await readerAt(other).read.remote({ ref })).toEqual([3 * MEGABYTE, 4]);
  expect(runCount()).toBe(1);
});

test("what a worker called for, handed on and got back is made again by one run, also for itself", async () => {
  const giver = remote(Giver).options(at(other)).remote();
  const refs = await giver.several.remote(victim.nodeId, runs);
  await wait(refs, { numReturns: 3, fetchLocal: false });
  await giver.forget.remote();
  await victim.kill();
  expect(await giver.read.remote(refs)).toEqual([1, 2, 3]);
  expect((await get(refs)).map((value) => value[0])).toEqual([1, 2, 3]);
  expect(runCount()).toBe(2);
});

test("of that which is lost the results that others have a copy of stay as they are, and are had again when the copy goes", async () => {
  const giver = remote(Giver).options(at(other)).remote();
  // No task finds room there.
  const later = await cluster.addNode({ numCpus: 0 });
  const refs = await giver.several.remote(victim.nodeId, runs);
  const [first, second, third] = refs as [ObjectRef<Uint8Array>, ObjectRef<Uint8Array>, ObjectRef<Uint8Array>];
  const reader = remote(Reader)
    .options({ ...at(later), numCpus: 0 })
    .remote();
  expect(await reader.read.remote({ ref: first })).toEqual([MEGABYTE, 1]);
  await wait([second, third], { numReturns: 2, fetchLocal: false });
  await giver.forget.remote();
  await victim.kill();
  expect(await giver.read.remote([second])).toEqual([2]);
  expect(runCount()).toBe(2);
  await later.kill();
  // The run that made the second again made the others, too: `maxRetries` allows no more.
  expect(await giver.read.remote(refs)).toEqual([1, 2, 3]);
  expect((await get(refs)).map((value) => value[0])).toEqual([1, 2, 3]);
  expect(runCount()).toBe(2);
});

test("what a worker of the dead node had put, or owned, fails with the cause for whoever reads it", async () => {
  const giver = remote(Giver).options(at(victim)).remote();
  const refs = [...(await giver.put.remote()), ...(await giver.several.remote(victim.nodeId, runs))];
  await wait(refs, { numReturns: refs.length, fetchLocal: false });
  const reader = remote(Giver).options(at(other)).remote();
  await victim.kill();
  for (const ref of refs) {
    const failures = [await failureOf(ref), await failureOf(reader.read.remote([ref]))];
    expect(failures).toMatchObject([{ code: "OWNER_DIED" }, { code: "OWNER_DIED" }]);
  }
});

test("what the driver put is at its own node, whoever of the others dies", async () => {
  const ref = put(new Uint8Array(2 * MEGABYTE).fill(9));
  expect(await readerAt(victim).read.remote({ ref })).toEqual([2 * MEGABYTE, 9]);
  await victim.kill();
  expect(await readerAt(other).read.remote({ ref })).toEqual([2 * MEGABYTE, 9]);
});
