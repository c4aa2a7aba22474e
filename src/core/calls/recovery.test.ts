/** What is made again by one run of its call, and what the daemon is told, where the results of a worker's call were handed on. */
import { beforeEach, expect, test } from "vitest";
import type { ObjectId, ProcessId } from "../../runtime/base/ids.ts";
import { ObjectEntry } from "../../runtime/objects/object-entry.ts";
import { ObjectTable, type RefChannel } from "../../runtime/objects/object-table.ts";
import { inBandPayload, NO_BYTES } from "../../runtime/objects/payload.ts";
import type { WireLocation } from "../../runtime/wire/messages.ts";
import type { CallRecord } from "./call-record.ts";
import { Lineage } from "./lineage.ts";
import { Recovery } from "./recovery.ts";

const SELF = "self" as ProcessId;
const DAEMON = "daemon" as ProcessId;
const idOf = (index: number): ObjectId => `id ${index}` as ObjectId;

/** Arenas whose bytes are gone. */
let gone: Set<string>;
/** Objects that the daemon was told to be lost, and values that it got. */
let told: string[];
let reruns: CallRecord[];
let table: ObjectTable;
let lineage: Lineage;
let recovery: Recovery;

beforeEach(() => {
  gone = new Set();
  told = [];
  reruns = [];
  const nothing = (): void => {};
  const channel: RefChannel = {
    hold: nothing,
    release: nothing,
    watch: nothing,
    adopt: nothing,
    heldEnded: nothing,
    storeLinkEnded: nothing,
    heldRead: nothing,
    provide: (id, { stored, error }) => void told.push(error ? `${id} failed` : `${id} at ${stored?.location[0]}`),
  };
  table = new ObjectTable({
    processId: SELF,
    ownerOfRecord: DAEMON,
    ids: { before: 0, putId: idOf, returnId: (_sequence: number, index: number) => idOf(index) } as never,
    channel,
    freeStored: nothing,
    payloadOf: ({ payload }) => payload ?? inBandPayload(NO_BYTES, { graph: false, error: true }),
    onUnseenFailure: nothing,
    onReleased: (entry) => lineage.released(entry),
  });
  lineage = new Lineage({ table, processId: SELF });
  recovery = new Recovery({
    processId: SELF,
    objects: {
      table,
      lineage,
      store: { canRead: ([arena]) => !gone.has(arena), lost: nothing },
      channel: { lost: (id, _owner, [arena]) => void told.push(`${id} lost at ${arena}`) },
    },
    isActorDead: () => false,
    rerun: (record) => void reruns.push(record),
  });
});

const placeIn = (arena: string): WireLocation => [arena, 0, 100_000, "memory"];

function settle(entry: ObjectEntry, arena: string): void {
  const stored = { id: "" as ObjectId, owner: SELF, location: placeIn(arena) };
  entry.settlePayload({ ...inBandPayload(NO_BYTES, { graph: false, error: false }), stored });
}

/** A call whose results lie in these arenas, and were handed on and let go of. */
function handedOn(arenas: readonly string[]): CallRecord {
  const results = arenas.map((arena, index) => {
    const entry = new ObjectEntry(1, index);
    settle(entry, arena);
    return entry;
  });
  const retry = { maxRetries: 1, retryOn: false, retryDelayMs: 0 };
  const record = { sequence: 1, results, pinned: [], retry, retriesLeft: 1, chunk: NO_BYTES, start: 0, end: 0 };
  const made = record as unknown as CallRecord;
  lineage.retain(made);
  for (const entry of results) {
    table.pin(entry);
    table.publish(entry);
    table.unpin(entry);
  }
  told.length = 0;
  return made;
}

test("results that were handed on and are lost are made again by one run, and their daemon is told", () => {
  const { results } = handedOn(["a", "b", "c"]);
  expect(results.map(({ state }) => state)).toEqual(["freed", "freed", "freed"]);
  gone.add("a").add("c");
  expect(recovery.reported(idOf(0), placeIn("a"))).toBe(results[0]);
  expect(results.map(({ state }) => state)).toEqual(["pending", "freed", "pending"]);
  expect(told).toEqual(["id 0 lost at a", "id 2 lost at c"]);
  expect(recovery.reported(idOf(2), placeIn("c"))).toBe(results[2]);
  expect(reruns).toHaveLength(1);
  expect(reruns[0]?.retriesLeft).toBe(0);
  told.length = 0;
  for (const entry of [results[0], results[2]] as ObjectEntry[]) settle(entry, "d");
  expect(told).toEqual(["id 0 at d", "id 2 at d"]);
  expect(results.map(({ state }) => state)).toEqual(["freed", "freed", "freed"]);
});

test("a report about an old place causes no run, and one about the new place does", () => {
  const { results } = handedOn(["a"]);
  recovery.reported(idOf(0), placeIn("a"));
  settle(results[0] as ObjectEntry, "b");
  expect(recovery.reported(idOf(0), placeIn("a"))).toBe(results[0]);
  expect(reruns).toHaveLength(1);
  // Its task has used up its only retry.
  recovery.reported(idOf(0), placeIn("b"));
  expect(told).toEqual(["id 0 at b", "id 0 failed"]);
});

test("a ref that has come back to the process that made the object has it made again there", () => {
  const { results } = handedOn(["a"]);
  const back = table.receive({ id: idOf(0), owner: DAEMON });
  expect(back).not.toBe(results[0]);
  // Somebody else finds it lost before this process has asked for its value.
  expect(recovery.reported(idOf(0), placeIn("a"))).toBe(results[0]);
  expect(recovery.reported(idOf(0), placeIn("a"))).toBe(results[0]);
  expect([reruns.length, results[0]?.state, back.state]).toEqual([1, "pending", "pending"]);
});

test("of an object that was put, and a ref of which has come back, nobody waits for another run", () => {
  table.receive({ id: idOf(7), owner: DAEMON });
  expect(recovery.reported(idOf(7), placeIn("a"))).toBeUndefined();
  expect(reruns).toEqual([]);
});
