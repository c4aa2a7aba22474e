import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { checkMetrics, flatMetrics, type JsonValue, metricsText, parseMetrics } from "./metrics.ts";

const json = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    fc.constant(null),
    fc.boolean(),
    fc.double(),
    fc.integer(),
    fc.string({ unit: "binary" }),
    fc.constantFrom("NaN", "-Infinity", '"NaN', "\\"),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(fc.oneof(fc.string(), fc.constantFrom("NaN", "__proto__")), tie("value"), { maxKeys: 4 }),
  ),
})).value;

/** JSON has no negative zero that `JSON.stringify` writes. */
function withoutNegativeZero(value: JsonValue): JsonValue {
  if (value === 0) return 0;
  if (Array.isArray(value)) return value.map(withoutNegativeZero);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withoutNegativeZero(member)]));
}

test("what is written is read, with NaN and the infinities", () => {
  fc.assert(
    fc.property(json, (value) => {
      const text = metricsText(value);
      expect(text).not.toContain("\n");
      expect(parseMetrics(text)).toEqual(withoutNegativeZero(value));
    }),
  );
});

test("numbers that JSON does not have are spelled as Python spells them", () => {
  expect(metricsText({ a: Number.NaN, b: [Number.POSITIVE_INFINITY], c: { d: Number.NEGATIVE_INFINITY } })).toBe(
    '{"a":NaN,"b":[Infinity],"c":{"d":-Infinity}}',
  );
  expect(parseMetrics('{"a": NaN, "b": -Infinity, "c": "NaN, Infinity"}')).toEqual({
    a: Number.NaN,
    b: Number.NEGATIVE_INFINITY,
    c: "NaN, Infinity",
  });
  expect(() => parseMetrics('{"a": NaNs}')).toThrow(SyntaxError);
});

test("undefined properties are left out, and the copy is the caller's no more", () => {
  const given = { loss: 1, nested: { list: [1] }, none: undefined };
  const checked = checkMetrics(given, "Cannot report");
  given.nested.list.push(2);
  expect(checked).toEqual({ loss: 1, nested: { list: [1] } });
  expect(Object.keys(checkMetrics(JSON.parse('{"__proto__": 1}'), "Cannot report"))).toEqual(["__proto__"]);
});

describe("what JSON has no form for is named by its path", () => {
  const cyclic: Record<string, unknown> = {};
  cyclic["again"] = cyclic;
  test.each<[unknown, string]>([
    [5, "Cannot report: an object such as { loss: 0.5 } is needed: received 5"],
    [[1], "Cannot report: an object such as { loss: 0.5 } is needed"],
    [{ a: { b: [1, () => 1] } }, "Cannot report: a.b[1] must be a value of JSON: received"],
    [{ n: 5n }, "Cannot report: n must be a value of JSON (Number(value) makes a number of it): received 5n"],
    [{ at: new Date(0) }, "value.toISOString()"],
    [{ w: new Float32Array(2) }, "Array.from(value)"],
    [{ list: [undefined] }, "Cannot report: list[0] must be a value of JSON: received undefined"],
    [cyclic, "is nested more than 32 times"],
  ])("%#", (value, message) => {
    expect(() => checkMetrics(value, "Cannot report")).toThrow(TypeError);
    expect(() => checkMetrics(value, "Cannot report")).toThrow(message);
  });
});

test("nested metrics have flat names", () => {
  expect([...flatMetrics({ a: { b: { c: 1 } }, d: [1, { e: 2 }], f: null })]).toEqual([
    ["a/b/c", 1],
    ["d", [1, { e: 2 }]],
    ["f", null],
  ]);
});
