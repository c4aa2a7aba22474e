import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { checked } from "../../../../sim/checked.ts";
import type { ObjectId, ProcessId } from "../../base/ids.ts";
import { RefLedger } from "./ref-ledger.ts";

const id = "object" as ObjectId;
const owner = "owner" as ProcessId;
const reader = "reader" as ProcessId;

describe("the ref ledger", () => {
  test("frees an object when its owner and all readers have let go, in any order", () => {
    const ledger = checked(new RefLedger());
    ledger.add({ id, owner, holder: owner, count: 1 });
    ledger.add({ id, owner, holder: reader, count: 1 });
    expect(ledger.add({ id, owner: undefined, holder: owner, count: -1 })).toBeUndefined();
    expect(ledger.add({ id, owner: undefined, holder: reader, count: -1 })).toEqual({ id, owner });
    expect(ledger.size).toBe(0);
  });

  test("a release may overtake the hold that was registered for it", () => {
    const ledger = checked(new RefLedger());
    expect(ledger.add({ id, owner: undefined, holder: reader, count: -1 })).toBeUndefined();
    ledger.add({ id, owner, holder: owner, count: 1 });
    expect(ledger.add({ id, owner, holder: reader, count: 1 })).toBeUndefined();
    expect(ledger.add({ id, owner: undefined, holder: owner, count: -1 })).toEqual({ id, owner });
  });

  test("a dead reader holds nothing, also what is sent to it later", () => {
    const ledger = checked(new RefLedger());
    ledger.add({ id, owner, holder: owner, count: 1 });
    ledger.add({ id, owner, holder: reader, count: 1 });
    expect(ledger.processGone(reader)).toEqual({ freed: [], orphaned: [] });
    ledger.add({ id, owner, holder: reader, count: 1 });
    expect(ledger.add({ id, owner: undefined, holder: owner, count: -1 })).toEqual({ id, owner });
  });

  test("a hold for a dead reader frees nothing of which no other is known yet: those may be on their way", () => {
    const ledger = checked(new RefLedger());
    ledger.processGone(reader);
    expect(ledger.add({ id, owner, holder: reader, count: 1 })).toBeUndefined();
    ledger.add({ id, owner, holder: owner, count: 1 });
    expect(ledger.add({ id, owner: undefined, holder: owner, count: -1 })).toEqual({ id, owner });
  });

  test("a dead owner's objects are named", () => {
    const ledger = checked(new RefLedger());
    ledger.add({ id, owner, holder: owner, count: 1 });
    ledger.add({ id, owner, holder: reader, count: 1 });
    expect(ledger.processGone(owner).orphaned).toEqual([id]);
  });

  test("counts return to zero under any interleaving of connections", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 }), fc.infiniteStream(fc.nat(1000)), (readers, draws) => {
        // Each connection keeps its order; between them the order is drawn.
        const connections: { holder: ProcessId; count: number; owner: ProcessId | undefined }[][] = [[{ holder: owner, count: 1, owner }]];
        for (let number = 0; number < readers; number += 1) {
          const holder = `reader${number}` as ProcessId;
          connections[0]?.push({ holder, count: 1, owner });
          connections.push([{ holder, count: -1, owner: undefined }]);
        }
        connections[0]?.push({ holder: owner, count: -1, owner: undefined });
        const ledger = checked(new RefLedger());
        const freed: unknown[] = [];
        while (connections.some((queue) => queue.length > 0)) {
          const open = connections.filter((queue) => queue.length > 0);
          const queue = open[(draws.next().value as number) % open.length] as (typeof connections)[0];
          const ref = ledger.add({ id, ...(queue.shift() as (typeof queue)[0]) });
          if (ref !== undefined) freed.push(ref);
        }
        expect(freed).toEqual([{ id, owner }]);
        expect(ledger.size).toBe(0);
      }),
    );
  });
});
