/** Sends files that grow: not too soon, not too often, and a few at a time. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  GROWN_UPLOADS_AT_A_TIME,
  REMOTE_REQUESTS_AT_A_TIME,
  UPLOADED_AT_ONCE_BYTES_MAX,
  UPLOADED_BYTES_A_SECOND,
  UPLOADED_EVERY_MS,
} from "../limits.ts";
import { type GrowingFile, UploadSchedule } from "./upload-schedule.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A request of S3. */
const REQUEST_MS = 20;

/** A file that notes when its uploads begin. */
function growing({ folder = "s3://b/run", sizeBytes = 100, failures = 0 } = {}): GrowingFile & { readonly sentMs: number[] } {
  const sentMs: number[] = [];
  const startMs = Date.now();
  const upload = async (): Promise<void> => {
    sentMs.push(Date.now() - startMs);
    await new Promise((resolve) => setTimeout(resolve, REQUEST_MS));
    if (sentMs.length <= failures) throw new Error("away");
  };
  return { folder, sizeBytes, upload, sentMs };
}

test("a file that grows all the time is sent once in each interval, and one that stands still is not", async () => {
  const schedule = new UploadSchedule();
  const [busy, still] = [growing(), growing()];
  schedule.grown(still);
  for (let ms = 0; ms < 10 * UPLOADED_EVERY_MS; ms += 100) {
    schedule.grown(busy);
    await vi.advanceTimersByTimeAsync(100);
  }
  expect(still.sentMs).toEqual([UPLOADED_EVERY_MS]);
  expect(busy.sentMs).toEqual(Array.from({ length: 10 }, (_, i) => (i + 1) * UPLOADED_EVERY_MS));
});

test("a large file is sent less often, as it goes whole each time", async () => {
  const schedule = new UploadSchedule();
  const large = growing({ sizeBytes: 60 * UPLOADED_BYTES_A_SECOND });
  schedule.grown(large);
  await vi.advanceTimersByTimeAsync(59_000);
  expect(large.sentMs).toEqual([]);
  await vi.advanceTimersByTimeAsync(1000);
  expect(large.sentMs).toEqual([60_000]);
});

test("the files of 10,000 trials take turns, a few at a time, and short trials cost nothing", async () => {
  const schedule = new UploadSchedule();
  let underWay = 0;
  let most = 0;
  const files = Array.from({ length: 10_000 }, () => {
    const file = growing();
    const upload = async (): Promise<void> => {
      underWay += 1;
      most = Math.max(most, underWay);
      await file.upload();
      underWay -= 1;
    };
    return { ...file, upload };
  });
  const short = Array.from({ length: 1000 }, () => growing());
  for (const file of [...files, ...short]) schedule.grown(file);
  await vi.advanceTimersByTimeAsync(UPLOADED_EVERY_MS - 1);
  for (const file of short) await schedule.ended(file);
  const spentMs = 10_000;
  await vi.advanceTimersByTimeAsync(spentMs);
  for (const file of files) schedule.grown(file);
  const requests = (): number => files.reduce((sum, { sentMs }) => sum + sentMs.length, 0);
  expect(most).toBe(GROWN_UPLOADS_AT_A_TIME);
  expect(requests()).toBeLessThanOrEqual(GROWN_UPLOADS_AT_A_TIME * (1 + spentMs / REQUEST_MS));
  expect(short.every(({ sentMs }) => sentMs.length === 0)).toBe(true);
  await vi.advanceTimersByTimeAsync((10_000 * REQUEST_MS) / GROWN_UPLOADS_AT_A_TIME);
  expect(files.filter(({ sentMs }) => sentMs.length === 0)).toEqual([]);
});

test("an upload that fails comes again, and the end of a file waits for the one that is under way", async () => {
  const schedule = new UploadSchedule();
  const [flaky, ending] = [growing({ failures: 2 }), growing({ failures: 1 })];
  schedule.grown(flaky);
  await vi.advanceTimersByTimeAsync(4 * UPLOADED_EVERY_MS);
  expect(flaky.sentMs).toHaveLength(3);
  schedule.grown(ending);
  await vi.advanceTimersByTimeAsync(UPLOADED_EVERY_MS);
  let hasEnded = false;
  void schedule.ended(ending).then(() => (hasEnded = true));
  await vi.advanceTimersByTimeAsync(REQUEST_MS - 1);
  expect(hasEnded).toBe(false);
  await vi.advanceTimersByTimeAsync(10 * UPLOADED_EVERY_MS);
  expect([hasEnded, ending.sentMs.length]).toEqual([true, 1]);
});

test("a file that ends while it is to be sent at once is not sent from there, also where its upload fails", async () => {
  const schedule = new UploadSchedule();
  const file = growing({ failures: 2 });
  schedule.grown(file);
  await vi.advanceTimersByTimeAsync(UPLOADED_EVERY_MS);
  schedule.grown(file);
  void schedule.sendNow("s3://b/run");
  const ended = schedule.ended(file);
  await vi.advanceTimersByTimeAsync(REQUEST_MS);
  await ended;
  await vi.advanceTimersByTimeAsync(10 * UPLOADED_EVERY_MS);
  expect(file.sentMs).toEqual([UPLOADED_EVERY_MS]);
  schedule.grown(file);
  await vi.advanceTimersByTimeAsync(UPLOADED_EVERY_MS);
  expect(file.sentMs).toHaveLength(2);
});

test("whoever watches a folder hears of the first upload below it that fails, and that all are sent again", async () => {
  const schedule = new UploadSchedule();
  const told: string[] = [];
  const endWatch = schedule.watch("s3://b/run", (text) => void told.push(text));
  const files = [
    growing({ failures: 2 }),
    growing({ folder: "s3://b/run/trial", failures: 3 }),
    growing({ folder: "s3://b/runner", failures: 1 }),
  ];
  for (const file of [...files, growing()]) schedule.grown(file);
  await vi.advanceTimersByTimeAsync(3 * UPLOADED_EVERY_MS + 3 * REQUEST_MS);
  expect(told).toEqual(["files that grow wait on this machine: away"]);
  await vi.advanceTimersByTimeAsync(2 * UPLOADED_EVERY_MS);
  expect(told.slice(1)).toEqual(["files that grow in s3://b/run are sent again"]);
  endWatch();
  schedule.grown(growing({ failures: 1 }));
  await vi.advanceTimersByTimeAsync(2 * UPLOADED_EVERY_MS);
  expect(told).toHaveLength(2);
});

test("a folder of many files is sent at once by a few requests at a time", async () => {
  const schedule = new UploadSchedule();
  const files = Array.from({ length: 2 * REMOTE_REQUESTS_AT_A_TIME + 1 }, () => growing());
  for (const file of files) schedule.grown(file);
  void schedule.sendNow("s3://b/run");
  const sent: number[] = [];
  for (const ms of [0, REQUEST_MS, REQUEST_MS]) {
    await vi.advanceTimersByTimeAsync(ms);
    sent.push(files.filter(({ sentMs }) => sentMs.length > 0).length);
  }
  expect(sent).toEqual([REMOTE_REQUESTS_AT_A_TIME, 2 * REMOTE_REQUESTS_AT_A_TIME, files.length]);
});

test("a folder's small files are sent at once when that is asked for, those under way once more where they have grown", async () => {
  const schedule = new UploadSchedule();
  const [early, late, other, large] = [
    growing(),
    growing(),
    growing({ folder: "s3://b/other" }),
    growing({ sizeBytes: UPLOADED_AT_ONCE_BYTES_MAX + 1 }),
  ];
  schedule.grown(early);
  await vi.advanceTimersByTimeAsync(UPLOADED_EVERY_MS);
  for (const file of [early, late, other, large]) schedule.grown(file);
  let isSent = false;
  void schedule.sendNow("s3://b/run").then(() => (isSent = true));
  await vi.advanceTimersByTimeAsync(REQUEST_MS);
  expect(isSent).toBe(false);
  await vi.advanceTimersByTimeAsync(REQUEST_MS);
  expect(isSent).toBe(true);
  expect([early, late, other, large].map(({ sentMs }) => sentMs.length)).toEqual([2, 1, 0, 0]);
  await vi.advanceTimersByTimeAsync((1000 * (UPLOADED_AT_ONCE_BYTES_MAX + 1)) / UPLOADED_BYTES_A_SECOND);
  expect([early, late, other, large].map(({ sentMs }) => sentMs.length)).toEqual([2, 1, 1, 1]);
});
