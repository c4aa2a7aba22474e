/** The borrows in flight over one link: messages to the daemon at its end. */
import { expect, test } from "vitest";
import type { ObjectId, ProcessId } from "../../base/ids.ts";
import type { WireLocation } from "../../wire/messages.ts";
import { InFlightBorrows } from "./in-flight-borrows.ts";
import { PLACES_MAX } from "../limits.ts";
import { inBandPayload, type Payload, PayloadReader } from "../payload.ts";

const receiver = "receiver" as ProcessId;
const PLACE: WireLocation = ["arena-1", 4096, 70_000, "memory"];

function borrowsOver(
  link: number | undefined,
  placeOf: (id: ObjectId) => WireLocation | undefined = () => undefined,
): { borrows: InFlightBorrows; told: string[] } {
  const told: string[] = [];
  const table = {
    placeOf,
    holdFor: () => {},
    flushChannel: () => {},
    heldEnded: (process: ProcessId, ended: number) => void told.push(`holds of ${process} over ${ended}`),
    storeLinkEnded: (process: ProcessId, ended: number) => void told.push(`objects of ${process} over ${ended}`),
  };
  return { borrows: new InFlightBorrows({ table, receiverId: receiver, link }), told };
}

/** A stored answer without an owner has nothing to hold. */
function storedPayload(owner: string): Payload {
  return { refs: [], stored: { owner } } as unknown as Payload;
}

test("the end of a link over which an answer was stored is told, as the receiver may never have read of the object", () => {
  const { borrows, told } = borrowsOver(3);
  borrows.hold([storedPayload("")]);
  borrows.close();
  expect(told).toEqual(["objects of receiver over 3"]);
});

test("the end of a link over which nothing was stored and nothing held is not told", () => {
  const { borrows, told } = borrowsOver(3);
  borrows.hold([{ refs: [], stored: undefined } as unknown as Payload]);
  borrows.close();
  expect(told).toEqual([]);
});

test("the values of a caller's own call need no word: the caller knows of them", () => {
  const { borrows, told } = borrowsOver(-3);
  borrows.hold([storedPayload("another process")]);
  borrows.close();
  expect(told).toEqual(["holds of receiver over -3"]);
});

function withRefs(count: number): Payload {
  const refs = Array.from({ length: count }, (_, index) => ({ id: `ref ${index}` as ObjectId, owner: receiver }));
  return { ...inBandPayload(new Uint8Array(0), { graph: false, error: false }), refs };
}

test("a header says where the objects of refs lie when it leaves, not when the value was made", () => {
  const places = new Map([["ref 1", PLACE]]);
  const { borrows } = borrowsOver(3, (id) => places.get(id));
  const payload = withRefs(3);
  const header = borrows.headerOf(payload);
  const read = new PayloadReader(new Uint8Array(0), { copy: false }).next(header);
  expect(read.refs.map(({ id, place }) => [id, place])).toEqual([
    ["ref 0", undefined],
    ["ref 1", PLACE],
    ["ref 2", undefined],
  ]);
  places.clear();
  expect(borrows.headerOf(payload)).not.toHaveProperty("places");
});

test("a header of a value with many refs has no places, so its size is that of the refs", () => {
  const { borrows } = borrowsOver(3, () => PLACE);
  expect(borrows.headerOf(withRefs(PLACES_MAX)).places).toHaveLength(PLACES_MAX);
  expect(borrows.headerOf(withRefs(PLACES_MAX + 1))).not.toHaveProperty("places");
});
