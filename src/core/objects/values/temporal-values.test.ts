import { expect, test } from "vitest";
import { temporalFrom, temporalPayload } from "./temporal-values.ts";

test("values of other classes are not taken for values of Temporal", () => {
  for (const value of [{}, [], new Map(), Object.create(null) as object, { [Symbol.toStringTag]: "Temporal.Instant" }, new URL("http://x")])
    expect(temporalPayload(value)).toBeUndefined();
});

test.skipIf("Temporal" in globalThis)("a Node without Temporal says what is missing", () => {
  expect(() => temporalFrom(["Instant", "2026-01-01T00:00:00Z"])).toThrow(/Temporal\.Instant: Node \d+\.\d+\.\d+ has no Temporal/);
});

test("a type that does not exist is refused", () => {
  expect(() => temporalFrom(["constructor", "x"])).toThrow("its type is unknown");
});
