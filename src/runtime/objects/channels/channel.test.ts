/** Channels in plain memory: every reader reads every record in order, for all sizes and all ways in which the ring wraps. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bodyBytesMax, type ChannelMemory, ChannelReader, ChannelWriter, placeChannels } from "./channel.ts";

function newChannel(options: { capacityBytes: number; readers: number; start?: number }): {
  writer: ChannelWriter;
  readers: ChannelReader[];
  memory: ChannelMemory;
} {
  const { places, sizeBytes } = placeChannels([options], 0);
  const [place] = places as [(typeof places)[0]];
  const buffer = new ArrayBuffer(sizeBytes);
  const memory = { words: new Int32Array(buffer), bytes: new Uint8Array(buffer) };
  for (const position of [place.tail, ...place.heads]) memory.words[position] = options.start ?? 0;
  return {
    memory,
    writer: new ChannelWriter(memory, place),
    readers: place.heads.map((_head, index) => new ChannelReader(memory, place, index)),
  };
}

function write({ memory, writer }: ReturnType<typeof newChannel>, body: number[], kind = 1): boolean {
  const at = writer.begin(body.length);
  if (at < 0) return false;
  memory.bytes.set(body, at);
  writer.commit(kind, body.length);
  return true;
}

function read({ memory }: ReturnType<typeof newChannel>, reader: ChannelReader): number[] | undefined {
  if (!reader.next()) return undefined;
  const body = Array.from(memory.bytes.subarray(reader.bodyStart, reader.bodyStart + reader.bodyBytes));
  reader.advance();
  return body;
}

describe("a channel", () => {
  test("gives every record to every reader in order, for any sizes and any interleaving", () => {
    const step = fc.oneof(
      fc.record({ action: fc.constant("write" as const), size: fc.integer({ min: 0, max: bodyBytesMax(256) }) }),
      fc.record({ action: fc.constant("read" as const), reader: fc.integer({ min: 0, max: 2 }) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), fc.constantFrom(0, -64, 0x7fffffc0 | 0), (steps, start) => {
        const channel = newChannel({ capacityBytes: 256, readers: 3, start });
        const written: number[][] = [];
        const readBy: number[][][] = [[], [], []];
        for (const next of steps) {
          if (next.action === "write") {
            const body = Array.from({ length: next.size }, (_item, index) => (written.length * 7 + index) & 0xff);
            if (write(channel, body)) written.push(body);
            else expect(Math.min(...readBy.map((bodies) => bodies.length))).toBeLessThan(written.length);
          } else {
            const body = read(channel, channel.readers[next.reader] as ChannelReader);
            if (body === undefined) expect(readBy[next.reader]).toHaveLength(written.length);
            else (readBy[next.reader] as number[][]).push(body);
          }
        }
        for (const [index, reader] of channel.readers.entries()) {
          for (let body = read(channel, reader); body !== undefined; body = read(channel, reader)) (readBy[index] as number[][]).push(body);
          expect(readBy[index]).toEqual(written);
        }
      }),
    );
  });

  test("takes its largest record at any position once it is empty", () => {
    const channel = newChannel({ capacityBytes: 128, readers: 1 });
    for (let round = 0; round < 20; round += 1) {
      expect(
        write(
          channel,
          Array.from({ length: round }, () => 1),
        ),
      ).toBe(true);
      read(channel, channel.readers[0] as ChannelReader);
      expect(
        write(
          channel,
          Array.from({ length: bodyBytesMax(128) }, () => 2),
        ),
      ).toBe(true);
      expect(read(channel, channel.readers[0] as ChannelReader)).toHaveLength(bodyBytesMax(128));
    }
  });

  test("shows a record when it is committed, and not before", () => {
    const channel = newChannel({ capacityBytes: 128, readers: 1 });
    const [reader] = channel.readers as [ChannelReader];
    channel.writer.begin(8);
    expect(reader.next()).toBe(false);
    channel.writer.commit(3, 8);
    expect(reader.next()).toBe(true);
    expect(reader.kind).toBe(3);
  });

  test("keeps the room of the slowest reader, and tells a writer that waits for it once", () => {
    const channel = newChannel({ capacityBytes: 64, readers: 2 });
    const [fast, slow] = channel.readers as [ChannelReader, ChannelReader];
    while (write(channel, [1, 2, 3, 4, 5, 6, 7, 8])) {}
    while (read(channel, fast) !== undefined) {}
    expect(write(channel, [1])).toBe(false);
    channel.writer.waitForRoom(true);
    expect(slow.next()).toBe(true);
    expect(slow.advance()).toBe(true);
    expect(slow.next()).toBe(true);
    expect(slow.advance()).toBe(false);
    expect(write(channel, [1])).toBe(true);
  });
});
