/** A generator that runs again for lost items: which it is asked for, which are let go of, when it is stopped, and what becomes of those that do not come. */
import { describe, expect, test } from "vitest";
import { ObjectEntry } from "../../runtime/objects/object-entry.ts";
import { inBandPayload, type Payload } from "../../runtime/objects/payload.ts";
import { StreamReplay } from "./stream-replay.ts";

const PLAIN = { graph: false, error: false };
const PAYLOAD: Payload = inBandPayload(new Uint8Array(3), PLAIN);

interface Fixture {
  replay: StreamReplay;
  completion: ObjectEntry;
  items: ObjectEntry[];
  told: unknown[];
}

/** Makes a replay of a stream whose items at these places are lost. */
function fixture(...places: number[]): Fixture {
  const told: unknown[] = [];
  const items = places.map((place) => new ObjectEntry(7, place + 1));
  const completion = new ObjectEntry(8, 0);
  const replay = new StreamReplay({
    wanted: items,
    completion,
    table: {
      contain: (entry, contained) => void (entry.contained = contained),
      madeHere: (entry) => told.push(["made", entry.index - 1]),
      pin: (entry) => void (entry.pins += 1),
      receive: () => new ObjectEntry(0, 0),
      track: () => {},
    },
    serializer: { decodeParts: (inBand) => inBand[0] },
    discard: () => told.push("discard"),
    stopped: () => told.push("stopped"),
    notGiven: (item) => new Error(`no ${item.index - 1}`),
  });
  replay.sentTo({ credit: () => told.push("credit"), stop: () => told.push("stop") });
  return { replay, completion, items, told };
}

describe("a generator that runs again", () => {
  test("begins to send at the first lost item, without a limit, and is stopped after the last", () => {
    const { replay, items, told } = fixture(4, 2);
    expect(replay.header()).toMatchObject({ skip: 2, consumed: 2, itemsAhead: Number.POSITIVE_INFINITY });
    replay.arrivedPayload(2, PAYLOAD);
    replay.arrivedPayload(3, PAYLOAD);
    expect(replay.isStopped).toBe(false);
    replay.arrivedPlain(4, Uint8Array.of(9), PLAIN);
    expect(items.map((entry) => [entry.state, entry.payload ?? entry.primitive])).toEqual([
      ["ready", 9],
      ["ready", PAYLOAD],
    ]);
    expect(told).toEqual([["made", 2], "discard", ["made", 4], "stop", "stopped"]);
    replay.arrivedPayload(5, PAYLOAD);
    expect(told.at(-1)).toBe("discard");
  });

  test("begins after the items that have come when it is tried once more, and is stopped at once when it is no longer wanted", () => {
    const { replay, told } = fixture(1, 3);
    replay.arrivedPayload(1, PAYLOAD);
    expect(replay.header().skip).toBe(3);
    replay.arrivedPayload(3, PAYLOAD);
    told.length = 0;
    replay.sentTo({ credit: () => {}, stop: () => told.push("stop again") });
    expect(told).toEqual(["stop again"]);
  });

  test("fails what it did not give, as it failed or with the reason", () => {
    const short = fixture(0, 1);
    short.replay.arrivedPayload(0, PAYLOAD);
    short.completion.settlePrimitive(undefined);
    expect(short.items[1]?.failure).toEqual(new Error("no 1"));

    const thrown = fixture(0);
    thrown.completion.settlePayload(inBandPayload(new Uint8Array(1), { graph: false, error: true }));
    expect(thrown.items[0]).toMatchObject({ state: "failed", payload: thrown.completion.payload });

    const crashed = fixture(0);
    crashed.completion.fail(new Error("its worker died"));
    expect([crashed.items[0]?.failure, crashed.completion.failureSeen]).toEqual([new Error("its worker died"), true]);
  });

  test("gives no value to an item that was failed meanwhile", () => {
    const { replay, items, told } = fixture(0);
    items[0]?.fail(new Error("cancelled"));
    replay.arrivedPayload(0, PAYLOAD);
    expect([items[0]?.state, told]).toEqual(["failed", ["discard"]]);
  });
});
