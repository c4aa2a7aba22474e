import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Frame, FRAME_FLAG, FrameError, FrameParser, FrameWriter } from "./frame.ts";

interface Seen {
  type: number;
  flags: number;
  callId: number;
  number: number;
  header: number[];
  body: number[];
}

function seen(frame: Frame): Seen {
  const { type, flags, callId, number } = frame;
  return { type, flags, callId, number, header: [...frame.header], body: [...frame.body] };
}

function written(write: (writer: FrameWriter) => void): Buffer {
  const chunks: Buffer[] = [];
  const writer = new FrameWriter((chunk) => chunks.push(Buffer.from(chunk)));
  write(writer);
  writer.flush();
  return Buffer.concat(chunks);
}

const message = fc.record({
  type: fc.nat(255),
  callId: fc.nat(0xffffffff),
  number: fc.option(fc.nat(0xffffffff), { nil: undefined }),
  header: fc.option(fc.uint8Array({ maxLength: 40 }), { nil: undefined }),
  body: fc.uint8Array({ maxLength: 300 }),
});

describe("frames", () => {
  test("with a text are those with its bytes", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary", maxLength: 300 }), { maxLength: 20 }), (texts) => {
        const asText = written((writer) => {
          for (const text of texts) writer.text(7, 1, 2, 3, text);
        });
        const asBytes = written((writer) => {
          for (const bytes of texts.map((text) => Buffer.from(text))) writer.numbered(7, 1, 2, 3, bytes, 0, bytes.length);
        });
        expect(asText).toEqual(asBytes);
      }),
    );
  });

  test("arrive as they were sent, however the stream is cut", () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 20 }), fc.array(fc.integer({ min: 1, max: 97 }), { minLength: 1 }), (messages, cuts) => {
        const bytes = written((writer) => {
          for (const { type, callId, number, header, body } of messages) {
            if (number !== undefined) writer.numbered(type, 0, callId, number, body, 0, body.length);
            else writer.full(type, 0, callId, header, [body.subarray(0, 5), body.subarray(5)]);
          }
        });
        const arrived: Seen[] = [];
        const parser = new FrameParser((frame) => arrived.push(seen(frame)));
        for (let offset = 0, cut = 0; offset < bytes.length; cut += 1) {
          const size = cuts[cut % cuts.length] as number;
          parser.push(bytes.subarray(offset, offset + size));
          offset += size;
        }
        expect(arrived).toEqual(
          messages.map(({ type, callId, number, header, body }) => ({
            type,
            flags: number !== undefined ? FRAME_FLAG.NUMBER : header === undefined ? 0 : FRAME_FLAG.HEADER,
            callId,
            number: number ?? 0,
            header: number === undefined && header !== undefined ? [...header] : [],
            body: [...body],
          })),
        );
      }),
    );
  });

  test("a long frame is allocated once and arrives whole", () => {
    const body = new Uint8Array(3_000_000).fill(7);
    const bytes = written((writer) => writer.full(1, 0, 2, undefined, [body]));
    let size = 0;
    const parser = new FrameParser((frame) => {
      size = frame.body.length;
    });
    for (let offset = 0; offset < bytes.length; offset += 65_536) parser.push(bytes.subarray(offset, offset + 65_536));
    expect(size).toBe(body.length);
  });

  test("whatever bytes come, parsing ends in frames or in a FrameError, and allocates nothing beyond the limit", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const parser = new FrameParser(() => {}, 4096);
        try {
          parser.push(Buffer.from(bytes));
        } catch (error) {
          expect(error).toBeInstanceOf(FrameError);
        }
      }),
    );
  });

  test("a length above the limit is refused at once", () => {
    const parser = new FrameParser(() => {}, 4096);
    const bytes = Buffer.alloc(10);
    bytes.writeUInt32LE(0xfffffff0);
    expect(() => parser.push(bytes)).toThrow(/length is outside/);
  });
});
