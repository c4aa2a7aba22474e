/**
 * Writes the built-in types of JavaScript that MessagePack lacks: Map, Set, Date, RegExp, errors, buffers, boxed primitives, objects without a
 * prototype, matches of regular expressions, sparse arrays, and bigints.
 *
 * Decides by the prototype, which must be a built-in of this realm. The value must also have the matching internal slots, and no extra
 * properties that would be lost; all other values go to `reduce`. Called by the encoder alone.
 */
import type { ByteWriter } from "./byte-writer.ts";
import { plainValuesOf } from "./plain-object.ts";
import { AGGREGATE_ERROR_NAME, BUFFER_KIND, ERROR_CLASSES, EXTENSION, FORM } from "./tags.ts";
import { entryStep, UnsupportedValueError, withStep } from "./unsupported-value-error.ts";

/** Parts of the encoder that the forms use. */
export interface BuiltInEncoder extends ByteWriter {
  writeValue(value: unknown): void;
  writeMap(names: readonly string[], values: readonly unknown[]): void;
  writeItems(items: readonly unknown[]): void;
  writeBuffer(kind: number, bytes: Uint8Array): void;
  writeReduced(value: object, reason: string): void;
}

/** Writes the value, or returns why it cannot, with nothing written. */
type Write = (encoder: BuiltInEncoder, value: object) => string | undefined;

const OWN_PROPERTIES = "its properties of its own would be lost";
const SHARED_MEMORY = "shared memory belongs to its process";
const WEAK = "what is held weakly belongs to its process";
const FAKE = "it has the prototype of a built-in type, but is none";

const writers = new Map<unknown, Write>([
  [Map.prototype, writeMapEntries],
  [Set.prototype, writeSetItems],
  [Date.prototype, writeDate],
  [RegExp.prototype, writeRegExp],
  [null, writeNullPrototype],
  [Number.prototype, boxedWriter(Number.prototype.valueOf)],
  [String.prototype, boxedWriter(String.prototype.valueOf)],
  [Boolean.prototype, boxedWriter(Boolean.prototype.valueOf)],
  [BigInt.prototype, boxedWriter(BigInt.prototype.valueOf)],
  [ArrayBuffer.prototype, writeArrayBuffer],
  [DataView.prototype, writeDataView],
  [Buffer.prototype, typedArrayWriter("Uint8Array", BUFFER_KIND.Buffer)],
  [AggregateError.prototype, errorWriter(AGGREGATE_ERROR_NAME)],
  [DOMException.prototype, writeDomException],
  // Never written; listed for a specific error.
  [SharedArrayBuffer.prototype, () => SHARED_MEMORY],
  [Promise.prototype, () => "a promise belongs to its process, only what it resolves to can be sent"],
  [WeakMap.prototype, () => WEAK],
  [WeakSet.prototype, () => WEAK],
  [WeakRef.prototype, () => WEAK],
]);
for (const [name, errorClass] of ERROR_CLASSES) writers.set(errorClass.prototype, errorWriter(name));
for (const [name, kind] of Object.entries(BUFFER_KIND)) {
  const isTypedArray = name.endsWith("Array");
  // Not every version of Node that is supported has Float16Array.
  const constructor = (globalThis as unknown as Partial<Record<string, { prototype: object }>>)[name];
  if (isTypedArray && constructor !== undefined) writers.set(constructor.prototype, typedArrayWriter(name, kind));
}

/** Writes a value whose prototype is neither that of arrays nor of plain objects. */
export function writeBuiltIn(encoder: BuiltInEncoder, value: object, prototype: unknown): void {
  const write = writers.get(prototype) ?? writers.get(publicErrorPrototype(prototype));
  const problem = write === undefined ? "an instance of a class is not plain data" : write(encoder, value);
  if (problem !== undefined) encoder.writeReduced(value, problem);
}

/**
 * Node gives its own errors (`ERR_INVALID_ARG_TYPE` and so on) prototypes that no program can name, between the instance and
 * `TypeError.prototype`; their `constructor` is a getter for `TypeError`. They are sent as errors of that class.
 */
function publicErrorPrototype(prototype: unknown): unknown {
  if (typeof prototype !== "object" || prototype === null) return undefined;
  const base: unknown = Object.getPrototypeOf(prototype);
  if (!(base instanceof Error) && base !== Error.prototype) return undefined;
  const property = Object.getOwnPropertyDescriptor(prototype, "constructor");
  const constructor: unknown = property?.get === undefined ? undefined : (prototype as { constructor: unknown }).constructor;
  const isBuiltIn =
    typeof constructor === "function" && constructor.prototype === base && ERROR_CLASSES.get(constructor.name) === constructor;
  return isBuiltIn ? base : undefined;
}

/** Whether an object has only its type's properties. */
function isBare(value: object, ownNames = 0): boolean {
  return Object.getOwnPropertyNames(value).length === ownNames && Object.getOwnPropertySymbols(value).length === 0;
}

function writeForm(encoder: BuiltInEncoder, form: number, items: number): void {
  encoder.writeArrayHeader(items + 1);
  encoder.writeExtensionByte(EXTENSION.FORM, form);
}

// ---------------------------------------------------------------------------------------------------------------------
// Collections

const mapSize = getterOf(Map.prototype, "size") as (this: unknown) => number;
const setSize = getterOf(Set.prototype, "size") as (this: unknown) => number;

function writeMapEntries(encoder: BuiltInEncoder, value: object): string | undefined {
  const size = slotOf(mapSize, value);
  if (size === undefined) return FAKE;
  if (!isBare(value)) return OWN_PROPERTIES;
  writeForm(encoder, FORM.MAP, size * 2);
  let count = 0;
  for (const [key, item] of value as Map<unknown, unknown>) {
    if (count === size) break;
    try {
      encoder.writeValue(key);
    } catch (error) {
      throw withStep(error, () => `.keys()[${count}]`);
    }
    try {
      encoder.writeValue(item);
    } catch (error) {
      throw withStep(error, () => entryStep(key));
    }
    count += 1;
  }
  assertUnchanged(value, count, size);
  return undefined;
}

function writeSetItems(encoder: BuiltInEncoder, value: object): string | undefined {
  const size = slotOf(setSize, value);
  if (size === undefined) return FAKE;
  if (!isBare(value)) return OWN_PROPERTIES;
  writeForm(encoder, FORM.SET, size);
  let count = 0;
  try {
    for (const item of value as Set<unknown>) {
      if (count === size) break;
      encoder.writeValue(item);
      count += 1;
    }
  } catch (error) {
    throw withStep(error, () => `.values()[${count}]`);
  }
  assertUnchanged(value, count, size);
  return undefined;
}

/** The number of entries is written before them. */
function assertUnchanged(value: object, count: number, size: number): void {
  if (count !== size) throw new UnsupportedValueError(value, `it shrank from ${size} to ${count} entries while it was read`);
}

function writeNullPrototype(encoder: BuiltInEncoder, value: object): string | undefined {
  const names = Object.getOwnPropertyNames(value);
  const values = plainValuesOf(value, names);
  if (values === undefined) return "an object with accessors, symbol keys or hidden properties is not plain data";
  writeForm(encoder, FORM.NULL_PROTOTYPE, 1);
  encoder.writeMap(names, values);
  return undefined;
}

/** Whether an array is the result of `match` or `exec`, or its `indices`: both have `groups` besides their elements, even without any. */
export function isMatch(items: readonly unknown[]): boolean {
  return "groups" in items;
}

export function writeMatch(encoder: BuiltInEncoder, items: readonly unknown[]): void {
  const names = Object.getOwnPropertyNames(items)
    .slice(items.length)
    .filter((name) => name !== "length");
  const properties = names.map((name) => (items as unknown as Record<string, unknown>)[name]);
  writeForm(encoder, FORM.MATCH, 2);
  encoder.writeItems(items);
  encoder.writeMap(names, properties);
}

/** Shorter arrays are written element by element, each hole as three bytes. */
const SPARSE_LENGTH_MIN = 1024;

/** Whether a long array has a hole at one of five places: then listing its elements is worth asking for their indices. */
export function isSparse(items: readonly unknown[]): boolean {
  const last = items.length - 1;
  if (last < SPARSE_LENGTH_MIN) return false;
  for (const part of [0, 0.25, 0.5, 0.75, 1]) if (!Object.hasOwn(items, Math.floor(last * part))) return true;
  return false;
}

export function writeSparseArray(encoder: BuiltInEncoder, items: readonly unknown[]): void {
  const indices: number[] = [];
  for (const name of Object.keys(items)) {
    const index = Number(name);
    // Indices come first, in ascending order.
    if (!(index < items.length) || String(index) !== name) break;
    indices.push(index);
  }
  writeForm(encoder, FORM.SPARSE_ARRAY, 1 + indices.length * 2);
  encoder.writeNumber(items.length);
  for (const index of indices) {
    encoder.writeNumber(index);
    try {
      encoder.writeValue(items[index]);
    } catch (error) {
      throw withStep(error, () => `[${index}]`);
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Scalars with a type

function writeDate(encoder: BuiltInEncoder, value: object): string | undefined {
  const time = slotOf(Date.prototype.getTime, value);
  if (time === undefined) return FAKE;
  if (!isBare(value)) return OWN_PROPERTIES;
  encoder.writeExtensionHeader(EXTENSION.DATE, 8);
  encoder.reserve(8);
  encoder.writeFloat64(time);
  return undefined;
}

const regExpSource = getterOf(RegExp.prototype, "source") as (this: unknown) => string;

function writeRegExp(encoder: BuiltInEncoder, value: object): string | undefined {
  const source = slotOf(regExpSource, value);
  if (source === undefined) return FAKE;
  const { flags, lastIndex } = value as RegExp;
  if (!isBare(value, 1) || typeof lastIndex !== "number") return OWN_PROPERTIES;
  writeForm(encoder, FORM.REG_EXP, lastIndex === 0 ? 2 : 3);
  encoder.writeString(source);
  encoder.writeString(flags);
  if (lastIndex !== 0) encoder.writeNumber(lastIndex);
  return undefined;
}

function boxedWriter(valueOf: (this: never) => unknown): Write {
  return (encoder, value) => {
    const primitive = slotOf(valueOf as (this: unknown) => unknown, value);
    if (primitive === undefined) return FAKE;
    const ownNames = typeof primitive === "string" ? primitive.length + 1 : 0;
    if (!isBare(value, ownNames)) return OWN_PROPERTIES;
    writeForm(encoder, FORM.BOXED, 1);
    encoder.writeValue(primitive);
    return undefined;
  };
}

/** Two's complement, big-endian: eight bytes if they suffice, else as few as hold the sign too. */
export function writeBigint(encoder: ByteWriter, value: bigint): void {
  if (BigInt.asIntN(64, value) === value) {
    encoder.writeExtensionHeader(EXTENSION.BIGINT, 8);
    encoder.reserve(8);
    encoder.view.setBigInt64(encoder.position, value);
    encoder.position += 8;
    return;
  }
  const digits = (value < 0n ? ~value : value).toString(16);
  const hasFullByte = digits.length % 2 === 0 && Number.parseInt(digits.charAt(0), 16) >= 8;
  const size = Math.ceil(digits.length / 2) + (hasFullByte ? 1 : 0);
  const hex = BigInt.asUintN(size * 8, value)
    .toString(16)
    .padStart(size * 2, "0");
  encoder.writeExtensionHeader(EXTENSION.BIGINT, size);
  encoder.reserve(size);
  encoder.bytes.write(hex, encoder.position, "hex");
  encoder.position += size;
}

// ---------------------------------------------------------------------------------------------------------------------
// Buffers

const typedArrayTag = getterOf(Object.getPrototypeOf(Uint8Array.prototype) as object, Symbol.toStringTag) as (
  this: unknown,
) => string | undefined;
const dataViewBuffer = getterOf(DataView.prototype, "buffer") as (this: unknown) => ArrayBufferLike;
const arrayBufferSize = getterOf(ArrayBuffer.prototype, "byteLength") as (this: unknown) => number;
const DETACHED = "its buffer was transferred away";

/** Writes the bytes that the view shows; a `Buffer` is often a small part of an `ArrayBuffer`. */
function typedArrayWriter(tag: string, kind: number): Write {
  return (encoder, value) => {
    if (typedArrayTag.call(value) !== tag) return FAKE;
    const array = value as Uint8Array;
    const problem = memoryProblem(array.buffer);
    if (problem !== undefined) return problem;
    const isBytes = tag === "Uint8Array";
    encoder.writeBuffer(kind, isBytes ? array : new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
    return undefined;
  };
}

function writeDataView(encoder: BuiltInEncoder, value: object): string | undefined {
  const buffer = slotOf(dataViewBuffer, value);
  if (buffer === undefined) return FAKE;
  const problem = isBare(value) ? memoryProblem(buffer) : OWN_PROPERTIES;
  if (problem !== undefined) return problem;
  const view = value as DataView;
  encoder.writeBuffer(BUFFER_KIND.DataView, new Uint8Array(buffer, view.byteOffset, view.byteLength));
  return undefined;
}

function writeArrayBuffer(encoder: BuiltInEncoder, value: object): string | undefined {
  if (slotOf(arrayBufferSize, value) === undefined) return FAKE;
  const problem = isBare(value) ? memoryProblem(value as ArrayBuffer) : OWN_PROPERTIES;
  if (problem !== undefined) return problem;
  encoder.writeBuffer(BUFFER_KIND.ArrayBuffer, new Uint8Array(value as ArrayBuffer));
  return undefined;
}

function memoryProblem(buffer: ArrayBufferLike): string | undefined {
  if (buffer instanceof SharedArrayBuffer) return SHARED_MEMORY;
  return buffer.byteLength === 0 && buffer.detached ? DETACHED : undefined;
}

// ---------------------------------------------------------------------------------------------------------------------
// Errors

/** Own properties in two maps, hidden and enumerable: `message` and `stack` are hidden where the program did not change that. */
interface ErrorProperties {
  hiddenNames: string[];
  hiddenValues: unknown[];
  names: string[];
  values: unknown[];
}

function errorWriter(className: string): Write {
  return (encoder, value) => {
    if (Object.prototype.toString.call(value) !== "[object Error]") return FAKE;
    const properties = errorPropertiesOf(value);
    if (properties === undefined) return "an error with accessors or symbol keys is not plain data";
    writeForm(encoder, FORM.ERROR, properties.names.length === 0 ? 2 : 3);
    encoder.writeString(className);
    writeErrorProperties(encoder, properties);
    return undefined;
  };
}

const domExceptionName = getterOf(DOMException.prototype, "name") as (this: unknown) => string;

/** `AbortError`, `TimeoutError` and the like keep name and message in internal slots. */
function writeDomException(encoder: BuiltInEncoder, value: object): string | undefined {
  const name = slotOf(domExceptionName, value);
  if (name === undefined) return FAKE;
  const properties = errorPropertiesOf(value);
  if (properties === undefined) return "an error with accessors or symbol keys is not plain data";
  writeForm(encoder, FORM.DOM_EXCEPTION, properties.names.length === 0 ? 3 : 4);
  encoder.writeString(name);
  encoder.writeString((value as DOMException).message);
  writeErrorProperties(encoder, properties);
  return undefined;
}

function writeErrorProperties(encoder: BuiltInEncoder, properties: ErrorProperties): void {
  encoder.writeMap(properties.hiddenNames, properties.hiddenValues);
  if (properties.names.length > 0) encoder.writeMap(properties.names, properties.values);
}

/** Hidden methods and symbols are left out: Node and tools put them on errors, and they mean nothing in another process. */
function errorPropertiesOf(error: object): ErrorProperties | undefined {
  const found: ErrorProperties = { hiddenNames: [], hiddenValues: [], names: [], values: [] };
  for (const name of Reflect.ownKeys(error)) {
    const property = Object.getOwnPropertyDescriptor(error, name);
    if (property === undefined) continue;
    if (typeof name === "symbol") {
      if (property.enumerable) return undefined;
      continue;
    }
    let value: unknown = property.value;
    if (name === "stack") {
      // An accessor in newer versions of V8, and anything at all after a custom `Error.prepareStackTrace`.
      value = (error as Error).stack;
      if (typeof value !== "string") continue;
    } else if (property.get !== undefined || property.set !== undefined) {
      return undefined;
    } else if (!property.enumerable && typeof value === "function" && name !== "cause") {
      continue;
    }
    (property.enumerable ? found.names : found.hiddenNames).push(name);
    (property.enumerable ? found.values : found.hiddenValues).push(value);
  }
  return found;
}

// ---------------------------------------------------------------------------------------------------------------------
// Internal slots

function getterOf(target: object, name: string | symbol): unknown {
  return Object.getOwnPropertyDescriptor(target, name)?.get;
}

/** Reads a slot with a method of a built-in type; `undefined` if the receiver is not of the type. */
function slotOf<Value>(method: (this: never) => Value, value: object): Value | undefined {
  try {
    return (method as (this: object) => Value).call(value);
  } catch {
    return undefined;
  }
}
