/**
 * Lost objects, in all processes that they concern: the worker that made them, its daemon, and readers.
 *
 * Tables, lineage, recovery and the daemon's books are the real ones; the connections between them are queues, which a test empties in an order of its own or of a seed. Places of the
 * store are numbers that can be lost. A run of a call is a line in a list until the test ends it. What must hold in any order: whoever reads gets a place that can be read, or an
 * error; each place is freed once; and when everything was dropped, nothing is left.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ObjectLostError, type ShoalError } from "../../../runtime/base/errors.ts";
import { IdSource, type JobId, type NodeId, nodeTagOf, type ObjectId, type ProcessId } from "../../../runtime/base/ids.ts";
import { DaemonChannel } from "../../../runtime/objects/daemon-channel.ts";
import { noteLost } from "../../../runtime/objects/lost-object.ts";
import { ObjectEntry } from "../../../runtime/objects/object-entry.ts";
import { ObjectTable } from "../../../runtime/objects/object-table.ts";
import { inBandPayload, NO_BYTES, type Payload } from "../../../runtime/objects/payload.ts";
import { RefService } from "../../../runtime/node/references/ref-service.ts";
import { RefValues } from "../../../runtime/node/references/ref-values.ts";
import type { Connection } from "../../../runtime/rpc/connection.ts";
import type { HeadPeer } from "../../../runtime/rpc/head-service.ts";
import type { Frame } from "../../../runtime/wire/frame.ts";
import { encodeHeader } from "../../../runtime/wire/header.ts";
import { handle } from "../../../runtime/wire/tables/message-table.ts";
import type { WireLocation } from "../../../runtime/wire/messages.ts";
import type { Runtime } from "../../runtime.ts";
import { DaemonMessages } from "../../session/daemon-messages.ts";
import type { CallRecord } from "../call-record.ts";
import { Lineage } from "./lineage.ts";
import { RECONSTRUCTION_REASON, Recovery } from "./recovery.ts";

const processOf = (node: string, digit: string): ProcessId => (node.repeat(16) + digit.repeat(16)) as ProcessId;
const DAEMON = processOf("a", "0");
const MAKER = processOf("a", "1");
const NEAR = processOf("a", "2");
const FAR = processOf("b", "3");

interface Message {
  readonly type: number;
  readonly header: unknown;
  readonly body: Uint8Array;
}

interface Read {
  readonly entry: ObjectEntry;
  /** The place that was read, or why none was. */
  outcome: number | Error | undefined;
}

/** A process: what it holds, reads and runs. */
class Process {
  readonly table: ObjectTable;
  readonly lineage: Lineage;
  readonly recovery: Recovery;
  readonly channel: DaemonChannel;
  /** Pinned once each, as a handle would. */
  readonly held: ObjectEntry[] = [];
  readonly reads: Read[] = [];
  /** Calls that run, each as often as it does. */
  readonly running: CallRecord[] = [];
  readonly #id: ProcessId;
  readonly #world: World;
  readonly #messages: DaemonMessages;
  readonly #ids: IdSource;

  constructor(id: ProcessId, world: World) {
    this.#id = id;
    this.#world = world;
    const connection = {
      send: (type: number, header: unknown, { parts = [] }: { parts?: readonly Uint8Array[] } = {}) =>
        world.send(id, DAEMON, { type, header: structuredClone(header), body: Buffer.concat(parts) }),
      flush: () => {},
    } as unknown as Connection;
    const channel = new DaemonChannel({ connection, daemonId: DAEMON });
    this.#ids = new IdSource(() => id.slice(-12), "0".repeat(8) as JobId);
    const table = new ObjectTable({
      processId: id,
      ownerOfRecord: DAEMON,
      ids: this.#ids,
      channel,
      freeStored: ([, place]) => world.free(place),
      payloadOf: ({ payload, failure }) =>
        payload ?? inBandPayload(Buffer.from((failure as ShoalError).reason ?? ""), { graph: false, error: true }),
      onUnseenFailure: () => {},
      onReleased: (entry) => lineage.released(entry),
    });
    const lineage = new Lineage({ table, processId: id });
    const store = { canRead: ([, place]: WireLocation) => world.canRead(place), lost: ([, place]: WireLocation) => world.free(place) };
    const rerun = (record: CallRecord): void => {
      expect(record.isEnded).toBe(true);
      record.isEnded = false;
      this.running.push(record);
    };
    const recovery = new Recovery({ processId: id, objects: { table, lineage, store, channel }, isActorDead: () => false, rerun });
    this.table = table;
    this.lineage = lineage;
    this.recovery = recovery;
    this.channel = channel;
    this.#messages = new DaemonMessages({
      table,
      recovery,
      objects: { table, lineage, channel, store: { nodeGone: () => {} } },
      options: { daemonId: DAEMON, processId: id },
      store: { handlers: {} },
      daemon: connection,
      calls: { submitter: {} },
    } as unknown as Runtime);
  }

  told({ type, header, body }: Message): void {
    this.#messages.receive({ type, flags: 0, callId: 0, number: 0, header: encodeHeader(header).slice(), body } satisfies Frame);
  }

  /** A call with so many results, and these arguments. */
  call(count: number, { args = [], maxRetries = -1 }: { args?: ObjectEntry[]; maxRetries?: number } = {}): ObjectEntry[] {
    const sequence = this.#ids.nextSequence();
    const results = Array.from({ length: count }, (_, index) => new ObjectEntry(sequence, index));
    for (const entry of results) this.#hold(entry);
    for (const entry of args) this.table.pin(entry);
    const record: Partial<CallRecord> = { sequence, results, pinned: args, dependencies: args, retriesLeft: maxRetries, isEnded: false };
    const retry = { maxRetries, retryOn: false, retryDelayMs: 0 } as const;
    this.running.push({ ...record, retry, chunk: NO_BYTES, start: 0, end: 0 } as CallRecord);
    return results;
  }

  put(): ObjectEntry {
    const entry = new ObjectEntry(this.#ids.nextSequence(), -1);
    this.#hold(entry);
    entry.settlePayload(this.#world.stored(this.#id));
    return entry;
  }

  #hold(entry: ObjectEntry): void {
    entry.tracked = true;
    this.table.pin(entry);
    this.held.push(entry);
  }

  /** Goes on with a call: it ends where its arguments are there. @returns whether something came of it */
  run(record: CallRecord): boolean {
    const { dependencies } = record;
    for (const argument of dependencies) this.table.watch(argument);
    if (dependencies.some(({ state }) => state === "pending")) return false;
    const failed = dependencies.find(({ state }) => state === "failed");
    const gone = dependencies.find((argument) => failed === undefined && !this.#canRead(argument));
    if (gone !== undefined) {
      this.recovery.lost(gone, gone.payload?.stored?.location as WireLocation);
      return true;
    }
    this.running.splice(this.running.indexOf(record), 1);
    for (const entry of record.results) {
      if (failed !== undefined) entry.fail(failed.failure ?? new ObjectLostError("an argument", { reason: "an argument" }));
      else if (!entry.isSettled) entry.settlePayload(this.#world.stored(this.#id));
    }
    if (failed === undefined) this.lineage.retain(record);
    record.isEnded = true;
    for (const entry of record.results) this.table.madeHere(entry);
    for (const argument of record.pinned) this.table.unpin(argument);
    return true;
  }

  #canRead(entry: ObjectEntry): boolean {
    return this.#world.canRead(placeIn(entry));
  }

  read(entry: ObjectEntry): Read {
    this.table.pin(entry);
    const read: Read = { entry, outcome: undefined };
    this.reads.push(read);
    this.goOn(read);
    return read;
  }

  /** Does what `get` does each time that the entry has settled. @returns whether it was found lost */
  goOn(read: Read): boolean {
    const { entry } = read;
    const location = entry.payload?.stored?.location;
    const isLost = entry.state === "ready" && location !== undefined && !this.#canRead(entry);
    if (isLost) {
      const error = new ObjectLostError("Cannot read", { reason: "it is gone" });
      noteLost(error, { entry, location });
      if (this.recovery.begin(error) !== entry) throw new Error("A read is not told what it is to wait for");
    }
    this.table.watch(entry);
    if (!entry.isSettled) return isLost;
    const failure = (): Error =>
      (entry.failure as Error | undefined) ?? new Error(Buffer.from(entry.payload?.inBand ?? NO_BYTES).toString());
    read.outcome = entry.state === "ready" && entry.payload?.error === false ? placeIn(entry) : failure();
    this.table.unpin(entry);
    return isLost;
  }

  /** Sends a ref to another process, as an argument or an answer does. */
  give(entry: ObjectEntry, to: ProcessId): void {
    const { id, owner } = this.table.publish(entry);
    this.channel.hold({ id, owner, holder: to });
    this.#world.send(this.#id, to, { type: 0, header: { id, owner }, body: NO_BYTES });
  }

  given(ref: { id: ObjectId; owner: ProcessId }): void {
    this.held.push(this.table.receive(ref));
  }

  drop(entry: ObjectEntry): void {
    this.held.splice(this.held.indexOf(entry), 1);
    this.table.unpin(entry);
  }
}

function placeIn(entry: ObjectEntry): number {
  return entry.payload?.stored?.location[1] ?? -1;
}

class World {
  readonly processes = new Map<ProcessId, Process>();
  readonly values = new RefValues();
  readonly service: RefService;
  /** The times that each place was freed, by its number. */
  readonly frees: number[] = [];
  readonly #lost = new Set<number>();
  readonly #queues = new Map<string, Message[]>();

  constructor() {
    for (const id of [MAKER, NEAR, FAR]) this.processes.set(id, new Process(id, this));
    const send = (to: ProcessId, type: number, header: unknown, parts: readonly Uint8Array[] = []): void =>
      this.send(DAEMON, to, { type, header: structuredClone(header), body: Buffer.concat(parts) });
    this.service = new RefService({
      processId: DAEMON,
      nodeId: "a".repeat(32) as NodeId,
      values: this.values,
      peers: {
        peer: (id) => (this.processes.has(id) ? this.#peer(id, send) : undefined),
        send: (to, type, header) => send(to, type, header),
        remote: { isHere: (id) => nodeTagOf(id) === nodeTagOf(DAEMON), tell: () => {} },
      },
      objects: { adopt: () => {}, free: ([, place]) => this.free(place), arenaLost: () => {} },
      head: () => ({ unheld: () => {}, definitionUnheld: () => {} }),
    });
  }

  get maker(): Process {
    return this.processes.get(MAKER) as Process;
  }
  get near(): Process {
    return this.processes.get(NEAR) as Process;
  }
  get far(): Process {
    return this.processes.get(FAR) as Process;
  }

  #peer(id: ProcessId, send: (to: ProcessId, type: number, header: unknown, parts?: readonly Uint8Array[]) => void): HeadPeer {
    const connection = {
      send: (type: number, header: unknown, { parts = [] }: { parts?: readonly Uint8Array[] } = {}) => send(id, type, header, parts),
    };
    return { id, holderId: id, connection } as unknown as HeadPeer;
  }

  // ---- places of the store

  stored(writer: ProcessId): Payload {
    const place = this.frees.push(0) - 1;
    return {
      ...inBandPayload(NO_BYTES, { graph: false, error: false }),
      stored: { id: "" as ObjectId, owner: writer, location: ["b".repeat(28), place, 100_000, "memory"] },
    };
  }

  canRead(place: number): boolean {
    return !this.#lost.has(place) && this.frees[place] === 0;
  }

  lose(...places: number[]): void {
    for (const place of places) this.#lost.add(place);
  }

  free(place: number): void {
    this.frees[place] = (this.frees[place] as number) + 1;
  }

  // ---- messages

  send(from: ProcessId, to: ProcessId, message: Message): void {
    const key = `${from}${to}`;
    const queue = this.#queues.get(key);
    if (queue === undefined) this.#queues.set(key, [message]);
    else queue.push(message);
  }

  /** Queues with something in them. */
  get busy(): string[] {
    for (const { channel } of this.processes.values()) channel.flush();
    return Array.from(this.#queues.keys()).filter((key) => (this.#queues.get(key)?.length ?? 0) > 0);
  }

  deliver(key: string): void {
    const message = this.#queues.get(key)?.shift() as Message;
    const from = key.slice(0, 32) as ProcessId;
    const to = key.slice(32) as ProcessId;
    const process = this.processes.get(to);
    if (to === DAEMON) {
      const peer = this.#peer(from, (reader, type, header, parts = []) => {
        this.send(DAEMON, reader, { type, header: structuredClone(header), body: Buffer.concat(parts) });
      });
      handle(this.service.handlers, message.type, message.header, peer, { ...message, callId: 0, flags: 0 });
    } else if (process !== undefined) {
      if (from === DAEMON) process.told(message);
      else process.given(message.header as { id: ObjectId; owner: ProcessId });
      for (const read of process.reads) if (read.outcome === undefined) process.goOn(read);
    }
  }

  /** Delivers all, and ends runs of calls, until nothing happens any more. */
  settle({ runs = true }: { runs?: boolean } = {}): void {
    for (let isIdle = false; !isIdle; ) {
      isIdle = true;
      for (let [key] = this.busy; key !== undefined; [key] = this.busy) this.deliver(key);
      if (!runs) return;
      for (const process of this.processes.values()) {
        for (const record of Array.from(process.running)) if (process.run(record)) isIdle = false;
        for (const read of process.reads) if (read.outcome === undefined && process.goOn(read)) isIdle = false;
      }
      if (this.busy.length > 0) isIdle = false;
    }
  }

  /** Reads to its end what the maker had said. */
  killMaker(): void {
    for (const key of this.busy) if (key === `${MAKER}${DAEMON}`) while ((this.#queues.get(key)?.length ?? 0) > 0) this.deliver(key);
    this.processes.delete(MAKER);
    this.service.processGone(MAKER);
  }
}

/** Everything is dropped: nothing may be left. */
function expectNothingLeft(world: World): void {
  world.settle();
  for (const process of world.processes.values()) for (const entry of Array.from(process.held)) process.drop(entry);
  world.settle();
  const left = Array.from(world.processes.values(), ({ table, lineage }) => [table.publishedCount, lineage.size]);
  expect({ left, values: world.values.size }).toEqual({ left: left.map(() => [0, 0]), values: 0 });
}

/** A call of the maker, some of whose results the far process has, and which the maker has let go of. */
function handedOn(count: number, maxRetries = -1): World {
  const world = new World();
  const entries = world.maker.call(count, { maxRetries });
  world.settle();
  for (const entry of entries) world.maker.give(entry, FAR);
  for (const entry of entries) world.maker.drop(entry);
  world.settle();
  expect(entries.map(({ state }) => state)).toEqual(entries.map(() => "freed"));
  return world;
}

const outcomeOf = ({ outcome }: Read): unknown => (outcome instanceof Error ? outcome.message : outcome);

describe("a ref that has come back to the process that made its object, and had let go of it", () => {
  test("has the object made again, where that process reads it", () => {
    const world = handedOn(1);
    world.far.give(world.far.held[0] as ObjectEntry, MAKER);
    world.settle();
    const back = world.maker.held[0] as ObjectEntry;
    expect(back.sequence).toBe(0);
    world.lose(0);
    const reads = [world.maker.read(back), world.far.read(world.far.held[0] as ObjectEntry)];
    world.settle();
    expect(reads.map(outcomeOf)).toEqual([1, 1]);
    expectNothingLeft(world);
    expect(world.frees).toEqual([1, 1]);
  });

  test("does not hide from others how it was made", () => {
    const world = handedOn(1);
    world.far.give(world.far.held[0] as ObjectEntry, MAKER);
    world.settle();
    world.lose(0);
    const read = world.far.read(world.far.held[0] as ObjectEntry);
    world.settle();
    expect(outcomeOf(read)).toBe(1);
    expectNothingLeft(world);
  });

  test("fails with the reason where nothing is known of how, for all readers", () => {
    const world = new World();
    const put = world.maker.put();
    world.maker.give(put, FAR);
    world.maker.drop(put);
    world.settle();
    world.far.give(world.far.held[0] as ObjectEntry, MAKER);
    world.settle();
    world.lose(0);
    const reads = [world.maker.read(world.maker.held[0] as ObjectEntry), world.far.read(world.far.held[0] as ObjectEntry)];
    world.settle();
    expect(reads.map(outcomeOf)).toEqual([
      expect.stringContaining(RECONSTRUCTION_REASON.PUT),
      expect.stringContaining(RECONSTRUCTION_REASON.PUT),
    ]);
    expectNothingLeft(world);
    expect(world.frees).toEqual([1]);
  });

  test("fails with the cause once that process has ended", () => {
    const world = handedOn(1);
    world.killMaker();
    world.lose(0);
    const read = world.far.read(world.far.held[0] as ObjectEntry);
    world.settle();
    expect(read.outcome).toMatchObject({ code: "OWNER_DIED", reason: expect.stringContaining("its bytes are lost") });
    expectNothingLeft(world);
    expect(world.frees).toEqual([1]);
  });

  test("fails also where that process ends while it makes it again", () => {
    const world = handedOn(1);
    world.lose(0);
    const read = world.far.read(world.far.held[0] as ObjectEntry);
    world.settle({ runs: false });
    expect([world.maker.running.length, read.outcome]).toEqual([1, undefined]);
    world.killMaker();
    world.settle();
    expect(read.outcome).toMatchObject({ code: "OWNER_DIED" });
    expectNothingLeft(world);
  });
});

describe("results of one call that were handed on", () => {
  test("are made again by one run where they are lost together, and use one retry", () => {
    const world = handedOn(4, 1);
    world.lose(0, 1, 2, 3);
    const [first, second, ...rest] = world.far.held as [ObjectEntry, ObjectEntry, ...ObjectEntry[]];
    // The second is found lost while the run for the first is under way, the others after it.
    const reads = [world.far.read(first)];
    world.settle({ runs: false });
    reads.push(world.far.read(second));
    world.settle();
    reads.push(...rest.map((entry) => world.far.read(entry)));
    world.settle();
    expect(reads.map(outcomeOf)).toEqual([4, 5, 6, 7]);
    expectNothingLeft(world);
    expect(world.frees).toEqual(world.frees.map(() => 1));
  });

  test("join a run that has begun, also where it was the last", () => {
    const world = handedOn(2, 1);
    world.lose(0);
    const [first, second] = world.far.held as [ObjectEntry, ObjectEntry];
    const reads = [world.far.read(first)];
    world.settle({ runs: false });
    world.lose(1);
    reads.push(world.far.read(second));
    world.settle();
    expect(reads.map(outcomeOf)).toEqual([2, 3]);
    world.lose(2);
    reads.push(world.far.read(first));
    world.settle();
    expect(outcomeOf(reads[2] as Read)).toContain(RECONSTRUCTION_REASON.RETRIES_EXHAUSTED);
    expectNothingLeft(world);
  });

  /** A result that the far process has, and another made of it, which is lost: the near process reads that, and the maker is about to run both calls again. */
  function argumentMadeAgain(): { world: World; given: ObjectEntry; runBoth: () => void } {
    const world = new World();
    const { maker, far, near } = world;
    const [argument] = maker.call(1) as [ObjectEntry];
    world.settle();
    const [result] = maker.call(1, { args: [argument] }) as [ObjectEntry];
    world.settle();
    maker.give(argument, FAR);
    maker.give(result, NEAR);
    for (const entry of [argument, result]) maker.drop(entry);
    world.settle();
    far.read(far.held[0] as ObjectEntry);
    world.settle();
    world.lose(1);
    near.read(near.held[0] as ObjectEntry);
    world.settle({ runs: false });
    const runBoth = (): void => {
      for (const record of Array.from(maker.running)) maker.run(record);
      expect([maker.running.length, world.frees.length]).toEqual([0, 4]);
    };
    return { world, given: far.held[0] as ObjectEntry, runBoth };
  }

  test("that are made again without being lost keep their place, and have the second one when that goes", () => {
    const { world, given, runBoth } = argumentMadeAgain();
    runBoth();
    world.settle();
    expect(world.near.reads.map(outcomeOf)).toEqual([3]);
    const read = (): unknown => {
      const last = world.far.read(given);
      world.settle();
      return outcomeOf(last);
    };
    expect(read()).toBe(0);
    world.lose(0);
    expect([read(), world.frees.length]).toEqual([2, 4]);
    world.lose(2);
    expect([read(), world.frees.length]).toEqual([4, 5]);
    expectNothingLeft(world);
    expect(world.frees).toEqual([1, 1, 1, 1, 1]);
  });

  test("are not made once more where the daemon asks for them while a new value is on its way to it", () => {
    const { world, given, runBoth } = argumentMadeAgain();
    world.lose(0);
    const read = world.far.read(given);
    runBoth();
    while (world.busy.includes(`${FAR}${DAEMON}`)) world.deliver(`${FAR}${DAEMON}`);
    while (world.busy.includes(`${DAEMON}${MAKER}`)) world.deliver(`${DAEMON}${MAKER}`);
    expect(world.maker.running).toEqual([]);
    world.settle();
    expect([outcomeOf(read), world.frees.length]).toEqual([2, 4]);
    expectNothingLeft(world);
  });

  test("that their maker finds lost come from their call there, also where the daemon has another value", () => {
    const { world, given, runBoth } = argumentMadeAgain();
    world.far.give(given, MAKER);
    world.settle({ runs: false });
    runBoth();
    world.settle();
    const back = world.maker.held[0] as ObjectEntry;
    expect([back.sequence > 0, placeIn(back)]).toEqual([true, 2]);
    world.lose(2);
    const reads = [world.maker.read(back), world.far.read(given)];
    world.settle();
    expect(reads.map(outcomeOf)).toEqual([4, 0]);
    expectNothingLeft(world);
    expect(world.frees).toEqual([1, 1, 1, 1, 1]);
  });
});

/** A draw: its first number says what happens, its second to which of those that there are. */
function step(world: World, [kind, which]: readonly [number, number]): void {
  const pick = <T>(all: readonly T[]): T | undefined => all[which % all.length];
  const process = pick(Array.from(world.processes.values())) as Process;
  const held = process.held[Math.floor(which / 7) % process.held.length];
  if (kind < 40) {
    const key = pick(world.busy);
    if (key !== undefined) world.deliver(key);
  } else if (kind < 54) {
    const record = pick(process.running);
    if (record !== undefined) process.run(record);
  } else if (kind < 66) {
    if (world.frees.length > 0) world.lose(which % world.frees.length);
  } else if (kind < 71) {
    const args = process.held.filter((_, index) => (which >> index) % 3 === 0).slice(0, 2);
    process.call(1 + (which % 3), { args, maxRetries: which % 4 === 0 ? 1 : -1 });
  } else if (kind < 73) process.put();
  else if (kind < 85) {
    const to = [MAKER, NEAR, FAR][which % 3] as ProcessId;
    if (held !== undefined && world.processes.get(to) !== process) process.give(held, to);
  } else if (kind < 94) {
    if (held !== undefined) process.read(held);
  } else if (kind < 99) {
    if (held !== undefined) process.drop(held);
  } else if (which % 4 === 0 && world.processes.has(MAKER)) world.killMaker();
}

test("in any order whoever reads gets the object or an error, and all is freed once", () => {
  const steps = fc.array(fc.tuple(fc.nat(99), fc.nat(10_000)), { minLength: 1, maxLength: 100, size: "max" });
  const property = fc.property(steps, (draws) => {
    const world = handedOn(2);
    for (const entry of world.far.held) for (const to of [NEAR, MAKER]) world.far.give(entry, to);
    for (const draw of draws) step(world, draw);
    const isWhole = world.processes.has(MAKER);
    world.settle();
    const waiting = Array.from(world.processes.values(), ({ reads }) => reads.filter(({ outcome }) => outcome === undefined).length);
    expect(waiting).toEqual(waiting.map(() => 0));
    expectNothingLeft(world);
    // The books of the store, which are not here, free what a dead process alone owned.
    const wrong = world.frees.filter((count) => count > 1 || (isWhole && count === 0));
    expect(wrong).toEqual([]);
  });
  fc.assert(property, { numRuns: 1000 });
});
