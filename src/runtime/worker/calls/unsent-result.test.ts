/** What is said of results that cannot be sent: what they are of, and where that is written. */
import { expect, test } from "vitest";
import { captureValue } from "../../closure/capture.ts";
import { type CallPlace, TaskContext } from "../tasks/task-context.ts";
import { unsentItem, unsentResult } from "./unsent-result.ts";

function train(): object {
  return { at: new WeakRef({}) };
}

const context = new TaskContext({ name: "train", taskIdPrefix: "", callId: 1, place: {} as CallPlace });
context.fn = train;

function failureOf(value: unknown): unknown {
  try {
    return captureValue(value, { reduce: () => undefined });
  } catch (error) {
    return error;
  }
}

test("a result is named with its call and its place in a file", () => {
  const value = train();
  const error = unsentResult(failureOf(value), value, context) as Error & { path: string; hint: string };
  expect(error.message).toMatch(
    /^the result of train \(src\/runtime\/worker\/calls\/unsent-result\.test\.ts:\d+\) cannot be sent to another process:\n/,
  );
  expect(error.path).toMatch(/^the result of train \(.*\) → \.at \(WeakRef\) cannot be sent$/);
  expect(error.hint).toContain("A WeakRef is tied to this process: create it inside the function");
  expect((unsentItem(failureOf(value), 2, context) as Error).message).toMatch(/^item 3 of train \(/);
});

test("an error that says something else stays", () => {
  const error = new Error("full");
  expect(unsentResult(error, {}, context)).toBe(error);
});

test("a generator that came as a plain result is named with the option", () => {
  function* one(): Generator<number> {
    yield 1;
  }
  async function* later(): AsyncGenerator<number> {
    yield 1;
  }
  for (const value of [one(), later()]) {
    const { message } = unsentResult(failureOf(value), value, context) as Error;
    expect(message).toContain("Cannot send the result of train");
    expect(message).toContain('set numReturns: "streaming"');
  }
});
