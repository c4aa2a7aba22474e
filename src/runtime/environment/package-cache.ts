/**
 * Decides which packages a node keeps for which jobs, and which it evicts when there are too many.
 *
 * Pure. A package that a job may still need stays; of the others the least recently used one goes first. So a job that runs repeatedly finds its folder in place.
 */
import type { JobId } from "../base/ids.ts";

interface Kept {
  readonly bytes: number;
  readonly jobs: Set<JobId>;
}

export class PackageCache {
  readonly #bytesMax: number;
  /** In order of use, the last used package last. */
  readonly #packages = new Map<string, Kept>();

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  has(hash: string): boolean {
    return this.#packages.has(hash);
  }

  /** The names of all, the one that was used last first. */
  get hashes(): string[] {
    return Array.from(this.#packages.keys()).reverse();
  }

  /** Records that a job uses a package that is in the cache. */
  used(hash: string, { bytes, job }: { bytes: number; job: JobId }): void {
    const kept = this.#packages.get(hash) ?? { bytes, jobs: new Set<JobId>() };
    kept.jobs.add(job);
    this.#packages.delete(hash);
    this.#packages.set(hash, kept);
  }

  removed(hash: string): void {
    this.#packages.delete(hash);
  }

  jobEnded(job: JobId): void {
    for (const { jobs } of this.#packages.values()) jobs.delete(job);
  }

  /** Returns the packages to remove so that the rest fits. They have left the cache when this returns. */
  evict(): string[] {
    let bytes = 0;
    for (const kept of this.#packages.values()) bytes += kept.bytes;
    const evicted: string[] = [];
    for (const [hash, kept] of this.#packages) {
      if (bytes <= this.#bytesMax) break;
      if (kept.jobs.size > 0) continue;
      bytes -= kept.bytes;
      evicted.push(hash);
    }
    for (const hash of evicted) this.#packages.delete(hash);
    return evicted;
  }
}
