/**
 * The object store's part of the node daemon: the shell around the store's ledger, and the owner of spilling.
 *
 * Turns what processes tell of their arenas and objects into events of the ledger, and its effects into messages and deleted files. Tells every process how full the
 * store is, not at every message but often enough that none writes far beyond the quota.
 */
import { type NodeTag, nodeTagOf, type ProcessId } from "../../base/ids.ts";
import type { ObjectLocation } from "../../objects/arenas/layout.ts";
import { IDLE_COPIES_UP_TO, IDS_IN_MESSAGE_MAX } from "../../objects/limits.ts";
import type { SpillDisk } from "../../objects/spilling/spill-disk.ts";
import { storeTagOf } from "../../objects/store/local-store.ts";
import { type ArenaFile, type FreedEffects, StoreLedger } from "../../objects/store/store-ledger.ts";
import { MESSAGE, type WireLocation } from "../../wire/messages.ts";
import type { StoreReport } from "../../wire/objects/store-messages.ts";
import { Spilling } from "./spilling.ts";
import type { Handlers } from "../../wire/tables/message-table.ts";
import type { MessagesOfProcess } from "../../wire/tables/messages-to-daemon.ts";
import { fromWire, placeOf, toWire } from "../../objects/wire-location.ts";

interface StoreServiceOptions {
  quotaBytes: number;
  disk: SpillDisk;
  unlink: (arena: string, kind: "memory" | "disk") => void;
  send: (to: ProcessId, type: number, header: unknown) => void;
  warn: (text: string) => void;
  nowMs: () => number;
}

/** The node's own use of the store: copies of other nodes' objects. */
interface StoreOfNode {
  /** The daemon as a writer. */
  readonly processId: ProcessId;
  /** A message of the store to its writers, for the one in this process. */
  receive(type: number, header: unknown): void;
  /** Called when no process needs the object at this place, or its bytes are gone. */
  onFreed(location: WireLocation): void;
  /** Memory that would be free if it were asked for. */
  readonly idleBytes: number;
  /** Memory that is promised to arriving copies. */
  readonly comingBytes: number;
  makeRoom(bytes: number): void;
}

const STATUS_EVERY_MS = 20;
const NO_COPIES = { comingBytes: 0, idleBytes: 0 };

type StoreMessage =
  | typeof MESSAGE.STORE_ARENA
  | typeof MESSAGE.STORE_SEALED
  | typeof MESSAGE.STORE_FREED
  | typeof MESSAGE.STORE_COLLECT
  | typeof MESSAGE.STORE_RETIRE
  | typeof MESSAGE.STORE_USE
  | typeof MESSAGE.STORE_CLAIM
  | typeof MESSAGE.STORE_LINK_ENDED
  | typeof MESSAGE.ARENA_LOST;

export class StoreService {
  readonly #options: StoreServiceOptions;
  readonly #ledger: StoreLedger;
  readonly #spilling: Spilling;
  /** Connected processes with the bytes that each wrote to memory, less its own freed bytes, as far as the ledger knows. */
  readonly #seenBytes = new Map<ProcessId, number>();
  /** Places that are read for other nodes, how often each, and whom to tell that it may be written again. */
  readonly #held = new Map<string, { count: number; reuse: { writer: ProcessId; location: WireLocation }[] }>();
  #node: StoreOfNode | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: StoreServiceOptions) {
    this.#options = options;
    this.#ledger = new StoreLedger({ quotaBytes: options.quotaBytes });
    this.#spilling = new Spilling({
      ledger: this.#ledger,
      disk: options.disk,
      processes: () => Array.from(this.#seenBytes.keys()),
      send: (to, type, header) => this.#send(to, type, header),
      unlink: (files) => this.#unlink(files),
      warn: options.warn,
      onSpilled: () => this.#tellStatus(),
      nowMs: options.nowMs,
    });
  }

  get report(): StoreReport {
    const { usedBytes, diskBytes, objects } = this.#ledger.statistics;
    return { quotaBytes: this.#options.quotaBytes, usedBytes, diskBytes, objects, ...this.#spilling.statistics };
  }

  /** Registers the node's own copies. */
  setNode(node: StoreOfNode): void {
    this.#node = node;
  }

  /** The free part of the quota, for copies. */
  get freeBytes(): number {
    return this.#options.quotaBytes - this.#ledger.usedBytes - (this.#node?.comingBytes ?? 0);
  }

  get quotaBytes(): number {
    return this.#options.quotaBytes;
  }

  /** The pages of a place are being read: nobody writes there before as many `letGo`. Files that are open may be deleted. */
  hold(location: WireLocation): void {
    const place = placeOf(location);
    const held = this.#held.get(place);
    if (held === undefined) this.#held.set(place, { count: 1, reuse: [] });
    else held.count += 1;
  }

  letGo(location: WireLocation): void {
    const place = placeOf(location);
    const held = this.#held.get(place);
    if (held === undefined) return;
    held.count -= 1;
    if (held.count > 0) return;
    this.#held.delete(place);
    for (const { writer, location: freed } of held.reuse) this.#send(writer, MESSAGE.STORE_REUSE, [freed]);
  }

  joined(process: ProcessId): void {
    this.#seenBytes.set(process, 0);
    this.#tell(process);
  }

  /** Notes the end of a process's connection. Its objects are kept until `processGone`. */
  left(process: ProcessId): void {
    this.#seenBytes.delete(process);
    this.#spilling.processGone(process);
  }

  /** Handlers of processes' messages about stored objects, with the sender. */
  readonly handlers: Handlers<Pick<MessagesOfProcess, StoreMessage>, [from: { readonly id: ProcessId }]> = {
    [MESSAGE.STORE_ARENA]: ([arena, kind, capacityBytes], { id: process }) => {
      this.#ledger.arenaChanged({ process, arena, kind, capacityBytes });
      this.#changed();
    },
    [MESSAGE.STORE_SEALED]: (rows, { id: process }) => {
      for (const [location, owner, link] of rows) {
        this.#see(process, location, 1);
        this.#apply(this.#ledger.sealed({ writer: process, owner, location: fromWire(location), link }), location);
      }
      this.#changed();
    },
    [MESSAGE.STORE_FREED]: (rows, { id: process }) => {
      for (const [location, reused] of rows) {
        if (reused) this.#see(process, location, -1);
        this.free(location, { reused });
      }
      this.#changed();
    },
    [MESSAGE.STORE_COLLECT]: (_nothing, { id: process }) => this.#spilling.collected(process),
    [MESSAGE.STORE_RETIRE]: (arenas, { id: process }) => {
      for (const { unlink } of this.#spilling.retired(process, arenas)) this.#unlink(unlink);
      this.#changed();
    },
    [MESSAGE.STORE_USE]: ({ mapped, restored }, { id: process }) => {
      for (const [arena, count] of mapped) this.#ledger.mapped(process, arena, count);
      this.#spilling.restored(...restored);
      this.#changed();
    },
    [MESSAGE.STORE_CLAIM]: (rows, { id: process }) => {
      for (const [location, link] of rows) this.#apply(this.#ledger.disowned(process, fromWire(location), link), location);
      this.#changed();
    },
    [MESSAGE.STORE_LINK_ENDED]: ([owner, link], { id: process }) =>
      this.#askOwner(owner, this.#ledger.writtenOver({ writer: process, owner, link }), [process, link]),
    [MESSAGE.ARENA_LOST]: (location) => this.arenaLost(location),
  };

  /** Whether an object of this node is in the books; one that was written this moment may not be yet. */
  holds(location: WireLocation): boolean {
    return this.#ledger.holds(fromWire(location));
  }

  /** Whether an object of this node lies on disk. */
  isOnDisk(location: WireLocation): boolean {
    return this.#ledger.isOnDisk(fromWire(location));
  }

  adopt(location: WireLocation, owner: ProcessId): void {
    this.#ledger.adopt({ location: fromWire(location), owner });
  }

  /** Bytes of a file are gone: nobody writes there again. */
  arenaLost(location: WireLocation): void {
    const { arena, kind } = fromWire(location);
    const writer = this.#ledger.abandoned({ arena, kind });
    if (writer !== undefined) this.#send(writer, MESSAGE.ARENA_LOST, location);
  }

  /** Frees an object that no process needs. `reused`: its writer has the pages back already. */
  free(location: WireLocation, { reused }: { reused: boolean }): void {
    this.#node?.onFreed(location);
    const effects = this.#ledger.freed(fromWire(location));
    this.#apply(reused ? { ...effects, reuse: undefined } : effects, location);
  }

  /** Processes, of whichever node, that own something here. */
  owners(): Set<ProcessId> {
    return this.#ledger.owners();
  }

  /** A node is dead: what its processes owned here is nobody's. */
  nodeGone(tag: NodeTag): void {
    for (const owner of this.owners()) if (nodeTagOf(owner) === tag) this.processGone(owner);
  }

  processGone(process: ProcessId): void {
    this.left(process);
    const { unlink, freed, reuse, written } = this.#ledger.processExited(process);
    for (const location of freed) this.#node?.onFreed(toWire(location));
    this.#unlink(unlink);
    for (const { writer, location } of reuse) this.#mayReuse(writer, toWire(location));
    for (const [owner, locations] of written) this.#askOwner(owner, locations, [process]);
    void this.#sweep(process);
    this.#changed();
  }

  /** Has it heard of these? */
  #askOwner(owner: ProcessId, locations: readonly ObjectLocation[], [writer, ...link]: [writer: ProcessId, link?: number]): void {
    for (let start = 0; start < locations.length; start += IDS_IN_MESSAGE_MAX)
      this.#send(owner, MESSAGE.STORE_CLAIM, [writer, locations.slice(start, start + IDS_IN_MESSAGE_MAX).map(toWire), ...link]);
  }

  /** Removes unknown files of a process that died between making a file and announcing it. */
  async #sweep(process: ProcessId): Promise<void> {
    try {
      const files = await this.#options.disk.filesOf(storeTagOf(process));
      if (!this.#isClosed) this.#unlink(files.filter((file) => !this.#ledger.knows(file)));
    } catch {
      // A folder that cannot be listed keeps its files until the session ends.
    }
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#spilling.close();
  }

  #see(process: ProcessId, location: WireLocation, sign: 1 | -1): void {
    const before = this.#seenBytes.get(process);
    if (before !== undefined && location[3] === "memory") this.#seenBytes.set(process, before + sign * location[2]);
  }

  #apply({ reuse, unlink }: FreedEffects, location: WireLocation): void {
    if (reuse !== undefined) this.#mayReuse(reuse, location);
    this.#unlink(unlink);
  }

  #mayReuse(writer: ProcessId, location: WireLocation): void {
    const held = this.#held.get(placeOf(location));
    if (held === undefined) this.#send(writer, MESSAGE.STORE_REUSE, [location]);
    else held.reuse.push({ writer, location });
  }

  #send(to: ProcessId, type: number, header: unknown): void {
    if (to === this.#node?.processId) this.#node.receive(type, header);
    else this.#options.send(to, type, header);
  }

  #unlink(files: readonly ArenaFile[]): void {
    for (const { arena, kind } of files) this.#options.unlink(arena, kind);
  }

  #changed(): void {
    if (this.#timer !== undefined || this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#makeRoom();
      this.#tellStatus();
      this.#spilling.changed();
    }, STATUS_EVERY_MS);
    this.#timer.unref();
  }

  /** Copies that nobody reads go before anything is written to disk. */
  #makeRoom(): void {
    const node = this.#node;
    if (node === undefined || node.idleBytes === 0) return;
    const overBytes = this.#ledger.usedBytes + node.comingBytes - this.#options.quotaBytes * IDLE_COPIES_UP_TO;
    if (overBytes > 0) node.makeRoom(overBytes);
  }

  #tellStatus(): void {
    for (const process of this.#seenBytes.keys()) this.#tell(process);
  }

  #tell(process: ProcessId): void {
    const seenBytes = this.#seenBytes.get(process) ?? 0;
    // Idle copies do not count as used: a write evicts them.
    const { comingBytes, idleBytes } = this.#node ?? NO_COPIES;
    this.#options.send(process, MESSAGE.STORE_STATUS, {
      usedBytes: Math.max(0, this.#ledger.usedBytes + comingBytes - idleBytes),
      quotaBytes: this.#options.quotaBytes,
      seenBytes,
    });
  }
}
