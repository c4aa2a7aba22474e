/**
 * The object store as one process sees it: writes into arenas of its own, reads any, and tells the daemon's ledger.
 *
 * Decides how a stored object is kept while somebody reads it: a mapped view pins the object's entry until the memory is unreachable, so an
 * extent is never reused under a reader. How much of the quota is left comes from the daemon and is corrected by what was written since.
 */
import type { ProcessId } from "../base/ids.ts";
import type { StoreStatusHeader, WireLocation } from "../wire/messages.ts";
import { ArenaReader } from "./arena-reader.ts";
import { ArenaWriter, type ObjectLocation } from "./arena-writer.ts";
import type { DaemonChannel } from "./daemon-channel.ts";
import type { ObjectEntry } from "./object-entry.ts";

export interface LocalStoreOptions {
  memoryDirectory: string;
  spillDirectory: string;
  processTag: string;
  quotaBytes: number;
  channel: DaemonChannel;
  pin: (entry: ObjectEntry) => void;
  unpin: (entry: ObjectEntry) => void;
  /** Nothing was read for a while, and mapped views are left. */
  onQuiet: () => void;
}

/** How often a process looks for mapped memory that its user dropped. */
const RELEASE_EVERY_MS = 100;
/** After a second without a read, views that nobody uses are likely, and an idle process does not collect by itself. */
const QUIET_TICKS = 10;

export class LocalStore {
  readonly #options: LocalStoreOptions;
  readonly #reader: ArenaReader;
  #writer: ArenaWriter | undefined;
  readonly #mapped = new Map<number, ObjectEntry>();
  #nextToken = 1;
  #usedBytes = 0;
  #writtenSinceStatus = 0;
  #timer: NodeJS.Timeout | undefined;
  #quietTicks = 0;

  constructor(options: LocalStoreOptions) {
    this.#options = options;
    this.#reader = new ArenaReader({ memoryDirectory: options.memoryDirectory, spillDirectory: options.spillDirectory });
  }

  /** Bytes copied and mapped by reads here; for tests and statistics. */
  get counters(): ArenaReader["counters"] {
    return this.#reader.counters;
  }

  /** @throws ObjectStoreFullError, OutOfDiskError when there is room neither in memory nor on the spill disk */
  write(inBand: Uint8Array, buffers: readonly Uint8Array[], owner: ProcessId): WireLocation {
    this.releaseUnreachable();
    this.#writer ??= this.#newWriter();
    const location = toWire(this.#writer.write(inBand, buffers));
    if (location[3] === "memory") this.#writtenSinceStatus += location[2];
    this.#options.channel.sealed(location, owner);
    return location;
  }

  /** The bytes of an object. `keeper` is pinned for as long as a mapped view of them can be reached. */
  read(location: WireLocation, keeper: ObjectEntry | undefined): { inBand: Uint8Array; buffers: readonly Uint8Array[] } {
    // Before more is mapped: who reads in a loop gives back as it goes, and the writers have pages to write to again.
    this.releaseUnreachable();
    const token = this.#nextToken;
    this.#nextToken += 1;
    const object = this.#reader.read(fromWire(location), token);
    this.#quietTicks = 0;
    if (object.mapped && keeper !== undefined) {
      this.#options.pin(keeper);
      this.#mapped.set(token, keeper);
      this.#watchMapped();
    }
    return object;
  }

  /** An object that this process owns is needed by nobody. Pages of its own it has back at once, without a way to the daemon. */
  freed(location: WireLocation): void {
    const isOwn = this.#writer !== undefined && location[0].startsWith(this.#options.processTag);
    if (isOwn) {
      this.#writer?.free(fromWire(location));
      // A loop that puts and disposes without ever yielding must not seem to fill the store.
      if (location[3] === "memory") this.#writtenSinceStatus -= location[2];
    }
    this.#options.channel.freed(location, isOwn);
  }

  /** The bytes of an object that this process owns are gone. Its file is not written again: what goes there would be lost as well. */
  lost(location: WireLocation): void {
    this.abandon(location);
    this.#options.channel.arenaLost(location);
    this.#options.channel.freed(location, true);
  }

  /** Stops writing to a file, if it is one of this process. */
  abandon(location: WireLocation): void {
    if (location[3] === "memory") this.#writer?.abandon(location[0]);
  }

  /** Whether an object's bytes are in their place. */
  canRead(location: WireLocation): boolean {
    return this.#reader.holds(fromWire(location));
  }

  /** Extents that nobody needs any more may be written again. */
  reuse(locations: readonly WireLocation[]): void {
    for (const location of locations) this.#writer?.free(fromWire(location));
  }

  statusChanged(status: StoreStatusHeader): void {
    this.#usedBytes = status.usedBytes;
    this.#writtenSinceStatus = 0;
  }

  /** Lets go of mapped views that the user has dropped. */
  releaseUnreachable(): void {
    if (this.#mapped.size === 0) return;
    for (const token of this.#reader.drainReleased()) {
      const keeper = this.#mapped.get(token);
      this.#mapped.delete(token);
      if (keeper !== undefined) this.#options.unpin(keeper);
    }
    if (this.#mapped.size === 0) this.#stopWatching();
  }

  close(): void {
    this.#stopWatching();
    this.#writer?.close();
    this.#reader.close();
  }

  #newWriter(): ArenaWriter {
    const { memoryDirectory, spillDirectory, processTag, quotaBytes, channel } = this.#options;
    return new ArenaWriter({
      memoryDirectory,
      spillDirectory,
      processTag,
      quota: { freeBytes: () => quotaBytes - this.#usedBytes - this.#writtenSinceStatus },
      onArenaLost: (arena) => channel.arenaLost([arena, 0, 0, "memory"]),
      onArenaChanged: (arena, kind, capacityBytes) => channel.arenaChanged(arena, kind, capacityBytes),
    });
  }

  #watchMapped(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setInterval(() => {
      this.#quietTicks += 1;
      // Once: what survives is in use, and the next read starts the count again.
      if (this.#quietTicks === QUIET_TICKS) this.#options.onQuiet();
      this.releaseUnreachable();
      this.#writer?.trim();
    }, RELEASE_EVERY_MS);
    this.#timer.unref();
  }

  #stopWatching(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

function toWire(location: ObjectLocation): WireLocation {
  return [location.arena, location.offset, location.sizeBytes, location.kind];
}

function fromWire([arena, offset, sizeBytes, kind]: WireLocation): ObjectLocation {
  return { arena, offset, sizeBytes, kind };
}
