import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { UnreadFrames } from "../../../base/outbox.ts";
import { FrameParser, FrameWriter } from "../../../wire/frame.ts";
import { OUTBOX_BYTES_MAX, OUTBOX_SLOT_BYTES, OUTBOX_UNIT_BYTES } from "../../limits.ts";
import { OutboxFile, outboxMemory, OutboxSlots, unreadFrames } from "./outbox.ts";
import type { OutboxMemory } from "./outbox.ts";

const READER = "0123456789abcdef".repeat(2);
const OTHER = "fedcba9876543210".repeat(2);

/** Stands for a file that is mapped. */
class Memory implements OutboxMemory {
  readonly parts: { at: number; buffer: ArrayBuffer }[] = [];
  sizeBytes = 0;
  isFull = false;

  grow(sizeBytes: number): ArrayBuffer {
    const buffer = new ArrayBuffer(sizeBytes);
    this.parts.push({ at: this.sizeBytes, buffer });
    this.sizeBytes += sizeBytes;
    return buffer;
  }

  reserve(): boolean {
    return !this.isFull;
  }

  read(target: Buffer, offset: number): void {
    const part = this.parts.findLast(({ at }) => at <= offset);
    if (part === undefined) throw new Error(`nothing lies at ${offset}`);
    Buffer.from(part.buffer).copy(target, 0, offset - part.at);
  }

  get unread(): UnreadFrames[] {
    return unreadFrames(this.sizeBytes, (target, offset) => this.read(target, offset));
  }
}

/** A connection whose system takes bytes when the test says so. */
class Sender {
  readonly outbox;
  readonly writer: FrameWriter;
  taken = Buffer.alloc(0);
  #pending: Buffer[] = [];
  isTaking = true;

  constructor(slots: OutboxSlots, { reader = READER, isElsewhere = false } = {}) {
    this.outbox = slots.open(reader, { isElsewhere });
    this.writer = new FrameWriter((chunk) => {
      this.#pending.push(Buffer.from(chunk));
      if (this.isTaking) this.take();
    });
    this.writer.keepIn(this.outbox, () => this.#pending.reduce((total, { length }) => total + length, 0));
  }

  take(): void {
    this.taken = Buffer.concat([this.taken, ...this.#pending]);
    this.#pending = [];
  }

  send(callId: number, size: number): void {
    this.writer.numbered(1, 0, callId, 0, new Uint8Array(size).fill(callId), 0, size);
  }
}

/**
 * Reads the bytes that the system had taken up to a position, then the rest from the outbox. Returns the call ids after checking the bytes.
 */
function readBy({ outbox, taken }: Sender, unread: readonly UnreadFrames[], readTo = taken.length): number[] {
  const seen: number[] = [];
  const parser = new FrameParser(({ callId, body }) => {
    expect(body.every((byte) => byte === callId % 256)).toBe(true);
    seen.push(callId);
  });
  parser.push(Buffer.from(taken.subarray(0, readTo)));
  for (const { outbox: id, from, bytes } of unread) {
    if (id !== outbox.id) continue;
    if (from > parser.pushedBytes) break;
    const rest = Buffer.from(bytes.subarray(parser.pushedBytes - from));
    if (rest.length > 0) parser.push(rest);
  }
  return seen;
}

describe("the outboxes of a worker", () => {
  test("hold each frame from its sending until the system has taken it, and give each once, whatever the system takes", () => {
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.record({ kind: fc.constant("send" as const), size: fc.oneof(fc.nat(200), fc.nat(300_000)) }) },
      {
        weight: 2,
        arbitrary: fc.record({
          kind: fc.constantFrom("flush" as const, "take" as const, "stop" as const, "go" as const),
          size: fc.constant(0),
        }),
      },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.boolean(), (steps, isElsewhere) => {
        const memory = new Memory();
        const slots = new OutboxSlots(memory);
        const [sender, other] = [new Sender(slots, { isElsewhere }), new Sender(slots, { reader: OTHER })];
        const sent: number[] = [];
        for (const { kind, size } of steps) {
          if (kind === "send") {
            sender.send(sent.length, size);
            sent.push(sent.length);
            other.send(7, 10);
          } else if (kind === "flush") sender.writer.flush();
          else if (kind === "take") sender.take();
          else sender.isTaking = kind === "go";
        }
        expect(readBy(sender, memory.unread)).toEqual(sent);
        expect(readBy(other, memory.unread)).toEqual(sent.map(() => 7));
      }),
    );
  });

  test("say for whom what is left is, and nothing once it was taken or the connection has ended", () => {
    const memory = new Memory();
    const slots = new OutboxSlots(memory);
    const sender = new Sender(slots);
    sender.send(1, 10);
    expect(memory.unread).toMatchObject([{ reader: READER, outbox: 1, from: 0 }]);
    sender.writer.flush();
    expect(memory.unread).toEqual([]);
    sender.send(2, 10);
    expect(memory.unread).toMatchObject([{ from: 25 }]);
    sender.writer.close();
    expect(memory.unread).toEqual([]);
  });

  test("never show half of a frame: a body that cannot be read leaves what was sent before", () => {
    const memory = new Memory();
    const sender = new Sender(new OutboxSlots(memory));
    sender.send(1, 100);
    // The process dies in the midst of the next one.
    const body = new Proxy(new Uint8Array(20), {
      get: (target, key) => {
        if (key === "10") throw new Error("the end");
        return Reflect.get(target, key) as unknown;
      },
    });
    expect(() => sender.writer.numbered(1, 0, 2, 0, body, 0, 20)).toThrow("the end");
    expect(readBy(sender, memory.unread)).toEqual([1]);
  });

  test("to another machine keep what the system has taken, as it may lose it", () => {
    const memory = new Memory();
    const sender = new Sender(new OutboxSlots(memory), { isElsewhere: true });
    const count = 5000;
    for (let callId = 0; callId < count; callId += 1) {
      sender.send(callId, 100);
      sender.writer.flush();
    }
    // The last 64 KB have not arrived.
    expect(readBy(sender, memory.unread, sender.taken.length - 65_536)).toEqual(Array.from({ length: count }, (_, index) => index));
    // Nothing is made up beyond the kept bytes.
    expect(readBy(sender, memory.unread, 1000).length).toBeLessThan(10);
  });

  test("use memory again, and stay within their limit when nobody reads", () => {
    const memory = new Memory();
    const slots = new OutboxSlots(memory);
    for (let index = 0; index < 100; index += 1) {
      const sender = new Sender(slots);
      for (let callId = 0; callId < 1000; callId += 1) sender.send(callId, 1000);
      sender.writer.flush();
      sender.writer.close();
    }
    expect(memory.sizeBytes).toBeLessThan(1024 * 1024);
    const stuck = new Sender(slots);
    stuck.isTaking = false;
    for (let callId = 0; callId < 50_000; callId += 1) stuck.send(callId, 1000);
    expect(memory.sizeBytes).toBeLessThanOrEqual(OUTBOX_BYTES_MAX);
    stuck.writer.flush();
    stuck.take();
    expect(readBy(stuck, [])).toHaveLength(50_000);
  });

  test("do without memory where there is none", () => {
    const memory = new Memory();
    memory.isFull = true;
    const sender = new Sender(new OutboxSlots(memory));
    for (let callId = 0; callId < 1000; callId += 1) sender.send(callId, 1000);
    sender.writer.flush();
    expect(memory.unread).toEqual([]);
    expect(readBy(sender, [])).toHaveLength(1000);
  });

  test("are searched up to a head that makes no sense", () => {
    const memory = new Memory();
    const slots = new OutboxSlots(memory);
    const [first, second] = [new Sender(slots), new Sender(slots)];
    first.send(1, 10);
    second.send(2, 10);
    const words = new Uint32Array((memory.parts[0] as { buffer: ArrayBuffer }).buffer);
    const at = OUTBOX_UNIT_BYTES / 4;
    for (const [word, value] of [
      [at, 0xffffffff],
      [at + 2, OUTBOX_UNIT_BYTES],
    ] as const) {
      const before = words[word] as number;
      words[word] = value;
      expect(memory.unread.map(({ outbox }) => outbox)).toEqual([1]);
      words[word] = before;
    }
    expect(memory.unread.map(({ outbox }) => outbox)).toEqual([1, 2]);
    expect(unreadFrames(0, () => expect.unreachable("there is nothing"))).toEqual([]);
  });
});

test("the file of a worker's outboxes is its user's alone, holds what was sent, and is removed", () => {
  const folder = mkdtempSync(join(tmpdir(), "test-shoal-outbox-"));
  try {
    const path = join(folder, "out-1");
    const file = new OutboxFile(path);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(file.unread()).toEqual([]);
    const memory = outboxMemory(path);
    if (memory !== undefined) {
      const sender = new Sender(new OutboxSlots(memory));
      sender.isTaking = false;
      for (let callId = 0; callId < 300; callId += 1) sender.send(callId, 1000);
      expect(readBy(sender, file.unread())).toEqual(Array.from({ length: 300 }, (_, index) => index));
      expect(statSync(path).size).toBeLessThanOrEqual(8 * OUTBOX_SLOT_BYTES);
    }
    file.remove();
    expect(existsSync(path)).toBe(false);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
