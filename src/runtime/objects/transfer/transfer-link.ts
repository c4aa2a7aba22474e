/**
 * A transfer connection between two nodes: small messages and object bytes in both directions.
 *
 * Takes over an authenticated transport. Decides when a chunk's memory may be used again: bytes leave the transport in order, so its count of pending bytes
 * shows which chunks are sent. Malformed input ends the link, never the process. Any number of pulls share a link; the opener numbers each pull.
 */
import { messageOf } from "../../base/texts/describe.ts";
import type { Transport } from "../../os/network/transport.ts";
import { type Frame, FrameError, FrameWriter } from "../../wire/frame.ts";
import { encodeHeader } from "../../wire/header.ts";
import { DecodeError } from "../../wire/value/decode-error.ts";
import { CHUNK_BYTES } from "../limits.ts";
import { CHUNK_HEAD_BYTES, type ChunkHead, ChunkParser, writeChunkHead } from "./chunk-parser.ts";

interface TransferLinkEvents {
  /** Its call id is the pull. @throws DecodeError for one that is malformed: the link ends by it */
  onMessage: (frame: Frame) => void;
  onChunkBytes: (head: ChunkHead, offset: number, bytes: Uint8Array) => void;
  onChunkEnd: (head: ChunkHead) => void;
  onDrain: () => void;
  onClose: (reason: string) => void;
}

/** Chunks that are read or under way; enough that a socket never runs dry while the next is read. */
const CHUNKS_AT_ONCE = 4;

/** Memory for one chunk with room for its head in front. */
interface ChunkMemory {
  readonly bytes: Buffer;
}

export class TransferLink {
  readonly #transport: Transport;
  readonly #events: TransferLinkEvents;
  readonly #writer: FrameWriter;
  readonly #free: ChunkMemory[] = [];
  #made = 0;
  /** Chunks that the transport has, oldest first, and after how many bytes each has left. */
  readonly #sent: { memory: ChunkMemory; endBytes: number }[] = [];
  #writtenBytes = 0;
  #isClosed = false;

  constructor(transport: Transport, events: TransferLinkEvents) {
    this.#transport = transport;
    this.#events = events;
    this.#writer = new FrameWriter((chunk) => this.#write(chunk));
    const parser = new ChunkParser({
      onMessage: events.onMessage,
      onChunkBytes: events.onChunkBytes,
      onChunkEnd: events.onChunkEnd,
    });
    transport.onChunk = (chunk) => {
      if (this.#isClosed) return;
      try {
        parser.push(chunk);
      } catch (error) {
        // Malformed bytes or missing room: another source continues the pull. A defect of our own ends no more than the link, either.
        const isTheirs = error instanceof FrameError || error instanceof DecodeError;
        this.close(`${isTheirs ? "the peer broke the protocol" : "a message could not be handled"}: ${messageOf(error)}`);
      }
    };
    transport.onDrain = () => events.onDrain();
    transport.onClose = (reason) => this.#closed(reason);
  }

  send(type: number, pull: number, header: unknown): void {
    if (this.#isClosed) return;
    this.#writer.full(type, 0, pull, encodeHeader(header), []);
    this.#writer.flush();
  }

  /** @returns undefined while so many chunks are under way that another would only wait: `onDrain` follows */
  takeMemory(): ChunkMemory | undefined {
    this.#reclaim();
    const free = this.#free.pop();
    if (free !== undefined) return free;
    if (this.#made >= CHUNKS_AT_ONCE) return undefined;
    this.#made += 1;
    return { bytes: Buffer.allocUnsafeSlow(CHUNK_HEAD_BYTES + CHUNK_BYTES) };
  }

  returnMemory(memory: ChunkMemory): void {
    this.#free.push(memory);
  }

  /** The memory holds the chunk's bytes behind the room for its head; it is the link's again from now on. */
  sendChunk(memory: ChunkMemory, head: ChunkHead): void {
    if (this.#isClosed) return;
    writeChunkHead(memory.bytes, head);
    this.#write(memory.bytes.subarray(0, CHUNK_HEAD_BYTES + head.sizeBytes));
    this.#sent.push({ memory, endBytes: this.#writtenBytes });
  }

  setKeepsProcessAlive(keeps: boolean): void {
    this.#transport.setKeepsProcessAlive(keeps);
  }

  close(reason: string): void {
    this.#closed(reason);
    this.#transport.destroy();
  }

  #write(bytes: Uint8Array): void {
    this.#writtenBytes += bytes.byteLength;
    this.#transport.write(bytes);
  }

  #reclaim(): void {
    const leftBytes = this.#writtenBytes - this.#transport.pendingBytes;
    for (let first = this.#sent[0]; first !== undefined && first.endBytes <= leftBytes; first = this.#sent[0]) {
      this.#sent.shift();
      this.#free.push(first.memory);
    }
  }

  #closed(reason: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#events.onClose(reason);
  }
}
