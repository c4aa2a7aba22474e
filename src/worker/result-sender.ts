/**
 * The answers of calls on their way to one caller: plain values in the hot form, all others with their headers.
 *
 * Decides which form an answer takes, and that the value of a call with several returns is cut into as many parts. What an answer refers to is held for the caller
 * before it is sent. Called by the call server, once for each call.
 */
import type { ProcessId } from "../base/ids.ts";
import type { HeldMessages } from "../object/held-messages.ts";
import { type Payload, payloadHeader, payloadParts } from "../object/payload.ts";
import type { EncodedMessage, ValueCodec } from "../object/value-codec.ts";
import type { Connection } from "../rpc/connection.ts";
import { FRAME_FLAG } from "../wire/frame.ts";
import { MESSAGE, type PayloadHeader } from "../wire/messages.ts";

export interface ResultSenderOptions {
  connection: Connection;
  codec: ValueCodec;
  held: HeldMessages;
  callerId: ProcessId;
}

export class ResultSender {
  readonly #connection: Connection;
  readonly #codec: ValueCodec;
  readonly #held: HeldMessages;
  readonly #callerId: ProcessId;

  constructor(options: ResultSenderOptions) {
    this.#connection = options.connection;
    this.#codec = options.codec;
    this.#held = options.held;
    this.#callerId = options.callerId;
  }

  send(callId: number, encoded: EncodedMessage, flags: number, durationUs: number): void {
    if (encoded.isPlain) {
      this.#connection.sendNumbered(
        MESSAGE.RESULT,
        encoded.graph ? flags | FRAME_FLAG.GRAPH : flags,
        callId,
        durationUs,
        encoded.bytes,
        encoded.start,
        encoded.end,
      );
      return;
    }
    const payload = this.#codec.toPayload(encoded, {
      owner: this.#callerId,
      error: (flags & FRAME_FLAG.ERROR) !== 0,
      link: this.#held.storedLink,
    });
    this.#sendPayloads(callId, [payload], durationUs);
  }

  /** @throws TypeError when the value is no array of as many elements as the call has returns */
  sendReturns(call: { callId: number; numReturns: number }, value: unknown, durationUs: number): void {
    if (call.numReturns > 1 && (!Array.isArray(value) || value.length !== call.numReturns)) {
      const got = Array.isArray(value) ? `an array of ${value.length}` : typeof value;
      throw new TypeError(
        `Cannot split the result: numReturns is ${call.numReturns}, so an array of that length must be returned: received ${got}`,
      );
    }
    const payloads: Payload[] = [];
    const stored = { owner: this.#callerId, error: false, link: this.#held.storedLink };
    try {
      for (let index = 0; index < call.numReturns; index += 1) {
        payloads.push(this.#codec.toPayload(this.#codec.encode((value as unknown[])[index]), stored));
      }
    } catch (error) {
      // One that cannot be sent fails the call, and takes those before it along.
      for (const payload of payloads) this.#codec.discard(payload);
      throw error;
    }
    this.#sendPayloads(call.callId, payloads, durationUs);
  }

  #sendPayloads(callId: number, payloads: readonly Payload[], durationUs: number): void {
    if (this.#connection.isClosed) {
      // Holds for a caller that never gets it would never be released.
      for (const payload of payloads) this.#codec.discard(payload);
      return;
    }
    const held = this.#held.hold(payloads);
    const returns: PayloadHeader[] = [];
    const parts: Uint8Array[] = [];
    for (const payload of payloads) {
      returns.push(payloadHeader(payload));
      parts.push(...payloadParts(payload));
    }
    this.#connection.send(MESSAGE.RESULT, { durationUs, returns, ...held }, { callId, parts });
  }
}
