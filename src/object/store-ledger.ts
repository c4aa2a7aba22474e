/**
 * The node daemon's book of the object store: who wrote what where, how much of the quota is used, who may reuse freed pages.
 *
 * Decides, when an object is freed, whether its writer is told to reuse the pages or its file is deleted, and when the processes should collect garbage because
 * memory runs short. A pure state machine: no file is touched here. A release may overtake the notice of what it releases, as the two come from
 * different processes; it comes exactly once, since its place may hold another object right after. Other events may be repeated.
 */
import type { ProcessId } from "../base/ids.ts";
import { extentBytesOf } from "./arena-extents.ts";
import type { ObjectLocation } from "./arena-writer.ts";

type Kind = ObjectLocation["kind"];

export interface ArenaFile {
  arena: string;
  kind: Kind;
}

/** What is to be done about an object that is no longer needed. */
export interface FreedEffects {
  /** The writer, alive, that may use the pages again. */
  reuse: ProcessId | undefined;
  /** Files to delete: their writer is gone and nothing in them is needed. */
  unlink: ArenaFile[];
}

export interface ProcessExitedEffects {
  unlink: ArenaFile[];
  /** Objects that only the dead process owned, in the arenas of others. */
  reuse: { writer: ProcessId; location: ObjectLocation }[];
}

export interface StoreStatistics {
  usedBytes: number;
  /** Files in shared memory, as large as their writers announced them. */
  reservedBytes: number;
  diskBytes: number;
  objects: number;
  arenas: number;
}

interface Arena extends ArenaFile {
  /** `undefined` once that process has ended. */
  writer: ProcessId | undefined;
  capacityBytes: number;
  objects: Map<number, StoredObject>;
}

interface StoredObject {
  owner: ProcessId;
  location: ObjectLocation;
}

/** Releases of one place that came before their notices. */
interface EarlyRelease {
  notices: number;
  /** Those for which nobody has been told yet, as the arena was not known. */
  untold: number;
}

/** Above this part of the quota the processes are asked to collect garbage, before objects go to disk. */
const COLLECT_ABOVE = 0.8;
/** A collection costs each process some 30 ms: the next one is asked for when this part of the quota was written since. */
const COLLECT_AGAIN_AFTER = 0.05;
/** Places whose release overtook its notice; each waits for a few milliseconds at most, unless the writer died. */
const EARLY_RELEASES_MAX = 100_000;

const NOTHING: FreedEffects = { reuse: undefined, unlink: [] };

export class StoreLedger {
  readonly quotaBytes: number;
  readonly #arenas = new Map<string, Arena>();
  readonly #early = new Map<string, EarlyRelease>();
  #usedBytes = 0;
  #diskBytes = 0;
  #objects = 0;
  /** What was stored when a collection was last asked for. */
  #collectedAtBytes: number | undefined;

  constructor(options: { quotaBytes: number }) {
    this.quotaBytes = options.quotaBytes;
  }

  /** Pages in memory that hold objects: what counts against the quota. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  get statistics(): StoreStatistics {
    let reservedBytes = 0;
    for (const arena of this.#arenas.values()) if (arena.kind === "memory") reservedBytes += arena.capacityBytes;
    return { usedBytes: this.#usedBytes, reservedBytes, diskBytes: this.#diskBytes, objects: this.#objects, arenas: this.#arenas.size };
  }

  /** A process made a file, or deleted it (0 bytes). */
  arenaChanged(change: { process: ProcessId; arena: string; kind: Kind; capacityBytes: number }): void {
    if (change.capacityBytes > 0) {
      this.#arena(change, change.process).capacityBytes = change.capacityBytes;
      return;
    }
    const arena = this.#arenas.get(keyOf(change));
    if (arena?.writer === change.process && arena.objects.size === 0) this.#arenas.delete(keyOf(change));
  }

  /** An object is complete. Nothing is to be done, unless it was released before anything was known of its arena. */
  sealed(notice: { writer: ProcessId; owner: ProcessId; location: ObjectLocation }): FreedEffects {
    const { writer, owner, location } = notice;
    const arena = this.#arena(location, writer);
    const early = this.#early.get(placeOf(location));
    if (early !== undefined) return this.#sealedAfterRelease(arena, placeOf(location), early);
    if (arena.objects.has(location.offset)) return NOTHING;
    arena.objects.set(location.offset, { owner, location });
    this.#count(location, 1);
    return NOTHING;
  }

  /** Another process is responsible for the object from now on, so that it outlives the one that wrote it. */
  adopt({ location, owner }: { location: ObjectLocation; owner: ProcessId }): void {
    const object = this.#arenas.get(keyOf(location))?.objects.get(location.offset);
    if (object !== undefined) object.owner = owner;
  }

  /**
   * Bytes in a file are gone: its writer must not go on writing there.
   *
   * @returns that writer, if it lives
   */
  abandoned(file: ArenaFile): ProcessId | undefined {
    const arena = this.#arenas.get(keyOf(file));
    const writer = arena?.writer;
    if (arena !== undefined) arena.writer = undefined;
    return writer;
  }

  /** Nobody needs the object any more. */
  freed(location: ObjectLocation): FreedEffects {
    const arena = this.#arenas.get(keyOf(location));
    const object = arena?.objects.get(location.offset);
    if (arena === undefined || object === undefined) return this.#releasedEarly(arena, location);
    arena.objects.delete(location.offset);
    this.#count(object.location, -1);
    return this.#afterFree(arena);
  }

  /** A process ended: what it owned is freed, and its files are deleted as soon as nothing in them is needed. */
  processExited(process: ProcessId): ProcessExitedEffects {
    const effects: ProcessExitedEffects = { unlink: [], reuse: [] };
    for (const arena of this.#arenas.values()) {
      if (arena.writer === process) arena.writer = undefined;
      for (const [offset, { owner, location }] of arena.objects) {
        if (owner !== process) continue;
        arena.objects.delete(offset);
        this.#count(location, -1);
        if (arena.writer !== undefined) effects.reuse.push({ writer: arena.writer, location });
      }
      effects.unlink.push(...this.#afterFree(arena).unlink);
    }
    return effects;
  }

  /** Whether the processes should collect garbage now; asking takes the request. */
  takeCollectRequest(): boolean {
    const storedBytes = this.#usedBytes + this.#diskBytes;
    if (storedBytes <= this.quotaBytes * COLLECT_ABOVE) {
      this.#collectedAtBytes = undefined;
      return false;
    }
    if (this.#collectedAtBytes !== undefined) {
      this.#collectedAtBytes = Math.min(this.#collectedAtBytes, storedBytes);
      if (storedBytes - this.#collectedAtBytes < this.quotaBytes * COLLECT_AGAIN_AFTER) return false;
    }
    this.#collectedAtBytes = storedBytes;
    return true;
  }

  #arena(file: ArenaFile, writer: ProcessId): Arena {
    const key = keyOf(file);
    let arena = this.#arenas.get(key);
    if (arena === undefined) {
      arena = { arena: file.arena, kind: file.kind, writer, capacityBytes: 0, objects: new Map() };
      this.#arenas.set(key, arena);
    }
    return arena;
  }

  #afterFree(arena: Arena): FreedEffects {
    if (arena.writer !== undefined) return { reuse: arena.writer, unlink: [] };
    if (arena.objects.size > 0) return NOTHING;
    this.#arenas.delete(keyOf(arena));
    return { reuse: undefined, unlink: [{ arena: arena.arena, kind: arena.kind }] };
  }

  #count(location: ObjectLocation, sign: 1 | -1): void {
    this.#objects += sign;
    if (location.kind === "memory") this.#usedBytes += sign * extentBytesOf(location.sizeBytes);
    else this.#diskBytes += sign * location.sizeBytes;
  }

  #releasedEarly(arena: Arena | undefined, location: ObjectLocation): FreedEffects {
    // A dead writer sends no notices any more: the object was freed with it.
    if (arena !== undefined && arena.writer === undefined) return NOTHING;
    const place = placeOf(location);
    const early = this.#early.get(place) ?? { notices: 0, untold: 0 };
    early.notices += 1;
    this.#early.set(place, early);
    if (this.#early.size > EARLY_RELEASES_MAX) {
      for (const oldest of this.#early.keys()) {
        this.#early.delete(oldest);
        break;
      }
    }
    // The writer may reuse the pages although its notice is under way: what it writes next is announced after it.
    if (arena !== undefined) return this.#afterFree(arena);
    early.untold += 1;
    return NOTHING;
  }

  #sealedAfterRelease(arena: Arena, place: string, early: EarlyRelease): FreedEffects {
    early.notices -= 1;
    if (early.notices === 0) this.#early.delete(place);
    if (early.untold === 0) return NOTHING;
    early.untold -= 1;
    return this.#afterFree(arena);
  }
}

function keyOf(file: ArenaFile): string {
  return `${file.kind}/${file.arena}`;
}

function placeOf(location: ObjectLocation): string {
  return `${keyOf(location)}/${location.offset}/${location.sizeBytes}`;
}
