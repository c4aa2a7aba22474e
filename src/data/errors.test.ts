import { expect, test } from "vitest";
import { DataError } from "./errors.ts";

test("an error that quotes megabytes has a screen of text, with its beginning and its end", () => {
  const names = Array.from({ length: 100_000 }, (_, i) => `column ${i}`).join(", ");
  const error = new DataError(`Cannot select the column "nope": received ${names}. See columns().`, { reason: names, hint: names });
  expect(error.message).toMatch(/^Cannot select the column "nope": received column 0, .* characters left out\) .* See columns\(\)\.$/);
  for (const text of [error.message, error.reason, error.hint]) expect(text?.length).toBeLessThan(4100);
  expect(new DataError("short", { hint: "too" })).toMatchObject({ message: "short", hint: "too", code: "DATA_INVALID" });
});
