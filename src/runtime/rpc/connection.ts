/**
 * An authenticated connection: frames out (one write a tick), frames in, requests with a deadline.
 *
 * Both sides begin with a hello that carries protocol version, token and identity. Until it has been accepted a peer may send 4 KB and
 * nothing else. Malformed input ends the connection, never the process. Calls of tasks and actors do not use `request`: they have separate
 * call ids (see `core/submission` and `worker/call-server`).
 */
import { enterLibrary, insideLibrary, leaveLibrary } from "../base/library-code.ts";
import type { FrameOutbox } from "../base/outbox.ts";
import { timeoutAfterIo } from "../base/time/timeout-after-io.ts";
import { type Frame, FrameError, FrameParser, FRAME_FLAG, FrameWriter } from "../wire/frame.ts";
import { encodeHeader, headerOf } from "../wire/header.ts";
import { FRAME_SIZE_MAX } from "../wire/limits.ts";
import { DecodeError } from "../wire/value/decode-error.ts";
import { MESSAGE } from "../wire/messages.ts";
import type { Transport } from "../os/network/transport.ts";
import { blockFor } from "../os/processes/memory/interruptible.ts";
import type { ReplyTo } from "../wire/tables/replies.ts";
import { wireErrorHeader } from "../wire/wire-error.ts";
import { openRequest, type OpenRequest, type PeerConnection, type Reply, type RequestOptions } from "./peer-connection.ts";
import { EARLY_FLUSHES_MAX, HELLO_SIZE_MAX, REQUEST_TIMEOUT_MS } from "./limits.ts";
import type { BusyPoll } from "./busy-poll.ts";

/** A body part can be any bytes; they are copied before `send` returns. */
const NO_PARTS: readonly Uint8Array[] = [];
const NO_BYTES = new Uint8Array(0);
/** Above this many unsent bytes `isCongested` asks senders with a backlog to wait for `onDrain`. */
const CONGESTION_BYTES = 4 * 1024 * 1024;
/** Interval at which a process that waits without its event loop looks for data. */
const SYNC_POLL_MS = 1;

interface PendingRequest extends OpenRequest {
  /** Takes the limit on its wait back. */
  takeBack: (() => void) | undefined;
}

export class ConnectionClosedError extends Error {
  override readonly name = "ConnectionClosedError";
}

export class Connection implements PeerConnection {
  /** Frames other than replies to requests. Frame and bytes are valid during the call only. */
  onFrame: (frame: Frame) => void = () => {};
  /** Called after every chunk, once its frames have been handled. */
  onBatchEnd: () => void = () => {};
  /** As of a transport. */
  onClose: (reason: string, isWhole: boolean) => void = () => {};
  onDrain: () => void = () => {};
  /**
   * Gathers output for a whole turn of the event loop instead of a tick. For a process that answers many sockets, since each socket is a
   * separate tick.
   */
  gathersTurns = false;
  /** Each frame is handed to the transport when it is sent: for one that gathers itself. */
  gathersNothing = false;
  /** Called before gathered frames go out, to add to them; `flushLater` makes sure that it is called. */
  onBeforeFlush: (() => void) | undefined;
  /** Set for a conversation whose messages are mostly answered at once. */
  busyPoll: BusyPoll | undefined;
  /** A handler threw: the connection is dropped, and this reports it. */
  onDefect: (error: Error) => void = (error) => {
    const place = /\n\s*(at .*)/.exec(error.stack ?? "")?.[1] ?? "";
    process.stderr.write(`shoal: dropped a connection, as a message could not be handled: ${error.message} ${place}\n`);
  };
  readonly #transport: Transport;
  readonly #writer: FrameWriter;
  readonly #parser: FrameParser;
  readonly #requests = new Map<number, PendingRequest>();
  #nextRequestId = 1;
  /** Whether sent frames are kept in an outbox. */
  #isKept = false;
  /** The outbox in which the other end keeps its frames, and the outbox's beginning in the received stream. */
  #outbox: { id: number; start: number } | undefined;
  /** In the middle of a chunk, whose parser cannot be given another. */
  #isReading = false;
  #flushScheduled = false;
  /** How often `flushEarly` has written since the last scheduled flush. */
  #earlyFlushes = 0;
  #closeReason: string | undefined;
  readonly #flush = (): void => {
    this.flush();
    this.#flushScheduled = false;
    this.#earlyFlushes = 0;
    this.busyPoll?.expect();
  };

  constructor(transport: Transport, options: { trusted: boolean; slabBytes?: number }) {
    this.#transport = transport;
    this.#writer = new FrameWriter((chunk) => transport.write(chunk), options.slabBytes);
    this.#parser = new FrameParser((frame) => this.#receive(frame), options.trusted ? FRAME_SIZE_MAX : HELLO_SIZE_MAX);
    transport.onChunk = (chunk) => {
      this.busyPoll?.arrived();
      this.#read(chunk);
    };
    transport.onClose = (reason, isWhole) => this.#closed(reason, isWhole);
    transport.onDrain = () => this.onDrain();
  }

  #read(chunk: Buffer): boolean {
    this.#isReading = true;
    try {
      this.#parser.push(chunk);
      this.#isReading = false;
    } catch (error) {
      // Malformed input ends here by design; anything else is a defect of ours that must not go unseen.
      if (!(error instanceof FrameError || error instanceof DecodeError)) this.onDefect(error as Error);
      this.#closed(`the peer broke the protocol: ${(error as Error).message}`);
      this.#transport.destroy();
      return false;
    }
    this.onBatchEnd();
    return true;
  }

  /** Keeps sent frames readable for others after this process's death, until the system has taken them. */
  keepIn(outbox: FrameOutbox): void {
    if (this.#closeReason !== undefined) return;
    this.sendNumbered(MESSAGE.OUTBOX, 0, outbox.id, 0, NO_BYTES, 0, 0);
    this.#writer.keepIn(outbox, () => this.#transport.pendingBytes);
    this.#isKept = true;
  }

  /** Returns the outbox of the other end's frames; undefined if it keeps none, or once it has ended in order. */
  get outbox(): number | undefined {
    return this.#outbox?.id;
  }

  /**
   * Continues reading after the end of the connection. Each byte is read once, from the connection or from the outbox.
   *
   * @param from where in the stream of the outbox the bytes belong
   * @returns false where something is missing in between, or the bytes make no sense
   */
  readRest(from: number, bytes: Buffer): boolean {
    if (this.#outbox === undefined) return false;
    const readTo = this.#parser.pushedBytes - this.#outbox.start;
    if (from > readTo) return false;
    const rest = bytes.subarray(readTo - from);
    return rest.length === 0 || this.#read(rest);
  }

  /** Accepts frames of any kind and size: the peer has proved its identity. */
  trust(): void {
    this.#parser.sizeMax = FRAME_SIZE_MAX;
    this.#transport.identified?.();
  }

  get isClosed(): boolean {
    return this.#closeReason !== undefined;
  }

  get isCongested(): boolean {
    return this.#transport.pendingBytes > CONGESTION_BYTES;
  }

  /** The hot form; see FrameWriter.numbered. */
  sendNumbered(type: number, flags: number, callId: number, number: number, body: Uint8Array, start: number, end: number): void {
    if (this.#closeReason !== undefined) return;
    this.#writer.numbered(type, flags, callId, number, body, start, end);
    if (!this.#flushScheduled) this.#scheduleFlush();
  }

  /** The same for a text, encoded in place: see FrameWriter.text. */
  sendText(type: number, flags: number, callId: number, number: number, text: string): void {
    if (this.#closeReason !== undefined) return;
    this.#writer.text(type, flags, callId, number, text);
    if (!this.#flushScheduled) this.#scheduleFlush();
  }

  send(type: number, header: unknown, options: { callId?: number; flags?: number; parts?: readonly Uint8Array[] } = {}): void {
    if (this.#closeReason !== undefined) return;
    // A message that is half written breaks the connection: no task that sends one is interrupted in it.
    const isOutermost = enterLibrary();
    try {
      const bytes = header === undefined ? undefined : encodeHeader(header);
      this.#writer.full(type, options.flags ?? 0, options.callId ?? 0, bytes, options.parts ?? NO_PARTS);
      if (!this.#flushScheduled) this.#scheduleFlush();
    } finally {
      leaveLibrary(isOutermost);
    }
  }

  /** Schedules a flush as `send` does, although nothing was sent yet. */
  flushLater(): void {
    if (this.#closeReason === undefined && !this.#flushScheduled) this.#scheduleFlush();
  }

  #scheduleFlush(): void {
    if (this.gathersNothing) {
      this.#writer.flush();
      return;
    }
    this.#flushScheduled = true;
    if (this.gathersTurns) setImmediate(this.#flush);
    else process.nextTick(this.#flush);
  }

  /** As of `PeerConnection`. */
  request<N extends number>(type: N, header: unknown, options: RequestOptions = {}): Promise<Reply<ReplyTo<N>>> {
    return insideLibrary(() => this.#ask(type, header, options));
  }

  #ask<N extends number>(type: N, header: unknown, options: RequestOptions): Promise<Reply<ReplyTo<N>>> {
    const id = this.#nextRequestId;
    this.#nextRequestId = (id % 0xffffffff) + 1;
    return new Promise((resolve, reject) => {
      if (this.#closeReason !== undefined) {
        reject(new ConnectionClosedError(this.#closeReason));
        return;
      }
      const timeoutMs = options.timeoutMs ?? REQUEST_TIMEOUT_MS;
      const pending: PendingRequest = { ...openRequest(type, resolve, reject), takeBack: undefined };
      const limit = (readBytes: number): void => {
        pending.takeBack = timeoutAfterIo(timeoutMs, () => {
          const { wholeBytes } = this.#parser;
          if (options.isOfSilence === true && wholeBytes > readBytes) {
            limit(wholeBytes);
            return;
          }
          this.#requests.delete(id);
          reject(new ConnectionClosedError(`the peer did not answer within ${timeoutMs} ms`));
        });
      };
      if (timeoutMs > 0) limit(this.#parser.wholeBytes);
      this.#requests.set(id, pending);
      this.send(type, header, { callId: id, ...(options.parts === undefined ? {} : { parts: options.parts }) });
    });
  }

  /**
   * Asks and reads until the answer is here, without the event loop: for the exit of a process. Returns at once where the other side has not started yet,
   * where it cannot take the question now, and in the middle of a message.
   */
  requestSync(type: number, withinMs: number): void {
    const untilMs = performance.now() + withinMs;
    const id = this.#nextRequestId;
    if (this.#isReading || this.#closeReason !== undefined) return;
    this.#requests.set(id, { answer: () => {}, reject: () => {}, takeBack: undefined });
    this.send(type, undefined, { callId: id });
    this.#writer.flush();
    // Bytes that the system has not taken yet are for the event loop to send.
    if (this.#transport.pendingBytes > 0) return;
    while (this.#requests.has(id) && performance.now() < untilMs) {
      const state = this.#transport.readSync?.() ?? "ended";
      if (state === "ended") return;
      if (state === "empty") blockFor(SYNC_POLL_MS);
    }
  }

  reply(callId: number, header: unknown, parts: readonly Uint8Array[] = NO_PARTS): void {
    this.send(MESSAGE.REPLY, header, { callId, parts });
  }

  replyError(callId: number, error: Error): void {
    this.send(MESSAGE.REPLY, wireErrorHeader(error), { callId, flags: FRAME_FLAG.ERROR });
  }

  flush(): void {
    this.onBeforeFlush?.();
    this.#writer.flush();
  }

  /**
   * Writes the frames of this turn at once, so that they leave even if the sender computes for seconds now. Does nothing after `max` such
   * writes in one turn; the rest of the turn's frames travel in bulk.
   */
  flushEarly(max: number = EARLY_FLUSHES_MAX): void {
    if (!this.#flushScheduled || this.#earlyFlushes >= max) return;
    this.#earlyFlushes += 1;
    this.flush();
  }

  setKeepsProcessAlive(keeps: boolean): void {
    this.#transport.setKeepsProcessAlive(keeps);
  }

  /** Sends pending frames and closes; idempotent. */
  close(): void {
    // The other end has all when it has read this, and looks for no rest.
    if (this.#isKept) this.sendNumbered(MESSAGE.OUTBOX, 0, 0, 0, NO_BYTES, 0, 0);
    this.flush();
    this.#transport.end();
  }

  /** Closes at once, for a peer that is not to be trusted further. */
  drop(reason: string): void {
    this.#closed(reason);
    this.#transport.destroy();
  }

  #receive(frame: Frame): void {
    if (frame.type !== MESSAGE.REPLY) {
      if (frame.type === MESSAGE.OUTBOX)
        this.#outbox = frame.callId === 0 ? undefined : { id: frame.callId, start: this.#parser.wholeBytes };
      else this.onFrame(frame);
      return;
    }
    const pending = this.#requests.get(frame.callId);
    if (pending === undefined) return;
    this.#requests.delete(frame.callId);
    pending.takeBack?.();
    pending.answer(frame, headerOf(frame));
  }

  #closed(reason: string, isWhole = false): void {
    if (this.#closeReason !== undefined) return;
    this.#closeReason = reason;
    this.#writer.close();
    for (const pending of this.#requests.values()) {
      pending.takeBack?.();
      pending.reject(new ConnectionClosedError(reason));
    }
    this.#requests.clear();
    this.onClose(reason, isWhole);
  }
}
