/** Tests which failures are repeated, for how long, and how they are reported. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { StorageError } from "../../storage/errors.ts";
import { STORAGE_RETRY_FIRST_MS, STORAGE_RETRY_MAX_MS } from "../limits.ts";
import { retryStorage } from "./storage-retries.ts";

const AWAY = new StorageError("Cannot write it: the storage is away");

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Work whose first tries fail. */
function failing(failures: number, error: unknown = AWAY) {
  const startedMs = performance.now();
  const triedMs: number[] = [];
  const work = async (): Promise<string> => {
    triedMs.push(performance.now() - startedMs);
    if (triedMs.length <= failures) throw error;
    return "done";
  };
  return { work, triedMs };
}

/** The outcome, once all pauses are over. */
async function outcomeOf(result: Promise<string>): Promise<unknown> {
  const caught = result.catch((error: unknown) => error);
  await vi.runAllTimersAsync();
  return await caught;
}

test("work that fails is repeated with pauses that double up to the longest, and the first failure is told", async () => {
  const { work, triedMs } = failing(9);
  const told = vi.fn<(error: Error) => void>();
  const retries = { untilMs: performance.now() + 60_000, signal: new AbortController().signal };
  expect(await outcomeOf(retryStorage(work, retries, told))).toBe("done");
  const pauses = triedMs.slice(1).map((ms, i) => ms - (triedMs[i] as number));
  const [first, longest] = [STORAGE_RETRY_FIRST_MS, STORAGE_RETRY_MAX_MS];
  expect(pauses).toEqual([first, 2 * first, 4 * first, 8 * first, 16 * first, 32 * first, longest, longest, longest]);
  expect(told.mock.calls).toEqual([[AWAY]]);
});

test("nothing is tried after the last moment, nor once the signal has aborted", async () => {
  const { work, triedMs } = failing(Number.POSITIVE_INFINITY);
  const told = vi.fn<(error: Error) => void>();
  const { signal } = new AbortController();
  expect(await outcomeOf(retryStorage(work, { untilMs: performance.now() + 650, signal }, told))).toBe(AWAY);
  expect(triedMs).toEqual([0, 100, 300]);
  const other = failing(Number.POSITIVE_INFINITY);
  expect(await outcomeOf(retryStorage(other.work, { untilMs: Number.POSITIVE_INFINITY, signal: AbortSignal.abort() }, told))).toBe(AWAY);
  expect(other.triedMs).toHaveLength(1);
  expect(told).toHaveBeenCalledTimes(1);
});

test("an abort cuts the pause short, and the work is tried a last time", async () => {
  const abort = new AbortController();
  const retries = { untilMs: performance.now() + 60_000, signal: abort.signal };
  const { work, triedMs } = failing(Number.POSITIVE_INFINITY);
  setTimeout(() => abort.abort(), 4000);
  expect(await outcomeOf(retryStorage(work, retries))).toBe(AWAY);
  expect(triedMs).toEqual([0, 100, 300, 700, 1500, 3100, 4000]);
  expect(vi.getTimerCount()).toBe(0);
});

test("an error that the storage has caused counts as its own, and another one is thrown at once", async () => {
  const retries = { untilMs: performance.now() + 60_000, signal: new AbortController().signal };
  const caused = failing(2, new Error("the task failed", { cause: AWAY }));
  expect(await outcomeOf(retryStorage(caused.work, retries))).toBe("done");
  const mistake = new TypeError("no path");
  const others = failing(1, mistake);
  expect(await outcomeOf(retryStorage(others.work, retries))).toBe(mistake);
  expect(others.triedMs).toEqual([0]);
});
