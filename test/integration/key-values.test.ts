/** Small values by name: from every process, in namespaces, in a cluster, and what is refused. */
import { getActor, getRuntimeContext, init, kvDelete, kvExists, kvGet, kvList, kvPut, ready, remote, shutdown, terminate } from "shoal";
import { TestCluster } from "shoal/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { useSession } from "./session.ts";

class Keeper {
  async put(key: string, value: number): Promise<boolean> {
    return await kvPut(key, value);
  }
}

/** Runs a program that names no namespace and puts a key. @returns its namespace */
async function programWithKey(cluster: TestCluster, { leavesActor }: { leavesActor: boolean }): Promise<string> {
  await init({ address: cluster.address });
  await kvPut("mine", 1);
  if (leavesActor) await ready(remote(Keeper, { name: "keeper", lifetime: "detached" }).remote());
  const { namespace } = getRuntimeContext();
  await shutdown();
  return namespace;
}

function behaves(): void {
  test("bytes come back as bytes, and all else as JSON reads it", async () => {
    const values = [null, 0, "", "text", [1, { a: [true] }], { at: 5 }];
    for (const value of values) {
      expect(await kvPut("value", value)).toBe(true);
      expect(await kvGet("value")).toEqual(value);
    }
    const bytes = new Uint8Array(1024 * 1024).fill(7);
    const putting = kvPut("bytes", bytes);
    // A put keeps the value from the moment of the put.
    bytes.fill(8);
    expect(await putting).toBe(true);
    const read = await kvGet<Uint8Array>("bytes");
    expect(read?.constructor).toBe(Uint8Array);
    expect([read?.length, read?.every((byte) => byte === 7)]).toEqual([1024 * 1024, true]);
    expect([await kvDelete("bytes"), await kvDelete("bytes"), await kvGet("bytes")]).toEqual([true, false, undefined]);
  });

  test("tasks and actors find what the driver has put, and the other way round", async () => {
    await kvPut("shared", { from: "the driver" });
    expect(await remote(async () => await kvGet("shared")).remote()).toEqual({ from: "the driver" });
    using keeper = remote(Keeper).remote();
    expect(await keeper.put.remote("from/actor", 7)).toBe(true);
    expect([await kvGet("from/actor"), await kvExists("from/actor"), await kvExists("from/nobody")]).toEqual([7, true, false]);
  });

  test("of many that put where there is nothing, one does", async () => {
    const one = remote(async (value: number) => await kvPut("once", value, { overwrite: false }));
    const wins = await Promise.all([1, 2, 3, 4, 5].map((value) => one.remote(value)));
    expect(wins.filter(Boolean)).toHaveLength(1);
    expect(await kvGet("once")).toBe(wins.indexOf(true) + 1);
    expect(await kvPut("once", 9)).toBe(true);
    expect(await kvGet("once")).toBe(9);
  });

  test("namespaces are apart, and keys are listed by prefix", async () => {
    const at = { namespace: "kv of the test" };
    for (const key of ["b.2", "b.1", "ü/x"]) await kvPut(key, 1, at);
    expect([await kvList("b.", at), await kvList("", at)]).toEqual([
      ["b.1", "b.2"],
      ["b.1", "b.2", "ü/x"],
    ]);
    expect(await kvGet("b.1")).toBeUndefined();
    expect(await kvList("b.")).toEqual([]);
  });
}

describe("on one machine", () => {
  useSession({ numCpus: 2 });
  behaves();

  test("what can be no value, no key or no option is refused", async () => {
    await expect(kvPut("k", undefined as never)).rejects.toThrow('Cannot put "k": a Uint8Array or what JSON can write is needed');
    await expect(kvPut("k", 1n as never)).rejects.toThrow(TypeError);
    await expect(kvPut("k", "x".repeat(1024 * 1024))).rejects.toThrow("a value may take 1048576 bytes: received 1048578");
    await expect(kvPut("", 1)).rejects.toThrow(RangeError);
    await expect(kvGet("ü".repeat(400))).rejects.toThrow("a key has from 1 to some 800 characters");
    await expect(kvGet(5 as never)).rejects.toThrow("its key is text: received 5");
    await expect(kvList(5 as never)).rejects.toThrow("a prefix is text");
    await expect(kvPut("k", 1, { namespace: 5 as never })).rejects.toThrow("Cannot set namespace of kvPut");
    await expect(kvPut("k", 1, { namespace: "shoal:http-tokens" })).rejects.toThrow('those that begin with "shoal:" are Shoal\'s own');
    await expect(kvList("", { namespace: "shoal:http-tokens" })).rejects.toThrow('those that begin with "shoal:" are Shoal\'s own');
    await expect(kvGet("k", { overwrite: true } as object)).rejects.toThrow("it is an option of kvPut");
  });
});

describe("in one process", () => {
  beforeAll(async () => {
    await init({ mode: "inProcess", numCpus: 2, logToDriver: false });
  });
  afterAll(shutdown);
  behaves();
});

describe("in a cluster", () => {
  let cluster: TestCluster;
  beforeAll(async () => {
    cluster = await TestCluster.start({ head: { numCpus: 1 } });
    await cluster.addNode({ numCpus: 1, resources: { second: 1 } });
    await init({ address: cluster.address });
  });
  afterAll(async () => {
    await shutdown();
    await cluster.shutdown();
  });
  behaves();

  test("values of a program that names no namespace end with it, but for those that its detached actor uses", async () => {
    await shutdown();
    const plain = await programWithKey(cluster, { leavesActor: false });
    const kept = await programWithKey(cluster, { leavesActor: true });
    await init({ address: cluster.address, namespace: "watcher" });
    const keys = async (namespace: string): Promise<string[]> => await kvList("", { namespace });
    await expect.poll(async () => await keys(plain)).toEqual([]);
    expect(await keys(kept)).toEqual(["mine"]);
    const keeper = await getActor<Keeper>("keeper", { namespace: kept });
    expect(await keeper.put.remote("later", 2)).toBe(true);
    expect(await keys(kept)).toEqual(["later", "mine"]);
    await terminate(keeper);
    await expect.poll(async () => await keys(kept)).toEqual([]);
  });

  test("another node has the same, and so has the next program, in the same namespace", async () => {
    const at = { namespace: "for all" };
    const there = remote(async (value: string) => await kvPut("from the other node", value, at), { resources: { second: 1 } });
    expect(await there.remote("hello")).toBe(true);
    await shutdown();
    await init({ address: cluster.address });
    expect(await kvGet("from the other node", at)).toBe("hello");
  });
});
