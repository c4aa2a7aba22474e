/**
 * A serialized value in this process: in-band bytes, out-of-band buffers, and what it needs to be read again.
 *
 * A payload lies in this process' memory, or in the store (`stored`), where the bytes are at a location and this
 * holds only the rest. Payloads are immutable. This file also cuts them into message parts and back.
 */
import { copyBytes } from "../base/collections/bytes.ts";
import type { ObjectId, ProcessId } from "../base/ids.ts";
import type { PayloadHeader, StoredHeader, WireLocation } from "../wire/messages.ts";

export interface ContainedRef {
  readonly id: ObjectId;
  readonly owner: ProcessId;
  /** In a message that came: where the object lay in the store when the message left, held for its receiver. */
  readonly place?: WireLocation;
}

export interface Payload {
  readonly inBand: Uint8Array;
  readonly buffers: readonly Uint8Array[];
  readonly graph: boolean;
  readonly error: boolean;
  readonly definitions: readonly string[];
  readonly refs: readonly ContainedRef[];
  readonly stored: StoredHeader | undefined;
}

export const NO_BYTES: Uint8Array = new Uint8Array(0);
export const NO_BUFFERS: readonly Uint8Array[] = [];
export const NO_DEFINITIONS: readonly string[] = [];
export const NO_REFS: readonly ContainedRef[] = [];

/** A payload of in-band bytes alone: what almost every small value is. */
export function inBandPayload(inBand: Uint8Array, flags: { graph: boolean; error: boolean }): Payload {
  return {
    inBand,
    buffers: NO_BUFFERS,
    graph: flags.graph,
    error: flags.error,
    definitions: NO_DEFINITIONS,
    refs: NO_REFS,
    stored: undefined,
  };
}

/** A value whose bytes are in the store, and nothing else. */
export function storedPayload(stored: StoredHeader): Payload {
  return { inBand: NO_BYTES, buffers: NO_BUFFERS, graph: false, error: false, definitions: NO_DEFINITIONS, refs: NO_REFS, stored };
}

/** Returns the size of the value in bytes, in memory or in the store. */
export function payloadSize(payload: Payload): number {
  let size = payload.stored === undefined ? payload.inBand.length : payload.stored.location[2];
  for (const buffer of payload.buffers) size += buffer.length;
  return size;
}

export function payloadHeader(payload: Payload): PayloadHeader {
  return {
    inBand: payload.inBand.length,
    buffers: payload.buffers.map((buffer) => buffer.length),
    graph: payload.graph,
    error: payload.error,
    definitions: payload.definitions as string[],
    refs: payload.refs.map((ref) => [ref.id, ref.owner]),
    stored: payload.stored,
  };
}

export function payloadParts(payload: Payload): Uint8Array[] {
  return [payload.inBand, ...payload.buffers];
}

function refsOf({ refs, places }: PayloadHeader): readonly ContainedRef[] {
  if (places === undefined) return refs.map(([id, owner]) => ({ id, owner }));
  const placeOf = new Map(places);
  return refs.map(([id, owner], index) => {
    const place = placeOf.get(index);
    return place === undefined ? { id, owner } : { id, owner, place };
  });
}

/** Cuts payloads out of one body, one after the other. The parts are views of the body unless `copy` is set. */
export class PayloadReader {
  readonly #body: Uint8Array;
  #offset = 0;

  constructor(body: Uint8Array, options: { copy: boolean }) {
    this.#body = options.copy ? copyBytes(body) : body;
  }

  next(header: PayloadHeader): Payload {
    const inBand = this.#take(header.inBand);
    const buffers = header.buffers.length === 0 ? NO_BUFFERS : header.buffers.map((size) => this.#takeAligned(size));
    return {
      inBand,
      buffers,
      graph: header.graph,
      error: header.error,
      definitions: header.definitions,
      refs: refsOf(header),
      stored: header.stored,
    };
  }

  #take(size: number): Uint8Array {
    const end = this.#offset + size;
    if (!(size >= 0) || end > this.#body.length)
      throw new RangeError(`Cannot read a message: a value is longer than the body: received ${size}`);
    const part = this.#body.subarray(this.#offset, end);
    this.#offset = end;
    return part;
  }

  /** Copies a buffer into separate memory, aligned for every element type, as its receiver may write to it. */
  #takeAligned(size: number): Uint8Array {
    const part = this.#take(size);
    const own = new Uint8Array(new ArrayBuffer(size));
    own.set(part);
    return own;
  }
}
