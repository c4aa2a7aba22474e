/**
 * Where the frames of a connection are gathered so that they outlive their process: the words that `runtime/wire/frame.ts`, which fills slots, and
 * `runtime/os/processes/memory/outbox.ts`, which owns them, share.
 */

/** Memory for frames that others can read when this process has died. */
export interface FrameSlot {
  readonly bytes: Buffer;
  readonly words: Uint32Array;
  /** Index of the word with the number of bytes in whole frames. It is written after them, so a reader never sees half a frame. */
  readonly committedAt: number;
  /** Makes the slot hold the stream from this offset on, empty at first. */
  restart(offset: number): void;
}

/** Provides the slots of one connection. */
export interface FrameOutbox {
  /** By which a reader names it, above 0. */
  readonly id: number;
  /** How many full slots stay after the system has taken their bytes: it may lose them where it sends them to another machine. */
  readonly kept: number;
  /** A slot of this size is filled again and again; a smaller one is exchanged once it was full. */
  readonly slotBytes: number;
  /** @returns undefined where there is no room left */
  take(sizeBytes: number): FrameSlot | undefined;
  release(slot: FrameSlot): void;
}

/** Frames that a dead worker has sent to one reader, from an offset of the stream on. */
export interface UnreadFrames {
  readonly reader: string;
  readonly outbox: number;
  readonly from: number;
  readonly bytes: Uint8Array;
}
