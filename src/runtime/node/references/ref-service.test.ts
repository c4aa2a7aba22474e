/** The refs that the daemon holds as its values contain them: nothing is counted for a value that it does not keep. And whom it asks for a lost one. */
import { expect, test } from "vitest";
import type { NodeId, ObjectId, ProcessId } from "../../base/ids.ts";
import type { HeadPeer } from "../../rpc/head-service.ts";
import { MESSAGE, type PayloadHeader, type WireLocation } from "../../wire/messages.ts";
import { RefService } from "./ref-service.ts";
import { RefValues } from "./ref-values.ts";
import { handle } from "../../wire/message-table.ts";

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
  const peers = new Map<ProcessId, HeadPeer>();
  for (const id of [maker, driver]) peers.set(id, { id, connection: { send: () => {} } } as unknown as HeadPeer);
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
  return { service, from, provide, freed, asked, told };
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
  // The reader was given the second, and lets go of what it contains.
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
  // Its reader was given it, and lets go of what it contains.
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
