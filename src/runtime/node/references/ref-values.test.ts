/** The values of refs made in workers: their messages, the death of a maker, and lost bytes. */
import { expect, test } from "vitest";
import type { ObjectId, ProcessId } from "../../base/ids.ts";
import type { PayloadHeader, WireLocation } from "../../wire/messages.ts";
import { type RefValue, RefValues } from "./ref-values.ts";

const ID = "object" as ObjectId;
const maker = "maker" as ProcessId;
const reader = "reader" as ProcessId;

function stored(offset: number): RefValue {
  const location: WireLocation = ["arena", offset, 100_000, "memory"];
  const header = { inBand: 0, buffers: [], graph: false, error: false, definitions: [], refs: [] } as unknown as PayloadHeader;
  return { header: { ...header, stored: { id: ID, owner: maker, location } }, body: new Uint8Array(0) };
}
const placeOf = (value: RefValue): WireLocation => value.header.stored?.location as WireLocation;

function valuesWith(value: RefValue): RefValues {
  const values = new RefValues();
  values.provide(ID, maker, value);
  return values;
}

test("a value that was not here when its maker died never comes, and its watchers are told", () => {
  const values = new RefValues();
  values.adopt(ID, maker);
  expect(values.watch(ID, reader)).toBeUndefined();
  expect(values.makerGone(maker)).toEqual([{ id: ID, watchers: [reader] }]);
  expect(values.watch(ID, reader)).toBe("lost");
});

test("a value that was here outlives its maker", () => {
  const value = stored(0);
  const values = valuesWith(value);
  expect(values.makerGone(maker)).toEqual([]);
  expect(values.watch(ID, reader)).toBe(value);
});

test("lost bytes are made again by the maker, once for all readers", () => {
  const first = stored(0);
  const values = valuesWith(first);
  expect(values.bytesLost(ID, reader, placeOf(first))).toEqual({ kind: "remake", maker, toldAt: placeOf(first), gone: first });
  expect(values.bytesLost(ID, "other" as ProcessId, placeOf(first))).toEqual({ kind: "wait" });
  const second = stored(4096);
  expect(values.provide(ID, maker, second)).toEqual({ watchers: [reader, "other"], isKept: true });
  // A late report with the old place gets the new value.
  expect(values.bytesLost(ID, reader, placeOf(first))).toEqual({ kind: "deliver", value: second });
});

test("the maker that finds them lost itself is no watcher", () => {
  const first = stored(0);
  const values = valuesWith(first);
  expect(values.bytesLost(ID, maker, placeOf(first)).kind).toBe("remake");
  expect(values.provide(ID, maker, stored(4096)).watchers).toEqual([]);
});

test("lost bytes of a dead maker, and those that it cannot make again, are lost for good", () => {
  const value = stored(0);
  const orphaned = valuesWith(value);
  orphaned.makerGone(maker);
  expect(orphaned.bytesLost(ID, reader, placeOf(value))).toEqual({ kind: "lost", gone: value });
  // The refs inside it are released once.
  expect(orphaned.bytesLost(ID, reader, placeOf(value))).toEqual({ kind: "lost", gone: undefined });
  expect(orphaned.watch(ID, reader)).toBe("lost");

  const given = valuesWith(value);
  given.bytesLost(ID, reader, placeOf(value));
  expect(given.giveUp(ID)).toEqual([reader]);
  expect(given.watch(ID, reader)).toBe("lost");
});

test("a maker that dies while it makes them again leaves them lost", () => {
  const value = stored(0);
  const values = valuesWith(value);
  values.bytesLost(ID, reader, placeOf(value));
  expect(values.makerGone(maker)).toEqual([{ id: ID, watchers: [reader] }]);
});

test("a second value beside one that is not lost is had when that is, and freed with the object", () => {
  const [first, second, third] = [stored(0), stored(4096), stored(8192)];
  const values = valuesWith(first);
  expect(values.provide(ID, maker, second)).toEqual({ watchers: [], isKept: true });
  // The maker tells it once more.
  expect(values.provide(ID, maker, second)).toEqual({ watchers: [], isKept: false });
  expect(values.watch(ID, reader)).toBe(first);
  values.provide(ID, maker, third);
  // A value that nobody was given is found lost by its maker.
  expect(values.bytesLost(ID, maker, placeOf(second))).toEqual({ kind: "deliver", value: first, gone: second });
  expect(values.bytesLost(ID, reader, placeOf(first))).toEqual({ kind: "deliver", value: third, gone: first });
  expect(values.free(ID)).toMatchObject({ maker, values: [third] });
});

test("once the last is lost the maker is asked, by the place that it told last", () => {
  const [first, second] = [stored(0), stored(4096)];
  const values = valuesWith(first);
  values.provide(ID, maker, second);
  values.bytesLost(ID, reader, placeOf(second));
  expect(values.bytesLost(ID, reader, placeOf(first))).toEqual({ kind: "remake", maker, toldAt: placeOf(second), gone: first });
});

test("a value that comes after all was given up is had", () => {
  const first = stored(0);
  const values = valuesWith(first);
  values.bytesLost(ID, reader, placeOf(first));
  values.giveUp(ID);
  expect(values.bytesLost(ID, reader, placeOf(first))).toEqual({ kind: "lost", gone: undefined });
  const second = stored(4096);
  values.provide(ID, maker, second);
  expect(values.bytesLost(ID, reader, placeOf(second)).kind).toBe("remake");
});
