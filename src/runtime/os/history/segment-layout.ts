/**
 * The layout of a segment: a header of 64 bytes, then blocks, each with a header of 32 bytes and a body that is compressed by zstd.
 *
 * All numbers are little-endian. `runtime/observe` decides the content of bodies. docs/history-format.md describes both. Node itself
 * decides nothing here: files are read on machines of any kind.
 */

export const SEGMENT_MAGIC = "SHOALSEG";
export const SEGMENT_FORMAT = 1;
export const SEGMENT_HEADER_LENGTH = 64;
/** Places in the header: the magic, the format, the id of the node as text, and the time of the first block. */
export const SEGMENT_AT = { format: 8, firstMs: 16, nodeId: 24 } as const;
export const NODE_ID_CHARACTERS = 32;
/** The folder of the head's rows, beside those of nodes. */
export const HEAD_FOLDER = "head";

export const BLOCK_HEADER_LENGTH = 32;
/** Places in a block's header: bytes and CRC-32 of the body, kind, rows, and the times of the first and the last of them. */
export const BLOCK_AT = { length: 0, crc: 4, kind: 8, rows: 12, firstMs: 16, lastMs: 24 } as const;

/** Returns the time in the name of a segment; undefined for the name of another file. */
export function segmentTimeOf(name: string): number | undefined {
  const ms = /^calls-(?<ms>\d{13,16})\.seg$/.exec(name)?.groups?.["ms"];
  return ms === undefined ? undefined : Number(ms);
}

/** A block before it is compressed. */
export interface SegmentBlock {
  readonly kind: number;
  readonly rows: number;
  readonly firstMs: number;
  readonly lastMs: number;
  readonly body: Uint8Array;
}
