/** Keeps lines of ranks while files cannot be written, and never holds a checkpoint up for them. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { OutputLines } from "../../core/internal.ts";
import { STORAGE_RETRY_FIRST_MS } from "../../runs/limits.ts";
import { RankLogs } from "./rank-logs.ts";

const parts = {
  takers: new Map<string, (output: OutputLines) => void>(),
  written: new Map<string, string>(),
  append: vi.fn<(path: string) => Promise<void>>(),
  takeOutput(source: string, take: (output: OutputLines) => void) {
    parts.takers.set(source, take);
    return () => void parts.takers.delete(source);
  },
  openAppended: async (path: string) => ({
    append: async (text: Uint8Array | string) => {
      await parts.append(path);
      parts.written.set(path, (parts.written.get(path) ?? "") + String(text));
    },
    close: async () => {},
  }),
};

beforeEach(() => {
  parts.written.clear();
  parts.append.mockReset().mockResolvedValue();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => void vi.useRealTimers());

const AT_ONCE = { untilMs: 0, signal: new AbortController().signal };
const print = (source: string, ...lines: string[]): void => parts.takers.get(source)?.({ stream: "stdout", lines });

function logsOf(): { logs: RankLogs; warnings: string[] } {
  const warnings: string[] = [];
  const logs = new RankLogs("/run", (text) => void warnings.push(text), parts);
  for (const rank of [0, 1]) logs.take(rank, `rank ${rank}`);
  return { logs, warnings };
}

test("a flush waits for all lines so far, but not for a file that cannot be written, whose lines come once it can", async () => {
  const { logs, warnings } = logsOf();
  const released = Promise.withResolvers<void>();
  parts.append.mockImplementation(async (path) => {
    if (path === "/run/rank-1.log") throw new Error("it is read-only");
    await released.promise;
  });
  print("rank 0", "one");
  print("rank 1", "first");
  let isFlushed = false;
  const flushed = logs.flush().then(() => (isFlushed = true));
  print("rank 0", "two");
  await new Promise((resolve) => setImmediate(resolve));
  expect(isFlushed).toBe(false);
  released.resolve();
  await flushed;
  expect(parts.written).toEqual(new Map([["/run/rank-0.log", "one\ntwo\n"]]));
  await vi.advanceTimersByTimeAsync(STORAGE_RETRY_FIRST_MS);
  print("rank 1", "second");
  await logs.flush();
  expect(parts.append.mock.calls.filter(([path]) => path === "/run/rank-1.log")).toHaveLength(2);
  parts.append.mockResolvedValue();
  await vi.advanceTimersByTimeAsync(2 * STORAGE_RETRY_FIRST_MS);
  expect(parts.written.get("/run/rank-1.log")).toBe("first\nsecond\n");
  expect(warnings).toEqual(["the output of ranks cannot be written, and its last lines wait: it is read-only"]);
  await logs.close(AT_ONCE);
});

test("lines that wait are tried once more at the end, without a pause", async () => {
  const { logs, warnings } = logsOf();
  parts.append.mockRejectedValueOnce(new Error("away"));
  print("rank 0", "last");
  await logs.flush();
  expect(parts.written.size).toBe(0);
  await logs.close(AT_ONCE);
  expect(parts.written).toEqual(new Map([["/run/rank-0.log", "last\n"]]));
  expect(warnings).toHaveLength(1);
  expect(vi.getTimerCount()).toBe(0);
});
