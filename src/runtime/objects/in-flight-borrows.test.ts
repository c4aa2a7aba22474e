/** The borrows in flight over one link: messages to the daemon at its end. */
import { expect, test } from "vitest";
import type { ProcessId } from "../base/ids.ts";
import { InFlightBorrows } from "./in-flight-borrows.ts";
import type { Payload } from "./payload.ts";

const receiver = "receiver" as ProcessId;

function borrowsOver(link: number | undefined): { borrows: InFlightBorrows; told: string[] } {
  const told: string[] = [];
  const table = {
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
