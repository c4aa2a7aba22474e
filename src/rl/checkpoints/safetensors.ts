/**
 * Files of named arrays: the safetensors format, which PyTorch's users know.
 *
 * Eight bytes of length, a header in JSON with the place of each array, and the bytes, little-endian.
 * All places are checked first: a damaged file is an error with its path.
 */
import { RLError } from "../errors.ts";
import { HEADER_BYTES_MAX } from "../limits.ts";
import type { NumericArray } from "../spaces/dtype.ts";

export interface NamedArray<Data extends NumericArray = NumericArray> {
  readonly shape: readonly number[];
  readonly data: Data;
}

export interface NamedArrays {
  readonly arrays: ReadonlyMap<string, NamedArray>;
  /** Texts beside the arrays. */
  readonly metadata: Readonly<Record<string, string>>;
}

interface HeaderEntry {
  readonly dtype?: unknown;
  readonly shape?: unknown;
  readonly data_offsets?: unknown;
}

const METADATA = "__metadata__";

/** The format's names of element types. */
const TYPES: Readonly<Record<string, new (buffer: ArrayBuffer) => NumericArray>> = {
  F32: Float32Array,
  F64: Float64Array,
  I8: Int8Array,
  U8: Uint8Array,
  I16: Int16Array,
  U16: Uint16Array,
  I32: Int32Array,
  U32: Uint32Array,
};

function typeOf(data: NumericArray): string {
  return Object.keys(TYPES).find((name) => data.constructor === TYPES[name]) as string;
}

export function writeSafetensors({ arrays, metadata }: NamedArrays): Uint8Array {
  const header: Record<string, unknown> = { [METADATA]: metadata };
  let at = 0;
  for (const [name, { shape, data }] of arrays) {
    header[name] = { dtype: typeOf(data), shape, data_offsets: [at, at + data.byteLength] };
    at += data.byteLength;
  }
  const text = new TextEncoder().encode(JSON.stringify(header));
  // Arrays begin at a multiple of eight, as the format's own writer has it.
  const length = Math.ceil(text.length / 8) * 8;
  const bytes = new Uint8Array(8 + length + at);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(length), true);
  bytes.fill(0x20, 8, 8 + length);
  bytes.set(text, 8);
  let place = 8 + length;
  for (const { data } of arrays.values()) {
    bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), place);
    place += data.byteLength;
  }
  return bytes;
}

/** @throws RLError for bytes that are no such file, or only a part of one */
export function readSafetensors(bytes: Uint8Array, path: string): NamedArrays {
  const damaged = (reason: string): RLError => new RLError(`Cannot read ${path}: it is no whole safetensors file: ${reason}`);
  if (bytes.length < 8) throw damaged(`it has ${bytes.length} bytes`);
  const length = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  if (length > HEADER_BYTES_MAX || 8 + length > bytes.length) throw damaged(`its header would have ${length} bytes`);
  let header: Record<string, HeaderEntry>;
  try {
    header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length))) as Record<string, HeaderEntry>;
  } catch {
    throw damaged("its header is no JSON");
  }
  const body = bytes.subarray(8 + length);
  const arrays = new Map<string, NamedArray>();
  for (const [name, entry] of Object.entries(header))
    if (name !== METADATA)
      arrays.set(
        name,
        arrayOf(entry, body, () => damaged(`${name} is not there as a whole`)),
      );
  const metadata = (header[METADATA] ?? {}) as Readonly<Record<string, string>>;
  return { arrays, metadata };
}

function arrayOf({ dtype, shape, data_offsets: offsets }: HeaderEntry, body: Uint8Array, damaged: () => RLError): NamedArray {
  const isList = (value: unknown): value is number[] =>
    Array.isArray(value) && value.every((each) => Number.isSafeInteger(each) && each >= 0);
  const array = typeof dtype === "string" && Object.hasOwn(TYPES, dtype) ? TYPES[dtype] : undefined;
  if (array === undefined || !isList(shape) || !isList(offsets)) throw damaged();
  const [from = 0, to = 0] = offsets;
  const count = shape.reduce((product, each) => product * each, 1);
  const { BYTES_PER_ELEMENT: width } = array as unknown as { BYTES_PER_ELEMENT: number };
  if (to > body.length || to - from !== width * count) throw damaged();
  // A copy: arrays begin at multiples of their elements' size. `slice` of a Buffer would be none.
  return { shape, data: new array(new Uint8Array(body.subarray(from, to)).buffer) };
}
