/**
 * One arena: a file in shared memory that this process alone writes, and the objects in it.
 *
 * Decides how bytes get into the file. A system call writes fresh pages, and either reserves them or fails cleanly. Recycled pages exist already, so large
 * objects are copied straight into a kept mapping. The arena writer owns one instance for each file.
 */
import type { SharedMemory } from "../../os/shared-memory.ts";
import type { StoreFile } from "../../os/files/store/store-file.ts";
import { ArenaExtents, extentBytesOf } from "./arena-extents.ts";
import { type ObjectLayout, type Part, writeHeader } from "./layout.ts";
import { STORE_FROM_BYTES } from "../limits.ts";

/** The parts of a stored object: a value's in-band bytes and its out-of-band buffers. */
export interface ObjectParts {
  layout: ObjectLayout;
  inBand: Uint8Array;
  buffers: readonly Uint8Array[];
}

/** From here on a copy into the mapping costs a third of a system call once its pages have been touched, and no more than one at the first touch. */
const MAPPED_WRITE_MIN_BYTES = STORE_FROM_BYTES;

/** In-band bytes up to this are joined with the header, to make one piece of two. */
const JOIN_MAX_BYTES = 65_536;
const PADDING: Uint8Array = new Uint8Array(64);
/** Where they are joined; a write is over before the next one begins. */
let joined: Buffer | undefined;

export class Arena {
  readonly name: string;
  readonly path: string;
  /** Made for one large object, and used again for nothing much smaller. */
  readonly isDedicated: boolean;
  readonly extents: ArenaExtents;
  /** When the last object went; `undefined` while there is one. */
  emptySinceMs: number | undefined;
  readonly #file: StoreFile;
  #mapping: ArrayBuffer | undefined;
  /** Where the bytes end that were written to fresh pages: the file is as long. */
  #fileBytes = 0;
  /** Extents that are being written piece by piece; the file stays open for them. */
  #openExtents = 0;
  #closesWithLast = false;
  /** Pages may be missing in the file: a mapping would end the process where the system has none left to give. */
  #hasHoles = false;

  constructor(options: { name: string; path: string; file: StoreFile; capacityBytes: number; isDedicated: boolean }) {
    this.name = options.name;
    this.path = options.path;
    this.isDedicated = options.isDedicated;
    this.extents = new ArenaExtents(options.capacityBytes);
    this.#file = options.file;
  }

  /** @throws ENOSPC when the file system is full; the file is then as before */
  writeFresh(parts: ObjectParts): number | undefined {
    const offset = this.extents.takeFresh(parts.layout.sizeBytes);
    if (offset === undefined) return undefined;
    try {
      this.#file.write(offset, piecesOf(parts));
      this.#fileBytes = offset + parts.layout.sizeBytes;
    } catch (error) {
      this.extents.returnFresh(offset);
      this.#file.truncate(offset);
      throw error;
    }
    return offset;
  }

  writeRecycled(parts: ObjectParts, memory: SharedMemory | undefined): number | undefined {
    const offset = this.extents.takeRecycled(parts.layout.sizeBytes);
    if (offset === undefined) return undefined;
    try {
      if (!this.#writeMapped(offset, parts, memory)) this.#file.write(offset, piecesOf(parts));
    } catch (error) {
      this.extents.free(offset);
      throw error;
    }
    return offset;
  }

  /** Tells whether the file still exists at full length: writes to a deleted or shortened file would be lost. Costs 0.8 us. */
  get isIntact(): boolean {
    const linkedBytes = this.#file.linkedBytes();
    return linkedBytes !== undefined && linkedBytes > this.extents.highWaterBytes - extentBytesOf(1);
  }

  /**
   * Takes room for an object that is written piece by piece.
   *
   * @throws ENOSPC when the file system is full; the file is then as before
   */
  takeExtent(sizeBytes: number, pages: "recycled" | "fresh"): number | undefined {
    if (pages === "recycled") return this.#opened(this.extents.takeRecycled(sizeBytes));
    const offset = this.extents.takeFresh(sizeBytes);
    if (offset === undefined) return undefined;
    try {
      // As long as its high-water mark, as always; the pages come with the pieces.
      this.#file.truncate(this.extents.highWaterBytes);
    } catch (error) {
      this.extents.returnFresh(offset);
      throw error;
    }
    this.#hasHoles = true;
    return this.#opened(offset);
  }

  /** An extent was written in full, or given up. */
  extentDone(): void {
    this.#openExtents -= 1;
    if (this.#openExtents === 0 && this.#closesWithLast) this.close();
  }

  get hasOpenExtents(): boolean {
    return this.#openExtents > 0;
  }

  get file(): StoreFile {
    return this.#file;
  }

  /** Closes the file and lets go of the mapping; the file stays. */
  close(): void {
    this.#unmap();
    if (this.#openExtents > 0) this.#closesWithLast = true;
    else this.#file.close();
  }

  #opened(offset: number | undefined): number | undefined {
    if (offset !== undefined) this.#openExtents += 1;
    return offset;
  }

  #writeMapped(offset: number, { layout, inBand, buffers }: ObjectParts, memory: SharedMemory | undefined): boolean {
    if (memory === undefined || this.#hasHoles || layout.sizeBytes < MAPPED_WRITE_MIN_BYTES) return false;
    // The native part takes memory of this process alone: shared memory of the user's threads goes through the system call.
    if (!buffers.every((buffer) => buffer.buffer instanceof ArrayBuffer)) return false;
    const mapping = this.#mappingOf(offset + layout.sizeBytes, memory);
    if (mapping === undefined) return false;
    const target = new Uint8Array(mapping, offset, layout.sizeBytes);
    writeHeader(target, layout);
    target.set(inBand, layout.inBand.offset);
    let end = layout.inBand.offset + layout.inBand.length;
    for (let index = 0; index < buffers.length; index += 1) {
      const part = layout.buffers[index] as Part;
      // No reader may see bytes of an earlier object between two parts.
      target.fill(0, end, part.offset);
      memory.copy(mapping, offset + part.offset, buffers[index] as Uint8Array);
      end = part.offset + part.length;
    }
    return true;
  }

  /** A kept mapping spares 660 ns a page on every write; it is of the whole file, and made anew only when that has grown. */
  #mappingOf(endBytes: number, memory: SharedMemory): ArrayBuffer | undefined {
    if (this.#mapping !== undefined && this.#mapping.byteLength >= endBytes) return this.#mapping;
    this.#unmap();
    try {
      this.#mapping = memory.map({ fd: this.#file.fd, offset: 0, sizeBytes: Math.max(endBytes, this.#fileBytes), mode: "shared" });
    } catch {
      // Out of mappings or address space: the system call needs neither.
      return undefined;
    }
    return this.#mapping;
  }

  #unmap(): void {
    // Detaching ends the mapping in the next turn; dropping it would wait for a collection.
    this.#mapping?.transfer(0);
    this.#mapping = undefined;
  }
}

/** The bytes of an object in the order in which they lie in the file, gaps included. Valid until the next call. */
export function piecesOf({ layout, inBand, buffers }: ObjectParts): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  const prefixBytes = layout.headerBytes + layout.inBand.length;
  let end = prefixBytes;
  if (prefixBytes <= JOIN_MAX_BYTES) {
    // With the padding that follows it: a small object with one buffer is then two pieces.
    end = Math.max(prefixBytes, layout.buffers[0]?.offset ?? 0);
    joined ??= Buffer.alloc(JOIN_MAX_BYTES + PADDING.length);
    writeHeader(joined, layout);
    joined.set(inBand, layout.headerBytes);
    joined.fill(0, prefixBytes, end);
    pieces.push(joined.subarray(0, end));
  } else {
    const header = Buffer.alloc(layout.headerBytes);
    writeHeader(header, layout);
    pieces.push(header, inBand);
  }
  for (let index = 0; index < buffers.length; index += 1) {
    const part = layout.buffers[index] as Part;
    if (part.offset > end) pieces.push(PADDING.subarray(0, part.offset - end));
    if (part.length > 0) pieces.push(buffers[index] as Uint8Array);
    end = part.offset + part.length;
  }
  return pieces;
}
