import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ActorId, ProcessId } from "../../runtime/base/ids.ts";
import type { ActorPhase, ActorStateHeader } from "../../runtime/wire/messages.ts";
import { ActorClient } from "./actor-client.ts";
import type { CallRecord } from "../calls/call-record.ts";
import type { WorkerLink, WorkerLinkEvents } from "../calls/links/worker-link.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Stands for a connection to one life of the actor. */
class FakeLink {
  readonly pushed: string[] = [];
  readonly #open: CallRecord[] = [];
  readonly #events: WorkerLinkEvents;
  isClosed = false;
  isFinished = false;
  readonly mayHaveRest = false;
  isCongested = false;
  onDrain: () => void = () => {};

  constructor(events: WorkerLinkEvents) {
    this.#events = events;
  }
  get inFlightCount(): number {
    return this.#open.length;
  }
  push(record: CallRecord): void {
    this.pushed.push(record.target.name);
    this.#open.push(record);
  }
  flushEarly(): void {}
  answer(): void {
    this.#open.shift();
    this.#events.onBatchEnd();
  }
  close(): CallRecord[] {
    this.isClosed = true;
    return this.#open.splice(0);
  }
  breaks(): void {
    this.isClosed = true;
    this.#events.onClosed(this as unknown as WorkerLink, { isWhole: false, sent: 0, reason: "it broke" });
  }
  finish(): { unanswered: CallRecord[]; isRestRead: boolean } {
    this.isFinished = true;
    return { unanswered: this.#open.splice(0), isRestRead: false };
  }
}

class World {
  readonly links: FakeLink[] = [];
  readonly failed: string[] = [];
  refusals = 0;
  idle = 0;
  readonly client = new ActorClient({
    id: "actor" as ActorId,
    className: "C",
    flushDaemon: () => {},
    connectWorker: (_target, events) => {
      if (this.refusals > 0) {
        this.refusals -= 1;
        return Promise.reject(new Error("the peer did not answer"));
      }
      const link = new FakeLink(events);
      this.links.push(link);
      return Promise.resolve(link as unknown as WorkerLink);
    },
    linkEvents: { onPlainResult: () => {}, onResult: () => {} },
    fail: (record, state, { behind }) =>
      this.failed.push(`${record.target.name} ${state.phase}${behind === undefined ? "" : ` behind ${behind}`}`),
    failDependency: () => {},
    onIdle: () => {
      this.idle += 1;
    },
  });

  call(name: string, retriesLeft = 0): void {
    const target = { kind: "method", id: name, name, meanMs: 0 };
    this.client.submit({ target, dependencies: [], results: [], retriesLeft, isEnded: false, isQueued: false } as unknown as CallRecord);
  }

  async state(phase: ActorPhase, incarnation: number): Promise<void> {
    const state: ActorStateHeader = {
      actorId: "actor" as ActorId,
      phase,
      incarnation,
      processId: `process ${incarnation}` as ProcessId,
      address: "address",
      pid: 1,
      reason: undefined,
      exit: undefined,
    };
    this.client.stateChanged(state);
    await settle();
  }
}

/** Lets promises that have resolved go on; no time passes. */
async function settle(): Promise<void> {
  await vi.advanceTimersByTimeAsync(0);
}

test.each(["its connection breaks first", "its death is told first"])("a dead actor's connection is not kept: %s", async (order) => {
  const world = new World();
  await world.state("alive", 0);
  const made = new WeakRef(world.links[0] as FakeLink);
  if (order === "its connection breaks first") world.links[0]?.breaks();
  await world.state("dead", 0);
  world.links.length = 0;
  vi.useRealTimers();
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  for (let round = 0; round < 20 && made.deref() !== undefined; round += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    collect();
  }
  expect(made.deref()).toBeUndefined();
  expect(world.client.pendingCount).toBe(0);
});

describe("the calls to an actor", () => {
  test("wait for it, and go to its next life before what came later, in order", async () => {
    const world = new World();
    world.call("a", 1);
    world.call("b", 1);
    await world.state("alive", 0);
    expect(world.links[0]?.pushed).toEqual(["a", "b"]);
    world.links[0]?.breaks();
    world.call("c");
    await world.state("restarting", 1);
    await world.state("alive", 1);
    expect(world.links[1]?.pushed).toEqual(["a", "b", "c"]);
    expect(world.failed).toEqual([]);
  });

  test("those that may not run twice fail, and name the one that was before them", async () => {
    const world = new World();
    await world.state("alive", 0);
    for (const name of ["a", "b"]) world.call(name);
    world.links[0]?.breaks();
    await world.state("dead", 0);
    expect(world.failed).toEqual(["a dead", "b dead behind a"]);
  });

  test("a new life is sent nothing before the last answers of the old one have been read", async () => {
    const world = new World();
    await world.state("alive", 0);
    world.call("a", 1);
    world.call("b", 1);
    await world.state("restarting", 1);
    world.call("c");
    await world.state("alive", 1);
    expect(world.links[1]?.pushed).toEqual([]);
    expect(world.client.pendingCount).toBe(3);
    world.links[0]?.answer();
    world.links[0]?.breaks();
    await settle();
    expect(world.links[1]?.pushed).toEqual(["b", "c"]);
  });

  test("answers that never end are given up after a second", async () => {
    const world = new World();
    await world.state("alive", 0);
    world.call("a", 1);
    await world.state("restarting", 1);
    await world.state("alive", 1);
    await vi.advanceTimersByTimeAsync(999);
    expect(world.links[1]?.pushed).toEqual([]);
    // And the turn after it.
    await vi.advanceTimersByTimeAsync(2);
    expect(world.links[1]?.pushed).toEqual(["a"]);
  });

  test("an actor that does not answer a new caller in time is tried again", async () => {
    const world = new World();
    world.refusals = 2;
    world.call("a");
    await world.state("alive", 0);
    await vi.advanceTimersByTimeAsync(100);
    expect(world.links).toEqual([]);
    await vi.advanceTimersByTimeAsync(200);
    expect(world.links[0]?.pushed).toEqual(["a"]);
  });

  test("a connection that breaks while the actor lives is made anew, and what was on it may have run", async () => {
    const world = new World();
    await world.state("alive", 0);
    world.call("once");
    world.call("again", 1);
    world.links[0]?.breaks();
    world.call("later");
    // And the turn after it.
    await vi.advanceTimersByTimeAsync(1001);
    expect(world.failed).toEqual(["once alive"]);
    expect(world.links[1]?.pushed).toEqual(["again", "later"]);
  });

  test("while no other can be made, it is not known whether the actor lives, and what must not run twice is told why it died", async () => {
    const world = new World();
    await world.state("alive", 0);
    world.call("once");
    world.refusals = 100;
    world.links[0]?.breaks();
    await vi.advanceTimersByTimeAsync(20_000);
    expect(world.failed).toEqual([]);
    await world.state("restarting", 1);
    expect(world.failed).toEqual(["once restarting"]);
  });

  test("a call that fails by its argument may be the last one: whoever waits for that is told", async () => {
    const world = new World();
    await world.state("alive", 0);
    const argument = { isSettled: true, state: "failed" };
    const target = { kind: "method", id: "a", name: "a", meanMs: 0 };
    world.client.submit({ target, dependencies: [argument], results: [], isEnded: false, isQueued: false } as unknown as CallRecord);
    expect(world.client.pendingCount).toBe(0);
    expect(world.idle).toBe(1);
  });

  test("so may one that was with a life that ended, or on a connection that broke, and must not run twice", async () => {
    const world = new World();
    world.call("a");
    await world.state("alive", 0);
    world.links[0]?.breaks();
    await world.state("restarting", 1);
    expect([world.failed, world.idle]).toEqual([["a restarting"], 1]);
    await world.state("alive", 1);
    world.call("b");
    world.links[1]?.breaks();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(world.failed).toEqual(["a restarting", "b alive"]);
    expect(world.idle).toBe(2);
  });

  test("those that a redirect takes to a dead actor fail, and whoever waits for the last one is told", async () => {
    const existing = new World();
    await existing.state("dead", 0);
    const idleBefore = existing.idle;
    const world = new World();
    world.call("a");
    world.client.redirectTo(existing.client);
    expect(existing.failed).toEqual(["a dead"]);
    expect(world.client.resolved.pendingCount).toBe(0);
    expect(existing.idle).toBe(idleBefore + 1);
  });

  test("waits for the constructor fail with the session", async () => {
    const { client } = new World();
    const waits = client.ready();
    client.close((call) => new Error(`${call} is over`));
    await expect(waits).rejects.toThrow("C.constructor is over");
    await expect(client.ready()).rejects.toThrow("C.constructor is over");
  });

  test("nothing is tried again after the end of the session", async () => {
    const world = new World();
    world.refusals = 1;
    world.call("a");
    await world.state("alive", 0);
    expect(world.client.close((call) => new Error(`${call} is over`))).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(world.links).toEqual([]);
  });
});
