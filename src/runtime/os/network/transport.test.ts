/**
 * What sockets read into: one buffer for all ordinary ones, a larger one for those that carry large objects, and what was read at its place in it.
 */
import { describe, expect, it } from "vitest";
import { loopbackPair, readInto } from "./transport.ts";

function bufferOf(options?: { isBulk?: boolean }): Uint8Array {
  return readInto(() => undefined, options).buffer as Uint8Array;
}

describe("readInto", () => {
  it("has one buffer for all sockets of a kind, and sixteen times as much for large objects", () => {
    expect(bufferOf()).toBe(bufferOf({ isBulk: false }));
    expect(bufferOf({ isBulk: true })).toBe(bufferOf({ isBulk: true }));
    expect(bufferOf({ isBulk: true }).byteLength).toBe(16 * bufferOf().byteLength);
  });

  it.each([{ isBulk: false }, { isBulk: true }])("hands on what was read, and only that: %o", (options) => {
    const [transport] = loopbackPair();
    const chunks: string[] = [];
    transport.onChunk = (chunk) => chunks.push(chunk.toString());
    const { buffer, callback } = readInto(() => transport, options);
    const target = buffer as Buffer;
    target.write("abcdef");
    expect(callback(3, target)).toBe(true);
    target.write("xyz");
    expect(callback(2, target)).toBe(true);
    expect(chunks).toEqual(["abc", "xy"]);
  });
});
