/**
 * Cuts the byte stream of a transfer connection into messages and the bytes of chunks.
 *
 * A chunk is a frame whose body is handed on as it comes, without being gathered first: a megabyte would otherwise be copied once more. All other frames are small
 * and go whole through the parser of frames. Sizes are checked before they are believed; where a chunk belongs its receiver knows. A chunk's frame:
 * the usual prefix with the pull as its call id, a number header that is the checksum, and the offset (u64, little-endian) before the bytes.
 */
import { type Frame, FRAME_FLAG, FrameError, FrameParser } from "../../wire/frame.ts";
import { MESSAGE } from "../../wire/messages.ts";
import { CHUNK_BYTES } from "../limits.ts";

/** Prefix, number header and offset of a chunk's frame. */
export const CHUNK_HEAD_BYTES = 23;
/** A key, a list of nodes to avoid. */
const MESSAGE_BYTES_MAX = 65_536;
const PREFIX_BYTES = 10;
const UINT32_MARK = 0xce;

export interface ChunkHead {
  pull: number;
  offset: number;
  sizeBytes: number;
  checksum: number;
}

interface ChunkParserEvents {
  onMessage: (frame: Frame) => void;
  /** A part of a chunk, at its place in the object. The bytes are valid during the call only. */
  onChunkBytes: (head: ChunkHead, offset: number, bytes: Uint8Array) => void;
  onChunkEnd: (head: ChunkHead) => void;
}

/** Writes the head of a chunk's frame. */
export function writeChunkHead(target: Buffer, { pull, offset, sizeBytes, checksum }: ChunkHead): void {
  target.writeUInt32LE(CHUNK_HEAD_BYTES - 4 + sizeBytes, 0);
  target[4] = MESSAGE.TRANSFER_CHUNK;
  target[5] = FRAME_FLAG.NUMBER;
  target.writeUInt32LE(pull, 6);
  target[10] = UINT32_MARK;
  target.writeUInt32BE(checksum, 11);
  target.writeUInt32LE(offset % 0x1_0000_0000, 15);
  target.writeUInt32LE(Math.floor(offset / 0x1_0000_0000), 19);
}

export class ChunkParser {
  readonly #events: ChunkParserEvents;
  readonly #messages: FrameParser;
  readonly #head: Buffer = Buffer.alloc(CHUNK_HEAD_BYTES);
  #headBytes = 0;
  #chunk: ChunkHead | undefined;
  #chunkDone = 0;
  /** Bytes still to come of the message that is being handed on. */
  #messageLeft = 0;

  constructor(events: ChunkParserEvents) {
    this.#events = events;
    this.#messages = new FrameParser(events.onMessage, MESSAGE_BYTES_MAX);
  }

  /** Takes the next bytes. @throws FrameError for malformed bytes, after which the connection is useless */
  push(bytes: Buffer): void {
    let offset = 0;
    while (offset < bytes.length) {
      if (this.#messageLeft > 0) offset += this.#message(bytes, offset);
      else if (this.#chunk !== undefined) offset += this.#body(this.#chunk, bytes, offset);
      else offset += this.#begin(bytes, offset);
    }
  }

  #message(bytes: Buffer, offset: number): number {
    const taken = Math.min(this.#messageLeft, bytes.length - offset);
    this.#messageLeft -= taken;
    this.#messages.push(bytes.subarray(offset, offset + taken));
    return taken;
  }

  #body(chunk: ChunkHead, bytes: Buffer, offset: number): number {
    const taken = Math.min(chunk.sizeBytes - this.#chunkDone, bytes.length - offset);
    const at = chunk.offset + this.#chunkDone;
    this.#chunkDone += taken;
    this.#events.onChunkBytes(chunk, at, bytes.subarray(offset, offset + taken));
    if (this.#chunkDone === chunk.sizeBytes) {
      this.#chunk = undefined;
      this.#events.onChunkEnd(chunk);
    }
    return taken;
  }

  /** Gathers a prefix, which decides the kind of the bytes behind it. */
  #begin(bytes: Buffer, offset: number): number {
    const wanted = this.#headBytes < PREFIX_BYTES ? PREFIX_BYTES : CHUNK_HEAD_BYTES;
    const taken = bytes.copy(this.#head, this.#headBytes, offset, offset + wanted - this.#headBytes);
    this.#headBytes += taken;
    if (this.#headBytes < wanted) return taken;
    const head = this.#head;
    if (wanted === PREFIX_BYTES) {
      if (head[4] !== MESSAGE.TRANSFER_CHUNK) {
        const length = head.readUInt32LE(0);
        this.#headBytes = 0;
        this.#messages.push(Buffer.from(head.subarray(0, PREFIX_BYTES)));
        this.#messageLeft = length + 4 - PREFIX_BYTES;
      }
      return taken;
    }
    this.#headBytes = 0;
    this.#chunk = chunkOf(head);
    this.#chunkDone = 0;
    return taken;
  }
}

function chunkOf(head: Buffer): ChunkHead {
  const sizeBytes = head.readUInt32LE(0) + 4 - CHUNK_HEAD_BYTES;
  const offset = head.readUInt32LE(15) + head.readUInt32LE(19) * 0x1_0000_0000;
  const isValid = sizeBytes > 0 && sizeBytes <= CHUNK_BYTES && Number.isSafeInteger(offset);
  if (!isValid || head[5] !== FRAME_FLAG.NUMBER || head[10] !== UINT32_MARK)
    throw new FrameError(`Cannot read a chunk: its head is malformed: received ${sizeBytes} bytes at ${offset}`);
  return { pull: head.readUInt32LE(6), offset, sizeBytes, checksum: head.readUInt32BE(11) };
}
