/** Uploads that ranks make beside their loops: their places, their failures, and those that do not end. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { placedByRanks } from "./rank-uploads.ts";
import type { RankReport } from "./rank-protocol.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const PLAIN: RankReport = { type: "report", metrics: {}, checkpoint: null, uploadMode: "async" };
const UPLOADED: RankReport = { ...PLAIN, checkpoint: { path: "/own", deleteAfterUpload: true, directoryName: null, upload: 7 } };

/** Uploads of ranks 1 and 2, after what `uploaded` says. */
function placing(uploaded: (rank: number) => Promise<string>, limits: { reportTimeoutMs?: number } = {}) {
  const warnings: string[] = [];
  const asked: string[] = [];
  const group = {
    uploaded: (rank: number, upload: number): Promise<string> => {
      asked.push(`${rank}: ${upload}`);
      return uploaded(rank);
    },
  };
  const placed = placedByRanks(group, [PLAIN, UPLOADED, UPLOADED], {
    reportTimeoutMs: limits.reportTimeoutMs,
    collectiveWarnIntervalMs: 60_000,
    warn: (text) => void warnings.push(text),
  });
  return { placed, warnings, asked };
}

const never = (): Promise<string> => new Promise(() => {});

test("what has been uploaded is a checkpoint in its place; a report without an upload stays as it is", async () => {
  const { placed, asked } = placing(async (rank) => `s3://b/run/mine-${rank}`);
  const at = (path: string): RankReport => ({ ...UPLOADED, uploadMode: "none", checkpoint: { ...UPLOADED.checkpoint, path } as never });
  expect(await placed).toEqual({ reports: [PLAIN, at("s3://b/run/mine-1"), at("s3://b/run/mine-2")] });
  expect(asked).toEqual(["1: 7", "2: 7"]);
  expect(vi.getTimerCount()).toBe(0);
});

test("the first failure ends the wait for the others", async () => {
  const { placed } = placing((rank) => (rank === 2 ? Promise.reject(new Error("the bucket is full")) : never()));
  expect(await placed).toMatchObject({ failure: { rank: 2, cause: "user", error: { message: "the bucket is full" } } });
  expect(vi.getTimerCount()).toBe(0);
});

test("one that does not end is told again and again, and counts as hung after reportTimeoutMs", async () => {
  const { placed, warnings } = placing((rank) => (rank === 1 ? Promise.resolve("there") : never()), { reportTimeoutMs: 150_000 });
  await vi.advanceTimersByTimeAsync(150_000);
  const message = "checkpoint_upload_fn of rank 2 has not ended after 150000 ms (reportTimeoutMs)";
  expect(await placed).toMatchObject({ failure: { rank: 2, cause: "hung", error: { message } } });
  expect(warnings).toEqual([60, 120].map((s) => `checkpoint_upload_fn of rank 2 goes on for ${s} s: the run waits for it`));
});
