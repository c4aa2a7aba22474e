import { describe, expect, test } from "vitest";
import { unknownMethods } from "./unknown-methods.ts";

const missing = unknownMethods("Counter", ["increment", "read"]) as Record<string, { remote(): void; options(): void }>;

describe("a method that the class does not have", () => {
  test("is refused when it is called, with the one that was meant", () => {
    expect(() => missing["incremnt"]?.remote()).toThrow(
      new TypeError(
        "Cannot call Counter.incremnt: there is no method incremnt: did you mean increment?; fields and accessors are not methods",
      ),
    );
    expect(() => missing["total"]?.options()).toThrow("there is no method total: there are increment, read");
    expect(() => missing["kill"]?.remote()).toThrow("use the function kill(handle)");
  });

  test("does not make a handle thenable, nor one of the things that tools look for", () => {
    for (const name of ["then", "toJSON", "constructor", "asymmetricMatch", "@@__IMMUTABLE_RECORD__@@"])
      expect(missing[name]).toBeUndefined();
    expect("incremnt" in missing).toBe(false);
    expect(Object.keys(missing)).toEqual([]);
    expect((missing as unknown as Record<symbol, unknown>)[Symbol.iterator]).toBeUndefined();
  });
});
