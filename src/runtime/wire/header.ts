/**
 * Headers: small plain data (numbers, strings, arrays, maps, bytes), MessagePack like every value, without any of the application's types.
 * A header that decodes into an extension of the application is malformed, as is one that names an out-of-band buffer.
 */
import type { Frame } from "./frame.ts";
import { decodeValue } from "./value/decode.ts";
import { encodeValue } from "./value/encode.ts";

const NO_BUFFERS: readonly Uint8Array[] = [];

const plainOnly = {
  reduce: (): undefined => undefined,
  revive: (): never => {
    throw new Error("Cannot read a header: it holds an application type");
  },
};

/** A view of scratch memory, valid until the next value is encoded. */
export function encodeHeader(header: unknown): Uint8Array {
  const encoded = encodeValue(header, plainOnly);
  if (encoded.buffers.length > 0)
    throw new RangeError("Cannot send a header: it holds a buffer of 4 KB or more, which belongs into the body");
  return encoded.bytes.subarray(encoded.start, encoded.end);
}

/** Returns the header of a frame; undefined if it has none. */
export function headerOf({ header }: Pick<Frame, "header">): unknown {
  return header.length === 0 ? undefined : decodeHeader(header);
}

export function decodeHeader(bytes: Uint8Array): unknown {
  return decodeValue(bytes, NO_BUFFERS, plainOnly);
}
