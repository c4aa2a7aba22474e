import { expect, test } from "vitest";
import { IdSource, type JobId, type ObjectId, type ProcessId } from "../base/ids.ts";
import type { StoredHeader, WireLocation } from "../wire/messages.ts";
import { type ContainedRef, inBandPayload, type Payload } from "./payload.ts";
import { ObjectTable, type RefChannel } from "./object-table.ts";

const OWN = "a".repeat(32) as ProcessId;
const OTHER = "b".repeat(32) as ProcessId;
const OUTER: ContainedRef = { id: "1".repeat(40) as ObjectId, owner: OTHER };
const INNER: ContainedRef = { id: "2".repeat(40) as ObjectId, owner: OTHER };

/** Releases by the ids of their objects. */
type Released = Map<ObjectId, number>;

function newTable(): { table: ObjectTable; released: Released } {
  const released: Released = new Map();
  const ignored = (): void => {};
  const channel: RefChannel = {
    hold: ignored,
    release: ({ id }, count) => void released.set(id, (released.get(id) ?? 0) + count),
    watch: ignored,
    provide: ignored,
    known: ignored,
    adopt: ignored,
    heldEnded: ignored,
    storeLinkEnded: ignored,
    heldRead: ignored,
    flush: ignored,
  };
  const table = new ObjectTable({
    processId: OWN,
    ownerOfRecord: OWN,
    ids: new IdSource(() => OWN.slice(-12), "0".repeat(8) as JobId),
    channel,
    freeStored: ignored,
    payloadOf: ({ payload }) => payload as Payload,
    onUnseenFailure: ignored,
  });
  return { table, released };
}

function storedPayload(): { stored: StoredHeader; payload: Payload } {
  const stored: StoredHeader = { ...OUTER, location: ["arena-1", 0, 100, "memory"] };
  return { stored, payload: { ...inBandPayload(new Uint8Array(0), { graph: false, error: false }), stored, refs: [INNER] } };
}

// A task may wait for a ref while a call brings the object itself into the process, and ends before it reads its arguments.
test.each(["received", "discarded"])("whoever waits for a stored object that is %s finds the refs inside at once", (way) => {
  const { table, released } = newTable();
  const { stored, payload } = storedPayload();
  const entry = table.receive(OUTER);
  let seen: readonly unknown[] | undefined;
  entry.addWaiter({ entrySettled: () => (seen = entry.contained?.map(({ id }) => id)) });
  if (way === "discarded") table.discard(payload);
  else {
    const refs = payload.refs.map((ref) => table.receive(ref));
    table.unpin(table.receiveStored(stored, payload, refs));
    for (const inner of refs) table.unpin(inner);
  }
  expect(seen).toEqual([INNER.id]);
  expect(released).toEqual(new Map());
  table.unpin(entry);
  expect(released).toEqual(
    new Map([
      [OUTER.id, 2],
      [INNER.id, 1],
    ]),
  );
});

test("an object that is discarded and that nobody waits for gives all of its holds back", () => {
  const { table, released } = newTable();
  table.discard(storedPayload().payload);
  expect(released).toEqual(
    new Map([
      [OUTER.id, 1],
      [INNER.id, 1],
    ]),
  );
});

const PLACE: WireLocation = ["arena-1", 0, 100, "memory"];

test("a ref that comes with its object's place has its value at once, and is told on with it", () => {
  const { table, released } = newTable();
  const entry = table.receive({ ...OUTER, place: PLACE });
  expect([entry.state, entry.payload?.stored?.location, table.placeOf(OUTER.id)]).toEqual(["ready", PLACE, PLACE]);
  table.unpin(entry);
  expect(released).toEqual(new Map([[OUTER.id, 1]]));
  expect(table.placeOf(OUTER.id)).toBe(undefined);
});

test("a ref that was here before waits on for its owner's word: its object may have been lost from the place that comes", () => {
  const { table } = newTable();
  const entry = table.receive(OUTER);
  expect(table.receive({ ...OUTER, place: PLACE })).toBe(entry);
  expect(entry.state).toBe("pending");
});

test("an object that holds refs, or is no plain value, has no place for others: they need more than its bytes", () => {
  const { table } = newTable();
  const { stored, payload } = storedPayload();
  table.receiveStored(stored, payload);
  expect(table.placeOf(OUTER.id)).toBe(undefined);
  table.receiveStored({ ...stored, ...INNER }, { ...payload, refs: [], graph: true });
  expect(table.placeOf(INNER.id)).toBe(undefined);
});
