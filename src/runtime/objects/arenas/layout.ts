/**
 * The form of a stored object: a header, the in-band bytes of its value, and its buffers, each aligned to 64 bytes.
 *
 * Decides the place of each part, and checks every field of a header that another process wrote. Numbers are little-endian. Header: magic u32, version u16,
 * zero u16, buffer count u32, zero u32, in-band length u64, then one u64 for each buffer. The arena writer and reader use it; PROTOCOL.md has the same table
 * for other languages.
 */
import { BUFFERS_MAX, BUFFER_ALIGNMENT_BYTES } from "../limits.ts";

/** "SHL1" read as a little-endian number. */
const MAGIC = 0x314c_4853;
const VERSION = 1;
const FIXED_HEADER_BYTES = 24;

/** Where an object lies. `arena` is the name of a file in the session's memory directory, or in its spill directory. */
export interface ObjectLocation {
  arena: string;
  offset: number;
  sizeBytes: number;
  kind: "memory" | "disk";
}

export interface Part {
  offset: number;
  length: number;
}

export interface ObjectLayout {
  sizeBytes: number;
  headerBytes: number;
  inBand: Part;
  buffers: Part[];
}

/** @throws RangeError when there are more buffers than a header may list */
export function layoutOf(inBandLength: number, bufferLengths: readonly number[]): ObjectLayout {
  if (bufferLengths.length > BUFFERS_MAX) {
    throw new RangeError(
      `Cannot store an object: it may have at most ${BUFFERS_MAX} buffers of their own: received ${bufferLengths.length}`,
    );
  }
  const headerBytes = FIXED_HEADER_BYTES + 8 * bufferLengths.length;
  let end = headerBytes + inBandLength;
  const buffers: Part[] = [];
  for (const length of bufferLengths) {
    const offset = alignUp(end, BUFFER_ALIGNMENT_BYTES);
    buffers.push({ offset, length });
    end = offset + length;
  }
  return { sizeBytes: end, headerBytes, inBand: { offset: headerBytes, length: inBandLength }, buffers };
}

export function writeHeader(target: Uint8Array, layout: ObjectLayout): void {
  const view = new DataView(target.buffer, target.byteOffset, target.byteLength);
  view.setUint32(0, MAGIC, true);
  view.setUint16(4, VERSION, true);
  view.setUint16(6, 0, true);
  view.setUint32(8, layout.buffers.length, true);
  view.setUint32(12, 0, true);
  setLength(view, 16, layout.inBand.length);
  for (let index = 0; index < layout.buffers.length; index += 1)
    setLength(view, FIXED_HEADER_BYTES + 8 * index, (layout.buffers[index] as Part).length);
}

/**
 * Reads the layout of an object from its first bytes.
 *
 * @param bytes at least the whole header
 * @param sizeBytes the object's size according to its location
 * @returns undefined unless the bytes begin an object of exactly this size
 */
export function parseLayout(bytes: Uint8Array, sizeBytes: number): ObjectLayout | undefined {
  if (!isObjectHeader(bytes)) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const bufferCount = view.getUint32(8, true);
  const headerBytes = FIXED_HEADER_BYTES + 8 * bufferCount;
  if (bufferCount > BUFFERS_MAX || headerBytes > bytes.byteLength || headerBytes > sizeBytes) return undefined;
  const inBandLength = getLength(view, 16);
  if (inBandLength === undefined || inBandLength > sizeBytes) return undefined;
  const lengths: number[] = [];
  for (let index = 0; index < bufferCount; index += 1) {
    const length = getLength(view, FIXED_HEADER_BYTES + 8 * index);
    if (length === undefined || length > sizeBytes) return undefined;
    lengths.push(length);
  }
  const layout = layoutOf(inBandLength, lengths);
  return layout.sizeBytes === sizeBytes ? layout : undefined;
}

/** Whether an object may begin with these bytes. */
export function isObjectHeader(bytes: Uint8Array): boolean {
  if (bytes.byteLength < FIXED_HEADER_BYTES) return false;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return view.getUint32(0, true) === MAGIC && view.getUint16(4, true) === VERSION;
}

export function alignUp(value: number, alignment: number): number {
  return Math.ceil(value / alignment) * alignment;
}

function setLength(view: DataView, at: number, length: number): void {
  view.setUint32(at, length % 0x1_0000_0000, true);
  view.setUint32(at + 4, Math.floor(length / 0x1_0000_0000), true);
}

/** @returns undefined beyond the integers that a number carries exactly */
function getLength(view: DataView, at: number): number | undefined {
  const high = view.getUint32(at + 4, true);
  return high > 0x1f_ffff ? undefined : high * 0x1_0000_0000 + view.getUint32(at, true);
}
