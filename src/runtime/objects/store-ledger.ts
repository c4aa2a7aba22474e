/**
 * The node daemon's book of the object store: who wrote what where, how much of the quota is used, who may reuse freed pages.
 *
 * Decides, when an object is freed, whether its writer is told to reuse the pages or its file is deleted, and when the processes should collect garbage because
 * memory runs short. A pure state machine: no file is touched here. A release may overtake the notice of what it releases, as the two come from
 * different processes; it comes exactly once, since its place may hold another object right after. Other events may be repeated.
 *
 * An arena is *retired* once its writer writes no more to it, by its death or because it is to be spilled; then what lives in it can be copied to a
 * fused file and the arena deleted. Objects keep the location that they were given; where they lie since is known by the arena's name.
 */
import type { ProcessId } from "../base/ids.ts";
import { extentBytesOf } from "./arena-extents.ts";
import type { ObjectLocation } from "./layout.ts";
import { COLLECT_ABOVE, COLLECT_AGAIN_AFTER } from "./limits.ts";
import {
  type SpilledPlace,
  SpillFiles,
  type SpillFileStatistics,
  type SpillIndex,
  spillIndexName,
  type SpillPiece,
} from "./spill-files.ts";

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

interface ProcessExitedEffects {
  unlink: ArenaFile[];
  /** Objects that only the dead process owned. */
  freed: ObjectLocation[];
  /** Those of them in the arenas of others. */
  reuse: { writer: ProcessId; location: ObjectLocation }[];
  /** What it wrote for others that live (`writtenOver`). */
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
  /** Who wrote what is in it. */
  readonly maker: ProcessId;
  /** `undefined` once that process has ended. */
  writer: ProcessId | undefined;
  capacityBytes: number;
  objects: Map<number, StoredObject>;
  /** Pages of `objects`. */
  usedBytes: number;
  /** Its file is gone; its objects lie in fused files. */
  spilled: boolean;
  /** How many processes have objects of it mapped, as far as is known. */
  readers: Map<ProcessId, number>;
}

interface StoredObject {
  owner: ProcessId;
  /** Its owner has taken it over, and so has heard of it. */
  isAdopted: boolean;
  /** By which link its owner hears of it; undefined where it knows, or may hear by any. */
  readonly link: number | undefined;
  location: ObjectLocation;
  /** Where it lies since it was spilled. */
  moved: { file: string; fileOffset: number } | undefined;
}

/** Releases of one place that came before their notices. */
interface EarlyRelease {
  notices: number;
  /** Those for which nobody has been told yet, as the arena was not known. */
  untold: number;
}

/** Places whose release overtook its notice; each waits for a few milliseconds at most, unless the writer died. */
const EARLY_RELEASES_MAX = 100_000;

const NOTHING: FreedEffects = { reuse: undefined, unlink: [] };

export class StoreLedger {
  readonly quotaBytes: number;
  readonly #arenas = new Map<string, Arena>();
  /** What is sealed for one of these comes too late: nobody would ever free it. */
  readonly #gone = new Set<ProcessId>();
  readonly #earlyAdopters = new Map<string, ProcessId>();
  readonly #early = new Map<string, EarlyRelease>();
  readonly #spillFiles = new SpillFiles();
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

  /** An object is complete. Nothing is to be done, unless it was released before anything was known of its arena. */
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

  /** Another process is responsible for the object from now on, so that it outlives the one that wrote it. */
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

  /** Nobody needs the object any more. */
  freed(location: ObjectLocation): FreedEffects {
    const arena = this.#arenas.get(keyOf(location));
    const object = this.#at(location);
    if (arena === undefined || object === undefined) return this.#releasedEarly(arena, location);
    const unlink = this.#remove(arena, object);
    const effects = this.#afterFree(arena);
    return unlink.length === 0 ? effects : { ...effects, unlink: [...unlink, ...effects.unlink] };
  }

  /** A process ended: what it owned is freed, and its files are deleted as soon as nothing in them is needed. */
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

  /** What a writer stored for an owner and told of over a link that has ended. Whether the owner has learnt of it only it knows: answers may be lost with the link. */
  writtenOver(link: { writer: ProcessId; owner: ProcessId; link: number }): ObjectLocation[] {
    const found: ObjectLocation[] = [];
    for (const { maker, objects } of this.#arenas.values()) {
      if (maker !== link.writer) continue;
      for (const object of objects.values())
        if (object.link === link.link && object.owner === link.owner && !object.isAdopted) found.push(object.location);
    }
    return found;
  }

  /** The owner of an object has never heard of it: its writer died before it had said where it is, or the link to it broke, and another object may be there by now. */
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
   * The arenas to spill next, the oldest first, until they hold this many bytes. What is mapped stays: its pages could not be had back before its
   * readers let go of them.
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

  /** Its writer writes no more to it, and has told of everything in it. */
  retired(process: ProcessId, arena: string): FreedEffects {
    const known = this.#arenas.get(keyOf({ arena, kind: "memory" }));
    if (known?.writer !== process) return NOTHING;
    known.writer = undefined;
    return this.#afterFree(known);
  }

  /** What lives in a retired arena and is still in memory; `undefined` for any other. */
  retiredObjects(arena: string): SpillPiece[] | undefined {
    const known = this.#arenas.get(keyOf({ arena, kind: "memory" }));
    if (known === undefined || known.writer !== undefined || known.spilled) return undefined;
    const pieces = Array.from(known.objects.values(), ({ location: { offset, sizeBytes } }): SpillPiece => {
      return { arena, offset, sizeBytes, source: { arena, kind: "memory" }, sourceOffset: offset };
    });
    return pieces.sort((a, b) => a.sourceOffset - b.sourceOffset);
  }

  /** What lives in a fused file that is mostly dead, to be copied to another one; `undefined` when no file is. */
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
