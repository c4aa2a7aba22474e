/** How often a task runs again when the machine was full under it. */
import { expect, test } from "vitest";
import type { WorkerExitedHeader } from "../../../runtime/wire/messages.ts";
import { OutOfMemoryRetries } from "./out-of-memory.ts";

function exitFor(because: "machine" | "limit"): WorkerExitedHeader {
  const outOfMemory = { because, usedBytes: 1, limitBytes: 1, processes: "" };
  return { workerId: "w" as never, pid: 1, exitCode: undefined, signal: "SIGKILL", lastOutput: [], reason: "r", outOfMemory };
}

const call = (maxRetries = 3): { retry: { maxRetries: number } } => ({ retry: { maxRetries } });

test("without end, after pauses that double up to half a minute", () => {
  const retries = new OutOfMemoryRetries(-1);
  const one = call();
  const delays = Array.from({ length: 9 }, () => retries.delayMs(one, exitFor("machine")));
  expect(delays).toEqual([250, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
});

test("as often as is said, each call for itself", () => {
  const retries = new OutOfMemoryRetries(1);
  const [one, other] = [call(), call()];
  expect([retries.delayMs(one, exitFor("machine")), retries.delayMs(one, exitFor("machine"))]).toEqual([250, undefined]);
  expect(retries.delayMs(other, exitFor("machine"))).toBe(250);
});

test("not for a call that must not run twice, one beyond its own limit, or another death", () => {
  const retries = new OutOfMemoryRetries(-1);
  expect(retries.delayMs(call(0), exitFor("machine"))).toBeUndefined();
  expect(retries.delayMs(call(), exitFor("limit"))).toBeUndefined();
  expect(retries.delayMs(call(), undefined)).toBeUndefined();
});
