/**
 * Writes blocks into the segments of one node, and removes old segments of the run.
 *
 * Never makes its caller wait: blocks are compressed and written one after the other behind it. A disk that is full or too slow loses
 * blocks. Later blocks of a segment build on earlier ones, so they are lost as well. The owner writes the number of lost rows into the next
 * segment, so a history never looks whole without being so.
 */
import { mkdir, open, readdir, rm, rmdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { crc32, zstdCompress } from "node:zlib";
import { describeSystemFailure } from "../machine/open-files.ts";
import {
  HISTORY_BYTES_MAX,
  HISTORY_KEPT_MS,
  HISTORY_RETRY_MS,
  SEGMENT_BYTES_MAX,
  SEGMENT_MS_MAX,
  UNWRITTEN_HISTORY_BYTES_MAX,
} from "./limits.ts";
import {
  BLOCK_AT,
  BLOCK_HEADER_LENGTH,
  NODE_ID_CHARACTERS,
  SEGMENT_AT,
  SEGMENT_FORMAT,
  SEGMENT_HEADER_LENGTH,
  SEGMENT_MAGIC,
  type SegmentBlock,
  segmentTimeOf,
} from "./segment-layout.ts";

const compress = promisify(zstdCompress);
/** `ZSTD_c_compressionLevel` of zstd: the fastest level. */
const LEVEL_1 = { params: { 100: 1 } };

/** The part of a `FileHandle` that is used. */
export interface SegmentHandle {
  write(bytes: Uint8Array): Promise<{ bytesWritten: number }>;
  close(): Promise<void>;
}

interface SegmentWriterOptions {
  /** The run's folder, in which the writer makes `nodes/<node id>`. */
  readonly folder: string;
  readonly nodeId: string;
  /** Told at most once until a block could be written again. */
  readonly onFailure: (text: string) => void;
  readonly bytesMax?: number | undefined;
  readonly keptMs?: number | undefined;
  readonly segmentBytesMax?: number;
  readonly nowMs?: () => number;
  /** Makes a file that does not exist yet. */
  readonly open?: (path: string) => Promise<SegmentHandle>;
}

const openNew = (path: string): Promise<SegmentHandle> => open(path, "wx", 0o600);

export class SegmentWriter {
  /** Rows that were lost and of which no segment tells. */
  lostRows = 0;
  readonly #options: SegmentWriterOptions;
  readonly #folder: string;
  #handle: SegmentHandle | undefined;
  #written: Promise<void> = Promise.resolve();
  #waitingBytes = 0;
  #sizeBytes = 0;
  /** Whether the present segment lacks a block, or there is none. */
  #needsSegment = true;
  #beganMs = 0;
  #lastMs = 0;
  #failedMs: number | undefined;

  constructor(options: SegmentWriterOptions) {
    this.#options = options;
    this.#folder = join(options.folder, "nodes", options.nodeId);
  }

  /** Whether the next block should begin a segment, with all definitions that it needs. */
  get wantsSegment(): boolean {
    const { segmentBytesMax = SEGMENT_BYTES_MAX } = this.#options;
    if (this.#failedMs !== undefined) return this.#nowMs() - this.#failedMs >= HISTORY_RETRY_MS;
    // A slow disk first writes the blocks that wait, or each further block would begin a segment.
    if (this.#needsSegment) return this.#waitingBytes <= UNWRITTEN_HISTORY_BYTES_MAX / 2;
    return this.#sizeBytes >= segmentBytesMax || this.#nowMs() - this.#beganMs >= SEGMENT_MS_MAX;
  }

  /** Blocks from here on go into a new segment. */
  beginSegment(): void {
    // Two segments never have one name.
    this.#beganMs = Math.max(this.#nowMs(), this.#beganMs + 1);
    this.#failedMs = undefined;
    this.#needsSegment = false;
    const beganMs = this.#beganMs;
    this.#after(() => this.#open(beganMs));
  }

  /** @param rowsIfLost - the rows that are missing where the block is lost */
  append(block: SegmentBlock, rowsIfLost: number): void {
    const { length } = block.body;
    if (this.#waitingBytes + length > UNWRITTEN_HISTORY_BYTES_MAX) this.#needsSegment = true;
    if (this.#needsSegment || this.#failedMs !== undefined) {
      this.lostRows += rowsIfLost;
      return;
    }
    this.#waitingBytes += length;
    this.#after(async () => {
      this.#waitingBytes -= length;
      await this.#write(block, rowsIfLost);
    });
  }

  /** Resolves when all blocks so far are in files, or lost. */
  flush(): Promise<void> {
    return this.#written;
  }

  async close(): Promise<void> {
    await this.#written;
    await this.#handle?.close();
    this.#handle = undefined;
  }

  #after(step: () => Promise<void>): void {
    this.#written = this.#written.then(step);
  }

  async #open(beganMs: number): Promise<void> {
    try {
      await this.#handle?.close();
      this.#handle = undefined;
      await mkdir(this.#folder, { recursive: true, mode: 0o700 });
      const { nodeId, open: openFile = openNew } = this.#options;
      const handle = await openFile(join(this.#folder, `calls-${beganMs}.seg`));
      this.#handle = handle;
      this.#sizeBytes = 0;
      const header = Buffer.alloc(SEGMENT_HEADER_LENGTH);
      header.write(SEGMENT_MAGIC, 0, "latin1");
      header.writeUInt32LE(SEGMENT_FORMAT, SEGMENT_AT.format);
      header.writeDoubleLE(beganMs, SEGMENT_AT.firstMs);
      header.write(nodeId.slice(0, NODE_ID_CHARACTERS), SEGMENT_AT.nodeId, "latin1");
      await writeAll(handle, header);
      await this.#sweep();
    } catch (error) {
      this.#failed(0, error);
    }
  }

  async #write({ kind, rows, firstMs, lastMs, body }: SegmentBlock, rowsIfLost: number): Promise<void> {
    const handle = this.#handle;
    if (handle === undefined || this.#failedMs !== undefined) {
      this.lostRows += rowsIfLost;
      return;
    }
    try {
      const packed = await compress(body, LEVEL_1);
      const header = Buffer.alloc(BLOCK_HEADER_LENGTH);
      header.writeUInt32LE(packed.length, BLOCK_AT.length);
      header.writeUInt32LE(crc32(packed), BLOCK_AT.crc);
      header.writeUInt32LE(kind, BLOCK_AT.kind);
      header.writeUInt32LE(rows, BLOCK_AT.rows);
      header.writeDoubleLE(firstMs, BLOCK_AT.firstMs);
      header.writeDoubleLE(lastMs, BLOCK_AT.lastMs);
      await writeAll(handle, Buffer.concat([header, packed]));
      this.#sizeBytes += BLOCK_HEADER_LENGTH + packed.length;
    } catch (error) {
      this.#failed(rowsIfLost, error);
    }
  }

  /** The segment may end in the middle of a block: the rest goes into another one. */
  #failed(rows: number, error: unknown): void {
    this.lostRows += rows;
    this.#needsSegment = true;
    this.#failedMs = this.#nowMs();
    if (this.#failedMs - this.#lastMs < HISTORY_RETRY_MS * 6 && this.#lastMs > 0) return;
    this.#lastMs = this.#failedMs;
    const reason = describeSystemFailure(error as NodeJS.ErrnoException);
    this.#options.onFailure(
      `The history is not written to ${this.#folder}: ${reason}. The node goes on; calls are missing in the history.`,
    );
  }

  /** Removes segments of the run that are too old, and the oldest where there are too many, of nodes before this one, too. */
  async #sweep(): Promise<void> {
    const { folder, bytesMax = HISTORY_BYTES_MAX, keptMs = HISTORY_KEPT_MS } = this.#options;
    const found: { path: string; ms: number; bytes: number }[] = [];
    for (const node of await readdir(join(folder, "nodes"))) {
      for (const name of await readdir(join(folder, "nodes", node)).catch(() => [])) {
        const path = join(folder, "nodes", node, name);
        const ms = segmentTimeOf(name);
        const facts = await stat(path).catch(() => undefined);
        if (facts !== undefined && ms !== undefined) found.push({ path, ms: Math.max(ms, facts.mtimeMs), bytes: facts.size });
      }
    }
    const own = join(this.#folder, `calls-${this.#beganMs}.seg`);
    let bytes = found.reduce((sum, file) => sum + file.bytes, 0);
    for (const file of found.sort((a, b) => a.ms - b.ms)) {
      if (file.path === own || (bytes <= bytesMax && this.#nowMs() - file.ms <= keptMs)) continue;
      bytes -= file.bytes;
      await rm(file.path, { force: true });
      // Only an empty folder is removed.
      await rmdir(join(file.path, "..")).catch(() => {});
    }
  }

  #nowMs(): number {
    return this.#options.nowMs?.() ?? Date.now();
  }
}

async function writeAll(handle: SegmentHandle, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    const { bytesWritten } = await handle.write(bytes.subarray(at));
    at += bytesWritten;
  }
}
