/** What is known of calls whose connection ended before their answers came. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ProcessId } from "../../../runtime/base/ids.ts";
import type { WorkerExitedHeader } from "../../../runtime/wire/messages.ts";
import type { CallRecord } from "../call-record.ts";
import { EndedLinks, type Ending, splitBegun } from "./ended-links.ts";

const WORKER = "w" as ProcessId;
const WITHIN_MS = 2000;
const EXIT = { workerId: WORKER, exitCode: 1 } as unknown as WorkerExitedHeader;

function callsOf(count: number, parked: readonly number[] = []): CallRecord[] {
  return Array.from({ length: count }, (_, index) => ({ sequence: index, hasParked: parked.includes(index) }) as unknown as CallRecord);
}

function sequencesOf({ begun, notBegun }: ReturnType<typeof splitBegun>): [begun: number[], notBegun: number[]] {
  return [begun.map(({ sequence }) => sequence), notBegun.map(({ sequence }) => sequence)];
}

describe("of calls without an answer", () => {
  test("all may have begun where nobody says why the connection ended", () => {
    const link = { worker: WORKER, leaseId: 1, sent: 3, unanswered: callsOf(3), isWhole: true };
    expect(sequencesOf(splitBegun(link, undefined))).toEqual([[0, 1, 2], []]);
  });

  test("those that parked and the first that had not have begun where the worker has ended", () => {
    const link = { worker: WORKER, leaseId: 1, sent: 9, unanswered: callsOf(4, [0, 2]), isWhole: true };
    expect(sequencesOf(splitBegun(link, EXIT))).toEqual([[0, 1, 2], [3]]);
  });

  test("all up to the one that the worker had marked as running have begun: their answers may not have been written", () => {
    const link = { worker: WORKER, leaseId: 1, sent: 9, unanswered: callsOf(5, [1]), isWhole: true };
    const ran = (callId: number): WorkerExitedHeader => ({ ...EXIT, running: [WORKER, callId] });
    expect(sequencesOf(splitBegun(link, ran(3)))).toEqual([[0, 1, 2, 3], [4]]);
    expect(sequencesOf(splitBegun({ ...link, isWhole: false }, ran(3)))).toEqual([[0, 1, 2, 3], [4]]);
    // One that had parked goes on after others have begun, and one that was answered says nothing.
    for (const callId of [1, 99]) {
      expect(sequencesOf(splitBegun(link, ran(callId)))).toEqual([
        [0, 1],
        [2, 3, 4],
      ]);
      expect(sequencesOf(splitBegun({ ...link, isWhole: false }, ran(callId)))).toEqual([[0, 1, 2, 3, 4], []]);
    }
  });

  test("all up to the one that the worker has marked as the last of the connection have begun, parked or not, whatever the network lost", () => {
    const link = { worker: WORKER, leaseId: 3, sent: 9, unanswered: callsOf(5, [1]), isWhole: true };
    const began = (leaseId: number, callId: number): WorkerExitedHeader => {
      return {
        ...EXIT,
        running: [WORKER, 0],
        begun: [
          [2, 4],
          [leaseId, callId],
        ],
      };
    };
    for (const isWhole of [true, false]) {
      expect(sequencesOf(splitBegun({ ...link, isWhole }, began(3, 3)))).toEqual([[0, 1, 2, 3], [4]]);
      // It had parked, and nothing behind it has begun since.
      expect(sequencesOf(splitBegun({ ...link, isWhole }, began(3, 1)))).toEqual([
        [0, 1],
        [2, 3, 4],
      ]);
      expect(sequencesOf(splitBegun({ ...link, isWhole, leaseId: 2 ** 32 + 3 }, began(3, 3)))).toEqual([[0, 1, 2, 3], [4]]);
    }
    // The last that began was answered.
    expect(sequencesOf(splitBegun(link, began(3, 99)))).toEqual([
      [0, 1],
      [2, 3, 4],
    ]);
    expect(sequencesOf(splitBegun({ ...link, isWhole: false }, began(3, 99)))).toEqual([[0, 1, 2, 3, 4], []]);
  });

  test("none has begun where the worker has marked other connections alone: it ended by a call of those", () => {
    const exit = { ...EXIT, running: [WORKER, 4], begun: [[2, 4]] } as unknown as WorkerExitedHeader;
    for (const isWhole of [true, false]) {
      const link = { worker: WORKER, leaseId: 3, sent: 3, unanswered: callsOf(3), isWhole };
      expect(sequencesOf(splitBegun(link, exit))).toEqual([[], [0, 1, 2]]);
    }
    // There is no place for more marks.
    const full = { ...exit, begun: Array.from({ length: 64 }, (_, index) => [index + 10, 1]) } as unknown as WorkerExitedHeader;
    const link = { worker: WORKER, leaseId: 3, sent: 2, unanswered: callsOf(2), isWhole: true };
    expect(sequencesOf(splitBegun(link, full))).toEqual([[0], [1]]);
  });

  test("all may have begun where the worker has ended and the network, or its node, before it: answers may have been on their way", () => {
    const link = { worker: WORKER, leaseId: 1, sent: 3, unanswered: callsOf(3), isWhole: false };
    expect(sequencesOf(splitBegun(link, EXIT))).toEqual([[0, 1, 2], []]);
    expect(sequencesOf(splitBegun(link, { read: 1 }))).toEqual([[0], [1, 2]]);
  });

  test.each([
    { sent: 3, read: 0, begun: [], notBegun: [0, 1, 2] },
    { sent: 3, read: 1, begun: [0], notBegun: [1, 2] },
    { sent: 3, read: 3, begun: [0, 1, 2], notBegun: [] },
    // Two have been answered.
    { sent: 5, read: 2, begun: [], notBegun: [0, 1, 2] },
    { sent: 5, read: 4, begun: [0, 1], notBegun: [2] },
  ])("of $sent that were sent only the last have not begun where a worker that lives has read $read", ({ sent, read, begun, notBegun }) => {
    const link = { worker: WORKER, leaseId: 1, sent, unanswered: callsOf(3), isWhole: true };
    expect(sequencesOf(splitBegun(link, { read }))).toEqual([begun, notBegun]);
  });
});

describe("what is said of a worker", () => {
  let ended: EndedLinks;
  let told: (Ending | undefined)[];

  function end(leaseId: number): void {
    ended.ended({ worker: WORKER, leaseId, sent: 1, unanswered: callsOf(1), isWhole: true }, WITHIN_MS, (ending) => told.push(ending));
  }

  beforeEach(() => {
    vi.useFakeTimers();
    ended = new EndedLinks();
    told = [];
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test("counts before the end of its connection and after it", async () => {
    ended.opened(WORKER, 1);
    ended.readOver(WORKER, 1, 7);
    end(1);
    expect(told).toEqual([]);
    await vi.advanceTimersByTimeAsync(0);
    expect(told).toEqual([{ read: 7 }]);
    ended.opened(WORKER, 2);
    end(2);
    ended.workerExited(EXIT);
    expect(told).toEqual([{ read: 7 }, EXIT]);
    expect(Array.from(ended.calls())).toEqual([]);
    await vi.advanceTimersByTimeAsync(10 * WITHIN_MS);
    expect(told).toHaveLength(2);
  });

  test("is of the connection that it names: another to the same worker may have ended before", async () => {
    ended.opened(WORKER, 1);
    end(1);
    ended.opened(WORKER, 2);
    ended.readOver(WORKER, 2, 0);
    expect(told).toEqual([]);
    expect(Array.from(ended.calls())).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(WITHIN_MS + 1);
    expect(told).toEqual([undefined]);
    end(2);
    await vi.advanceTimersByTimeAsync(0);
    expect(told).toEqual([undefined, { read: 0 }]);
  });

  test("is kept over its exit: what it had read it had answered", async () => {
    ended.opened(WORKER, 1);
    ended.readOver(WORKER, 1, 0);
    ended.workerExited(EXIT);
    end(1);
    await vi.advanceTimersByTimeAsync(0);
    expect(told).toEqual([{ read: 0 }]);
  });

  test("is heard by nobody after the end", async () => {
    ended.opened(WORKER, 1);
    end(1);
    ended.close();
    ended.workerExited(EXIT);
    await vi.advanceTimersByTimeAsync(10 * WITHIN_MS);
    expect(told).toEqual([]);
  });
});
