/**
 * Reads the bytes of one stored object for another node, piece by piece, and from disk beside the event loop.
 *
 * Looks in the file that the location names, else in the fused file that the index of a spilled arena names. A location comes from another node, so its name
 * must stay within the store's folders and its range within the file. An open file stays readable even when its name goes. The caller prevents new writes to
 * its pages (`StoreService.hold`).
 */
import { readAt } from "../../os/files/store/positioned-io.ts";
import { type StoreFile, storeFiles } from "../../os/files/store/store-file.ts";
import { isPlaceInStore } from "../arenas/arena-reader.ts";
import type { ObjectLocation } from "../arenas/layout.ts";
import { SpillIndices } from "../spilling/spill-indices.ts";

export interface StoreFolders {
  memoryDirectory: string;
  spillDirectory: string;
}

export class ServedObject {
  readonly sizeBytes: number;
  readonly #file: StoreFile;
  readonly #offset: number;
  readonly #isInMemory: boolean;
  #reads = 0;
  #isClosed = false;

  constructor(file: StoreFile, location: ObjectLocation) {
    this.#file = file;
    this.#offset = location.offset;
    this.#isInMemory = location.kind === "memory";
    this.sizeBytes = location.sizeBytes;
  }

  /** Fills the target. @returns false when the file is too short */
  async read(offset: number, target: Uint8Array): Promise<boolean> {
    // A megabyte of memory is copied in 0.2 ms; to have another thread do it costs as much again.
    if (this.#isInMemory) return this.#file.read(this.#offset + offset, target);
    this.#reads += 1;
    try {
      return await readAt(this.#file.fd, target, this.#offset + offset);
    } finally {
      this.#reads -= 1;
      if (this.#isClosed && this.#reads === 0) this.#file.close();
    }
  }

  /** Once no read is under way any more. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#reads === 0) this.#file.close();
  }
}

/** @returns undefined when nothing of that size is there */
export function openServed(location: ObjectLocation, { memoryDirectory, spillDirectory }: StoreFolders): ServedObject | undefined {
  if (!isPlaceInStore(location)) return undefined;
  const directory = location.kind === "memory" ? memoryDirectory : spillDirectory;
  const file = storeFiles.openToRead(`${directory}/${location.arena}`);
  if (file !== undefined) return servedFrom(file, location);
  const place = new SpillIndices({ spillDirectory, files: storeFiles }).placeOf(location);
  const fused = place === undefined ? undefined : storeFiles.openToRead(`${spillDirectory}/${place.arena}`);
  return place === undefined || fused === undefined ? undefined : servedFrom(fused, place);
}

function servedFrom(file: StoreFile, location: ObjectLocation): ServedObject | undefined {
  const last = Buffer.alloc(1);
  if (file.read(location.offset + location.sizeBytes - 1, last)) return new ServedObject(file, location);
  file.close();
  return undefined;
}
