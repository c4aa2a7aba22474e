import { expect, test } from "vitest";
import { BriefWait } from "./brief-wait.ts";

/** Counts how often the condition is looked at and the system blocked; the condition holds at the given look. */
function newWait(options: { processors: number }): {
  wait: BriefWait;
  run: (trueAt?: number, blockSucceeds?: boolean) => { looks: number; blocks: number };
} {
  let nowMs = 0;
  let blocks = 0;
  let succeeds = false;
  const wait = new BriefWait({
    processors: options.processors,
    // A clock that moves by 2 us at each look.
    nowMs: () => (nowMs += 0.002),
    block: () => {
      blocks += 1;
      return succeeds;
    },
    blockUsMax: 100,
  });
  return {
    wait,
    run: (trueAt = Number.POSITIVE_INFINITY, blockSucceeds = false) => {
      let looks = 0;
      blocks = 0;
      succeeds = blockSucceeds;
      wait.until(() => {
        looks += 1;
        return looks >= trueAt;
      });
      return { looks, blocks };
    },
  };
}

test("it looks for a while, then blocks", () => {
  const { run } = newWait({ processors: 2 });
  const { looks, blocks } = run();
  expect(looks).toBeGreaterThan(100);
  expect(blocks).toBe(1);
  expect(run(50)).toEqual({ looks: 50, blocks: 0 });
});

test("what fails again and again is tried seldom, until it succeeds", () => {
  const { run } = newWait({ processors: 2 });
  for (let failure = 0; failure < 16; failure += 1) run();
  let tries = 0;
  while (run(Number.POSITIVE_INFINITY, true).blocks === 0 && tries < 1000) tries += 1;
  expect(tries).toBe(63);
  // Blocking has its credit back, looking has not: it has had its try at the same time.
  expect(run(Number.POSITIVE_INFINITY, true)).toEqual({ looks: 1, blocks: 1 });
});

test("on one processor it only blocks", () => {
  expect(newWait({ processors: 1 }).run()).toEqual({ looks: 1, blocks: 1 });
});
