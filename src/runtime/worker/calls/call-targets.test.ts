import { expect, test } from "vitest";
import { KnownCallees } from "./call-targets.ts";
import { measure } from "../tasks/interruption-guard.ts";
import { FIRST_CALL_FUNCTIONS_MAX } from "../limits.ts";

test("what was measured of a function outlives a connection, for the same name and limit of calls alone", () => {
  const known = new KnownCallees();
  const callee = known.of({ id: "f", name: "f", maxCalls: undefined });
  measure(callee, 0.1);
  expect(known.of({ id: "f", name: "f", maxCalls: undefined }).syncMs).toBe(0.1);
  expect(known.of({ id: "f", name: "f", maxCalls: 3 }).syncMs).toBe(Number.POSITIVE_INFINITY);
  expect(known.of({ id: "g", name: "f", maxCalls: undefined }).syncMs).toBe(Number.POSITIVE_INFINITY);
});

test("the oldest function is forgotten where there are too many", () => {
  const known = new KnownCallees();
  const of = (index: number) => known.of({ id: String(index), name: "f", maxCalls: undefined });
  const [first, second] = [of(0), of(1)];
  for (let index = 2; index <= FIRST_CALL_FUNCTIONS_MAX; index += 1) of(index);
  expect(of(1)).toBe(second);
  expect(of(0)).not.toBe(first);
});
