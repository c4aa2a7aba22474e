/** Holds for messages that did not arrive: the counting daemon's questions, and the holds that it gives back. */
import { expect, test } from "vitest";
import type { NodeId, NodeTag, ObjectId, ProcessId } from "../../base/ids.ts";
import type { HeadPeer } from "../../rpc/head-service.ts";
import { MESSAGE } from "../../wire/messages.ts";
import { RefService } from "./ref-service.ts";
import { RefValues } from "./ref-values.ts";
import { handle } from "../../wire/tables/message-table.ts";

const HERE = "a".repeat(16);
const AWAY = "b".repeat(16);
const processOf = (tag: string, digit: string): ProcessId => `${tag}${digit.repeat(16)}` as ProcessId;
const daemon = processOf(HERE, "0");
const owner = processOf(HERE, "1");
const caller = processOf(HERE, "2");
const worker = processOf(HERE, "3");
const callerAway = processOf(AWAY, "2");
const CALLS = -4;

interface World {
  service: RefService;
  from: (process: ProcessId, type: number, header: unknown) => void;
  /** A call with a ref, the last that somebody holds. */
  call: (sender: ProcessId, number: number) => void;
  /** Objects that nobody holds any more, and questions to the worker. */
  freed: unknown[];
  asked: unknown[];
  gone: Set<ProcessId>;
}

function world(): World {
  const all: Pick<World, "freed" | "asked" | "gone"> = { freed: [], asked: [], gone: new Set() };
  const peerOf = (id: ProcessId): HeadPeer => ({ id, connection: { send: () => {} } }) as unknown as HeadPeer;
  const service = new RefService({
    processId: daemon,
    nodeId: "" as NodeId,
    values: new RefValues(),
    peers: {
      peer: (id) => (all.gone.has(id) ? undefined : peerOf(id)),
      send: (to, type, header) => {
        if (to === owner && type === MESSAGE.REF_FREE) all.freed.push(...(header as ObjectId[]));
        if (to === worker && type === MESSAGE.HELD_ENDED) all.asked.push(header);
      },
      remote: { isHere: () => true, tell: () => {} },
    },
    objects: { adopt: () => {}, free: () => {}, arenaLost: () => {} },
    head: () => ({ unheld: () => {}, definitionUnheld: () => {} }),
  });
  const from: World["from"] = (process, type, header) => {
    handle(service.handlers, type, header, peerOf(process), { type, callId: 0, flags: 0, body: new Uint8Array(0) });
  };
  const call: World["call"] = (sender, number) => from(sender, MESSAGE.REF_HOLD, [[`object ${number}`, owner, worker, CALLS, number]]);
  return { service, from, call, ...all };
}

test("calls that the worker has not read when the link ends are given back, and no others", () => {
  const { from, call, freed, asked } = world();
  for (const number of [1, 2, 3]) call(caller, number);
  from(caller, MESSAGE.HELD_ENDED, [worker, CALLS]);
  expect(asked).toEqual([[caller, CALLS, daemon]]);
  expect(freed).toEqual([]);
  from(worker, MESSAGE.HELD_READ, [caller, CALLS, 2, daemon]);
  expect(freed).toEqual(["object 3"]);
  from(worker, MESSAGE.REF_RELEASE, [
    ["object 1", 1],
    ["object 2", 1],
  ]);
  expect(freed).toEqual(["object 3", "object 1", "object 2"]);
});

test("those of a caller that has died, too", () => {
  const { service, from, call, freed, asked } = world();
  call(caller, 1);
  service.processGone(caller);
  expect(asked).toEqual([[caller, CALLS, daemon]]);
  from(worker, MESSAGE.HELD_READ, [caller, CALLS, 0, daemon]);
  expect(freed).toEqual(["object 1"]);
});

test("one of another node has said all when its daemon says so, whatever the head says before", () => {
  const { service, from, call, freed, asked } = world();
  call(callerAway, 1);
  service.processGone(callerAway);
  expect(asked).toEqual([]);
  call(callerAway, 2);
  from(callerAway, MESSAGE.HELD_ENDED, []);
  expect(asked).toEqual([[callerAway, CALLS, daemon]]);
  from(worker, MESSAGE.HELD_READ, [callerAway, CALLS, 1, daemon]);
  expect(freed).toEqual(["object 2"]);
});

test("or when its node is dead", () => {
  const { service, call, asked } = world();
  call(callerAway, 1);
  call(caller, 2);
  service.nodeGone(AWAY as NodeTag);
  expect(asked).toEqual([[callerAway, CALLS, daemon]]);
});

test("nobody is asked of a link without holds, nor a worker that has gone", () => {
  const { service, from, call, freed, asked, gone } = world();
  from(caller, MESSAGE.HELD_ENDED, [worker, CALLS]);
  call(caller, 1);
  gone.add(worker);
  from(caller, MESSAGE.HELD_ENDED, [worker, CALLS]);
  expect(freed).toEqual(["object 1"]);
  service.processGone(worker);
  call(caller, 2);
  from(caller, MESSAGE.HELD_ENDED, [worker, CALLS]);
  expect(asked).toEqual([]);
});
