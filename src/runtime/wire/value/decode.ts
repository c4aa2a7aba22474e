/**
 * Decodes the output of `encode.ts`, and MessagePack of other writers.
 *
 * Bytes from another process may cause at most `DECODE_DEPTH_MAX` levels, no allocation that the present bytes do not justify, no code made
 * from text, and no getter or setter (`__proto__` becomes a property). Anything malformed is a `DecodeError`. Invariant: an object is
 * registered under its id before its content is read, so that content can refer back to it.
 */
import { type ByteRange, ByteReader } from "./byte-reader.ts";
import type { BuiltInDecoder } from "./decode-built-in.ts";
import { readBigint, readForm, readTimestamp, viewOf } from "./decode-built-in.ts";
import { DecodeError } from "./decode-error.ts";
import { CUSTOM_KINDS_MAX, DECODE_DEPTH_MAX, isStackOverflow } from "./limits.ts";
import { EXTENSION, FIRST_MARKER } from "./tags.ts";

export { DecodeError } from "./decode-error.ts";

export interface DecodeHooks {
  /** Makes the value of a custom form. Its errors reach the caller of `decodeValue` unchanged. */
  revive(kind: number, payload: unknown): unknown;
}

/**
 * Decodes one value, which takes up all of `bytes`. Small buffers are copied; large ones are views of `buffers`, on whose memory the caller
 * decides.
 *
 * @throws DecodeError for everything that is not one value of the format.
 */
export function decodeValue(bytes: Uint8Array, buffers: readonly Uint8Array[], hooks: DecodeHooks): unknown {
  return decodedBy(new ValueDecoder(bytes, { buffers, hooks }));
}

/** Decodes one value, which takes up all of a range of `bytes` and has no large buffers: 60 ns less than with a view of that range. */
export function decodeRange(bytes: Uint8Array, range: ByteRange, hooks: DecodeHooks): unknown {
  return decodedBy(new ValueDecoder(bytes, { buffers: NO_BUFFERS, hooks }, range));
}

function decodedBy(decoder: ValueDecoder): unknown {
  try {
    return decoder.decode();
  } catch (error) {
    if (isStackOverflow(error))
      throw new DecodeError("Cannot read a value: it is nested too deeply for the stack that is left", { cause: error });
    throw error;
  }
}

/** Longer arrays grow as they are read: nested headers could otherwise each claim all remaining bytes. */
const PREALLOCATED_ITEMS_MAX = 1024;
const NO_ID = -1;
const NO_BUFFERS: readonly Uint8Array[] = Object.freeze([]);

class ValueDecoder extends ByteReader implements BuiltInDecoder {
  readonly #buffers: readonly Uint8Array[];
  readonly #hooks: DecodeHooks;
  #depth = 0;
  #buffersRead = 0;
  /** Names of the shapes that were defined so far. */
  #shapes: string[][] | undefined;
  /** Objects that are referred to, by id. */
  #shared: Map<number, unknown> | undefined;
  /** The id that the next object gets. */
  #nextId = NO_ID;

  constructor(bytes: Uint8Array, { buffers, hooks }: { buffers: readonly Uint8Array[]; hooks: DecodeHooks }, range?: ByteRange) {
    super(bytes, range);
    this.#buffers = buffers;
    this.#hooks = hooks;
  }

  decode(): unknown {
    const value = this.readValue();
    if (this.position !== this.end) this.fail("bytes follow the value");
    return value;
  }

  // oxlint-disable-next-line max-lines-per-function -- the table of MessagePack, a line for each first byte
  readValue(): unknown {
    const tag = this.readUint8();
    if (tag < 0x80) return tag;
    if (tag < 0x90) return this.#readMap(tag & 0x0f);
    if (tag < 0xa0) return this.#readArray(tag & 0x0f);
    if (tag < 0xc0) return this.readText(tag & 0x1f);
    if (tag >= 0xe0) return tag - 256;
    switch (tag) {
      case 0xc0: // nil
        return null;
      case 0xc2:
        return false;
      case 0xc3:
        return true;
      case 0xc4: // bin 8
        return this.#readBytes(this.readUint8());
      case 0xc5:
        return this.#readBytes(this.readUint16());
      case 0xc6:
        return this.#readBytes(this.readUint32());
      case 0xc7: // ext 8
        return this.#readExtension(this.readUint8());
      case 0xc8:
        return this.#readExtension(this.readUint16());
      case 0xc9:
        return this.#readExtension(this.readUint32());
      case 0xca:
        return this.readFloat32();
      case 0xcb:
        return this.readFloat64();
      case 0xcc:
        return this.readUint8();
      case 0xcd:
        return this.readUint16();
      case 0xce:
        return this.readUint32();
      case 0xcf:
        return this.readUint64();
      case 0xd0: // int 8
        return (this.readUint8() << 24) >> 24;
      case 0xd1:
        return (this.readUint16() << 16) >> 16;
      case 0xd2:
        return this.readInt32();
      case 0xd3:
        return this.readInt64();
      case 0xd4: // fixext 1
        return this.#readExtension(1);
      case 0xd5:
        return this.#readExtension(2);
      case 0xd6:
        return this.#readExtension(4);
      case 0xd7:
        return this.#readExtension(8);
      case 0xd8:
        return this.#readExtension(16);
      case 0xd9: // str 8
        return this.readText(this.readUint8());
      case 0xda:
        return this.readText(this.readUint16());
      case 0xdb:
        return this.readText(this.readUint32());
      case 0xdc: // array 16
        return this.#readArray(this.readUint16());
      case 0xdd:
        return this.#readArray(this.readUint32());
      case 0xde: // map 16
        return this.#readMap(this.readUint16());
      case 0xdf:
        return this.#readMap(this.readUint32());
      default:
        return this.fail(`no form of MessagePack begins with ${tag}`);
    }
  }

  // -------------------------------------------------------------------------------------------------------------------
  // Identity

  /** Called with every object as soon as it exists. */
  register<Value>(value: Value): Value {
    if (this.#nextId !== NO_ID) this.registerAs(this.takeId(), value);
    return value;
  }

  /** The id for an object that will exist only when its content is read. */
  takeId(): number {
    const id = this.#nextId;
    this.#nextId = NO_ID;
    return id;
  }

  registerAs(id: number, value: unknown): void {
    if (id === NO_ID) return;
    this.#shared ??= new Map();
    if (this.#shared.has(id)) this.fail(`two objects have the id ${id}`);
    this.#shared.set(id, value);
  }

  #readReference(size: number): unknown {
    const id = this.readNumberOfSize(size);
    if (this.#shared === undefined || !this.#shared.has(id)) this.fail(`no object before it has the id ${id}`);
    return this.#shared.get(id);
  }

  /** `[SHARED id, object]` */
  #readShared(id: number): unknown {
    this.#nextId = id;
    const value = this.readValue();
    if (this.#nextId !== NO_ID) this.fail("only objects have an id");
    return value;
  }

  enter(): void {
    this.#depth += 1;
    if (this.#depth > DECODE_DEPTH_MAX) this.fail(`it is nested more than ${DECODE_DEPTH_MAX} levels deep`);
  }

  leave(): void {
    this.#depth -= 1;
  }

  // -------------------------------------------------------------------------------------------------------------------
  // Objects

  #readMap(size: number): Record<string, unknown> {
    const target: Record<string, unknown> = {};
    this.register(target);
    this.#fillFromPairs(target, size);
    return target;
  }

  /** Reads a map into an object that exists already. */
  readMapInto(target: object): void {
    const tag = this.readUint8();
    if (tag >= 0x80 && tag < 0x90) this.#fillFromPairs(target as Record<string, unknown>, tag & 0x0f);
    else if (tag === 0xde) this.#fillFromPairs(target as Record<string, unknown>, this.readUint16());
    else if (tag === 0xdf) this.#fillFromPairs(target as Record<string, unknown>, this.readUint32());
    else this.fail("a map is missing");
  }

  #fillFromPairs(target: Record<string, unknown>, size: number): void {
    this.checkedCount(size, 2);
    this.enter();
    for (let index = 0; index < size; index += 1) {
      const name = this.#readName();
      const value = this.readValue();
      if (name === "__proto__") defineProperty(target, name, value);
      else target[name] = value;
    }
    this.leave();
  }

  #readName(): string {
    const tag = this.bytes[this.position] as number;
    if (tag >= 0xa0 && tag < 0xc0) {
      this.position += 1;
      return this.readNameText(tag & 0x1f);
    }
    const name = this.readValue();
    return typeof name === "string" ? name : this.fail("the name of a property is not a string");
  }

  /** `[SHAPE n, value, …]` and `[SHAPE_DEFINITION names, value, …]` */
  #readShaped(names: readonly string[], count: number): Record<string, unknown> {
    if (names.length !== count) this.fail(`a shape has ${names.length} properties: received ${count}`);
    const target: Record<string, unknown> = {};
    this.register(target);
    for (const name of names) {
      const value = this.readValue();
      if (name === "__proto__") defineProperty(target, name, value);
      else target[name] = value;
    }
    return target;
  }

  #readShapeDefinition(size: number): string[] {
    const end = this.position + size;
    const tag = this.readUint8();
    const length =
      tag >= 0x90 && tag < 0xa0 ? tag & 0x0f : tag === 0xdc ? this.readUint16() : this.fail("a shape begins with an array of names");
    this.checkedCount(length, 1);
    const names: string[] = [];
    for (let index = 0; index < length; index += 1) names.push(this.#readName());
    if (this.position !== end) this.fail("the names of a shape do not end where it does");
    this.#shapes ??= [];
    this.#shapes.push(names);
    return names;
  }

  #shapeAt(number: number): string[] {
    return this.#shapes?.[number] ?? this.fail(`no shape before it has the number ${number}`);
  }

  // -------------------------------------------------------------------------------------------------------------------
  // Arrays, and forms that begin with a marker

  #readArray(length: number): unknown {
    this.checkedCount(length, 1);
    this.enter();
    const value = length > 0 && this.#isMarkerNext() ? this.#readMarked(length - 1) : this.#readItems(length);
    this.leave();
    return value;
  }

  #readItems(length: number): unknown[] {
    const items: unknown[] = length <= PREALLOCATED_ITEMS_MAX ? new Array<unknown>(length) : [];
    this.register(items);
    this.#fillItems(items, length);
    return items;
  }

  #fillItems(items: unknown[], length: number): void {
    const bytes = this.bytes;
    for (let index = 0; index < length; index += 1) {
      const at = this.position;
      if (bytes[at] === 0xd4 && bytes[at + 1] === EXTENSION.HOLE) {
        this.take(3);
        items.length = Math.max(items.length, index + 1);
      } else {
        items[index] = this.readValue();
      }
    }
  }

  /** Reads the elements of an array into one that exists already. */
  readItemsInto(items: unknown[]): void {
    const tag = this.readUint8();
    if (tag >= 0x90 && tag < 0xa0) this.#fillItems(items, this.checkedCount(tag & 0x0f, 1));
    else if (tag === 0xdc) this.#fillItems(items, this.checkedCount(this.readUint16(), 1));
    else if (tag === 0xdd) this.#fillItems(items, this.checkedCount(this.readUint32(), 1));
    else this.fail("an array is missing");
  }

  /** Whether the next extension has the type of a marker. */
  #isMarkerNext(): boolean {
    const bytes = this.bytes;
    const at = this.position;
    const tag = bytes[at] as number;
    if (tag < 0xc7 || tag > 0xd8 || (tag > 0xc9 && tag < 0xd4)) return false;
    const type = bytes[at + (tag >= 0xd4 ? 1 : tag === 0xc7 ? 2 : tag === 0xc8 ? 3 : 5)] as number;
    return type >= FIRST_MARKER && type < 0x80;
  }

  #readMarked(count: number): unknown {
    const size = this.#readExtensionSize();
    const type = this.readUint8();
    switch (type) {
      case EXTENSION.FORM:
        return readForm(this, this.readNumberOfSize(size), count);
      case EXTENSION.SHAPE:
        return this.#readShaped(this.#shapeAt(this.readNumberOfSize(size)), count);
      case EXTENSION.SHAPE_DEFINITION:
        return this.#readShaped(this.#readShapeDefinition(size), count);
      case EXTENSION.SHARED: {
        const id = this.readNumberOfSize(size);
        this.expectCount("an id", count, 1);
        // A wrapper adds no level to the value: the encoder put it around the object afterwards.
        this.leave();
        const value = this.#readShared(id);
        this.enter();
        return value;
      }
      case EXTENSION.CUSTOM:
        this.expectCount("a custom form", count, 1);
        return this.#readCustom(this.readNumberOfSize(size));
      default:
        return this.fail(`no marker has the type ${type}`);
    }
  }

  /** After the first byte of an extension has been looked at. */
  #readExtensionSize(): number {
    const tag = this.readUint8();
    if (tag >= 0xd4) return 1 << (tag - 0xd4);
    if (tag === 0xc7) return this.readUint8();
    return tag === 0xc8 ? this.readUint16() : this.readUint32();
  }

  expectCount(what: string, count: number, expected: number): void {
    if (count !== expected) this.fail(`${what} has ${expected} parts: received ${count}`);
  }

  #readCustom(kind: number): unknown {
    if (kind >= CUSTOM_KINDS_MAX) this.fail(`the kind of a custom form is outside 0..${CUSTOM_KINDS_MAX - 1}: received ${kind}`);
    const id = this.takeId();
    const value = this.#hooks.revive(kind, this.readValue());
    this.registerAs(id, value);
    return value;
  }

  // -------------------------------------------------------------------------------------------------------------------
  // Extensions and bytes

  #readExtension(size: number): unknown {
    const type = this.readUint8();
    switch (type) {
      case EXTENSION.UNDEFINED:
        this.take(size);
        return undefined;
      case EXTENSION.BIGINT:
        return readBigint(this, size);
      case EXTENSION.DATE:
        if (size !== 8) this.fail(`a date has 8 bytes: received ${size}`);
        return this.register(new Date(this.readFloat64()));
      case EXTENSION.UTF16_STRING:
        return this.readUtf16Text(size);
      case EXTENSION.BUFFER: {
        if (size < 1) this.fail("a buffer begins with its kind");
        const kind = this.readUint8();
        return this.register(viewOf(this, kind, this.readCopy(size - 1)));
      }
      case EXTENSION.OUT_OF_BAND_BUFFER:
        return this.#readOutOfBandBuffer(size);
      case EXTENSION.REFERENCE:
        return this.#readReference(size);
      case EXTENSION.TIMESTAMP:
        return this.register(readTimestamp(this, size));
      case EXTENSION.HOLE:
        return this.fail("a hole is not in an array");
      default:
        return this.fail(
          type >= FIRST_MARKER && type < 0x80 ? `a marker of type ${type} is not first in an array` : `no extension has the type ${type}`,
        );
    }
  }

  #readBytes(size: number): unknown {
    return this.register(this.readCopy(size));
  }

  #readOutOfBandBuffer(size: number): unknown {
    if (size !== 5) this.fail(`an out-of-band buffer has 5 bytes: received ${size}`);
    const kind = this.readUint8();
    const index = this.readUint32();
    // Each is named once and in order, or a few bytes could ask for many copies of a large one.
    const bytes = this.#buffers[index];
    if (bytes === undefined || index !== this.#buffersRead) {
      return this.fail(`out-of-band buffer ${this.#buffersRead} of ${this.#buffers.length} comes next: received number ${index}`);
    }
    this.#buffersRead += 1;
    return this.register(viewOf(this, kind, bytes));
  }
}

function defineProperty(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable: true });
}
