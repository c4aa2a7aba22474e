/**
 * Reads the segments of a history folder, one block in memory at a time.
 *
 * A folder may come from another machine, so nothing in it is trusted. Lengths are bounded, and each body is checked by its CRC. A segment
 * is left at its first block that is not whole, with a warning. A newer format is refused by its number.
 */
import { closeSync, constants, fstatSync, openSync, readdirSync, readSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { crc32, zstdDecompressSync } from "node:zlib";
import { ShoalError } from "../../base/errors.ts";
import { BLOCK_BYTES_MAX } from "./limits.ts";
import {
  BLOCK_AT,
  BLOCK_HEADER_LENGTH,
  HEAD_FOLDER,
  NODE_ID_CHARACTERS,
  SEGMENT_AT,
  SEGMENT_FORMAT,
  SEGMENT_HEADER_LENGTH,
  SEGMENT_MAGIC,
  type SegmentBlock,
  segmentTimeOf,
} from "./segment-layout.ts";

interface HistorySegment {
  readonly path: string;
  readonly nodeId: string;
}

/** Returns the folder of a history, for the folder of a run, too. @throws ShoalError for a folder without one */
export function historyFolder(folder: string): string {
  for (const candidate of [folder, join(folder, "history")]) {
    try {
      readdirSync(join(candidate, "nodes"));
      return candidate;
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code !== "ENOENT" && code !== "ENOTDIR")
        throw new ShoalError(`Cannot read the history: ${message}: received ${folder}.`, {
          reason: message,
          hint: "Read it as its owner.",
        });
    }
  }
  const reason = "there is no history in the folder";
  throw new ShoalError(`Cannot read the history: ${reason}: received ${folder}.`, {
    reason,
    hint: "`shoal status --json` names the folder of a cluster that runs as `history`; those of earlier runs are beside it.",
  });
}

/** Lists the segments of all nodes, the oldest of each node first. */
export function segmentsOf(folder: string): HistorySegment[] {
  const nodes = join(folder, "nodes");
  return readdirSync(nodes)
    .sort()
    .flatMap((nodeId) => {
      let names: string[] = [];
      try {
        names = readdirSync(join(nodes, nodeId));
      } catch {
        // Some other file.
      }
      const segments = names.filter((name) => segmentTimeOf(name) !== undefined).sort((a, b) => timeOf(a) - timeOf(b));
      return segments.map((name) => ({ path: join(nodes, nodeId, name), nodeId }));
    });
}

/** Names the bytes of segments: bytes that have changed have another version. */
export function versionOf(segments: readonly HistorySegment[]): string {
  return segments
    .map(({ path }) => {
      const facts = statSync(path, { throwIfNoEntry: false });
      return `${path} ${facts?.size} ${facts?.mtimeMs}`;
    })
    .join("\n");
}

/** The node that wrote the newest segment of a machine; undefined where the head alone has written. */
export function lastNodeOf(folder: string): string | undefined {
  const segments = segmentsOf(folder).filter(({ nodeId }) => nodeId !== HEAD_FOLDER);
  return segments.toSorted((a, b) => timeOf(basename(a.path)) - timeOf(basename(b.path))).at(-1)?.nodeId;
}

/** The folder of a run's logs, in which the folder `history` lies. */
export function logsBeside(folder: string): string {
  return basename(folder) === "history" ? dirname(folder) : join(folder, "logs");
}

/** Yields the blocks of a segment. @throws ShoalError for a newer format */
export function* blocksOf({ path, nodeId }: HistorySegment, warn: (text: string) => void): Generator<SegmentBlock, void, undefined> {
  let file: number;
  try {
    // A pipe in a stranger's folder would wait for its writer.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    // Removed since it was listed, or another user's.
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") warn(`A segment was left out: ${(error as Error).message}.`);
    return;
  }
  try {
    const facts = fstatSync(file);
    if (!facts.isFile()) {
      warn(`${path} is no file, and was left out.`);
      return;
    }
    const { size } = facts;
    const header = readPart(file, 0, SEGMENT_HEADER_LENGTH);
    // The file has just been made.
    if (size === 0) return;
    if (header.length < SEGMENT_HEADER_LENGTH || header.toString("latin1", 0, SEGMENT_MAGIC.length) !== SEGMENT_MAGIC) {
      warn(`${path} is no segment of a history, and was left out.`);
      return;
    }
    const format = header.readUInt32LE(SEGMENT_AT.format);
    if (format !== SEGMENT_FORMAT) throw formatError(path, format);
    const written = header.toString("latin1", SEGMENT_AT.nodeId, SEGMENT_AT.nodeId + NODE_ID_CHARACTERS).replace(/\0+$/, "");
    if (written !== nodeId) warn(`${path} is of another node than its folder says: ${JSON.stringify(written)}.`);
    for (let at = SEGMENT_HEADER_LENGTH; at < size; ) {
      const block = readBlock(file, at, size);
      if (typeof block === "string") {
        warn(`${path} was read up to byte ${at}: ${block}.`);
        return;
      }
      yield block;
      at += BLOCK_HEADER_LENGTH + block.packedBytes;
    }
  } finally {
    closeSync(file);
  }
}

/** Returns why the block is not whole, in words. */
function readBlock(file: number, at: number, size: number): (SegmentBlock & { readonly packedBytes: number }) | string {
  const header = readPart(file, at, BLOCK_HEADER_LENGTH);
  if (header.length < BLOCK_HEADER_LENGTH) return "its last block is torn";
  const packedBytes = header.readUInt32LE(BLOCK_AT.length);
  if (packedBytes > BLOCK_BYTES_MAX) return "a block has a wrong length";
  if (at + BLOCK_HEADER_LENGTH + packedBytes > size) return "its last block is torn";
  const packed = readPart(file, at + BLOCK_HEADER_LENGTH, packedBytes);
  if (packed.length < packedBytes || crc32(packed) !== header.readUInt32LE(BLOCK_AT.crc)) return "a block has a wrong checksum";
  let body: Buffer;
  try {
    body = zstdDecompressSync(packed, { maxOutputLength: BLOCK_BYTES_MAX });
  } catch (error) {
    return `a block cannot be unpacked (${(error as Error).message})`;
  }
  return {
    packedBytes,
    kind: header.readUInt32LE(BLOCK_AT.kind),
    rows: header.readUInt32LE(BLOCK_AT.rows),
    firstMs: header.readDoubleLE(BLOCK_AT.firstMs),
    lastMs: header.readDoubleLE(BLOCK_AT.lastMs),
    body,
  };
}

function readPart(file: number, at: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  let read = 0;
  while (read < length) {
    const count = readSync(file, bytes, read, length - read, at + read);
    if (count === 0) break;
    read += count;
  }
  return bytes.subarray(0, read);
}

function formatError(path: string, format: number): ShoalError {
  const reason = `it has format ${format}, and this version of Shoal reads format ${SEGMENT_FORMAT}`;
  return new ShoalError(`Cannot read the history: ${reason}: received ${path}.`, {
    reason,
    hint: "Read it with a newer version of Shoal.",
  });
}

function timeOf(name: string): number {
  return segmentTimeOf(name) ?? 0;
}
