/** The stream of a transfer connection: chunks are handed on as they come, however the stream is cut, and what is malformed is refused. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FrameError, FrameWriter } from "../../wire/frame.ts";
import { decodeHeader, encodeHeader } from "../../wire/header.ts";
import { MESSAGE } from "../../wire/messages.ts";
import { CHUNK_BYTES } from "../limits.ts";
import { CHUNK_HEAD_BYTES, ChunkParser, writeChunkHead } from "./chunk-parser.ts";

function message(pull: number, header: unknown): Buffer {
  let bytes = Buffer.alloc(0);
  const writer = new FrameWriter((written) => {
    bytes = Buffer.from(written);
  });
  writer.full(MESSAGE.TRANSFER_READ, 0, pull, encodeHeader(header), []);
  writer.flush();
  return bytes;
}

function chunk(pull: number, offset: number, body: Buffer): Buffer {
  const head = Buffer.alloc(CHUNK_HEAD_BYTES);
  writeChunkHead(head, { pull, offset, sizeBytes: body.length, checksum: 0xfeedbeef });
  return Buffer.concat([head, body]);
}

function parse(pieces: readonly Buffer[]): { seen: unknown[]; bytes: Buffer } {
  const seen: unknown[] = [];
  const bytes = Buffer.alloc(64);
  const parser = new ChunkParser({
    onMessage: (frame) => seen.push([frame.type, frame.callId, decodeHeader(frame.header)]),
    onChunkBytes: (_, offset, part) => bytes.set(part, offset % 64),
    onChunkEnd: (head) => seen.push(head),
  });
  for (const piece of pieces) parser.push(piece);
  return { seen, bytes };
}

describe("the parser of chunks", () => {
  const stream = Buffer.concat([
    message(7, [0, 10]),
    chunk(7, 3, Buffer.from("bytes of it")),
    chunk(8, 0x2_0000_0000 + 20, Buffer.from("x")),
    message(8, "end"),
  ]);
  const expected = [
    [MESSAGE.TRANSFER_READ, 7, [0, 10]],
    { pull: 7, offset: 3, sizeBytes: 11, checksum: 0xfeedbeef },
    { pull: 8, offset: 0x2_0000_0000 + 20, sizeBytes: 1, checksum: 0xfeedbeef },
    [MESSAGE.TRANSFER_READ, 8, "end"],
  ];

  test("finds messages and chunks wherever the stream is cut", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: stream.length })), (cuts) => {
        const places = [0, ...cuts.toSorted((a, b) => a - b), stream.length];
        const pieces = places.slice(1).map((end, index) => stream.subarray(places[index], end));
        const { seen, bytes } = parse(pieces);
        expect(seen).toEqual(expected);
        expect(bytes.toString("latin1", 3, 14)).toBe("bytes of it");
        expect(bytes.toString("latin1", 20, 21)).toBe("x");
      }),
    );
  });

  test("refuses a chunk that is too large or empty, an offset beyond numbers, and a message beyond its limit", () => {
    const large = chunk(1, 0, Buffer.from("x"));
    large.writeUInt32LE(CHUNK_HEAD_BYTES - 4 + CHUNK_BYTES + 1, 0);
    expect(() => parse([large])).toThrow(FrameError);
    const empty = chunk(1, 0, Buffer.from("x"));
    empty.writeUInt32LE(CHUNK_HEAD_BYTES - 4, 0);
    expect(() => parse([empty])).toThrow(FrameError);
    const far = chunk(1, 0, Buffer.from("x"));
    far.writeUInt32LE(0xffffffff, 19);
    expect(() => parse([far])).toThrow(FrameError);
    const marked = chunk(1, 0, Buffer.from("x"));
    marked[10] = 1;
    expect(() => parse([marked])).toThrow(FrameError);
    const long = message(1, "x");
    long.writeUInt32LE(65_537, 0);
    expect(() => parse([long])).toThrow(FrameError);
    const short = message(1, "x");
    short.writeUInt32LE(2, 0);
    expect(() => parse([short])).toThrow(FrameError);
  });
});
