/**
 * The form of a stored object: the reader gets the writer's bytes back, buffers are aligned, and `parseLayout` accepts a hostile writer's bytes only as an
 * object of exactly the announced size.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { layoutOf, parseLayout, writeHeader } from "./layout.ts";
import { BUFFERS_MAX } from "../limits.ts";

function headerOf(inBandLength: number, bufferLengths: number[]): { header: Buffer; sizeBytes: number } {
  const layout = layoutOf(inBandLength, bufferLengths);
  const header = Buffer.alloc(layout.headerBytes);
  writeHeader(header, layout);
  return { header, sizeBytes: layout.sizeBytes };
}

describe("layoutOf", () => {
  test("parts do not overlap, buffers are aligned to 64 bytes, and the size ends with the last part", () => {
    fc.assert(
      fc.property(fc.nat(5000), fc.array(fc.nat(100_000), { maxLength: 20 }), (inBandLength, bufferLengths) => {
        const layout = layoutOf(inBandLength, bufferLengths);
        let end = layout.headerBytes;
        for (const [index, part] of [layout.inBand, ...layout.buffers].entries()) {
          expect(part.offset).toBeGreaterThanOrEqual(end);
          if (index > 0) expect(part.offset % 64).toBe(0);
          end = part.offset + part.length;
        }
        expect(layout.sizeBytes).toBe(end);
      }),
    );
  });

  test("refuses more buffers than a header may list", () => {
    expect(() => layoutOf(0, new Array<number>(BUFFERS_MAX + 1).fill(1))).toThrow(RangeError);
  });
});

describe("parseLayout", () => {
  test("reads what writeHeader wrote, also lengths beyond 4 GB", () => {
    const lengths = fc.array(fc.oneof(fc.nat(1000), fc.integer({ min: 0, max: 2 ** 40 })), { maxLength: 20 });
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 40 }), lengths, (inBandLength, bufferLengths) => {
        const { header, sizeBytes } = headerOf(inBandLength, bufferLengths);
        expect(parseLayout(header, sizeBytes)).toEqual(layoutOf(inBandLength, bufferLengths));
      }),
    );
  });

  test("takes nothing of another size", () => {
    const { header, sizeBytes } = headerOf(100, [5000]);
    expect(parseLayout(header, sizeBytes)).toBeDefined();
    expect(parseLayout(header, sizeBytes - 1)).toBeUndefined();
    expect(parseLayout(header, sizeBytes + 1)).toBeUndefined();
  });

  test("survives any bytes, and never lets a part lie outside of the object", () => {
    const valid = headerOf(100, [5000, 70, 0]);
    const mutated = fc.array(fc.tuple(fc.nat(valid.header.length - 1), fc.nat(255)), { maxLength: 4 }).map((changes) => {
      const bytes = Buffer.from(valid.header);
      for (const [at, value] of changes) bytes[at] = value;
      return bytes;
    });
    fc.assert(
      fc.property(fc.oneof(mutated, fc.uint8Array({ maxLength: 200 })), fc.nat(10_000), (bytes, otherSize) => {
        for (const sizeBytes of [valid.sizeBytes, otherSize]) {
          const layout = parseLayout(bytes, sizeBytes);
          if (layout === undefined) continue;
          for (const part of [layout.inBand, ...layout.buffers]) {
            expect(part.length).toBeGreaterThanOrEqual(0);
            expect(part.offset + part.length).toBeLessThanOrEqual(sizeBytes);
          }
        }
      }),
    );
  });

  test("a count that promises more than there is allocates nothing", () => {
    const { header, sizeBytes } = headerOf(0, []);
    header.writeUInt32LE(0xffff_ffff, 8);
    expect(parseLayout(header, sizeBytes)).toBeUndefined();
    header.writeUInt32LE(BUFFERS_MAX, 8);
    expect(parseLayout(header, Number.MAX_SAFE_INTEGER)).toBeUndefined();
  });
});
