/**
 * Reads the forms that `encode-built-in.ts` writes.
 *
 * Revives each built-in type, and checks its required parts. Called by the decoder alone. Invariant: the object exists and is registered
 * before its content is read, as the content may refer back to it.
 */
import { SerializationError, withoutStack } from "../../base/errors.ts";
import type { ByteReader } from "./byte-reader.ts";
import { AGGREGATE_ERROR_NAME, BUFFER_KIND, ERROR_CLASSES, FORM } from "./tags.ts";

/** Parts of the decoder that the forms use. */
export interface BuiltInDecoder extends ByteReader {
  readValue(): unknown;
  readMapInto(target: object): void;
  readItemsInto(items: unknown[]): void;
  register<Value>(value: Value): Value;
  expectCount(what: string, count: number, expected: number): void;
}

/** Reads a form after its marker: `count` items follow. */
export function readForm(decoder: BuiltInDecoder, form: number, count: number): unknown {
  switch (form) {
    case FORM.MAP:
      return readMapEntries(decoder, count);
    case FORM.SET:
      return readSetItems(decoder, count);
    case FORM.REG_EXP:
      return readRegExp(decoder, count);
    case FORM.ERROR:
      return readError(decoder, count);
    case FORM.DOM_EXCEPTION:
      return readDomException(decoder, count);
    case FORM.NULL_PROTOTYPE: {
      decoder.expectCount("an object without a prototype", count, 1);
      const target = decoder.register(Object.create(null) as object);
      decoder.readMapInto(target);
      return target;
    }
    case FORM.BOXED:
      decoder.expectCount("a boxed primitive", count, 1);
      return readBoxed(decoder);
    case FORM.MATCH: {
      decoder.expectCount("a match", count, 2);
      const items = decoder.register<unknown[]>([]);
      decoder.readItemsInto(items);
      const properties: Record<string, unknown> = {};
      decoder.readMapInto(properties);
      if (Object.hasOwn(properties, "length")) decoder.fail("the length of a match is not one of its properties");
      defineAll(items, properties, true);
      return items;
    }
    case FORM.SPARSE_ARRAY:
      return readSparseArray(decoder, count);
    default:
      return decoder.fail(`no form has the number ${form}`);
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Collections

function readMapEntries(decoder: BuiltInDecoder, count: number): Map<unknown, unknown> {
  if (count % 2 !== 0) decoder.fail(`a Map has keys and values in turn: received ${count} parts`);
  const map = decoder.register(new Map<unknown, unknown>());
  for (let index = 0; index < count; index += 2) {
    const key = decoder.readValue();
    map.set(key, decoder.readValue());
  }
  if (map.size < count / 2) throw collision("a dict", "keys", count / 2, map.size);
  return map;
}

function readSetItems(decoder: BuiltInDecoder, count: number): Set<unknown> {
  const set = decoder.register(new Set<unknown>());
  for (let index = 0; index < count; index += 1) set.add(decoder.readValue());
  if (set.size < count) throw collision("a set", "items", count, set.size);
  return set;
}

/** Members of two enums with one value, say, are one value here: to drop one of them would be a wrong value. */
function collision(what: string, parts: string, count: number, size: number): SerializationError {
  const reason = `some of its ${parts} are one value in JavaScript`;
  return new SerializationError(`Cannot read ${what} of Python: ${reason}: received ${count} ${parts}, ${size} of them different`, {
    reason,
    hint: "Send a list of pairs or of items instead, or pass the reference on to Python unread.",
  });
}

const ARRAY_LENGTH_MAX = 0xffff_ffff;

function readSparseArray(decoder: BuiltInDecoder, count: number): unknown[] {
  if (count % 2 !== 1) decoder.fail(`a sparse array has its length, then indices and elements in turn: received ${count} parts`);
  const items = decoder.register<unknown[]>([]);
  const length = readIndex(decoder, ARRAY_LENGTH_MAX + 1);
  // The largest length makes V8 keep the elements in a table, so that a length alone takes no memory: measured 0 MB instead of 240 MB.
  items.length = ARRAY_LENGTH_MAX;
  items.length = length;
  for (let index = 1; index < count; index += 2) {
    const at = readIndex(decoder, length);
    items[at] = decoder.readValue();
  }
  return items;
}

function readIndex(decoder: BuiltInDecoder, limit: number): number {
  const index = decoder.readValue();
  const isIndex = typeof index === "number" && Number.isInteger(index) && index >= 0 && index < limit;
  return isIndex ? index : decoder.fail("a sparse array has an index outside its length");
}

// ---------------------------------------------------------------------------------------------------------------------
// Scalars with a type

/** Two's complement, big-endian. */
export function readBigint(decoder: ByteReader, size: number): bigint {
  if (size === 0) decoder.fail("a bigint has at least one byte");
  const hex = decoder.readHex(size);
  try {
    return BigInt.asIntN(size * 8, BigInt(`0x${hex}`));
  } catch (error) {
    return decoder.fail(`a bigint of ${size} bytes is too large`, error);
  }
}

/** MessagePack's own timestamps in their three sizes, to the millisecond. */
export function readTimestamp(decoder: ByteReader, size: number): Date {
  if (size === 4) return new Date(decoder.readUint32() * 1000);
  if (size === 8) {
    const high = decoder.readUint32();
    const seconds = (high & 3) * 0x1_0000_0000 + decoder.readUint32();
    return new Date(seconds * 1000 + Math.floor((high >>> 2) / 1e6));
  }
  if (size !== 12) decoder.fail(`a timestamp has 4, 8 or 12 bytes: received ${size}`);
  const nanoseconds = decoder.readUint32();
  return new Date(Number(decoder.readInt64()) * 1000 + Math.floor(nanoseconds / 1e6));
}

function readRegExp(decoder: BuiltInDecoder, count: number): RegExp {
  if (count !== 2 && count !== 3) decoder.fail(`a regular expression has 2 or 3 parts: received ${count}`);
  const source = readString(decoder);
  const flags = readString(decoder);
  let regExp: RegExp;
  try {
    regExp = new RegExp(source, flags);
  } catch (error) {
    return decoder.fail("a regular expression has no valid source or flags", error);
  }
  decoder.register(regExp);
  if (count === 3) {
    const lastIndex = decoder.readValue();
    regExp.lastIndex = typeof lastIndex === "number" ? lastIndex : decoder.fail("the last index of a regular expression is not a number");
  }
  return regExp;
}

function readBoxed(decoder: BuiltInDecoder): object {
  // The box comes first in the bytes. Its id does not belong to the content, which is no object.
  const primitive = readPrimitive(decoder);
  return decoder.register(Object(primitive) as object);
}

function readPrimitive(decoder: BuiltInDecoder): unknown {
  const primitive = decoder.readValue();
  const isBoxable = primitive !== null && primitive !== undefined && typeof primitive !== "object" && typeof primitive !== "function";
  return isBoxable ? primitive : decoder.fail("a boxed primitive is not a number, string, boolean or bigint");
}

function readString(decoder: BuiltInDecoder): string {
  const text = decoder.readValue();
  return typeof text === "string" ? text : decoder.fail("a string is missing");
}

// ---------------------------------------------------------------------------------------------------------------------
// Buffers

type ElementsConstructor = {
  new (buffer: ArrayBufferLike, byteOffset: number, length: number): ArrayBufferView;
  BYTES_PER_ELEMENT: number;
};

const elementConstructors = new Map<number, ElementsConstructor>();
for (const [name, kind] of Object.entries(BUFFER_KIND)) {
  const constructor = (globalThis as unknown as Partial<Record<string, ElementsConstructor>>)[name];
  if (name.endsWith("Array") && constructor !== undefined) elementConstructors.set(kind, constructor);
}

/** A view of this kind on the bytes themselves if they are aligned for it, else on a copy. */
export function viewOf(decoder: ByteReader, kind: number, bytes: Uint8Array): object {
  const { buffer, byteOffset, byteLength } = bytes;
  if (kind === BUFFER_KIND.Buffer) return Buffer.from(buffer, byteOffset, byteLength);
  if (kind === BUFFER_KIND.DataView) return new DataView(buffer, byteOffset, byteLength);
  if (kind === BUFFER_KIND.ArrayBuffer) {
    // An ArrayBuffer cannot show a part of another one.
    return byteLength === buffer.byteLength ? buffer : buffer.slice(byteOffset, byteOffset + byteLength);
  }
  const constructor = elementConstructors.get(kind);
  if (constructor === undefined) return decoder.fail(`no buffer has the kind ${kind} here`);
  const elementBytes = constructor.BYTES_PER_ELEMENT;
  if (byteLength % elementBytes !== 0) decoder.fail(`a buffer with elements of ${elementBytes} bytes has ${byteLength}`);
  if (byteOffset % elementBytes === 0) return new constructor(buffer, byteOffset, byteLength / elementBytes);
  return new constructor(buffer.slice(byteOffset, byteOffset + byteLength), 0, byteLength / elementBytes);
}

// ---------------------------------------------------------------------------------------------------------------------
// Errors

function readError(decoder: BuiltInDecoder, count: number): Error {
  if (count !== 2 && count !== 3) decoder.fail(`an error has 2 or 3 parts: received ${count}`);
  const className = readString(decoder);
  const errorClass = ERROR_CLASSES.get(className);
  if (errorClass === undefined && className !== AGGREGATE_ERROR_NAME) decoder.fail(`no error class has the name ${className}`);
  const error = withoutStack(() => (errorClass === undefined ? new AggregateError([]) : new errorClass()));
  // The constructor of AggregateError sets `errors`, which the sender may not have had.
  if (errorClass === undefined) delete (error as Partial<AggregateError>).errors;
  decoder.register(error);
  return readErrorProperties(decoder, error, count === 3);
}

function readDomException(decoder: BuiltInDecoder, count: number): Error {
  if (count !== 3 && count !== 4) decoder.fail(`a DOMException has 3 or 4 parts: received ${count}`);
  // Before the object exists only its textual properties are read, so nothing in them can refer back to it.
  const name = readString(decoder);
  const message = readString(decoder);
  const error = withoutStack(() => new DOMException(message, name));
  decoder.register(error);
  return readErrorProperties(decoder, error, count === 4);
}

function readErrorProperties(decoder: BuiltInDecoder, error: Error, hasEnumerable: boolean): Error {
  const hidden: Record<string, unknown> = {};
  decoder.readMapInto(hidden);
  defineAll(error, hidden, false);
  if (hasEnumerable) {
    const fields: Record<string, unknown> = {};
    decoder.readMapInto(fields);
    defineAll(error, fields, true);
  }
  return error;
}

function defineAll(target: object, properties: Record<string, unknown>, enumerable: boolean): void {
  for (const name of Object.keys(properties)) {
    Object.defineProperty(target, name, { value: properties[name], writable: true, configurable: true, enumerable });
  }
}
