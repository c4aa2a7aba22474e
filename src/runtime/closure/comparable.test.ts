import { join } from "node:path";
import { expect, test } from "vitest";
import { captureWhole } from "./capture.ts";
import { type ComparableCapture, comparableOf } from "./comparable.ts";

function compared(value: unknown): ComparableCapture {
  const { bytes, buffers } = captureWhole(value, { reduce: () => undefined });
  return comparableOf(bytes, buffers);
}

/** Makes a class with a new identity each time, as another process would. */
const counterFrom = (start: number): (new () => object) => {
  return class Counter {
    count = start;
    readonly peers = [Counter];
  };
};

test("captures of equal code compare equal, whatever identities it has, and others do not", () => {
  const first = compared(counterFrom(1));
  const again = compared(counterFrom(1));
  expect(again.parts).toEqual(first.parts);
  expect(compared(counterFrom(2)).parts).not.toEqual(first.parts);
  expect(first.identities.size).toBe(1);
  expect([...again.identities]).not.toEqual([...first.identities]);
});

test("two classes are not taken for one", () => {
  const one = counterFrom(1);
  expect(compared([one, one]).parts).not.toEqual(compared([one, counterFrom(1)]).parts);
  const both = compared([one, new one()]);
  expect(both.identities).toEqual(compared(one).identities);
});

test("names the files of modules that are imported where the code runs", () => {
  expect(compared(counterFrom(1)).files).toEqual([]);
  expect(compared(() => import("./values/identity.ts")).files).toEqual([import.meta.filename]);
  const byPath = compared(() => captureWhole);
  expect([byPath.files, byPath.named]).toEqual([[join(import.meta.dirname, "capture.ts")], []]);
  const byName = compared(() => join);
  expect([byName.files, byName.named]).toEqual([[], [{ specifier: "node:path", from: import.meta.filename }]]);
});
