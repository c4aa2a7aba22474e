/** Compares what two runs gave: numbers to 1e-6 of their size, all else exactly. */
import { expect } from "vitest";
import type { LoopResult } from "./ray-loops.ts";

export function expectEqualResults(actual: LoopResult, expected: LoopResult): void {
  expect(Object.keys(actual.metrics).toSorted()).toEqual(Object.keys(expected.metrics).toSorted());
  for (const [name, value] of Object.entries(expected.metrics)) expectClose(actual.metrics[name], value, name);
  if (expected.files !== undefined) expect(actual.files).toEqual(expected.files);
}

function expectClose(actual: unknown, expected: unknown, place: string): void {
  if (typeof expected === "number" && typeof actual === "number") {
    const difference = Math.abs(actual - expected) / Math.max(1, Math.abs(expected));
    if (difference > 1e-6) expect({ [place]: actual }).toEqual({ [place]: expected });
  } else if (Array.isArray(expected) && Array.isArray(actual) && actual.length === expected.length) {
    for (const [index, one] of expected.entries()) expectClose(actual[index], one, `${place}[${index}]`);
  } else {
    expect({ [place]: actual }).toEqual({ [place]: expected });
  }
}
