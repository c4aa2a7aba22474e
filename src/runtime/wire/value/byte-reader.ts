/**
 * Reads the plain forms of MessagePack from untrusted bytes: numbers, strings and lengths.
 *
 * A declared length is never more than the remaining bytes, checked before anything is allocated. `ValueDecoder` extends it with all
 * structured values. Owns the cache of short strings, which all readers of the process share. Invariant: no read goes beyond `end`; every
 * failure is a `DecodeError` that names the offset.
 */
import { LOOP_BYTES_MAX } from "../../base/limits.ts";
import { DecodeError } from "./decode-error.ts";

/**
 * Short words repeat, and names of properties nearly always do: 4,096 are kept, at most 200 KB. Measured at 16 bytes: a string costs 110 ns without
 * the cache, 75 ns with a hit, 220 ns with a miss; a hit is worth less the longer it is (96 ns at 24). A name that V8 has seen as the name of a
 * property saves a look-up there too, so longer names are worth it.
 */
const CACHED_STRINGS_MAX = 4096;
const CACHED_VALUE_BYTES = 24;
const CACHED_NAME_BYTES = 32;
const stringCache: (string | undefined)[] = new Array<string | undefined>(CACHED_STRINGS_MAX).fill(undefined);
const UINT32_RANGE = 0x1_0000_0000;

/** Part of larger memory. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

export class ByteReader {
  readonly bytes: Uint8Array;
  readonly end: number;
  position: number;
  #text: Buffer | undefined;
  #view: DataView | undefined;

  /** @param range the part of the bytes to read; by default all */
  constructor(bytes: Uint8Array, range?: ByteRange) {
    this.bytes = bytes;
    this.position = range === undefined ? 0 : range.start;
    this.end = range === undefined ? bytes.length : range.end;
  }

  fail(reason: string, cause?: unknown): never {
    const message = `Cannot read a value: ${reason} (at byte ${this.position} of ${this.end})`;
    throw new DecodeError(message, cause === undefined ? { reason } : { reason, cause });
  }

  /** Skips this many bytes, and returns their beginning. */
  take(size: number): number {
    const start = this.position;
    if (size > this.end - start) this.fail(`it is truncated: ${size} more bytes are declared`);
    this.position = start + size;
    return start;
  }

  /** A count of items of which each takes `itemBytes` or more: larger counts are refused before room is made for them. */
  checkedCount(count: number, itemBytes: number): number {
    if (count * itemBytes > this.end - this.position) this.fail(`it is truncated: ${count} more items are declared`);
    return count;
  }

  readUint8(): number {
    return this.bytes[this.take(1)] as number;
  }

  readUint16(): number {
    const at = this.take(2);
    return ((this.bytes[at] as number) << 8) | (this.bytes[at + 1] as number);
  }

  readInt32(): number {
    const at = this.take(4);
    const bytes = this.bytes;
    return ((bytes[at] as number) << 24) | ((bytes[at + 1] as number) << 16) | ((bytes[at + 2] as number) << 8) | (bytes[at + 3] as number);
  }

  readUint32(): number {
    return this.readInt32() >>> 0;
  }

  /** Integers beyond 2^53, which other languages may write, become bigints. */
  readUint64(): number | bigint {
    const high = this.readUint32();
    const low = this.readUint32();
    const value = high * UINT32_RANGE + low;
    return Number.isSafeInteger(value) ? value : (BigInt(high) << 32n) | BigInt(low);
  }

  readInt64(): number | bigint {
    const high = this.readInt32();
    const low = this.readUint32();
    const value = high * UINT32_RANGE + low;
    return Number.isSafeInteger(value) ? value : (BigInt(high) << 32n) | BigInt(low);
  }

  readFloat32(): number {
    const at = this.take(4);
    this.#view ??= new DataView(this.bytes.buffer, this.bytes.byteOffset, this.end);
    return this.#view.getFloat32(at);
  }

  readFloat64(): number {
    const at = this.take(8);
    this.#view ??= new DataView(this.bytes.buffer, this.bytes.byteOffset, this.end);
    return this.#view.getFloat64(at);
  }

  /** Reads an unsigned number of 1, 2 or 4 bytes, as `writeExtensionNumber` writes it. */
  readNumberOfSize(size: number): number {
    if (size === 1) return this.readUint8();
    if (size === 2) return this.readUint16();
    if (size === 4) return this.readUint32();
    return this.fail(`a number has 1, 2 or 4 bytes: received ${size}`);
  }

  /** UTF-8 text. Invalid bytes become U+FFFD, as everywhere in JavaScript. */
  readText(size: number): string {
    return size > CACHED_VALUE_BYTES ? this.#slice(this.take(size), size) : this.#readCached(size);
  }

  /** UTF-8 text that is the name of a property. */
  readNameText(size: number): string {
    return size > CACHED_NAME_BYTES ? this.#slice(this.take(size), size) : this.#readCached(size);
  }

  #readCached(size: number): string {
    const start = this.take(size);
    const bytes = this.bytes;
    let hash = size;
    let isAscii = 0;
    for (let at = start; at < start + size; at += 1) {
      const byte = bytes[at] as number;
      hash = (hash * 31 + byte) | 0;
      isAscii |= byte;
    }
    if (isAscii > 0x7f) return this.#slice(start, size);
    const slot = (hash ^ (hash >>> 12)) & (CACHED_STRINGS_MAX - 1);
    const cached = stringCache[slot];
    if (cached !== undefined && cached.length === size && isTextAt(cached, bytes, start)) return cached;
    const text = this.#buffer().toString("latin1", start, start + size);
    stringCache[slot] = text;
    return text;
  }

  readUtf16Text(size: number): string {
    if (size % 2 !== 0) this.fail(`UTF-16 text has an even number of bytes: received ${size}`);
    const start = this.take(size);
    return this.#buffer().toString("utf16le", start, start + size);
  }

  /** Hexadecimal digits of bytes, for bigints. */
  readHex(size: number): string {
    const start = this.take(size);
    return this.#buffer().toString("hex", start, start + size);
  }

  /** Copies bytes into separate memory, which does not keep the received bytes alive, and aligns elements. */
  readCopy(size: number): Uint8Array<ArrayBuffer> {
    const start = this.take(size);
    const copy = new Uint8Array(size);
    const { bytes } = this;
    if (size <= LOOP_BYTES_MAX) for (let index = 0; index < size; index += 1) copy[index] = bytes[start + index] as number;
    else copy.set(bytes.subarray(start, start + size));
    return copy;
  }

  #slice(start: number, size: number): string {
    return this.#buffer().toString("utf8", start, start + size);
  }

  /** The bytes as a `Buffer`, made when text is met that needs it. */
  #buffer(): Buffer {
    this.#text ??= Buffer.isBuffer(this.bytes) ? this.bytes : Buffer.from(this.bytes.buffer, this.bytes.byteOffset, this.bytes.byteLength);
    return this.#text;
  }
}

function isTextAt(text: string, bytes: Uint8Array, start: number): boolean {
  for (let index = 0; index < text.length; index += 1) {
    if (text.charCodeAt(index) !== bytes[start + index]) return false;
  }
  return true;
}
