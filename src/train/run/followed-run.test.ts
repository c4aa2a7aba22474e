/** Shows a run while it is followed, by a line a rank and one at its end; and decides how long its end waits for a storage that is away. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, expect, test, vi } from "vitest";
import { STORAGE_RETRY_MAX_MS } from "../../runs/limits.ts";
import { Checkpoint } from "../../runs/checkpoints/checkpoint.ts";
import { readRunConfig } from "../../runs/run-config.ts";
import type { Tracker } from "../../runs/trackers/tracker.ts";
import { StorageError } from "../../storage/errors.ts";
import { FollowedRun } from "./followed-run.ts";
import { SENT_ALONG_MS, STORAGE_RETRY_MS } from "../limits.ts";
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

test("a run that goes on counts its rows after those of the driver that was killed, and writes them before it goes on from a checkpoint", async () => {
  const own = mkdtempSync(join(folder, "counted-"));
  const runConfig = await readRunConfig<never>({ storagePath: own, loggingConfig: { logLevel: "ERROR" } }, "train");
  const rows = (): number[] =>
    readFileSync(join(own, "result.json"), "utf8")
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { training_iteration: number }).training_iteration);
  const session = async (isResumed: boolean): Promise<number[]> => {
    const run = new FollowedRun({ name: "mine", folder: own, runConfig, isResumed, signal: new AbortController().signal });
    let written: number[] = [];
    const events = async (observer: RunObserver): Promise<void> => {
      observer.started(1, 1);
      await observer.reported({ metrics: [{ loss: 1 }], checkpoint: undefined });
      await observer.reported({ metrics: [{ loss: 2 }], checkpoint: Checkpoint.fromDirectory(join(own, "checkpoint_000000")) });
      written = rows();
    };
    await run.follow((observer) => training(() => events(observer)), {});
    return written;
  };
  expect(await session(false)).toEqual([1, 2]);
  expect(await session(true)).toEqual([1, 2, 3, 4]);
});

const realTimeout = setTimeout;

/** Ends a trained run while its storage accepts nothing. @returns the error of its end */
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
  // Files are written in real time: a clock that went much faster would be at its end before they are there.
  while (at.ended === 0) {
    await new Promise((resolve) => realTimeout(resolve, 1));
    if (vi.isFakeTimers()) await vi.advanceTimersByTimeAsync(20);
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

/** Makes an empty S3 that accepts everything. `sent`: the last text of each object, by the end of its key. */
async function takingS3() {
  const sent = new Map<string, string>();
  const server = createServer((request, response) => {
    void (async () => {
      const { method, url = "" } = request;
      let body = "";
      for await (const chunk of request as AsyncIterable<Buffer>) body += chunk.toString();
      if (method === "PUT") sent.set(url.split("?")[0]?.split("/").at(-1) as string, body);
      const list = "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>";
      response.writeHead(method === "HEAD" ? 404 : 200).end(method === "GET" ? list : undefined);
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  vi.stubEnv("AWS_ENDPOINT_URL", `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  for (const name of ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]) vi.stubEnv(name, "secret");
  const close = async (): Promise<void> => {
    vi.unstubAllEnvs();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { sent, [Symbol.asyncDispose]: close };
}

test("in S3 the rows so far are there before a checkpoint is told as stored, and a slow tracker holds that up for a second at most", async () => {
  await using s3 = await takingS3();
  const checkpoint = new Checkpoint("s3://bucket/mine/checkpoint_000000");
  const released = Promise.withResolvers<void>();
  const slow: Tracker = { name: "slow", open: () => ({ log: () => released.promise, close: () => {} }) };
  const rowsSent = (): number => s3.sent.get("result.json")?.trim().split("\n").length ?? 0;
  const reported = async (callbacks: Tracker[], sentAlongMs: number): Promise<number[]> => {
    const runConfig = await readRunConfig<Tracker>(
      { storagePath: "s3://bucket", callbacks, loggingConfig: { logLevel: "ERROR" } },
      "train",
    );
    const run = new FollowedRun({
      name: "mine",
      folder: "s3://bucket/mine",
      runConfig,
      isResumed: false,
      signal: new AbortController().signal,
      sentAlongMs,
    });
    const sent: number[] = [];
    const events = async (observer: RunObserver): Promise<void> => {
      observer.started(1, 1);
      for (const stored of [undefined, checkpoint]) {
        const startedMs = performance.now();
        await observer.reported({ metrics: [{ loss: 1 }], checkpoint: stored });
        sent.push(callbacks.length > 0 ? performance.now() - startedMs : rowsSent());
      }
      if (callbacks.length > 0) released.resolve();
    };
    await run.follow((observer) => training(() => events(observer)), {});
    return sent;
  };
  // Enough for a slow machine.
  expect(await reported([], 30_000)).toEqual([0, 2]);
  const [plain, along] = (await reported([slow], SENT_ALONG_MS)) as [number, number];
  expect(plain).toBeLessThan(SENT_ALONG_MS / 2);
  expect(along).toBeGreaterThan(SENT_ALONG_MS - 10);
  expect(rowsSent()).toBe(2);
});
