/**
 * The store of other nodes' copies: the daemon as a writer of the store.
 *
 * Makes room as `put` does: idle copies go first, then the spill disk takes the rest. The store's books count a copy once it is complete; until then its memory is counted
 * here. The daemon's arenas are spilled like those of any process, once no copy in them is still arriving.
 */
import type { ProcessId } from "../../base/ids.ts";
import { ArenaWriter, arenaBytesFor } from "../../objects/arenas/arena-writer.ts";
import { storeTagOf } from "../../objects/store/local-store.ts";
import type { ObjectExtent } from "../../objects/arenas/object-extent.ts";
import type { StoreFolders } from "../../objects/transfer/served-object.ts";
import type { Handlers } from "../../wire/tables/message-table.ts";
import type { MessagesToProcess } from "../../wire/tables/messages-to-process.ts";
import { MESSAGE, type WireLocation } from "../../wire/messages.ts";
import { locationOf } from "./copy-key.ts";
import type { StoreService } from "./store-service.ts";

interface CopyStoreOptions extends StoreFolders {
  processId: ProcessId;
  store: StoreService;
  /** Drops copies that nobody reads, if there are any. */
  evict: (bytes: number) => void;
}

export class CopyStore {
  readonly #options: CopyStoreOptions;
  readonly #writer: ArenaWriter;
  /** Memory of copies that are still arriving. */
  #comingBytes = 0;
  /** Arenas to spill once their arriving copies are complete. */
  readonly #retiring = new Set<string>();

  constructor(options: CopyStoreOptions) {
    this.#options = options;
    const { processId, store, memoryDirectory, spillDirectory } = options;
    this.#writer = new ArenaWriter({
      memoryDirectory,
      spillDirectory,
      processTag: storeTagOf(processId),
      arenaBytes: arenaBytesFor(store.quotaBytes),
      quota: { freeBytes: () => store.freeBytes },
      onArenaChanged: (arena, kind, capacityBytes) => store.handlers[MESSAGE.STORE_ARENA]([arena, kind, capacityBytes], { id: processId }),
      // Pieces are written with system calls, which a full file system refuses.
      memory: undefined,
    });
  }

  get comingBytes(): number {
    return this.#comingBytes;
  }

  /** @throws ObjectStoreFullError, OutOfDiskError when there is room neither in memory nor on the spill disk */
  allocate(sizeBytes: number, { avoidMemory }: { avoidMemory: boolean }): ObjectExtent {
    const lackingBytes = sizeBytes - this.#options.store.freeBytes;
    if (!avoidMemory && lackingBytes > 0) this.#options.evict(lackingBytes);
    const extent = this.#writer.allocate(sizeBytes, { avoidMemory });
    if (extent.location.kind === "memory") this.#comingBytes += sizeBytes;
    return extent;
  }

  /** Everything is there: anybody on this node may read it. */
  seal(extent: ObjectExtent): WireLocation {
    const { processId, store } = this.#options;
    const { arena, offset, sizeBytes, kind } = extent.location;
    const location: WireLocation = [arena, offset, sizeBytes, kind];
    extent.seal();
    this.#came(extent);
    store.handlers[MESSAGE.STORE_SEALED]([[location, processId]], { id: processId });
    this.#retireWhenDone();
    return location;
  }

  /** Drops an incomplete copy. `giveBack` ends the writes under way, and the extent. */
  abandon(extent: ObjectExtent, giveBack: () => void): void {
    giveBack();
    this.#came(extent);
    this.#retireWhenDone();
  }

  free(location: WireLocation): void {
    this.#options.store.free(location, { reused: false });
  }

  /** Handlers of the store's messages to its writers. */
  readonly handlers: Handlers<
    Pick<MessagesToProcess, typeof MESSAGE.STORE_REUSE | typeof MESSAGE.STORE_RETIRE | typeof MESSAGE.ARENA_LOST>
  > = {
    [MESSAGE.STORE_REUSE]: (locations) => {
      for (const location of locations) this.#writer.free(locationOf(location));
    },
    [MESSAGE.STORE_RETIRE]: (arenas) => {
      for (const arena of arenas) this.#retiring.add(arena);
      this.#retireWhenDone();
    },
    [MESSAGE.ARENA_LOST]: ([arena]) => this.#writer.abandon(arena),
  };

  close(): void {
    this.#writer.close();
  }

  #came({ location }: ObjectExtent): void {
    if (location.kind === "memory") this.#comingBytes -= location.sizeBytes;
  }

  #retireWhenDone(): void {
    const done = Array.from(this.#retiring).filter((arena) => !this.#writer.hasOpenExtents(arena));
    if (done.length === 0) return;
    for (const arena of done) {
      this.#retiring.delete(arena);
      this.#writer.abandon(arena);
    }
    // The store waits for it in the same turn: it is not answered inside its own question.
    queueMicrotask(() => this.#options.store.handlers[MESSAGE.STORE_RETIRE](done, { id: this.#options.processId }));
  }
}
