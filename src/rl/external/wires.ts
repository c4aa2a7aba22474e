/**
 * Connections of clients as wires: frames in, one at a time, and frames out, over TCP or WebSocket.
 *
 * A wire reads ahead by one frame, so that it notices when its client leaves; then it stops reading until that frame is taken. `maxBytes` bounds the next frame and is checked
 * before the bytes are kept.
 */
import type { Socket } from "node:net";
import type { WebSocket } from "ws";
import { FrameError, FrameReader } from "../link/frames.ts";
import { CLOSE_WITHIN_MS } from "../link/limits.ts";

/** A wire that was silent for too long. */
export class SilentError extends Error {
  override readonly name = "SilentError";
}

/** The two sides of a socket that a wire uses. */
interface Pipe {
  pause(): void;
  resume(): void;
  /** Resolves when the bytes are handed over. */
  write(frame: Uint8Array): Promise<void>;
  end(): void;
  destroy(): void;
}

export class Wire {
  /** The largest length of the next frame. */
  maxBytes: number;
  readonly #pipe: Pipe;
  readonly #frames: Uint8Array[] = [];
  readonly #left = Promise.withResolvers<void>();
  #error: FrameError | undefined;
  #isClosed = false;
  #isClosing = false;
  #wake: (() => void) | undefined;
  /** Ends the wait of `send`. */
  #sent: (() => void) | undefined;

  constructor(pipe: Pipe, maxBytes: number) {
    this.#pipe = pipe;
    this.maxBytes = maxBytes;
  }

  /** Resolves when the client has left. */
  get left(): Promise<void> {
    return this.#left.promise;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Takes frames from the socket. */
  arrived(frames: readonly Uint8Array[]): void {
    if (this.#isClosing) return;
    this.#frames.push(...frames);
    // The first one is on its way to the session; one more says that the client does not wait for answers.
    if (this.#frames.length > 1) this.#pipe.pause();
    this.#wake?.();
  }

  /** Takes a fault of the client. Frames before it are answered first. */
  failed(error: FrameError): void {
    if (this.#isClosing) return;
    this.#error ??= error;
    this.#pipe.pause();
    this.#wake?.();
  }

  /** The socket is closed. */
  closed(): void {
    this.#isClosed = true;
    this.#left.resolve();
    this.#wake?.();
    this.#sent?.();
  }

  /** The next frame; nothing where the client has left. @throws FrameError for a frame that is too large, SilentError where none comes in time */
  async next(withinMs: number): Promise<Uint8Array | undefined> {
    const deadline = performance.now() + withinMs;
    for (;;) {
      const frame = this.#frames.shift();
      if (frame !== undefined) {
        if (this.#frames.length <= 1 && this.#error === undefined) this.#pipe.resume();
        return frame;
      }
      if (this.#error !== undefined) throw this.#error;
      if (this.#isClosed) return undefined;
      await this.#waitUntil(deadline, withinMs);
    }
  }

  async #waitUntil(deadline: number, withinMs: number): Promise<void> {
    const woken = Promise.withResolvers<void>();
    this.#wake = woken.resolve;
    const timer = setTimeout(
      () => woken.reject(new SilentError(`no frame came within ${withinMs} ms`)),
      Math.max(0, deadline - performance.now()),
    );
    try {
      await woken.promise;
    } finally {
      clearTimeout(timer);
      this.#wake = undefined;
    }
  }

  /** Sends a frame. A client that does not read it in time is cut off. */
  async send(frame: Uint8Array, withinMs: number): Promise<void> {
    if (this.#isClosed) return;
    const sent = Promise.withResolvers<void>();
    this.#sent = sent.resolve;
    const timer = setTimeout(() => this.#pipe.destroy(), withinMs);
    void this.#pipe.write(frame).then(sent.resolve);
    await sent.promise;
    clearTimeout(timer);
  }

  /** Ends the connection once its last frame is out. */
  close(): void {
    if (this.#isClosed || this.#isClosing) return;
    this.#isClosing = true;
    // The client's own end has to be read.
    this.#pipe.resume();
    this.#pipe.end();
    setTimeout(() => this.#pipe.destroy(), CLOSE_WITHIN_MS).unref();
  }
}

export function tcpWire(socket: Socket, maxBytes: number): Wire {
  const reader = new FrameReader();
  let isFaulty = false;
  socket.setNoDelay(true);
  const wire = new Wire(
    {
      pause: () => socket.pause(),
      resume: () => socket.resume(),
      write: async (frame) => await new Promise((resolve) => void socket.write(frame, () => resolve())),
      end: () => socket.end(),
      destroy: () => socket.destroy(),
    },
    maxBytes,
  );
  socket.on("data", (bytes) => {
    if (isFaulty) return;
    try {
      wire.arrived(reader.push(bytes, wire.maxBytes));
    } catch (error) {
      isFaulty = true;
      wire.failed(error as FrameError);
    }
  });
  socket.on("error", () => socket.destroy());
  socket.on("end", () => {
    if (reader.isInside && !isFaulty) wire.failed(new FrameError("the connection ended in the middle of a frame"));
    else socket.end();
  });
  socket.on("close", () => wire.closed());
  return wire;
}

export function webSocketWire(socket: WebSocket, maxBytes: number): Wire {
  const wire = new Wire(
    {
      pause: () => socket.pause(),
      resume: () => socket.resume(),
      write: async (frame) => await new Promise((resolve) => socket.send(frame, { binary: true }, () => resolve())),
      end: () => socket.close(),
      destroy: () => socket.terminate(),
    },
    maxBytes,
  );
  socket.on("message", (data, isBinary) => {
    if (!isBinary) wire.failed(new FrameError("a frame is a binary message: received a text"));
    else if ((data as Buffer).length > wire.maxBytes)
      wire.failed(new FrameError(`a frame has ${wire.maxBytes} bytes at most: received one of ${(data as Buffer).length}`));
    else wire.arrived([data as Buffer]);
  });
  socket.on("error", () => socket.terminate());
  socket.on("close", () => wire.closed());
  return wire;
}
