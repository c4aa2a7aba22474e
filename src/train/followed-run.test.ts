/** Shows a run while it is followed, by a line a rank and one at its end; and decides how long its end waits for a storage that is away. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, expect, test, vi } from "vitest";
import { STORAGE_RETRY_MAX_MS } from "../runs/limits.ts";
import { readRunConfig } from "../runs/run-config.ts";
import type { Tracker } from "../runs/tracker.ts";
import { StorageError } from "../storage/errors.ts";
import { FollowedRun } from "./followed-run.ts";
import { STORAGE_RETRY_MS } from "./limits.ts";
import type { RunObserver, TrainingRun } from "./training-run.ts";

const folder = mkdtempSync(join(tmpdir(), "followed-"));
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(() => void vi.useRealTimers());

function training(work: () => Promise<void>): TrainingRun {
  const run = async (): Promise<unknown> => {
    await work();
    return { metrics: {}, checkpoint: undefined, values: [] };
  };
  return { run } as unknown as TrainingRun;
}

test("there is a line a rank with its metrics, of which attempt they are, and a summary", async () => {
  const runConfig = await readRunConfig<never>({ storagePath: folder, loggingConfig: { logLevel: "ERROR" } }, "train");
  const run = new FollowedRun({ name: "mine", folder, runConfig, isResumed: false, signal: new AbortController().signal });
  const shown: (readonly string[])[] = [run.lines()];
  const events = async (observer: RunObserver): Promise<void> => {
    observer.started(1, 2);
    shown.push(run.lines());
    await observer.reported({ metrics: [{ loss: 0.5 }, { loss: 0.25 }], checkpoint: undefined });
    shown.push(run.lines());
    await observer.failed([{ rank: 1, cause: "died", error: new Error("gone") }]);
    observer.started(2, 1);
    await observer.reported({ metrics: [{ loss: 0.125, step: 7 }], checkpoint: undefined });
    shown.push(run.lines());
  };
  await run.follow((observer) => training(() => events(observer)), {});
  expect(shown).toEqual([
    ["mine: waits for its ranks"],
    ["mine: rank 0  has not reported", "mine: rank 1  has not reported"],
    ["mine: rank 0  report 1  loss 0.5", "mine: rank 1  report 1  loss 0.25"],
    ["mine, attempt 2: rank 0  report 2  loss 0.125, step 7"],
  ]);
  expect(run.summary("done", 1500)).toBe("mine: done in 1.5 s, 2 reports, loss 0.125, step 7");
});

/** A run that has trained, and the error of its end while the storage takes nothing. */
async function endWhileAway(callbacks: Tracker[], abortAfterMs?: number) {
  const at = { trained: 0, followed: 0, ended: 0 };
  const abort = new AbortController();
  const runConfig = await readRunConfig<Tracker>({ storagePath: folder, callbacks }, "train");
  const run = new FollowedRun({ name: "mine", folder, runConfig, isResumed: false, signal: abort.signal });
  const said = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  const write = vi.fn<() => Promise<void>>().mockRejectedValue(AWAY);
  const ended = (async () => {
    const trains = async (): Promise<void> => {
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
      at.trained = performance.now();
    };
    await run.follow(() => training(trains), {});
    at.followed = performance.now();
    if (abortAfterMs !== undefined) setTimeout(() => abort.abort(STOPPED), abortAfterMs);
    await run.finish(write);
  })();
  const error = ended.catch((thrown: unknown) => thrown).finally(() => (at.ended = performance.now()));
  // Files are written in real time.
  while (at.ended === 0) {
    await new Promise((resolve) => setImmediate(resolve));
    if (vi.isFakeTimers()) await vi.advanceTimersByTimeAsync(10);
  }
  const lines = said.mock.calls.map(([text]) => String(text));
  said.mockRestore();
  vi.useRealTimers();
  return { error: await error, lines, ms: at.ended - at.trained, ofFinish: { tries: write.mock.calls.length, ms: at.ended - at.followed } };
}

const AWAY = new StorageError("Cannot write it: the storage is away");
const STOPPED = new Error("stopped");

test("a storage that is away is waited for once for all that a run writes at its end, with a warning", async () => {
  const away: Tracker = {
    name: "away",
    open: async () => {
      throw AWAY;
    },
  };
  const alone = await endWhileAway([]);
  expect(alone.error).toBe(AWAY);
  expect(alone.ofFinish.tries).toBeGreaterThan(10);
  expect(alone.lines).toEqual([
    "shoal: cannot write that the training run mine has finished, trying again: Cannot write it: the storage is away\n",
  ]);
  const after = await endWhileAway([away]);
  expect(after.error).toBe(AWAY);
  // Trackers and run.json would take twice the time one after the other.
  expect(after.ms).toBeLessThan(1.5 * STORAGE_RETRY_MS);
  expect(after.ofFinish.ms).toBeLessThan(STORAGE_RETRY_MAX_MS);
});

test("an abort ends that wait at once, with its reason", async () => {
  const { error, ofFinish } = await endWhileAway([], 20_000);
  expect(error).toBe(STOPPED);
  expect(ofFinish.ms).toBeLessThan(20_500);
});
