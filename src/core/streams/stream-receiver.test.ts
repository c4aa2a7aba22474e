import { describe, expect, test } from "vitest";
import type { ObjectId, ProcessId } from "../../runtime/base/ids.ts";
import { ObjectEntry } from "../../runtime/objects/object-entry.ts";
import type { ObjectTable } from "../../runtime/objects/object-table.ts";
import { inBandPayload, type Payload } from "../../runtime/objects/payload.ts";
import { StreamReceiver } from "./stream-receiver.ts";

/** Counts pins, as the table does. */
class Pins {
  readonly of = new Map<ObjectEntry, number>();

  pin(entry: ObjectEntry): void {
    this.of.set(entry, (this.of.get(entry) ?? 0) + 1);
  }

  unpin(entry: ObjectEntry): void {
    this.of.set(entry, (this.of.get(entry) ?? 0) - 1);
  }

  receive(): ObjectEntry {
    const entry = new ObjectEntry(0, 0);
    this.pin(entry);
    return entry;
  }

  contain(entry: ObjectEntry, contained: ObjectEntry[]): void {
    entry.contained = contained;
  }

  track(entry: ObjectEntry): void {
    entry.tracked = true;
  }

  get total(): number {
    return Array.from(this.of.values()).reduce((left, right) => left + right, 0);
  }
}

const PLAIN = { graph: false, error: false };

interface Fixture {
  stream: StreamReceiver;
  completion: ObjectEntry;
  pins: Pins;
  told: (number | "stop" | "withdraw" | "pursued" | "stored")[];
  item(index: number): void;
}

function fixture(limits = { items: 4, bytes: 1000 }, isSent = true): Fixture {
  const pins = new Pins();
  const completion = new ObjectEntry(7, 0);
  const told: (number | "stop" | "withdraw" | "pursued" | "stored")[] = [];
  const stream = new StreamReceiver({
    completion,
    completionHandle: {},
    limits,
    table: pins as unknown as ObjectTable,
    serializer: { decodeParts: (inBand) => inBand[0] },
    withdraw: () => told.push("withdraw"),
    stopped: () => told.push("pursued"),
    onStored: () => told.push("stored"),
  });
  if (isSent) stream.sentTo({ credit: (consumed) => told.push(consumed), stop: () => told.push("stop") });
  return { stream, completion, pins, told, item: (index) => stream.arrivedPlain(index, Uint8Array.of(index), PLAIN) };
}

function failure(): Payload {
  return inBandPayload(new Uint8Array(1), { graph: false, error: true });
}

describe("what a stream has received", () => {
  test("is taken in order, as objects with ids of their own", () => {
    const { stream, item } = fixture();
    for (const index of [0, 1, 2]) item(index);
    const taken = [stream.take(), stream.take(), stream.take(), stream.take()];
    expect(taken.map((entry) => entry?.primitive)).toEqual([0, 1, 2, undefined]);
    expect(taken.slice(0, 3).map((entry) => [entry?.sequence, entry?.index])).toEqual([
      [7, 1],
      [7, 2],
      [7, 3],
    ]);
  });

  test("is pinned until it is taken", () => {
    const { stream, pins, item } = fixture();
    item(0);
    expect(pins.total).toBe(1);
    pins.unpin(stream.take() as ObjectEntry);
    expect(pins.total).toBe(0);
  });

  test("comes once, also when the call is sent again", () => {
    const { stream, item } = fixture();
    item(0);
    item(1);
    stream.take();
    expect(stream.header()).toMatchObject({ skip: 2, consumed: 1, itemsAhead: 4, bytesAhead: 1000 });
    item(0);
    item(1);
    item(2);
    expect([stream.take()?.primitive, stream.take()?.primitive, stream.take()]).toEqual([1, 2, undefined]);
  });

  test("is told to the producer by halves of what may be ahead, in items and in bytes", () => {
    const { stream, told, item } = fixture({ items: 4, bytes: 1000 });
    for (let index = 0; index < 4; index += 1) item(index);
    for (let count = 0; count < 4; count += 1) stream.take();
    expect(told).toEqual([2, 4]);
    const large = fixture({ items: 100, bytes: 10 });
    large.stream.arrivedPayload(0, inBandPayload(new Uint8Array(6), PLAIN));
    large.stream.take();
    expect(large.told).toEqual([1]);
  });

  test("tells each time that its producer has come to rest: as far ahead as it may be, or ended", () => {
    const { stream, completion, item } = fixture({ items: 4, bytes: 1000 });
    const rests: number[] = [];
    let sent = 0;
    stream.onProducerRest(() => rests.push(sent));
    const send = (count: number): void => {
      for (const end = sent + count; sent < end; ) item(sent++);
    };
    send(3);
    expect([stream.isProducerAtRest, rests]).toEqual([false, []]);
    send(1);
    expect([stream.isProducerAtRest, rests]).toEqual([true, [4]]);
    // Credit goes to the producer by halves of four items.
    stream.take();
    expect(stream.isProducerAtRest).toBe(true);
    stream.take();
    expect(stream.isProducerAtRest).toBe(false);
    send(2);
    expect([stream.isProducerAtRest, rests]).toEqual([true, [4, 6]]);
    stream.take();
    stream.take();
    completion.settlePrimitive(undefined);
    expect([stream.isProducerAtRest, rests]).toEqual([true, [4, 6, 6]]);
  });

  test("wakes who waits for the next item, or the end", () => {
    const { stream, completion, item } = fixture();
    const first = stream.readiness();
    expect(stream.readiness()).toBe(first);
    expect(first.isSettled).toBe(false);
    item(0);
    expect(first.isSettled).toBe(true);
    stream.take();
    const second = stream.readiness();
    expect(second.isSettled).toBe(false);
    completion.settlePrimitive(undefined);
    expect(second.isSettled).toBe(true);
    expect(stream.isReady).toBe(true);
    expect(stream.takeFailure()).toBeUndefined();
  });
});

describe("the failure of a stream", () => {
  test("comes after the items, once, and counts as seen then", () => {
    const { stream, completion, item } = fixture();
    item(0);
    completion.settlePayload(failure());
    expect(stream.take()?.primitive).toBe(0);
    expect(completion.failureSeen).toBe(false);
    expect(stream.take() ?? stream.takeFailure()).toBe(completion);
    expect(completion.failureSeen).toBe(true);
    expect(stream.takeFailure()).toBeUndefined();
    expect(stream.isReady).toBe(true);
  });

  test("becomes an object of its own for refs()", () => {
    const { stream, completion, pins, item } = fixture();
    item(0);
    const inner = new ObjectEntry(3, 0);
    completion.contained = [inner];
    completion.settlePayload(failure());
    const failed = stream.failedItem();
    expect([failed.state, failed.sequence, failed.index]).toEqual(["failed", 7, 2]);
    expect(failed.contained).toEqual([inner]);
    expect(pins.of.get(inner)).toBe(1);
  });

  test("that nobody could read any more is still to be reported; one that a reader left behind is not", () => {
    const unread = fixture();
    unread.completion.settlePayload(failure());
    unread.stream.dropped();
    expect(unread.completion.failureSeen).toBe(false);
    const left = fixture();
    left.completion.settlePayload(failure());
    left.stream.stop();
    expect(left.completion.failureSeen).toBe(true);
  });
});

describe("a stream that is stopped", () => {
  test("frees what it has and what still comes, and tells the producer once", () => {
    const { stream, pins, told, item } = fixture();
    item(0);
    item(1);
    stream.stop();
    stream.stop();
    const refs = [{ id: "r" as ObjectId, owner: "o" as ProcessId }];
    stream.arrivedPayload(2, { ...inBandPayload(new Uint8Array(2), PLAIN), refs });
    // The pin of the ref inside is the item's own, and goes with it.
    expect(Array.from(pins.of).filter(([entry, count]) => entry.sequence === 7 && count !== 0)).toEqual([]);
    expect(told).toEqual(["stop", "pursued"]);
    expect([stream.take(), stream.isReady]).toEqual([undefined, true]);
  });

  test("is withdrawn where it was not sent, and stopped where it is sent again", () => {
    const { stream, told } = fixture(undefined, false);
    stream.stop();
    expect(told).toEqual(["withdraw"]);
    const again: string[] = [];
    stream.sentTo({ credit: () => {}, stop: () => again.push("stop") });
    expect(again).toEqual(["stop"]);
  });

  test("says nothing where the stream has ended", () => {
    const { stream, completion, told } = fixture();
    completion.settlePrimitive(undefined);
    stream.stop();
    expect(told).toEqual([]);
  });

  test("keeps nothing that comes after a cancellation", () => {
    const { stream, completion, pins, item } = fixture();
    completion.fail(new Error("cancelled"));
    item(0);
    expect(stream.take()).toBeUndefined();
    expect(pins.total).toBe(0);
  });
});
