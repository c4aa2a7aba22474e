/** What a control store promises, on memory and on a real NATS server. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { CompactedError, ControlPlaneUnavailableError } from "../../src/control/control-errors.ts";
import type { ControlStore, StoreChange, StoreWatch } from "../../src/control/store/control-store.ts";
import { bytes, type Client, eachStorePlane, type Plane, text } from "./planes.ts";
import { until } from "./nats-servers.ts";

eachStorePlane("a control store", (start) => {
  let plane: Plane;
  let one: Client;
  let other: Client;
  let store: ControlStore;
  /** Keys of one test lie below a word of its own. */
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

  test.each([1, 2, 5])("%i checks of keys that are not written hold or refuse", async (checks) => {
    const keys = Array.from({ length: checks }, (_, index) => `guard${index}`);
    const revisions: number[] = [];
    for (const key of keys) revisions.push(await put(key, "1"));
    const transaction = (value: string): Promise<{ committed: boolean }> =>
      store.transaction({
        checks: keys.map((key, index) => ({ key: `${root}.${key}`, revision: revisions[index] ?? 0 })),
        writes: [
          { key: `${root}.a`, value: bytes(value) },
          { key: `${root}.b`, value: bytes(value) },
        ],
      });
    const accepted = await transaction("1");
    expect(accepted).toMatchObject({ committed: true });
    expect(await other.store.get(`${root}.b`)).toMatchObject({ revision: (accepted as { revisions?: number[] }).revisions?.[1] });
    await put(keys.at(-1) as string, "2");
    expect(await transaction("2")).toEqual({ committed: false });
    expect([await read("a"), await read("b")]).toEqual(["1", "1"]);
  });

  test("transactions that guard with each other's keys cannot both be applied", async () => {
    for (let round = 0; round < 20; round += 1) {
      const [a, b] = [await put("a", "0"), await put("b", "0")];
      const results = await Promise.all([
        store.transaction({ checks: [{ key: `${root}.a`, revision: a }], writes: [{ key: `${root}.b`, value: bytes("1") }] }),
        other.store.transaction({ checks: [{ key: `${root}.b`, revision: b }], writes: [{ key: `${root}.a`, value: bytes("1") }] }),
      ]);
      expect(results.filter(({ committed }) => committed)).toHaveLength(1);
    }
  });

  test("many transactions that only share a guard are all applied", async () => {
    const revision = await put("guard", "1");
    const results = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        (index % 2 === 0 ? store : other.store).transaction({
          checks: [{ key: `${root}.guard`, revision }],
          writes: [{ key: `${root}.k${index}`, value: bytes("1") }],
        }),
      ),
    );
    expect(results.filter(({ committed }) => !committed)).toEqual([]);
  });

  test("500 writes go in one transaction", async () => {
    const writes = Array.from({ length: 500 }, (_, index) => ({ key: `${root}.k${index}`, value: bytes(String(index)) }));
    expect(await store.transaction({ writes })).toMatchObject({ committed: true });
    expect((await other.store.list(root)).entries).toHaveLength(500);
  });

  test("a listing has the keys below whole words, as they are after every write before it", async () => {
    await put("node.1", "a");
    await put("node.2", "b");
    await put("nodes.1", "c");
    const last = await put("node", "d");
    await store.transaction({ writes: [{ key: `${root}.node.2` }] });
    const { entries, revision } = await other.store.list(`${root}.node`);
    expect(entries.map(({ key, value }) => `${key} ${text(value)}`).sort()).toEqual([`${root}.node d`, `${root}.node.1 a`]);
    expect(revision).toBeGreaterThan(last);
    expect((await other.store.list(`${root}.none`)).entries).toEqual([]);
  });

  test("a listing right after an acknowledged write of another client has that write", async () => {
    for (let round = 0; round < 30; round += 1) {
      await put(`k${round}`, "1");
      expect((await other.store.list(root)).entries).toHaveLength(round + 1);
    }
  });

  test("a watch goes on from a listing without a gap", async () => {
    await put("a", "1");
    await put("b", "1");
    const { revision } = await other.store.list(root);
    await put("b", "2");
    await store.transaction({ writes: [{ key: `${root}.a` }] });
    await using seen = new Seen(other.store.watch(root, { afterRevision: revision }));
    await seen.atLeast(2);
    await put("c", "3");
    await seen.atLeast(3);
    expect(seen.list()).toEqual([`put ${root}.b 2`, `delete ${root}.a`, `put ${root}.c 3`]);
  });

  test("a watch does not see other prefixes, and ends when it is closed", async () => {
    const { revision } = await store.list("");
    const watch = other.store.watch(`${root}.x`, { afterRevision: revision });
    await using seen = new Seen(watch);
    await put("xy", "1");
    await put("y.x", "1");
    await put("x.y", "1");
    await seen.atLeast(1);
    watch.close();
    await seen.ended;
    expect(seen.list()).toEqual([`put ${root}.x.y 1`]);
  });

  test("a watch sees the last change of every key, in order, while many clients write", async () => {
    const { revision } = await store.list(root);
    await using seen = new Seen(other.store.watch(root, { afterRevision: revision }));
    await Promise.all(Array.from({ length: 200 }, (_, index) => put(`k${index % 20}`, String(index))));
    await put("end", "1");
    await until(() => seen.list().includes(`put ${root}.end 1`), "the last change arrived");
    const revisions = seen.changes.map((change) => (change.kind === "put" ? change.entry.revision : change.revision));
    expect(revisions).toEqual([...new Set(revisions)].sort((left, right) => left - right));
    const last = new Map(seen.changes.map((change) => [change.kind === "put" ? change.entry.key : change.key, change]));
    for (const entry of (await store.list(root)).entries) expect(last.get(entry.key)).toEqual({ kind: "put", entry });
  });

  test("deletions are forgotten at the second compaction after them; a watch from before is refused, one that lives goes on", async () => {
    const { revision: before } = await store.list(root);
    await using live = new Seen(other.store.watch(root, { afterRevision: before }));
    await put("a", "1");
    await store.transaction({ writes: [{ key: `${root}.a` }] });
    await until(() => live.list().includes(`delete ${root}.a`), "the deletion arrived");
    await store.compact();
    await using resumed = new Seen(store.watch(root, { afterRevision: before }));
    await resumed.atLeast(1);
    expect(resumed.list()).toContain(`delete ${root}.a`);
    await store.compact();
    await using refused = new Seen(store.watch(root, { afterRevision: before }));
    await expect(refused.ended).rejects.toThrow(CompactedError);
    await put("b", "1");
    await until(() => live.list().includes(`put ${root}.b 1`), "the watch goes on");
    const { revision } = await store.list(root);
    await using fresh = new Seen(store.watch(root, { afterRevision: revision }));
    await put("c", "1");
    await fresh.atLeast(1);
    expect(
      await store.transaction({ checks: [{ key: `${root}.a`, revision: 0 }], writes: [{ key: `${root}.a`, value: bytes("2") }] }),
    ).toMatchObject({
      committed: true,
    });
    live.close();
    resumed.close();
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
    expect(await read("a")).toBeUndefined();
  });

  test("a closed store ends its watches and refuses calls", async () => {
    const client = await plane.open();
    const { revision } = await client.store.list(root);
    const seen = new Seen(client.store.watch(root, { afterRevision: revision }));
    await client.store.close();
    await expect(seen.ended).resolves.toBeUndefined();
    await expect(client.store.get(`${root}.a`)).rejects.toThrow(ControlPlaneUnavailableError);
    await client[Symbol.asyncDispose]();
  });
});

/** Reads a watch to its end. */
class Seen implements AsyncDisposable {
  readonly changes: StoreChange[] = [];
  readonly ended: Promise<void>;
  readonly #watch: StoreWatch;

  constructor(watch: StoreWatch) {
    this.#watch = watch;
    this.ended = this.#read();
    this.ended.catch(() => {});
  }

  list(): string[] {
    return this.changes.map((change) =>
      change.kind === "put" ? `put ${change.entry.key} ${text(change.entry.value)}` : `delete ${change.key}`,
    );
  }

  async atLeast(count: number): Promise<void> {
    await until(() => this.changes.length >= count, `${count} changes arrived`);
  }

  close(): void {
    this.#watch.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
    await this.ended.catch(() => {});
  }

  async #read(): Promise<void> {
    for await (const change of this.#watch) this.changes.push(change);
  }
}
