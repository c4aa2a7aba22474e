/**
 * Sends the answers of calls to one caller: plain values in the hot form, all others with their headers.
 *
 * The file chooses the form of an answer, and cuts the value of a call with several returns into as many parts. Refs
 * in an answer are held for the caller before the answer is sent. The call server calls it once for each call.
 */
import type { ObjectId, ProcessId } from "../../base/ids.ts";
import { nameUnsent } from "../../closure/capture.ts";
import type { InFlightBorrows } from "../../objects/references/in-flight-borrows.ts";
import type { LostObject } from "../../objects/lost-object.ts";
import { type Payload, payloadParts } from "../../objects/payload.ts";
import type { EncodedMessage, ValueCodec } from "../../objects/value-codec.ts";
import type { Connection } from "../../rpc/connection.ts";
import { FRAME_FLAG } from "../../wire/frame.ts";
import type { DeclinedHeader } from "../../wire/calls/declined-header.ts";
import { MESSAGE, type PayloadHeader } from "../../wire/messages.ts";

interface ResultSenderOptions {
  connection: Connection;
  codec: ValueCodec;
  held: InFlightBorrows;
  callerId: ProcessId;
}

export class ResultSender {
  readonly #connection: Connection;
  readonly #codec: ValueCodec;
  readonly #held: InFlightBorrows;
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
    let index = 0;
    const stored = { owner: this.#callerId, error: false, link: this.#held.storedLink };
    try {
      for (; index < call.numReturns; index += 1) {
        payloads.push(this.#codec.toPayload(this.#codec.encode((value as unknown[])[index]), stored));
      }
    } catch (error) {
      // A part that cannot be sent fails the call, and the parts before it are released.
      for (const payload of payloads) this.#codec.discard(payload);
      throw nameUnsent(error, () => "value", [`[${index}]`]);
    }
    this.#sendPayloads(call.callId, payloads, durationUs);
  }

  /**
   * Tells the caller that the call has begun, before the next one begins. If this process dies in the next call, the
   * caller must not take this call for one that had not begun.
   */
  sendParked(callId: number): void {
    this.#connection.send(MESSAGE.TASK_PARKED, undefined, { callId });
    this.#connection.flush();
  }

  /** Sends the task back to its caller instead of an answer, because it has not begun. */
  sendDeclined(callId: number, lost: readonly LostObject[] = []): void {
    const header: DeclinedHeader = { lost: lost.map(({ entry, location }) => [entry.id as ObjectId, location]) };
    this.#connection.send(MESSAGE.TASK_DECLINED, lost.length === 0 ? undefined : header, { callId });
  }

  #sendPayloads(callId: number, payloads: readonly Payload[], durationUs: number): void {
    if (this.#connection.isClosed) {
      // A caller that never gets the answer would never release its holds.
      for (const payload of payloads) this.#codec.discard(payload);
      return;
    }
    const held = this.#held.hold(payloads);
    const returns: PayloadHeader[] = [];
    const parts: Uint8Array[] = [];
    for (const payload of payloads) {
      returns.push(this.#held.headerOf(payload));
      parts.push(...payloadParts(payload));
    }
    this.#connection.send(MESSAGE.RESULT, { durationUs, returns, ...held }, { callId, parts });
  }
}
