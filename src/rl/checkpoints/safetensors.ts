/**
 * Files of named arrays of float32: the safetensors format, which PyTorch's users know.
 *
 * Eight bytes of length, a header in JSON with the place of each array, and the bytes, little-endian.
 * All places are checked first: a damaged file is an error with its path.
 */
import { RLError } from "../errors.ts";
import { HEADER_BYTES_MAX } from "../limits.ts";

export interface NamedArray {
  readonly shape: readonly number[];
  readonly data: Float32Array;
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

export function writeSafetensors({ arrays, metadata }: NamedArrays): Uint8Array {
  const header: Record<string, unknown> = { [METADATA]: metadata };
  let at = 0;
  for (const [name, { shape, data }] of arrays) {
    header[name] = { dtype: "F32", shape, data_offsets: [at, at + data.byteLength] };
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
  if (dtype !== "F32" || !isList(shape) || !isList(offsets)) throw damaged();
  const [from = 0, to = 0] = offsets;
  const count = shape.reduce((product, each) => product * each, 1);
  if (to > body.length || to - from !== 4 * count) throw damaged();
  // A copy: arrays of float32 begin at multiples of four. `slice` of a Buffer would be none.
  return { shape, data: new Float32Array(new Uint8Array(body.subarray(from, to)).buffer) };
}
