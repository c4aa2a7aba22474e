/** A node without answers from the head: the times and targets of its questions, and its end. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { FenceWatch, type Neighbour } from "./fence-watch.ts";
import type { StoreWord } from "./store-absence.ts";

let refuses: boolean | undefined;
let neighbours: Neighbour[];
let effects: string[];
let said: string[];
let storeWord: StoreWord;
let asked: number;
let untilMs: number;
let watch: FenceWatch;

beforeEach(() => {
  vi.useFakeTimers();
  refuses = undefined;
  neighbours = [];
  effects = [];
  said = [];
  storeWord = "lives";
  asked = 0;
  watch = new FenceWatch({
    deadAfterMs: 10_000,
    closedAfterMs: 2_000,
    nowMs: () => performance.now(),
    refuses: () => {
      asked += 1;
      return Promise.resolve(refuses);
    },
    storeWordOf: () => Promise.resolve(storeWord),
    neighbours: (count) => neighbours.slice(0, count),
    onEffect: ({ kind }) => effects.push(kind),
    allow: (ms) => {
      untilMs = ms;
    },
    say: (text) => said.push(text),
  });
});

afterEach(() => {
  watch.close();
  vi.useRealTimers();
});

const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);
const never = (): Promise<undefined> => Promise.resolve(undefined);
const deaf: Neighbour = { headSilence: () => Promise.resolve(watch.silentMs), refuses: never };
const hearing: Neighbour = { headSilence: () => Promise.resolve(200), refuses: never };
const gone: Neighbour = { headSilence: () => Promise.reject(new Error("no answer")), refuses: () => Promise.resolve(true) };

test("a node that is answered asks nobody else and goes on", async () => {
  for (let beats = 0; beats < 30; beats += 1) {
    await pass(1_000);
    watch.answered(performance.now() - 20);
  }
  expect([effects, asked, said]).toEqual([[], 0, []]);
});

test("one that nobody answers ends after seven seconds, and has said why", async () => {
  await pass(6_900);
  expect(effects).toEqual([]);
  await pass(200);
  expect(effects).toEqual(["fence"]);
  expect(said).toEqual([expect.stringContaining("nothing is heard from the head's machine")]);
  await pass(60_000);
  expect(effects).toEqual(["fence"]);
});

test("one whose head has ended goes on until there is another, and may then be as silent as before", async () => {
  refuses = true;
  await pass(60_000);
  expect(effects).toEqual([]);
  refuses = undefined;
  watch.answered(performance.now());
  await pass(6_900);
  expect(effects).toEqual([]);
  await pass(500);
  expect(effects).toEqual(["fence"]);
});

test("one whose head stands still goes on as long as the others are not answered either", async () => {
  refuses = false;
  neighbours = [deaf, gone];
  await pass(60_000);
  expect(effects).toEqual([]);
  expect(said).toHaveLength(1);
  neighbours = [deaf, hearing];
  await pass(3_500);
  expect(effects).toEqual([]);
  await pass(4_000);
  expect(effects).toEqual(["fence"]);
  expect(said.at(-1)).toContain("the head answers another node");
});

test("one whose head stood still, went on, answered another node and was killed goes on, as no head is left", async () => {
  refuses = false;
  neighbours = [deaf, deaf];
  await pass(10_000);
  // Answered at this moment, and not again.
  const answeredMs = performance.now();
  const lucky: Neighbour = { headSilence: () => Promise.resolve(performance.now() - answeredMs), refuses: never };
  neighbours = [deaf, lucky];
  refuses = true;
  await pass(60_000);
  expect(effects).toEqual([]);
  expect(said).toContainEqual(expect.stringContaining("the head answers another node"));
});

test("one that a refusal keeps from its head ends, as the head answers another node", async () => {
  refuses = true;
  neighbours = [deaf, hearing];
  await pass(7_100);
  expect(effects).toEqual(["fence"]);
});

test("the others' silence is compared when they tell it, however long the next one takes", async () => {
  refuses = false;
  const slow: Neighbour = {
    headSilence: (withinMs) => new Promise((_, reject) => setTimeout(() => reject(new Error("late")), withinMs)),
    refuses: () => new Promise((resolve) => setTimeout(() => resolve(undefined), 1_500)),
  };
  neighbours = [deaf, slow];
  await pass(60_000);
  expect(effects).toEqual([]);
});

test("says how long workers may run: seven seconds from the question that was answered, and not at all once the node ends", async () => {
  expect(untilMs).toBe(performance.now() + 7_000);
  await pass(1_000);
  watch.answered(performance.now() - 20);
  const answeredMs = performance.now() - 20;
  expect(untilMs).toBe(answeredMs + 7_000);
  await pass(5_000);
  expect(untilMs).toBe(answeredMs + 7_000);
  await pass(5_000);
  expect(effects).toEqual(["fence"]);
  expect(untilMs).toBe(0);
});

describe("where other heads may take over", () => {
  const storeServers = [{ name: "n0", address: "tcp://127.0.0.1:4222" }];

  /** A head that leads and proves it, and then only says how long ago it has. */
  async function answeredUntilUnproven(): Promise<void> {
    for (let beats = 1; beats <= 30; beats += 1) {
      await pass(1_000);
      const nowMs = performance.now();
      if (beats === 20) storeWord = away;
      watch.answered(nowMs - 20, { provenMs: Math.min(nowMs - 20, 20_000), takeoverGraceMs: 20_000, storeServers });
    }
    refuses = false;
  }

  let away: StoreWord;

  test.each(["refuses", "silent"] as const)(
    "a node goes on for as long as the store's server %s, and for 27 s after it lives",
    async (word) => {
      away = word;
      await answeredUntilUnproven();
      await pass(60_000);
      expect([effects, said.filter((text) => text.includes("control store"))]).toEqual([
        [],
        [
          "This node reaches the control store (one server), so it goes on while that is away.",
          "Most servers of the control store are away, so no head can lead: this node goes on meanwhile.",
        ],
      ]);
      storeWord = "lives";
      await pass(22_000);
      expect(effects).toEqual([]);
      await pass(6_000);
      expect(effects).toEqual(["fence"]);
    },
  );

  test("a node whose way to the store is cut ends 27 s after the last proof", async () => {
    away = undefined;
    await answeredUntilUnproven();
    await pass(16_500);
    expect(effects).toEqual([]);
    await pass(1_000);
    expect(effects).toEqual(["fence"]);
  });

  test("a silent server is not believed where another node is answered", async () => {
    away = "silent";
    await answeredUntilUnproven();
    neighbours = [hearing];
    await pass(8_000);
    expect(effects).toEqual(["fence"]);
  });
});
