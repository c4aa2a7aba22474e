import { expect, test } from "vitest";
import { SpinWait } from "./spin-wait.ts";

interface Run {
  looks: number;
  blocks: number;
  offers: number;
}

/** Counts how often the condition is looked at and the system blocked; the condition holds at the given look. An offer of the processor may last. */
function newWait({ offerMs = 0, processors = 2, processes = 2 } = {}): {
  run: (trueAt?: number, blockSucceeds?: boolean) => Run;
  pass: (ms: number) => void;
} {
  let nowMs = 0;
  let offers = 0;
  let blocks = 0;
  let succeeds = false;
  const wait = new SpinWait({
    processors,
    processes,
    offerProcessor: () => {
      offers += 1;
      nowMs += offerMs;
    },
    // A clock that moves by 2 us at each look.
    nowMs: () => (nowMs += 0.002),
    block: () => {
      blocks += 1;
      return succeeds;
    },
    blockUsMax: 100,
  });
  return {
    pass: (ms) => {
      nowMs += ms;
    },
    run: (trueAt = Number.POSITIVE_INFINITY, blockSucceeds = false) => {
      let looks = 0;
      blocks = 0;
      offers = 0;
      succeeds = blockSucceeds;
      wait.until(() => {
        looks += 1;
        return looks >= trueAt;
      });
      return { looks, blocks, offers };
    },
  };
}

test("it looks for a while and offers the processor between looks, then blocks", () => {
  const { run } = newWait();
  const { looks, blocks, offers } = run();
  expect(looks).toBeGreaterThan(100);
  expect(offers).toBeGreaterThan(10);
  expect(blocks).toBe(1);
  // An early event costs no system call.
  expect(run(200)).toEqual({ looks: 200, blocks: 0, offers: 0 });
  expect(run(300)).toEqual({ looks: 300, blocks: 0, offers: 7 });
});

test("what fails again and again is tried seldom, until it succeeds", () => {
  const { run } = newWait();
  for (let failure = 0; failure < 16; failure += 1) run();
  let tries = 0;
  while (run(Number.POSITIVE_INFINITY, true).blocks === 0 && tries < 1000) tries += 1;
  expect(tries).toBe(63);
  // Blocking has its budget back, looking has not: it has had its try at the same time.
  expect(run(Number.POSITIVE_INFINITY, true)).toEqual({ looks: 1, blocks: 1, offers: 0 });
});

test("where somebody has taken an offer, the next wait begins with offers", () => {
  const { run } = newWait({ offerMs: 0.01 });
  expect(run(50)).toEqual({ looks: 50, blocks: 0, offers: 0 });
  expect(run(300).offers).toBe(7);
  expect(run(50)).toEqual({ looks: 50, blocks: 0, offers: 3 });
});

test("where there are more processes than processors, each wait begins with offers", () => {
  const { run } = newWait({ processes: 3 });
  expect(run(50)).toEqual({ looks: 50, blocks: 0, offers: 3 });
  expect(run(50)).toEqual({ looks: 50, blocks: 0, offers: 3 });
});

test("where somebody keeps the processor that was offered, it is not offered for a while", () => {
  const { run, pass } = newWait({ offerMs: 3 });
  // The wait sees an event that came meanwhile.
  expect(run(210)).toEqual({ looks: 210, blocks: 0, offers: 1 });
  expect(run(250)).toEqual({ looks: 250, blocks: 0, offers: 0 });
  pass(80);
  expect(run(250)).toEqual({ looks: 250, blocks: 0, offers: 0 });
  pass(20);
  expect(run(18)).toEqual({ looks: 18, blocks: 0, offers: 1 });
});

test("on one processor it looks only while it may offer it", () => {
  const { run } = newWait({ offerMs: 3, processors: 1 });
  expect(run(17)).toEqual({ looks: 17, blocks: 0, offers: 1 });
  expect(run()).toEqual({ looks: 1, blocks: 1, offers: 0 });
});
