/** Lineage: which calls are kept, for how long, and what is forgotten first. */
import { beforeEach, describe, expect, test } from "vitest";
import type { ObjectId, ProcessId } from "../../../runtime/base/ids.ts";
import { ObjectEntry } from "../../../runtime/objects/object-entry.ts";
import { inBandPayload, NO_BYTES, type Payload } from "../../../runtime/objects/payload.ts";
import type { CallRecord } from "../call-record.ts";
import { Lineage } from "./lineage.ts";

const SELF = "self" as ProcessId;
const DAEMON = "daemon" as ProcessId;

const STORED: Payload = {
  ...inBandPayload(NO_BYTES, { graph: false, error: false }),
  stored: { id: "" as ObjectId, owner: SELF, location: ["arena", 0, 100_000, "memory"] },
};
const SMALL: Payload = inBandPayload(new Uint8Array(10), { graph: false, error: false });

let numbers = 0;
function call(results: Payload[], pinned: ObjectEntry[] = [], argumentBytes = 0): CallRecord {
  numbers += 1;
  const sequence = numbers;
  const entries = results.map((payload, index) => {
    const entry = new ObjectEntry(sequence, index);
    entry.settlePayload(payload);
    return entry;
  });
  return {
    sequence,
    target: { kind: "task", id: "f", name: "f", meanMs: 0 },
    actor: undefined,
    name: undefined,
    shape: "",
    stream: undefined,
    numReturns: results.length,
    chunk: new Uint8Array(argumentBytes),
    start: 0,
    end: argumentBytes,
    graph: false,
    args: undefined,
    dependencies: [],
    pinned,
    results: entries,
    retry: { maxRetries: 3, retryOn: false, retryDelayMs: 0 },
    retriesLeft: 3,
    attempt: 0,
    hasParked: false,
    callSite: undefined,
    parent: undefined,
    isEnded: true,
    isRemade: false,
    isQueued: false,
    limits: undefined,
  };
}

const entryOf = (record: CallRecord, index = 0): ObjectEntry => record.results[index] as ObjectEntry;
/** What the object table does when nothing keeps an entry. */
function release(lineage: Lineage, entry: ObjectEntry): void {
  entry.state = "freed";
  lineage.released(entry);
  entry.payload = undefined;
}

let lineage: Lineage;
beforeEach(() => {
  lineage = new Lineage({ table: { pin: (entry) => void (entry.pins += 1), unpin: (entry) => void (entry.pins -= 1) }, processId: SELF });
});

describe("what is kept", () => {
  test("a call whose result lies in the store, until that is released", () => {
    const made = call([STORED]);
    lineage.retain(made);
    expect(lineage.callOf(entryOf(made))).toMatchObject({ sequence: made.sequence });
    release(lineage, entryOf(made));
    expect([lineage.size, lineage.bytes, lineage.callOf(entryOf(made))]).toEqual([0, 0, undefined]);
  });

  test("a small result is in memory: nothing is kept for it", () => {
    const made = call([SMALL]);
    lineage.retain(made);
    expect([lineage.size, lineage.bytes]).toEqual([0, 0]);
  });

  test.each(["small", "freed before"])("a call that is not kept, as its result is %s, keeps no other call", (how) => {
    const value = entryOf(call([SMALL]));
    const source = call([STORED], [value]);
    lineage.retain(source);
    const user = call([how === "small" ? SMALL : STORED], [entryOf(source)]);
    if (how === "freed before") release(lineage, entryOf(user));
    lineage.retain(user);
    release(lineage, entryOf(source));
    expect([lineage.size, lineage.bytes, value.pins]).toEqual([0, 0, 0]);
  });

  test("of several results each keeps the call", () => {
    const made = call([STORED, SMALL, STORED]);
    lineage.retain(made);
    release(lineage, entryOf(made, 0));
    expect(lineage.size).toBe(1);
    release(lineage, entryOf(made, 2));
    expect(lineage.size).toBe(0);
  });

  test("an item of a stream that was freed is made again with those that are lost, where a call has it as an argument", () => {
    const stream = call([]);
    const [first, second] = [0, 1].map((index) => {
      const item = new ObjectEntry(stream.sequence, index + 1);
      item.settlePayload(STORED);
      lineage.retainItem(stream, item);
      return item;
    }) as [ObjectEntry, ObjectEntry];
    lineage.retain(call([STORED], [first, second]));
    release(lineage, first);
    expect(lineage.callOf(second)).toMatchObject({ results: [second] });
    expect(lineage.callOf(first)).toMatchObject({ results: [second, first] });
    release(lineage, second);
    expect(lineage.callOf(second)).toMatchObject({ results: [second] });
  });

  test("a call whose result was freed is kept for the calls that had it as an argument", () => {
    const source = call([STORED]);
    lineage.retain(source);
    const user = call([STORED], [entryOf(source)]);
    lineage.retain(user);
    release(lineage, entryOf(source));
    expect(lineage.callOf(entryOf(source))).toBeDefined();
    release(lineage, entryOf(user));
    expect(lineage.size).toBe(0);
  });

  test("a chain of many calls is let go of without recursion", () => {
    let last = call([STORED]);
    lineage.retain(last);
    for (let step = 0; step < 50_000; step += 1) {
      const next = call([STORED], [entryOf(last)]);
      lineage.retain(next);
      release(lineage, entryOf(last));
      last = next;
    }
    expect(lineage.size).toBe(50_001);
    release(lineage, entryOf(last));
    expect(lineage.size).toBe(0);
  });

  test("small arguments stay pinned with the call, large ones and those of others do not", () => {
    const small = entryOf(call([SMALL]));
    const large = entryOf(call([STORED]));
    const borrowed = new ObjectEntry(0, 0);
    borrowed.settlePayload(SMALL);
    const user = call([STORED], [small, large, borrowed]);
    lineage.retain(user);
    expect([small.pins, large.pins, borrowed.pins]).toEqual([1, 0, 0]);
    release(lineage, entryOf(user));
    expect(small.pins).toBe(0);
  });
});

describe("running again", () => {
  test("a call that ends again is counted once", () => {
    const made = call([STORED, STORED]);
    lineage.retain(made);
    const kept = lineage.callOf(entryOf(made)) as CallRecord;
    lineage.retain(kept);
    expect(lineage.size).toBe(1);
    release(lineage, entryOf(made, 0));
    release(lineage, entryOf(made, 1));
    expect(lineage.size).toBe(0);
  });

  test("a revived result keeps its call until it is released again", () => {
    const source = call([STORED]);
    lineage.retain(source);
    const user = call([STORED], [entryOf(source)]);
    lineage.retain(user);
    release(lineage, entryOf(source));
    lineage.revived(entryOf(source));
    release(lineage, entryOf(user));
    expect(lineage.size).toBe(1);
    release(lineage, entryOf(source));
    expect(lineage.size).toBe(0);
  });
});

describe("what the daemon owns", () => {
  test("is kept after this process gave it up, until the daemon frees it", () => {
    const made = call([STORED]);
    const entry = entryOf(made);
    lineage.retain(made);
    entry.owner = DAEMON;
    entry.id = "id" as ObjectId;
    release(lineage, entry);
    expect(lineage.abroad("id" as ObjectId)).toBe(entry);
    lineage.freedAbroad("id" as ObjectId);
    expect([lineage.size, lineage.abroad("id" as ObjectId)]).toEqual([0, undefined]);
  });
});

describe("what the daemon owns and keeps", () => {
  function givenAway(payload = STORED): { made: CallRecord; entry: ObjectEntry } {
    const made = call([payload]);
    const entry = entryOf(made);
    lineage.retain(made);
    entry.owner = DAEMON;
    entry.id = "id" as ObjectId;
    release(lineage, entry);
    return { made, entry };
  }

  test("is known with its place, and while it is made again without one", () => {
    const { entry } = givenAway();
    expect(lineage.locationAbroad(entry)).toEqual(STORED.stored?.location);
    lineage.revived(entry);
    expect([lineage.abroad("id" as ObjectId), lineage.locationAbroad(entry)]).toEqual([entry, undefined]);
    entry.reopen();
    entry.settlePayload(STORED);
    // The daemon's word that it was freed is of the time before.
    lineage.freedAbroad("id" as ObjectId);
    release(lineage, entry);
    expect([lineage.size, lineage.locationAbroad(entry)]).toEqual([1, STORED.stored?.location]);
    lineage.freedAbroad("id" as ObjectId);
    expect([lineage.size, lineage.abroad("id" as ObjectId)]).toEqual([0, undefined]);
  });

  test("is forgotten where it was made again as a value that cannot be lost: the daemon does not say when it frees that", () => {
    const { entry } = givenAway();
    lineage.revived(entry);
    entry.reopen();
    entry.settlePayload(SMALL);
    release(lineage, entry);
    expect([lineage.size, lineage.abroad("id" as ObjectId)]).toEqual([0, undefined]);
  });

  test("of a stream is made again with its other lost items, until the daemon frees it", () => {
    const stream = call([]);
    const [first, second] = [0, 1].map((index) => {
      const item = new ObjectEntry(stream.sequence, index + 1);
      item.settlePayload(STORED);
      item.owner = DAEMON;
      item.id = `id ${index}` as ObjectId;
      lineage.retainItem(stream, item);
      release(lineage, item);
      return item;
    }) as [ObjectEntry, ObjectEntry];
    expect(lineage.callOf(first)).toMatchObject({ results: [first, second] });
    lineage.freedAbroad("id 1" as ObjectId);
    expect(lineage.callOf(first)).toMatchObject({ results: [first] });
    lineage.freedAbroad("id 0" as ObjectId);
    expect(lineage.size).toBe(0);
  });
});

describe("a large argument by value", () => {
  const counting = { pin: (entry: ObjectEntry) => void (entry.pins += 1), unpin: (entry: ObjectEntry) => void (entry.pins -= 1) };

  function callWithStored(): { made: CallRecord; argument: ObjectEntry } {
    const argument = new ObjectEntry(0, -1);
    numbers += 1;
    argument.id = `argument ${numbers}` as ObjectId;
    argument.settlePayload(STORED);
    const args: Payload = { ...STORED, stored: { id: argument.id, owner: SELF, location: ["arena", 0, 100_000, "memory"] } };
    return { made: { ...call([STORED], [argument]), args }, argument };
  }

  test("is kept with its call, and goes with it", () => {
    const bounded = new Lineage({ table: counting, processId: SELF, storedBytesMax: 100_000 });
    const { made, argument } = callWithStored();
    bounded.retain(made);
    expect(argument.pins).toBe(1);
    release(bounded, entryOf(made));
    expect([argument.pins, bounded.size]).toEqual([0, 0]);
  });

  test("is let go of when others need its place, the oldest first; the call is kept", () => {
    const bounded = new Lineage({ table: counting, processId: SELF, storedBytesMax: 250_000 });
    const calls = [callWithStored(), callWithStored(), callWithStored()];
    for (const { made } of calls) bounded.retain(made);
    expect(calls.map(({ argument }) => argument.pins)).toEqual([0, 1, 1]);
    expect(bounded.size).toBe(3);
    bounded.dropStored();
    expect(calls.map(({ argument }) => argument.pins)).toEqual([0, 0, 0]);
    for (const { made } of calls) release(bounded, entryOf(made));
    expect([bounded.size, bounded.bytes, ...calls.map(({ argument }) => argument.pins)]).toEqual([0, 0, 0, 0, 0]);
  });

  test("that alone exceeds the limit is not kept", () => {
    const bounded = new Lineage({ table: counting, processId: SELF, storedBytesMax: 50_000 });
    const { made, argument } = callWithStored();
    bounded.retain(made);
    expect([argument.pins, bounded.size]).toEqual([0, 1]);
  });
});

describe("the limit", () => {
  test("beyond it the oldest calls are forgotten, and say so", () => {
    const bounded = new Lineage({ table: { pin: () => {}, unpin: () => {} }, processId: SELF, bytesMax: 10_000 });
    const calls = Array.from({ length: 5 }, () => call([STORED], [], 2000));
    for (const each of calls) bounded.retain(each);
    expect(bounded.bytes).toBeLessThanOrEqual(10_000);
    expect(calls.map((each) => bounded.callOf(entryOf(each)) === "evicted")).toEqual([true, true, false, false, false]);
    release(bounded, entryOf(calls[0] as CallRecord));
    expect(bounded.size).toBe(3);
  });

  test("a forgotten call lets go of the calls before it", () => {
    const bounded = new Lineage({ table: { pin: () => {}, unpin: () => {} }, processId: SELF, bytesMax: 5000 });
    const source = call([STORED]);
    bounded.retain(source);
    const user = call([STORED], [entryOf(source)]);
    bounded.retain(user);
    release(bounded, entryOf(source));
    for (let index = 0; index < 4; index += 1) bounded.retain(call([STORED]));
    expect(bounded.callOf(entryOf(user))).toBe("evicted");
    expect(bounded.size).toBeLessThanOrEqual(4);
  });
});
