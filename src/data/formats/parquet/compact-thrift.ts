/**
 * Checks that bytes are one struct in Thrift's compact form, as footers of Parquet are, before a parser believes their counts.
 *
 * A list says how many elements follow, and a parser makes room for them.
 * Here each element has to be there, and levels are counted, so work and memory of the parser are linear in the bytes.
 */

const TYPE = { stop: 0, true: 1, false: 2, byte: 3, short: 4, int: 5, long: 6, double: 7, binary: 8, list: 9, struct: 12 } as const;
const DEPTH_MAX = 64;
const VARINT_BYTES_MAX = 10;

/** @throws Error for anything else than such a struct */
export function checkCompactThrift(bytes: Uint8Array): void {
  new Walk(bytes).struct(0);
}

class Walk {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  struct(depth: number): void {
    if (depth > DEPTH_MAX) throw new Error(`its footer is nested more than ${DEPTH_MAX} levels deep`);
    for (;;) {
      const head = this.#byte();
      const type = head & 15;
      if (type === TYPE.stop) return;
      // Fields far from the one before have their number behind the head.
      if (head >> 4 === 0) this.#varint();
      if (type !== TYPE.true && type !== TYPE.false) this.#element(type, depth);
    }
  }

  #element(type: number, depth: number): void {
    switch (type) {
      case TYPE.true:
      case TYPE.false:
      case TYPE.byte:
        return this.#skip(1);
      case TYPE.short:
      case TYPE.int:
      case TYPE.long:
        this.#varint();
        return;
      case TYPE.double:
        return this.#skip(8);
      case TYPE.binary:
        return this.#skip(this.#varint());
      case TYPE.list:
        return this.#list(depth + 1);
      case TYPE.struct:
        return this.struct(depth + 1);
      default:
        throw new Error(`its footer has the unknown type ${type} at byte ${this.#at}`);
    }
  }

  #list(depth: number): void {
    if (depth > DEPTH_MAX) throw new Error(`its footer is nested more than ${DEPTH_MAX} levels deep`);
    const head = this.#byte();
    const count = head >> 4 === 15 ? this.#varint() : head >> 4;
    // Each element has at least one byte.
    if (count > this.#bytes.length - this.#at)
      throw new Error(`its footer has a list of ${count} elements at byte ${this.#at}, and ends before`);
    for (let i = 0; i < count; i += 1) this.#element(head & 15, depth);
  }

  #byte(): number {
    const byte = this.#bytes[this.#at];
    if (byte === undefined) throw new Error("its footer ends amid a value");
    this.#at += 1;
    return byte;
  }

  #skip(count: number): void {
    if (count > this.#bytes.length - this.#at)
      throw new Error(`its footer has a value of ${count} bytes at byte ${this.#at}, and ends before`);
    this.#at += count;
  }

  /** Reads a number. It may count the following bytes. */
  #varint(): number {
    let value = 0;
    for (let i = 0; i < VARINT_BYTES_MAX; i += 1) {
      const byte = this.#byte();
      value += (byte & 127) * 128 ** i;
      if (byte < 128) return value;
    }
    throw new Error(`its footer has a number of more than ${VARINT_BYTES_MAX} bytes`);
  }
}
