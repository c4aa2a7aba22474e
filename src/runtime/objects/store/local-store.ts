/**
 * The object store as one process sees it: writes into its own arenas, reads all arenas, and informs the daemon's ledger.
 *
 * Keeps a stored object while it is read: a mapped view pins the object's entry until the memory is unreachable, so an extent is never reused under a
 * reader. The daemon sends how much of the quota is left, and this file subtracts later writes.
 */
import { type NodeTag, nodeTagOf, type ProcessId } from "../../base/ids.ts";
import { MESSAGE, type WireLocation } from "../../wire/messages.ts";
import { ArenaReader } from "../arenas/arena-reader.ts";
import { ArenaWriter, arenaBytesFor } from "../arenas/arena-writer.ts";
import type { DaemonChannel } from "../daemon-channel.ts";
import { COLLECT_ABOVE } from "../limits.ts";
import type { ObjectEntry } from "../object-entry.ts";
import type { ObjectTable } from "../object-table.ts";
import { RemoteCopies } from "./remote-copies.ts";
import type { Handlers } from "../../wire/tables/message-table.ts";
import type { MessagesToProcess } from "../../wire/tables/messages-to-process.ts";
import { sharedMemory } from "../../os/shared-memory.ts";
import { WatchedHandles } from "../references/watched-handles.ts";
import { fromWire, placeOf, toWire } from "../wire-location.ts";

interface LocalStoreOptions {
  memoryDirectory: string;
  spillDirectory: string;
  processId: ProcessId;
  table: Pick<ObjectTable, "idOf" | "pin" | "unpin">;
  quotaBytes: number;
  channel: DaemonChannel;
  collectGarbage: () => void;
  /** Collections that find the ends of handles and views early. Where they are absent, V8's own collections find them. */
  earlyCollections?: Pick<ConstructorParameters<typeof WatchedHandles>[0], "collectYoung" | "collect"> | undefined;
  /** A view was mapped that nobody is told the end of. */
  onMapped: () => void;
}

/** A mapped object that may still be reachable. */
interface Mapped {
  keeper: ObjectEntry;
  /** The arena of the object's pages; undefined for an object on disk. */
  arena: string | undefined;
  sizeBytes: number;
}

/** How the names of a process' files begin: with its node, so that a location tells where its bytes lie, and then with itself. */
export function storeTagOf(process: ProcessId): string {
  return process.slice(0, 28);
}

/** V8 runs finalizers in tasks of their own after a collection. */
const FINALIZED_WITHIN_MS = 5;
/** How often a process looks for mapped memory that its user dropped. */
const RELEASE_EVERY_MS = 100;
/** The same for handles alone, as a program may keep some for hours. */
const RELEASE_HANDLES_EVERY_MS = 1000;

/** The process that frees an object, and the link by which it hears of the object if it does not know it. */
interface StoredFor {
  readonly owner: ProcessId;
  readonly link?: number | undefined;
}

type StoreMessage =
  | typeof MESSAGE.STORE_REUSE
  | typeof MESSAGE.STORE_STATUS
  | typeof MESSAGE.STORE_COLLECT
  | typeof MESSAGE.STORE_RETIRE
  | typeof MESSAGE.STORE_SPILLED;

export class LocalStore {
  readonly #options: LocalStoreOptions;
  /** Objects of other nodes. */
  readonly copies: RemoteCopies;
  /** Handles of stored objects. */
  readonly handles: WatchedHandles;
  readonly #processTag: string;
  readonly #reader: ArenaReader;
  #writer: ArenaWriter | undefined;
  readonly #mapped = new Map<number, Mapped>();
  /** Mapped objects by arena, and the arenas whose number has not been told. */
  readonly #mappedIn = new Map<string, number>();
  readonly #untold = new Set<string>();
  /** Places of objects that other processes wrote and this one frees. */
  readonly #claimed = new Set<string>();
  /** Nodes that have died. */
  readonly #nodesGone = new Set<NodeTag>();
  #restored: [objects: number, bytes: number] = [0, 0];
  #nextToken = 1;
  #usedBytes = 0;
  /** Bytes that this process wrote to memory, less those it freed; and the part that `usedBytes` includes. */
  #writtenBytes = 0;
  #seenBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #isTelling = false;
  #isClosed = false;

  constructor(options: LocalStoreOptions) {
    this.#options = options;
    const { processId, table, channel } = options;
    this.#processTag = storeTagOf(processId);
    this.copies = new RemoteCopies({
      processId,
      idOf: (entry) => table.idOf(entry),
      fetch: (object, purpose) => channel.fetch(object, purpose),
      release: (location) => channel.copyReleased(location),
    });
    this.#reader = new ArenaReader({ memoryDirectory: options.memoryDirectory, spillDirectory: options.spillDirectory });
    this.handles = new WatchedHandles({
      memory: options.earlyCollections === undefined ? undefined : sharedMemory(),
      collectYoung: () => options.earlyCollections?.collectYoung(),
      collect: () => options.earlyCollections?.collect() ?? 0,
      later: (run) => void setImmediate(run),
      onWatched: () => this.#watchUnreachable(),
    });
  }

  /** Views that are mapped, as far as is known. */
  get mappedCount(): number {
    return this.#mapped.size;
  }

  /** Bytes copied and mapped by reads here; for tests and statistics. */
  get counters(): ArenaReader["counters"] {
    return this.#reader.counters;
  }

  /** @throws ObjectStoreFullError, OutOfDiskError when there is room neither in memory nor on the spill disk */
  write(inBand: Uint8Array, buffers: readonly Uint8Array[], { owner, link }: StoredFor): WireLocation {
    this.releaseUnreachable();
    this.#writer ??= this.#newWriter();
    const location = toWire(this.#writer.write(inBand, buffers));
    if (location[3] === "memory") this.#writtenBytes += location[2];
    this.#options.channel.sealed(location, owner, link);
    return location;
  }

  /**
   * Whether memory is nearly used up. A program that never yields to the event loop, such as a loop of `await ref` over settled refs, keeps all it dropped:
   * neither finalizers nor the daemon's messages run. So a read then waits for a turn of the loop.
   */
  get isShort(): boolean {
    return this.#stored > this.#options.quotaBytes * COLLECT_ABOVE;
  }

  /** The bytes of an object that is on this node, itself or by a copy. `keeper` is pinned for as long as a mapped view of them can be reached. */
  read(of: WireLocation, keeper: ObjectEntry | undefined): { inBand: Uint8Array; buffers: readonly Uint8Array[] } {
    const location = this.copies.readable(of, keeper);
    // Before the next mapping: a loop of reads then gives back as it goes, and writers have pages again.
    this.releaseUnreachable();
    const token = this.#nextToken;
    this.#nextToken += 1;
    const object = this.#reader.read(fromWire(location), token);
    if (object.restored) {
      this.#restored[0] += 1;
      this.#restored[1] += location[2];
      this.#tellUse();
    }
    if (object.mapped && keeper !== undefined) {
      this.#options.table.pin(keeper);
      const arena = location[3] === "memory" && !object.restored ? location[0] : undefined;
      this.#mapped.set(token, { keeper, arena, sizeBytes: location[2] });
      this.#countMapped(arena, 1);
      this.handles.mapped(location[2]);
      this.#watchUnreachable();
      this.#options.onMapped();
    }
    return object;
  }

  /** A worker's answer named an object that it wrote for this process. */
  claim(location: WireLocation): void {
    this.#claimed.add(placeOf(location));
  }

  /** Hands the duty to free the object to another process. */
  handedOver(location: WireLocation): void {
    this.#claimed.delete(placeOf(location));
  }

  /** Frees objects that their writer never announced: the writer or a link to it has ended, and all its messages have been read. */
  writerEnded(locations: readonly WireLocation[], link?: number): void {
    const unknown = locations.filter((location) => !this.#claimed.has(placeOf(location)));
    if (unknown.length > 0 && !this.#isClosed) this.#options.channel.disown(unknown, link);
  }

  /** Frees an object that no process needs. Pages in this process's own arenas are free at once, without a message to the daemon. */
  freed(location: WireLocation): void {
    if (this.#claimed.size > 0) this.#claimed.delete(placeOf(location));
    // A disk file of this process is deleted here. Pages of an arena that is being spilled do not come back.
    const isOwn = this.#writer !== undefined && location[0].startsWith(this.#processTag);
    const hasPages = isOwn && this.#writer?.free(fromWire(location)) === true;
    // A loop that puts and disposes without ever yielding must not seem to fill the store.
    if (hasPages) this.#writtenBytes -= location[2];
    this.#options.channel.freed(location, hasPages || (isOwn && location[3] === "disk"));
  }

  /** Notes that the bytes of an owned object are gone. Its file is not written again, as those bytes would be lost, too. */
  lost(location: WireLocation): void {
    this.#claimed.delete(placeOf(location));
    this.abandon(location);
    // The daemon counts freed bytes of its own node alone.
    if (location[3] === "memory" && this.copies.isOfNode(location)) this.#writtenBytes -= location[2];
    this.#options.channel.arenaLost(location);
    this.#options.channel.freed(location, true);
  }

  /** Stops writing to a file, if it is one of this process. */
  abandon(location: WireLocation): void {
    if (location[3] === "memory") this.#writer?.abandon(location[0]);
  }

  /** Whether an object's bytes are in their place, as far as it is known here: those of another node are as long as it lives, and where this process knows of a copy here. */
  canRead(location: WireLocation, of: ObjectEntry): boolean {
    if (this.copies.isOfNode(location)) return this.#reader.holds(fromWire(location));
    return !this.#nodesGone.has(nodeTagOf(location[0])) || this.copies.isHere(location, of);
  }

  /** A node is dead, and its store with it. */
  nodeGone(node: NodeTag): void {
    this.#nodesGone.add(node);
  }

  /** Handlers of the daemon's messages about the node's store. */
  get handlers(): Pick<Handlers<MessagesToProcess>, StoreMessage> {
    return {
      // Extents that nobody needs any more may be written again.
      [MESSAGE.STORE_REUSE]: (locations) => {
        for (const location of locations) this.#writer?.free(fromWire(location));
      },
      [MESSAGE.STORE_STATUS]: ({ usedBytes, seenBytes }) => {
        this.#usedBytes = usedBytes;
        this.#seenBytes = seenBytes;
      },
      [MESSAGE.STORE_COLLECT]: () => {
        this.#options.collectGarbage();
        this.#collected();
      },
      // The daemon is about to spill these arenas, so writing to them ends now.
      [MESSAGE.STORE_RETIRE]: (arenas) => {
        for (const arena of arenas) this.#writer?.abandon(arena);
        this.#options.channel.retired(arenas);
      },
      // Files that are let go of give their memory back.
      [MESSAGE.STORE_SPILLED]: (arenas) => this.#reader.forget(arenas),
    };
  }

  /** Lets go of mapped views and of handles that the user has dropped. */
  releaseUnreachable(): void {
    if (this.#mapped.size === 0 && this.handles.count === 0) return;
    for (const token of this.#reader.drainReleased()) {
      const mapped = this.#mapped.get(token);
      this.#mapped.delete(token);
      if (mapped === undefined) continue;
      this.#countMapped(mapped.arena, -1);
      this.handles.unmapped(mapped.sizeBytes);
      this.#options.table.unpin(mapped.keeper);
    }
    this.handles.release();
    if (this.#mapped.size === 0 && this.handles.count === 0) this.#stopWatching();
  }

  /** Waits for the finalizers, which run some milliseconds after a collection. */
  #collected(): void {
    const timer = setTimeout(() => {
      this.releaseUnreachable();
      if (!this.#isClosed) this.#options.channel.collected();
    }, FINALIZED_WITHIN_MS);
    timer.unref();
  }

  close(): void {
    this.#isClosed = true;
    this.#stopWatching();
    this.#writer?.close();
    this.#reader.close();
  }

  /** Bytes of the store in memory: the daemon's last figure, and later writes. */
  get #stored(): number {
    return this.#usedBytes + this.#writtenBytes - this.#seenBytes;
  }

  #newWriter(): ArenaWriter {
    const { memoryDirectory, spillDirectory, quotaBytes, channel } = this.#options;
    return new ArenaWriter({
      memoryDirectory,
      spillDirectory,
      processTag: this.#processTag,
      arenaBytes: arenaBytesFor(quotaBytes),
      quota: { freeBytes: () => quotaBytes - this.#stored },
      onArenaLost: (arena) => channel.arenaLost([arena, 0, 0, "memory"]),
      onArenaChanged: (arena, kind, capacityBytes) => channel.arenaChanged(arena, kind, capacityBytes),
    });
  }

  #countMapped(arena: string | undefined, change: 1 | -1): void {
    if (arena === undefined) return;
    const before = this.#mappedIn.get(arena) ?? 0;
    const count = before + change;
    if (count === 0) this.#mappedIn.delete(arena);
    else this.#mappedIn.set(arena, count);
    // Whether there is one is what decides about spilling.
    if (before > 0 && count > 0) return;
    this.#untold.add(arena);
    this.#tellUse();
  }

  /** With the next batch: a loop of reads is one message. */
  #tellUse(): void {
    if (this.#isTelling) return;
    this.#isTelling = true;
    setImmediate(() => {
      this.#isTelling = false;
      if (this.#isClosed) return;
      const mapped = Array.from(this.#untold, (arena): [string, number] => [arena, this.#mappedIn.get(arena) ?? 0]);
      const restored = this.#restored;
      this.#untold.clear();
      this.#restored = [0, 0];
      this.#options.channel.used({ mapped, restored });
    });
  }

  #watchUnreachable(): void {
    if (this.#timer !== undefined || this.#isClosed) return;
    const look = (): void => {
      this.#timer = undefined;
      this.releaseUnreachable();
      this.#writer?.trim();
      if (this.#mapped.size > 0 || this.handles.count > 0) this.#watchUnreachable();
    };
    this.#timer = setTimeout(look, this.#mapped.size > 0 ? RELEASE_EVERY_MS : RELEASE_HANDLES_EVERY_MS);
    this.#timer.unref();
  }

  #stopWatching(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
