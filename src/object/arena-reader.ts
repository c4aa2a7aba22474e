/**
 * Reads stored objects of any process of the node: large ones as a private mapping without a copy, small ones by copying.
 *
 * Decides which of the two. A mapping is copy-on-write and of one object only: a reader's writes reach nobody, and no neighbour can be reached through
 * `.buffer`. The token of a mapped read comes back from `drainReleased` once the memory is unreachable and unmapped, also after
 * `ArrayBuffer.prototype.transfer`; until then the pages must not be reused. Owns the descriptors of the files it has open.
 */
import { ObjectLostError } from "../base/errors.ts";
import { type SharedMemory, sharedMemory } from "../platform/shared-memory.ts";
import { type StoreFile, type StoreFiles, storeFiles } from "../platform/store-file.ts";
import type { ObjectLocation } from "./arena-writer.ts";
import { isObjectHeader, type ObjectLayout, parseLayout } from "./layout.ts";

/** What was stored. All parts are views of one ArrayBuffer that belongs to the reader alone. */
export interface StoredObject {
  inBand: Uint8Array;
  buffers: Uint8Array[];
  /** The parts are a mapping: the token given to `read` will be released. */
  mapped: boolean;
}

export interface ReadCounters {
  copiedBytes: number;
  mappedBytes: number;
  maps: number;
}

export interface ArenaReaderOptions {
  memoryDirectory: string;
  spillDirectory: string;
  files?: StoreFiles;
  memory?: SharedMemory | undefined;
}

/** Below this a copy costs less than a mapping and its page faults. */
export const MAP_MIN_BYTES = 65_536;
/** The kernel allows 65,530 mappings to a process, and V8 aborts the process when it needs one more. */
const MAPS_MAX = 30_000;
/** Open files of other processes' arenas; an eighth of a common limit for a process. */
const OPEN_FILES_MAX = 256;
/** A deleted file keeps its memory until the last descriptor is closed. */
const IDLE_FILES_KEPT_MS = 2000;
const HEADER_PROBE_BYTES = 24;
const ARENA_NAME = /^[\w-]{1,128}$/;

export class ArenaReader {
  readonly counters: ReadCounters = { copiedBytes: 0, mappedBytes: 0, maps: 0 };
  readonly #options: ArenaReaderOptions;
  readonly #files: StoreFiles;
  readonly #memory: SharedMemory | undefined;
  /** In order of use: the first is the one that was not used for the longest time. */
  readonly #open = new Map<string, { file: StoreFile; usedMs: number }>();
  #released: number[] = [];
  #idleTimer: NodeJS.Timeout | undefined;

  constructor(options: ArenaReaderOptions) {
    this.#options = options;
    this.#files = options.files ?? storeFiles;
    this.#memory = "memory" in options ? options.memory : sharedMemory();
  }

  /**
   * The parts of an object.
   *
   * @param token comes back from {@link drainReleased} if the result is mapped
   * @throws ObjectLostError when the file is gone, or holds something else at this place
   */
  read(location: ObjectLocation, token: number): StoredObject {
    const file = this.#fileOf(location);
    const buffer = this.#map(file, location, token);
    const bytes = buffer === undefined ? this.#copy(file, location) : new Uint8Array(buffer);
    const layout = parseLayout(bytes, location.sizeBytes);
    if (layout === undefined) throw lostError(location, "its header is damaged");
    return partsOf(bytes, layout, buffer !== undefined);
  }

  /** Whether an object lies there, by its header and its last byte; the file is looked up anew, as an open one may be deleted. */
  holds(location: ObjectLocation): boolean {
    const { offset, sizeBytes, kind, arena } = location;
    if (!ARENA_NAME.test(arena)) return false;
    const directory = kind === "memory" ? this.#options.memoryDirectory : this.#options.spillDirectory;
    const file = this.#files.openToRead(`${directory}/${arena}`);
    if (file === undefined) return false;
    try {
      const header = Buffer.alloc(Math.min(sizeBytes, HEADER_PROBE_BYTES));
      const last = Buffer.alloc(1);
      return file.read(offset, header) && isObjectHeader(header) && file.read(offset + sizeBytes - 1, last);
    } finally {
      file.close();
    }
  }

  /** Tokens of mapped reads whose memory nobody can reach any more. */
  drainReleased(): number[] {
    this.#memory?.drainReleased();
    const released = this.#released;
    if (released.length > 0) this.#released = [];
    return released;
  }

  close(): void {
    clearTimeout(this.#idleTimer);
    this.#idleTimer = undefined;
    for (const { file } of this.#open.values()) file.close();
    this.#open.clear();
  }

  #map(file: StoreFile, location: ObjectLocation, token: number): ArrayBuffer | undefined {
    const { offset, sizeBytes } = location;
    if (sizeBytes < MAP_MIN_BYTES || this.#memory === undefined || this.#memory.liveMaps() >= MAPS_MAX) return undefined;
    try {
      const buffer = this.#memory.map({ fd: file.fd, offset, sizeBytes, mode: "private", onReleased: () => this.#released.push(token) });
      this.counters.mappedBytes += sizeBytes;
      this.counters.maps += 1;
      return buffer;
    } catch (error) {
      if (error instanceof RangeError) throw lostError(location, "its file is shorter than that", error);
      // Out of mappings or address space: a copy needs neither.
      return undefined;
    }
  }

  #copy(file: StoreFile, location: ObjectLocation): Uint8Array {
    // Memory of its own, and not zeroed first: every byte is written by the read.
    const bytes = Buffer.allocUnsafeSlow(location.sizeBytes);
    if (!file.read(location.offset, bytes)) throw lostError(location, "its file is shorter than that");
    this.counters.copiedBytes += location.sizeBytes;
    return bytes;
  }

  #fileOf(location: ObjectLocation): StoreFile {
    const nowMs = performance.now();
    const key = `${location.kind}/${location.arena}`;
    const known = this.#open.get(key);
    if (known !== undefined) {
      known.usedMs = nowMs;
      this.#open.delete(key);
      this.#open.set(key, known);
      return known.file;
    }
    checkLocation(location);
    const directory = location.kind === "memory" ? this.#options.memoryDirectory : this.#options.spillDirectory;
    const file = this.#files.openToRead(`${directory}/${location.arena}`);
    if (file === undefined) throw lostError(location, "its file is gone");
    if (this.#open.size >= OPEN_FILES_MAX) this.#closeOldest();
    this.#open.set(key, { file, usedMs: nowMs });
    this.#closeIdleLater();
    return file;
  }

  #closeOldest(): void {
    for (const [key, { file }] of this.#open) {
      file.close();
      this.#open.delete(key);
      return;
    }
  }

  #closeIdleLater(): void {
    if (this.#idleTimer !== undefined) return;
    this.#idleTimer = setTimeout(() => {
      this.#idleTimer = undefined;
      const beforeMs = performance.now() - IDLE_FILES_KEPT_MS;
      for (const [key, { file, usedMs }] of this.#open) {
        if (usedMs > beforeMs) break;
        file.close();
        this.#open.delete(key);
      }
      if (this.#open.size > 0) this.#closeIdleLater();
    }, IDLE_FILES_KEPT_MS);
    this.#idleTimer.unref();
  }
}

function partsOf(bytes: Uint8Array, layout: ObjectLayout, mapped: boolean): StoredObject {
  const { buffer, byteOffset } = bytes;
  const view = (part: { offset: number; length: number }): Uint8Array => new Uint8Array(buffer, byteOffset + part.offset, part.length);
  return { inBand: view(layout.inBand), buffers: layout.buffers.map(view), mapped };
}

/** A location comes from another process: its name must stay within the session's directory, and its numbers be numbers. */
function checkLocation(location: ObjectLocation): void {
  const { arena, offset, sizeBytes } = location;
  const isValid = ARENA_NAME.test(arena) && Number.isSafeInteger(offset) && offset >= 0 && Number.isSafeInteger(sizeBytes) && sizeBytes > 0;
  if (!isValid) throw lostError(location, "that is not a place in the store");
}

function lostError(location: ObjectLocation, why: string, cause?: unknown): ObjectLostError {
  const { arena, offset, sizeBytes, kind } = location;
  return new ObjectLostError(
    `Cannot read an object from the store: ${why}: received ${sizeBytes} bytes at ${offset} of ${JSON.stringify(arena)} (${kind})`,
    {
      reason: why,
      details: { arena, offset, sizeBytes, kind },
      cause,
    },
  );
}
