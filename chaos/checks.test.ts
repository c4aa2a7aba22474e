/** Each check of a chaos run finds the fault it is there for, and no other. */
import { describe, expect, test } from "vitest";
import { livesAfterKill, type Promised, type Recovery, twoLives, type WaitedMs, worstRecovery, wrongCalls } from "./checks.ts";
import type { Fault } from "./faults.ts";
import { Heard, worstGap } from "./gaps.ts";
import { DRIVER, type Look, waitedBetween } from "./processor-waits.ts";
import type { Incarnation, WitnessedCall, Witnesses } from "./witness.ts";

interface Life {
  actor?: string;
  daemon?: number;
  startMs: number;
  calls?: WitnessedCall[];
  ticksMs?: number[];
}

function called(call: number, beginMs: number, endMs: number | undefined = beginMs): WitnessedCall {
  return { call, beginMs, endMs };
}

function witnesses(...lives: Life[]): Witnesses {
  const found = new Map<string, Incarnation[]>();
  for (const { actor = "actor-0", daemon = 1, startMs, calls = [], ticksMs = [] } of lives) {
    const lastMs = Math.max(startMs, ...ticksMs, ...calls.map(({ beginMs }) => beginMs));
    found.set(actor, [...(found.get(actor) ?? []), { actor, pid: 1000 + startMs, daemon, startMs, calls, ticksMs, lastMs }]);
  }
  return found;
}

function fault(kind: Fault["kind"], beginMs: number, endMs: number = beginMs): Fault {
  return { kind, beginMs, endMs, daemons: [1], heads: [7], home: 8, detail: "" };
}

const nothing: Promised = { answered: new Map(), killedMs: new Map(), once: new Set() };

describe("two lives", () => {
  test("none where one ends before the next begins", () => {
    const seen = witnesses({ startMs: 0, calls: [called(1, 5)], ticksMs: [10, 20] }, { startMs: 30 });
    expect(twoLives(seen, [])).toEqual([]);
  });

  test("a call, or a timer, of the older one after the newer has begun", () => {
    expect(twoLives(witnesses({ startMs: 0, calls: [called(1, 31)] }, { startMs: 30 }), [])).toHaveLength(1);
    expect(twoLives(witnesses({ startMs: 0, ticksMs: [31] }, { startMs: 30 }), [])).toHaveLength(1);
  });

  test("the timer of a process that has just been woken up is none, its call is", () => {
    const woken = [fault("freeze node", 0, 1000)];
    expect(twoLives(witnesses({ startMs: 0, ticksMs: [1001] }, { startMs: 30 }), woken)).toEqual([]);
    expect(twoLives(witnesses({ startMs: 0, ticksMs: [1500] }, { startMs: 30 }), woken)).toHaveLength(1);
    expect(twoLives(witnesses({ startMs: 0, calls: [called(1, 1001)] }, { startMs: 30 }), woken)).toHaveLength(1);
    expect(twoLives(witnesses({ startMs: 0, ticksMs: [1001] }, { startMs: 30 }), [fault("cut node", 0, 1000)])).toHaveLength(1);
  });

  test("also where the first of them was constructed in the same process", () => {
    expect(twoLives(witnesses({ startMs: 0, ticksMs: [40] }, { startMs: 30 }), [])[0]).toContain("two lives of actor-0");
  });
});

describe("calls", () => {
  test("one that was answered and that nobody ended", () => {
    const seen = witnesses({ startMs: 0, calls: [called(1, 1), { call: 2, beginMs: 2, endMs: undefined }] });
    const answered = (...calls: number[]): Promised => ({ ...nothing, answered: new Map([["actor-0", new Set(calls)]]) });
    expect(wrongCalls(seen, answered(1))).toEqual([]);
    expect(wrongCalls(seen, answered(1, 2))).toHaveLength(1);
    expect(wrongCalls(seen, { ...nothing, answered: new Map([["actor-1", new Set([1])]]) })).toHaveLength(1);
  });

  test("one that ran again and may run once", () => {
    const again = witnesses(
      { actor: "once-0", startMs: 0, calls: [called(1, 1)] },
      { actor: "once-0", startMs: 9, calls: [called(1, 10)] },
    );
    expect(wrongCalls(again, { ...nothing, once: new Set(["once-0"]) })).toHaveLength(1);
    expect(wrongCalls(again, nothing)).toEqual([]);
  });
});

test("an actor that lives on, or again, after its kill was acknowledged", () => {
  const promised = { ...nothing, killedMs: new Map([["actor-0", 100]]) };
  const found = (seen: Witnesses, faults: Fault[] = []): string[] => livesAfterKill(seen, promised, faults);
  expect(found(witnesses({ startMs: 0, ticksMs: [1005] }))).toEqual([]);
  expect(found(witnesses({ startMs: 0, ticksMs: [2000] }))).toHaveLength(1);
  expect(found(witnesses({ startMs: 0 }, { startMs: 200 }))).toHaveLength(1);
  // An actor out of the order's reach lives until its node is heard again, or gives up.
  expect(found(witnesses({ startMs: 0, ticksMs: [2000] }), [fault("cut node", 50, 1500)])).toEqual([]);
  expect(found(witnesses({ startMs: 0 }, { startMs: 200 }), [fault("cut node", 50, 1500)])).toHaveLength(1);
  expect(found(witnesses({ startMs: 0, ticksMs: [30_000] }), [fault("cut node", 50, 1500)])).toHaveLength(1);
});

describe("recovery", () => {
  const killed = [fault("kill node", 1000)];

  const recovery = (seen: Witnesses, promised = nothing, waitedMs: WaitedMs = () => 0): Recovery =>
    worstRecovery(seen, killed, { promised, waitedMs });

  test("is the time until the first answer elsewhere", () => {
    const seen = witnesses({ startMs: 0 }, { startMs: 3000, daemon: 2, calls: [called(1, 3500)] });
    expect(recovery(seen)).toEqual({ actor: "actor-0", ms: 2500, waitedMs: 0, count: 1 });
  });

  test("leaves out what the machine took from the head until the actor was started, and then from the driver", () => {
    const seen = witnesses(
      { startMs: 0 },
      { startMs: 3000, daemon: 2, calls: [called(1, 3500)] },
      { startMs: 9000, daemon: 3, calls: [called(2, 9500)] },
    );
    const asked: unknown[] = [];
    const found = recovery(seen, nothing, (...question) => (asked.push(question), 400));
    expect(found).toMatchObject({ ms: 1700, waitedMs: 800 });
    expect(asked).toEqual([
      [[7, 2, 4000], 1000, 3000],
      [[DRIVER, 8, 2, 4000], 3000, 3500],
    ]);
  });

  test("has no end for an actor that never came back, or never answered", () => {
    expect(recovery(witnesses({ startMs: 0 })).ms).toBe(Infinity);
    expect(recovery(witnesses({ startMs: 0 }, { startMs: 3000, daemon: 2 })).ms).toBe(Infinity);
  });

  test("is not asked of those that were elsewhere, had been killed, or that nobody calls", () => {
    expect(recovery(witnesses({ startMs: 0 }, { startMs: 500, daemon: 2 })).count).toBe(0);
    expect(recovery(witnesses({ startMs: 0 }), { ...nothing, killedMs: new Map([["actor-0", 900]]) }).count).toBe(0);
    const named = witnesses({ actor: "named-1", startMs: 0 }, { actor: "named-1", startMs: 3000, daemon: 2 });
    expect(recovery(named).ms).toBe(2000);
  });
});

describe("waits for a processor", () => {
  const look = (atMs: number, ...waitedMs: [number, number][]): Look => ({ atMs, stalledMs: 0, waitedMs: new Map(waitedMs) });
  const time = { fromMs: 100, toMs: 400 };

  test("are what each has waited more, of those that are asked about", () => {
    const looks = [look(100, [1, 50], [2, 0]), look(200, [1, 60], [2, 90]), look(300, [1, 65], [2, 99])];
    expect(waitedBetween(looks, [1], time)).toBe(15);
    expect(waitedBetween(looks, [1, 2], time)).toBe(15 + 99);
    expect(waitedBetween(looks, [3], time)).toBe(0);
  });

  test("begin with a process and end with it", () => {
    expect(waitedBetween([look(100), look(200, [1, 60]), look(300, [1, 0])], [1], time)).toBe(60);
  });

  test("are never more than the time in which they were", () => {
    expect(waitedBetween([look(100), look(200, [1, 90], [2, 90])], [1, 2], time)).toBe(100);
  });

  test("have what the whole machine stood still for added", () => {
    const looks = [look(100), { ...look(200, [1, 30]), stalledMs: 50 }, { ...look(300, [1, 40]), stalledMs: 950 }];
    expect(waitedBetween(looks, [1], time)).toBe(80 + 100);
  });

  test("before and after it do not count", () => {
    const looks = [look(0), look(100, [1, 50]), look(400, [1, 60]), look(500, [1, 99])];
    expect(waitedBetween(looks, [1], time)).toBe(10);
    // An interval that lies in the window partly counts for that part at most.
    expect(waitedBetween(looks, [1], { fromMs: 395, toMs: 420 })).toBe(5 + 20);
  });
});

describe("gaps", () => {
  const time = { fromMs: 1000, toMs: 2000, waitedMs: () => 0 };
  const asked = (...answers: [number, number][]): Heard => {
    const heard = new Heard();
    for (const [beginMs, endMs] of [[980, 990] as const, ...answers]) heard.answered(beginMs, endMs);
    return heard;
  };

  test("the longest answer, less what the machine was late by", () => {
    const all = new Map([
      ["a", asked([1100, 1500])],
      ["b", asked([1000, 1010])],
      ["echo", asked([1200, 1300])],
    ]);
    expect(worstGap(all, time)).toEqual({ name: "a", ms: 300, beginMs: 1100, watched: 2, failed: [], machineMs: 100 });
  });

  test("less what its processes waited for a processor, so that a shorter one may be worse", () => {
    const slow = asked([1100, 1900], [1900, 1990]);
    const waitedMs: WaitedMs = (pids, fromMs, toMs) => (pids[0] === 5 && fromMs === 1100 && toMs === 1900 ? 760 : 0);
    const all = new Map([["a", Object.assign(new Heard(() => [5]), { answersMs: slow.answersMs, slow: slow.slow })]]);
    expect(worstGap(all, { ...time, waitedMs })).toMatchObject({ ms: 90, beginMs: 1900, machineMs: 0 });
  });

  test("one that has not been answered yet", () => {
    const heard = asked();
    heard.openMs = 1400;
    expect(worstGap(new Map([["a", heard]]), time).ms).toBe(600);
  });

  test("what the next fault adds to a call is not this one's", () => {
    expect(worstGap(new Map([["a", asked([1950, 5000])]]), time).ms).toBe(50);
  });

  test("an error instead of an answer", () => {
    const heard = asked();
    heard.failed(1500);
    expect(worstGap(new Map([["a", heard]]), time).failed).toEqual(["a"]);
  });

  test("who was not well before is not asked, and counted as such", () => {
    const heard = asked();
    heard.failed(995);
    heard.answered(1000, 1900);
    expect(worstGap(new Map([["a", heard]]), time)).toMatchObject({ ms: 0, watched: 0 });
  });
});
