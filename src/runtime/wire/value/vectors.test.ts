import { deepStrictEqual } from "node:assert";
import { readFileSync } from "node:fs";
import { runInThisContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { decodeValue } from "./decode.ts";
import { encodeValue } from "./encode.ts";

/** A case on which both languages must agree; `docs/value-format.md` explains each. */
interface Vector {
  name: string;
  /** An expression for the value. */
  javascript: string;
  /** The value in Python, for the tests there. */
  python: string;
  hex: string;
  /** Sizes of the out-of-band buffers, which are all zeros. */
  bufferSizes?: number[];
}

const vectors = JSON.parse(readFileSync(new URL("../../../../test/vectors/values.json", import.meta.url), "utf8")) as Vector[];
const customForm = (): string => "sent as kind 5 with the payload [1]";
const hooks = {
  reduce: (value: unknown) => (typeof value === "function" ? { kind: 5, payload: [1] } : undefined),
  revive: (kind: number, payload: unknown) => (deepStrictEqual([kind, payload], [5, [1]]), customForm),
};

function valueOf(vector: Vector): unknown {
  const value: unknown = runInThisContext(`(${vector.javascript})`);
  return typeof value === "function" ? customForm : value;
}

describe("vectors", () => {
  for (const vector of vectors) {
    it(vector.name, () => {
      const value = valueOf(vector);
      const { bytes, start, end, buffers } = encodeValue(value, hooks);
      expect(bytes.subarray(start, end).toString("hex")).toBe(vector.hex);
      expect(buffers.map((buffer) => buffer.length)).toEqual(vector.bufferSizes ?? []);
      const received = Buffer.from(vector.hex, "hex");
      expect(endOfMessagePack(received, 0)).toBe(received.length);
      const sent = (vector.bufferSizes ?? []).map((size) => new Uint8Array(size));
      const arrived = decodeValue(received, sent, hooks);
      if (value instanceof Date && Number.isNaN(value.getTime())) expect((arrived as Date).getTime()).toBeNaN();
      else deepStrictEqual(arrived, value);
    });
  }
});

/** Where the value at an offset ends, by the specification of MessagePack alone: a generic reader must be able to skip every value. */
function endOfMessagePack(bytes: Buffer, at: number): number {
  const tag = bytes[at] as number;
  const next = at + 1;
  const items = (from: number, count: number): number => {
    let end = from;
    for (let item = 0; item < count; item += 1) end = endOfMessagePack(bytes, end);
    return end;
  };
  if (tag < 0x80 || tag >= 0xe0) return next;
  if (tag < 0x90) return items(next, (tag & 15) * 2);
  if (tag < 0xa0) return items(next, tag & 15);
  if (tag < 0xc0) return next + (tag & 31);
  const width = (first: number): number => 1 << (tag - first);
  const length = (first: number): number => bytes.readUIntBE(next, width(first));
  if (tag === 0xc1) return expect.fail("0xc1 is never used");
  if (tag <= 0xc3) return next;
  if (tag <= 0xc6) return next + width(0xc4) + length(0xc4);
  if (tag <= 0xc9) return next + width(0xc7) + 1 + length(0xc7);
  if (tag <= 0xcb) return next + width(0xca) * 4;
  if (tag <= 0xcf) return next + width(0xcc);
  if (tag <= 0xd3) return next + width(0xd0);
  if (tag <= 0xd8) return next + 1 + width(0xd4);
  if (tag <= 0xdb) return next + width(0xd9) + length(0xd9);
  if (tag <= 0xdd) return items(next + width(0xdc) * 2, bytes.readUIntBE(next, width(0xdc) * 2));
  return items(next + width(0xde) * 2, bytes.readUIntBE(next, width(0xde) * 2) * 2);
}
