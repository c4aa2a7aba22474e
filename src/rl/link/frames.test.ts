import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { REPOSITORY } from "../../../test/house/source-files.ts";
import { DTYPES, type Dtype, type NumericArray } from "../spaces/dtype.ts";
import { decodeFrame, encodeFrame, FrameError, FrameReader, type LinkMessage, type WireArray } from "./frames.ts";

interface Vector {
  readonly title: string;
  readonly hex: string;
  /** The meaning of a frame that is read. */
  readonly message?: {
    readonly type: string;
    readonly id: number;
    readonly fields: Record<string, unknown>;
    readonly arrays: readonly { readonly name: string; readonly dtype: Dtype; readonly shape: number[]; readonly data: number[] }[];
  };
  /** A part of the message by which another is refused. */
  readonly refused?: string;
}

const VECTORS = JSON.parse(readFileSync(join(REPOSITORY, "test", "vectors", "rl", "link-frames.json"), "utf8")) as readonly Vector[];
const bytesOf = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, "hex"));

function messageOf({ type, id, fields, arrays }: NonNullable<Vector["message"]>): LinkMessage {
  const made = arrays.map(({ name, dtype, shape, data }): [string, WireArray] => {
    const array = new DTYPES[dtype].array(data.length);
    array.set(data);
    return [name, { shape, data: array }];
  });
  return { type, id, fields, arrays: new Map(made) };
}

test.each(VECTORS.filter(({ message }) => message !== undefined))("the vector is read and written: $title", ({ hex, message }) => {
  const expected = messageOf(message as NonNullable<Vector["message"]>);
  expect(decodeFrame(bytesOf(hex))).toEqual(expected);
  expect(Buffer.from(encodeFrame(expected)).toString("hex")).toBe(hex);
});

test.each(VECTORS.filter(({ refused }) => refused !== undefined))("the vector is refused: $title", ({ hex, refused }) => {
  expect(() => decodeFrame(bytesOf(hex))).toThrow(FrameError);
  expect(() => decodeFrame(bytesOf(hex))).toThrow(refused);
});

const arrays = fc.uniqueArray(
  fc.record({
    name: fc.string({ maxLength: 20 }),
    dtype: fc.constantFrom(...(Object.keys(DTYPES) as Dtype[])),
    data: fc.array(fc.integer({ min: 0, max: 100 }), { maxLength: 20 }),
  }),
  { selector: ({ name }) => name, maxLength: 6 },
);

test("any message comes back from its frame, however the stream is cut", () => {
  fc.assert(
    fc.property(fc.string(), fc.nat(), arrays, fc.integer({ min: 1, max: 40 }), (type, id, given, step) => {
      const message = messageOf({
        type,
        id,
        fields: { note: type },
        arrays: given.map((each) => ({ ...each, shape: [each.data.length] })),
      });
      const frame = encodeFrame(message);
      const twice = new Uint8Array([...frame, ...frame]);
      const reader = new FrameReader();
      const read: LinkMessage[] = [];
      for (let at = 0; at < twice.length; at += step)
        read.push(...reader.push(twice.subarray(at, at + step), frame.length).map(decodeFrame));
      expect(read).toEqual([message, message]);
      expect(reader.isInside).toBe(false);
    }),
    { numRuns: 200 },
  );
});

test("a frame with any byte changed is read or refused with a FrameError, and never throws another error", () => {
  const data: NumericArray = Float32Array.of(1, 2, 3);
  const frame = encodeFrame({ type: "EPISODES", id: 7, fields: { version: 3 }, arrays: new Map([["obs", { shape: [3], data }]]) });
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat({ max: frame.length - 1 }), fc.nat({ max: 255 })), { minLength: 1, maxLength: 4 }), (changes) => {
      const changed = frame.slice();
      for (const [at, byte] of changes) changed[at] = byte;
      try {
        decodeFrame(changed);
      } catch (error) {
        expect(error).toBeInstanceOf(FrameError);
      }
    }),
    { numRuns: 2000 },
  );
});

test("a length beyond the limit is refused before the bytes of the frame are kept", () => {
  const reader = new FrameReader();
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, 0xff_ff_ff_f0, true);
  expect(() => reader.push(length, 1024)).toThrow("a frame has 1024 bytes at most: received one of 4294967284");
});

test("arrays of a frame in the middle of a pool are read from there", () => {
  const frame = encodeFrame({ type: "EPISODES", id: 1, fields: {}, arrays: new Map([["a", { shape: [2], data: Int32Array.of(5, 6) }]]) });
  const pool = Buffer.alloc(frame.length + 24, 0xff);
  pool.set(frame, 3);
  expect(Array.from(decodeFrame(pool.subarray(3, 3 + frame.length)).arrays.get("a")?.data ?? [])).toEqual([5, 6]);
});
