/**
 * The node daemon's book of the object store: the writer and place of each object, the used part of the quota, and the freed pages.
 *
 * When an object is freed, decides whether its writer reuses the pages or its file is deleted. Decides also when the processes should collect garbage because
 * memory runs short. A pure state machine without files. A release may overtake the notice of its object, as the two come from different processes. A
 * release comes exactly once, since the place may hold another object right after. Other events may be repeated.
 *
 * An arena is *retired* once its writer has stopped writing to it, by death or for a spill. Its living objects can then be copied to a fused file, and the
 * arena deleted. Objects keep their location; the arena's name leads to the new place.
 */
import type { ProcessId } from "../../base/ids.ts";
import { invariant } from "../../base/invariant.ts";
import { extentBytesOf } from "../arenas/arena-extents.ts";
import type { ObjectLocation } from "../arenas/layout.ts";
import { COLLECT_ABOVE, COLLECT_AGAIN_AFTER } from "../limits.ts";
import {
  type SpilledPlace,
  SpillFiles,
  type SpillFileStatistics,
  type SpillIndex,
  spillIndexName,
  type SpillPiece,
} from "../spilling/spill-files.ts";

type Kind = ObjectLocation["kind"];

export interface ArenaFile {
  arena: string;
  kind: Kind;
}

/** The effects of freeing an object. */
export interface FreedEffects {
  /** The writer, alive, that may use the pages again. */
  reuse: ProcessId | undefined;
  /** Files to delete: their writer is gone and nothing in them is needed. */
  unlink: ArenaFile[];
}

interface ProcessExitedEffects {
  unlink: ArenaFile[];
  /** Objects that only the dead process owned. */
  freed: ObjectLocation[];
  /** The freed objects in other processes' arenas, whose pages their writers may reuse. */
  reuse: { writer: ProcessId; location: ObjectLocation }[];
  /** Objects that the process wrote for living owners (`writtenOver`). */
  written: Map<ProcessId, ObjectLocation[]>;
}

interface StoreStatistics {
  usedBytes: number;
  /** Files in shared memory, as large as their writers announced them. */
  reservedBytes: number;
  diskBytes: number;
  objects: number;
  arenas: number;
}

/** An arena that could be spilled. */
interface SpillCandidate {
  arena: string;
  /** Alive, and to be told to write no more to it. */
  writer: ProcessId | undefined;
  /** Pages that its objects take. */
  usedBytes: number;
}

interface Arena extends ArenaFile {
  /** The process that wrote the arena's objects. */
  readonly maker: ProcessId;
  /** `undefined` once that process has ended. */
  writer: ProcessId | undefined;
  capacityBytes: number;
  objects: Map<number, StoredObject>;
  /** Pages of `objects`. */
  usedBytes: number;
  /** Its file is gone; its objects lie in fused files. */
  spilled: boolean;
  /** Counts of the arena's objects that each process has mapped, as far as reports say. */
  readers: Map<ProcessId, number>;
}

interface StoredObject {
  owner: ProcessId;
  /** Whether the owner has taken the object over, and so knows it. */
  isAdopted: boolean;
  /** The link by which the owner hears of the object; undefined where the owner knows it or may hear over any link. */
  readonly link: number | undefined;
  location: ObjectLocation;
  /** Where it lies since it was spilled. */
  moved: { file: string; fileOffset: number } | undefined;
}

/** Releases of one place that came before their notices. */
interface EarlyRelease {
  notices: number;
  /** Releases without an effect so far, as the arena was not known. */
  untold: number;
}

/** Places whose release overtook its notice; each waits for a few milliseconds at most, unless the writer died. */
const EARLY_RELEASES_MAX = 100_000;

const NOTHING: FreedEffects = { reuse: undefined, unlink: [] };

export class StoreLedger {
  readonly quotaBytes: number;
  readonly #arenas = new Map<string, Arena>();
  /** Ended processes. An object sealed for one of them comes too late: no process would ever free it. */
  readonly #gone = new Set<ProcessId>();
  readonly #earlyAdopters = new Map<string, ProcessId>();
  readonly #early = new Map<string, EarlyRelease>();
  readonly #spillFiles = new SpillFiles();
  #usedBytes = 0;
  #diskBytes = 0;
  #objects = 0;
  /** The stored bytes at the last request for a collection. */
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

  get spillFiles(): SpillFileStatistics {
    return this.#spillFiles.statistics;
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

  /** Notes a complete object. There are effects only where a release came before any notice of its arena. */
  sealed(notice: { writer: ProcessId; owner: ProcessId; location: ObjectLocation; link?: number | undefined }): FreedEffects {
    const { writer, owner, location, link } = notice;
    const arena = this.#arena(location, writer);
    const early = this.#early.get(placeOf(location));
    if (early !== undefined) return this.#sealedAfterRelease(arena, placeOf(location), early);
    if (arena.objects.has(location.offset)) return NOTHING;
    const adopter = this.#earlyAdopters.get(placeOf(location));
    this.#earlyAdopters.delete(placeOf(location));
    if (adopter === undefined && this.#gone.has(owner)) return this.#afterFree(arena);
    const object: StoredObject = { owner: adopter ?? owner, isAdopted: adopter !== undefined, link, location, moved: undefined };
    arena.objects.set(location.offset, object);
    this.#count(arena, object, 1);
    return NOTHING;
  }

  /** Makes another process the owner, so that the object outlives its writer. */
  adopt({ location, owner }: { location: ObjectLocation; owner: ProcessId }): void {
    const object = this.#at(location);
    // The notice comes from the writer and this from another: it may be the first. With the notice's owner, the object would end with that.
    if (object === undefined) {
      this.#earlyAdopters.set(placeOf(location), owner);
      return;
    }
    object.owner = owner;
    object.isAdopted = true;
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

  /** Frees an object that no process needs any more. */
  freed(location: ObjectLocation): FreedEffects {
    const arena = this.#arenas.get(keyOf(location));
    const object = this.#at(location);
    if (arena === undefined || object === undefined) return this.#releasedEarly(arena, location);
    const unlink = this.#remove(arena, object);
    const effects = this.#afterFree(arena);
    return unlink.length === 0 ? effects : { ...effects, unlink: [...unlink, ...effects.unlink] };
  }

  /** Frees the objects of a process that ended. Its files are deleted once no object in them is needed. */
  processExited(process: ProcessId): ProcessExitedEffects {
    const effects: ProcessExitedEffects = { unlink: [], freed: [], reuse: [], written: new Map() };
    this.#gone.add(process);
    for (const arena of this.#arenas.values()) {
      if (arena.writer === process) arena.writer = undefined;
      arena.readers.delete(process);
      for (const object of Array.from(arena.objects.values())) {
        if (object.owner !== process) {
          if (arena.maker !== process || object.isAdopted) continue;
          const written = effects.written.get(object.owner);
          if (written === undefined) effects.written.set(object.owner, [object.location]);
          else written.push(object.location);
          continue;
        }
        effects.unlink.push(...this.#remove(arena, object));
        effects.freed.push(object.location);
        if (arena.writer !== undefined) effects.reuse.push({ writer: arena.writer, location: object.location });
      }
      effects.unlink.push(...this.#afterFree(arena).unlink);
    }
    return effects;
  }

  /**
   * Returns the objects that a writer stored for an owner and announced over a link that has ended. Only the owner knows whether it heard of them: answers may
   * be lost with the link.
   */
  writtenOver(link: { writer: ProcessId; owner: ProcessId; link: number }): ObjectLocation[] {
    const found: ObjectLocation[] = [];
    for (const { maker, objects } of this.#arenas.values()) {
      if (maker !== link.writer) continue;
      for (const object of objects.values())
        if (object.link === link.link && object.owner === link.owner && !object.isAdopted) found.push(object.location);
    }
    return found;
  }

  /**
   * Frees an object of which its owner never heard, because its writer died first or the link broke. The place may hold another object by now, which stays.
   */
  disowned(owner: ProcessId, location: ObjectLocation, link?: number): FreedEffects {
    const object = this.#at(location);
    return object?.owner === owner && (link === undefined || object.link === link) ? this.freed(location) : NOTHING;
  }

  /** Processes that own something here. */
  owners(): Set<ProcessId> {
    const owners = new Set<ProcessId>();
    for (const { objects } of this.#arenas.values()) for (const { owner } of objects.values()) owners.add(owner);
    return owners;
  }

  /** Whether something is known of a file. */
  knows(file: ArenaFile): boolean {
    return this.#arenas.has(keyOf(file));
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
      // With much on disk a collection has to be worth more: else a small memory in front of a large disk would be collected without end.
      const worthBytes = Math.max(this.quotaBytes, this.#collectedAtBytes) * COLLECT_AGAIN_AFTER;
      if (storedBytes - this.#collectedAtBytes < worthBytes) return false;
    }
    this.#collectedAtBytes = storedBytes;
    return true;
  }

  // ---- spilling

  /** A process has so many mapped objects of an arena, or none any more. A hint: it may be late, and nothing breaks. */
  mapped(process: ProcessId, arena: string, count: number): void {
    const readers = this.#arenas.get(keyOf({ arena, kind: "memory" }))?.readers;
    if (count > 0) readers?.set(process, count);
    else readers?.delete(process);
  }

  /**
   * Returns the arenas to spill next, the oldest first, until they hold this many bytes. Mapped arenas stay: their pages come back only when their readers
   * let go.
   */
  spillCandidates(wantedBytes: number, isExcluded: (arena: string) => boolean = () => false): SpillCandidate[] {
    const candidates: SpillCandidate[] = [];
    let bytes = 0;
    for (const { arena, kind, writer, usedBytes, spilled, readers } of this.#arenas.values()) {
      if (bytes >= wantedBytes) break;
      if (kind !== "memory" || spilled || usedBytes === 0 || readers.size > 0 || isExcluded(arena)) continue;
      candidates.push({ arena, writer, usedBytes });
      bytes += usedBytes;
    }
    return candidates;
  }

  /** Retires an arena: its writer has stopped writing to it and has announced all objects in it. */
  retired(process: ProcessId, arena: string): FreedEffects {
    const known = this.#arenas.get(keyOf({ arena, kind: "memory" }));
    if (known?.writer !== process) return NOTHING;
    known.writer = undefined;
    return this.#afterFree(known);
  }

  /** Returns the living objects of a retired arena in memory; `undefined` for any other arena. */
  retiredObjects(arena: string): SpillPiece[] | undefined {
    const known = this.#arenas.get(keyOf({ arena, kind: "memory" }));
    if (known === undefined || known.writer !== undefined || known.spilled) return undefined;
    const pieces = Array.from(known.objects.values(), ({ location: { offset, sizeBytes } }): SpillPiece => {
      return { arena, offset, sizeBytes, source: { arena, kind: "memory" }, sourceOffset: offset };
    });
    return pieces.sort((a, b) => a.sourceOffset - b.sourceOffset);
  }

  /** Returns the living objects of a fused file that is mostly dead, so that they can move to another; `undefined` without such a file. */
  scatteredObjects(limits: { liveFraction: number; minBytes: number }): SpillPiece[] | undefined {
    const file = this.#spillFiles.mostlyDead(limits);
    if (file === undefined) return undefined;
    const pieces: SpillPiece[] = [];
    for (const { arena, objects, spilled } of this.#arenas.values()) {
      if (!spilled) continue;
      for (const { location, moved } of objects.values()) {
        if (moved?.file !== file) continue;
        const { offset, sizeBytes } = location;
        pieces.push({ arena, offset, sizeBytes, source: { arena: file, kind: "disk" }, sourceOffset: moved.fileOffset });
      }
    }
    return pieces.sort((a, b) => a.sourceOffset - b.sourceOffset);
  }

  /**
   * The objects lie in a fused file from now on; those that were freed while it was written are left out.
   *
   * @returns files to delete, once the indices of the arenas have been written: what lay in them lies elsewhere, or nobody needs it
   */
  spilled(written: { file: string; sizeBytes: number; places: readonly SpilledPlace[] }): ArenaFile[] {
    const { file, sizeBytes, places } = written;
    const unlink: ArenaFile[] = [];
    this.#spillFiles.written(file, sizeBytes);
    for (const { arena: name, offset, fileOffset } of places) {
      const arena = this.#arenas.get(keyOf({ arena: name, kind: "memory" }));
      const object = arena?.objects.get(offset);
      if (arena === undefined || object === undefined) continue;
      const extentBytes = extentBytesOf(object.location.sizeBytes);
      const before = object.moved;
      this.#count(arena, object, -1);
      object.moved = { file, fileOffset };
      this.#count(arena, object, 1);
      this.#spillFiles.add(file, extentBytes);
      if (before !== undefined) {
        if (this.#spillFiles.remove(before.file, extentBytes)) unlink.push({ arena: before.file, kind: "disk" });
      } else if (!arena.spilled) {
        arena.spilled = true;
        arena.capacityBytes = 0;
        unlink.push({ arena: name, kind: "memory" });
      }
    }
    if (this.#spillFiles.dropIfDead(file)) unlink.push({ arena: file, kind: "disk" });
    return unlink;
  }

  /** Whether an object is there: its notice has come, and nobody has freed it since. */
  holds(location: ObjectLocation): boolean {
    return this.#at(location) !== undefined;
  }

  /** Whether an object lies on disk, put there or spilled. */
  isOnDisk(location: ObjectLocation): boolean {
    return location.kind === "disk" || this.#arenas.get(keyOf(location))?.objects.get(location.offset)?.moved !== undefined;
  }

  /** Where the objects of a spilled arena lie: what its index says. */
  indexOf(arena: string): SpillIndex {
    const places: SpillIndex = [];
    const objects = this.#arenas.get(keyOf({ arena, kind: "memory" }))?.objects.values() ?? [];
    for (const { location, moved } of objects) if (moved !== undefined) places.push([location.offset, moved.file, moved.fileOffset]);
    return places;
  }

  /** @throws Error where the counts differ from the objects, or an object is not at its place */
  checkInvariants(): void {
    const sums = { objects: 0, usedBytes: 0, diskBytes: 0 };
    for (const [key, arena] of this.#arenas) {
      invariant(key === keyOf(arena), `arena ${arena.arena} is under the name ${key}`);
      let usedBytes = 0;
      for (const [offset, { location, moved }] of arena.objects) {
        invariant(location.offset === offset && keyOf(location) === key, `the object at ${placeOf(location)} is under ${key}/${offset}`);
        if (location.kind === "disk" || moved !== undefined) sums.diskBytes += location.sizeBytes;
        else usedBytes += extentBytesOf(location.sizeBytes);
      }
      invariant(arena.usedBytes === usedBytes, `arena ${arena.arena} counts ${arena.usedBytes} bytes, and its objects take ${usedBytes}`);
      sums.objects += arena.objects.size;
      sums.usedBytes += usedBytes;
    }
    const counted = { objects: this.#objects, usedBytes: this.#usedBytes, diskBytes: this.#diskBytes };
    for (const name of ["objects", "usedBytes", "diskBytes"] as const)
      invariant(counted[name] === sums[name], `${name} counts ${counted[name]}, and the objects are ${sums[name]}`);
  }

  // ---- bookkeeping

  /** The object of this size. Another size means an earlier object, whose release is still under way: the writer has used the place again. */
  #at(location: ObjectLocation): StoredObject | undefined {
    const object = this.#arenas.get(keyOf(location))?.objects.get(location.offset);
    return object?.location.sizeBytes === location.sizeBytes ? object : undefined;
  }

  /** @returns fused files, and indices of spilled arenas, that nobody needs without it */
  #remove(arena: Arena, object: StoredObject): ArenaFile[] {
    arena.objects.delete(object.location.offset);
    this.#count(arena, object, -1);
    const { moved } = object;
    if (moved === undefined || !this.#spillFiles.remove(moved.file, extentBytesOf(object.location.sizeBytes))) return [];
    return [{ arena: moved.file, kind: "disk" }];
  }

  #arena(file: ArenaFile, writer: ProcessId): Arena {
    const key = keyOf(file);
    let arena = this.#arenas.get(key);
    if (arena === undefined) {
      const { arena: name, kind } = file;
      arena = {
        arena: name,
        kind,
        maker: writer,
        writer,
        capacityBytes: 0,
        objects: new Map(),
        usedBytes: 0,
        spilled: false,
        readers: new Map(),
      };
      this.#arenas.set(key, arena);
    }
    return arena;
  }

  #afterFree(arena: Arena): FreedEffects {
    if (arena.writer !== undefined) return { reuse: arena.writer, unlink: [] };
    if (arena.objects.size > 0) return NOTHING;
    this.#arenas.delete(keyOf(arena));
    const file: ArenaFile = arena.spilled ? { arena: spillIndexName(arena.arena), kind: "disk" } : { arena: arena.arena, kind: arena.kind };
    return { reuse: undefined, unlink: [file] };
  }

  #count(arena: Arena, { location, moved }: StoredObject, sign: 1 | -1): void {
    this.#objects += sign;
    if (location.kind === "disk" || moved !== undefined) {
      this.#diskBytes += sign * location.sizeBytes;
      return;
    }
    const sizeBytes = sign * extentBytesOf(location.sizeBytes);
    this.#usedBytes += sizeBytes;
    arena.usedBytes += sizeBytes;
  }

  #releasedEarly(arena: Arena | undefined, location: ObjectLocation): FreedEffects {
    // A dead writer sends no notices any more: the object was freed with it.
    if (arena !== undefined && arena.writer === undefined) return NOTHING;
    const place = placeOf(location);
    this.#earlyAdopters.delete(place);
    const early = this.#early.get(place) ?? { notices: 0, untold: 0 };
    early.notices += 1;
    this.#early.set(place, early);
    if (this.#early.size > EARLY_RELEASES_MAX) {
      for (const oldest of this.#early.keys()) {
        this.#early.delete(oldest);
        break;
      }
    }
    // The writer may reuse the pages although its notice is under way: it announces the next object after that notice.
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
