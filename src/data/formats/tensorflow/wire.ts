/**
 * The wire format of Protocol Buffers, as far as `tf.train.Example` needs it: varints, fields with a length, and numbers of 32 and 64 bits.
 *
 * A reader stays within its bytes: a length that goes beyond them is an error. Numbers of 64 bits are read as two halves, since a bigint
 * for each costs more than the rest of the decoding.
 */

/** Bytes that are no message. The reader of records adds the file and the record. */
export class WireError extends Error {}

export const WIRE = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

/** A field of a message: its number, its wire type, and where its value lies. */
export interface WireField {
  number: number;
  type: number;
  start: number;
  end: number;
}

/** A place in a message that moves on as it is read. */
export class WireReader {
  readonly bytes: Uint8Array;
  at: number;
  readonly end: number;
  /** The halves of the last varint. */
  low = 0;
  high = 0;

  constructor(bytes: Uint8Array, start = 0, end: number = bytes.length) {
    this.bytes = bytes;
    this.at = start;
    this.end = end;
  }

  /** The next field; undefined at the end of the message. The same object each time. */
  next(field: WireField): boolean {
    if (this.at >= this.end) return false;
    this.varint();
    const tag = this.low;
    field.number = tag >>> 3;
    field.type = tag & 7;
    if (this.high !== 0 || field.number === 0) throw new WireError(`a field has the number ${field.number}`);
    field.start = this.at;
    switch (field.type) {
      case WIRE.varint:
        this.varint();
        break;
      case WIRE.fixed64:
        this.at += 8;
        break;
      case WIRE.fixed32:
        this.at += 4;
        break;
      case WIRE.bytes:
        this.varint();
        if (this.high !== 0 || this.low > this.end - this.at) throw new WireError("a length goes beyond the record");
        field.start = this.at;
        this.at += this.low;
        break;
      default:
        throw new WireError(`a field has the wire type ${field.type}`);
    }
    if (this.at > this.end) throw new WireError("a number goes beyond the record");
    field.end = this.at;
    return true;
  }

  /** Reads a varint into `low` and `high`. */
  varint(): void {
    let low = 0;
    let high = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      if (this.at >= this.end) throw new WireError("a number goes beyond the record");
      const byte = this.bytes[this.at++] as number;
      const bits = byte & 0x7f;
      if (shift < 28) low |= bits << shift;
      else if (shift === 28) {
        low |= bits << 28;
        high |= bits >>> 4;
      } else if (shift < 63) high |= bits << (shift - 32);
      else high |= (bits & 1) << 31;
      if (byte < 0x80) {
        this.low = low >>> 0;
        this.high = high >>> 0;
        return;
      }
    }
    throw new WireError("a number has more than 64 bits");
  }
}

/** How many bytes a varint of 32 bits takes. */
export function varintBytes(value: number): number {
  let bytes = 1;
  for (let left = value >>> 7; left !== 0; left >>>= 7) bytes += 1;
  return bytes;
}
