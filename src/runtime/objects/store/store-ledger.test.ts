/**
 * The daemon's book of the store: reuse of pages, deletion of files, counts of bytes, and events out of order.
 */
import { describe, expect, test } from "vitest";
import { checked } from "../../../../sim/checked.ts";
import type { ProcessId } from "../../base/ids.ts";
import type { ObjectLocation } from "../arenas/layout.ts";
import { StoreLedger } from "./store-ledger.ts";

const driver = "driver" as ProcessId;
const worker = "worker" as ProcessId;
const daemon = "daemon" as ProcessId;
const MEGABYTE = 1_048_576;

function memoryAt(arena: string, offset = 0, sizeBytes = MEGABYTE): ObjectLocation {
  return { arena, offset, sizeBytes, kind: "memory" };
}

function ledgerWith(
  locations: ObjectLocation[],
  { writer = worker, owner = driver }: { writer?: ProcessId; owner?: ProcessId } = {},
): StoreLedger {
  const ledger = checked(new StoreLedger({ quotaBytes: 10 * MEGABYTE }));
  for (const { arena, kind } of locations) ledger.arenaChanged({ process: writer, arena, kind, capacityBytes: 4 * MEGABYTE });
  for (const location of locations) ledger.sealed({ writer, owner, location });
  return ledger;
}

describe("an object", () => {
  test("counts from its notice to its release, in whole pages, and its pages go back to the writer", () => {
    const ledger = ledgerWith([memoryAt("w-1", 0, 5000)]);
    expect(ledger.usedBytes).toBe(8192);
    expect(ledger.freed(memoryAt("w-1", 0, 5000))).toEqual({ reuse: worker, unlink: [] });
    expect(ledger.usedBytes).toBe(0);
  });

  test("on disk does not count against the quota", () => {
    const location: ObjectLocation = { arena: "w-2", offset: 0, sizeBytes: MEGABYTE, kind: "disk" };
    const ledger = ledgerWith([location]);
    expect(ledger.usedBytes).toBe(0);
    expect(ledger.statistics.diskBytes).toBe(MEGABYTE);
    expect(ledger.freed(location).reuse).toBe(worker);
    expect(ledger.statistics).toMatchObject({ diskBytes: 0, objects: 0 });
  });

  test("is there from its notice to its release, and another one in its place is not taken for it", () => {
    const ledger = ledgerWith([]);
    expect(ledger.holds(memoryAt("w-1", 0, 5000))).toBe(false);
    ledger.sealed({ writer: worker, owner: driver, location: memoryAt("w-1", 0, 5000) });
    expect([ledger.holds(memoryAt("w-1", 0, 5000)), ledger.holds(memoryAt("w-1", 0, 6000))]).toEqual([true, false]);
    ledger.freed(memoryAt("w-1", 0, 5000));
    expect(ledger.holds(memoryAt("w-1", 0, 5000))).toBe(false);
  });

  test("is counted once however often it is announced", () => {
    const ledger = ledgerWith([memoryAt("w-1")]);
    ledger.sealed({ writer: worker, owner: driver, location: memoryAt("w-1") });
    ledger.arenaChanged({ process: worker, arena: "w-1", kind: "memory", capacityBytes: 4 * MEGABYTE });
    expect(ledger.statistics).toEqual({ usedBytes: MEGABYTE, reservedBytes: 4 * MEGABYTE, diskBytes: 0, objects: 1, arenas: 1 });
  });
});

describe("a release that overtakes the notice", () => {
  test("goes to the writer at once, and the notice then changes nothing", () => {
    const ledger = ledgerWith([]);
    ledger.arenaChanged({ process: worker, arena: "w-1", kind: "memory", capacityBytes: 4 * MEGABYTE });
    expect(ledger.freed(memoryAt("w-1"))).toEqual({ reuse: worker, unlink: [] });
    // The pages were written again before the first notice came: the second is a living object.
    expect(ledger.sealed({ writer: worker, owner: driver, location: memoryAt("w-1") })).toEqual({ reuse: undefined, unlink: [] });
    expect(ledger.usedBytes).toBe(0);
    ledger.sealed({ writer: worker, owner: driver, location: memoryAt("w-1") });
    expect(ledger.usedBytes).toBe(MEGABYTE);
  });

  test("waits for the notice where even the arena is unknown", () => {
    const ledger = ledgerWith([]);
    expect(ledger.freed(memoryAt("w-1"))).toEqual({ reuse: undefined, unlink: [] });
    expect(ledger.sealed({ writer: worker, owner: driver, location: memoryAt("w-1") })).toEqual({ reuse: worker, unlink: [] });
    expect(ledger.usedBytes).toBe(0);
  });
});

describe("the end of a process", () => {
  test("deletes its files, except those with objects that others own", () => {
    const ledger = ledgerWith([memoryAt("w-1")], { owner: worker });
    ledger.sealed({ writer: worker, owner: driver, location: memoryAt("w-2") });
    ledger.arenaChanged({ process: worker, arena: "w-3", kind: "memory", capacityBytes: MEGABYTE });
    const { unlink } = ledger.processExited(worker);
    expect(unlink.map((file) => file.arena).toSorted()).toEqual(["w-1", "w-3"]);
    expect(ledger.usedBytes).toBe(MEGABYTE);
    expect(ledger.processExited(worker)).toMatchObject({ unlink: [], reuse: [] });
    expect(ledger.freed(memoryAt("w-2"))).toEqual({ reuse: undefined, unlink: [{ arena: "w-2", kind: "memory" }] });
    expect(ledger.statistics).toEqual({ usedBytes: 0, reservedBytes: 0, diskBytes: 0, objects: 0, arenas: 0 });
  });

  test("frees what it owned in the arenas of others", () => {
    const ledger = ledgerWith([memoryAt("w-1"), memoryAt("w-1", MEGABYTE)]);
    ledger.adopt({ location: memoryAt("w-1", MEGABYTE), owner: daemon });
    expect(ledger.processExited(driver)).toMatchObject({ unlink: [], reuse: [{ writer: worker, location: memoryAt("w-1") }] });
    expect(ledger.usedBytes).toBe(MEGABYTE);
  });
});

describe("an owner that is not the one of the notice", () => {
  test("is kept when its adoption came before the notice: the object outlives the process that it was written for", () => {
    const ledger = ledgerWith([memoryAt("w-1")]);
    const late = memoryAt("w-1", MEGABYTE);
    ledger.adopt({ location: late, owner: daemon });
    ledger.sealed({ writer: worker, owner: driver, location: late });
    ledger.processExited(driver);
    expect(ledger.statistics.objects).toBe(1);
    expect(ledger.freed(late).reuse).toBe(worker);
  });

  test("has ended before the notice came: the object is free at once", () => {
    const ledger = ledgerWith([memoryAt("w-1")]);
    ledger.processExited(driver);
    const late = memoryAt("w-1", MEGABYTE);
    expect(ledger.sealed({ writer: worker, owner: driver, location: late })).toEqual({ reuse: worker, unlink: [] });
    expect(ledger.statistics.objects).toBe(0);
  });
});

describe("an arena that lost what was in it", () => {
  test("is written no more, and deleted once nothing in it is needed", () => {
    const ledger = ledgerWith([memoryAt("w-1"), memoryAt("w-1", MEGABYTE)]);
    expect(ledger.abandoned({ arena: "w-1", kind: "memory" })).toBe(worker);
    expect(ledger.abandoned({ arena: "w-1", kind: "memory" })).toBeUndefined();
    expect(ledger.freed(memoryAt("w-1"))).toEqual({ reuse: undefined, unlink: [] });
    expect(ledger.freed(memoryAt("w-1", MEGABYTE))).toEqual({ reuse: undefined, unlink: [{ arena: "w-1", kind: "memory" }] });
  });
});

test("a release that comes before the notice leaves the object before that at the same place alone", () => {
  const before = memoryAt("w-1", 0, 98_432);
  const next = memoryAt("w-1", 0, 98_368);
  const ledger = ledgerWith([before], { owner: worker });
  // The worker has used the pages again, and the driver has released the next object already.
  ledger.freed(next);
  expect(ledger.holds(before)).toBe(true);
  ledger.freed(before);
  ledger.sealed({ writer: worker, owner: driver, location: next });
  expect(ledger.usedBytes).toBe(0);
});

test("an adoption that comes before the notice leaves the object before that at the same place alone", () => {
  const before = memoryAt("w-1", 0, 98_432);
  const next = memoryAt("w-1", 0, 98_368);
  const ledger = ledgerWith([before], { owner: worker });
  ledger.adopt({ location: next, owner: daemon });
  expect(ledger.owners()).toEqual(new Set([worker]));
  ledger.freed(before);
  ledger.sealed({ writer: worker, owner: driver, location: next });
  expect(ledger.owners()).toEqual(new Set([daemon]));
});

test("an arena that its writer deleted is forgotten", () => {
  const ledger = ledgerWith([memoryAt("w-1")]);
  ledger.freed(memoryAt("w-1"));
  ledger.arenaChanged({ process: worker, arena: "w-1", kind: "memory", capacityBytes: 0 });
  expect(ledger.statistics.arenas).toBe(0);
  expect(ledger.processExited(worker).unlink).toEqual([]);
});

describe("a collection", () => {
  test("is asked for above 80 % of the quota, and again only after another 5 %", () => {
    const ledger = ledgerWith([]);
    let count = 0;
    const store = (sizeBytes: number): void => {
      ledger.sealed({ writer: worker, owner: driver, location: memoryAt("w-1", count * 16 * MEGABYTE, sizeBytes) });
      count += 1;
    };
    store(8 * MEGABYTE);
    expect(ledger.takeCollectRequest()).toBe(false);
    store(4096);
    expect(ledger.takeCollectRequest()).toBe(true);
    expect(ledger.takeCollectRequest()).toBe(false);
    store(MEGABYTE / 4);
    expect(ledger.takeCollectRequest()).toBe(false);
    store(MEGABYTE / 2);
    expect(ledger.takeCollectRequest()).toBe(true);
  });

  test("is asked for again when memory ran short, was freed, and runs short again; objects on disk are a shortage too", () => {
    const ledger = ledgerWith([memoryAt("w-1", 0, 9 * MEGABYTE)]);
    expect(ledger.takeCollectRequest()).toBe(true);
    ledger.freed(memoryAt("w-1", 0, 9 * MEGABYTE));
    expect(ledger.takeCollectRequest()).toBe(false);
    ledger.sealed({ writer: worker, owner: driver, location: { arena: "w-9", offset: 0, sizeBytes: 9 * MEGABYTE, kind: "disk" } });
    expect(ledger.takeCollectRequest()).toBe(true);
  });
});

describe("what a process that ended wrote for others", () => {
  const mine = memoryAt("w-1");
  const adopted = memoryAt("w-2");

  test("is theirs to know, and goes when they do not", () => {
    const ledger = ledgerWith([mine, adopted]);
    ledger.adopt({ location: adopted, owner: daemon });
    // A process that has taken over an object knows it.
    expect(ledger.processExited(worker).written).toEqual(new Map([[driver, [mine]]]));
    expect(ledger.disowned(driver, adopted)).toEqual({ reuse: undefined, unlink: [] });
    expect(ledger.usedBytes).toBe(2 * MEGABYTE);
    expect(ledger.disowned(driver, mine).unlink).toEqual([{ arena: "w-1", kind: "memory" }]);
    expect(ledger.knows({ arena: "w-1", kind: "memory" })).toBe(false);
    // The object was freed meanwhile, or the notice came twice: a later object at that place stays.
    expect(ledger.disowned(driver, mine)).toEqual({ reuse: undefined, unlink: [] });
  });

  test("of one that lives is theirs to know where the link ended over which it told of that; what it wrote since, in the same place, is another matter", () => {
    const ledger = ledgerWith([]);
    ledger.sealed({ writer: worker, owner: driver, location: mine, link: 1 });
    ledger.sealed({ writer: worker, owner: driver, location: adopted, link: 1 });
    ledger.sealed({ writer: worker, owner: driver, location: memoryAt("w-3"), link: 2 });
    ledger.adopt({ location: adopted, owner: daemon });
    expect(ledger.writtenOver({ writer: worker, owner: driver, link: 1 })).toEqual([mine]);
    expect(ledger.writtenOver({ writer: worker, owner: daemon, link: 1 })).toEqual([]);
    // The owner frees it before it is asked, and the writer has the place again.
    expect(ledger.freed(mine)).toEqual({ reuse: worker, unlink: [] });
    ledger.sealed({ writer: worker, owner: driver, location: mine, link: 2 });
    expect(ledger.disowned(driver, mine, 1)).toEqual({ reuse: undefined, unlink: [] });
    expect(ledger.disowned(driver, mine, 2)).toEqual({ reuse: worker, unlink: [] });
  });

  test("is told of what was retired before its end, too", () => {
    const ledger = ledgerWith([mine]);
    ledger.retired(worker, "w-1");
    expect(ledger.processExited(worker).written).toEqual(new Map([[driver, [mine]]]));
  });
});
