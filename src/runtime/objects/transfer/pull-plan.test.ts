/** The plan of a node's fetches: order, memory, windows, and progress after sources that stall, leave or lie. */
import { beforeEach, describe, expect, test } from "vitest";
import type { NodeTag } from "../../base/ids.ts";
import { FETCH_FOR } from "../../wire/objects/transfer-messages.ts";
import { type PullEffect, type PullEvent, PullPlan } from "./pull-plan.ts";

const home = "home" as NodeTag;
const other = "other" as NodeTag;
const third = "third" as NodeTag;
const MEGABYTE = 1_048_576;

let plan: PullPlan;
let nowMs: number;

beforeEach(() => {
  plan = new PullPlan({ budgetBytes: 100 * MEGABYTE });
  nowMs = 1000;
});

/** The shell has room for everything, unless a test says otherwise. */
function handle(event: PullEvent): PullEffect[] {
  const effects: PullEffect[] = [];
  for (const effect of plan.handle(event, nowMs)) {
    effects.push(effect);
    if (effect.kind === "allocate") effects.push(...handle({ kind: "allocated", key: effect.key, ok: true }));
  }
  return effects;
}

function want(key: string, megabytes: number, purpose: number = FETCH_FOR.GET): PullEffect[] {
  return handle({ kind: "wanted", key, sizeBytes: megabytes * MEGABYTE, home, purpose });
}

function opened(effects: readonly PullEffect[]): Extract<PullEffect, { kind: "open" }> {
  const open = effects.find((effect) => effect.kind === "open");
  if (open === undefined) throw new Error(`nothing was opened: ${JSON.stringify(effects)}`);
  return open;
}

const kinds = (effects: readonly PullEffect[]): string[] => effects.map((effect) => effect.kind);

describe("one object", () => {
  test("is asked for at its home, a window of chunks ahead, and the last chunk is what is left", () => {
    const effects = want("a", 9.5);
    const { pull, node } = opened(effects);
    expect(node).toBe(home);
    const reads = effects.filter((effect) => effect.kind === "read");
    expect(reads).toHaveLength(8);
    expect(reads.at(-1)).toMatchObject({ offset: 7 * MEGABYTE, sizeBytes: MEGABYTE });
    const next = handle({ kind: "received", pull, sizeBytes: MEGABYTE });
    expect(next).toEqual([{ kind: "read", pull, node: home, offset: 8 * MEGABYTE, sizeBytes: MEGABYTE }]);
    expect(handle({ kind: "received", pull, sizeBytes: MEGABYTE })).toEqual([
      { kind: "read", pull, node: home, offset: 9 * MEGABYTE, sizeBytes: MEGABYTE / 2 },
    ]);
    for (let chunk = 0; chunk < 7; chunk += 1) expect(handle({ kind: "received", pull, sizeBytes: MEGABYTE })).toEqual([]);
    expect(handle({ kind: "received", pull, sizeBytes: MEGABYTE / 2 })).toEqual([
      { kind: "close", pull, node: home, isDone: true },
      { kind: "complete", key: "a" },
    ]);
    expect(plan.homeOf("a")).toBeUndefined();
  });

  test("is one pull for any number of readers, and ends when the last of them has gone", () => {
    want("a", 1);
    expect(want("a", 1)).toEqual([]);
    expect(handle({ kind: "unwanted", key: "a", purpose: FETCH_FOR.GET })).toEqual([]);
    expect(kinds(handle({ kind: "unwanted", key: "a", purpose: FETCH_FOR.GET }))).toEqual(["close", "abandoned"]);
    expect(plan.homeOf("a")).toBeUndefined();
  });

  test("goes on at the byte that is missing when its source stalls, at another that the home names", () => {
    const first = opened(want("a", 4));
    const second = opened(handle({ kind: "redirected", pull: first.pull, node: other }));
    expect(second).toMatchObject({ node: other });
    handle({ kind: "received", pull: second.pull, sizeBytes: MEGABYTE });
    nowMs += 1999;
    expect(handle({ kind: "tick" })).toEqual([]);
    nowMs += 1;
    const effects = handle({ kind: "tick" });
    expect(effects[0]).toEqual({ kind: "close", pull: second.pull, node: other, isDone: false });
    const again = opened(effects);
    expect(again).toMatchObject({ node: home, avoid: [other] });
    expect(effects.find((effect) => effect.kind === "read")).toMatchObject({ offset: MEGABYTE });
    // Late bytes of the old source mean nothing.
    expect(handle({ kind: "received", pull: second.pull, sizeBytes: MEGABYTE })).toEqual([]);
    const last = opened(handle({ kind: "redirected", pull: again.pull, node: third }));
    expect(last.node).toBe(third);
    expect(plan.haveBytes("a")).toBe(MEGABYTE);
  });

  test("a home that stalls is connected to anew, ever more rarely, and given up after a minute", () => {
    let effects = want("a", 1);
    let attempts = 0;
    const endMs = nowMs + 65_000;
    while (nowMs < endMs && !kinds(effects).includes("failed")) {
      nowMs += 100;
      effects = handle({ kind: "tick" });
      if (kinds(effects).includes("reset")) attempts += 1;
    }
    expect(attempts).toBeGreaterThan(15);
    expect(attempts).toBeLessThan(30);
    expect(effects.at(-1)).toEqual({ kind: "failed", key: "a", reason: "unreachable" });
  });

  test("is lost when its home refuses it, or is dead; a copy that is being received from another still comes", () => {
    expect(handle({ kind: "refused", pull: opened(want("a", 1)).pull })).toEqual([{ kind: "failed", key: "a", reason: "lost" }]);
    want("b", 1);
    expect(handle({ kind: "nodeGone", node: home })).toEqual([{ kind: "failed", key: "b", reason: "lost" }]);
    expect(want("c", 1)).toEqual([{ kind: "failed", key: "c", reason: "lost" }]);
    const elsewhere = { kind: "wanted", key: "d", sizeBytes: MEGABYTE, home: third, purpose: 0 } as const;
    const first = opened(handle(elsewhere));
    const second = opened(handle({ kind: "redirected", pull: first.pull, node: other }));
    expect(handle({ kind: "nodeGone", node: third })).toEqual([]);
    expect(kinds(handle({ kind: "received", pull: second.pull, sizeBytes: MEGABYTE }))).toEqual(["close", "complete"]);
  });

  test("whose home is dead is asked for at its owner's node, where it goes on at the byte that is missing", () => {
    const event = { kind: "wanted", key: "a", sizeBytes: 2 * MEGABYTE, home, adopter: third, purpose: 0 } as const;
    const first = opened(handle(event));
    handle({ kind: "received", pull: first.pull, sizeBytes: MEGABYTE });
    const atAdopter = handle({ kind: "nodeGone", node: home });
    expect(opened(atAdopter)).toMatchObject({ node: third, avoid: [home] });
    expect(plan.homeOf("a")).toBe(third);
    const atOther = handle({ kind: "redirected", pull: opened(atAdopter).pull, node: other });
    expect(atOther).toMatchObject([
      { kind: "open", node: other },
      { kind: "read", node: other, offset: MEGABYTE },
    ]);
    // The only one that has it did not answer: after a while it is tried again.
    nowMs += 2000;
    const again = opened(handle({ kind: "tick" }));
    expect(again).toMatchObject({ node: third, avoid: [home, other] });
    expect(handle({ kind: "redirected", pull: again.pull, node: other })).toEqual([]);
    nowMs += 50;
    const last = opened(handle({ kind: "tick" }));
    expect(last).toMatchObject({ node: third, avoid: [] });
    expect(handle({ kind: "refused", pull: last.pull }).at(-1)).toEqual({ kind: "failed", key: "a", reason: "lost" });
    expect(opened(handle(event))).toMatchObject({ node: third });
    expect(handle({ kind: "nodeGone", node: third })).toEqual([{ kind: "failed", key: "a", reason: "lost" }]);
    expect(handle(event)).toEqual([{ kind: "failed", key: "a", reason: "lost" }]);
  });

  test("a broken connection is tried again soon, and a source that refuses is avoided", () => {
    const first = opened(want("a", 1));
    expect(handle({ kind: "linkLost", node: home })).toEqual([]);
    nowMs += 50;
    const again = opened(handle({ kind: "tick" }));
    expect(again.pull).not.toBe(first.pull);
    const second = opened(handle({ kind: "redirected", pull: again.pull, node: other }));
    expect(opened(handle({ kind: "refused", pull: second.pull }))).toMatchObject({ node: home, avoid: [other] });
  });

  test("damaged chunks are asked for again, elsewhere if that is possible, and not for ever", () => {
    let { pull } = opened(want("a", 2));
    handle({ kind: "received", pull, sizeBytes: MEGABYTE });
    for (let time = 1; time < 5; time += 1) {
      const effects = handle({ kind: "damaged", pull });
      expect(effects.find((effect) => effect.kind === "read")).toMatchObject({ offset: MEGABYTE });
      ({ pull } = opened(effects));
    }
    expect(handle({ kind: "damaged", pull }).at(-1)).toEqual({ kind: "failed", key: "a", reason: "damaged" });
  });

  test("that is said to be freed is asked for once more; one that begins again, from its first byte", () => {
    const { pull } = opened(want("a", 2));
    handle({ kind: "received", pull, sizeBytes: MEGABYTE });
    const again = opened(handle({ kind: "freed", key: "a" }));
    const effects = handle({ kind: "restarted", pull: again.pull });
    expect(effects.find((effect) => effect.kind === "read")).toMatchObject({ offset: 0 });
    expect(handle({ kind: "refused", pull: opened(effects).pull })).toEqual([{ kind: "failed", key: "a", reason: "lost" }]);
  });

  test("for which there is no room fails", () => {
    expect(plan.handle({ kind: "wanted", key: "a", sizeBytes: 1, home, purpose: 0 }, nowMs)).toEqual([
      { kind: "allocate", key: "a", sizeBytes: 1 },
    ]);
    expect(plan.handle({ kind: "allocated", key: "a", ok: false }, nowMs)).toEqual([{ kind: "failed", key: "a", reason: "noRoom" }]);
  });
});

describe("many objects", () => {
  function finish(effects: readonly PullEffect[]): PullEffect[] {
    const { pull } = opened(effects);
    const key = plan.keyOf(pull) as string;
    const all: PullEffect[] = [];
    while (plan.homeOf(key) !== undefined) all.push(...handle({ kind: "received", pull, sizeBytes: MEGABYTE }));
    return all;
  }

  test("wait for room, the urgent ones first, and one that is larger than all of it comes alone", () => {
    const first = want("a", 60);
    expect(want("prefetched", 60, FETCH_FOR.PREFETCH)).toEqual([]);
    expect(want("waited", 60, FETCH_FOR.WAIT)).toEqual([]);
    expect(want("got", 60)).toEqual([]);
    const second = finish(first);
    expect(opened(second).key).toBe("got");
    const later = finish(second);
    expect(opened(later).key).toBe("waited");
    expect(opened(finish(later)).key).toBe("prefetched");
    const large = new PullPlan({ budgetBytes: 1 });
    expect(kinds(large.handle({ kind: "wanted", key: "x", sizeBytes: 2, home, purpose: 0 }, 0))).toEqual(["allocate"]);
  });

  test("less urgent ones give way to a get, if that makes enough room, and begin again later", () => {
    want("prefetched", 60, FETCH_FOR.PREFETCH);
    const effects = want("got", 60);
    expect(kinds(effects).slice(0, 3)).toEqual(["close", "abandoned", "allocate"]);
    const after = finish(effects);
    const { key, pull } = opened(after);
    expect(key).toBe("prefetched");
    expect(after.find((effect) => effect.kind === "read" && effect.pull === pull)).toMatchObject({ offset: 0 });
  });

  test("a get does not push out another get, and a prefetch that somebody gets is as urgent as a get", () => {
    want("a", 60);
    expect(want("b", 60)).toEqual([]);
    want("c", 30, FETCH_FOR.PREFETCH);
    want("c", 30, FETCH_FOR.GET);
    expect(want("d", 30)).toEqual([]);
  });
});
