/**
 * `getObjectLocations`: where values are, on one machine, in one process, and among nodes of which one dies.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  getObjectLocations,
  init,
  nodes,
  type ObjectLocations,
  type ObjectRef,
  objectStoreStatistics,
  put,
  remote,
  shutdown,
  wait,
} from "shoal";
import { TestCluster, type TestNode } from "shoal/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { failureOf, until, useSession } from "./session.ts";

const MEGABYTE = 1_000_000;
const UNKNOWN: ObjectLocations = { nodeIds: [], sizeBytes: undefined, didSpill: false };

async function locationsOf(ref: ObjectRef<unknown>): Promise<ObjectLocations> {
  const found = await getObjectLocations([ref]);
  expect(Array.from(found.keys())).toEqual([ref]);
  return found.get(ref) as ObjectLocations;
}

async function ownNodeId(): Promise<string> {
  return (await nodes())[0]?.nodeId as string;
}

async function expectSmallAndPending(): Promise<void> {
  const here = [await ownNodeId()];
  const small = await locationsOf(put({ a: 1 }));
  expect(small).toMatchObject({ nodeIds: here, didSpill: false });
  expect(small.sizeBytes).toBeGreaterThan(0);
  expect(small.sizeBytes).toBeLessThan(100);
  const never = remote(() => new Promise(() => {})).remote();
  expect(await locationsOf(never)).toEqual(UNKNOWN);
  const failed = remote(() => Promise.reject(new Error("no"))).remote();
  await failureOf(failed);
  expect(await locationsOf(failed)).toEqual(UNKNOWN);
  const many = [put(1), put("b"), put(1)];
  const found = await getObjectLocations([...many, many[0] as ObjectRef<number>]);
  expect(Array.from(found.keys())).toEqual(many);
  expect(await getObjectLocations([])).toEqual(new Map());
}

describe("on one machine", () => {
  useSession({ numCpus: 2, objectStoreMemoryBytes: 16 * MEGABYTE });

  test("the node, the size, and whether it is on disk", async () => {
    await expectSmallAndPending();
    const here = [await ownNodeId()];
    const ref = put(new Uint8Array(MEGABYTE));
    const { sizeBytes, ...rest } = await locationsOf(ref);
    expect(rest).toEqual({ nodeIds: here, didSpill: false });
    expect(sizeBytes).toBeGreaterThan(MEGABYTE);
    expect(sizeBytes).toBeLessThan(1.01 * MEGABYTE);
    const made = remote(() => new Uint8Array(MEGABYTE)).remote();
    await wait([made]);
    expect(await locationsOf(made)).toMatchObject({ nodeIds: here, didSpill: false });
    const others = Array.from({ length: 30 }, () => put(new Uint8Array(MEGABYTE)));
    await until(async () => (await objectStoreStatistics()).spilledObjects > 0, "objects are spilled");
    await until(async () => (await locationsOf(ref)).didSpill, "the oldest of them lies on disk");
    expect((await getObjectLocations(others)).size).toBe(30);
  });

  test("of a ref that came from elsewhere its owner is asked, and only for a while where it is still being made", async () => {
    class Asker {
      async ask(box: { refs: ObjectRef<unknown>[] }, timeoutMs?: number): Promise<ObjectLocations[]> {
        return Array.from((await getObjectLocations(box.refs, timeoutMs === undefined ? {} : { timeoutMs })).values());
      }
    }
    const asker = remote(Asker).remote();
    const refs = [put(new Uint8Array(MEGABYTE)), put("small")];
    const here = [await ownNodeId()];
    const [large, small] = await asker.ask.remote({ refs }, Number.POSITIVE_INFINITY);
    expect(large).toMatchObject({ nodeIds: here, didSpill: false });
    expect(small?.nodeIds).toEqual(here);
    const never = remote(() => new Promise(() => {})).remote();
    expect(await asker.ask.remote({ refs: [never] }, 1)).toEqual([UNKNOWN]);
  });

  test("bad input is refused before anything is asked", async () => {
    const ref = put(1);
    await expect(getObjectLocations(ref as never)).rejects.toThrow(/^Cannot tell locations: an array of ObjectRefs is needed: received/);
    await expect(getObjectLocations([ref, 5 as never])).rejects.toThrow("Cannot tell locations: element 1 is not an ObjectRef: received 5");
    await expect(getObjectLocations([ref], { timeoutMs: -1 })).rejects.toThrow(RangeError);
    await expect(getObjectLocations([ref], { timeout: 5 } as never)).rejects.toThrow("timeoutMs");
  });
});

describe("in one process", () => {
  beforeAll(() => init({ mode: "inProcess", numCpus: 2 }));
  afterAll(shutdown);

  test("everything is at the one node", async () => {
    await expectSmallAndPending();
    const ref = put(new Uint8Array(MEGABYTE));
    const { nodeIds, sizeBytes, didSpill } = await locationsOf(ref);
    expect([nodeIds, didSpill]).toEqual([[await ownNodeId()], false]);
    expect(sizeBytes).toBeGreaterThan(MEGABYTE);
  });
});

describe("in a cluster", () => {
  let cluster: TestCluster;
  let program: string;
  let second: TestNode;
  let third: TestNode;

  beforeAll(async () => {
    program = mkdtempSync(join(tmpdir(), "shoal-program-"));
    cluster = await TestCluster.start({ head: { numCpus: 1 } });
    second = await cluster.addNode({ numCpus: 1 });
    third = await cluster.addNode({ numCpus: 1 });
  });
  afterAll(async () => {
    await cluster.shutdown();
    rmSync(program, { recursive: true });
  });
  beforeEach(async () => {
    await init({ address: cluster.address, runtimeEnv: { workingDir: program } });
  });
  afterEach(shutdown);

  test("the node that made it, those that have read it, and those that are left when the first has died", async () => {
    const at = (node: TestNode): object => ({ schedulingStrategy: { nodeId: node.nodeId, soft: true } });
    const ref = remote(() => new Uint8Array(MEGABYTE))
      .options(at(second))
      .remote();
    await wait([ref], { fetchLocal: false });
    expect(await locationsOf(ref)).toMatchObject({ nodeIds: [second.nodeId], didSpill: false });
    const length = remote((value: Uint8Array) => value.length).options(at(third));
    expect(await length.remote(ref)).toBe(MEGABYTE);
    await until(async () => (await locationsOf(ref)).nodeIds.length === 2, "the copy is known");
    expect((await locationsOf(ref)).nodeIds).toEqual([second.nodeId, third.nodeId]);
    await second.kill();
    await until(async () => (await locationsOf(ref)).nodeIds.join() === third.nodeId, "the dead node is not named");
    expect(await locationsOf(put(1))).toMatchObject({ didSpill: false, nodeIds: [expect.any(String)] });
  });
});
