/**
 * When the store spills and what: marks, the oldest first, nobody waited for, and what happens when the disk fails.
 */
import { beforeEach, describe, expect, test } from "vitest";
import { checked } from "../../../../sim/checked.ts";
import type { ProcessId } from "../../base/ids.ts";
import type { ObjectLocation } from "../arenas/layout.ts";
import { type SpillEffect, SpillPlan } from "./spill-plan.ts";
import { StoreLedger } from "../store/store-ledger.ts";

const driver = "driver" as ProcessId;
const worker = "worker" as ProcessId;
const MEGABYTE = 1_048_576;

let ledger: StoreLedger;
let plan: SpillPlan;
let nowMs: number;

beforeEach(() => {
  ledger = checked(new StoreLedger({ quotaBytes: 10 * MEGABYTE }));
  plan = new SpillPlan({ ledger });
  nowMs = 0;
});

function store(arena: string, options: { writer?: ProcessId; megabytes?: number; offset?: number } = {}): ObjectLocation {
  const { writer = driver, megabytes = 1, offset = 0 } = options;
  const location: ObjectLocation = { arena, offset: offset * MEGABYTE, sizeBytes: megabytes * MEGABYTE, kind: "memory" };
  ledger.arenaChanged({ process: writer, arena, kind: "memory", capacityBytes: 64 * MEGABYTE });
  ledger.sealed({ writer, owner: driver, location });
  return location;
}

function changed(): SpillEffect[] {
  return plan.handle({ kind: "changed", processes: [driver, worker], nowMs });
}

/** Through the collection, which changes nothing here. */
function collected(): SpillEffect[] {
  expect(changed().map(({ kind }) => kind)).toEqual(["collect", "timer"]);
  expect(plan.handle({ kind: "collected", process: driver })).toEqual([]);
  return plan.handle({ kind: "collected", process: worker });
}

function retired(process: ProcessId, arenas: string[]): SpillEffect[] {
  for (const arena of arenas) ledger.retired(process, arena);
  return plan.handle({ kind: "retired", process, arenas });
}

function written(effects: readonly SpillEffect[], file: string): SpillEffect[] {
  const write = effects.find((effect) => effect.kind === "write");
  if (write?.kind !== "write") throw new Error("nothing is to be written");
  let sizeBytes = 0;
  const places = write.pieces.map((piece) => {
    const fileOffset = sizeBytes;
    sizeBytes += piece.sizeBytes;
    return { arena: piece.arena, offset: piece.offset, fileOffset };
  });
  ledger.spilled({ file, sizeBytes, places });
  return plan.handle({ kind: "written", ok: true, nowMs });
}

function arenasOf(effects: readonly SpillEffect[]): string[] {
  return effects.flatMap((effect) =>
    effect.kind === "write" ? effect.pieces.map(({ arena }) => arena) : effect.kind === "retire" ? effect.arenas : [],
  );
}

test("up to four fifths of the quota nothing happens", () => {
  store("a", { megabytes: 8 });
  expect(changed()).toEqual([]);
});

test("above, garbage is collected first, and what that frees is not spilled", () => {
  const garbage = store("a", { megabytes: 5 });
  store("b", { megabytes: 4 });
  expect(changed()[0]).toEqual({ kind: "collect" });
  ledger.freed(garbage);
  plan.handle({ kind: "collected", process: driver });
  expect(plan.handle({ kind: "collected", process: worker })).toEqual([]);
});

test("then the oldest arenas are retired and written, down to three fifths", () => {
  for (const name of ["a", "b", "c", "d", "e", "f", "g", "h", "i"]) store(name);
  const asked = collected();
  expect(asked[0]).toEqual({ kind: "retire", writer: driver, arenas: ["a", "b", "c"] });
  const effects = retired(driver, ["a", "b", "c"]);
  expect(arenasOf(effects)).toEqual(["a", "b", "c"]);
  expect(written(effects, "spill-1")).toEqual([]);
  expect(ledger.usedBytes).toBe(6 * MEGABYTE);
  expect(changed()).toEqual([]);
});

test("arenas of a dead writer are written without asking", () => {
  store("a", { writer: worker, megabytes: 9 });
  ledger.processExited(worker);
  expect(collected()).toEqual([expect.objectContaining({ kind: "write" })]);
});

test("what is mapped stays in memory", () => {
  store("a", { megabytes: 4 });
  store("b", { megabytes: 5 });
  ledger.mapped(worker, "a", 1);
  expect(arenasOf(collected())).toEqual(["b"]);
});

test("a mapped arena can go once its reader has let go, or has died", () => {
  store("a", { megabytes: 9 });
  ledger.mapped(worker, "a", 1);
  expect(collected()).toEqual([]);
  ledger.mapped(worker, "a", 0);
  expect(arenasOf(changed())).toEqual(["a"]);
});

describe("a process that does not answer", () => {
  test("is not waited for when it should collect", () => {
    store("a", { megabytes: 9 });
    changed();
    expect(arenasOf(plan.handle({ kind: "timeout" }))).toEqual(["a"]);
  });

  test("keeps its arenas, and is not asked again until it has answered", () => {
    store("a", { writer: worker, megabytes: 5 });
    store("b", { megabytes: 4 });
    expect(arenasOf(collected())).toEqual(["a"]);
    expect(plan.handle({ kind: "timeout" })).toEqual([]);
    expect(arenasOf(changed())).toEqual(["b"]);
    const effects = retired(driver, ["b"]);
    expect(arenasOf(effects)).toEqual(["b"]);
    written(effects, "spill-1");
    store("c", { megabytes: 4 });
    retired(worker, ["a"]);
    plan.handle({ kind: "timeout" });
    expect(arenasOf(changed().concat(plan.handle({ kind: "timeout" })))).toEqual(["a"]);
  });

  test("is forgotten when it dies", () => {
    store("a", { writer: worker, megabytes: 9 });
    collected();
    ledger.processExited(worker);
    expect(arenasOf(plan.handle({ kind: "processGone", process: worker }))).toEqual(["a"]);
  });
});

test("a batch ends at a hundred megabytes, and the next one follows", () => {
  ledger = checked(new StoreLedger({ quotaBytes: 1000 * MEGABYTE }));
  plan = new SpillPlan({ ledger });
  for (let index = 0; index < 15; index += 1) store(`a${index}`, { megabytes: 60 });
  expect(arenasOf(collected())).toEqual(["a0", "a1"]);
  const next = written(retired(driver, ["a0", "a1"]), "spill-1");
  expect(arenasOf(next)).toEqual(["a2", "a3"]);
});

test("a disk that fails is left alone for a while, and memory keeps everything", () => {
  store("a", { megabytes: 9 });
  collected();
  retired(driver, ["a"]);
  expect(plan.handle({ kind: "written", ok: false, nowMs })).toEqual([]);
  expect(ledger.usedBytes).toBe(9 * MEGABYTE);
  nowMs = 4999;
  expect(changed()).toEqual([]);
  nowMs = 5001;
  expect(arenasOf(changed())).toEqual(["a"]);
});

describe("a fused file", () => {
  test("that is mostly dead is copied on, and deleted", () => {
    const locations = Array.from({ length: 20 }, (_, index) => store("a", { offset: index }));
    ledger.retired(driver, "a");
    written(changed().concat(plan.handle({ kind: "timeout" })), "spill-1");
    for (const location of locations.slice(2)) expect(ledger.freed(location).unlink).toEqual([]);
    const effects = changed();
    expect(effects).toEqual([
      {
        kind: "write",
        pieces: [0, 1].map((index) => ({
          arena: "a",
          offset: index * MEGABYTE,
          sizeBytes: MEGABYTE,
          source: { arena: "spill-1", kind: "disk" },
          sourceOffset: index * MEGABYTE,
        })),
      },
    ]);
    const places = [0, 1].map((index) => ({ arena: "a", offset: index * MEGABYTE, fileOffset: index * MEGABYTE }));
    expect(ledger.spilled({ file: "spill-2", sizeBytes: 2 * MEGABYTE, places })).toEqual([{ arena: "spill-1", kind: "disk" }]);
    expect(ledger.indexOf("a")).toEqual([
      [0, "spill-2", 0],
      [MEGABYTE, "spill-2", MEGABYTE],
    ]);
    expect(plan.handle({ kind: "written", ok: true, nowMs })).toEqual([]);
  });

  test("goes with its last object, and the index with the arena's", () => {
    const [first, second] = [store("a", { megabytes: 5 }), store("a", { megabytes: 4, offset: 5 })];
    ledger.retired(driver, "a");
    written(collected(), "spill-1");
    expect(ledger.statistics).toMatchObject({ usedBytes: 0, diskBytes: 9 * MEGABYTE, objects: 2 });
    expect(ledger.freed(first)).toEqual({ reuse: undefined, unlink: [] });
    expect(ledger.freed(second).unlink).toEqual([
      { arena: "spill-1", kind: "disk" },
      { arena: "a.moved", kind: "disk" },
    ]);
    expect(ledger.spillFiles).toEqual({ files: 0, fileBytes: 0 });
  });

  test("whose objects died while it was written is deleted at once", () => {
    const location = store("a", { megabytes: 9 });
    ledger.retired(driver, "a");
    const effects = collected();
    expect(ledger.freed(location).unlink).toEqual([{ arena: "a", kind: "memory" }]);
    expect(arenasOf(effects)).toEqual(["a"]);
    const places = [{ arena: "a", offset: 0, fileOffset: 0 }];
    expect(ledger.spilled({ file: "spill-1", sizeBytes: 9 * MEGABYTE, places })).toEqual([{ arena: "spill-1", kind: "disk" }]);
  });

  test("frees what a dead process owned", () => {
    const location: ObjectLocation = { arena: "w", offset: 0, sizeBytes: 9 * MEGABYTE, kind: "memory" };
    ledger.arenaChanged({ process: driver, arena: "w", kind: "memory", capacityBytes: 16 * MEGABYTE });
    ledger.sealed({ writer: driver, owner: worker, location });
    ledger.retired(driver, "w");
    written(collected(), "spill-1");
    expect(ledger.processExited(worker).unlink).toEqual([
      { arena: "spill-1", kind: "disk" },
      { arena: "w.moved", kind: "disk" },
    ]);
  });
});
