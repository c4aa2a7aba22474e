/**
 * The hot form of a value that came: in-band bytes alone, read where they arrived when that is cheaper than keeping them.
 *
 * Used for the results of calls, the items of streams, and `put`.
 */
import { copyBytes } from "../../../runtime/base/collections/bytes.ts";
import type { ObjectEntry } from "../../../runtime/objects/object-entry.ts";
import type { ObjectTable } from "../../../runtime/objects/object-table.ts";
import { inBandPayload, NO_BUFFERS } from "../../../runtime/objects/payload.ts";

export interface PlainFlags {
  graph: boolean;
  error: boolean;
}

export interface PlainReader {
  decodeParts(inBand: Uint8Array, buffers: readonly Uint8Array[]): unknown;
}

/** A single in-band byte in these ranges is a small number, a boolean or nil: decoded at once, it needs no bytes kept. */
const DECODE_NOW_BYTES_MAX = 16;

/** Longer strings are not kept as they are: their bytes take half of the room or a quarter. */
const KEPT_STRING_MAX = 64;

/** Settles the entry with a value, no error, whose bytes are valid during the call only. */
export function settlePlain(entry: ObjectEntry, bytes: Uint8Array, graph: boolean, reader: PlainReader): void {
  if (bytes.length <= DECODE_NOW_BYTES_MAX && !graph && isPrimitiveByte(bytes[0] as number)) {
    entry.settlePrimitive(reader.decodeParts(bytes, NO_BUFFERS));
  } else {
    entry.settlePayload(inBandPayload(copyBytes(bytes), { graph, error: false }));
  }
}

/** Whether the value of a `put` is kept as it is: what cannot be changed needs no copy for each reader. */
export function isKeptAsItIs(value: unknown): boolean {
  switch (typeof value) {
    case "number":
    case "boolean":
    case "undefined":
      return true;
    case "string":
      // Another process would read a text with half a character differently.
      return value.length <= KEPT_STRING_MAX && value.isWellFormed();
    default:
      return value === null;
  }
}

/** MessagePack's one-byte numbers, nil, booleans, numbers of fixed size, and short strings. */
function isPrimitiveByte(byte: number): boolean {
  return byte < 0x80 || byte >= 0xe0 || (byte >= 0xa0 && byte <= 0xc3 && byte !== 0xc1) || (byte >= 0xca && byte <= 0xd3);
}

/** Settles an entry like another one that has failed, and pins the failure's refs once more. */
export function failLike(
  entry: ObjectEntry,
  { payload, failure, callSite, contained = [] }: ObjectEntry,
  table: Pick<ObjectTable, "contain" | "pin">,
): void {
  if (payload === undefined) {
    entry.fail(failure);
    return;
  }
  for (const inner of contained) table.pin(inner);
  table.contain(entry, contained.slice());
  entry.callSite = callSite;
  entry.settlePayload(payload);
}
