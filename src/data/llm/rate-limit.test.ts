/** Limits on requests and tokens, and the pauses of repeated requests: pure functions of given times. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { backoffMs, pauseAsked } from "./completion-client.ts";
import { RateLimit } from "./rate-limit.ts";

test("requests beyond a full bucket wait until it has filled", () => {
  const limit = new RateLimit({ requestsPerMinute: 60 }, 0);
  for (let i = 0; i < 60; i += 1) expect(limit.take(5, 0)).toBe(0);
  expect(limit.take(5, 0)).toBe(1000);
  expect(limit.take(5, 999)).toBe(1);
  expect(limit.take(5, 1000)).toBe(0);
  expect(limit.take(5, 1000)).toBe(1000);
});

test("tokens count as estimated until the answer corrects them", () => {
  const limit = new RateLimit({ tokensPerMinute: 6000 }, 0);
  expect(limit.take(4000, 0)).toBe(0);
  expect(limit.take(4000, 0)).toBe(20_000);
  limit.settle(-3000);
  expect(limit.take(4000, 0)).toBe(0);
  limit.settle(1000);
  // The bucket is empty and owes nothing: 4,000 - 3,000 + 4,000 + 1,000 were used.
  expect(limit.take(60, 0)).toBe(600);
});

test("a request larger than the bucket goes when that is full, and the next one waits for the debt", () => {
  const limit = new RateLimit({ tokensPerMinute: 600 }, 0);
  expect(limit.take(1200, 0)).toBe(0);
  expect(limit.take(1200, 0)).toBe(120_000);
});

test("a pause that the server asks for holds all requests back", () => {
  const limit = new RateLimit({}, 0);
  limit.pauseUntil(500);
  expect(limit.take(1, 100)).toBe(400);
  expect(limit.take(1, 500)).toBe(0);
});

test("in no span of time are there more requests than the bucket and its filling allow", () => {
  const steps = fc.array(fc.integer({ min: 0, max: 3000 }), { minLength: 1, maxLength: 200 });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 300 }), steps, (requestsPerMinute, pauses) => {
      const limit = new RateLimit({ requestsPerMinute }, 0);
      const taken: number[] = [];
      let now = 0;
      for (const pause of pauses) {
        now += pause;
        if (limit.take(1, now) === 0) taken.push(now);
      }
      taken.forEach((first, i) => {
        taken.slice(i).forEach((last, count) => {
          expect(count + 1).toBeLessThanOrEqual(requestsPerMinute + (requestsPerMinute * (last - first)) / 60_000 + 1e-6);
        });
      });
    }),
  );
});

test("pauses double up to a limit, with chance", () => {
  expect([0, 1, 2, 20].map((failures) => backoffMs(failures, 1))).toEqual([500, 1000, 2000, 30_000]);
  expect([0, 1, 2, 20].map((failures) => backoffMs(failures, 0))).toEqual([250, 500, 1000, 15_000]);
});

test("pauses of the server are in milliseconds, in seconds or until a date, and bounded", () => {
  const now = Date.parse("2026-01-01T00:00:00Z");
  const asked = (headers: Record<string, string>): number | undefined => pauseAsked(new Headers(headers), now);
  expect(asked({ "retry-after": "7" })).toBe(7000);
  expect(asked({ "retry-after": "0.5", "retry-after-ms": "20" })).toBe(20);
  expect(asked({ "retry-after": "Thu, 01 Jan 2026 00:00:09 GMT" })).toBe(9000);
  expect(asked({ "retry-after": "Wed, 31 Dec 2025 00:00:00 GMT" })).toBe(0);
  expect(asked({ "retry-after": "864000" })).toBe(600_000);
  expect([asked({}), asked({ "retry-after": "soon" }), asked({ "retry-after": "" })]).toEqual([undefined, undefined, undefined]);
});
