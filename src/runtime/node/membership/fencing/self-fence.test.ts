/** When a node stops its workers and when it kills them; that it is always before the head can give their actors away, in thousands of bad days. */
import { describe, expect, test } from "vitest";
import type { FencingMutation } from "../../../../../sim/fencing-mutations.ts";
import { simulateFencing } from "../../../../../sim/fencing.ts";
import { SelfFence } from "./self-fence.ts";

function fence(): SelfFence {
  return new SelfFence({ nowMs: 0, deadAfterMs: 10_000, closedAfterMs: 2_000 });
}

const clocks = new WeakMap<SelfFence, number>();

/** The process has not stood still until then. */
function kindsAt(machine: SelfFence, nowMs: number): string[] {
  const kinds: string[] = [];
  for (let atMs = clocks.get(machine) ?? 0; atMs < nowMs; atMs += 500) kinds.push(...wakesAt(machine, atMs));
  return [...kinds, ...wakesAt(machine, nowMs)];
}

function wakesAt(machine: SelfFence, nowMs: number): string[] {
  clocks.set(machine, nowMs);
  return machine.handle({ kind: "tick", nowMs }).map(({ kind }) => kind);
}

describe("where other heads may take over", () => {
  const acknowledge = (machine: SelfFence, nowMs: number, provenMs: number): string[] =>
    machine.handle({ kind: "acknowledged", sentMs: nowMs, later: { provenMs, takeoverGraceMs: 20_000 }, nowMs }).map(({ kind }) => kind);

  test("no proof of the head's silence is good for longer than the next head waits", () => {
    const machine = fence();
    expect(acknowledge(machine, 1_000, 500)).toEqual([]);
    for (let nowMs = 2_000; nowMs <= 27_000; nowMs += 1_000) {
      expect(kindsAt(machine, nowMs)).toEqual([]);
      machine.handle({ kind: "headless", sentMs: nowMs, nowMs });
    }
    expect(machine.runsUntilMs).toBe(27_500);
    expect(kindsAt(machine, 27_500)).toEqual(["fence"]);
  });

  test("answers of a head that cannot prove that it leads are not enough, and an older proof that comes later takes nothing back", () => {
    const machine = fence();
    for (let nowMs = 1_000; nowMs <= 30_000; nowMs += 1_000) {
      expect(kindsAt(machine, nowMs)).toEqual([]);
      expect(acknowledge(machine, nowMs, nowMs === 5_000 ? 4_000 : 1_000)).toEqual([]);
    }
    expect(kindsAt(machine, 31_000)).toEqual(["fence"]);
  });

  test("the absence of the store is a proof as of its look, for a node whose time is not over", () => {
    const machine = fence();
    acknowledge(machine, 1_000, 1_000);
    const ticks = (fromMs: number, toMs: number): string[] => {
      const kinds: string[] = [];
      for (let nowMs = fromMs; nowMs <= toMs; nowMs += 1_000) {
        machine.handle({ kind: "headless", sentMs: nowMs, nowMs });
        kinds.push(...kindsAt(machine, nowMs));
      }
      return kinds;
    };
    expect(ticks(2_000, 20_000)).toEqual([]);
    expect(machine.handle({ kind: "storeAway", provenMs: 18_000, nowMs: 20_000 })).toEqual([]);
    expect(machine.handle({ kind: "storeAway", provenMs: 15_000, nowMs: 20_000 })).toEqual([]);
    expect(ticks(21_000, 44_000)).toEqual([]);
    // Heard of too late: what happened before the store went away is not known.
    expect(machine.handle({ kind: "storeAway", provenMs: 44_000, nowMs: 45_000 })).toEqual([]);
    expect(kindsAt(machine, 45_000)).toEqual(["fence"]);
  });

  test("a head that is alone lifts the limit", () => {
    const machine = fence();
    acknowledge(machine, 1_000, 1_000);
    for (let nowMs = 2_000; nowMs <= 40_000; nowMs += 1_000) {
      expect(kindsAt(machine, nowMs)).toEqual([]);
      machine.handle({ kind: "acknowledged", sentMs: nowMs, nowMs });
    }
  });
});

describe("a node that nobody answers", () => {
  test("ends after seven tenths of the time after which the head would declare it dead, once", () => {
    const machine = fence();
    expect(kindsAt(machine, 6_999)).toEqual([]);
    expect(kindsAt(machine, 7_000)).toEqual(["fence"]);
    expect(kindsAt(machine, 8_000)).toEqual([]);
    expect(machine.runsUntilMs).toBe(0);
  });

  test("counts from when the answered question was sent", () => {
    const machine = fence();
    expect(kindsAt(machine, 5_000)).toEqual([]);
    machine.handle({ kind: "acknowledged", sentMs: 1_000, nowMs: 5_000 });
    expect(machine.runsUntilMs).toBe(8_000);
    expect(kindsAt(machine, 8_000)).toEqual(["fence"]);
  });

  test("an older answer that comes later takes nothing back", () => {
    const machine = fence();
    expect(kindsAt(machine, 3_000)).toEqual([]);
    machine.handle({ kind: "acknowledged", sentMs: 3_000, nowMs: 3_001 });
    machine.handle({ kind: "acknowledged", sentMs: 1_000, nowMs: 3_002 });
    expect(kindsAt(machine, 9_999)).toEqual([]);
  });

  test("goes on for as long as the control plane proves that no head can have declared it dead", () => {
    const machine = fence();
    for (let nowMs = 1_000; nowMs < 60_000; nowMs += 1_000) {
      machine.handle({ kind: "headless", sentMs: nowMs, nowMs });
      expect(kindsAt(machine, nowMs)).toEqual([]);
    }
  });

  test("that stood still stops its workers before it reads what came meanwhile, and lets them go on when the head answers what it asks now", () => {
    const machine = fence();
    expect(machine.handle({ kind: "acknowledged", sentMs: 100, nowMs: 60_000 }).map(({ kind }) => kind)).toEqual(["pause"]);
    expect(machine.runsUntilMs).toBe(0);
    expect(machine.handle({ kind: "acknowledged", sentMs: 59_999, nowMs: 60_100 })).toEqual([]);
    expect(machine.handle({ kind: "acknowledged", sentMs: 60_001, nowMs: 60_200 })).toEqual([{ kind: "resume" }]);
    expect(machine.runsUntilMs).toBe(67_001);
  });

  test("that stood still and is not answered after that ends", () => {
    const machine = fence();
    expect(wakesAt(machine, 60_000)).toEqual(["pause"]);
    expect(kindsAt(machine, 69_999)).toEqual([]);
    expect(kindsAt(machine, 70_000)).toEqual(["fence"]);
  });

  test("that stood still for a moment stops its workers no later than others end", () => {
    const machine = fence();
    expect(kindsAt(machine, 2_000)).toEqual([]);
    expect(wakesAt(machine, 4_000)).toEqual([]);
    expect(kindsAt(machine, 6_999)).toEqual([]);
    expect(kindsAt(machine, 7_000)).toEqual(["pause"]);
    expect(kindsAt(machine, 14_000)).toEqual(["fence"]);
  });

  test("ends when it is told that it is dead", () => {
    expect(fence().handle({ kind: "declaredDead", nowMs: 1 })).toMatchObject([{ kind: "fence" }]);
  });
});

describe("a node whose connections are closed", () => {
  test("stops its workers before the head takes it for dead, and lets them go on at the next answer", () => {
    const machine = fence();
    expect(kindsAt(machine, 1_000)).toEqual([]);
    machine.handle({ kind: "linkClosed", nowMs: 1_000 });
    expect(kindsAt(machine, 2_500)).toEqual([]);
    machine.handle({ kind: "busClosed", nowMs: 2_500 });
    expect(kindsAt(machine, 3_899)).toEqual([]);
    expect(kindsAt(machine, 3_900)).toEqual(["pause"]);
    expect(machine.runsUntilMs).toBe(0);
    expect(kindsAt(machine, 4_000)).toEqual([]);
    // Sent before the workers were stopped: the head may have decided since.
    expect(machine.handle({ kind: "acknowledged", sentMs: 3_000, nowMs: 4_100 })).toEqual([]);
    expect(machine.handle({ kind: "acknowledged", sentMs: 4_100, nowMs: 4_200 })).toEqual([{ kind: "resume" }]);
  });

  test("one of both is enough to go on", () => {
    const machine = fence();
    machine.handle({ kind: "linkClosed", nowMs: 0 });
    machine.handle({ kind: "busClosed", nowMs: 0 });
    machine.handle({ kind: "linkOpen", nowMs: 1_000 });
    expect(kindsAt(machine, 6_000)).toEqual([]);
  });

  test("and that are not back in time ends", () => {
    const machine = fence();
    machine.handle({ kind: "linkClosed", nowMs: 0 });
    machine.handle({ kind: "busClosed", nowMs: 0 });
    expect(kindsAt(machine, 1_400)).toEqual(["pause"]);
    expect(kindsAt(machine, 7_000)).toEqual(["fence"]);
  });
});

describe("with two heads, a bus and a store that are cut, delayed and stopped at random", () => {
  test("no worker runs when the death of its node is committed", () => {
    let deaths = 0;
    for (let seed = 1; seed <= 400; seed += 1) {
      const result = simulateFencing({ seed });
      expect({ seed, violations: result.violations }).toEqual({ seed, violations: [] });
      deaths += result.deaths;
    }
    expect(deaths).toBeGreaterThan(350);
  });

  const found: Partial<Record<FencingMutation, number>> = {
    headlessWithoutStore: 81,
    markAtOnce: 24,
    unprovenAnswers: 1777,
    noGrace: 94,
    workersTrustDaemon: 12,
    noPause: 3,
  };
  for (const [mutation, seed] of Object.entries(found)) {
    test(`without its part of the protocol one does: ${mutation}`, () => {
      expect(simulateFencing({ seed, mutation: mutation as FencingMutation }).violations).not.toEqual([]);
      expect(simulateFencing({ seed }).violations).toEqual([]);
    });
  }
});

describe("with two heads, and the address of the one that was met last for a proof", () => {
  test("no worker runs when the death of its node is committed", () => {
    for (let seed = 1; seed <= 100; seed += 1)
      expect({ seed, violations: simulateFencing({ seed, proof: "addresses" }).violations }).toEqual({ seed, violations: [] });
  });

  const found: Partial<Record<FencingMutation, number>> = { laterHeadsForgotten: 676, answersAreProofs: 676, noGrace: 34 };
  for (const [mutation, seed] of Object.entries(found)) {
    test(`without its part of the protocol one does: ${mutation}`, () => {
      expect(simulateFencing({ seed, proof: "addresses", mutation: mutation as FencingMutation }).violations).not.toEqual([]);
      expect(simulateFencing({ seed, proof: "addresses" }).violations).toEqual([]);
    });
  }
});

describe("with two heads, and a store that may be away", () => {
  test("no worker runs when the death of its node is committed, and nodes go on while it is away", () => {
    let absences = 0;
    for (let seed = 1; seed <= 100; seed += 1) {
      const result = simulateFencing({ seed, proof: "addresses", hasOutages: true });
      expect({ seed, violations: result.violations }).toEqual({ seed, violations: [] });
      absences += result.absences;
    }
    expect(absences).toBeGreaterThan(100);
  });

  const found: Partial<Record<FencingMutation, number>> = { lapsesForgotten: 2187, awayAtOnce: 54, unprovenRefuse: 285 };
  for (const [mutation, seed] of Object.entries(found)) {
    test(`without its part of the protocol one does: ${mutation}`, () => {
      const options = { seed, proof: "addresses", hasOutages: true } as const;
      expect(simulateFencing({ ...options, mutation: mutation as FencingMutation }).violations).not.toEqual([]);
      expect(simulateFencing(options).violations).toEqual([]);
    });
  }
});
