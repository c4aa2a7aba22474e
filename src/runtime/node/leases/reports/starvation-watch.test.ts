import { describe, expect, test } from "vitest";
import type { ActorId } from "../../../base/ids.ts";
import type { Holder, LeaseExplanation } from "../lease-events.ts";
import { StarvationWatch, type Waiting } from "./starvation-watch.ts";

const cell: Holder = { kind: "actor", id: "cell", owner: undefined, resources: { CPU: 2 } };
const tasks: Holder = { kind: "tasks", id: "worker", owner: undefined, resources: { CPU: 1 } };

function explanation(...holders: Holder[]): LeaseExplanation {
  const lacking = [{ name: "CPU", wanted: 1, free: 0 }];
  return { refusal: undefined, obstacle: undefined, pendingGroup: undefined, lacking, holders, workersStarting: 0 };
}

function observe(watch: StarvationWatch, nowMs: number, waits: readonly Waiting[], holders: readonly Holder[] = [cell]): string[] {
  return watch.observe(waits, { nowMs, explain: () => explanation(...holders), nameOf: (actor) => (actor === "cell" ? "Cell" : "Other") });
}

const task: Waiting = { key: "a", actor: undefined, sinceMs: 0 };

describe("the watch over those that wait", () => {
  test("names the actors in the way once, after a while", () => {
    const watch = new StarvationWatch();
    expect(observe(watch, 4999, [task])).toEqual([]);
    expect(observe(watch, 5000, [task])).toEqual([
      "A task has waited 5 s for 1 CPU (0 free); the rest is held by actors: Cell (2 CPU). They hold it while they live, idle or not: end those that are no longer needed (using, terminate, kill), or let them ask for less.",
    ]);
    expect(observe(watch, 60_000, [task])).toEqual([]);
  });

  test("is silent while something is granted, and where tasks are in the way", () => {
    const watch = new StarvationWatch();
    expect(observe(watch, 5000, [task], [cell, tasks])).toEqual([]);
    expect(observe(watch, 6000, [{ ...task, sinceMs: 5500 }])).toEqual([]);
    expect(observe(watch, 7000, [{ ...task, sinceMs: 5500 }], [])).toEqual([]);
  });

  test("counts from when it first saw an actor that waits, and forgets what no longer waits", () => {
    const watch = new StarvationWatch();
    const actor: Waiting = { key: "b", actor: "other" as ActorId, sinceMs: undefined };
    expect(observe(watch, 10_000, [actor])).toEqual([]);
    expect(observe(watch, 15_000, [actor])[0]).toContain("Actor Other has waited 5 s");
    expect(observe(watch, 16_000, [])).toEqual([]);
    expect(observe(watch, 17_000, [actor])).toEqual([]);
    expect(observe(watch, 22_000, [actor])).toHaveLength(1);
  });
});
