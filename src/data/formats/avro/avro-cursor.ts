/**
 * A place in Avro's binary data that moves on as values are read.
 *
 * Numbers are in zigzag varints of up to 64 bits. A length that goes beyond the bytes is an error, so that damaged data neither
 * allocate memory nor read beside their block.
 */
import { DataError } from "../../errors.ts";
import { EMPTY_AVRO_ELEMENTS_MAX } from "../../limits.ts";

export class AvroCursor {
  readonly bytes: Uint8Array;
  readonly #view: DataView;
  at = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get left(): number {
    return this.bytes.length - this.at;
  }

  /** A whole number of up to 64 bits: a bigint beyond 2^53. */
  long(): number | bigint {
    let value = 0;
    let factor = 1;
    for (let i = 0; i < 7; i += 1) {
      const byte = this.#byte();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
      factor *= 128;
    }
    let wide = BigInt(value);
    for (let shift = 49n; shift < 70n; shift += 7n) {
      const byte = this.#byte();
      wide |= BigInt(byte & 0x7f) << shift;
      if (byte >= 0x80) continue;
      const signed = BigInt.asIntN(64, (wide >> 1n) ^ -(wide & 1n));
      return Number.isSafeInteger(Number(signed)) ? Number(signed) : signed;
    }
    throw new DataError("a number has more than 64 bits");
  }

  /** A length or an index: a number from 0. */
  count(): number {
    const value = this.long();
    if (typeof value === "number" && value >= 0) return value;
    throw new DataError(`a length is ${value}`);
  }

  /** Bytes in the memory of the cursor. */
  take(length: number): Uint8Array {
    if (length > this.left) throw new DataError(`a value of ${length} bytes goes beyond its block`);
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  text(): string {
    const bytes = this.take(this.count());
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8");
  }

  boolean(): boolean {
    const byte = this.#byte();
    if (byte > 1) throw new DataError(`a boolean is ${byte}`);
    return byte === 1;
  }

  float(): number {
    this.take(4);
    return this.#view.getFloat32(this.at - 4, true);
  }

  double(): number {
    this.take(8);
    return this.#view.getFloat64(this.at - 8, true);
  }

  /** Reads the elements of an array or a map, which lie in blocks of some elements each. */
  elements(read: () => void): void {
    for (let count = this.long(); count !== 0; count = this.long()) {
      // Behind a negative count stands the number of bytes.
      if (count < 0) this.count();
      const length = Math.abs(Number(count));
      if (length > this.left && length > EMPTY_AVRO_ELEMENTS_MAX)
        throw new DataError(`an array of ${length} elements goes beyond its block`);
      for (let i = 0; i < length; i += 1) read();
    }
  }

  #byte(): number {
    if (this.at >= this.bytes.length) throw new DataError("a value goes beyond its block");
    return this.bytes[this.at++] as number;
  }
}
