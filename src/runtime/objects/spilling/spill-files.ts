/**
 * The book of fused spill files: which object of which arena lies where in which file, and when a file is needed by nobody.
 *
 * A fused file holds the objects of several arenas, as one file for each object would cost more to make than to write. Pure, owned by the store's ledger. Invariant:
 * a file is listed exactly as long as one object in it lives.
 */

/** An object that is to be copied to a fused file. */
export interface SpillPiece {
  /** The place by which everybody knows it. */
  arena: string;
  offset: number;
  sizeBytes: number;
  /** Where its bytes are now. */
  source: { arena: string; kind: "memory" | "disk" };
  sourceOffset: number;
}

/** Where an object of an arena lies in the fused file that was written last. */
export interface SpilledPlace {
  arena: string;
  offset: number;
  fileOffset: number;
}

/** The index of a spilled arena: the new place of each object. */
export type SpillIndex = [offset: number, file: string, fileOffset: number][];

/** Returns the name of an index in the spill directory. A reader that finds an arena gone looks there. */
export function spillIndexName(arena: string): string {
  return `${arena}.moved`;
}

export interface SpillFileStatistics {
  files: number;
  /** As long as they are, dead objects included. */
  fileBytes: number;
}

interface SpillFile {
  readonly sizeBytes: number;
  liveObjects: number;
  liveBytes: number;
}

export class SpillFiles {
  readonly #files = new Map<string, SpillFile>();

  /** Notes a written file. The objects in it are added afterwards. */
  written(file: string, sizeBytes: number): void {
    this.#files.set(file, { sizeBytes, liveObjects: 0, liveBytes: 0 });
  }

  add(file: string, sizeBytes: number): void {
    const known = this.#files.get(file);
    if (known === undefined) throw new Error(`Cannot count a spilled object: ${file} was not written`);
    known.liveObjects += 1;
    known.liveBytes += sizeBytes;
  }

  /** @returns whether the file is to be deleted: that was its last object */
  remove(file: string, sizeBytes: number): boolean {
    const known = this.#files.get(file);
    if (known === undefined) return false;
    known.liveObjects -= 1;
    known.liveBytes -= sizeBytes;
    return this.dropIfDead(file);
  }

  /** @returns whether nothing in the file lives; it is then no longer listed */
  dropIfDead(file: string): boolean {
    const known = this.#files.get(file);
    if (known === undefined || known.liveObjects > 0) return false;
    this.#files.delete(file);
    return true;
  }

  /** Returns the most wasteful file: so few of its bytes live that copying these gives back more than it writes. */
  mostlyDead({ liveFraction, minBytes }: { liveFraction: number; minBytes: number }): string | undefined {
    let worst: string | undefined;
    let worstBytes = 0;
    for (const [name, { sizeBytes, liveBytes }] of this.#files) {
      const deadBytes = sizeBytes - liveBytes;
      if (sizeBytes < minBytes || liveBytes > sizeBytes * liveFraction || deadBytes <= worstBytes) continue;
      worst = name;
      worstBytes = deadBytes;
    }
    return worst;
  }

  get statistics(): SpillFileStatistics {
    const statistics = { files: this.#files.size, fileBytes: 0 };
    for (const { sizeBytes } of this.#files.values()) statistics.fileBytes += sizeBytes;
    return statistics;
  }
}
