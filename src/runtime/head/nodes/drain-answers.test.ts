import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { NodeId } from "../../base/ids.ts";
import { DrainAnswers } from "./drain-answers.ts";

const [a, b] = ["a", "b"] as NodeId[] as [NodeId, NodeId];
let answers: DrainAnswers;
let given: string[];

beforeEach(() => {
  vi.useFakeTimers();
  answers = new DrainAnswers();
  given = [];
});
afterEach(() => vi.useRealTimers());

test("all who asked are answered when the node knows, and once", () => {
  answers.wait(a, () => given.push("first"));
  answers.wait(a, () => given.push("second"));
  answers.wait(b, () => given.push("other"));
  expect(given).toEqual([]);
  answers.knows(a);
  answers.knows(a);
  expect(given).toEqual(["first", "second"]);
  answers.wait(a, () => given.push("later"));
  expect(given).toEqual(["first", "second", "later"]);
  vi.advanceTimersByTime(10_000);
  expect(given).toEqual(["first", "second", "later", "other"]);
});

test("a node that is gone knows nothing any more", () => {
  answers.wait(a, () => given.push("first"));
  answers.gone(a);
  answers.wait(a, () => given.push("second"));
  expect(given).toEqual(["first"]);
});

test("nobody waits for a node that says nothing for longer than two seconds", () => {
  answers.wait(a, () => given.push("first"));
  vi.advanceTimersByTime(1_900);
  expect(given).toEqual([]);
  vi.advanceTimersByTime(200);
  expect(given).toEqual(["first"]);
  answers.gone(a);
  expect(given).toEqual(["first"]);
});
