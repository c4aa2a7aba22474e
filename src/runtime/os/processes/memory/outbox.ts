/**
 * Keeps a worker's unsent frames in memory that outlives the worker: its daemon reads them once the worker has ended.
 *
 * A worker has one such memory, a file that its daemon makes and removes, cut into slots in which its connections gather their frames
 * (`runtime/wire/frame.ts`). A slot begins with a head: its size, its outbox, the number of bytes in whole frames, their position in the
 * stream, and their reader. Without the native part there is none. Invariant: a head is true at every moment in which the worker can die.
 */
import { closeSync, fstatSync, ftruncateSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import type { FrameOutbox, FrameSlot, UnreadFrames } from "../../../base/outbox.ts";
import {
  OUTBOX_BYTES_MAX,
  OUTBOX_KEPT_ELSEWHERE,
  OUTBOX_SLOT_BYTES,
  OUTBOX_SLOT_ELSEWHERE_BYTES,
  OUTBOX_UNIT_BYTES,
} from "../../limits.ts";
import { sharedMemory } from "../../shared-memory.ts";

/** Words of a head. */
const HEAD = { UNITS: 0, ID: 1, COMMITTED: 2, OFFSET_LOW: 3, OFFSET_HIGH: 4, READER: 8 } as const;
const HEAD_BYTES = 64;
const READER_LENGTH = 32;
const WORD_RANGE = 2 ** 32;

/** Memory for slots. */
export interface OutboxMemory {
  /** Adds zeroed memory at the end; undefined if there is none. */
  grow(sizeBytes: number): ArrayBuffer | undefined;
  /** Whether these bytes can be written: shared memory may be full. */
  reserve(offset: number, sizeBytes: number): boolean;
}

class Slot implements FrameSlot {
  readonly bytes: Buffer;
  readonly words: Uint32Array;
  readonly committedAt = HEAD.COMMITTED;
  readonly units: number;

  constructor(memory: ArrayBuffer, offset: number, units: number) {
    this.units = units;
    this.words = new Uint32Array(memory, offset, HEAD_BYTES / 4);
    this.bytes = Buffer.from(memory, offset + HEAD_BYTES, units * OUTBOX_UNIT_BYTES - HEAD_BYTES);
    this.words[HEAD.UNITS] = units;
  }

  restart(offset: number): void {
    // The slot is emptied first: bytes must never appear at a wrong offset.
    this.words[HEAD.COMMITTED] = 0;
    this.words[HEAD.OFFSET_LOW] = offset % WORD_RANGE;
    this.words[HEAD.OFFSET_HIGH] = Math.floor(offset / WORD_RANGE);
  }
}

/** The outbox of one connection. */
class Outbox implements FrameOutbox {
  readonly id: number;
  readonly kept: number;
  readonly slotBytes: number;
  readonly #reader: Buffer;
  readonly #slots: OutboxSlots;
  #isFirst = true;

  constructor(slots: OutboxSlots, options: { id: number; reader: string; isElsewhere: boolean }) {
    const { id, reader, isElsewhere } = options;
    this.id = id;
    // A process of this machine reads all bytes that the system has taken. For another machine the system loses a part if this process dies
    // with unread data.
    this.kept = isElsewhere ? OUTBOX_KEPT_ELSEWHERE : 0;
    this.slotBytes = (isElsewhere ? OUTBOX_SLOT_ELSEWHERE_BYTES : OUTBOX_SLOT_BYTES) - HEAD_BYTES;
    this.#reader = Buffer.from(reader, "latin1");
    this.#slots = slots;
  }

  take(sizeBytes: number): FrameSlot | undefined {
    // Most connections never have more under way than fits into the smallest.
    const slot = this.#slots.take(Math.max(sizeBytes, this.#isFirst ? 0 : this.slotBytes) + HEAD_BYTES);
    this.#isFirst = false;
    if (slot === undefined) return undefined;
    slot.restart(0);
    for (let word = 0; word < READER_LENGTH / 4; word += 1) slot.words[HEAD.READER + word] = this.#reader.readUInt32LE(word * 4);
    slot.words[HEAD.ID] = this.id;
    return slot;
  }

  release(slot: FrameSlot): void {
    slot.words[HEAD.COMMITTED] = 0;
    slot.words[HEAD.ID] = 0;
    this.#slots.release(slot as Slot);
  }
}

/** The slots of a worker: cut from its memory when they are needed, in sizes that double, and used again. */
export class OutboxSlots {
  readonly #memory: OutboxMemory;
  /** Free slots, by size. */
  readonly #free = new Map<number, Slot[]>();
  #part: ArrayBuffer | undefined;
  /** The part that was added last: its beginning in the memory, and the length already cut. */
  #partAt = 0;
  #cut = 0;
  #sizeBytes = 0;
  #lastId = 0;

  constructor(memory: OutboxMemory) {
    this.#memory = memory;
  }

  /** @param reader to which process the connection leads. `isElsewhere`: on another machine */
  open(reader: string, { isElsewhere }: { isElsewhere: boolean }): Outbox {
    this.#lastId += 1;
    return new Outbox(this, { id: this.#lastId, reader, isElsewhere });
  }

  take(sizeBytes: number): Slot | undefined {
    let units = 1;
    while (units * OUTBOX_UNIT_BYTES < sizeBytes) units *= 2;
    return this.#free.get(units)?.pop() ?? this.#cutOff(units);
  }

  release(slot: Slot): void {
    const free = this.#free.get(slot.units);
    if (free === undefined) this.#free.set(slot.units, [slot]);
    else free.push(slot);
  }

  #cutOff(units: number): Slot | undefined {
    const size = units * OUTBOX_UNIT_BYTES;
    if (this.#part === undefined || this.#cut + size > this.#part.byteLength) {
      if (!this.#grow(size)) return undefined;
    }
    const part = this.#part as ArrayBuffer;
    if (!this.#memory.reserve(this.#partAt + this.#cut, size)) return undefined;
    const slot = new Slot(part, this.#cut, units);
    this.#cut += size;
    return slot;
  }

  /** By as much as there is already, so that the memory has few parts. */
  #grow(atLeast: number): boolean {
    const size = Math.max(atLeast, this.#sizeBytes, OUTBOX_SLOT_BYTES);
    if (this.#sizeBytes + size > OUTBOX_BYTES_MAX) return false;
    const part = this.#memory.grow(size);
    if (part === undefined) return false;
    this.#part = part;
    this.#partAt = this.#sizeBytes;
    this.#cut = 0;
    this.#sizeBytes += size;
    return true;
  }
}

/** The memory of a worker's outboxes, in the file that its daemon has made; undefined without the native part. */
export function outboxMemory(path: string): OutboxMemory | undefined {
  const native = sharedMemory();
  if (native === undefined) return undefined;
  const fd = openSync(path, "r+");
  let sizeBytes = 0;
  return {
    grow: (size) => {
      try {
        ftruncateSync(fd, sizeBytes + size);
        const part = native.map({ fd, offset: sizeBytes, sizeBytes: size, mode: "shared" });
        sizeBytes += size;
        return part;
      } catch {
        // The engine or the system refuses it.
        return undefined;
      }
    },
    reserve: (offset, size) => {
      try {
        // A page that shared memory has no room for ends the process that touches it.
        return writeSync(fd, Buffer.alloc(size), 0, size, offset) === size;
      } catch {
        return false;
      }
    },
  };
}

/** Copies bytes of a memory of outboxes. */
type ReadOutboxes = (target: Buffer, offset: number) => void;

/**
 * Returns the frames in the outboxes of a worker that has ended, in the order of the streams. A head that makes no sense ends the search.
 */
export function unreadFrames(sizeBytes: number, read: ReadOutboxes): UnreadFrames[] {
  const found: UnreadFrames[] = [];
  const head = Buffer.alloc(HEAD_BYTES);
  for (let at = 0; at + OUTBOX_UNIT_BYTES <= sizeBytes; ) {
    read(head, at);
    const word = (index: number): number => head.readUInt32LE(index * 4);
    const slotBytes = Math.max(1, word(HEAD.UNITS)) * OUTBOX_UNIT_BYTES;
    const committed = word(HEAD.COMMITTED);
    if (slotBytes > sizeBytes - at || committed > slotBytes - HEAD_BYTES) break;
    if (word(HEAD.ID) !== 0 && committed > 0) {
      const bytes = Buffer.allocUnsafeSlow(committed);
      read(bytes, at + HEAD_BYTES);
      const reader = head.toString("latin1", HEAD.READER * 4, HEAD.READER * 4 + READER_LENGTH);
      found.push({ reader, outbox: word(HEAD.ID), from: word(HEAD.OFFSET_HIGH) * WORD_RANGE + word(HEAD.OFFSET_LOW), bytes });
    }
    at += slotBytes;
  }
  return found.sort((a, b) => a.outbox - b.outbox || a.from - b.from);
}

/** The file of a worker's outboxes, which its daemon makes and removes. */
export class OutboxFile {
  readonly #path: string;
  readonly #fd: number;

  constructor(path: string) {
    this.#path = path;
    this.#fd = openSync(path, "wx+", 0o600);
  }

  /** The worker has ended. */
  unread(): UnreadFrames[] {
    const size = Math.min(fstatSync(this.#fd).size, OUTBOX_BYTES_MAX);
    return unreadFrames(size, (target, offset) => void readSync(this.#fd, target, 0, target.length, offset));
  }

  remove(): void {
    closeSync(this.#fd);
    rmSync(this.#path, { force: true });
  }
}
