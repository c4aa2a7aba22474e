/**
 * A connection under a node link: frames in, whole frames out, one write a tick. The link outlives it.
 *
 * Until the other end has said its hello, only a short frame is read. Malformed input ends the connection. After `drop` nothing is
 * delivered any more, not even the rest of a chunk: the link may already have told another connection how much it has.
 */
import { messageOf } from "../base/texts/describe.ts";
import type { Transport } from "../os/network/transport.ts";
import { type Frame, FrameParser } from "../wire/frame.ts";
import { FRAME_SIZE_MAX } from "../wire/limits.ts";
import { HELLO_SIZE_MAX, JOINED_BYTES_MAX } from "./limits.ts";

interface CarrierEvents {
  /** Valid during the call only. */
  onFrame(frame: Frame): void;
  onChunk(): void;
  onClose(reason: string): void;
}

export class LinkCarrier {
  readonly #transport: Transport;
  readonly #parser: FrameParser;
  readonly #events: CarrierEvents;
  #pending: Buffer[] = [];
  #isFlushScheduled = false;
  #isOver = false;
  readonly #flush = (): void => {
    this.#isFlushScheduled = false;
    this.flush();
  };

  constructor(transport: Transport, events: CarrierEvents) {
    this.#transport = transport;
    this.#events = events;
    this.#parser = new FrameParser((frame) => {
      if (!this.#isOver) events.onFrame(frame);
    }, HELLO_SIZE_MAX);
    transport.onChunk = (chunk) => {
      if (this.#isOver) return;
      events.onChunk();
      try {
        this.#parser.push(chunk);
      } catch (error) {
        this.#end(`the peer broke the protocol: ${messageOf(error)}`);
        transport.destroy();
      }
    };
    transport.onClose = (reason) => this.#end(reason);
  }

  trust(): void {
    this.#parser.sizeMax = FRAME_SIZE_MAX;
    this.#transport.identified?.();
  }

  write(frame: Buffer): void {
    if (this.#isOver) return;
    this.#pending.push(frame);
    if (this.#isFlushScheduled) return;
    this.#isFlushScheduled = true;
    process.nextTick(this.#flush);
  }

  flush(): void {
    const frames = this.#pending;
    if (frames.length === 0) return;
    this.#pending = [];
    let start = 0;
    let size = 0;
    for (let index = 0; index <= frames.length; index += 1) {
      const next = frames[index]?.length ?? Number.POSITIVE_INFINITY;
      if (size + next <= JOINED_BYTES_MAX) {
        size += next;
        continue;
      }
      if (index > start)
        this.#transport.write(index === start + 1 ? (frames[start] as Buffer) : Buffer.concat(frames.slice(start, index), size));
      start = index;
      size = next;
    }
  }

  /** Sends pending frames, then closes without notifying anybody. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.flush();
    this.#transport.end();
  }

  /** Closes at once, without notifying anybody. */
  drop(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#transport.destroy();
  }

  #end(reason: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#events.onClose(reason);
  }
}
