import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type DecodeHooks, DecodeError, decodeRange, decodeValue } from "./decode.ts";
import { encodeValue } from "./encode.ts";
import { OUT_OF_BAND_BYTES } from "./limits.ts";

const hooks: DecodeHooks = { revive: (kind, payload) => ({ kind, payload }) };
const BUFFERS = [new Uint8Array(OUT_OF_BAND_BYTES).fill(1), new Uint8Array(5001)];

function decodeHex(hex: string, buffers: readonly Uint8Array[] = []): unknown {
  return decodeValue(Buffer.from(hex.replaceAll(" ", ""), "hex"), buffers, hooks);
}

function failureOf(hex: string, buffers: readonly Uint8Array[] = []): string {
  try {
    decodeHex(hex, buffers);
  } catch (error) {
    expect(error).toBeInstanceOf(DecodeError);
    expect((error as DecodeError).code).toBe("DECODE_FAILED");
    return (error as DecodeError).message;
  }
  return expect.fail("the bytes were decoded");
}

describe("MessagePack of other writers", () => {
  const VALUES: [hex: string, value: unknown][] = [
    ["cc 05", 5],
    ["cd 0005", 5],
    ["ce 00000005", 5],
    ["cf 0000000000000005", 5],
    ["d0 fb", -5],
    ["d1 fffb", -5],
    ["d2 fffffffb", -5],
    ["d3 fffffffffffffffb", -5],
    ["cf ffffffffffffffff", 2n ** 64n - 1n],
    ["d3 8000000000000000", -(2n ** 63n)],
    ["cf 001fffffffffffff", Number.MAX_SAFE_INTEGER],
    ["ca 3fc00000", 1.5],
    ["d9 01 61", "a"],
    ["da 0001 61", "a"],
    ["db 00000001 61", "a"],
    ["a1 ff", "\ufffd"],
    ["c5 0002 0102", new Uint8Array([1, 2])],
    ["c6 00000001 01", new Uint8Array([1])],
    ["dc 0001 05", [5]],
    ["dd 00000001 05", [5]],
    ["de 0001 a161 05", { a: 5 }],
    ["df 00000001 a161 05", { a: 5 }],
    ["d6 ff 00000001", new Date(1000)],
    ["d7 ff 0000000400000001", new Date(1000)],
    ["d7 ff 773593fd 00000001", new Date((2 ** 32 + 1) * 1000 + 499)],
    ["c7 0c ff 3b8b87c0 ffffffffffffffff", new Date(-1)],
  ];
  for (const [hex, value] of VALUES) it(hex, () => expect(decodeHex(hex)).toEqual(value));

  it("keeps the last of two equal keys, and does not run setters", () => {
    expect(decodeHex("82 a161 01 a161 02")).toEqual({ a: 2 });
    const target = decodeHex("81 a9 5f5f70726f746f5f5f 81 a178 01") as object;
    expect(Object.getPrototypeOf(target)).toBe(Object.prototype);
    expect(Object.keys(target)).toEqual(["__proto__"]);
  });

  it("is read from any bytes, not only from a Buffer, and from the middle of a larger one", () => {
    const bytes = new Uint8Array([0xff, 0x92, 0xa2, 0xc3, 0xa9, 0xcb, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0, 0xff]);
    expect(decodeValue(bytes.subarray(1, 14), [], hooks)).toEqual(["é", 1.5]);
    expect(decodeRange(bytes, { start: 1, end: 14 }, hooks)).toEqual(["é", 1.5]);
    expect(() => decodeRange(bytes, { start: 1, end: 13 }, hooks)).toThrow(/truncated/);
    expect(() => decodeRange(bytes, { start: 1, end: 15 }, hooks)).toThrow(/bytes follow the value/);
  });
});

describe("malformed bytes", () => {
  const FAILURES: [hex: string, reason: RegExp][] = [
    ["", /truncated/],
    ["c1", /no form of MessagePack begins with 193/],
    ["01 02", /bytes follow the value/],
    ["92 01", /2 more items are declared/],
    ["dd ffffffff 01", /4294967295 more items are declared/],
    ["df ffffffff a161 01", /4294967295 more items are declared/],
    ["81 a161", /truncated/],
    ["a5 61", /5 more bytes are declared/],
    ["db ffffffff 61", /truncated/],
    ["c6 ffffffff 61", /truncated/],
    ["c9 ffffffff 05 00", /truncated/],
    ["cb 3ff8", /truncated/],
    ["81 01 02", /the name of a property is not a string/],
    ["d4 01 00", /a hole is not in an array/],
    ["d4 63 00", /a marker of type 99 is not first in an array/],
    ["d4 08 00", /no extension has the type 8/],
    ["d4 80 00", /no extension has the type 128/],
    ["d4 10 01", /a marker of type 16 is not first in an array/],
    ["92 01 d41001", /a marker of type 16 is not first/],
    ["91 d41063", /no form has the number 99/],
    ["91 d46300", /no marker has the type 99/],
    ["92 d41001 01", /a Map has keys and values in turn/],
    ["92 d41003 a161", /a regular expression has 2 or 3 parts/],
    ["93 d41003 a128 a0", /no valid source or flags/],
    ["93 d41003 a161 a171", /no valid source or flags/],
    ["94 d41003 a161 a0 a0", /the last index of a regular expression is not a number/],
    ["93 d41004 a3466f6f 80", /no error class has the name Foo/],
    ["93 d41004 a54572726f72 90", /a map is missing/],
    ["91 d41006", /an object without a prototype has 1 parts: received 0/],
    ["92 d41007 90", /a boxed primitive is not/],
    ["92 d41007 c0", /a boxed primitive is not/],
    ["93 d41008 01 80", /an array is missing/],
    ["93 d41008 90 81 a66c656e677468 05", /the length of a match/],
    ["92 d41009 a161", /outside its length/],
    ["94 d41009 05 05 01", /outside its length/],
    ["94 d41009 05 ff 01", /outside its length/],
    ["93 d41009 05 01", /in turn/],
    ["d4 02", /truncated/],
    ["c7 00 02", /a bigint has at least one byte/],
    ["d6 03 00000000", /a date has 8 bytes/],
    ["d4 04 61", /an even number of bytes/],
    ["c7 00 05", /a buffer begins with its kind/],
    ["d4 05 63", /no buffer has the kind 99/],
    ["d5 05 0c01", /elements of 8 bytes has 1/],
    ["d4 06 00", /an out-of-band buffer has 5 bytes/],
    ["d4 07 00", /no object before it has the id 0/],
    ["c7 03 07 000000", /a number has 1, 2 or 4 bytes/],
    ["92 d41100 05", /only objects have an id/],
    ["91 d41100", /an id has 1 parts/],
    ["92 d41100 d40700", /no object before it/],
    ["92 92d4110090 92d4110090", /two objects have the id 0/],
    ["92 d41240 01", /outside 0..63: received 64/],
    ["93 d41200 01 02", /a custom form has 1 parts/],
    ["92 d41100 92 d41200 d40700", /no object before it has the id 0/],
    ["92 d41400 01", /no shape before it has the number 0/],
    ["92 c9 00000003 13 91a161 01 02", /bytes follow/],
    ["91 c9 00000003 13 91a161", /a shape has 1 properties: received 0/],
    ["92 c9 00000002 13 91a161 01", /do not end where it does/],
    ["92 c9 00000001 13 05 01", /begins with an array of names/],
    ["d4 ff 00", /a timestamp has 4, 8 or 12 bytes/],
  ];
  for (const [hex, reason] of FAILURES) it(`are refused: ${hex || "nothing"}`, () => expect(failureOf(hex)).toMatch(reason));

  it("are refused for buffers that were not sent, and for those that are named twice or out of order", () => {
    expect(decodeHex("92 c705060400000000 c705060400000001", BUFFERS)).toEqual(BUFFERS);
    expect(failureOf("c705060400000000")).toMatch(/buffer 0 of 0 comes next/);
    expect(failureOf("92 c705060400000000 c705060400000000", BUFFERS)).toMatch(/buffer 1 of 2 comes next: received number 0/);
    expect(failureOf("c705060400000001", BUFFERS)).toMatch(/received number 1/);
    expect(failureOf("c705060c00000000", [new Uint8Array(5001)])).toMatch(/elements of 8 bytes has 5001/);
  });

  it("are refused when they are nested deeply, in any container", () => {
    const deep = (before: string, after = ""): string => `${before.repeat(100_000)}01${after.repeat(100_000)}`;
    for (const before of ["91", "81a161", "92d41002", "92d41200", "93d41004a54572726f7281a161"])
      expect(failureOf(deep(before))).toMatch(/nested/);
    expect(failureOf(deep("92d41100"))).toMatch(/nested|two objects/);
  });

  it("take no more memory than they justify", () => {
    const before = process.memoryUsage();
    // A thousand arrays inside one another, each of which declares that all that is left is its content.
    const size = 400_000;
    const bytes = Buffer.alloc(size, 0xc0);
    for (let level = 0; level < 900; level += 1) {
      bytes[level * 5] = 0xdd;
      bytes.writeUInt32BE(size - level * 5 - 5, level * 5 + 1);
    }
    expect(() => decodeValue(bytes, [], hooks)).toThrow(DecodeError);
    const sparse = Array.from({ length: 100 }, () => decodeHex("92 d41009 ce01c00000") as unknown[]);
    expect(sparse[0]?.length).toBe(0x01c00000);
    expect(process.memoryUsage().rss - before.rss).toBeLessThan(100_000_000);
  });

  it("pass on what revive throws", () => {
    const boom = new Error("boom");
    expect(() =>
      decodeValue(Buffer.from("92d4120001", "hex"), [], {
        revive: () => {
          throw boom;
        },
      }),
    ).toThrow(boom);
  });

  it("never crash or hang: random bytes", () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), decodesOrFails), { numRuns: 20_000 });
  });

  it("never crash or hang: bytes with many of the first bytes that matter", () => {
    const weighted = fc.constantFrom(
      0x91,
      0x92,
      0x93,
      0x94,
      0x81,
      0x82,
      0xa1,
      0x61,
      0xd4,
      0xc7,
      0xc9,
      0x10,
      0x11,
      0x12,
      0x13,
      0x14,
      0,
      1,
      2,
      3,
      4,
      5,
      6,
      7,
      8,
      9,
      0xff,
    );
    const bytes = fc.array(weighted, { maxLength: 60 }).map((items) => Uint8Array.from(items));
    fc.assert(fc.property(bytes, decodesOrFails), { numRuns: 50_000 });
  });

  it("never crash or hang: damaged values", () => {
    const shared = [1];
    const value = {
      rows: [
        { a: 1, b: "x" },
        { a: 2, b: "y" },
        { a: 3, b: "z" },
      ],
      everything: [
        new Map([[shared, new Set([shared])]]),
        new Error("m", { cause: shared }),
        /a/g,
        new Date(0),
        2n ** 70n,
        Buffer.from("b"),
        new Float64Array(2),
      ],
      more: [
        ,
        -0,
        "\ud800",
        new DOMException("m"),
        "ab".match(/b/),
        Object.assign([], { 5000: 1 }),
        new String("s"),
        new Uint8Array(5000),
        Object.create(null),
      ],
    };
    const { bytes, start, end } = encodeValue(value, { reduce: () => undefined });
    const whole = Buffer.from(bytes.subarray(start, end));
    for (let length = 0; length < whole.length; length += 1) decodesOrFails(whole.subarray(0, length));
    const damage = fc.array(fc.tuple(fc.nat(whole.length - 1), fc.integer({ min: 0, max: 255 })), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(damage, (changes) => {
        const damaged = Buffer.from(whole);
        for (const [at, byte] of changes) damaged[at] = byte;
        decodesOrFails(damaged);
      }),
      { numRuns: 20_000 },
    );
  });
});

function decodesOrFails(bytes: Uint8Array): void {
  try {
    decodeValue(bytes, BUFFERS, hooks);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
  }
}
