/** A node's conclusions from other nodes and the head's address when the head does not answer. */
import { describe, expect, test } from "vitest";
import { judgeSilence, type PeerWord, type SilenceWitnesses } from "./head-silence.ts";

const deaf: PeerWord = { kind: "answered", laterMs: 900, silentMs: 4_100 };
const hears: PeerWord = { kind: "answered", laterMs: 3_000, silentMs: 2_000 };
const unheard: PeerWord = { kind: "unheard" };
const ended: PeerWord = { kind: "refused" };

function verdict(of: Partial<SilenceWitnesses>): string {
  return judgeSilence({ refuses: undefined, peers: [], silentMs: 5_000, unknownMs: 5_000, deadAfterMs: 10_000, ...of }).kind;
}

describe("a node that the head does not answer", () => {
  test("is cut off when the head answers another, whatever its address says", () => {
    for (const refuses of [true, false, undefined]) expect(verdict({ refuses, peers: [deaf, hears, deaf] })).toBe("cutOff");
  });

  test("has no head when the head's address refuses connections, as of now", () => {
    expect(judgeSilence({ refuses: true, peers: [unheard, deaf], silentMs: 60_000, unknownMs: 60_000, deadAfterMs: 10_000 })).toEqual({
      kind: "headless",
      ageMs: 0,
    });
  });

  test("has no head either when one that has answered another since is gone: it went on for a moment and was killed", () => {
    const before: PeerWord = { kind: "answered", laterMs: 11_000, silentMs: 3_500 };
    const of = (witnesses: Partial<SilenceWitnesses>): ReturnType<typeof judgeSilence> =>
      judgeSilence({ refuses: true, peers: [before, deaf], silentMs: 14_500, unknownMs: 3_000, deadAfterMs: 10_000, ...witnesses });
    expect(of({})).toEqual({ kind: "headless", ageMs: 0 });
    // As if it lived behind that refusal, it is taken to have counted until it answered the other one.
    expect(of({ unknownMs: 4_500 })).toEqual({ kind: "headless", ageMs: 3_000 });
    // The head may answer other nodes at this moment, or stand still.
    expect(of({ peers: [before, hears] }).kind).toBe("cutOff");
    expect(of({ refuses: false }).kind).toBe("cutOff");
    expect(of({ refuses: undefined }).kind).toBe("cutOff");
  });

  test("has a head that stands still when its machine is reached and nobody is answered, as of two seconds ago", () => {
    expect(
      judgeSilence({ refuses: false, peers: [deaf, deaf, unheard], silentMs: 60_000, unknownMs: 60_000, deadAfterMs: 10_000 }),
    ).toEqual({
      kind: "headless",
      ageMs: 2_000,
    });
    expect(verdict({ refuses: false, peers: [] })).toBe("headless");
    expect(verdict({ refuses: false, peers: [ended] })).toBe("headless");
    expect(verdict({ refuses: false, peers: [ended, deaf, unheard] })).toBe("headless");
  });

  test("is cut off when most others cannot be asked", () => {
    expect(verdict({ refuses: false, peers: [unheard] })).toBe("cutOff");
    expect(verdict({ refuses: false, peers: [unheard, unheard, deaf] })).toBe("cutOff");
  });

  test("goes on for a while when the head's machine is gone for at least three nodes, as a head takes none of so many for dead", () => {
    expect(verdict({ peers: [deaf, deaf] })).toBe("headless");
    expect(verdict({ peers: [deaf, deaf, ended] })).toBe("headless");
    expect(verdict({ peers: [deaf, deaf, unheard] })).toBe("cutOff");
    expect(verdict({ peers: [deaf] })).toBe("cutOff");
    expect(verdict({ peers: [] })).toBe("cutOff");
    expect(verdict({ peers: [deaf, deaf], silentMs: 34_999 })).toBe("headless");
    expect(verdict({ peers: [deaf, deaf], silentMs: 35_000 })).toBe("cutOff");
  });
});
