/** The values that are kept unchanged, and the settling of received ones. */
import { describe, expect, test } from "vitest";
import { ObjectEntry } from "../../../runtime/objects/object-entry.ts";
import { isKeptAsItIs, settlePlain } from "./plain-value.ts";

describe("a value that is put", () => {
  test.each([0, -0, Number.NaN, 1.5, true, undefined, null, "", "short", "ü".repeat(64)])("is kept as it is: %s", (value) => {
    expect(isKeptAsItIs(value)).toBe(true);
  });

  test.each([
    ["an object, which could be changed after it was put", {}],
    ["a function", () => {}],
    ["a symbol, which is refused where it is encoded", Symbol("x")],
    ["a long string, whose bytes take less", "x".repeat(65)],
    ["half a character, which reads as another one elsewhere", "\ud83d"],
    ["a bigint", 1n],
  ])("is encoded: %s", (_what, value) => {
    expect(isKeptAsItIs(value)).toBe(false);
  });
});

describe("a plain value that came", () => {
  const reader = { decodeParts: (inBand: Uint8Array) => ({ decoded: Array.from(inBand) }) };

  test("is decoded at once where it is a primitive", () => {
    const entry = new ObjectEntry(1, 0);
    settlePlain(entry, Uint8Array.of(0xcd, 1, 2), false, reader);
    expect(entry).toMatchObject({ state: "ready", isPrimitive: true, primitive: { decoded: [0xcd, 1, 2] }, payload: undefined });
  });

  test.each([
    ["an array", [0x91, 1], false],
    ["a graph", [1], true],
    ["a string that is not short", [0xb0, ...Array.from({ length: 16 }, () => 65)], false],
  ])("is kept in bytes of its own where it is %s", (_what, bytes, graph) => {
    const entry = new ObjectEntry(1, 0);
    const received = Uint8Array.from(bytes);
    settlePlain(entry, received, graph, reader);
    received.fill(0);
    expect(entry).toMatchObject({ state: "ready", isPrimitive: false });
    expect(entry.payload).toMatchObject({ graph, error: false, inBand: Uint8Array.from(bytes) });
  });
});
