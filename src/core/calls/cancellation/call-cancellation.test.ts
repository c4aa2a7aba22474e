import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ProcessId } from "../../../runtime/base/ids.ts";
import type { Connection } from "../../../runtime/rpc/connection.ts";
import { type CancelRunningHeader, MESSAGE } from "../../../runtime/wire/messages.ts";
import { CANCEL_GRACE_MS } from "../../../runtime/base/limits.ts";
import { CallCancellation } from "./call-cancellation.ts";
import type { CallRecord } from "../call-record.ts";
import type { WorkerLink } from "../links/worker-link.ts";

/** Between its ticks. */
const TICK_MS = 50;
const RECORD = { target: { name: "f" }, results: [], isEnded: false } as unknown as CallRecord;

/** A worker that has begun the call and does not answer for it. */
class StubbornLink {
  readonly processId = "worker" as ProcessId;
  /** What it was told to do with the call. */
  readonly told: { abandon: boolean }[] = [];
  readonly asked: PromiseWithResolvers<unknown>[] = [];
  isUnanswered = (): boolean => true;
  hasBegun = (): boolean => true;
  callIdOf = (): number => 1;
  cancel(_record: CallRecord, header: { abandon: boolean }): void {
    this.told.push(header);
  }
  ask(): Promise<unknown> {
    const asked = Promise.withResolvers<unknown>();
    this.asked.push(asked);
    return asked.promise;
  }
}

let nowMs = 0;
let kills = 0;
let link: StubbornLink;
let cancellation: CallCancellation;

/** The event loop turns for so long. */
async function turnFor(ms: number): Promise<void> {
  for (let passedMs = 0; passedMs < ms; passedMs += TICK_MS) {
    nowMs += TICK_MS;
    await vi.advanceTimersByTimeAsync(TICK_MS);
  }
}

/** The process stands still, and the tick that was due comes after it. */
async function standStillFor(ms: number): Promise<void> {
  nowMs += ms;
  await vi.advanceTimersByTimeAsync(TICK_MS);
}

beforeEach(() => {
  vi.useFakeTimers();
  nowMs = 0;
  kills = 0;
  link = new StubbornLink();
  cancellation = new CallCancellation({
    processId: "driver" as ProcessId,
    daemon: {
      send: (type: number, header: CancelRunningHeader) => {
        if (type === MESSAGE.CANCEL_RUNNING && header.kill) kills += 1;
      },
    } as unknown as Connection,
    nowMs: () => nowMs,
    fail: () => {},
    withdraw: () => link as unknown as WorkerLink,
    linkOf: () => link as unknown as WorkerLink,
    openCalls: () => [],
  });
});

afterEach(() => {
  cancellation.close();
  vi.useRealTimers();
});

describe("a worker that does not let go of a cancelled call", () => {
  test("is told to go on without it after the time of grace, and ended when it does not", async () => {
    cancellation.cancelRecord(RECORD, { force: false, recursive: true });
    await turnFor(CANCEL_GRACE_MS);
    expect([link.told.map(({ abandon }) => abandon), kills]).toEqual([[false], 0]);
    await turnFor(TICK_MS);
    expect([link.told.map(({ abandon }) => abandon), kills]).toEqual([[false, true], 0]);
    await turnFor(1000);
    expect(kills).toBeGreaterThan(0);
  });

  test("has its time of grace also when this process stood still", async () => {
    cancellation.cancelRecord(RECORD, { force: false, recursive: true });
    await turnFor(200);
    await standStillFor(10 * CANCEL_GRACE_MS);
    await standStillFor(10 * CANCEL_GRACE_MS);
    await turnFor(CANCEL_GRACE_MS / 2);
    expect([link.told.map(({ abandon }) => abandon), kills]).toEqual([[false], 0]);
  });

  test("has its time to say that it goes on without it also when this process stood still", async () => {
    cancellation.cancelRecord(RECORD, { force: false, recursive: true });
    await turnFor(CANCEL_GRACE_MS + TICK_MS);
    await standStillFor(10 * CANCEL_GRACE_MS);
    expect([link.told.length, kills]).toEqual([2, 0]);
  });
});

describe("a worker with a stream that nobody reads any more", () => {
  test("is asked whether it hears anything, and ended when it does not answer in as long", async () => {
    cancellation.streamStopped(RECORD);
    await turnFor(2 * CANCEL_GRACE_MS);
    expect([link.asked.length, kills]).toEqual([1, 0]);
    await turnFor(2 * TICK_MS);
    expect([link.asked.length, kills]).toEqual([1, 1]);
  });

  test("is not ended for an answer that came while this process stood still", async () => {
    cancellation.streamStopped(RECORD);
    await turnFor(CANCEL_GRACE_MS + TICK_MS);
    await standStillFor(10 * CANCEL_GRACE_MS);
    link.asked[0]?.resolve({});
    await turnFor(CANCEL_GRACE_MS);
    expect([link.asked.length, kills]).toEqual([2, 0]);
  });
});
