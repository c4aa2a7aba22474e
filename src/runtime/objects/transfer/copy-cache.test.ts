/** The copies of a node: kept while they are read, then cached, then dropped for room or with their object. */
import { beforeEach, expect, test } from "vitest";
import type { NodeTag, ObjectId, ProcessId } from "../../base/ids.ts";
import type { WireLocation } from "../../wire/messages.ts";
import { type Copy, CopyCache } from "./copy-cache.ts";

const reader = "reader" as ProcessId;
const second = "second" as ProcessId;
const home = "home" as NodeTag;

let cache: CopyCache;

beforeEach(() => {
  cache = new CopyCache();
});

function add(key: string, sizeBytes: number, kind: "memory" | "disk" = "memory", owner?: ProcessId): WireLocation {
  const location: WireLocation = [`local-${key}`, 0, sizeBytes, kind];
  cache.add({ key, of: [key as ObjectId, ["far", 0, sizeBytes, "memory"]], home, owner, pull: 1, location });
  return location;
}
const keys = (copies: readonly Copy[]): string[] => copies.map(({ key }) => key);

test("what is read stays; what nobody reads goes for room, what was let go of first before the rest", () => {
  const a = add("a", 10);
  const b = add("b", 10);
  add("c", 10);
  add("disk", 10, "disk");
  expect(cache.acquire("a", reader)).toEqual(a);
  expect(cache.acquire("a", reader)).toEqual(a);
  cache.acquire("b", second);
  expect(cache.idleBytes).toBe(10);
  expect(keys(cache.evict(1000))).toEqual(["c"]);
  cache.release(b, second);
  expect(cache.release(a, reader)).toEqual([]);
  expect(keys(cache.evict(1000))).toEqual(["b"]);
  cache.release(a, reader);
  expect(keys(cache.evict(1))).toEqual(["a"]);
  expect(cache.size).toBe(1);
  expect(cache.idleBytes).toBe(0);
});

test("evicts no more than is wanted", () => {
  for (const key of ["a", "b", "c"]) add(key, 10);
  expect(keys(cache.evict(11))).toEqual(["a", "b"]);
  expect(cache.find("c")).toBeDefined();
});

test("a freed object's copy goes at once, or with its last reader, and is given to nobody meanwhile", () => {
  add("a", 10);
  expect(keys(cache.freed("a"))).toEqual(["a"]);
  const b = add("b", 10);
  cache.acquire("b", reader);
  expect(cache.freed("b")).toEqual([]);
  expect(cache.acquire("b", second)).toBeUndefined();
  expect(cache.evict(1000)).toEqual([]);
  // The object was made again, and a new copy fetched.
  const again: WireLocation = ["local-again", 0, 10, "memory"];
  cache.add({ key: "b", of: ["b" as ObjectId, ["far", 0, 10, "memory"]], home, owner: undefined, pull: 2, location: again });
  expect(cache.release(b, reader).map(({ location }) => location)).toEqual([b]);
  expect(cache.find("b")?.location).toEqual(again);
  expect(cache.freed("b").map(({ location }) => location)).toEqual([again]);
  expect(cache.size).toBe(0);
});

test("a dead reader reads nothing; the copies of a dead home go with their readers", () => {
  add("a", 10);
  add("b", 10);
  cache.acquire("a", reader);
  cache.acquire("a", second);
  expect(keys(cache.nodeGone((node) => node === home))).toEqual(["b"]);
  expect(cache.processGone(reader)).toEqual([]);
  expect(keys(cache.processGone(second))).toEqual(["a"]);
  expect(cache.release(["local-a", 0, 10, "memory"], second)).toEqual([]);
});

test("while its home is dead a copy stays until its owner's node has decided, and one that is kept until it is freed", () => {
  const ownerNode = "aaaaaaaaaaaaaaaa" as NodeTag;
  const owner = `${ownerNode}0000000000000001` as ProcessId;
  for (const key of ["kept", "spare", "early"]) add(key, 10, "memory", owner);
  // The owner's node may have heard of the death first.
  cache.decided("early", { isKept: false });
  expect(cache.nodeGone((node) => node === home)).toEqual([]);
  expect(cache.idleBytes).toBe(10);
  expect(keys(cache.evict(1000))).toEqual(["early"]);
  cache.decided("kept", { isKept: true });
  cache.decided("spare", { isKept: false });
  expect(cache.decided("early", { isKept: true })).toBeUndefined();
  const location = cache.acquire("kept", reader) as WireLocation;
  cache.release(location, reader);
  expect(keys(cache.evict(1000))).toEqual(["spare"]);
  expect(keys(cache.freed("kept"))).toEqual(["kept"]);
  add("last", 10, "memory", owner);
  expect(cache.nodeGone((node) => node === home)).toEqual([]);
  expect(keys(cache.nodeGone((node) => node === home || node === ownerNode))).toEqual(["last"]);
  expect([cache.size, cache.idleBytes]).toEqual([0, 0]);
});
