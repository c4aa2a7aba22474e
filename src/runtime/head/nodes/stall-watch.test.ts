import { expect, test } from "vitest";
import { StallWatch } from "./stall-watch.ts";

test("tells programs after a while, again for those that begin later, and once when it is over", () => {
  const watch = new StallWatch();
  const stall = { sinceMs: 1_000, reason: "its disk is full" };
  const told = [0, 1_000, 5_000, 6_000, 7_000, 35_000, 36_000, 40_000].map((nowMs) => watch.look(nowMs === 0 ? undefined : stall, nowMs));
  const text = (seconds: number): string =>
    `The head has kept no changes for ${seconds} s, as its disk is full: new actors, names, placement groups, definitions and kvPut wait until it can. Running calls go on.`;
  expect(told).toEqual([undefined, undefined, undefined, text(5), undefined, undefined, text(35), undefined]);
  expect([watch.look(undefined, 41_000), watch.look(undefined, 42_000)]).toEqual(["The head keeps changes again.", undefined]);
});
