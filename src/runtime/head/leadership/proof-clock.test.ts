/** Tests the freshness of proofs, and that a gap counts even if the process learns late that it ended. */
import { expect, test } from "vitest";
import { ProofClock } from "./proof-clock.ts";

test("a proof is as old as its sending, and fresh for eight seconds", () => {
  const clock = new ProofClock();
  expect([clock.isFresh(0), clock.agoMs(0)]).toEqual([false, Number.POSITIVE_INFINITY]);
  clock.begins(1_000);
  expect([clock.isFresh(8_999), clock.isFresh(9_000), clock.lapses]).toEqual([true, false, 0]);
  clock.proven(4_000, 4_100);
  expect([clock.agoMs(10_000), clock.isFresh(11_999), clock.lapses]).toEqual([6_000, true, 0]);
});

test("proofs that come one after another are no lapse, be they late by some seconds", () => {
  const clock = new ProofClock();
  clock.begins(0);
  for (let sentMs = 3_000; sentMs < 60_000; sentMs += 3_000) clock.proven(sentMs, sentMs + 4_500);
  expect(clock.lapses).toBe(0);
});

test("one that was sent in time and heard of late is one: the store may have been away for all of it", () => {
  const clock = new ProofClock();
  clock.begins(0);
  clock.proven(3_000, 8_000);
  expect([clock.lapses, clock.agoMs(8_000)]).toEqual([1, 5_000]);
});

test("an older proof that comes later takes nothing back", () => {
  const clock = new ProofClock();
  clock.begins(5_000);
  clock.proven(3_000, 6_000);
  expect(clock.agoMs(6_000)).toBe(1_000);
});
