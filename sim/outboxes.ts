/**
 * The outboxes of a simulated worker: the slots of `src` in memory that the simulation can look into at each point of a turn.
 *
 * A worker can die between two pieces of a frame, between the last piece and the write of the frames, and after the write. The process passes a point at each
 * (`world.ts`). The memory stands for the file in shared memory, and `unreadFrames` reads both.
 */
import type { UnreadFrames } from "../src/runtime/base/outbox.ts";
import { type OutboxMemory, OutboxSlots, unreadFrames } from "../src/runtime/os/processes/memory/outbox.ts";
import type { SimulatedProcess } from "./world.ts";

class Memory implements OutboxMemory {
  readonly #parts: Buffer[] = [];

  grow(sizeBytes: number): ArrayBuffer {
    const part = new ArrayBuffer(sizeBytes);
    this.#parts.push(Buffer.from(part));
    return part;
  }

  reserve(): boolean {
    return true;
  }

  unread(): UnreadFrames[] {
    const sizeBytes = this.#parts.reduce((sum, part) => sum + part.length, 0);
    return unreadFrames(sizeBytes, (target, offset) => this.#copy(target, offset));
  }

  /** No slot lies in two parts. */
  #copy(target: Buffer, offset: number): void {
    let at = offset;
    for (const part of this.#parts) {
      if (at < part.length) {
        part.copy(target, 0, at, at + target.length);
        return;
      }
      at -= part.length;
    }
  }
}

type Slot = ReturnType<OutboxSlots["take"]>;

export class SimulatedOutboxes extends OutboxSlots {
  readonly #process: SimulatedProcess;
  readonly #watched = new WeakSet<Buffer>();

  constructor(process: SimulatedProcess) {
    const memory = new Memory();
    super(memory);
    this.#process = process;
    process.readOutbox = () => memory.unread();
  }

  override take(sizeBytes: number): Slot {
    const slot = super.take(sizeBytes);
    if (slot !== undefined && !this.#watched.has(slot.bytes)) {
      this.#watched.add(slot.bytes);
      this.#watch(slot.bytes);
    }
    return slot;
  }

  /** A frame gets each piece of more than a few bytes by `set`. */
  #watch(bytes: Buffer): void {
    const process = this.#process;
    const set = bytes.set.bind(bytes);
    bytes.set = (source, offset) => {
      process.passes();
      set(source, offset);
    };
  }
}
