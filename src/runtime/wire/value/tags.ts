/**
 * The numbers of the value format: MessagePack extension types, the forms that begin with a marker, the kinds of buffers, and the classes of
 * errors. `docs/value-format.md` tells the same to readers of other languages; the vectors in `test/vectors/values.json` pin it.
 *
 * A *marker* is an extension that only stands first in an array and tells the meaning of the rest. Composite values are such arrays rather
 * than extensions with nested bytes. So no length must be known before the content is written, a generic MessagePack reader sees the whole
 * structure, and wrapping a value afterwards only adds bytes in front. Invariant: numbers are never reused, as stored objects outlive the
 * process that wrote them.
 */

export const EXTENSION = {
  // Values.
  UNDEFINED: 0,
  HOLE: 1,
  BIGINT: 2,
  DATE: 3,
  UTF16_STRING: 4,
  BUFFER: 5,
  OUT_OF_BAND_BUFFER: 6,
  REFERENCE: 7,
  // Markers.
  FORM: 16,
  SHARED: 17,
  CUSTOM: 18,
  SHAPE_DEFINITION: 19,
  SHAPE: 20,
  /** Part of the MessagePack specification (-1 as an unsigned byte): read as a `Date`, never written. */
  TIMESTAMP: 255,
} as const;

export const FIRST_MARKER = EXTENSION.FORM;

/** The payload byte of a FORM marker. */
export const FORM = {
  MAP: 1,
  SET: 2,
  REG_EXP: 3,
  ERROR: 4,
  DOM_EXCEPTION: 5,
  NULL_PROTOTYPE: 6,
  BOXED: 7,
  MATCH: 8,
  SPARSE_ARRAY: 9,
} as const;

/** The first payload byte of both buffer extensions. Elements are little-endian, as in memory on every platform of Node. */
export const BUFFER_KIND = {
  ArrayBuffer: 0,
  DataView: 1,
  Buffer: 2,
  Int8Array: 3,
  Uint8Array: 4,
  Uint8ClampedArray: 5,
  Int16Array: 6,
  Uint16Array: 7,
  Int32Array: 8,
  Uint32Array: 9,
  Float16Array: 10,
  Float32Array: 11,
  Float64Array: 12,
  BigInt64Array: 13,
  BigUint64Array: 14,
} as const;

/** The error classes of the language, which every realm has. */
export const ERROR_CLASSES: ReadonlyMap<string, ErrorConstructor> = new Map<string, ErrorConstructor>(
  [Error, TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError].map((errorClass) => [errorClass.name, errorClass]),
);
export const AGGREGATE_ERROR_NAME = "AggregateError";
