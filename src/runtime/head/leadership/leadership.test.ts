/** Terms, the fence, and the order and grouping of a leader's commits, on the memory store. */
import { describe, expect, test } from "vitest";
import { ControlPlaneUnavailableError, FencedError, UnknownOutcomeError } from "../../control-plane/control-plane-errors.ts";
import { claimLeadership, LEADER_KEY, Leadership } from "./leadership.ts";
import type { ControlStore, StoreTransaction, TransactionResult } from "../../control-plane/control-store.ts";
import { MemoryStore } from "../../control-plane/memory-store.ts";
import { KeyTable } from "../../control-plane/key-table.ts";

function bytes(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, "utf8"));
}

/** A store that counts its transactions and can answer them in another way. */
class WatchedStore extends MemoryStore {
  readonly transactions: StoreTransaction[] = [];
  answer: ((run: () => Promise<TransactionResult>) => Promise<TransactionResult>) | undefined;

  override transaction(transaction: StoreTransaction): Promise<TransactionResult> {
    this.transactions.push(transaction);
    const run = (): Promise<TransactionResult> => super.transaction(transaction);
    return this.answer === undefined ? run() : this.answer(run);
  }
}

/** Reads the last leader from the record in the store. */
async function readLeader(store: ControlStore): Promise<unknown> {
  const found = await store.get(LEADER_KEY);
  return found && JSON.parse(Buffer.from(found.value).toString("utf8"));
}

async function lead(store: ControlStore, id = "a"): Promise<Leadership> {
  const leadership = await claimLeadership(store, { id });
  if (leadership === undefined) throw new Error("another head was faster");
  return leadership;
}

describe("claiming", () => {
  test("each leader has the next term", async () => {
    const store = new MemoryStore();
    expect(await readLeader(store)).toBeUndefined();
    expect((await lead(store, "a")).term).toBe(1);
    expect((await lead(store, "b")).term).toBe(2);
    expect(await readLeader(store)).toEqual({ id: "b", term: 2, batch: 0 });
  });

  test("of several heads that claim the same term, one gets it", async () => {
    const tables = new KeyTable();
    const claims = await Promise.all(["a", "b", "c"].map((id) => claimLeadership(new MemoryStore(tables), { id })));
    expect(claims.filter((claim) => claim !== undefined)).toHaveLength(1);
  });
});

describe("the fence", () => {
  test("a replaced leader's commit is refused as a whole, and it knows", async () => {
    const store = new MemoryStore();
    const old = await lead(store, "a");
    await old.commit([{ key: "x", value: bytes("1") }]);
    const next = await lead(store, "b");
    await expect(
      old.commit([
        { key: "x", value: bytes("2") },
        { key: "y", value: bytes("2") },
      ]),
    ).rejects.toThrow(FencedError);
    expect(old.fenced.aborted).toBe(true);
    expect(await store.get("y")).toBeUndefined();
    expect(next.fenced.aborted).toBe(false);
    await next.commit([{ key: "y", value: bytes("3") }]);
    expect(Buffer.from((await store.get("y"))?.value ?? []).toString()).toBe("3");
  });

  test("hearing a higher term is enough, the own and smaller ones are not", async () => {
    const leadership = await lead(new MemoryStore());
    leadership.hear(1);
    expect(leadership.fenced.aborted).toBe(false);
    leadership.hear(2);
    await expect(leadership.commit([{ key: "x", value: bytes("1") }])).rejects.toThrow("a leader of term 2 was heard");
  });

  test("what waits behind a refused commit is refused, too", async () => {
    const store = new MemoryStore();
    const old = await lead(store, "a");
    await lead(store, "b");
    const commits = [1, 2, 3].map((value) => old.commit([{ key: "x", value: bytes(String(value)) }]));
    expect((await Promise.allSettled(commits)).map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    expect(await store.get("x")).toBeUndefined();
  });

  test("an unknown outcome ends the leadership: whether the fence moved cannot be known", async () => {
    const store = new WatchedStore();
    const leadership = await lead(store);
    store.answer = () => Promise.reject(new UnknownOutcomeError("no answer"));
    await expect(leadership.commit([{ key: "x", value: bytes("1") }])).rejects.toThrow(FencedError);
  });

  test("a store that is away fails the commit and not the leadership", async () => {
    const store = new WatchedStore();
    const leadership = await lead(store);
    store.answer = () => Promise.reject(new ControlPlaneUnavailableError("away"));
    await expect(leadership.commit([{ key: "x", value: bytes("1") }])).rejects.toThrow(ControlPlaneUnavailableError);
    store.answer = undefined;
    await leadership.commit([{ key: "x", value: bytes("2") }]);
    expect(leadership.fenced.aborted).toBe(false);
  });
});

describe("commits", () => {
  test("those of one turn go in one transaction, with the revisions of each", async () => {
    const store = new WatchedStore();
    const leadership = await lead(store);
    const revisions = await Promise.all([
      leadership.commit([{ key: "x", value: bytes("1") }]),
      leadership.commit([
        { key: "y", value: bytes("1") },
        { key: "z", value: bytes("1") },
      ]),
    ]);
    expect(store.transactions).toHaveLength(2);
    for (const [key, revision] of [
      ["x", revisions[0][0]],
      ["y", revisions[1][0]],
      ["z", revisions[1][1]],
    ] as const) {
      expect((await store.get(key))?.revision).toBe(revision);
    }
    expect(await readLeader(store)).toEqual({ id: "a", term: 1, batch: 1 });
  });

  test("a key that is written again goes in the next transaction, and the last write wins", async () => {
    const store = new WatchedStore();
    const leadership = await lead(store);
    await Promise.all([1, 2, 3].map((value) => leadership.commit([{ key: "x", value: bytes(String(value)) }])));
    expect(Buffer.from((await store.get("x"))?.value ?? []).toString()).toBe("3");
    expect(store.transactions).toHaveLength(4);
  });

  test("1,000 commits while one is under way are a few transactions", async () => {
    const store = new WatchedStore();
    const leadership = await lead(store);
    await Promise.all(Array.from({ length: 1_000 }, (_, index) => leadership.commit([{ key: `k${index}`, value: bytes("1") }])));
    expect(store.transactions.length).toBeLessThanOrEqual(7);
    expect(await store.list("")).toHaveLength(1_001);
  });

  test("mistakes are refused", async () => {
    const leadership = await lead(new MemoryStore());
    await expect(leadership.commit([])).rejects.toThrow(RangeError);
    await expect(leadership.commit([{ key: LEADER_KEY, value: bytes("1") }])).rejects.toThrow("the leader's own key");
  });
});
