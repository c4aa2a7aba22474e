import { expect, test } from "vitest";
import { BusyPoll } from "./busy-poll.ts";

/** A loop whose turns are taken by hand and last 3 us each; an offer of the processor may last. */
function newLoop(): {
  loop: BusyPoll;
  /** Takes turns while any are requested. @returns their number */
  turns: (most?: number) => number;
  offers: () => number;
  setOfferMs: (ms: number) => void;
  pass: (ms: number) => void;
} {
  let nowMs = 1;
  let offers = 0;
  let offerMs = 0;
  let next: (() => void) | undefined;
  const loop = new BusyPoll({
    nowMs: () => nowMs,
    nextTurn: (callback) => {
      expect(next).toBeUndefined();
      next = callback;
    },
    offerProcessor: () => {
      offers += 1;
      nowMs += offerMs;
    },
  });
  return {
    loop,
    turns: (most = 1000) => {
      let count = 0;
      for (; next !== undefined && count < most; count += 1) {
        const callback = next;
        next = undefined;
        nowMs += 0.003;
        callback();
      }
      return count;
    },
    offers: () => offers,
    setOfferMs: (ms) => {
      offerMs = ms;
    },
    pass: (ms) => {
      nowMs += ms;
    },
  };
}

test("it takes turns for a tenth of a millisecond, offering the processor in each, and then sleeps", () => {
  const { loop, turns, offers } = newLoop();
  loop.expect();
  expect(turns()).toBe(34);
  expect(offers()).toBe(34);
  expect(turns()).toBe(0);
});

test("what comes ends it at the next turn, and what is expected behind it goes on", () => {
  const { loop, turns } = newLoop();
  loop.expect();
  expect(turns(5)).toBe(5);
  loop.arrived();
  expect(turns()).toBe(1);

  loop.expect();
  turns(5);
  loop.arrived();
  // The answer to a message is sent in the same turn.
  loop.expect();
  expect(turns()).toBe(34);
});

test("what is expected again and again in one conversation is looked for without an end", () => {
  const { loop, turns } = newLoop();
  for (let call = 0; call < 1000; call += 1) {
    loop.expect();
    expect(turns(3)).toBe(3);
    loop.arrived();
  }
  expect(turns()).toBe(1);
});

test("after failures in a row it is tried seldom, and ever more seldom", () => {
  const { loop, turns } = newLoop();
  const tries: number[] = [];
  for (let call = 0; call < 40_000; call += 1) {
    loop.expect();
    if (turns() > 0) tries.push(call);
  }
  expect(tries.slice(0, 16)).toEqual(Array.from({ length: 16 }, (_, call) => call));
  const distances = tries.slice(16).map((call, index) => call - (tries[index + 15] as number));
  expect(distances.slice(0, 8)).toEqual([64, 128, 256, 512, 1024, 2048, 4096, 4096]);
});

test("one success is enough to begin again", () => {
  const { loop, turns } = newLoop();
  for (let call = 0; call < 1000; call += 1) {
    loop.expect();
    turns();
  }
  let skipped = 0;
  for (; turns(1) === 0; skipped += 1) loop.expect();
  loop.arrived();
  turns();
  expect(skipped).toBeGreaterThan(10);
  for (let call = 0; call < 4; call += 1) {
    loop.expect();
    expect(turns()).toBe(34);
  }
});

test("whoever takes an offer and keeps the processor is not made another for a while, and is looked for shorter", () => {
  const { loop, turns, offers, setOfferMs, pass } = newLoop();
  setOfferMs(3);
  loop.expect();
  expect(turns()).toBe(1);
  setOfferMs(0);
  loop.expect();
  expect(turns()).toBe(10);
  expect(offers()).toBe(1);
  pass(3 * 32);
  loop.expect();
  expect(turns()).toBe(34);
  expect(offers()).toBe(35);
});

test("what comes unexpected changes nothing", () => {
  const { loop, turns } = newLoop();
  loop.arrived();
  expect(turns()).toBe(0);
});
