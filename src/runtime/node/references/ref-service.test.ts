/** The refs that the daemon holds as its values contain them: nothing is counted for a value that it does not keep. And whom it asks for a lost one. */
import { expect, test } from "vitest";
import type { NodeId, ObjectId, ProcessId } from "../../base/ids.ts";
import type { HeadPeer } from "../../rpc/head-service.ts";
import { MESSAGE, type PayloadHeader, type WireLocation } from "../../wire/messages.ts";
import { RefService } from "./ref-service.ts";
import { RefValues } from "./ref-values.ts";
import { handle } from "../../wire/tables/message-table.ts";

const daemon = "daemon" as ProcessId;
const maker = "maker" as ProcessId;
const driver = "driver" as ProcessId;
const OUTER = "outer" as ObjectId;

interface World {
  service: RefService;
  /** A message of a process. */
  from: (process: ProcessId, type: number, header: unknown) => void;
  /** The maker tells a value that contains a ref of the driver's, which it holds for the daemon. */
  provide: (inner: ObjectId, offset: number) => void;
  /** Messages that went straight to a peer. */
  sent: { to: ProcessId; type: number; header: unknown }[];
  freed: ObjectId[];
  /** The objects that the maker is to make again. */
  asked: unknown[];
  /** Values, or that there is none, that the maker is told. */
  told: unknown[];
}

function world(): World {
  const freed: ObjectId[] = [];
  const asked: unknown[] = [];
  const told: unknown[] = [];
  const sent: World["sent"] = [];
  const peers = new Map<ProcessId, HeadPeer>();
  for (const id of [maker, driver]) {
    const send = (type: number, header: unknown): void => void sent.push({ to: id, type, header });
    peers.set(id, { id, connection: { send } } as unknown as HeadPeer);
  }
  const service = new RefService({
    processId: daemon,
    nodeId: "" as NodeId,
    values: new RefValues(),
    peers: {
      peer: (id) => peers.get(id),
      send: (to, type, header) => {
        if (to === driver && type === MESSAGE.REF_FREE) freed.push(...(header as ObjectId[]));
        if (to === maker && type === MESSAGE.REF_LOST) asked.push(header);
        if (to === maker && type === MESSAGE.REF_VALUE) told.push(header);
      },
      remote: { isHere: () => true, tell: () => {} },
    },
    objects: { adopt: () => {}, free: () => {}, arenaLost: () => {} },
    head: () => ({ unheld: () => {}, definitionUnheld: () => {} }),
  });
  const from: World["from"] = (process, type, header) => {
    const message = { type, callId: 0, flags: 0, body: new Uint8Array(0) };
    handle(service.handlers, type, header, peers.get(process) as HeadPeer, message);
  };
  const provide: World["provide"] = (inner, offset) => {
    const value = { refs: [[inner, driver]], stored: { id: OUTER, owner: daemon, location: placeAt(offset) } };
    from(maker, MESSAGE.REF_HOLD, [[inner, driver, daemon]]);
    from(maker, MESSAGE.REF_VALUE, [OUTER, daemon, value as unknown as PayloadHeader]);
  };
  return { service, from, provide, sent, freed, asked, told };
}

function placeAt(offset: number): WireLocation {
  return ["arena", offset, 100_000, "memory"];
}

function holdOuter({ from }: World): void {
  from(maker, MESSAGE.REF_ADOPT, [OUTER]);
  from(maker, MESSAGE.REF_HOLD, [[OUTER, daemon, driver]]);
}

test("a value that came a second time holds what it contains as long as the object lives, and one that was known no longer", () => {
  const all = world();
  holdOuter(all);
  all.provide("first" as ObjectId, 0);
  all.provide("second" as ObjectId, 4096);
  all.provide("third" as ObjectId, 4096);
  expect(all.freed).toEqual(["third"]);
  all.from(driver, MESSAGE.REF_LOST, [OUTER, daemon, placeAt(0)]);
  expect(all.freed).toEqual(["third", "first"]);
  // The reader was given the second, and releases the ref in it.
  all.from(driver, MESSAGE.REF_RELEASE, [["second", 1]]);
  all.from(driver, MESSAGE.REF_RELEASE, [[OUTER, 1]]);
  expect(all.freed).toEqual(["third", "first", "second"]);
});

test("a maker that says that a value is lost is asked for it, too: it may have read by a ref that had come back", () => {
  const all = world();
  holdOuter(all);
  all.provide("inner" as ObjectId, 0);
  all.from(maker, MESSAGE.REF_LOST, [OUTER, daemon, placeAt(0)]);
  all.from(driver, MESSAGE.REF_LOST, [OUTER, daemon, placeAt(0)]);
  expect(all.asked).toEqual([[OUTER, daemon, placeAt(0)]]);
});

test("a value whose bytes are lost holds what it contained no more, be it made again or not", () => {
  const all = world();
  holdOuter(all);
  all.provide("first" as ObjectId, 0);
  all.from(driver, MESSAGE.REF_LOST, [OUTER, daemon, placeAt(0)]);
  expect(all.freed).toEqual(["first"]);
  all.provide("second" as ObjectId, 4096);
  // The reader was given the second, and releases the ref in it.
  all.from(driver, MESSAGE.REF_RELEASE, [["second", 1]]);
  all.service.processGone(maker);
  expect(all.freed).toEqual(["first"]);
  all.from(driver, MESSAGE.REF_LOST, [OUTER, daemon, placeAt(4096)]);
  expect(all.freed).toEqual(["first", "second"]);
  all.from(driver, MESSAGE.REF_RELEASE, [[OUTER, 1]]);
  expect(all.freed).toEqual(["first", "second"]);
});

test("who waits for a value of a driver is told when that ends before it has answered, and only then", () => {
  const all = world();
  const [asked, lost, answered] = ["asked", "lost", "answered"] as ObjectId[] as [ObjectId, ObjectId, ObjectId];
  all.from(maker, MESSAGE.REF_WATCH, [asked, driver]);
  all.from(maker, MESSAGE.REF_LOST, [lost, driver, placeAt(0)]);
  all.from(maker, MESSAGE.REF_WATCH, [answered, driver]);
  all.from(driver, MESSAGE.REF_VALUE, [answered, maker, undefined]);
  all.service.processGone(driver);
  expect(all.told).toEqual([
    [asked, undefined],
    [lost, undefined],
  ]);
  all.service.processGone(driver);
  expect(all.told).toHaveLength(2);
});

const KNOWN = "known" as ObjectId;
const PLACE = { inBand: 0, buffers: [], refs: [], stored: { id: KNOWN, owner: driver, location: placeAt(0) } } as unknown as PayloadHeader;

/** The driver holds its object for itself and for the maker, and tells where it is. */
function tellPlace({ from }: World, teller: ProcessId = driver): void {
  from(driver, MESSAGE.REF_HOLD, [
    [KNOWN, driver, driver],
    [KNOWN, driver, maker],
  ]);
  from(teller, MESSAGE.REF_KNOWN, [[KNOWN, PLACE]]);
}

test("a value that its owner told is given to readers without a question to the owner", () => {
  const all = world();
  tellPlace(all);
  all.from(maker, MESSAGE.REF_WATCH, [KNOWN, driver]);
  expect(all.sent).toEqual([{ to: maker, type: MESSAGE.REF_VALUE, header: [KNOWN, PLACE] }]);
});

test("the owner is asked for a value that another process told, that contains refs, or that is too large", () => {
  const all = world();
  tellPlace(all, maker);
  all.from(driver, MESSAGE.REF_KNOWN, [[KNOWN, { ...PLACE, refs: [[OUTER, driver]] }]]);
  all.from(driver, MESSAGE.REF_KNOWN, [[KNOWN, { ...PLACE, inBand: 5000 }]]);
  all.from(maker, MESSAGE.REF_WATCH, [KNOWN, driver]);
  expect(all.sent.map(({ to, type }) => [to, type])).toEqual([[driver, MESSAGE.REF_WATCH]]);
});

test.for([
  ["is lost", (all: World) => all.from(maker, MESSAGE.REF_LOST, [KNOWN, driver, placeAt(0)])],
  [
    "was freed and is held again",
    (all: World) => {
      all.from(maker, MESSAGE.REF_RELEASE, [[KNOWN, 1]]);
      all.from(driver, MESSAGE.REF_RELEASE, [[KNOWN, 1]]);
      all.from(driver, MESSAGE.REF_HOLD, [[KNOWN, driver, maker]]);
    },
  ],
] as const)("the owner is asked again once a value that it told %s", ([, happens]) => {
  const all = world();
  tellPlace(all);
  happens(all);
  all.sent.length = 0;
  all.from(maker, MESSAGE.REF_WATCH, [KNOWN, driver]);
  expect(all.sent.map(({ to, type }) => [to, type])).toEqual([[driver, MESSAGE.REF_WATCH]]);
});

test("a value whose owner has ended is not given any more", () => {
  const all = world();
  tellPlace(all);
  all.service.processGone(driver);
  all.from(maker, MESSAGE.REF_WATCH, [KNOWN, driver]);
  expect(all.sent).not.toContainEqual(expect.objectContaining({ header: [KNOWN, PLACE] }));
});
