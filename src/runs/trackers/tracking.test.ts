import { expect, test, vi } from "vitest";
import { StorageError } from "../../storage/errors.ts";
import { TRACKED_EVERY_MS, TRACKED_RESULTS_MAX, TRACKED_RETRY_MS } from "../limits.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { TrackedRun, TrackedRunInfo, Tracker } from "./tracker.ts";
import { Tracking } from "./tracking.ts";

const RUN: TrackedRunInfo = { id: "1", name: "one", experimentName: "mine", folder: "/nowhere", config: {}, isResumed: false };

function tracker(
  name: string,
  run: Partial<TrackedRun> = {},
  open?: () => Promise<never>,
): Tracker & { batches: number[][]; ended: string[] } {
  const batches: number[][] = [];
  const ended: string[] = [];
  const tracked: TrackedRun = {
    log: (results) => void batches.push(results.map(({ n }) => n as number)),
    close: (state) => void ended.push(state),
    ...run,
  };
  return { name, batches, ended, open: open ?? (() => tracked) };
}

function track(trackers: Tracker[]) {
  const problems: string[] = [];
  const tracking = new Tracking({
    trackers,
    run: RUN,
    onProblem: ({ tracker: name, error }) => problems.push(`${name}: ${error.message}`),
  });
  return { tracking, problems };
}

const of = (n: number): Metrics => ({ n });

test("results gather and arrive in order, in few calls, the last ones before the end", async () => {
  vi.useFakeTimers();
  try {
    const one = tracker("one");
    const { tracking, problems } = track([one]);
    for (const n of [1, 2, 3]) tracking.log(of(n));
    await vi.advanceTimersByTimeAsync(TRACKED_EVERY_MS);
    tracking.log(of(4));
    await tracking.close("finished");
    expect([one.batches, one.ended, problems]).toEqual([[[1, 2, 3], [4]], ["finished"], []]);
  } finally {
    vi.useRealTimers();
  }
});

test("a tracker that throws is told once and not called again; the others go on", async () => {
  const bad = tracker("bad", { log: () => Promise.reject(new Error("no space")) });
  const closed = tracker("never", {}, () => Promise.reject(new Error("no package")));
  const good = tracker("good");
  const { tracking, problems } = track([bad, closed, good]);
  tracking.log(of(1));
  await new Promise((resolve) => setTimeout(resolve, 2 * TRACKED_EVERY_MS));
  tracking.log(of(2));
  await tracking.close("failed");
  expect(problems.sort()).toEqual(["bad: no space", "never: no package"]);
  expect([bad.ended, good.batches, good.ended]).toEqual([[], [[1], [2]], ["failed"]]);
});

test("results wait where the storage takes nothing, in order, and none is written twice", async () => {
  vi.useFakeTimers();
  try {
    const disk = { isFull: true };
    const batches: number[][] = [];
    const log = async (results: readonly Metrics[]): Promise<void> => {
      if (disk.isFull) throw new StorageError("Cannot write it: the disk is full");
      batches.push(results.map(({ n }) => n as number));
    };
    const opened = tracker("opened", { log });
    let opens = 0;
    const unopened: Tracker = {
      name: "unopened",
      open: () => {
        opens += 1;
        if (disk.isFull) throw new StorageError("Cannot open it: the disk is full");
        return { log, close: () => {} };
      },
    };
    const { tracking, problems } = track([opened, unopened]);
    for (const n of [1, 2]) tracking.log(of(n));
    await vi.advanceTimersByTimeAsync(TRACKED_EVERY_MS);
    tracking.log(of(3));
    await vi.advanceTimersByTimeAsync(3 * TRACKED_RETRY_MS);
    expect(opens).toBeGreaterThan(2);
    disk.isFull = false;
    await vi.advanceTimersByTimeAsync(TRACKED_RETRY_MS);
    tracking.log(of(4));
    await tracking.close("finished");
    expect(batches).toEqual([[1, 2, 3], [1, 2, 3], [4], [4]]);
    expect(problems).toEqual([
      "opened: Cannot write it: the disk is full: its results wait until that can be written",
      "unopened: Cannot open it: the disk is full: its results wait until that can be written",
    ]);
    expect(opened.ended).toEqual(["finished"]);
  } finally {
    vi.useRealTimers();
  }
});

test("results that the storage never took are told at the end", async () => {
  const full = tracker("full", { log: () => Promise.reject(new StorageError("Cannot write it: the disk is full")) });
  const { tracking, problems } = track([full]);
  for (const n of [1, 2]) tracking.log(of(n));
  await tracking.close("finished");
  expect(problems).toEqual(["full: 2 results were not written: Cannot write it: the disk is full"]);
});

test("the end waits for a storage that is away as long as it is told to, and then nothing is lost", async () => {
  vi.useFakeTimers();
  try {
    const signal = new AbortController().signal;
    const disk = { isFull: true };
    const mustTake = (): void => {
      if (disk.isFull) throw new StorageError("Cannot write it: the disk is full");
    };
    const batches: number[][] = [];
    const ended: string[] = [];
    const log = async (results: readonly Metrics[]): Promise<void> => {
      mustTake();
      batches.push(results.map(({ n }) => n as number));
    };
    const close = async (state: string): Promise<void> => {
      mustTake();
      ended.push(state);
    };
    const { tracking, problems } = track([tracker("writes", { log, close }), tracker("closes", { close })]);
    tracking.log(of(1));
    let isClosed = false;
    const closed = tracking.close("finished", { untilMs: performance.now() + 10_000, signal }).then(() => (isClosed = true));
    await vi.advanceTimersByTimeAsync(5000);
    expect([isClosed, ended]).toEqual([false, []]);
    disk.isFull = false;
    await vi.advanceTimersByTimeAsync(5000);
    await closed;
    expect([batches, ended]).toEqual([[[1]], ["finished", "finished"]]);
    const waits = "Cannot write it: the disk is full: its results wait until that can be written";
    expect(problems.toSorted()).toEqual([`closes: ${waits}`, `writes: ${waits}`]);

    disk.isFull = true;
    const never = track([tracker("never", { log, close })]);
    never.tracking.log(of(1));
    const gaveUp = never.tracking.close("finished", { untilMs: performance.now() + 1000, signal });
    await vi.advanceTimersByTimeAsync(1000);
    await gaveUp;
    expect(never.problems).toEqual([`never: ${waits}`, "never: 1 results were not written: Cannot write it: the disk is full"]);
  } finally {
    vi.useRealTimers();
  }
});

test("a slow tracker holds nobody up, and loses the oldest results rather than memory", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const seen: number[] = [];
  const slow = tracker("slow", {
    log: async (results) => {
      await promise;
      seen.push(...results.map(({ n }) => n as number));
    },
  });
  const { tracking, problems } = track([slow]);
  for (let n = 0; n < TRACKED_RESULTS_MAX + 5; n += 1) tracking.log(of(n));
  const closed = tracking.close("finished");
  resolve();
  await closed;
  expect(seen[0]).toBe(5);
  expect(seen).toHaveLength(TRACKED_RESULTS_MAX);
  expect(problems).toEqual([
    `slow: the oldest 5 results that waited were left out: ${TRACKED_RESULTS_MAX} wait at most, and it was slower than the reports`,
  ]);
});
