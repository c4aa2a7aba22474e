import { expect, test } from "vitest";
import type { ProcessId } from "../../../base/ids.ts";
import { MESSAGE } from "../../../wire/messages.ts";
import type { Peer } from "../../node-peers.ts";
import { FirstCalls } from "./first-calls.ts";

const [caller, worker, other] = ["caller", "worker", "other"] as ProcessId[] as [ProcessId, ProcessId, ProcessId];
const SHAPE = "CPU:10000";

/** `sent` has a row for each message: the receiver, the type, the header, and the body as text. */
function setUp(): { calls: FirstCalls; sent: unknown[][]; comes: (link: number) => void; grants: () => number | undefined } {
  const sent: unknown[][] = [];
  const peers = [caller, worker, other].map((id): [ProcessId, Peer] => {
    const send = (type: number, header: unknown, { parts = [] }: { parts?: Uint8Array[] } = {}): void => {
      sent.push([id, type, header, Buffer.concat(parts).toString()]);
    };
    return [id, { id, holderId: id, kind: "driver", pid: 1, address: "", jobId: "job", connection: { send } } as unknown as Peer];
  });
  const calls = new FirstCalls(new Map(peers));
  return {
    calls,
    sent,
    comes: (link) =>
      calls.came(caller, { shape: SHAPE, backlog: 1, first: { link, taskIdPrefix: "p", once: false } }, Buffer.from(`call ${link}`)),
    grants: () =>
      calls.granted({ kind: "grant", leaseId: 7, owner: caller, worker, spec: { key: SHAPE }, accelerators: undefined } as never)?.first,
  };
}

test("a call is handed on once, in the order of coming, and is not given back then", () => {
  const { calls, sent, comes, grants } = setUp();
  comes(1);
  comes(2);
  expect(grants()).toBe(1);
  expect(sent).toEqual([
    [
      worker,
      MESSAGE.FIRST_CALL,
      expect.objectContaining({ leaseId: 7, caller: expect.objectContaining({ processId: caller, link: 1 }) }),
      "call 1",
    ],
  ]);
  expect(calls.waitingOf(caller)).toEqual(new Map([[SHAPE, 1]]));
  expect(calls.askedBack(caller, [1, 2])).toEqual([2]);
  expect(calls.waitingOf(caller)).toEqual(new Map());
  expect(calls.askedBack(caller, [1, 2])).toEqual([]);
  expect(grants()).toBeUndefined();
});

test("calls of another shape or caller, and refused ones, are handed to nobody", () => {
  const { calls, comes, grants } = setUp();
  comes(1);
  const grant = { kind: "grant", leaseId: 1, owner: caller, worker, spec: { key: "CPU:5000" }, accelerators: undefined } as never;
  expect(calls.granted(grant)).toBeUndefined();
  calls.refused(other, SHAPE);
  calls.refused(caller, SHAPE);
  expect(grants()).toBeUndefined();
});

test("what the two ends say passes, and nothing that somebody else says", () => {
  const { calls, sent, comes, grants } = setUp();
  comes(3);
  grants();
  sent.length = 0;
  calls.relayed(worker, caller, 3, Buffer.from("answer"));
  calls.relayed(caller, worker, -3, Buffer.from("cancel"));
  calls.relayed(other, caller, 3, Buffer.from("forged"));
  calls.relayed(other, worker, -3, Buffer.from("forged"));
  calls.relayed(caller, worker, -3, Buffer.alloc(0));
  calls.relayed(worker, caller, 3, Buffer.from("too late"));
  expect(sent).toEqual([
    [caller, MESSAGE.RELAYED, [worker, 3], "answer"],
    [worker, MESSAGE.RELAYED, [caller, -3], "cancel"],
    [worker, MESSAGE.RELAYED, [caller, -3], ""],
  ]);
});

test("the end of a caller ends its connections, and takes what waits", () => {
  const { calls, sent, comes, grants } = setUp();
  comes(1);
  comes(2);
  grants();
  sent.length = 0;
  calls.processGone(caller);
  expect(sent).toEqual([[worker, MESSAGE.RELAYED, [caller, -1], ""]]);
  expect(grants()).toBeUndefined();
});
