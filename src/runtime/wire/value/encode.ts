/**
 * Encodes a value as MessagePack with the extensions of `tags.ts`: `.remote()` arguments, results, stored objects and headers.
 *
 * Encodes plain data itself: numbers, text, arrays, objects with only enumerable data properties, and the built-in types of structured
 * clone. Everything else (functions, symbols, class instances, objects with accessors) goes to the caller's `reduce`. Owns the scratch
 * memory. Identity inside one value is kept: a second meeting writes a reference, and the first gets its number afterwards. So a value
 * without shared parts, as nearly all are, carries no trace of this. Invariants: no user code runs but `reduce`, `Error.prepareStackTrace`
 * and the traps of proxies. No user's object is kept alive after the call. `reduce` may encode values itself.
 */
import { ByteWriter, InBandSizeError } from "./byte-writer.ts";
import type { BuiltInEncoder } from "./encode-built-in.ts";
import { isMatch, isSparse, writeBigint, writeBuiltIn, writeMatch, writeSparseArray } from "./encode-built-in.ts";
import { CUSTOM_KINDS_MAX, DEPTH_MAX, IN_BAND_BYTES_MAX, isStackOverflow, OUT_OF_BAND_BYTES } from "./limits.ts";
import { plainValuesOf } from "./plain-object.ts";
import { ShapeTable } from "./shape-table.ts";
import { BUFFER_KIND, EXTENSION } from "./tags.ts";
import { completeUnsupportedValueError, propertyStep, UnsupportedValueError, withStep } from "./unsupported-value-error.ts";

export { UnsupportedValueError } from "./unsupported-value-error.ts";

/** A custom form of the caller: `kind` (0..63) names it, `payload` is any value that can be sent. */
export interface Reduced {
  kind: number;
  payload: unknown;
}

export interface EncodeHooks {
  /**
   * Called for every object, function and symbol without a form in the format, including class instances. `undefined`: the caller has none
   * either. A payload may not refer back to the value itself, as the reader could not have it yet.
   */
  reduce(value: object | symbol): Reduced | undefined;
  /**
   * If set, called for every object: how an object from a Python process is sent back. One item of the payload, or the payload, is the
   * object itself, which is written in its usual form.
   */
  origin?: ((value: object) => Reduced | undefined) | undefined;
  /** Up to this many bytes the value's large buffers lie in place, too: for values that are copied along with messages. Default: 0. */
  inBandMax?: number;
}

/** The same object for all calls: valid until the next `encodeValue`. */
interface EncodedValue {
  /** Scratch memory; the value is `bytes[start..end)`. */
  bytes: Buffer;
  start: number;
  end: number;
  /** Buffers of 4 KB and more, as views of the caller's memory, in the order of their numbers in the bytes. A new array when there are any. */
  buffers: Uint8Array[];
  buffersSizeBytes: number;
}

/**
 * Encodes a value.
 *
 * @throws UnsupportedValueError for a value that neither the format nor `reduce` knows; its `path` leads there.
 */
export function encodeValue(value: unknown, hooks: EncodeHooks): EncodedValue {
  // `reduce` may call back into this function, so each level has separate scratch memory.
  const encoder = (encoders[nesting] ??= new ValueEncoder());
  nesting += 1;
  try {
    return encoder.encode(value, hooks);
  } finally {
    nesting -= 1;
  }
}

const encoders: ValueEncoder[] = [];
let nesting = 0;

/** Number of objects up to which each is compared; beyond it a Map is used, which costs half as much again from the first one on. */
const LINEAR_MAX = 8;
/** Capacity that the list of positions keeps after a large value. */
const STARTS_KEPT_MAX = 4096;
const NO_BUFFERS: Uint8Array[] = Object.freeze<Uint8Array[]>([]) as unknown as Uint8Array[];
const NO_HOOKS: EncodeHooks = { reduce: () => undefined };
const NOT_PLAIN = "an object with accessors, symbol keys or hidden properties is not plain data";

class ValueEncoder extends ByteWriter implements BuiltInEncoder {
  readonly #result: EncodedValue = { bytes: this.bytes, start: 0, end: 0, buffers: NO_BUFFERS, buffersSizeBytes: 0 };
  readonly #shapes = new ShapeTable();
  #hooks: EncodeHooks = NO_HOOKS;
  #inBandMax = 0;
  #depth = 0;
  #buffers: Uint8Array[] = NO_BUFFERS;
  #buffersSizeBytes = 0;

  // Objects met so far, numbered in the order in which their bytes begin.
  #metCount = 0;
  readonly #met: (object | undefined)[] = new Array<object | undefined>(LINEAR_MAX).fill(undefined);
  #metByObject: Map<object, number> | undefined;
  #starts: number[] = [];
  /** Numbers of the objects that were met again, each with its id. */
  #shared: Map<number, number> | undefined;
  /** Objects whose `reduce` payload is being written. */
  readonly #reducing: (object | symbol)[] = [];

  encode(value: unknown, hooks: EncodeHooks): EncodedValue {
    this.rewind();
    this.#hooks = hooks;
    this.#inBandMax = hooks.inBandMax ?? 0;
    this.#depth = 0;
    this.#buffers = NO_BUFFERS;
    this.#buffersSizeBytes = 0;
    try {
      this.writeValue(value);
      if (this.#shared !== undefined) this.#insertSharedMarkers(this.#shared);
    } catch (error) {
      throw explained(error, value);
    } finally {
      if (this.#metCount > 0) this.#forget();
      this.#hooks = NO_HOOKS;
    }
    const result = this.#result;
    result.bytes = this.bytes;
    result.end = this.position;
    result.buffers = this.#buffers;
    result.buffersSizeBytes = this.#buffersSizeBytes;
    return result;
  }

  writeValue(value: unknown): void {
    switch (typeof value) {
      case "number":
        this.writeNumber(value);
        return;
      case "string":
        this.writeString(value);
        return;
      case "boolean":
        this.writeByte(value ? 0xc3 : 0xc2); // true, false
        return;
      case "undefined":
        this.writeExtensionByte(EXTENSION.UNDEFINED, 0);
        return;
      case "object":
        if (value === null)
          this.writeByte(0xc0); // nil
        else this.#writeObject(value);
        return;
      case "bigint":
        writeBigint(this, value);
        return;
      case "symbol":
        this.writeReduced(value, "a symbol is not plain data");
        return;
      default:
        if (!this.#writeIfMet(value as object)) this.writeReduced(value as object, "a function is not plain data");
    }
  }

  #writeObject(value: object): void {
    if (this.#writeIfMet(value)) return;
    const origin = this.#hooks.origin?.(value);
    if (origin === undefined) this.#writeBare(value);
    else this.#writeWithOrigin(value, origin);
  }

  #writeWithOrigin(value: object, { kind, payload }: Reduced): void {
    this.#enter(value);
    this.#reducing.push(value);
    this.writeArrayHeader(2);
    this.writeExtensionByte(EXTENSION.CUSTOM, kind);
    if (payload === value) {
      this.#writeBare(value);
    } else {
      const parts = payload as readonly unknown[];
      this.writeArrayHeader(parts.length);
      for (const part of parts) {
        if (part === value) this.#writeBare(value);
        else this.writeValue(part);
      }
    }
    this.#reducing.pop();
    this.#depth -= 1;
  }

  #writeBare(value: object): void {
    this.#enter(value);
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype === Object.prototype) this.#writePlainObject(value);
    else if (prototype === Array.prototype && Array.isArray(value)) this.#writeArray(value);
    else writeBuiltIn(this, value, prototype);
    this.#depth -= 1;
  }

  #enter(value: unknown): void {
    this.#depth += 1;
    if (this.#depth > DEPTH_MAX) throw new UnsupportedValueError(value, `it is nested more than ${DEPTH_MAX} levels deep`);
  }

  #writePlainObject(target: object): void {
    const names = Object.getOwnPropertyNames(target);
    const values = plainValuesOf(target, names);
    if (values === undefined) {
      this.writeReduced(target, NOT_PLAIN);
      return;
    }
    const shape = this.#shapes.meet(names);
    if (shape < 0) this.writeMap(names, values);
    else this.#writeShaped(shape, names, values);
  }

  writeMap(names: readonly string[], values: readonly unknown[]): void {
    this.writeMapHeader(names.length);
    let index = 0;
    try {
      for (; index < names.length; index += 1) {
        this.writeString(names[index] as string);
        this.writeValue(values[index]);
      }
    } catch (error) {
      throw withStep(error, () => propertyStep(names[index] as string));
    }
  }

  #writeShaped(shape: number, names: readonly string[], values: readonly unknown[]): void {
    this.writeArrayHeader(names.length + 1);
    if (this.#shapes.isNew) this.#writeShapeDefinition(names);
    else this.writeExtensionNumber(EXTENSION.SHAPE, shape);
    let index = 0;
    try {
      for (; index < values.length; index += 1) this.writeValue(values[index]);
    } catch (error) {
      throw withStep(error, () => propertyStep(names[index] as string));
    }
  }

  /** Writes the names as an array inside the extension: definitions are numbered by their order in the bytes. */
  #writeShapeDefinition(names: readonly string[]): void {
    this.reserve(6);
    const start = this.position;
    this.bytes[start] = 0xc9; // ext 32: its length follows when the names are written
    this.bytes[start + 5] = EXTENSION.SHAPE_DEFINITION;
    this.position = start + 6;
    this.writeArrayHeader(names.length);
    for (const name of names) this.writeString(name);
    this.view.setUint32(start + 1, this.position - start - 6);
  }

  #writeArray(items: readonly unknown[]): void {
    if (isMatch(items)) writeMatch(this, items);
    else this.writeItems(items);
  }

  /** The elements. Named properties are left out: to find out whether there are any takes longer than to write the elements (8 ns each). */
  writeItems(items: readonly unknown[]): void {
    const length = items.length;
    if (isSparse(items)) {
      writeSparseArray(this, items);
      return;
    }
    this.writeArrayHeader(length);
    let index = 0;
    try {
      for (; index < length; index += 1) {
        const item = items[index];
        if (item === undefined && !Object.hasOwn(items, index)) this.writeExtensionByte(EXTENSION.HOLE, 0);
        else this.writeValue(item);
      }
    } catch (error) {
      throw withStep(error, () => `[${index}]`);
    }
  }

  writeReduced(value: object | symbol, reason: string): void {
    const reduced = this.#hooks.reduce(value);
    if (reduced === undefined) throw new UnsupportedValueError(value, reason);
    const { kind } = reduced;
    if (!Number.isInteger(kind) || kind < 0 || kind >= CUSTOM_KINDS_MAX) {
      throw new RangeError(`Cannot send a value: the kind of a custom form is outside 0..${CUSTOM_KINDS_MAX - 1}: received ${kind}`);
    }
    this.#enter(value);
    this.#reducing.push(value);
    this.writeArrayHeader(2);
    this.writeExtensionByte(EXTENSION.CUSTOM, kind);
    this.writeValue(reduced.payload);
    this.#reducing.pop();
    this.#depth -= 1;
  }

  /** Bytes of a kind: in place when they are few, else as a number into `buffers`. */
  writeBuffer(kind: number, bytes: Uint8Array): void {
    const size = bytes.length;
    if (size >= OUT_OF_BAND_BYTES && this.position + size > this.#inBandMax) {
      if (this.#buffers === NO_BUFFERS) this.#buffers = [];
      this.writeExtensionHeader(EXTENSION.OUT_OF_BAND_BUFFER, 5);
      this.writeByte(kind);
      this.reserve(4);
      this.writeUint32(this.#buffers.length);
      this.#buffers.push(bytes);
      this.#buffersSizeBytes += size;
      return;
    }
    if (kind === BUFFER_KIND.Uint8Array) {
      this.writeBytesHeader(size);
    } else {
      this.writeExtensionHeader(EXTENSION.BUFFER, size + 1);
      this.writeByte(kind);
    }
    this.writeRaw(bytes);
  }

  /** Whether the object has been met before: then a reference is written. Else it is remembered under the position at which it begins. */
  #writeIfMet(value: object): boolean {
    const count = this.#metCount;
    const met = this.#metByObject;
    if (met === undefined) {
      for (let number = 0; number < count; number += 1) {
        if (this.#met[number] === value) return this.#writeReference(number, value);
      }
      if (count < LINEAR_MAX) this.#met[count] = value;
      else this.#metByObject = new Map(this.#met.map((object, number) => [object as object, number])).set(value, count);
    } else {
      const number = met.get(value);
      if (number !== undefined) return this.#writeReference(number, value);
      met.set(value, count);
    }
    this.#starts[count] = this.position;
    this.#metCount = count + 1;
    return false;
  }

  #writeReference(number: number, value: object): true {
    if (this.#reducing.length > 0 && this.#reducing.includes(value)) {
      throw new UnsupportedValueError(value, "its custom form leads back to itself");
    }
    this.#shared ??= new Map();
    let id = this.#shared.get(number);
    if (id === undefined) {
      id = this.#shared.size;
      this.#shared.set(number, id);
    }
    this.writeExtensionNumber(EXTENSION.REFERENCE, id);
    return true;
  }

  /** Puts `[SHARED id, ` in front of every object that is referred to, from the last to the first, each byte moving once. */
  #insertSharedMarkers(shared: ReadonlyMap<number, number>): void {
    const numbers = [...shared.keys()].sort((left, right) => right - left);
    let shift = 0;
    for (const id of shared.values()) shift += sharedMarkerSize(id);
    this.reserve(shift);
    const bytes = this.bytes;
    const end = this.position + shift;
    let tail = this.position;
    for (const number of numbers) {
      const start = this.#starts[number] as number;
      const id = shared.get(number) as number;
      bytes.copyWithin(start + shift, start, tail);
      shift -= sharedMarkerSize(id);
      this.position = start + shift;
      this.writeArrayHeader(2);
      this.writeExtensionNumber(EXTENSION.SHARED, id);
      tail = start;
    }
    this.position = end;
  }

  #forget(): void {
    const count = Math.min(this.#metCount, LINEAR_MAX);
    for (let number = 0; number < count; number += 1) this.#met[number] = undefined;
    if (this.#metCount > STARTS_KEPT_MAX) this.#starts = [];
    this.#metCount = 0;
    this.#metByObject = undefined;
    this.#shared = undefined;
    if (this.#reducing.length > 0) this.#reducing.length = 0;
    this.#shapes.reset();
  }
}

/** An array of two, and an extension number. */
function sharedMarkerSize(id: number): number {
  if (id < 0x100) return 4;
  return id < 0x10000 ? 5 : 7;
}

/** Returns the error for the caller: with the path to the value, or for failures of the whole value with the exceeded limit. */
function explained(error: unknown, value: unknown): unknown {
  if (error instanceof UnsupportedValueError) return completeUnsupportedValueError(error);
  if (error instanceof InBandSizeError) {
    return completeUnsupportedValueError(
      new UnsupportedValueError(value, `its bytes besides large buffers exceed the limit of ${IN_BAND_BYTES_MAX}`),
    );
  }
  if (isStackOverflow(error)) {
    return completeUnsupportedValueError(new UnsupportedValueError(value, "it is nested too deeply for the stack that is left"));
  }
  return error;
}
