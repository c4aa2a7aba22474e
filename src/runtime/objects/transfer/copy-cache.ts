/**
 * Keeps this node's copies of other nodes' objects: their readers, and which copies may go.
 *
 * A pure table in the daemon that fetched the copies. A copy with readers stays. A copy without readers is a cache: it goes when memory is short (the longest
 * idle one first), when the object is freed, or when its home is dead. Where the home is dead and the owner's node lives, the copy stays until that node
 * decides. A copy that it keeps stays until it is freed. A process counts once for each time that it was given a copy.
 */
import { type NodeTag, nodeTagOf, type ProcessId } from "../../base/ids.ts";
import type { WireLocation } from "../../wire/messages.ts";
import type { CopyKey } from "../../wire/objects/transfer-messages.ts";
import { placeOf } from "../wire-location.ts";

export interface Copy {
  readonly key: string;
  readonly of: CopyKey;
  readonly home: NodeTag;
  /** The object's owner; undefined where the reader did not know it. */
  readonly owner: ProcessId | undefined;
  /** By which its home knows that it is here. */
  readonly pull: number;
  /** Where it is on this node. */
  readonly location: WireLocation;
}

interface Row extends Copy {
  readonly readers: Map<ProcessId, number>;
  /** Whether a copy whose home is dead stays, as the owner's node has decided so or is about to decide. */
  isKept: boolean;
  /** The owner's node has decided. */
  isDecided: boolean;
  /** Not to be given to anybody any more; it goes with its last reader. */
  isDoomed: boolean;
}

export class CopyCache {
  readonly #rows = new Map<string, Row>();
  /** Copies without readers, in the order of their last release. */
  readonly #idle = new Set<Row>();
  /** All of them, the doomed ones too, whose keys may be those of newer ones. */
  readonly #byPlace = new Map<string, Row>();
  #idleBytes = 0;

  get size(): number {
    return this.#byPlace.size;
  }

  /** Bytes that can be freed at once: idle copies in memory. */
  get idleBytes(): number {
    return this.#idleBytes;
  }

  /** `isKept`: until its owner's node has decided. */
  add(copy: Copy, { isKept }: { isKept: boolean } = { isKept: false }): void {
    const row: Row = { ...copy, readers: new Map(), isKept, isDecided: false, isDoomed: false };
    this.#rows.set(copy.key, row);
    this.#byPlace.set(placeOf(copy.location), row);
    this.#setIdle(row, true);
  }

  find(key: string): Copy | undefined {
    return this.#rows.get(key);
  }

  /** A process reads it from now on. */
  acquire(key: string, process: ProcessId): WireLocation | undefined {
    const row = this.#rows.get(key);
    if (row === undefined) return undefined;
    this.#setIdle(row, false);
    row.readers.set(process, (row.readers.get(process) ?? 0) + 1);
    return row.location;
  }

  /** Ends a process's use of a copy. @returns the copies that go as a result */
  release(location: WireLocation, process: ProcessId): Copy[] {
    const row = this.#byPlace.get(placeOf(location));
    return row === undefined ? [] : this.#less(row, process, (row.readers.get(process) ?? 0) - 1);
  }

  processGone(process: ProcessId): Copy[] {
    return Array.from(this.#byPlace.values()).flatMap((row) => (row.readers.has(process) ? this.#less(row, process, 0) : []));
  }

  /** The object was freed. */
  freed(key: string): Copy[] {
    const row = this.#rows.get(key);
    return row === undefined ? [] : this.#doom(row);
  }

  /** Drops copies whose home is dead, as no release can arrive for them any more. Copies whose owner's node lives stay until it has decided. */
  nodeGone(isDead: (node: NodeTag) => boolean): Copy[] {
    return Array.from(this.#rows.values()).flatMap((row) => {
      if (!isDead(row.home)) return [];
      if (row.owner === undefined || isDead(nodeTagOf(row.owner))) return this.#doom(row);
      if (!row.isDecided) this.#setKept(row, true);
      return [];
    });
  }

  /** Takes the decision of the owner's node whether this copy replaces the object of a dead home. @returns undefined for an unknown copy */
  decided(key: string, { isKept }: { isKept: boolean }): Copy | undefined {
    const row = this.#rows.get(key);
    if (row === undefined) return undefined;
    row.isDecided = true;
    this.#setKept(row, isKept);
    return row;
  }

  /** Drops copies that nobody reads until so many bytes are free, or none is left. */
  evict(wantedBytes: number): Copy[] {
    const evicted: Copy[] = [];
    let bytes = 0;
    for (const row of this.#idle) {
      if (bytes >= wantedBytes) break;
      // A copy on disk frees no memory.
      if (row.location[3] !== "memory") continue;
      this.#drop(row);
      bytes += row.location[2];
      evicted.push(row);
    }
    return evicted;
  }

  #less(row: Row, process: ProcessId, count: number): Copy[] {
    if (count > 0) row.readers.set(process, count);
    else row.readers.delete(process);
    if (row.readers.size > 0) return [];
    if (row.isDoomed) {
      this.#drop(row);
      return [row];
    }
    this.#setIdle(row, true);
    return [];
  }

  #doom(row: Row): Copy[] {
    if (row.readers.size === 0) {
      this.#drop(row);
      return [row];
    }
    row.isDoomed = true;
    this.#rows.delete(row.key);
    return [];
  }

  #drop(row: Row): void {
    this.#setIdle(row, false);
    this.#byPlace.delete(placeOf(row.location));
    if (!row.isDoomed) this.#rows.delete(row.key);
  }

  #setKept(row: Row, isKept: boolean): void {
    row.isKept = isKept;
    this.#setIdle(row, row.readers.size === 0);
  }

  #setIdle(row: Row, isUnread: boolean): void {
    const isIdle = isUnread && !row.isKept;
    if (isIdle === this.#idle.has(row)) return;
    if (isIdle) this.#idle.add(row);
    else this.#idle.delete(row);
    if (row.location[3] === "memory") this.#idleBytes += isIdle ? row.location[2] : -row.location[2];
  }
}
