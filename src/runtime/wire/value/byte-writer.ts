/**
 * Writes the plain forms of MessagePack into growing scratch memory: numbers, strings, and the headers of arrays, maps, bytes and extensions.
 *
 * Picks MessagePack's form for each JavaScript number or string. `ValueEncoder` extends it with all structured values. First bytes are
 * literals with the specification's names beside them. Invariant: bytes before `position` are written; every write reserves space first.
 */
import { IN_BAND_BYTES_MAX, SCRATCH_KEPT_BYTES } from "./limits.ts";
import { EXTENSION } from "./tags.ts";

const SCRATCH_BYTES = 64 * 1024;
/** Up to this many characters a loop over them is faster than a call into Node: measured 60 ns against 94 ns at 20, equal at 30. */
const LOOP_LENGTH_MAX = 28;
/** Number of bytes up to which a loop copies faster than a call into V8. */
const COPIED_BYTES_MAX = 16;
/** From this many characters on, the exact size is worth a pass over the text: three bytes a character would waste too much memory. */
const MEASURED_LENGTH_MIN = 64 * 1024;
const UINT32_RANGE = 0x1_0000_0000;

/** The value has too many bytes; the encoder names the value. */
export class InBandSizeError extends RangeError {}

export class ByteWriter {
  bytes: Buffer = Buffer.allocUnsafeSlow(SCRATCH_BYTES);
  view: DataView = new DataView(this.bytes.buffer);
  position = 0;

  /** Makes room for this many more bytes. */
  reserve(sizeBytes: number): void {
    if (this.position + sizeBytes > this.bytes.length) this.#grow(sizeBytes);
  }

  /** Starts again. The bytes of the previous value are lost. */
  rewind(): void {
    this.position = 0;
    if (this.bytes.length > SCRATCH_KEPT_BYTES) this.#replace(Buffer.allocUnsafeSlow(SCRATCH_BYTES));
  }

  writeByte(byte: number): void {
    this.reserve(1);
    this.bytes[this.position++] = byte;
  }

  /** The shortest integer form for safe integers, and float 64 for everything else, also for -0. */
  writeNumber(value: number): void {
    this.reserve(9);
    const bytes = this.bytes;
    if ((value | 0) !== value || (value === 0 && 1 / value < 0)) {
      this.#writeWideNumber(value);
    } else if (value >= 0) {
      if (value < 0x80) {
        bytes[this.position++] = value;
      } else if (value < 0x100) {
        bytes[this.position++] = 0xcc; // uint 8
        bytes[this.position++] = value;
      } else if (value < 0x10000) {
        bytes[this.position++] = 0xcd; // uint 16
        this.writeUint16(value);
      } else {
        bytes[this.position++] = 0xce; // uint 32
        this.writeUint32(value);
      }
    } else if (value >= -32) {
      bytes[this.position++] = 256 + value; // negative fixint
    } else if (value >= -0x80) {
      bytes[this.position++] = 0xd0; // int 8
      bytes[this.position++] = value;
    } else if (value >= -0x8000) {
      bytes[this.position++] = 0xd1; // int 16
      this.writeUint16(value);
    } else {
      bytes[this.position++] = 0xd2; // int 32
      this.writeUint32(value);
    }
  }

  #writeWideNumber(value: number): void {
    if (!Number.isSafeInteger(value) || Object.is(value, -0)) {
      this.bytes[this.position++] = 0xcb; // float 64
      this.writeFloat64(value);
      return;
    }
    if (value >= 0 && value < UINT32_RANGE) {
      this.bytes[this.position++] = 0xce; // uint 32
      this.writeUint32(value);
      return;
    }
    this.bytes[this.position++] = value < 0 ? 0xd3 : 0xcf; // int 64, uint 64
    this.writeUint32(Math.floor(value / UINT32_RANGE));
    this.writeUint32(value);
  }

  /** Strings with lone surrogates, which UTF-8 cannot hold, become an extension. */
  writeString(text: string): void {
    const length = text.length;
    if (length > LOOP_LENGTH_MAX) {
      this.#writeLongString(text);
      return;
    }
    this.reserve(length + 2);
    const bytes = this.bytes;
    let at = this.position + (length < 32 ? 1 : 2);
    for (let index = 0; index < length; index += 1) {
      const code = text.charCodeAt(index);
      if (code > 0x7f) {
        this.#writeLongString(text);
        return;
      }
      bytes[at++] = code;
    }
    if (length < 32) {
      bytes[this.position] = 0xa0 | length; // fixstr
    } else {
      bytes[this.position] = 0xd9; // str 8
      bytes[this.position + 1] = length;
    }
    this.position = at;
  }

  #writeLongString(text: string): void {
    if (!text.isWellFormed()) {
      this.#writeUtf16String(text);
      return;
    }
    const sizeMax = text.length < MEASURED_LENGTH_MIN ? text.length * 3 : Buffer.byteLength(text);
    this.reserve(sizeMax + 5);
    // Most text is ASCII: the header is guessed for it, and the bytes are moved where it turns out to be wider.
    const start = this.position;
    const guessed = stringHeaderSize(text.length);
    const size = this.bytes.write(text, start + guessed);
    const needed = stringHeaderSize(size);
    if (needed !== guessed) this.bytes.copyWithin(start + needed, start + guessed, start + guessed + size);
    this.#writeStringHeader(size);
    this.position = start + needed + size;
  }

  #writeUtf16String(text: string): void {
    const size = text.length * 2;
    this.writeExtensionHeader(EXTENSION.UTF16_STRING, size);
    this.reserve(size);
    this.bytes.write(text, this.position, "utf16le");
    this.position += size;
  }

  #writeStringHeader(size: number): void {
    const bytes = this.bytes;
    if (size < 32) {
      bytes[this.position++] = 0xa0 | size; // fixstr
    } else if (size < 0x100) {
      bytes[this.position++] = 0xd9; // str 8
      bytes[this.position++] = size;
    } else if (size < 0x10000) {
      bytes[this.position++] = 0xda; // str 16
      this.writeUint16(size);
    } else {
      bytes[this.position++] = 0xdb; // str 32
      this.writeUint32(size);
    }
  }

  writeArrayHeader(length: number): void {
    this.reserve(5);
    if (length < 16) {
      this.bytes[this.position++] = 0x90 | length; // fixarray
    } else if (length < 0x10000) {
      this.bytes[this.position++] = 0xdc; // array 16
      this.writeUint16(length);
    } else {
      this.bytes[this.position++] = 0xdd; // array 32
      this.writeUint32(length);
    }
  }

  writeMapHeader(size: number): void {
    this.reserve(5);
    if (size < 16) {
      this.bytes[this.position++] = 0x80 | size; // fixmap
    } else if (size < 0x10000) {
      this.bytes[this.position++] = 0xde; // map 16
      this.writeUint16(size);
    } else {
      this.bytes[this.position++] = 0xdf; // map 32
      this.writeUint32(size);
    }
  }

  /** An extension of one byte: `payload` is 0 if the type has all the information. */
  writeExtensionByte(type: number, payload: number): void {
    this.reserve(3);
    const bytes = this.bytes;
    bytes[this.position++] = 0xd4; // fixext 1
    bytes[this.position++] = type;
    bytes[this.position++] = payload;
  }

  /** An extension that holds an unsigned number, in as few bytes as it needs. */
  writeExtensionNumber(type: number, number: number): void {
    this.reserve(6);
    const bytes = this.bytes;
    if (number < 0x100) {
      bytes[this.position++] = 0xd4; // fixext 1
      bytes[this.position++] = type;
      bytes[this.position++] = number;
    } else if (number < 0x10000) {
      bytes[this.position++] = 0xd5; // fixext 2
      bytes[this.position++] = type;
      this.writeUint16(number);
    } else {
      bytes[this.position++] = 0xd6; // fixext 4
      bytes[this.position++] = type;
      this.writeUint32(number);
    }
  }

  writeExtensionHeader(type: number, size: number): void {
    this.reserve(6);
    const bytes = this.bytes;
    if (size === 8) {
      bytes[this.position++] = 0xd7; // fixext 8
    } else if (size < 0x100) {
      bytes[this.position++] = 0xc7; // ext 8
      bytes[this.position++] = size;
    } else if (size < 0x10000) {
      bytes[this.position++] = 0xc8; // ext 16
      this.writeUint16(size);
    } else {
      bytes[this.position++] = 0xc9; // ext 32
      this.writeUint32(size);
    }
    bytes[this.position++] = type;
  }

  writeBytesHeader(size: number): void {
    this.reserve(5);
    const bytes = this.bytes;
    if (size < 0x100) {
      bytes[this.position++] = 0xc4; // bin 8
      bytes[this.position++] = size;
    } else if (size < 0x10000) {
      bytes[this.position++] = 0xc5; // bin 16
      this.writeUint16(size);
    } else {
      bytes[this.position++] = 0xc6; // bin 32
      this.writeUint32(size);
    }
  }

  /** Copies bytes as they are. */
  writeRaw(source: Uint8Array): void {
    const size = source.length;
    this.reserve(size);
    if (size <= COPIED_BYTES_MAX) {
      const { bytes, position } = this;
      for (let index = 0; index < size; index += 1) bytes[position + index] = source[index] as number;
    } else {
      this.bytes.set(source, this.position);
    }
    this.position += size;
  }

  // The following do not reserve: they complete a header whose first byte did.

  writeUint16(value: number): void {
    const bytes = this.bytes;
    bytes[this.position++] = value >>> 8;
    bytes[this.position++] = value;
  }

  writeUint32(value: number): void {
    const bytes = this.bytes;
    bytes[this.position++] = value >>> 24;
    bytes[this.position++] = value >>> 16;
    bytes[this.position++] = value >>> 8;
    bytes[this.position++] = value;
  }

  writeFloat64(value: number): void {
    this.view.setFloat64(this.position, value);
    this.position += 8;
  }

  #grow(sizeBytes: number): void {
    const needed = this.position + sizeBytes;
    if (needed > IN_BAND_BYTES_MAX) {
      throw new InBandSizeError();
    }
    let capacity = this.bytes.length * 2;
    while (capacity < needed) capacity *= 2;
    const grown = Buffer.allocUnsafeSlow(capacity);
    this.bytes.copy(grown, 0, 0, this.position);
    this.#replace(grown);
  }

  #replace(bytes: Buffer): void {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }
}

function stringHeaderSize(size: number): number {
  if (size < 32) return 1;
  if (size < 0x100) return 2;
  return size < 0x10000 ? 3 : 5;
}
