/** Messages of Protocol Buffers as bytes: the few kinds of fields that TensorBoard's events have. Fields are numbered as in its `.proto` files. */

const VARINT = 0;
const FIXED_64 = 1;
const BYTES = 2;
const FIXED_32 = 5;

export function message(...fields: readonly Uint8Array[]): Buffer {
  return Buffer.concat(fields);
}

/** A field of type `int32`, `int64` or `enum`. Negative numbers are not supported. */
export function intField(field: number, value: number): Buffer {
  return Buffer.concat([varint(field * 8 + VARINT), varint(value)]);
}

export function boolField(field: number, value: boolean): Buffer {
  return intField(field, value ? 1 : 0);
}

export function doubleField(field: number, value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return Buffer.concat([varint(field * 8 + FIXED_64), bytes]);
}

export function floatField(field: number, value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return Buffer.concat([varint(field * 8 + FIXED_32), bytes]);
}

/** A field of type `string` or `bytes`, or an embedded message. */
export function bytesField(field: number, value: Uint8Array | string): Buffer {
  const bytes = Buffer.from(value as string);
  return Buffer.concat([varint(field * 8 + BYTES), varint(bytes.length), bytes]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let left = value;
  for (; left >= 128; left = Math.floor(left / 128)) bytes.push((left % 128) | 128);
  bytes.push(left);
  return Buffer.from(bytes);
}
