/**
 * Reads stored objects of any process of the node: large ones as a private mapping without a copy, small ones by copying.
 *
 * Decides which of the two. A mapping is copy-on-write and of one object only: a reader's writes reach nobody, and no neighbour can be reached through
 * `.buffer`. The token of a mapped read comes back from `drainReleased` once the memory is unreachable and unmapped, also after
 * `ArrayBuffer.prototype.transfer`; until then the pages must not be reused. An arena that is gone was spilled, or lost: its index tells where
 * its objects lie. No name is used twice, so an old place never shows something else. Owns the descriptors of the files it has open.
 */
import { ObjectLostError } from "../../base/errors.ts";
import { type SharedMemory, sharedMemory } from "../../os/shared-memory.ts";
import { type StoreFile, type StoreFiles, storeFiles } from "../../os/files/store/store-file.ts";
import { isObjectHeader, type ObjectLayout, type ObjectLocation, parseLayout } from "./layout.ts";
import { MAP_MIN_BYTES } from "../limits.ts";
import { SpillIndices } from "../spilling/spill-indices.ts";

/** A stored object. All parts are views of one ArrayBuffer, which belongs to the reader alone. */
export interface StoredObject {
  inBand: Uint8Array;
  buffers: Uint8Array[];
  /** The parts are a mapping: the token given to `read` will be released. */
  mapped: boolean;
  /** The bytes came from disk, where the daemon had spilled them. */
  restored: boolean;
}

interface ReadCounters {
  copiedBytes: number;
  mappedBytes: number;
  maps: number;
}

interface ArenaReaderOptions {
  memoryDirectory: string;
  spillDirectory: string;
  files?: StoreFiles;
  memory?: SharedMemory | undefined;
}

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
  readonly #spillIndices: SpillIndices;
  #released: number[] = [];
  #idleTimer: NodeJS.Timeout | undefined;

  constructor(options: ArenaReaderOptions) {
    this.#options = options;
    this.#files = options.files ?? storeFiles;
    this.#memory = "memory" in options ? options.memory : sharedMemory();
    this.#spillIndices = new SpillIndices({ spillDirectory: options.spillDirectory, files: this.#files });
  }

  /**
   * The parts of an object.
   *
   * @param token comes back from {@link drainReleased} if the result is mapped
   * @throws ObjectLostError when the file is gone, or holds something else at this place
   */
  read(location: ObjectLocation, token: number): StoredObject {
    const opened = this.#fileOf(location);
    if (opened !== undefined) return this.#readFrom(opened, location, { token, restored: false });
    const found = this.#spilledFile(location);
    return this.#readFrom(found.file, found.place, { token, restored: true });
  }

  /** Lets go of the files of these arenas: they were deleted. */
  forget(arenas: readonly string[]): void {
    for (const arena of arenas) {
      this.#close(`memory/${arena}`);
      this.#spillIndices.forget(arena);
    }
  }

  #readFrom(file: StoreFile, location: ObjectLocation, { token, restored }: { token: number; restored: boolean }): StoredObject {
    const buffer = this.#map(file, location, token);
    const bytes = buffer === undefined ? this.#copy(file, location) : new Uint8Array(buffer);
    const layout = parseLayout(bytes, location.sizeBytes);
    if (layout === undefined) throw lostError(location, "its header is damaged");
    return { ...partsOf(bytes, layout), mapped: buffer !== undefined, restored };
  }

  /** Tries twice: the daemon may move the bytes to another file after the index was read. */
  #spilledFile(location: ObjectLocation): { file: StoreFile; place: ObjectLocation } {
    for (const fresh of [false, true]) {
      if (fresh) this.#spillIndices.forget(location.arena);
      const place = this.#spillIndices.placeOf(location);
      if (place === undefined) continue;
      const file = this.#fileOf(place);
      if (file !== undefined) return { file, place };
      if (fresh) throw lostError(place, "its spill file is gone");
    }
    throw lostError(location, "its file is gone");
  }

  /** Whether an object lies there, by its header and its last byte; the file is looked up anew, as an open one may be deleted. */
  holds(location: ObjectLocation): boolean {
    const { offset, sizeBytes, kind, arena } = location;
    if (!ARENA_NAME.test(arena)) return false;
    const directory = kind === "memory" ? this.#options.memoryDirectory : this.#options.spillDirectory;
    const file = this.#files.openToRead(`${directory}/${arena}`);
    if (file === undefined) {
      this.#spillIndices.forget(arena);
      const place = this.#spillIndices.placeOf(location);
      return place !== undefined && this.holds(place);
    }
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
    // Not zeroed: the read writes every byte.
    const bytes = Buffer.allocUnsafeSlow(location.sizeBytes);
    if (!file.read(location.offset, bytes)) throw lostError(location, "its file is shorter than that");
    this.counters.copiedBytes += location.sizeBytes;
    return bytes;
  }

  /** @returns undefined when there is no such file */
  #fileOf(location: ObjectLocation): StoreFile | undefined {
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
    if (file === undefined) return undefined;
    if (this.#open.size >= OPEN_FILES_MAX) this.#closeOldest();
    this.#open.set(key, { file, usedMs: nowMs });
    this.#closeIdleLater();
    return file;
  }

  #closeOldest(): void {
    for (const key of this.#open.keys()) {
      this.#close(key);
      return;
    }
  }

  #close(key: string): void {
    this.#open.get(key)?.file.close();
    this.#open.delete(key);
  }

  #closeIdleLater(): void {
    if (this.#idleTimer !== undefined) return;
    this.#idleTimer = setTimeout(() => {
      this.#idleTimer = undefined;
      const beforeMs = performance.now() - IDLE_FILES_KEPT_MS;
      for (const [key, { usedMs }] of this.#open) {
        if (usedMs > beforeMs) break;
        this.#close(key);
      }
      if (this.#open.size > 0) this.#closeIdleLater();
    }, IDLE_FILES_KEPT_MS);
    this.#idleTimer.unref();
  }
}

function partsOf(bytes: Uint8Array, layout: ObjectLayout): Pick<StoredObject, "inBand" | "buffers"> {
  const { buffer, byteOffset } = bytes;
  const view = (part: { offset: number; length: number }): Uint8Array => new Uint8Array(buffer, byteOffset + part.offset, part.length);
  return { inBand: view(layout.inBand), buffers: layout.buffers.map(view) };
}

/** A location comes from another process: its name must stay within the session's directory, and its numbers be numbers. */
function checkLocation(location: ObjectLocation): void {
  if (!isPlaceInStore(location)) throw lostError(location, "that is not a place in the store");
}

/** Whether a location that somebody sent names a file in a folder of the store, and a place in it. */
export function isPlaceInStore({ arena, offset, sizeBytes, kind }: ObjectLocation): boolean {
  const isPlace = Number.isSafeInteger(offset) && offset >= 0 && Number.isSafeInteger(sizeBytes) && sizeBytes > 0;
  return isPlace && typeof arena === "string" && ARENA_NAME.test(arena) && (kind === "memory" || kind === "disk");
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
