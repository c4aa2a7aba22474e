import { PassThrough } from "node:stream";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { OUTPUT_AFTER_END_MAX_MS, OUTPUT_OPEN_MAX_MS } from "../../limits.ts";
import { afterRemainingOutput } from "./remaining-output.ts";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

test("the wait goes on while something comes, and ends after a silence", async () => {
  const stream = new PassThrough();
  let ended = 0;
  afterRemainingOutput([stream], () => {
    ended += 1;
  });
  for (let n = 0; n < 5; n += 1) {
    await vi.advanceTimersByTimeAsync(OUTPUT_OPEN_MAX_MS - 100);
    stream.emit("data", Buffer.from("more"));
  }
  expect(ended).toBe(0);
  await vi.advanceTimersByTimeAsync(OUTPUT_OPEN_MAX_MS + 100);
  expect([ended, stream.listenerCount("data")]).toEqual([1, 0]);
});

test("a program that writes without an end is not waited for", async () => {
  const stream = new PassThrough();
  let ended = 0;
  afterRemainingOutput([stream], () => {
    ended += 1;
  });
  for (let atMs = 0; atMs < OUTPUT_AFTER_END_MAX_MS - 200; atMs += 100) {
    await vi.advanceTimersByTimeAsync(100);
    stream.emit("data", Buffer.from("more"));
  }
  expect(ended).toBe(0);
  for (let n = 0; n < 5; n += 1) {
    await vi.advanceTimersByTimeAsync(100);
    stream.emit("data", Buffer.from("more"));
  }
  expect(ended).toBe(1);
});
