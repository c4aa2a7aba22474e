/**
 * Frames of the link to external environments: a length, a header in JSON, and arrays of numbers.
 *
 * `docs/rl-link.md` is the specification, with test vectors in `test/vectors/rl/link-frames.json`. Nothing of a frame is believed: each length is compared with its
 * limit before memory is allocated, and each array has to lie in the payload. All numbers are little-endian. Runs in browsers, too.
 */
import { describeValue } from "../../runtime/base/texts/describe.ts";
import { DTYPES, isDtype, type Dtype, type NumericArray } from "../spaces/dtype.ts";
import { ARRAYS_MAX, DIMENSIONS_MAX, HEADER_BYTES_MAX } from "./limits.ts";

/** A frame that breaks the format. The message tells the sender why. */
export class FrameError extends Error {
  override readonly name = "FrameError";
}

export interface WireArray {
  readonly shape: readonly number[];
  readonly data: NumericArray;
}

/** A message as it lies in a frame. */
export interface LinkMessage {
  readonly type: string;
  /** Pairs a request with its answer. */
  readonly id: number;
  /** The rest of the header. */
  readonly fields: Readonly<Record<string, unknown>>;
  readonly arrays: ReadonlyMap<string, WireArray>;
}

/** Bytes before the header: two lengths, that of the rest and that of the header. */
const LENGTHS_BYTES = 8;
const ALIGNMENT = 8;

const aligned = (offset: number): number => Math.ceil(offset / ALIGNMENT) * ALIGNMENT;

const NO_ARRAYS: ReadonlyMap<string, WireArray> = new Map();

/** Makes the bytes of a message. Arrays are copied. */
export function encodeFrame({
  type,
  id,
  fields,
  arrays = NO_ARRAYS,
}: Omit<LinkMessage, "arrays"> & Partial<LinkMessage>): Uint8Array<ArrayBuffer> {
  let offset = 0;
  const places = Array.from(arrays, ([name, { shape, data }]) => {
    const place = { name, dtype: dtypeOf(data), shape, offset };
    offset = aligned(offset + data.byteLength);
    return place;
  });
  const header = new TextEncoder().encode(JSON.stringify({ ...fields, type, id, arrays: places }));
  const payload = aligned(LENGTHS_BYTES + header.length);
  const frame = new Uint8Array(payload + offset);
  const view = new DataView(frame.buffer);
  view.setUint32(0, frame.length - 4, true);
  view.setUint32(4, header.length, true);
  frame.set(header, LENGTHS_BYTES);
  for (const [index, { data }] of Array.from(arrays.values()).entries())
    frame.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), payload + (places[index] as { offset: number }).offset);
  return frame;
}

function dtypeOf(data: NumericArray): Dtype {
  const found = Object.entries(DTYPES).find(([, { array }]) => data instanceof array);
  return (found as [Dtype, unknown])[0];
}

/** Reads a whole frame, its length included. @throws FrameError */
export function decodeFrame(bytes: Uint8Array): LinkMessage {
  // `slice` of a Buffer of Node would be a view.
  const frame = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (frame.length < LENGTHS_BYTES) throw new FrameError(`a frame has at least ${LENGTHS_BYTES} bytes: received ${frame.length}`);
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  const [length, headerLength] = [view.getUint32(0, true), view.getUint32(4, true)];
  if (length !== frame.length - 4) throw new FrameError(`the frame says ${length} bytes, and ${frame.length - 4} follow`);
  if (headerLength > HEADER_BYTES_MAX) throw new FrameError(`a header has ${HEADER_BYTES_MAX} bytes at most: received ${headerLength}`);
  if (headerLength > frame.length - LENGTHS_BYTES)
    throw new FrameError(`the header says ${headerLength} bytes, and the frame has ${frame.length - LENGTHS_BYTES} left`);
  const { type, id, arrays: places, ...fields } = readHeader(frame.subarray(LENGTHS_BYTES, LENGTHS_BYTES + headerLength));
  if (typeof type !== "string") throw new FrameError(`type of the header is a text: received ${describeValue(type)}`);
  if (!Number.isSafeInteger(id) || (id as number) < 0)
    throw new FrameError(`id of the header is a whole number from 0: received ${describeValue(id)}`);
  const payload = frame.subarray(Math.min(frame.length, aligned(LENGTHS_BYTES + headerLength)));
  return { type, id: id as number, fields, arrays: readArrays(places ?? [], payload) };
}

function readHeader(bytes: Uint8Array): Record<string, unknown> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new FrameError("the header is an object of JSON in UTF-8: received other bytes");
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed))
    throw new FrameError(`the header is an object of JSON: received ${describeValue(parsed)}`);
  return parsed as Record<string, unknown>;
}

function readArrays(places: unknown, payload: Uint8Array): ReadonlyMap<string, WireArray> {
  if (!Array.isArray(places) || places.length > ARRAYS_MAX)
    throw new FrameError(`arrays of the header is a list of ${ARRAYS_MAX} places at most: received ${describeValue(places)}`);
  const arrays = new Map<string, WireArray>();
  for (const place of places as readonly Readonly<Record<string, unknown>>[]) {
    const { name, dtype, shape, offset } = place ?? {};
    if (typeof name !== "string" || arrays.has(name))
      throw new FrameError(`each array has a name of its own: received ${describeValue(name)}`);
    if (!isDtype(dtype))
      throw new FrameError(`dtype of ${shown(name)} is one of ${Object.keys(DTYPES).join(", ")}: received ${describeValue(dtype)}`);
    arrays.set(name, { shape: checkedShape(name, shape), data: readArray({ name, dtype, shape: shape as number[], offset }, payload) });
  }
  return arrays;
}

function checkedShape(name: string, shape: unknown): readonly number[] {
  const isLength = (length: unknown): boolean => Number.isSafeInteger(length) && (length as number) >= 0;
  if (Array.isArray(shape) && shape.length <= DIMENSIONS_MAX && shape.every(isLength)) return shape as readonly number[];
  throw new FrameError(`shape of ${shown(name)} is a list of ${DIMENSIONS_MAX} whole numbers at most: received ${describeValue(shape)}`);
}

function readArray(
  { name, dtype, shape, offset }: { name: string; dtype: Dtype; shape: readonly number[]; offset: unknown },
  payload: Uint8Array,
): NumericArray {
  const { array } = DTYPES[dtype];
  const itemBytes = (array as unknown as { BYTES_PER_ELEMENT: number }).BYTES_PER_ELEMENT;
  // A product beyond the payload is infinite at worst, and refused.
  const byteLength = shape.reduce((product, length) => product * length, itemBytes);
  if (!Number.isSafeInteger(offset) || (offset as number) < 0 || (offset as number) % ALIGNMENT !== 0)
    throw new FrameError(`offset of ${shown(name)} is a multiple of ${ALIGNMENT} from 0: received ${describeValue(offset)}`);
  const end = (offset as number) + byteLength;
  if (!(end <= payload.length)) throw new FrameError(`${shown(name)} ends at byte ${end} of the payload, which has ${payload.length}`);
  // A copy: the frame may lie anywhere in memory, and typed arrays need aligned bytes.
  const bytes = payload.slice(offset as number, end);
  return new (array as unknown as new (buffer: ArrayBufferLike, at: number, length: number) => NumericArray)(
    bytes.buffer,
    0,
    byteLength / itemBytes,
  );
}

const shown = (name: string): string => JSON.stringify(name.slice(0, 100));

/** Cuts a stream of bytes into frames. */
export class FrameReader {
  #parts: Uint8Array[] = [];
  #bytes = 0;

  /**
   * Takes bytes as they come. @returns the frames that are complete
   * @param maxBytes - of the next frame
   * @throws FrameError for a frame that says more, before its bytes are kept
   */
  push(bytes: Uint8Array, maxBytes: number): Uint8Array[] {
    this.#parts.push(bytes);
    this.#bytes += bytes.length;
    const frames: Uint8Array[] = [];
    while (this.#bytes >= 4) {
      const length = new DataView(this.#peek(4)).getUint32(0, true) + 4;
      if (length > maxBytes) throw new FrameError(`a frame has ${maxBytes} bytes at most: received one of ${length}`);
      if (this.#bytes < length) break;
      frames.push(this.#take(length));
    }
    return frames;
  }

  /** Whether a frame has begun and not ended. */
  get isInside(): boolean {
    return this.#bytes > 0;
  }

  #peek(count: number): ArrayBuffer {
    const seen = new Uint8Array(count);
    let at = 0;
    for (const part of this.#parts) {
      const taken = part.subarray(0, count - at);
      seen.set(taken, at);
      at += taken.length;
      if (at === count) break;
    }
    return seen.buffer;
  }

  #take(count: number): Uint8Array {
    const frame = new Uint8Array(count);
    let at = 0;
    while (at < count) {
      const part = this.#parts[0] as Uint8Array;
      const taken = part.subarray(0, count - at);
      frame.set(taken, at);
      at += taken.length;
      if (taken.length === part.length) this.#parts.shift();
      else this.#parts[0] = part.subarray(taken.length);
    }
    this.#bytes -= count;
    return frame;
  }
}
