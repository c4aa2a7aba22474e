import { expect, test, vi } from "vitest";
import type { NodeTag, ObjectId, ProcessId } from "../../../runtime/base/ids.ts";
import type { Connection } from "../../../runtime/rpc/connection.ts";
import { MESSAGE } from "../../../runtime/wire/messages.ts";
import type { CallRecord } from "../call-record.ts";
import { TaskSubmitter } from "./task-submitter.ts";
import type { WorkerLink, WorkerLinkEvents } from "../links/worker-link.ts";

const SHAPE = "CPU:10000";

/** Stands for the connection of a worker to itself. */
class Link {
  readonly processId = "w" as ProcessId;
  readonly pushed: CallRecord[] = [];
  isClosed = false;

  get openCalls(): CallRecord[] {
    return this.pushed;
  }

  get inFlightCount(): number {
    return this.pushed.length;
  }

  push(record: CallRecord): void {
    this.pushed.push(record);
  }

  flushEarly(): void {}

  finish(): { unanswered: CallRecord[]; isRestRead: boolean } {
    return { unanswered: this.pushed, isRestRead: false };
  }

  close(): void {
    this.isClosed = true;
  }
}

function newRecord(sequence: number): CallRecord {
  return {
    sequence,
    shape: SHAPE,
    target: { kind: "task", id: "f", name: "f", meanMs: 1 },
    dependencies: [],
    retry: { maxRetries: 3 },
    isEnded: false,
  } as never;
}

/** Makes a submitter without any worker whose callbacks do nothing; options replace these defaults. */
function newSubmitter(given: Partial<ConstructorParameters<typeof TaskSubmitter>[0]>): TaskSubmitter {
  return new TaskSubmitter({
    node: "here" as NodeTag,
    daemon: { send: () => {} } as unknown as Connection,
    flushDaemon: () => {},
    connectWorker: () => Promise.reject(new Error("there is no other worker")),
    ownWorker: undefined,
    firstCalls: undefined,
    onHandedOn: () => {},
    onPlainResult: () => {},
    onResult: () => {},
    onWorkerLost: () => {},
    onRefused: () => {},
    failDependency: () => {},
    awaitDependencies: () => {},
    onArgumentsLost: () => {},
    nowMs: () => 0,
    ...given,
  });
}

test("a worker makes a new connection to itself when the last was dropped while it was idle", () => {
  const links: Link[] = [];
  const submitter = newSubmitter({
    ownWorker: {
      id: "self" as ProcessId,
      link: () => {
        const link = new Link();
        links.push(link);
        return link as unknown as WorkerLink;
      },
      isFree: () => true,
      wake: () => {},
    },
  });
  const runNext = (sequence: number): void => {
    submitter.submit(newRecord(sequence));
    expect(submitter.runOwn(SHAPE)).toBe(true);
  };
  runNext(1);
  runNext(2);
  expect(links.map((link) => link.pushed.length)).toEqual([2]);
  (links[0] as Link).isClosed = true;
  runNext(3);
  expect(links.map((link) => link.pushed.length)).toEqual([2, 1]);
  submitter.close();
});

test.each([
  { worker: `${"a".repeat(16)}1`, withinMs: 10_000 },
  { worker: `${"b".repeat(16)}1`, withinMs: 2000 },
])("when a connection to worker $worker breaks and that lives on, every task on it may have run", async ({ worker, withinMs }) => {
  vi.useFakeTimers();
  const lost: unknown[] = [];
  let events: WorkerLinkEvents | undefined;
  const link = new Link();
  const submitter = newSubmitter({
    node: "a".repeat(16) as NodeTag,
    connectWorker: (_target, given) => {
      events = given;
      return Promise.resolve(link as unknown as WorkerLink);
    },
    onWorkerLost: (record, exit) => lost.push([record.sequence, exit]),
  });
  const records = [newRecord(1), newRecord(2), newRecord(3)];
  submitter.submit(records[0] as CallRecord);
  submitter.granted({ leaseId: 1, shape: SHAPE, workerId: worker as ProcessId, address: "", pid: 1, accelerators: undefined });
  await vi.advanceTimersByTimeAsync(0);
  link.pushed.splice(0, Infinity, ...records);
  events?.onClosed(link as unknown as WorkerLink, { isWhole: false, sent: 3, reason: "it broke" });
  // A worker that has died would be reported within that time: then those behind the first had not begun.
  await vi.advanceTimersByTimeAsync(withinMs - 1);
  expect(lost).toEqual([]);
  // And the turn after it.
  await vi.advanceTimersByTimeAsync(2);
  expect(lost).toEqual([
    [1, undefined],
    [2, undefined],
    [3, undefined],
  ]);
  submitter.close();
  vi.useRealTimers();
});

test("what a worker says when it gives up a lease is of the connection for that lease: what was sent over one that broke before may have run", async () => {
  vi.useFakeTimers();
  const lost: number[] = [];
  const links: { link: Link; events: WorkerLinkEvents }[] = [];
  const submitter = newSubmitter({
    connectWorker: (_target, events) => {
      const link = new Link();
      links.push({ link, events });
      return Promise.resolve(link as unknown as WorkerLink);
    },
    onWorkerLost: (record) => lost.push(record.sequence),
  });
  const grant = async (leaseId: number): Promise<void> => {
    submitter.granted({ leaseId, shape: SHAPE, workerId: "w" as ProcessId, address: "tcp://h:1", pid: 1, accelerators: undefined });
    await vi.advanceTimersByTimeAsync(0);
  };
  const [first, second] = [newRecord(1), newRecord(2)];
  submitter.submit(first);
  await grant(1);
  links[0]?.events.onClosed(links[0].link as unknown as WorkerLink, { isWhole: false, sent: 1, reason: "it broke" });
  submitter.submit(second);
  await grant(2);
  submitter.taken("w" as ProcessId, 2, [[2, 0]]);
  links[1]?.events.onClosed(links[1].link as unknown as WorkerLink, { isWhole: false, sent: 1, reason: "it broke" });
  await grant(3);
  expect([lost, links[2]?.link.pushed]).toEqual([[], [second]]);
  await vi.advanceTimersByTimeAsync(2001);
  expect(lost).toEqual([1]);
  submitter.close();
  vi.useRealTimers();
});

test("a call that was on its way to the worker itself when that closed the connection is queued again", () => {
  const links: Link[] = [];
  const events: WorkerLinkEvents[] = [];
  const submitter = newSubmitter({
    ownWorker: {
      id: "self" as ProcessId,
      link: (own) => {
        const link = new Link();
        links.push(link);
        events.push(own);
        return link as unknown as WorkerLink;
      },
      isFree: () => true,
      wake: () => {},
    },
  });
  const record = newRecord(1);
  submitter.submit(record);
  expect(submitter.runOwn(SHAPE)).toBe(true);
  links[0]?.close();
  events[0]?.onClosed?.(links[0] as unknown as WorkerLink, { isWhole: true, sent: 1, reason: "it was idle" });
  expect(submitter.whereIs(record)).toBeUndefined();
  expect(submitter.runOwn(SHAPE)).toBe(true);
  expect(links.map(({ pushed }) => pushed)).toEqual([[record], [record]]);
});

test("a call whose dependency has failed while it was queued is not sent, and the one behind it is", async () => {
  const link = new Link();
  const failed: [CallRecord, unknown][] = [];
  const submitter = newSubmitter({
    connectWorker: () => Promise.resolve(link as unknown as WorkerLink),
    ownWorker: { id: "self" as ProcessId, link: () => link as unknown as WorkerLink, isFree: () => true, wake: () => {} },
    failDependency: (record, dependency) => void failed.push([record, dependency]),
  });
  const dependency = { state: "ready" };
  const needing = [1, 2].map((sequence) => ({ ...newRecord(sequence), dependencies: [dependency as never] }));
  const other = newRecord(3);
  for (const record of [...needing, other]) submitter.submit(record);
  dependency.state = "failed";
  expect(submitter.runOwn(SHAPE)).toBe(true);
  expect(link.pushed).toEqual([other]);
  expect(failed).toEqual(needing.map((record) => [record, dependency]));
  expect(submitter.runOwn(SHAPE)).toBe(false);

  const late = { ...newRecord(4), dependencies: [dependency as never] };
  submitter.submit(late);
  expect(failed.at(-1)).toEqual([late, dependency]);

  const granted = { ...newRecord(5), dependencies: [{ state: "ready" }] } as never as CallRecord & { dependencies: [{ state: string }] };
  submitter.submit(granted);
  granted.dependencies[0].state = "failed";
  submitter.granted({ shape: SHAPE, workerId: "w", leaseId: 1, pid: 1, address: "", accelerators: undefined } as never);
  await Promise.resolve();
  await Promise.resolve();
  expect(failed.at(-1)?.[0]).toBe(granted);
  expect(link.pushed).toEqual([other]);
});

test("calls that a worker declines wait again, in their order before those that waited, and use up no retry", async () => {
  const sent: unknown[] = [];
  const link = new Link();
  let events: WorkerLinkEvents | undefined;
  const submitter = newSubmitter({
    daemon: { send: (type: number, header: unknown) => void sent.push([type, header]) } as unknown as Connection,
    connectWorker: (_target, given) => {
      events = given;
      return Promise.resolve(link as unknown as WorkerLink);
    },
    onWorkerLost: () => expect.unreachable("no worker has died"),
  });
  // Five milliseconds of work are sent ahead, and two tasks wait.
  const records = Array.from({ length: 6 }, (_, index) => newRecord(index + 1));
  for (const record of records) submitter.submit(record);
  const grant = { shape: SHAPE, address: "a", pid: 1, accelerators: undefined };
  submitter.granted({ ...grant, leaseId: 1, workerId: "w" as ProcessId });
  await vi.waitFor(() => expect(link.pushed).toEqual(records.slice(0, 4)));
  records[3] = Object.assign(records[3] as CallRecord, { isEnded: true });
  for (const record of records.slice(1, 4)) events?.onDeclined(record, []);
  events?.onBatchEnd();
  expect(submitter.pendingCount).toBe(5);
  // Nothing more goes to that worker; its lease is returned with the last answer.
  expect(link.pushed).toHaveLength(4);
  events?.onPlainResult(records[0] as CallRecord, new Uint8Array(), { graph: false, error: false }, 1);
  events?.onBatchEnd();
  expect(sent).toContainEqual([12, ["w", 1]]);
  link.pushed.length = 0;
  submitter.granted({ ...grant, leaseId: 2, workerId: "w" as ProcessId });
  await vi.waitFor(() => expect(link.pushed).toEqual([records[1], records[2], records[4], records[5]]));
  submitter.close();
});

test("a call that comes back to a free lease asks for no second lease", async () => {
  const sent: [number, unknown][] = [];
  const link = new Link();
  const relayed = Object.assign(new Link(), { number: 7, flush: () => {} });
  const submitter = newSubmitter({
    daemon: { send: (type: number, header: unknown) => void sent.push([type, header]) } as unknown as Connection,
    connectWorker: () => Promise.resolve(link as unknown as WorkerLink),
    firstCalls: {
      taskIdPrefix: "p",
      newLink: () => ({ link: relayed, transport: { take: () => [], closed: () => {} }, opened: () => {} }) as never,
    },
  });
  const record = newRecord(1);
  submitter.submit(record);
  expect(sent).toEqual([[MESSAGE.LEASE_DEMAND, { shape: SHAPE, backlog: 1, first: { link: 7, taskIdPrefix: "p", once: false } }]]);
  // The worker of another node has not had the call, which the daemon here still keeps.
  submitter.granted({ shape: SHAPE, address: "a", pid: 1, accelerators: undefined, leaseId: 1, workerId: "w" as ProcessId });
  await vi.waitFor(() => expect(sent.at(-1)).toEqual([MESSAGE.FIRST_CALLS_BACK, [7]]));
  await new Promise(setImmediate);
  submitter.firstCallsBack([7]);
  await new Promise(setImmediate);
  expect(link.pushed).toEqual([record]);
  expect(sent.filter(([type]) => type === MESSAGE.LEASE_DEMAND)).toHaveLength(1);
  submitter.close();
});

test("a call whose dependency is made again is not sent, and one that comes back without it returns its lease", async () => {
  const link = new Link();
  const sent: unknown[] = [];
  const awaited: CallRecord[] = [];
  const lost: unknown[] = [];
  let events: WorkerLinkEvents | undefined;
  const submitter = newSubmitter({
    daemon: { send: (...message: unknown[]) => void sent.push(message) } as unknown as Connection,
    connectWorker: (_target, given) => {
      events = given;
      return Promise.resolve(link as unknown as WorkerLink);
    },
    awaitDependencies: (record) => void awaited.push(record),
    onArgumentsLost: (...told) => void lost.push(told),
  });
  const dependency = { state: "ready" };
  const needing = [1, 2].map((sequence) => ({ ...newRecord(sequence), dependencies: [dependency as never] }));
  const other = newRecord(3);
  for (const record of [...needing, other]) submitter.submit(record);
  submitter.granted({ shape: SHAPE, address: "a", pid: 1, accelerators: undefined, leaseId: 1, workerId: "w" as ProcessId });
  await vi.waitFor(() => expect(link.pushed.length).toBeGreaterThan(0));
  const first = needing[0] as CallRecord;
  const named: Parameters<WorkerLinkEvents["onDeclined"]>[1] = [["object" as ObjectId, ["file", 0, 0, "memory"]]];
  dependency.state = "pending";
  events?.onDeclined(first, named);
  events?.onBatchEnd();
  expect(lost).toEqual([[first, named]]);
  expect(awaited).toEqual(link.pushed.includes(needing[1] as CallRecord) ? [] : [needing[1]]);
  submitter.submit(first);
  expect(awaited).toContain(first);
  submitter.close();
});

test("leases that were revoked are all returned when their last answers arrive together", async () => {
  const link = new Link();
  const returned: unknown[] = [];
  let events: WorkerLinkEvents | undefined;
  const submitter = newSubmitter({
    daemon: { send: (type: number, header: unknown) => type === MESSAGE.LEASE_RETURN && returned.push(header) } as unknown as Connection,
    connectWorker: (_target, given) => {
      events = given;
      return Promise.resolve(link as unknown as WorkerLink);
    },
    onWorkerLost: () => expect.unreachable("no worker has died"),
  });
  const worker = "w" as ProcessId;
  const records = [1, 2, 3].map((sequence) => newRecord(sequence));
  for (const [index, record] of records.entries()) {
    // Each has parked before the next was sent, so the worker was leased again.
    record.target.meanMs = Number.POSITIVE_INFINITY;
    submitter.submit(record);
    submitter.granted({ shape: SHAPE, address: "a", pid: 1, accelerators: undefined, leaseId: index + 1, workerId: worker });
    await vi.waitFor(() => expect(link.pushed).toHaveLength(index + 1));
  }
  for (const leaseId of [1, 2, 3]) submitter.revoked(worker, leaseId);
  for (const record of records) events?.onPlainResult(record, new Uint8Array(), { graph: false, error: false }, 1);
  events?.onBatchEnd();
  expect(returned).toEqual([
    [worker, 1],
    [worker, 2],
    [worker, 3],
  ]);
  submitter.close();
});
