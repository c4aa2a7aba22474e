/**
 * Serves the streams that one caller reads from this worker: items go out, credit and stops come in.
 *
 * A small item travels inline, and a large one as its location in the store. All items of a tick leave in one write
 * with everything else on the connection. The answer that ends the call follows them on the same connection, so the
 * caller has every item before it learns of the end. When the caller goes away, its streams stop.
 */
import type { ProcessId } from "../../base/ids.ts";
import type { InFlightBorrows } from "../../objects/references/in-flight-borrows.ts";
import { payloadHeader, payloadParts, payloadSize } from "../../objects/payload.ts";
import type { EncodedMessage, ValueCodec } from "../../objects/value-codec.ts";
import type { Connection } from "../../rpc/connection.ts";
import { type Frame, FRAME_FLAG } from "../../wire/frame.ts";
import { MESSAGE, type StreamHeader, type StreamItemHeader } from "../../wire/messages.ts";
import { Interruption } from "../tasks/interruption-guard.ts";
import { StreamSender, type StreamSenderOptions } from "./stream-sender.ts";
import type { TaskContext } from "../tasks/task-context.ts";
import { unsentItem } from "../calls/unsent-result.ts";

interface StreamServerOptions {
  connection: Connection;
  codec: ValueCodec;
  held: InFlightBorrows;
  callerId: ProcessId;
  /**
   * Whether a generator that awaits or computes was told to end. Neither its children nor its CPU are wanted any
   * more.
   */
  onLeft: (context: TaskContext) => void;
}

export class StreamServer {
  readonly #options: StreamServerOptions;
  readonly #senders = new Map<number, StreamSender>();

  constructor(options: StreamServerOptions) {
    this.#options = options;
  }

  /** Notes a streaming call, which may be stopped before it begins. */
  open(callId: number, context: TaskContext, header: StreamHeader, ask?: StreamSenderOptions["ask"]): void {
    this.#senders.set(callId, new StreamSender({ context, header, send: (index, value) => this.#send(callId, index, value), ask }));
  }

  /** Whether nobody reads the stream any more. */
  isStopped(callId: number): boolean {
    return this.#senders.get(callId)?.isStopped === true;
  }

  /**
   * Sends the items of a call's result, to the end or until it is stopped.
   *
   * @returns how long that took, in milliseconds. @throws the generator's error, and values that cannot be sent
   */
  async run(callId: number, produced: unknown): Promise<number> {
    const sender = this.#senders.get(callId);
    if (sender === undefined) return 0;
    const startMs = performance.now();
    try {
      await sender.drive(produced);
    } catch (error) {
      // The exception of a stopped generator has no reader.
      if (!sender.isStopped || Interruption.is(error)) throw error;
    }
    return performance.now() - startMs;
  }

  /** Forgets a stream whose call has been answered. */
  ended(callId: number): void {
    this.#senders.delete(callId);
  }

  get size(): number {
    return this.#senders.size;
  }

  receive(frame: Frame): void {
    const sender = this.#senders.get(frame.callId);
    if (frame.type === MESSAGE.STREAM_CREDIT) sender?.credit(frame.number);
    else this.#stop(sender);
  }

  /** Stops all streams because the caller is gone. */
  close(): void {
    for (const sender of this.#senders.values()) this.#stop(sender);
  }

  #stop(sender: StreamSender | undefined): void {
    if (sender?.stop() === true) this.#options.onLeft(sender.context);
  }

  #send(callId: number, index: number, value: unknown): number {
    const { connection, codec, held, callerId } = this.#options;
    let encoded: EncodedMessage;
    try {
      encoded = codec.encode(value);
    } catch (error) {
      const context = this.#senders.get(callId)?.context;
      throw context === undefined ? error : unsentItem(error, index, context);
    }
    if (encoded.isPlain) {
      const { bytes, start, end } = encoded;
      connection.sendNumbered(MESSAGE.STREAM_ITEM, encoded.graph ? FRAME_FLAG.GRAPH : 0, callId, index, bytes, start, end);
      return end - start;
    }
    const payload = codec.toPayload(encoded, { owner: callerId, error: false, link: held.storedLink });
    if (connection.isClosed) {
      codec.discard(payload);
      return 0;
    }
    const header: StreamItemHeader = { index, item: payloadHeader(payload), ...held.hold([payload]) };
    connection.send(MESSAGE.STREAM_ITEM, header, { callId, parts: payloadParts(payload) });
    return payloadSize(payload);
  }
}
