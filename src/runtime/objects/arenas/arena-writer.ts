/**
 * Writes the objects of one process into the store: into its own arenas, and into files on the spill disk when memory is short.
 *
 * Chooses the place of an object without a question to another process, so a put is synchronous: recycled pages first, then fresh pages, then a new arena,
 * then disk. An object's extents are reused only after `free`, which the daemon's ledger orders once no reader is left. The writer owns the descriptors of
 * its files. The files outlive the writer, and the daemon deletes those of a dead writer. The writer itself deletes arenas that stay empty for some seconds.
 */
import { messageOf } from "../../base/texts/describe.ts";
import { ObjectStoreFullError, OutOfDiskError } from "../../base/errors.ts";
import { type SharedMemory, sharedMemory } from "../../os/shared-memory.ts";
import { type StoreFile, type StoreFiles, storeFiles } from "../../os/files/store/store-file.ts";
import { Arena, type ObjectParts, piecesOf } from "./arena.ts";
import { extentBytesOf } from "./arena-extents.ts";
import { layoutOf, type ObjectLocation } from "./layout.ts";
import { ARENAS_IN_QUOTA, DEDICATED_FIT, EMPTY_ARENA_KEPT_MS } from "../limits.ts";
import { ObjectExtent } from "./object-extent.ts";

interface ArenaWriterOptions {
  memoryDirectory: string;
  spillDirectory: string;
  /** Makes the names of this process' files unique in the session. */
  processTag: string;
  /** The remaining part of the node's quota for objects in memory. */
  quota: { freeBytes(): number };
  /** An arena or a file was made, or deleted (0 bytes); always told before the first object in it. */
  onArenaChanged?: (arena: string, kind: "memory" | "disk", capacityBytes: number) => void;
  /** The file of an arena was deleted or cut short by somebody else: nothing is written there any more. */
  onArenaLost?: (arena: string) => void;
  /** How large arenas are at most; 64 MB where nothing is said. */
  arenaBytes?: number;
  files?: StoreFiles;
  memory?: SharedMemory | undefined;
}

/** The first arena is small: most processes never store more than a few results. */
const FIRST_ARENA_BYTES = 4 * 1024 * 1024;
const ARENA_BYTES = 64 * 1024 * 1024;
/**
 * An object larger than this part of an arena (16 MB of the usual 64) gets an arena of exactly its size. Otherwise small objects would break up the room
 * for the next large one.
 */
const DEDICATED_FRACTION = 1 / 4;

/** How an object gets its room in an arena. */
interface Place {
  recycled(arena: Arena): number | undefined;
  fresh(arena: Arena): number | undefined;
}

interface Placed {
  arena: Arena;
  location: ObjectLocation;
}

/** How large the arenas of a store with this quota are at most. */
export function arenaBytesFor(quotaBytes: number): number {
  return Math.min(ARENA_BYTES, Math.max(FIRST_ARENA_BYTES, Math.floor(quotaBytes / ARENAS_IN_QUOTA)));
}

/** Errors of the system for a full disk, a used-up quota, a file beyond its size limit, and a file system in memory that is out of memory. */
const NO_ROOM = new Set(["ENOSPC", "EDQUOT", "EFBIG", "ENOMEM"]);

export class ArenaWriter {
  readonly #options: ArenaWriterOptions;
  readonly #files: StoreFiles;
  readonly #memory: SharedMemory | undefined;
  readonly #arenas = new Map<string, Arena>();
  readonly #diskFiles = new Map<string, number>();
  readonly #arenaBytes: number;
  readonly #dedicatedMinBytes: number;
  #nextNumber = 1;
  #trimTimer: NodeJS.Timeout | undefined;

  constructor(options: ArenaWriterOptions) {
    this.#options = options;
    this.#arenaBytes = options.arenaBytes ?? ARENA_BYTES;
    this.#dedicatedMinBytes = this.#arenaBytes * DEDICATED_FRACTION;
    this.#files = options.files ?? storeFiles;
    this.#memory = "memory" in options ? options.memory : sharedMemory();
  }

  /** Bytes of files in memory, taken or free to be taken again. */
  get reservedBytes(): number {
    let total = 0;
    for (const arena of this.#arenas.values()) total += arena.extents.highWaterBytes;
    return total;
  }

  /** Pages that hold objects. */
  get usedBytes(): number {
    let total = 0;
    for (const arena of this.#arenas.values()) total += arena.extents.usedBytes;
    return total;
  }

  /**
   * Stores an object; its bytes are copied, so the caller may go on changing them.
   *
   * @throws ObjectStoreFullError when the quota is used up and the spill directory cannot be written
   * @throws OutOfDiskError when the quota is used up and the spill disk is full
   */
  write(inBand: Uint8Array, buffers: readonly Uint8Array[]): ObjectLocation {
    const bufferLengths = buffers.map((buffer) => buffer.byteLength);
    const parts: ObjectParts = { layout: layoutOf(inBand.byteLength, bufferLengths), inBand, buffers };
    const place = {
      recycled: (arena: Arena) => arena.writeRecycled(parts, this.#memory),
      fresh: (arena: Arena) => arena.writeFresh(parts),
    };
    return this.#placeInMemory(parts.layout.sizeBytes, place)?.location ?? this.#writeToDisk(parts);
  }

  /**
   * Takes room for an object whose bytes come piece by piece, in the form in which they are stored. It is nobody's to read before `seal`.
   *
   * @throws ObjectStoreFullError, OutOfDiskError as `write` does
   */
  allocate(sizeBytes: number, { avoidMemory }: { avoidMemory: boolean } = { avoidMemory: false }): ObjectExtent {
    const place = {
      recycled: (arena: Arena) => arena.takeExtent(sizeBytes, "recycled"),
      fresh: (arena: Arena) => arena.takeExtent(sizeBytes, "fresh"),
    };
    const placed = avoidMemory ? undefined : this.#placeInMemory(sizeBytes, place);
    if (placed === undefined) return this.#allocateOnDisk(sizeBytes);
    const { arena, location } = placed;
    return new ObjectExtent(location, arena.file, (isSealed) => {
      arena.extentDone();
      if (!isSealed) this.free(location);
    });
  }

  /**
   * Frees the pages of an object that no process can reach any more. A second call for the same object is harmless.
   *
   * @returns whether this freed pages in memory
   */
  free(location: ObjectLocation): boolean {
    if (location.kind === "disk") {
      if (this.#diskFiles.delete(location.arena)) this.#deleteFile(location.arena, "disk");
      return false;
    }
    const arena = this.#arenas.get(location.arena);
    if (arena === undefined || !arena.extents.free(location.offset)) return false;
    if (arena.extents.isEmpty) {
      arena.emptySinceMs = performance.now();
      this.#trimLater();
    }
    return true;
  }

  /**
   * Stops all writing to an arena: the daemon will spill it, or some program has deleted or cut its file. Readers still read the rest, and
   * the daemon deletes the file once no object in it is needed.
   */
  abandon(name: string): void {
    this.#arenas.get(name)?.close();
    this.#arenas.delete(name);
  }

  /** Whether somebody writes to an arena piece by piece. */
  hasOpenExtents(name: string): boolean {
    return this.#arenas.get(name)?.hasOpenExtents === true;
  }

  /** Deletes arenas that have been empty for a while. It also happens by itself. */
  trim(nowMs: number = performance.now()): void {
    for (const arena of this.#arenas.values()) {
      if (arena.emptySinceMs !== undefined && nowMs - arena.emptySinceMs >= EMPTY_ARENA_KEPT_MS) this.#deleteArena(arena);
    }
  }

  close(): void {
    clearTimeout(this.#trimTimer);
    for (const arena of this.#arenas.values()) arena.close();
    this.#arenas.clear();
    this.#diskFiles.clear();
  }

  #placeInMemory(sizeBytes: number, place: Place): Placed | undefined {
    if (extentBytesOf(sizeBytes) > this.#options.quota.freeBytes()) return undefined;
    const recycled = this.#intact(() => this.#arenaWithRecycled(sizeBytes));
    if (recycled !== undefined) return this.#placed(recycled, place.recycled(recycled), sizeBytes);
    try {
      return this.#placeFresh(sizeBytes, place);
    } catch (error) {
      if (!isNoRoom(error)) throw error;
    }
    // The file system is full before the quota is: empty arenas give their pages back, now instead of in some seconds.
    if (!this.#deleteEmptyArenas()) return undefined;
    try {
      return this.#placeFresh(sizeBytes, place);
    } catch (error) {
      if (!isNoRoom(error)) throw error;
      return undefined;
    }
  }

  /** The arena that is chosen, once those are left out whose files somebody deleted or cut short (a cleaner of temporary files does). */
  #intact(choose: () => Arena | undefined): Arena | undefined {
    for (;;) {
      const arena = choose();
      if (arena === undefined || arena.isIntact) return arena;
      this.abandon(arena.name);
      this.#options.onArenaLost?.(arena.name);
    }
  }

  #placeFresh(sizeBytes: number, place: Place): Placed | undefined {
    const existing = sizeBytes < this.#dedicatedMinBytes ? this.#intact(() => this.#arenaWithFresh(sizeBytes)) : undefined;
    const arena = existing ?? this.#newArena(sizeBytes);
    try {
      return this.#placed(arena, place.fresh(arena), sizeBytes);
    } catch (error) {
      if (existing === undefined) this.#deleteArena(arena);
      throw error;
    }
  }

  #placed(arena: Arena, offset: number | undefined, sizeBytes: number): Placed | undefined {
    if (offset === undefined) return undefined;
    arena.emptySinceMs = undefined;
    return { arena, location: { arena: arena.name, offset, sizeBytes, kind: "memory" } };
  }

  /** Best fit over all arenas. */
  #arenaWithRecycled(sizeBytes: number): Arena | undefined {
    let best: Arena | undefined;
    let bestBytes = Number.POSITIVE_INFINITY;
    for (const arena of this.#arenas.values()) {
      if (arena.isDedicated && sizeBytes * DEDICATED_FIT < arena.extents.capacityBytes) continue;
      const fitBytes = arena.extents.bestFit(sizeBytes);
      if (fitBytes !== undefined && fitBytes < bestBytes) {
        best = arena;
        bestBytes = fitBytes;
      }
    }
    return best;
  }

  #arenaWithFresh(sizeBytes: number): Arena | undefined {
    const wanted = extentBytesOf(sizeBytes);
    for (const arena of this.#arenas.values()) if (!arena.isDedicated && arena.extents.freshBytes >= wanted) return arena;
    return undefined;
  }

  #newArena(sizeBytes: number): Arena {
    const isDedicated = sizeBytes >= this.#dedicatedMinBytes;
    if (isDedicated && this.#files.freeBytes(this.#options.memoryDirectory) < sizeBytes) throw noRoomError(this.#options.memoryDirectory);
    const stepBytes = this.#arenas.size === 0 && sizeBytes <= FIRST_ARENA_BYTES ? FIRST_ARENA_BYTES : this.#arenaBytes;
    const capacityBytes = isDedicated ? extentBytesOf(sizeBytes) : stepBytes;
    const name = this.#newName();
    const path = `${this.#options.memoryDirectory}/${name}`;
    const arena = new Arena({ name, path, file: this.#files.create(path), capacityBytes, isDedicated });
    this.#arenas.set(name, arena);
    this.#options.onArenaChanged?.(name, "memory", capacityBytes);
    return arena;
  }

  #writeToDisk(parts: ObjectParts): ObjectLocation {
    const { sizeBytes } = parts.layout;
    const { location, file } = this.#newDiskFile(sizeBytes, (made) => made.write(0, piecesOf(parts)));
    file.close();
    this.#diskFileMade(location);
    return location;
  }

  #allocateOnDisk(sizeBytes: number): ObjectExtent {
    const { location, file } = this.#newDiskFile(sizeBytes, () => {});
    return new ObjectExtent(location, file, (isSealed) => {
      file.close();
      if (isSealed) this.#diskFileMade(location);
      else this.#files.remove(`${this.#options.spillDirectory}/${location.arena}`);
    });
  }

  #newDiskFile(sizeBytes: number, fill: (file: StoreFile) => void): { location: ObjectLocation; file: StoreFile } {
    const directory = this.#options.spillDirectory;
    const name = this.#newName();
    const path = `${directory}/${name}`;
    try {
      // Asked first, so that a large object does not fill a disk to the brim only to be refused.
      if (this.#files.spillRoomBytes(directory) < sizeBytes) throw noRoomError(directory);
      const file = this.#files.create(path);
      try {
        fill(file);
      } catch (error) {
        file.close();
        this.#files.remove(path);
        throw error;
      }
      return { location: { arena: name, offset: 0, sizeBytes, kind: "disk" }, file };
    } catch (error) {
      throw this.#fullError(sizeBytes, error);
    }
  }

  #diskFileMade({ arena, sizeBytes }: ObjectLocation): void {
    this.#options.onArenaChanged?.(arena, "disk", sizeBytes);
    this.#diskFiles.set(arena, sizeBytes);
  }

  #fullError(sizeBytes: number, cause: unknown): ObjectStoreFullError | OutOfDiskError {
    const { spillDirectory, quota } = this.#options;
    const details = { sizeBytes, memoryFreeBytes: quota.freeBytes(), spillDirectory };
    const memory = `an object of ${sizeBytes} bytes does not fit the ${Math.max(0, details.memoryFreeBytes)} bytes that are left of the object store's memory`;
    const hint = "Drop references that are no longer needed, or call init with a larger objectStoreMemoryBytes or another spillDirectory.";
    if (isNoRoom(cause)) {
      const message = `Cannot store an object: ${memory}, and the disk of ${spillDirectory} is full (95 % of it may be used). ${hint}`;
      return new OutOfDiskError(message, { reason: "the memory and the spill disk are full", hint, details, cause });
    }
    const message = `Cannot store an object: ${memory}, and ${spillDirectory} cannot be written: ${messageOf(cause)}. ${hint}`;
    return new ObjectStoreFullError(message, {
      reason: "the memory is full and the spill directory cannot be written",
      hint,
      details,
      cause,
    });
  }

  #newName(): string {
    const name = `${this.#options.processTag}-${this.#nextNumber}`;
    this.#nextNumber += 1;
    return name;
  }

  #deleteEmptyArenas(): boolean {
    const empty = Array.from(this.#arenas.values()).filter((arena) => arena.extents.isEmpty);
    for (const arena of empty) this.#deleteArena(arena);
    return empty.length > 0;
  }

  #deleteArena(arena: Arena): void {
    arena.close();
    this.#arenas.delete(arena.name);
    this.#deleteFile(arena.name, "memory");
  }

  #deleteFile(name: string, kind: "memory" | "disk"): void {
    const directory = kind === "memory" ? this.#options.memoryDirectory : this.#options.spillDirectory;
    this.#files.remove(`${directory}/${name}`);
    this.#options.onArenaChanged?.(name, kind, 0);
  }

  #trimLater(): void {
    if (this.#trimTimer !== undefined) return;
    this.#trimTimer = setTimeout(() => {
      this.#trimTimer = undefined;
      this.trim();
      if (Array.from(this.#arenas.values()).some((arena) => arena.emptySinceMs !== undefined)) this.#trimLater();
    }, EMPTY_ARENA_KEPT_MS + 1);
    this.#trimTimer.unref();
  }
}

function isNoRoom(error: unknown): boolean {
  return NO_ROOM.has((error as NodeJS.ErrnoException).code ?? "");
}

function noRoomError(directory: string): Error {
  return Object.assign(new Error(`no space left in ${directory}`), { code: "ENOSPC" });
}
