/** Tests descriptions of values in messages, and that no value makes them throw or run on. */
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { asError, describeValue, errorName, isErrorLike, textOf, truncate } from "./describe.ts";

describe("describeValue", () => {
  test.each([
    [Number.NaN, "NaN"],
    [true, "true"],
    [[], "[]"],
    [[1, [2], { a: 1 }], "[1, […], {…}]"],
    [[1, 2, 3, 4, 5, 6], "[1, 2, 3, 4, 5, … (6 items)]"],
    [{ a: 1, b: 2, c: 3, d: 4, e: 5, f: 6 }, "{ a: 1, b: 2, c: 3, d: 4, e: 5, … }"],
    [Object.create(null), "{}"],
    [new (class {})(), "an instance of an unnamed class"],
    [() => 1, "a function"],
    [new RangeError("far"), "RangeError: far"],
  ])("%#", (value, text) => {
    expect(describeValue(value)).toBe(text);
  });

  test("stays short", () => {
    expect(describeValue("x".repeat(1e6))).toBe(`"${"x".repeat(200)}"… (1000000 characters)`);
    const wide = Object.fromEntries([..."abcde"].map((name) => [name.repeat(500), "x".repeat(500)]));
    expect(describeValue(wide).length).toBeLessThanOrEqual(400);
  });

  test("survives what cannot be read", () => {
    const hostile = new Proxy(
      {},
      {
        getPrototypeOf: () => {
          throw new Error("no");
        },
      },
    );
    expect(describeValue(hostile)).toBe("a value that cannot be read");
    expect(isErrorLike(hostile)).toBe(false);
    expect(textOf(new Proxy({}, { get: () => 5 }), "message")).toBeUndefined();
  });
});

test("truncate keeps what fits and says how much there was", () => {
  expect(truncate("abc", 3)).toBe("abc");
  expect(truncate("a".repeat(100), 60)).toBe(`${"a".repeat(24)}… (truncated: 100 characters in all)`);
  expect(truncate("a".repeat(100), 60)).toHaveLength(60);
});

test("errorName prefers a name that was set to that of the class", () => {
  class Plain extends Error {}
  class Named extends Error {
    override name = "Chosen";
  }
  expect(errorName(new Plain())).toBe("Plain");
  expect(errorName(new Named())).toBe("Chosen");
  expect(errorName(new Error())).toBe("Error");
});

test("a thrown value that is no error becomes the cause of one", () => {
  const error = new RangeError("too far");
  expect(asError(error)).toBe(error);
  expect(asError(runInNewContext("new TypeError('elsewhere')"))).not.toBeInstanceOf(Error);
  expect(asError("no room")).toMatchObject({ message: "no room", cause: "no room" });
  expect(asError(undefined)).toMatchObject({ message: "undefined", cause: undefined });
  expect(asError(Proxy.revocable({}, {}).proxy)).toBeInstanceOf(Error);
});
