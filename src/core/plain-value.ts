/**
 * The hot form of a value that came: in-band bytes alone, read where they arrived when that is cheaper than keeping them.
 *
 * Used for the results of calls and the items of streams.
 */
import { copyBytes } from "../base/bytes.ts";
import type { ObjectEntry } from "../object/object-entry.ts";
import { inBandPayload, type Payload } from "../object/payload.ts";

export interface PlainFlags {
  graph: boolean;
  error: boolean;
}

export interface PlainReader {
  decodeNow(payload: Payload): unknown;
}

/** A single in-band byte in these ranges is a small number, a boolean or nil: decoded at once, it needs no bytes kept. */
const DECODE_NOW_BYTES_MAX = 16;

/** Settles the entry with a value whose bytes are valid during the call only. */
export function settlePlain(entry: ObjectEntry, value: { bytes: Uint8Array; flags: PlainFlags }, reader: PlainReader): void {
  const { bytes, flags } = value;
  if (bytes.length <= DECODE_NOW_BYTES_MAX && !flags.graph && isPrimitiveByte(bytes[0] as number)) {
    entry.settlePrimitive(reader.decodeNow(inBandPayload(bytes, flags)));
  } else {
    entry.settlePayload(inBandPayload(copyBytes(bytes), flags));
  }
}

/** MessagePack's one-byte numbers, nil, booleans, numbers of fixed size, and short strings. */
function isPrimitiveByte(byte: number): boolean {
  return byte < 0x80 || byte >= 0xe0 || (byte >= 0xa0 && byte <= 0xc3 && byte !== 0xc1) || (byte >= 0xca && byte <= 0xd3);
}
