/** Promises of a control store, on memory and on a real NATS server. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { ControlPlaneUnavailableError } from "../../src/runtime/control-plane/control-plane-errors.ts";
import type { ControlStore } from "../../src/runtime/control-plane/control-store.ts";
import { bytes, type Client, eachStorePlane, type Plane, text } from "./planes.ts";

eachStorePlane("a control store", (start) => {
  let plane: Plane;
  let one: Client;
  let other: Client;
  let store: ControlStore;
  /** Keys of one test have a common prefix. */
  let root: string;
  let count = 0;

  beforeAll(async () => {
    plane = await start();
    one = await plane.open();
    other = await plane.open();
    store = one.store;
  });
  afterAll(async () => {
    await one[Symbol.asyncDispose]();
    await other[Symbol.asyncDispose]();
    await plane[Symbol.asyncDispose]();
  });
  beforeEach(() => {
    count += 1;
    root = `t${count}`;
  });

  async function put(key: string, value: string): Promise<number> {
    const result = await store.transaction({ writes: [{ key: `${root}.${key}`, value: bytes(value) }] });
    if (!result.committed) throw new Error("a write without checks was refused");
    return result.revisions[0] as number;
  }

  async function read(key: string, from: ControlStore = other.store): Promise<string | undefined> {
    return text((await from.get(`${root}.${key}`))?.value);
  }

  test("what one client wrote, another reads, with the revision of the write", async () => {
    const revision = await put("a", "1");
    expect(await other.store.get(`${root}.a`)).toMatchObject({ key: `${root}.a`, revision });
    expect(await read("a")).toBe("1");
    expect(await read("b")).toBeUndefined();
    expect(await put("a", "2")).toBeGreaterThan(revision);
    expect(await read("a")).toBe("2");
  });

  test("the store has bytes of its own", async () => {
    const value = bytes("before");
    const done = store.transaction({ writes: [{ key: `${root}.a`, value }] });
    value.fill(0);
    await done;
    expect(await read("a")).toBe("before");
    (await store.get(`${root}.a`))?.value.fill(0);
    expect(await read("a")).toBe("before");
  });

  test("a check on the revision decides between two writers", async () => {
    const revision = await put("a", "0");
    const key = `${root}.a`;
    const attempts = await Promise.all(
      [store, other.store, store, other.store].map((from, index) =>
        from.transaction({ checks: [{ key, revision }], writes: [{ key, value: bytes(`by ${index}`) }] }),
      ),
    );
    expect(attempts.filter(({ committed }) => committed)).toHaveLength(1);
    expect(await read("a")).toBe(`by ${attempts.findIndex(({ committed }) => committed)}`);
  });

  test("a key is created once, and again after it was deleted", async () => {
    const key = `${root}.a`;
    const create = (value: string, from: ControlStore = store): Promise<{ committed: boolean }> =>
      from.transaction({ checks: [{ key, revision: 0 }], writes: [{ key, value: bytes(value) }] });
    expect(await create("first")).toMatchObject({ committed: true });
    expect(await create("second", other.store)).toEqual({ committed: false });
    await store.transaction({ writes: [{ key }] });
    expect(await read("a")).toBeUndefined();
    expect(await create("third", other.store)).toMatchObject({ committed: true });
    expect(await create("fourth")).toEqual({ committed: false });
    expect(await read("a")).toBe("third");
  });

  test("the revision of a deletion is one that can be checked", async () => {
    const key = `${root}.a`;
    await put("a", "1");
    const deleted = await store.transaction({ writes: [{ key }] });
    const revision = deleted.committed ? (deleted.revisions[0] as number) : 0;
    expect(await store.transaction({ checks: [{ key, revision: revision + 1 }], writes: [{ key, value: bytes("x") }] })).toEqual({
      committed: false,
    });
    expect(await store.transaction({ checks: [{ key, revision }], writes: [{ key, value: bytes("2") }] })).toMatchObject({
      committed: true,
    });
    expect(await store.transaction({ checks: [{ key, revision }], writes: [{ key, value: bytes("3") }] })).toEqual({ committed: false });
    expect(await read("a")).toBe("2");
  });

  test("a transaction on several keys is applied as a whole, with ascending revisions", async () => {
    const keys = ["a", "b", "c", "d"].map((word) => `${root}.${word}`);
    const result = await store.transaction({ writes: keys.map((key, index) => ({ key, value: bytes(String(index)) })) });
    if (!result.committed) throw new Error("refused");
    expect(result.revisions).toEqual([...result.revisions].sort((left, right) => left - right));
    for (const [index, key] of keys.entries()) expect(await other.store.get(key)).toMatchObject({ revision: result.revisions[index] });
  });

  test("one failing check among several refuses all writes", async () => {
    const a = await put("a", "1");
    await put("b", "1");
    const result = await store.transaction({
      checks: [
        { key: `${root}.a`, revision: a },
        { key: `${root}.b`, revision: a },
      ],
      writes: [
        { key: `${root}.a`, value: bytes("2") },
        { key: `${root}.b`, value: bytes("2") },
        { key: `${root}.c`, value: bytes("2") },
      ],
    });
    expect(result).toEqual({ committed: false });
    expect([await read("a"), await read("b"), await read("c")]).toEqual(["1", "1", undefined]);
  });

  test("500 writes go in one transaction", async () => {
    const writes = Array.from({ length: 500 }, (_, index) => ({ key: `${root}.k${index}`, value: bytes(String(index)) }));
    expect(await store.transaction({ writes })).toMatchObject({ committed: true });
    expect(await other.store.list(root)).toHaveLength(500);
  });

  test("a listing has the keys below whole words, as they are after every write before it", async () => {
    await put("node.1", "a");
    await put("node.2", "b");
    await put("nodes.1", "c");
    await put("node", "d");
    await store.transaction({ writes: [{ key: `${root}.node.2` }] });
    const entries = await other.store.list(`${root}.node`);
    expect(entries.map(({ key, value }) => `${key} ${text(value)}`).sort()).toEqual([`${root}.node d`, `${root}.node.1 a`]);
    expect(await other.store.list(`${root}.none`)).toEqual([]);
  });

  test("a listing right after an acknowledged write of another client has that write", async () => {
    for (let round = 0; round < 30; round += 1) {
      await put(`k${round}`, "1");
      expect(await other.store.list(root)).toHaveLength(round + 1);
    }
  });

  test("deletions are forgotten at the second compaction after them", async () => {
    const key = `${root}.a`;
    const write = (revision: number): Promise<{ committed: boolean }> =>
      store.transaction({ checks: [{ key, revision }], writes: [{ key, value: bytes("2") }] });
    const kept = await put("b", "1");
    await put("a", "1");
    const deleted = await store.transaction({ writes: [{ key }] });
    const revision = deleted.committed ? (deleted.revisions[0] as number) : 0;
    await store.compact();
    expect(await write(revision)).toMatchObject({ committed: true });
    const again = await store.transaction({ writes: [{ key }] });
    const last = again.committed ? (again.revisions[0] as number) : 0;
    await store.compact();
    await other.store.compact();
    expect(await write(last)).toEqual({ committed: false });
    expect(await read("a")).toBeUndefined();
    expect(await write(0)).toMatchObject({ committed: true });
    expect((await other.store.list(root)).map(({ key: name }) => name).sort()).toEqual([key, `${root}.b`]);
    expect(await store.get(`${root}.b`)).toMatchObject({ revision: kept });
  });

  test("mistakes of the caller are refused before anything is sent", async () => {
    const write = { key: `${root}.a`, value: bytes("1") };
    await expect(store.get("a b")).rejects.toThrow("words of letters");
    await expect(store.get("")).rejects.toThrow(RangeError);
    await expect(store.list("a.*")).rejects.toThrow(RangeError);
    await expect(store.transaction({ writes: [] })).rejects.toThrow("at least one write");
    await expect(store.transaction({ writes: [write, write] })).rejects.toThrow("twice");
    await expect(store.transaction({ writes: [{ ...write, value: new Uint8Array(1024 * 1024) }] })).rejects.toThrow("bytes");
    await expect(store.transaction({ checks: [{ key: write.key, revision: -1 }], writes: [write] })).rejects.toThrow("whole number");
    const foreign = { checks: [{ key: `${root}.b`, revision: 0 }], writes: [write] };
    await expect(store.transaction(foreign)).rejects.toThrow("a key that it writes");
    expect(await read("a")).toBeUndefined();
  });

  test("a closed store refuses calls", async () => {
    const client = await plane.open();
    await client.store.close();
    await expect(client.store.get(`${root}.a`)).rejects.toThrow(ControlPlaneUnavailableError);
    await client[Symbol.asyncDispose]();
  });
});
